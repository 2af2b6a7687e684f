"""judge: rules about a text of the run, and about its recorded calls."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grading.budget import Budget
from grading.errors import InvalidLadder
from grading.evidence import MapEvidence
from grading.reader.place import Place
from grading.reader.rules import RULES
from grading.reader.yaml_text import read_yaml
from grading.spec import json_schema, ladder_from_document, read_ladder
from tests.grading.language.cases import AGENT, HUMAN, answered, called, check, judged, new, outcome, returned, run
from tests.grading.language.test_reference import names, tables
from tests.grading.language.test_spec import fits


def said(content: str, actor: Any = AGENT) -> Any:
    return new("message.sent", actor, role="assistant", content=content)


def of_key(rules: str) -> str:
    return f"judge: {{key: k, rules: {rules}}}"


def of_message(rules: str, more: str = "") -> str:
    return f"judge: {{of: {{type: message.sent{more}}}, path: content, rules: {rules}}}"


def document(check: str) -> str:
    return (
        f'gradespine: 1\nladder: l\nversion: "1"\nmode: independent\nmilestones:\n  - name: m\n    check: {{{check}}}\n'
    )


@pytest.mark.parametrize(
    ("text", "events", "found"),
    [
        (of_key("[{contains: ok}]"), [answered("all ok")], ("pass", (1,))),
        (of_key("[{contains: ok}]"), [answered("all ok"), answered("no")], ("fail", (2,))),
        (of_key("[{contains: ok}]"), [answered("no"), answered("ok"), answered("no", "other")], ("pass", (2,))),
        (of_key("[{contains: ok}]"), [answered("ok", "other")], ("fail", ())),
        (of_key("[{not_contains: bad}]"), [], ("fail", ())),
        (of_key("[{not_contains: bad}, {max_chars: 3}]"), [answered("good")], ("fail", (1,))),
        (of_key("[{op: max_chars, arg: '+4'}, {op: json_valid}]"), [answered("1234")], ("pass", (1,))),
        (of_message("[{starts_with: a}]"), [said("b"), said("a")], ("pass", (2,))),
        (of_message("[{starts_with: b}]", ", pick: first"), [said("b"), said("a")], ("pass", (1,))),
        (of_message("[{starts_with: a}]", ", where: {path: content, eq: 1}"), [said("a")], ("fail", ())),
        (of_message("[{equals: a}]", ", trust: [human]"), [said("a", HUMAN), said("b")], ("pass", (1,))),
    ],
)  # fmt: skip
def test_every_rule_has_to_hold_of_the_text(text: str, events: list[Any], found: Any) -> None:
    assert outcome(check(text), run(*events)) == found


def test_a_call_is_judged_where_it_says_something_and_cites_its_return() -> None:
    text = "judge: {of: {call: submit}, path: result, rules: [{json_schema: {type: object, required: [a]}}]}"

    assert outcome(check(text), run(called("c", "submit"), returned("c", "submit", '{"a": 1}'))) == ("pass", (1, 2))
    assert outcome(check(text), run(called("c", "submit"), returned("c", "submit", "{}"))) == ("fail", (1, 2))
    assert outcome(check(text), run(called("c", "submit"))) == ("fail", (1,))
    where = "seq 1: result: an object, not a string"
    assert outcome(check(text), run(called("c", "submit"), returned("c", "submit", {}))) == ("wrong_type", where)


def test_erased_evidence_breaks_it_only_where_it_is_judged() -> None:
    erased_last = run(said("a"), said("b"), erase=[2])
    erased_first = run(said("a"), said("b"), erase=[1])

    assert outcome(check(of_message("[{equals: b}]")), erased_last) == ("evidence_erased", "seq 2")
    assert outcome(check(of_message("[{equals: b}]")), erased_first) == ("pass", (2,))
    assert outcome(check(of_key("[{equals: b}]")), run(answered("b"), erase=[1])) == ("evidence_erased", "seq 1")


def test_called_tool_looks_for_a_call_and_not_for_a_mention() -> None:
    mentioned = run(answered("I called gofmt"))
    really = run(called("c", "gofmt", path="a.go"), answered("done"))
    text = of_key("[{min_chars: 1}, {called_tool: {call: gofmt, where: {path: arguments.path, starts: a}}}]")

    assert outcome(check(of_key("[{tool_called: gofmt}]")), mentioned) == ("pass", (1,))
    assert outcome(check(of_key("[{min_chars: 1}, {called_tool: gofmt}]")), mentioned) == ("fail", ())
    assert outcome(check(text), really) == ("pass", (1, 2))
    assert outcome(check(text.replace("starts: a", "starts: b")), really) == ("fail", ())
    assert outcome(check(of_key("[{min_chars: 1}, {not_called_tool: gofmt}]")), really) == ("fail", (1,))
    assert outcome(check(of_key('[{min_chars: 1}, {not_called_tool: "*"}]')), mentioned) == ("pass", (1,))
    assert outcome(check(of_key("[{max_chars: 1}, {called_tool: gofmt}]")), really) == ("fail", (2,))


def test_a_call_is_forbidden_whoever_says_it_was_made() -> None:
    text = "all_of: [judge: {key: k, rules: [{min_chars: 1}, {not_called_tool: bash}]}]"
    orphan = run(returned("c", "bash"), answered("x"))

    assert outcome(check(text), orphan) == ("fail", (1,))  # a return without a call: somebody hid it
    assert outcome(check(text.replace("not_called", "called")), orphan) == ("fail", ())


def test_only_the_believed_are_judged() -> None:
    forged = run(new("x.note", text="bad"), new("x.note", AGENT, text="ok"))

    assert outcome(check("judge: {of: {type: x.note}, path: text, rules: [{equals: ok}]}"), forged) == ("fail", (1,))


def test_none_of_forbids_among_the_believed_and_among_everyone() -> None:
    text = "none_of: [{judge: {of: {type: x.note}, path: text, rules: [{equals: bad}]}}]"
    hidden = run(new("x.note", text="bad"), new("x.note", AGENT, text="fine"))
    forged = run(new("x.note", text="fine"), new("x.note", AGENT, text="bad"))

    assert outcome(check(text), hidden) == ("fail", (1,))
    assert outcome(check(text), forged) == ("fail", (2,))


def test_an_answer_that_was_supplied_holds_and_cites_nothing() -> None:
    held = check(of_key("[{regex: '^a'}]"))
    evidence = MapEvidence(run(answered("b")), {"k": "a\ud800"})

    assert (held(evidence).passed, held(evidence).citations) == (True, ())
    assert not held(MapEvidence(run(answered("a")), {})).passed


def test_the_detail_names_rules_and_seqs_and_no_values() -> None:
    rules = "[{contains: x1}, {max_chars: 2}, {json_valid: true}]"
    verdict = judged(check(of_key(rules)), run(answered("secret")))

    assert verdict.detail == (
        "answer for k, at seq 1, breaks 3 of 3 rules: rules.0 (contains), rules.1 (max_chars), rules.2 (json_valid)"
    )
    assert (
        judged(check(of_key("[{min_chars: 1}]")), run(answered("a"))).detail == "answer for k, at seq 1, keeps the rule"
    )


def test_work_is_bounded_and_asking_again_uses_nothing_up() -> None:
    events = run(answered("a" * 100))
    reducer = check(of_key("[{contains: b}, {regex: b}]"), budget=Budget(20, 250)).start(None)
    for event in events:
        reducer.step(event)

    assert [reducer.result().passed for _ in range(5)] == [False] * 5
    code, where = outcome(check(of_key("[{contains: b}, {regex: b}]"), budget=Budget(20, 150)), events)
    assert (code, where) == ("budget_exceeded", "the verdict itself")


@pytest.mark.parametrize(
    ("text", "path", "reason"),
    [
        ("judge: []", "judge", "judge is an object"),
        ("judge: {rules: [{contains: a}]}", "judge", "needs one of key, of"),
        ("judge: {key: k, of: {type: x.a}, path: a, rules: [{contains: a}]}", "judge.of", "takes only one of"),
        ("judge: {key: k, path: a, rules: [{contains: a}]}", "judge.path", "belongs to of"),
        ("judge: {of: {type: x.a}, rules: [{contains: a}]}", "judge", "needs the key 'path'"),
        ("judge: {key: k, rule: []}", "judge.rule", "did you mean 'rules'?"),
        (of_key("[]"), "judge.rules", "is empty"),
        (of_key("[contains]"), "judge.rules[0]", "a rule is one op with its arg"),
        (of_key("[{contains: a, max_chars: 1}]"), "judge.rules[0]", "a rule is one op with its arg"),
        (of_key("[{contans: a}]"), "judge.rules[0].contans", "did you mean 'contains'?"),
        (of_key("[{op: contans, arg: a}]"), "judge.rules[0].op", "did you mean 'contains'?"),
        (of_key("[{op: contains}]"), "judge.rules[0]", "needs the key 'arg'"),
        (of_key("[{op: contains, arg: a, x: 1}]"), "judge.rules[0].x", "no key 'x'"),
        (of_key("[{not_max_chars: 1}]"), "judge.rules[0].not_max_chars", "there is no rule"),
        (of_key("[{contains: 5}]"), "judge.rules[0].contains", "arg is not text"),
        (of_key("[{contains: ''}]"), "judge.rules[0].contains", "decides nothing"),
        (of_key("[{not_regex: ''}]"), "judge.rules[0].not_regex", "decides nothing"),
        (of_key("[{regex: '(?=a)'}]"), "judge.rules[0].regex", "invalid pattern"),
        (of_key("[{op: regex, arg: '\\C'}]"), "judge.rules[0].arg", "invalid escape sequence"),
        (of_key("[{max_chars: -1}]"), "judge.rules[0].max_chars", "at least 0"),
        (of_key("[{min_chars: 0}]"), "judge.rules[0].min_chars", "at least 1"),
        (of_key("[{max_chars: 1.5}]"), "judge.rules[0].max_chars", "a whole number"),
        (of_key("[{max_chars: true}]"), "judge.rules[0].max_chars", "a whole number"),
        (of_key("[{max_chars: 1_000}]"), "judge.rules[0].max_chars", "invalid arg"),
        (of_key("[{json_valid: false}]"), "judge.rules[0].json_valid", "takes no arg"),
        (of_key("[{json_schema: 5}]"), "judge.rules[0].json_schema", "an object, true or false"),
        (of_key("[{json_schema: {$ref: 'http://x.y/z'}}]"), "judge.rules[0].json_schema.$ref", "only # references"),
        (of_key("[{json_schema: {items: {typ: a}}}]"), "judge.rules[0].json_schema.items.typ", "did you mean type?"),
        (of_key("[{json_schema: '{'}]"), "judge.rules[0].json_schema", "no JSON"),
        (of_key("[{regex: a}, {regex: '(\\pL{50}){2}'}]"), "judge.rules[1].regex", "too large together"),
        (of_key("[{called_tool: a}]"), "judge.rules", "none of the rules is about a text"),
        (of_key("[{contains: a}, {called_tool: ''}]"), "judge.rules[1].called_tool", "names a tool"),
        (of_key("[{contains: a}, {called_tool: [a]}]"), "judge.rules[1].called_tool", "is text"),
        (of_key("[{contains: a}, {called_tool: {type: x.a}}]"), "judge.rules[1].called_tool", "a selector of calls"),
        (of_key("[{contains: a}, {called_tool: {call: a, wher: 1}}]"), "judge.rules[1].called_tool.wher", "'where'?"),
    ],
)
def test_a_malformed_rule_is_a_mistake_of_the_document(text: str, path: str, reason: str) -> None:
    with pytest.raises(InvalidLadder) as raised:
        read_ladder(document(text), "l.yaml")

    assert str(raised.value).startswith(f"l.yaml:7: milestones[0].check.{path}: ")
    assert reason in raised.value.reason


GOOD = [
    of_key("[{contains: a}, {op: contains, arg: a}, {max_chars: 5}, {op: min_chars, arg: '5'}]"),
    of_key("[{json_valid: true}, {op: not_json_valid}, {json_schema: {type: object, x-a: {use: b}}}]"),
    of_message("[{called_tool: a}, {not_called_tool: {call: '*', where: {path: tool, eq: b}}}, {regex: a}]"),
]


@pytest.mark.parametrize("text", GOOD)
def test_a_document_reads_back_and_fits_its_schema(text: str) -> None:
    read = read_ladder(document(text))
    schema = json_schema()

    assert ladder_from_document(read.document) == read.ladder
    assert fits(read.document, schema, schema)
    assert read.notes == ()


@pytest.mark.parametrize("rule", ["{contans: a}", "{contains: 5}", "{max_chars: -1}", "{op: contains}", "contains"])
def test_the_schema_for_editors_refuses_a_malformed_rule(rule: str) -> None:
    schema = json_schema()
    wrong = read_ladder(document(of_key("[{contains: a}]"))).document
    held = {
        **wrong,
        "milestones": [{"name": "m", "check": {"judge": {"key": "k", "rules": [read_yaml(rule, Place(), {})]}}}],
    }

    assert fits(wrong, schema, schema)
    assert not fits(held, schema, schema)


def test_a_mention_is_noted_and_so_is_a_slip_in_a_selector() -> None:
    notes = [
        read_ladder(document(text)).notes[0]
        for text in (
            of_key("[{tool_called: bash}]"),
            "judge: {of: {type: message.sent}, path: contnt, rules: [{contains: a}]}",
            "judge: {of: {type: mesage.sent}, path: content, rules: [{contains: a}]}",
            of_key("[{contains: a}, {called_tool: {call: a, where: {path: argments.x, eq: 1}}}]"),
        )
    ]

    assert "called_tool looks for a recorded call" in notes[0]
    assert "judge.path: message.sent is not known to have a field contnt; did you mean content?" in notes[1]
    assert "mesage.sent is not a known type; did you mean message.sent?" in notes[2]
    assert "judge.rules[1].called_tool.where.path: " in notes[3]


def test_the_page_has_a_row_for_every_rule() -> None:
    rows = tables("`judge`")[0]
    forms = [f"not_{row['rule'].strip('`')}" for row in rows if row["`not_`"] == "yes"]

    assert [*names(rows, "rule"), *forms] == list(RULES)
    assert all(re.fullmatch(r"[a-z_]+", rule) for rule in RULES)


FORGED = st.lists(
    st.one_of(
        st.builds(answered, st.just("clean")),
        st.builds(said, st.just("clean")),
        st.builds(lambda id: called(id, "build", result="clean"), st.sampled_from(["r", "c", "d"])),
        st.builds(lambda: new("x.note", AGENT, output="clean")),
    ),
    max_size=6,
)


@given(FORGED, FORGED, st.sampled_from(["type: command.exited", "type: x.note", "call: build"]))
@settings(max_examples=60, deadline=None)
def test_nothing_an_agent_writes_passes_what_the_system_said_otherwise(before: Any, after: Any, of: str) -> None:
    path = "result" if of.startswith("call") else "output"
    told = [
        new("command.exited", command="make", exit_code=1, output="dirty"),
        new("x.note", output="dirty"),
        called("r", "build"),
        returned("r", "build", "dirty"),
    ]
    text = f"judge: {{of: {{{of}}}, path: {path}, rules: [{{equals: clean}}, {{not_contains: dirty}}]}}"

    found, _ = outcome(check(text), run(*before, *told, *after))

    assert found == "fail"
