"""JSON Schemas as rules take them: draft 2020-12, whole and closed. Read here, asked in `schema_asking`.

Nothing is fetched: a reference leads to a place in the same schema. Keywords that are not known are refused, since a
slip of the pen would ask for nothing; those that begin with `x-` and those that only describe are passed over. `format`
only describes, which is the draft's default. The library checks a schema against the draft's own; asking is ours,
because the library can neither be told to use RE2 nor to stop: 40 lines of `allOf` over `$ref` keep it busy for years.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

import jsonschema_rs

from grading.budget import Work
from grading.operators import equal_key
from grading.patterns import BadPattern, Pattern
from grading.suggestions import did_you_mean

Steps: TypeAlias = tuple[str | int, ...]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

IN_PLACE_ONE: Final = ("not", "if", "then", "else")
IN_PLACE_MANY: Final = ("allOf", "anyOf", "oneOf")
BELOW_ONE: Final = (
    *("items", "contains", "additionalProperties", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
BELOW_NAMED: Final = ("properties", "patternProperties")
ASSERTIONS: Final = (
    *("type", "enum", "const"),
    *("multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"),
    *("maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains"),
    *("maxProperties", "minProperties", "required", "dependentRequired"),
)
_HOLDING: Final = ("$defs", "definitions")
_DESCRIBING: Final = (
    *("$comment", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
    *("format", "contentEncoding", "contentMediaType", "contentSchema"),
)
_KNOWN: Final = frozenset(
    (
        *("$schema", "$id", "$ref", "$anchor", "prefixItems", "dependentSchemas"),
        *(*IN_PLACE_ONE, *IN_PLACE_MANY, *BELOW_ONE, *BELOW_NAMED, *ASSERTIONS, *_HOLDING, *_DESCRIBING),
    )
)
_INSTEAD: Final = {
    "additionalItems": "draft 2020-12 says prefixItems and items",
    "dependencies": "draft 2020-12 says dependentRequired and dependentSchemas",
    "id": "draft 2020-12 says $id",
    "$recursiveRef": "a $ref to # does it where a schema is whole",
    "$dynamicRef": "a $ref does it where a schema is whole",
    "$dynamicAnchor": "an $anchor does it where a schema is whole",
    "$vocabulary": "it is for schemas of schemas",
}


class InvalidSchema(Exception):
    """No schema that can be asked. `steps` lead to what is wrong in it."""

    def __init__(self, steps: Steps, reason: str) -> None:
        super().__init__(f"{pointer(steps)}: {reason}" if steps else reason)
        self.steps: Final = steps
        self.reason: Final = reason


@dataclass(slots=True)
class Node:
    """A schema, or one inside it. `value` is its object, or the boolean that it is."""

    steps: Steps
    value: Mapping[str, Any] | bool
    one: dict[str, "Node"] = field(default_factory=dict)
    many: dict[str, list["Node"]] = field(default_factory=dict)
    named: dict[str, dict[str, "Node"]] = field(default_factory=dict)
    patterns: dict[str, Pattern] = field(default_factory=dict)
    asserted: list[tuple[str, Any]] = field(default_factory=list)
    """The keywords that are asked of the value itself, with their operands."""
    applied: set[str] = field(default_factory=set)
    """The keywords that hold schemas to ask."""
    keys: dict[str, frozenset[bytes]] = field(default_factory=dict)
    """What `enum` and `const` allow, as bytes that equal values share."""

    def in_place(self) -> Iterator["Node"]:
        """The schemas asked of the same value."""
        yield from (node for key, node in self.one.items() if key in IN_PLACE_ONE or key == "$ref")
        yield from (node for key in IN_PLACE_MANY for node in self.many.get(key, ()))
        yield from self.named.get("dependentSchemas", {}).values()


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema that was read. `tracks`: something in it asks what was not evaluated."""

    root: Node
    tracks: bool


def read_schema(value: Any, work: Work) -> Schema:
    """The schema of a JSON value at most 64 levels deep. Raises InvalidSchema, OutOfBudget."""
    if isinstance(value, dict) and value.get("$schema", DIALECT) not in (DIALECT, f"{DIALECT}#"):
        raise InvalidSchema(("$schema",), f"schemas are of draft 2020-12: {DIALECT}")
    reading = _Reading(work)
    root = reading.node(value, ())
    reading.check(value)
    reading.link()
    return Schema(root, reading.tracks)


def pointer(steps: Steps) -> str:
    """`#/properties/a`."""
    return "#" + "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


class _Reading:
    def __init__(self, work: Work) -> None:
        self.tracks = False
        self._work = work
        self._nodes: dict[str, Node] = {}
        self._anchors: dict[str, Node] = {}

    def check(self, value: Any) -> None:
        """Whether it keeps to the draft's own schema."""
        try:
            jsonschema_rs.meta.validate({**value, "$schema": DIALECT} if isinstance(value, dict) else value)
        except jsonschema_rs.ValidationError as error:
            steps = tuple(error.instance_path)
            raise InvalidSchema(steps, f"no schema of draft 2020-12: {error.message}") from None
        except ValueError as error:  # a depth the library does not take
            raise InvalidSchema((), str(error)) from None

    def node(self, value: Any, steps: Steps) -> Node:
        if not isinstance(value, bool | Mapping):
            raise InvalidSchema(steps, "a schema is an object, true or false")
        self._work.step()
        node = self._nodes[pointer(steps)] = Node(steps, value)
        if isinstance(value, Mapping):
            for key, item in value.items():
                self._keyword(node, key, item)
        return node

    def link(self) -> None:
        """Follow the references, and refuse those that only lead back to where they are asked."""
        for node in list(self._nodes.values()):
            if isinstance(node.value, Mapping) and "$ref" in node.value:
                node.one["$ref"] = self._target(node, node.value["$ref"])
                node.applied.add("$ref")
        _refuse_circles(list(self._nodes.values()))

    def _keyword(self, node: Node, key: str, item: Any) -> None:
        steps = (*node.steps, key)
        self._refuse_unknown(node, key, steps)
        if key in ASSERTIONS:
            self._assertion(node, key, item)
        elif key in IN_PLACE_ONE or key in BELOW_ONE:
            node.applied.add(key)
            node.one[key] = self.node(item, steps)
            self.tracks |= key.startswith("unevaluated")
        elif key in IN_PLACE_MANY or key == "prefixItems":
            parts = _all(item, list, steps, "a list of schemas")
            node.applied.add(key)
            node.many[key] = [self.node(part, (*steps, index)) for index, part in enumerate(parts)]
        elif key in BELOW_NAMED or key in _HOLDING or key == "dependentSchemas":
            parts = _all(item, Mapping, steps, "an object of schemas")
            node.applied.add(key)
            node.named[key] = {name: self.node(part, (*steps, name)) for name, part in parts.items()}
        elif key == "$anchor" and isinstance(item, str):
            if item in self._anchors:
                raise InvalidSchema(steps, f"the anchor {item!r} stands twice")
            self._anchors[item] = node
        if key == "patternProperties":
            node.patterns |= {pattern: self._pattern(pattern, steps) for pattern in item}

    def _assertion(self, node: Node, key: str, item: Any) -> None:
        node.asserted.append((key, item))
        if key == "pattern":
            node.patterns[item] = self._pattern(item, (*node.steps, key))
        elif key in ("enum", "const"):
            allowed = _all(item, list, (*node.steps, key), "a list of values") if key == "enum" else [item]
            node.keys[key] = frozenset(equal_key(value, self._work) for value in allowed)

    def _pattern(self, text: Any, steps: Steps) -> Pattern:
        if not isinstance(text, str):
            raise InvalidSchema(steps, "a pattern is text")
        try:
            return Pattern(text, self._work)
        except BadPattern as error:
            raise InvalidSchema(steps, f"no RE2 pattern: {error.reason}") from None

    def _refuse_unknown(self, node: Node, key: str, steps: Steps) -> None:
        if key in _INSTEAD:
            raise InvalidSchema(steps, f"{key} is not taken: {_INSTEAD[key]}")
        if key not in _KNOWN and not key.startswith("x-"):
            near = did_you_mean(key, _KNOWN) or "; a keyword of your own begins with x-"
            raise InvalidSchema(steps, f"there is no keyword {key!r}{near}")
        if key in ("$id", "$schema") and node.steps:
            raise InvalidSchema(steps, f"{key} stands at the top only")

    def _target(self, node: Node, ref: Any) -> Node:
        steps = (*node.steps, "$ref")
        if not isinstance(ref, str) or not ref.startswith("#"):
            raise InvalidSchema(steps, f"{ref!r} leads out of the schema: only # references are followed")
        fragment = unquote(ref[1:])
        found = self._anchors.get(fragment) or self._nodes.get("#" + fragment)
        if found is None:
            raise InvalidSchema(steps, f"{ref!r} leads to no schema")
        return found


def _all(item: Any, kind: type, steps: Steps, what: str) -> Any:
    if not isinstance(item, kind):
        raise InvalidSchema(steps, f"{steps[-1]} is {what}")
    return item


def _refuse_circles(nodes: list[Node]) -> None:
    """Raises InvalidSchema where asking a value would lead to asking the same value the same, for ever."""
    done: set[int] = set()
    for start in nodes:
        open_: set[int] = set()
        way: list[tuple[Node, Iterator[Node]]] = [(start, start.in_place())] if id(start) not in done else []
        open_.update(id(node) for node, _ in way)
        while way:
            node, parts = way[-1]
            part = next(parts, None)
            if part is None:
                way.pop()
                open_.discard(id(node))
                done.add(id(node))
            elif id(part) in open_:
                raise InvalidSchema(part.steps, "it asks itself of the same value, for ever")
            elif id(part) not in done:
                way.append((part, part.in_place()))
                open_.add(id(part))
