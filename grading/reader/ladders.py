"""Reading a whole ladder document."""

from typing import Any, Final

from grading.errors import InvalidLadder
from grading.kinds.combination import DocumentCheck
from grading.ladders import Ladder, Milestone, Mode
from grading.names import NAME_RULE, is_name
from grading.reader.checks import CHECK_KEYS, read_check
from grading.reader.definitions import Definitions
from grading.reader.objects import Object, text
from grading.reader.place import Place
from grading.reader.predicates import read_predicate
from grading.reader.scope import Scope
from grading.reader.selectors import Trust, read_trust

SEMANTICS: Final = 1
"""The number of the checking language that is read here."""

LADDER_KEYS: Final = ("gradespine", "ladder", "version", "mode", "pass_at", "trust", "define", "milestones")
RUNG_KEYS: Final = ("name", "weight", "required", "trust", "check")


def read_document(value: Any, root: Place) -> Ladder:
    """Raises InvalidLadder."""
    if not isinstance(value, dict) or "gradespine" not in value:
        raise root.refusal("not a ladder document: it begins with gradespine: 1")
    _check_language(value["gradespine"], root.at("gradespine"))
    whole = Object.of(value, root, "a ladder", LADDER_KEYS)
    whole.need("ladder", "version", "mode", "milestones")
    names = [_read_name(whole, key) for key in ("ladder", "version")]
    trust = read_trust(value["trust"], root.at("trust")) if "trust" in value else None
    definitions = _read_definitions(whole, trust)
    milestones = _read_milestones(whole, definitions, trust)
    pass_at = whole.number("pass_at") if "pass_at" in value else None
    return _built(whole, names, milestones, pass_at)


def _built(whole: Object, names: list[str], milestones: list[Milestone], pass_at: float | None) -> Ladder:
    mode = whole.word("mode", Mode)
    try:
        return Ladder(names[0], mode, milestones, pass_at, version=names[1])
    except InvalidLadder as error:
        raise whole.at(error.path or "ladder").refusal(error.reason) from None


def _check_language(value: Any, place: Place) -> None:
    if isinstance(value, bool) or value != SEMANTICS:
        raise place.refusal(f"this version reads language {SEMANTICS} (gradespine: {SEMANTICS})")


def _read_name(whole: Object, key: str) -> str:
    value, place = whole.value[key], whole.at(key)
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise place.refusal(f'{key} is text: put it in quotes, as in {key}: "{place.as_written(value)}"')
    name = text(value, place, key)
    if not is_name(name):
        raise place.refusal(f"{name!r} cannot be the {key}: {NAME_RULE}")
    return name


def _read_definitions(whole: Object, trust: Trust) -> Definitions:
    """The definitions, each read once as what it is, so that a mistake shows also in one that nothing uses."""
    parts, place = whole.value.get("define", {}), whole.at("define")
    if not isinstance(parts, dict):
        raise place.refusal("define gives names to predicates and checks: {name: …}")
    definitions = Definitions(parts, place)
    definitions.check_bounds(whole.value, whole.place)
    for name, part in parts.items():
        if not is_name(name):
            raise place.at(name).refusal(f"{name!r} cannot be a name: {NAME_RULE}")
        if _is_check(part, definitions):
            read_check(part, place.at(name), Scope(definitions, trust))
        else:
            read_predicate(part, place.at(name), definitions)
    return definitions


def _is_check(part: Any, definitions: Definitions) -> bool:
    while isinstance(part, dict) and list(part) == ["use"] and part["use"] in definitions.parts:
        part = definitions.parts[part["use"]]
    return isinstance(part, dict) and any(key in CHECK_KEYS for key in part if key != "use")


def _read_milestones(whole: Object, definitions: Definitions, trust: Trust) -> list[Milestone]:
    milestones: list[Milestone] = []
    for item, place in whole.items("milestones"):
        milestone = _read_milestone(Object.of(item, place, "a milestone", RUNG_KEYS), definitions, trust)
        if any(known.name == milestone.name for known in milestones):
            raise place.at("name").refusal(f"a milestone {milestone.name!r} stands above")
        milestones.append(milestone)
    if not any(milestone.required for milestone in milestones):
        raise whole.at("milestones").refusal("no milestone is required, so every run would pass")
    return milestones


def _read_milestone(whole: Object, definitions: Definitions, trust: Trust) -> Milestone:
    whole.need("name", "check")
    value = whole.value
    if "trust" in value:
        trust = read_trust(value["trust"], whole.at("trust"))
    check = DocumentCheck(read_check(value["check"], whole.at("check"), Scope(definitions, trust)))
    name, weight, required = whole.text("name"), _read_weight(whole), _read_required(whole)
    try:
        return Milestone(name, check, weight, required)
    except InvalidLadder as error:
        raise whole.at(error.path).refusal(error.reason) from None


def _read_weight(whole: Object) -> float:
    if "weight" not in whole.value:
        return 1
    weight = whole.number("weight")
    if weight <= 0:
        raise whole.at("weight").refusal("a weight is above 0; for a rung without consequence say required: false")
    return weight


def _read_required(whole: Object) -> bool:
    required = whole.value.get("required", True)
    if not isinstance(required, bool):
        raise whole.at("required").refusal("required is true or false")
    return required
