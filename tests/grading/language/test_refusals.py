"""What is wrong with a document is said with file, line and path, and with what was probably meant."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grading import examples
from grading.errors import InvalidLadder
from grading.reader.checks import CHECK_KEYS
from grading.reader.ladders import LADDER_KEYS, RUNG_KEYS
from grading.reader.predicates import PREDICATE_KEYS
from grading.reader.selectors import SELECTOR_KEYS
from grading.reader.text import parse
from grading.spec import ladder_from_document, read_ladder

HEAD = """gradespine: 1
ladder: demo
version: "1"
mode: independent
"""


def document(check: str, head: str = HEAD) -> str:
    return f"{head}milestones:\n  - name: one\n    check:\n      {check}\n"


@pytest.mark.parametrize(
    ("text", "line", "path", "said"),
    [
        ("a: 1", 1, "", "gradespine: 1"),
        ("- a", 1, "", "gradespine: 1"),
        ("gradespine: 2", 1, "gradespine", "language 1"),
        ("gradespine: true", 1, "gradespine", "language 1"),
        ("gradespine: 1\nladder: x", 1, "", "'version'"),
        (HEAD, 1, "", "'milestones'"),
        (HEAD + "milestones: []", 5, "milestones", "empty"),
        (HEAD + "milestone: []", 5, "milestone", "did you mean 'milestones'?"),
        (HEAD.replace('"1"', "1") + "milestones: []", 3, "version", 'version: "1"'),
        (HEAD.replace('"1"', "1.0") + "milestones: []", 3, "version", "quotes"),
        (HEAD.replace("demo", "a b") + "milestones: []", 2, "ladder", "cannot be the ladder"),
        (HEAD.replace("demo", "'@'") + "milestones: []", 2, "ladder", "cannot be the ladder"),
        (document("event: {type: x.a}", HEAD.replace("independent", "independant")), 4, "mode", "did you mean"),
        (document("event: {type: x.a}", HEAD + "pass_at: 1.5\n"), 5, "pass_at", "0 to 1"),
        (document("event: {type: x.a}", HEAD + "pass_at: high\n"), 5, "pass_at", "number"),
        (document("event: {type: x.a}", HEAD + "trust: [robot]\n"), 5, "trust[0]", "no actor"),
        (document("event: {type: x.a}", HEAD + "trust: []\n"), 5, "trust", "empty"),
        (document("event: {type: x.a}", HEAD + "trust: agent\n"), 5, "trust", "a list"),
        (document("event: {type: x.a}\n    weight: 0"), 9, "milestones[0].weight", "above 0"),
        (document("event: {type: x.a}\n    weight: -1"), 9, "milestones[0].weight", "above 0"),
        (document("event: {type: x.a}\n    weight: heavy"), 9, "milestones[0].weight", "number"),
        (document("event: {type: x.a}\n    required: no"), 9, "milestones[0].required", "true or false"),
        (document("event: {type: x.a}\n    required: false"), 5, "milestones", "required"),
        (
            document("event: {type: x.a}\n  - name: one\n    check: {absent: {type: x.a}}"),
            9,
            "milestones[1].name",
            "above",
        ),
        (
            document("event: {type: x.a}\n  - name: ''\n    check: {absent: {type: x.a}}"),
            9,
            "milestones[1].name",
            "name",
        ),
        (document("event: {type: x.a}\n  - check: {absent: {type: x.a}}"), 9, "milestones[1]", "'name'"),
        (document("event: {type: x.a}\n  - name: two"), 9, "milestones[1]", "'check'"),
        (document("{}"), 7, "milestones[0].check", "one of"),
        (document("event: {type: x.a}\n      absent: {type: x.a}"), 9, "milestones[0].check.absent", "only one of"),
        (
            document("use: p", HEAD + "define: {pp: {event: {type: x.a}}}\n"),
            9,
            "milestones[0].check.use",
            "did you mean 'pp'?",
        ),
        (document("use: p", HEAD + "define: {p: {path: a, eq: 1}}\n"), 5, "define.p.path", "a check has no key"),
        (document("event: {type: x.a}", HEAD + "define:\n  p: {pth: a, eq: 1}\n"), 6, "define.p.pth", "'path'"),
        (
            document("event: {type: x.a}", HEAD + "define:\n  p: {not: {use: q}}\n  q: {not: {use: p}}\n"),
            6,
            "define.p",
            "p uses q uses p",
        ),
        (document("event: {type: x.a}", HEAD + "define:\n  p: {use: p}\n"), 6, "define.p", "itself"),
        (
            document("compare:\n        want: {expcted: a}\n        got: {type: x.a}\n        as: every"),
            9,
            "milestones[0].check.compare.want.expcted",
            "'expected'",
        ),
    ],
)
def test_a_mistake_is_refused_where_it_stands(text: str, line: int, path: str, said: str) -> None:
    with pytest.raises(InvalidLadder) as raised:
        read_ladder(text, "demo.yaml")

    assert (raised.value.source, raised.value.line, raised.value.path) == ("demo.yaml", line, path)
    assert said in raised.value.reason
    assert str(raised.value).startswith(f"demo.yaml:{line}: ")


@pytest.mark.parametrize(
    ("check", "path", "said"),
    [
        ("evnt: {type: x.a}", "evnt", "did you mean 'event'?"),
        ("judge: {key: k}", "judge", "judge needs the key 'rules'"),
        ("event: {}", "event", "type, call"),
        ("event: {type: x.a, call: b}", "event.call", "only one of"),
        ("event: {type: grade.summary}", "event.type", "never evidence"),
        ("event: {type: [x.a, import.recorded]}", "event.type[1]", "never evidence"),
        ("event: {type: Tool}", "event.type", "no event type"),
        ("event: {type: [x.a, x.a]}", "event.type[1]", "twice"),
        ("event: {call: [a, '*']}", "event.call", "alone"),
        ("event: {type: x.a, pick: any}", "event.pick", "first, last"),
        ("event: {type: x.a, wher: {path: a, eq: 1}}", "event.wher", "'where'"),
        ("event: {type: x.a, take: y}", "event.take", "no key 'take'"),
        ("event: {type: x.a, latest_by: 'a..b'}", "event.latest_by", "step"),
        ("event: {type: x.a, latest_by: 0}", "event.latest_by", "quotes"),
        ("event: {type: x.a, where: {path: a}}", "event.where", "one of eq"),
        ("event: {type: x.a, where: {eq: 1}}", "event.where", "'path'"),
        ("event: {type: x.a, where: {path: a, eq: 1, in: [1]}}", "event.where.in", "only"),
        ("event: {type: x.a, where: {path: a, equals: 1}}", "event.where.equals", "key"),
        ("event: {type: x.a, where: {all: []}}", "event.where.all", "empty"),
        ("event: {type: x.a, where: {not: {path: a, eq: 1}, path: b}}", "event.where", "alone"),
        ("event: {type: x.a, where: {path: a, matches: '('}}", "event.where.matches", "RE2"),
        ("event: {type: x.a, where: {path: a, matches: '(?=x)'}}", "event.where.matches", "RE2"),
        ("event: {type: x.a, where: {path: a, in: x}}", "event.where.in", "not an array"),
        ("event: {type: x.a, where: {path: a, lt: '1'}}", "event.where.lt", "not a number"),
        ("event: {type: x.a, where: {path: a, is: text}}", "event.where.is", "string"),
        ("event: {type: x.a, where: {path: a, exists: yes}}", "event.where.exists", "boolean"),
        ("event: {type: x.a, where: {path: a, under: x}}", "event.where.under", "relative"),
        ("event: {type: x.a, where: {path: a, contains: 1}}", "event.where.contains", "string"),
        ("event: {type: x.a, where: {path: a, eq: {$expect: t}}}", "event.where.eq.$expect", "$expected"),
        ("event: {type: x.a, where: {path: a, in: [{$expected: t}]}}", "event.where.in[0].$expected", "whole"),
        ("event: {type: x.a, where: {path: a, eq: {$expected: t, x: 1}}}", "event.where.eq", "alone"),
        ("event: {type: x.a, where: {path: a, matches: {$expected: t}}}", "event.where.matches", "document"),
        ("event: {type: x.a, where: {path: a, eq: b, clean: [lover]}}", "event.where.clean[0]", "'lower'"),
        ("event: {type: x.a, where: {path: a, lt: 1, clean: [lower]}}", "event.where.clean", "texts"),
        ("event: {type: x.a, where: {use: p}}", "event.where.use", "defined"),
        ("count: {of: {type: x.a}}", "count", "at_least, at_most, exactly"),
        ("count: {of: {type: x.a}, at_least: 0}", "count.at_least", "at least 1"),
        ("count: {of: {type: x.a}, at_most: 1.5}", "count.at_most", "whole"),
        ("count: {of: {type: x.a}, at_most: 1, exactly: 1}", "count.exactly", "only one of"),
        ("sequence: []", "sequence", "empty"),
        ("sequence: {type: x.a}", "sequence", "a list"),
        ("within: {first: {type: x.a}, then: {type: x.b}}", "within", "events, seconds"),
        ("within: {first: {type: x.a}, then: {type: x.b}, events: 0}", "within.events", "least 1"),
        ("last: {of: {type: x.a}}", "last", "'is'"),
        ("answer: {key: k}", "answer", "one of eq"),
        ("answer: {eq: k}", "answer", "'key'"),
        ("answer: {key: 1, eq: k}", "answer.key", "quotes"),
        ("at_least: {n: 2, of: [{event: {type: x.a}}]}", "at_least.n", "never"),
        ("all_of: [{event: {type: x.a}}, {event: {tpe: x.a}}]", "all_of[1].event.tpe", "'type'"),
        ("compare: {want: {expected: a, trust: [agent]}, got: {type: x.a}, as: every}", "compare.want.trust", "no key"),
        ("compare: {want: {expected: a}, got: {type: x.a}, as: each}", "compare.as", "every"),
        ("compare: {want: {expected: a}, got: {type: x.a}}", "compare", "'as'"),
        ("compare: {want: {expected: a, take: [b, c]}, got: {type: x.a, take: b}, as: every}", "compare.got", "never"),
        (
            "compare: {want: {expected: a, take: [b]}, got: {type: x.a, take: [b]}, as: said}",
            "compare.want.take",
            "texts",
        ),
        ("compare: {want: {expected: a}, got: {type: x.a}, as: every, keep: [a]}", "compare.keep", "keys"),
    ],
)
def test_a_mistake_in_a_check_is_refused_where_it_stands(check: str, path: str, said: str) -> None:
    with pytest.raises(InvalidLadder) as raised:
        read_ladder(document(check), "demo.yaml")

    assert (raised.value.line, raised.value.path) == (8, f"milestones[0].check.{path}")
    assert said in raised.value.reason


def test_without_a_text_there_is_no_line() -> None:
    with pytest.raises(InvalidLadder) as raised:
        ladder_from_document({"gradespine": 1, "ladder": "a", "version": "1", "mode": "independent", "milestones": [1]})

    assert str(raised.value) == "milestones[0]: a milestone is an object: an integer, not an object"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**60, object(), "\0", "\ud800"])
def test_a_document_without_a_text_keeps_to_the_same_rules(value: object) -> None:
    with pytest.raises(InvalidLadder):
        ladder_from_document({"gradespine": 1, "x": value})


def test_definitions_may_not_explode() -> None:
    layers = "".join(f"  p{n}: {{all: [{{use: p{n + 1}}}, {{use: p{n + 1}}}]}}\n" for n in range(40))
    text = document("event: {type: x.a, where: {use: p0}}", HEAD + f"define:\n{layers}  p40: {{path: a, eq: 1}}\n")

    with pytest.raises(InvalidLadder, match="written out"):
        read_ladder(text)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("link", ["{use: p%d}", "{not: {use: p%d}}"])
def test_definitions_may_not_grow_a_chain_without_end(link: str, backwards: bool) -> None:
    links = [f"  p{n}: {link % (n + 1)}\n" for n in range(2000)] + ["  p2000: {path: a, eq: 1}\n"]
    defined = "".join(reversed(links) if backwards else links)

    with pytest.raises(InvalidLadder, match="deep"):
        read_ladder(document("event: {type: x.a, where: {use: p0}}", HEAD + f"define:\n{defined}"))


PIECES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats()
    | st.sampled_from(
        ["", "*", "x.a", "a.b", "$expected", "every", "first", "agent", "grade.x", "shell", "lower", "("]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [*CHECK_KEYS, *SELECTOR_KEYS, *PREDICATE_KEYS, *LADDER_KEYS, *RUNG_KEYS, "of", "n", "$expected"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


def places(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, part in inner for place in places(part, (*at, key)))]


@given(st.data(), st.sampled_from(examples.names()), PIECES)
def test_any_document_is_a_ladder_or_is_refused(data: st.DataObject, name: str, piece: Any) -> None:
    document = parse(examples.text(name)).value
    place = data.draw(st.sampled_from(places(document)[1:]))
    inner = document
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = piece

    with suppress(InvalidLadder):
        assert ladder_from_document(document).milestones
