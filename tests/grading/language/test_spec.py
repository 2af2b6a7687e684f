"""Documents: the same in YAML and in JSON, with a digest of what was written, and a schema for editors."""

import json
import re
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
import rfc8785

from grading import examples
from grading.ladders import Mode
from grading.reader.text import parse
from grading.spec import SEMANTICS, definition_digest, json_schema, ladder_from_document, read_ladder

SMALL = """
gradespine: 1
ladder: demo
version: "2"
mode: cumulative
pass_at: 0.5
trust: [system]
define:
  p: {path: a, eq: 1}
  c: {event: {type: x.a, where: {use: p}}}
  d: {use: c}
milestones:
  - {name: one, check: {use: d}}
  - {name: two, check: {use: c}, weight: 2.5, required: false, trust: [agent]}
"""


def test_a_document_is_a_ladder() -> None:
    read = read_ladder(SMALL)

    assert (read.name, read.version, read.semantics) == ("demo", "2", SEMANTICS)
    assert (read.ladder.name, read.ladder.mode, read.ladder.pass_at) == ("demo", Mode.CUMULATIVE, 0.5)
    assert [(m.name, m.weight, m.required) for m in read.ladder.milestones] == [("one", 1, True), ("two", 2.5, False)]
    assert ladder_from_document(read.document) == read.ladder


def test_json_is_accepted_like_yaml() -> None:
    read = read_ladder(SMALL)
    same = read_ladder("  " + json.dumps(read.document, indent=1))

    assert same == read


def test_the_definition_is_the_digest_of_what_was_written() -> None:
    read = read_ladder(SMALL)

    assert read.definition == sha256(rfc8785.dumps(dict(read.document))).hexdigest()
    assert read_ladder("# a comment\n" + SMALL.replace("0.5", "5e-1")).definition == read.definition
    assert read_ladder(SMALL.replace("check: {use: d}}", "check: {use: d}, weight: 1}")).definition != read.definition
    assert definition_digest({"a": 1.0}) == definition_digest({"a": 1})


@pytest.mark.parametrize("name", examples.names())
def test_an_example_is_a_ladder_of_its_name(name: str) -> None:
    read = read_ladder(examples.text(name), f"{name}.yaml")

    assert read.name == name
    assert read.ladder.milestones


def test_there_are_six_examples() -> None:
    assert examples.names() == [
        "ctf",
        "fireact-hotpotqa",
        "inspect-match",
        "intercode-ctf",
        "safe-change",
        "taubench-airline",
    ]
    with pytest.raises(KeyError):
        examples.text("../spec")


@pytest.mark.parametrize("text", [SMALL, *map(examples.text, examples.names())])
def test_the_schema_accepts_what_is_a_ladder(text: str) -> None:
    schema = json_schema()

    assert json.loads(json.dumps(schema)) == schema
    assert fits(read_ladder(text).document, schema, schema)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("gradespine: 1", "gradespine: 2"),
        ('version: "2"', "version: 2"),
        ("mode: cumulative", "mode: both"),
        ("pass_at: 0.5", "pass_at: 2"),
        ("trust: [system]", "trust: [robot]"),
        ("weight: 2.5", "weight: 0"),
        ("check: {use: d}", "check: {}"),
        ("check: {use: d}", "check: {event: {type: x.a, colour: red}}"),
        ("check: {use: d}", "check: {event: {type: x.a, where: {path: a, eq: 1, in: [1]}}}"),
        ("check: {use: d}", "check: {count: {of: {type: x.a}, at_least: 1, at_most: 2}}"),
        ("check: {use: d}", "check: {judge: {}}"),
        ("name: one", "nam: one"),
    ],
)
def test_the_schema_refuses_what_is_none(old: str, new: str) -> None:
    schema = json_schema()
    assert old in SMALL

    assert not fits(parse(SMALL.replace(old, new)).value, schema, schema)


def fits(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """A validator of the keywords that our schema uses; an unknown one is an error, so none goes unchecked."""
    tests: dict[str, Callable[[Any], bool]] = {
        "$schema": lambda _: True,
        "title": lambda _: True,
        "description": lambda _: True,
        "$defs": lambda _: True,
        "$ref": lambda ref: fits(value, root["$defs"][ref.removeprefix("#/$defs/")], root),
        "type": lambda name: _is(value, name),
        "const": lambda wanted: value == wanted and type(value) is type(wanted),
        "enum": lambda words: value in words,
        "pattern": lambda pattern: re.search(pattern, value) is not None,
        "minLength": lambda least: len(value) >= least,
        "minimum": lambda least: value >= least,
        "maximum": lambda most: value <= most,
        "exclusiveMinimum": lambda least: value > least,
        "minItems": lambda least: len(value) >= least,
        "minProperties": lambda least: len(value) >= least,
        "uniqueItems": lambda _: len(set(map(json.dumps, value))) == len(value),
        "items": lambda inner: all(fits(item, inner, root) for item in value),
        "anyOf": lambda choices: any(fits(value, choice, root) for choice in choices),
        "not": lambda inner: not fits(value, inner, root),
        "required": lambda keys: all(key in value for key in keys),
        "properties": lambda inner: all(fits(value[key], inner[key], root) for key in value if key in inner),
        "additionalProperties": lambda inner: all(
            inner is not False and fits(item, inner, root)
            for key, item in value.items()
            if key not in schema.get("properties", {})
        ),
    }
    return all(tests[keyword](argument) for keyword, argument in sorted(schema.items(), key=lambda at: at[0] != "type"))


def _is(value: Any, name: str) -> bool:
    types: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool, "number": (int, float)}
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, types[name]) and (name == "boolean" or not isinstance(value, bool))
