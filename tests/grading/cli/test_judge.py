"""gradespine judge: 0 all pass, 1 judged and not all pass, 2 usage, 3 could not judge."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from grading.cli.main import app

if TYPE_CHECKING:
    from typer.testing import Result


def judge(*arguments: object, stdin: str | bytes | None = None) -> "Result":
    return CliRunner().invoke(app, ["judge", *map(str, arguments)], input=stdin)


@pytest.fixture
def checks(tmp_path: Path) -> Path:
    path = tmp_path / "checks.json"
    path.write_text('[{"op": "contains", "arg": "done"}, {"op": "max_chars", "arg": "6"}]')
    return path


def test_all_pass(checks: Path, tmp_path: Path) -> None:
    text = tmp_path / "answer.md"
    text.write_text("done\n")

    result = judge(checks, text)

    assert result.exit_code == 0
    assert result.stdout == "hard: 1  soft: 1.00\n  - contains: pass done\n  - max_chars: pass 6 (got 5)\n"
    assert result.stderr == ""


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_the_text_may_come_from_stdin(checks: Path, arguments: tuple[str, ...]) -> None:
    result = judge(checks, *arguments, stdin="not yet done")

    assert result.exit_code == 1
    assert result.stdout == "hard: 0  soft: 0.50\n  - contains: pass done\n  - max_chars: fail 6 (got 12)\n"
    assert result.stderr == ""


def test_so_may_the_checks(tmp_path: Path) -> None:
    text = tmp_path / "answer.md"
    text.write_text("x")

    assert judge("-", text, stdin='[{"op": "equals", "arg": "x"}]').exit_code == 0


def test_the_result_as_json(checks: Path) -> None:
    result = judge(checks, "--json", stdin="done, at last")

    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "hard": 0.0,
        "soft": 0.5,
        "why": ["contains: pass done", "max_chars: fail 6 (got 13)"],
        "passed": [True, False],
    }


@pytest.mark.parametrize(
    ("passing", "of", "shown"), [(1, 8, "0.12"), (3, 8, "0.38"), (999, 1000, "1.00"), (0, 1, "0.00")]
)
def test_soft_is_rounded_half_even_on_the_binary_value(tmp_path: Path, passing: int, of: int, shown: str) -> None:
    path = tmp_path / "checks.json"
    rules = [{"op": "contains", "arg": "a" if index < passing else "b"} for index in range(of)]
    path.write_text(json.dumps(rules))

    result = judge(path, stdin="a")

    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == f"hard: 0  soft: {shown}"


@pytest.mark.parametrize("content", ["[]", "null", "", "{}", "\ufeff[]", '[{"op": "max_chars", "arg": 5}]', "[1]"])
def test_what_holds_no_checks_cannot_be_judged_by(tmp_path: Path, content: str) -> None:
    path = tmp_path / "checks.json"
    path.write_text(content)

    result = judge(path, stdin="x")

    assert result.exit_code == 3
    assert result.stdout == ""
    assert result.stderr.startswith(f"gradespine: {path}:")


def test_the_checks_are_read_before_the_text(tmp_path: Path, checks: Path) -> None:
    nothing = tmp_path / "nothing"

    assert f"{nothing} cannot be read" in judge(nothing, tmp_path / "neither").stderr
    assert judge(nothing, stdin="x").exit_code == 3
    assert judge(checks, nothing).exit_code == 3
    assert judge(checks, tmp_path).exit_code == 3
    assert judge(checks, "a\0b").exit_code == 3


def test_a_malformed_rule_has_failed_and_was_judged(tmp_path: Path) -> None:
    path = tmp_path / "checks.json"
    path.write_text('[{"op": "regex", "arg": "("}, {"op": "nope"}, {"op": "max_chars", "arg": "x"}]')

    result = judge(path, stdin="x")

    assert result.exit_code == 1
    assert result.stdout.splitlines()[2:] == ['  - unknown op "nope"', '  - length: invalid arg "x"']


def test_too_much_work_is_not_judged(tmp_path: Path) -> None:
    path = tmp_path / "checks.json"
    path.write_text('[{"op": "regex", "arg": "(?:a|b|ab|ba){1,900}x"}]')

    result = judge(path, stdin="a" * 1_000_000)

    assert result.exit_code == 3
    assert "budget_exceeded: check 1 of 1" in result.stderr


@pytest.mark.parametrize("arguments", [(), ("a", "b", "c"), ("a", "--yaml"), ("-",), ("-", "-")])
def test_a_wrong_call_is_usage(arguments: tuple[str, ...]) -> None:
    assert judge(*arguments, stdin="[]").exit_code == 2


def test_a_byte_that_is_no_utf_8_counts_as_one(checks: Path) -> None:
    assert "max_chars: pass 6 (got 6)" in judge(checks, stdin=b"done\xff\xfe").stdout


def test_nothing_that_a_terminal_acts_on_is_printed(tmp_path: Path) -> None:
    path = tmp_path / "checks.json"
    path.write_text(json.dumps([{"op": "contains", "arg": "\x1b[31m\nred"}]))

    assert judge(path, stdin="x").stdout.splitlines()[1] == r"  - contains: fail \x1b[31m\nred"
    assert "\x1b" not in judge(path, "--json", stdin="x").stdout
