"""json_valid and json_schema: strict, closed, bounded, and otherwise what the jsonschema-rs library says."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from grading.budget import Budget, Work
from grading.errors import BrokenCode, CheckBroken
from grading.rules import Rule, score
from grading.rules.schema_asking import departure
from grading.rules.schemas import DIALECT, InvalidSchema, read_schema


def fits(schema: Any, value: Any) -> bool:
    return departure(read_schema(schema, Work()), value, Work()) is None


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("{}", True),
        (" [1, 2.5e3, null]\n", True),
        ('"x"', True),
        ('{"a": 1, "a": 2}', True),
        ("123456789012345678901234567890", True),
        ("[" * 64 + "]" * 64, True),
        ("[" * 65 + "]" * 65, False),
        ("[" * 100_000, False),
        ("", False),
        ("{'a': 1}", False),
        ("[1,]", False),
        ("01", False),
        ("NaN", False),
        ("1 2", False),
        ("\ufeff1", False),
        ('"\\ud800"', False),
        ("1e999", False),
        ('"\n"', False),
        ("```json\n{}\n```", False),
    ],
)
def test_json_is_one_strict_value(text: str, valid: bool) -> None:
    assert score(text, [Rule("json_valid")]).passed == (valid,)
    assert score(text, [Rule("not_json_valid")]).passed == (not valid,)
    assert score(text, [Rule("json_schema", True)]).passed == (valid,)


def test_a_reason_names_where_and_which_keyword() -> None:
    schema = {"properties": {"a": {"items": {"$ref": "#/$defs/n"}}}, "$defs": {"n": {"type": "integer"}}}
    texts = {'{"a": [1, "x"]}': '"a/1" does not keep to "$defs/n/type"', '{"a": [2.0]}': "fits", "{": "no JSON"}

    for text, said in texts.items():
        assert said in score(text, [Rule("json_schema", schema)]).why[0]
        assert score(text, [Rule("not_json_schema", schema)]).passed == (said != "fits",)


def test_a_schema_may_be_given_as_text() -> None:
    assert score("[]", [Rule("json_schema", '{"type": "array"}')]).hard == 1
    assert "invalid schema: #/type: no schema of draft" in score("[]", [Rule("json_schema", '{"type": 1}')]).why[0]


@pytest.mark.parametrize(
    ("schema", "path", "said"),
    [
        (1, (), "an object, true or false"),
        ({"$ref": "http://example.com/s"}, ("$ref",), "only # references are followed"),
        ({"$ref": "file:///etc/passwd"}, ("$ref",), "only # references are followed"),
        ({"$ref": "other.json#/a"}, ("$ref",), "only # references are followed"),
        ({"items": {"$ref": "#/$defs/a"}}, ("items", "$ref"), "leads to no schema"),
        ({"enum": [{}], "$ref": "#/enum/0"}, ("$ref",), "leads to no schema"),
        ({"$dynamicRef": "#x"}, ("$dynamicRef",), "not taken"),
        ({"items": {"$id": "http://x/y"}}, ("items", "$id"), "at the top only"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, ("$schema",), "draft 2020-12"),
        ({"additionalItems": {}}, ("additionalItems",), "prefixItems and items"),
        ({"requierd": []}, ("requierd",), "did you mean required?"),
        ({"items": [{}]}, ("items",), "an object, true or false"),
        ({"properties": {"a": {"minLength": "x"}}}, ("properties", "a", "minLength"), "no schema of draft"),
        ({"pattern": "(?=a)"}, ("pattern",), "no RE2 pattern"),
        ({"patternProperties": {r"\C": {}}}, ("patternProperties",), "no RE2 pattern"),
        ({"allOf": {}}, ("allOf",), "a list of schemas"),
        ({"$ref": "#"}, (), "for ever"),
        ({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}, ("$defs", "a"), "for ever"),
        ({"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}}, ("$defs", "b", "$anchor"), "stands twice"),
    ],
)
def test_what_is_no_schema_is_refused_at_its_place(schema: Any, path: tuple[str, ...], said: str) -> None:
    with pytest.raises(InvalidSchema) as raised:
        read_schema(schema, Work())

    assert raised.value.steps == path
    assert said in raised.value.reason


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.socket", None)
    monkeypatch.setattr("builtins.open", None)

    for address in ("http://127.0.0.1:9/s", "https://json-schema.org/draft/2020-12/schema", "file:///etc/hostname"):
        with pytest.raises(InvalidSchema):
            read_schema({"$ref": address}, Work())


@pytest.mark.parametrize(
    ("schema", "value", "fit"),
    [
        ({"$schema": DIALECT, "$id": "https://example.com/x", "x-mine": 1, "format": "ipv4", "title": "t"}, "no", True),
        ({"$defs": {"a/b~%": {"type": "null"}}, "$ref": "#/$defs/a~1b~0%25"}, None, True),
        ({"$defs": {"a": {"$anchor": "here", "type": "null"}}, "$ref": "#here"}, 1, False),
        ({"properties": {"next": {"$ref": "#"}}, "required": ["v"]}, {"v": 1, "next": {"v": 2, "next": {}}}, False),
        ({"multipleOf": 0.1}, 0.3, True),
        ({"multipleOf": 0.0001}, 0.00751, False),
        ({"enum": [1]}, True, False),
        ({"const": 1}, 1.0, True),
        ({"uniqueItems": True}, [1, True, {"a": 1, "b": 2}, {"b": 2, "a": 1.0}], False),
        ({"maxLength": 1}, "😀", True),
        ({"pattern": "a$"}, "a\n", False),
        ({"pattern": r"^\d$"}, "٣", False),
        ({"pattern": r"\s"}, "\u00a0", False),
        ({"contains": {"const": 1}, "minContains": 0}, [], True),
        ({"prefixItems": [True], "unevaluatedItems": False}, [1, 2], False),
        ({"anyOf": [{"properties": {"a": {}}}, {"required": ["b"]}], "unevaluatedProperties": False}, {"a": 1}, True),
        ({"not": {"properties": {"a": {}}}, "unevaluatedProperties": False}, {}, False),
        (False, 1, False),
    ],
)
def test_a_value_fits(schema: Any, value: Any, fit: bool) -> None:
    assert fits(schema, value) is fit


def test_a_small_schema_cannot_take_for_ever() -> None:
    doubled = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    schema = {"$defs": {**doubled, "d60": True}, "$ref": "#/$defs/d0"}

    with pytest.raises(CheckBroken) as raised:
        score("1", [Rule("json_schema", schema)], budget=Budget(20_000, 10_000))

    assert raised.value.code is BrokenCode.BUDGET_EXCEEDED


def test_a_long_way_of_references_needs_no_stack() -> None:
    links = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(3000)}
    schema = {"$defs": {**links, "d3000": {"type": "null"}}, "$ref": "#/$defs/d0"}

    assert fits(schema, None)
    assert not fits(schema, 1)


VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 2, 1.5, -1, 0.3, "", "a", "ab", "b1", "é"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
COUNTS = st.integers(0, 3)
NUMBERS = st.sampled_from([0, 1, 1.5, -1])
NAMES = st.lists(st.sampled_from("abc"), max_size=2, unique=True)
TYPES = st.sampled_from(["null", "boolean", "number", "integer", "string", "array", "object"])


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    parts, named = st.lists(inner, min_size=1, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    counted = ("maxLength", "minLength", "maxItems", "minItems", "maxContains", "minContains")
    single = ("not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames")
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "enum": st.lists(VALUES, min_size=1, max_size=3),
            "const": VALUES,
            "multipleOf": st.sampled_from([1, 2, 0.1, 0.5]),
            "pattern": st.sampled_from(["^a", "b$", "[0-9]", "é"]),
            "uniqueItems": st.booleans(),
            "required": NAMES,
            "dependentRequired": st.dictionaries(st.sampled_from("abc"), NAMES, max_size=2),
            "$ref": st.sampled_from(["#/$defs/x", "#z"]),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "[bc]"]), inner, max_size=2),
            **dict.fromkeys(("maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"), NUMBERS),
            **dict.fromkeys((*counted, "maxProperties", "minProperties"), COUNTS),
            **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), parts),
            **dict.fromkeys(("properties", "dependentSchemas"), named),
            **dict.fromkeys((*single, "unevaluatedItems", "unevaluatedProperties"), inner),
        },
    )


SCHEMAS = st.recursive(st.booleans(), schemas, max_leaves=5)


@given(SCHEMAS, SCHEMAS, SCHEMAS, st.lists(VALUES, min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_it_says_what_the_library_says(top: Any, x: Any, z: Any, values: list[Any]) -> None:
    anchored = {"$anchor": "z", **(z if isinstance(z, dict) else {"allOf": [z]})}
    schema = {"allOf": [top], "$defs": {"x": x, "z": anchored}}
    try:
        read = read_schema(schema, Work())
    except InvalidSchema:  # it asks itself for ever: the library would not come back
        assume(False)
    library = jsonschema_rs.Draft202012Validator(schema)

    for value in values:
        assert (departure(read, value, Work()) is None) is library.is_valid(value)
