"""LANGUAGE.md, the reference of the language: what it shows is read, and what it lists is what the code knows."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from grading.budget import BUDGET, Work
from grading.cleaning import Cleaner
from grading.errors import BrokenCode
from grading.kinds.agreement import How
from grading.operators import LITERAL_ONLY, TYPE_NAMES, Operator, type_name
from grading.predicates import Mismatch, Quantifier
from grading.reader.checks import CHECK_KEYS, read_check
from grading.reader.definitions import Definitions
from grading.reader.ladders import LADDER_KEYS, RUNG_KEYS
from grading.reader.place import MAX_DEPTH, MAX_NODES, Place
from grading.reader.predicates import CLEANED, read_predicate
from grading.reader.scope import Scope
from grading.reader.selectors import SELECTOR_KEYS, read_selector
from grading.reader.text import MAX_TEXT, parse
from grading.reader.yaml_text import resolve
from grading.spec import read_ladder
from spine.vocabulary import KNOWN, SERVICE_NAMESPACES, counts_as_evidence
from tests.grading.language.cases import predicate

ROOT: Final = Path(__file__).parents[3]
PAGE: Final = (ROOT / "grading" / "LANGUAGE.md").read_text(encoding="utf-8")
GOLDEN: Final = ROOT / "tests" / "spine" / "importers" / "golden"
BLOCKS: Final = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ASKING: Final = (*Operator, *Quantifier)


def kind_of_block(text: str) -> str:
    """What a block of YAML shows. Its first key tells."""
    value = parse(text).value
    if isinstance(value, list):
        return "predicates"
    first = next(iter(value))
    if first == "gradespine":
        return "document"
    return "selector" if first in ("type", "call") else "check" if first in CHECK_KEYS else "unknown"


def shown(kind: str) -> list[str]:
    return [text for text in BLOCKS if kind_of_block(text) == kind]


def section(title: str) -> str:
    """What stands under a heading, up to the next of its depth or above."""
    found = re.search(rf"^(#+) {re.escape(title)}$\n(.*?)(?=^#{{1,6}} |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    depth = len(found[1])
    rest = PAGE[found.start(2) :]
    end = re.search(rf"^#{{1,{depth}}} ", rest, re.MULTILINE)
    return rest if end is None else rest[: end.start()]


def tables(title: str) -> list[list[dict[str, str]]]:
    """The tables of a section: rows by the names in their heads."""
    found = []
    for text in re.findall(r"(?:^\|.*\|\n)+", section(title), re.MULTILINE):
        head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines())
        found.append([dict(zip(head, row, strict=True)) for row in rows])
    return found


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def names(rows: list[dict[str, str]], column: str) -> list[str]:
    return [code(row[column])[0] for row in rows]


def test_every_block_shows_something_that_is_read() -> None:
    assert len(BLOCKS) == PAGE.count("```yaml")
    assert "unknown" not in [kind_of_block(text) for text in BLOCKS]
    assert {kind_of_block(text) for text in BLOCKS} == {"document", "check", "selector", "predicates"}


@pytest.mark.parametrize("text", shown("document"))
def test_a_whole_document_is_a_ladder(text: str) -> None:
    assert read_ladder(text, "LANGUAGE.md").ladder.milestones


@pytest.mark.parametrize("text", shown("check"))
def test_a_check_is_read(text: str) -> None:
    read_check(parse(text).value, Place(), Scope(Definitions(), None))


@pytest.mark.parametrize("text", shown("selector"))
def test_a_selector_is_read(text: str) -> None:
    read_selector(parse(text).value, Place(), Definitions(), None)


@pytest.mark.parametrize("text", shown("predicates"))
def test_predicates_are_read(text: str) -> None:
    for value in parse(text).value:
        read_predicate(value, Place(), Definitions())


def test_every_kind_of_check_has_its_section_and_its_example() -> None:
    titles = re.findall(r"^### (.*)$", section("Checks"), re.MULTILINE)

    assert sorted(titles) == sorted(f"`{kind}`" for kind in CHECK_KEYS)
    for kind in CHECK_KEYS:
        blocks = [text for text in BLOCKS if text in section(f"`{kind}`")]
        assert blocks
        assert all(kind == next(iter(parse(text).value)) for text in blocks if kind != "use")


@pytest.mark.parametrize(
    ("title", "column", "known"),
    [
        ("The document", "key", LADDER_KEYS),
        ("Milestones", "key", RUNG_KEYS),
        ("Selectors", "key", SELECTOR_KEYS),
        ("Operators", "operator", ASKING),
        ("Compare", "`as`", tuple(How)),
    ],
)
def test_a_table_has_a_row_for_each_in_the_order_of_the_code(title: str, column: str, known: tuple[str, ...]) -> None:
    assert names(tables(title)[0], column) == list(known)


def test_the_lists_of_words_are_those_of_the_code() -> None:
    assert names(tables("Clean")[0], "step") == [*Cleaner, '{drop: ",."}']
    assert set(names(tables("Three outcomes")[0], "code")) == set(BrokenCode)
    assert ", ".join(f"`{name}`" for name in TYPE_NAMES) in section("Operators")


OPERANDS: Final[dict[str, str]] = {
    **dict.fromkeys(ASKING, "1"),
    "in": "[1]",
    "exists": "true",
    "is": "string",
    **dict.fromkeys(("matches", "contains", "starts"), "x"),
    "under": "/x",
    **dict.fromkeys(Quantifier, "{path: ., eq: 1}"),
}
VALUES: Final[tuple[Any, ...]] = (None, True, 1.5, 1, "/x", [], {})


@pytest.mark.parametrize("row", tables("Operators")[0], ids=lambda row: row["operator"])
def test_an_operator_is_asked_of_the_types_in_its_row(row: dict[str, str]) -> None:
    operator = code(row["operator"])[0]
    asked = predicate(f"{{path: a, {operator}: {OPERANDS[operator]}}}")
    types = {"any": set(TYPE_NAMES), "number": {"number", "integer"}}.get(row["asked of"], {row["asked of"]})

    assert {type_name(value) for value in VALUES if answers(asked, {"a": value})} == types
    assert asked({}, Work()) is False
    assert row["missing path"] == ("is seen" if operator == "exists" else "false")
    assert row["`clean`"] == ("yes" if operator in CLEANED else "no")
    assert row["`$expected`"] == ("no" if operator in (*LITERAL_ONLY, *Quantifier) else "yes")


def answers(asked: Callable[[Any, Work], bool], value: Any) -> bool:
    """Whether it says yes or no. (Otherwise the value has a wrong type.)"""
    try:
        asked(value, Work())
    except Mismatch:
        return False
    return True


def test_the_event_types_are_the_known_ones() -> None:
    evidence, service = tables("Event types")

    assert names(evidence, "type") == [type for type in KNOWN if counts_as_evidence(type)]
    assert names(service, "type") == [type for type in KNOWN if not counts_as_evidence(type)]
    for row in evidence + service:
        assert set(row["written by"].split(", ")) == KNOWN[code(row["type"])[0]].writers
    assert all(f"`{prefix}`" in section("Event types") for prefix in SERVICE_NAMESPACES)
    assert [row for row in names(evidence, "type") if not KNOWN[row].evidence] == ["score.imported"]


@pytest.mark.parametrize("row", tables("Event types")[0], ids=lambda row: row["type"])
def test_an_event_type_has_the_fields_of_its_model(row: dict[str, str]) -> None:
    model = KNOWN[code(row["type"])[0]].model
    assert model is not None
    fields = [name if field.is_required() else f"{name}?" for name, field in model.model_fields.items()]

    assert code(re.sub(r"\([^)]*\)", "", row["payload"])) == fields


@pytest.mark.parametrize(
    ("column", "format"),
    [("τ-bench", "tau-bench"), ("Inspect", "inspect"), ("InterCode", "intercode"), ("FireAct", "fireact")],
)
def test_an_importer_makes_the_types_of_its_column(column: str, format: str) -> None:
    made = json.loads((GOLDEN / f"{format}.json").read_text(encoding="utf-8"))["events"]
    rows = {code(row["type"])[0]: row[column] for row in tables("Event types")[0]}

    assert {type for type, cell in rows.items() if cell} == {event["type"] for event in made}
    expected = next(event["payload"] for event in made if event["type"] == "case.expected")
    assert code(rows["case.expected"]) == list(expected)


def test_what_is_written_without_quotes_is_what_the_page_says() -> None:
    null, boolean, integer, number, text = tables("YAML and JSON")[0]
    kinds = {"integer": ("integer",), "number": ("number", "integer")}

    assert [resolve(plain) for plain in [*code(null["written without quotes"]), ""]] == [None] * 3
    for row, name in ((boolean, "boolean"), (integer, "integer"), (number, "number")):
        plain = code(row["written without quotes"])
        assert all(type_name(resolve(each)) in kinds.get(name, (name,)) for each in plain)
        assert all(resolve(each) == each for each in code(row["is"]))
    assert all(resolve(each) == each for each in code(text["is"]))


def test_the_limits_are_those_of_the_code() -> None:
    assert f"{BUDGET.steps:,} steps" in section("The budget")
    assert f"{BUDGET.bytes // 1024**2} MiB" in section("The budget")
    assert f"{MAX_TEXT // 1024**2} MiB, {MAX_NODES:,} values and {MAX_DEPTH} levels" in section("YAML and JSON")


def test_every_link_leads_to_a_heading() -> None:
    titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", PAGE, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}

    assert set(re.findall(r"\]\(#([^)]*)\)", PAGE)) <= anchors
