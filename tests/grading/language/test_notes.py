"""Notes: what is allowed in a document, and often a slip."""

from pathlib import Path

import pytest

import grading.demo
import grading.examples
from grading.spec import read_ladder

PACKAGES = (grading.examples, grading.demo)
SHIPPED = sorted(path for package in PACKAGES for path in Path(package.__file__ or "").parent.glob("*.yaml"))


def notes(check: str, *, define: str = "{}", rung: str = "") -> list[str]:
    """The notes on a document with this check, without their places."""
    text = (
        'gradespine: 1\nladder: l\nversion: "1"\nmode: independent\n'
        f"define: {define}\nmilestones:\n  - name: m\n    check: {check}\n{rung}"
    )
    return list(read_ladder(text, "l.yaml").notes)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_ladders_that_ship_have_no_slips(path: Path) -> None:
    assert read_ladder(path.read_text(encoding="utf-8"), path.name).notes == ()


@pytest.mark.parametrize(
    ("check", "place", "said"),
    [
        ("{event: {type: comand.exited}}", "event.type", "did you mean command.exited?"),
        ("{event: {type: [x.y, tests.reported]}}", "event.type[1]", "did you mean test.reported?"),
        ("{event: {type: x.y}}", "event.type", "x.y is not a known type: believed from system and human only"),
        ("{absent: {type: x.y}}", "absent.type", "x.y is not a known type"),
        ("{count: {of: {type: x.y}, at_most: 1}}", "count.of.type", "x.y is not a known type"),
        ("{any_of: [{event: {type: x.y}}]}", "any_of[0].event.type", "system and human only"),
        ("{event: {type: command.exited, where: {path: exitcode, eq: 0}}}", "where.path", "mean exit_code?"),
        ("{event: {type: command.exited, where: {all: [{not: {path: zzz, eq: 0}}]}}}", "all[0].not.path", "known are"),
        ("{event: {type: test.reported, latest_by: nme}}", "event.latest_by", "did you mean name?"),
        ("{event: {call: '*', where: {path: argument.x, eq: 1}}}", "event.where.path", "did you mean arguments?"),
        ("{last: {of: {type: test.reported}, is: {path: stat, eq: 1}}}", "last.is.path", "did you mean status?"),
        ("{event: {type: test.reported, where: {path: name, in: {$expected: test}}}}", "in.$expected", "mean tests?"),
        ("{compare: {want: {expected: test}, got: {type: test.reported, take: name}, as: every}}", "expected", "tests"),
        ("{compare: {want: {expected: tests}, got: {type: test.reported, take: nam}, as: every}}", "got.take", "name"),
    ],
)  # fmt: skip
def test_a_slip_is_noted_where_it_stands(check: str, place: str, said: str) -> None:
    found = notes(check)

    assert any(note.startswith("l.yaml:8: milestones[0].check.") and f"{place}: " in note for note in found), found
    assert any(said in note for note in found), found


@pytest.mark.parametrize(
    "check",
    [
        "{event: {type: x.y, trust: [agent]}}",
        "{event: {type: [command.exited, file.changed], where: {path: sha256, exists: true}}}",
        "{event: {type: x.y, where: {path: anything, eq: 1}, trust: [system]}}",
        "{event: {type: tool.returned, where: {path: result, any_item: {path: zzz, eq: 1}}}}",
        "{event: {type: tool.returned, where: {path: result, eq: {type: no.type, path: zzz}}}}",
        "{event: {type: tool.returned, where: {path: ., exists: true}}}",
        "{compare: {want: {expected: actions, take: zzz}, got: {call: '*', take: tool}, as: only}}",
    ],
)
def test_what_is_meant_is_not_noted(check: str) -> None:
    assert notes(check) == []


def test_a_trusted_unknown_type_is_not_noted_and_a_near_one_is() -> None:
    assert notes("{event: {type: x.y}}", rung="    trust: [agent]\n") == []
    assert len(notes("{event: {type: comand.exited}}", rung="    trust: [agent]\n")) == 1


def test_a_definition_is_noted_where_it_stands_once() -> None:
    found = notes(
        "{all_of: [{event: {type: command.exited, where: {use: ok}}}, {use: again}]}",
        define="{ok: {path: exitcode, eq: 0}, again: {last: {of: {type: command.exited}, is: {use: ok}}}}",
    )  # fmt: skip

    assert found == [
        "l.yaml:5: define.ok.path: command.exited is not known to have a field exitcode; did you mean exit_code?"
    ]


def test_text_that_is_no_text_is_quoted_as_it_is_written() -> None:
    from grading.errors import InvalidLadder

    for version, written in (("1.10", "1.10"), ("1e3", "1e3"), ("true", "true")):
        with pytest.raises(InvalidLadder, match=f'"{written}"'):
            read_ladder(f"gradespine: 1\nladder: l\nversion: {version}\nmode: independent\nmilestones: []")
        with pytest.raises(InvalidLadder, match=f'"{written}"'):
            read_ladder(f'{{"gradespine": 1, "ladder": "l", "version": {version}, "mode": "x", "milestones": []}}')


def test_a_suggestion_is_a_word_of_the_language() -> None:
    from grading.errors import InvalidLadder

    with pytest.raises(InvalidLadder, match="did you mean 'starts'") as raised:
        notes("{event: {type: tool.called, where: {path: tool, start: x}}}")
    assert "<" not in str(raised.value)
