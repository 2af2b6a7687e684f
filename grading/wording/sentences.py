"""Sentences: each kind of check in words, and the paragraph that says what a whole ladder asks."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from grading.wording.phrases import Phrases, cleaning, joined, path_text, shown, taking

_SEED_CLEAN: Final = ["trim", "lower"]


def paragraph(document: Mapping[str, Any]) -> str:
    """What the ladder of a valid document asks, in one paragraph."""
    say = Clauses(Phrases(document.get("define", {})))
    milestones = document["milestones"]
    sentences = [
        f"{document['ladder']}, version {document['version']}, has {_count(milestones)}, {_mode(document['mode'])}.",
        f"A run passes when {_passing(document)}; its score is the weight of what it passes, of {_total(milestones)}.",
        *(f"{_heading(milestone)}: {say.check(milestone['check'])}." for milestone in milestones),
    ]
    sentences += _meanings(say.phrases)
    if "trust" in document:
        sentences.append(f"Events are believed from {joined(document['trust'], 'and')} where nothing else is said.")
    return " ".join(sentences)


def _meanings(phrases: Phrases) -> list[str]:
    """What the names mean that were used, those included that only explaining them uses."""
    said: dict[str, str] = {}
    while unsaid := [name for name in phrases.used if name not in said]:
        said[unsaid[0]] = f"“{unsaid[0]}” means that {phrases.predicate(phrases.named(unsaid[0]))}."
    return list(said.values())


class Clauses:
    """Checks in words: each a clause that holds or does not."""

    def __init__(self, phrases: Phrases) -> None:
        self.phrases: Final = phrases

    def check(self, value: Mapping[str, Any]) -> str:
        """The clause of a check."""
        [(kind, inside)] = value.items()
        if kind == "use":
            return self.check(self.phrases.named(inside))
        return _KINDS[kind](self, inside)

    def inner(self, value: Mapping[str, Any]) -> str:
        """The same as a part of another clause."""
        clause = self.check(value)
        return f"({clause})" if any(word in clause for word in ("; and ", "; or ", ": ")) else clause


def _event(say: Clauses, value: Any) -> str:
    return f"there is {say.phrases.selector(value)}"


def _absent(say: Clauses, value: Any) -> str:
    return f"there is no {say.phrases.none_of(value)}"


def _counted(say: Clauses, value: Any) -> str:
    bound = next(key for key in value if key != "of")
    return f"there are {bound.replace('_', ' ')} {value[bound]} {say.phrases.selector(value['of'], many=True)}"


def _sequence(say: Clauses, value: Any) -> str:
    return "in this order there is " + ", then ".join(say.phrases.selector(part) for part in value)


def _within(say: Clauses, value: Any) -> str:
    first, then = (say.phrases.selector(value[key]) for key in ("first", "then"))
    return f"{then} follows {first} within {_distance(value, clock='time')}"


def _before(say: Clauses, value: Any) -> str:
    first, then = (say.phrases.selector(value[key]) for key in ("first", "then"))
    return f"before {then} there is always {first}"


def _gap(say: Clauses, value: Any) -> str:
    edges = "".join(f", {_EDGES[edge]}" for edge in value.get("edges", []))
    return f"{say.phrases.selector(value['of'], many=True)} are never more than {_distance(value)} apart{edges}"


def _sum(say: Clauses, value: Any) -> str:
    bound = next(key for key in value if key != "of")
    return f"{say.phrases.values(value['of'])} add up to {bound.replace('_', ' ')} {value[bound]}"


def _budget(say: Clauses, value: Any) -> str:
    of, to = (_listing(value.get(key)) for key in ("resource", "scope"))
    account = (f" of {of}" if of else "") + (f" to {to}" if to else "")
    unset = ", and none is without a limit" if value.get("unset") == "refused" else ""
    return f"every charge{account} stays within the limit set for it{unset}"


def _reached(say: Clauses, value: Any) -> str:
    if "charged" in value:
        to = f" to {value['scope']}" if "scope" in value else ""
        before = f"before more than {value['charged']} {value['resource']} is charged{to}"
    else:
        before = f"within {_distance(value)} of the start of the run"
    return f"{before} it comes to hold that {say.inner(value['check'])}"


def _judge(say: Clauses, value: Any) -> str:
    if "key" in value:
        subject = f"the answer to {shown(value['key'])}"
    else:
        noun = say.phrases.selector({**value["of"], "pick": value["of"].get("pick", "last")})
        subject = f"{path_text(value['path'])} of {noun}"
    rules = [_rule(say, rule) for rule in value["rules"]]
    return f"{subject} keeps {'these rules' if len(rules) > 1 else 'this rule'}: {joined(rules, 'and')}"


def _rule(say: Clauses, rule: Mapping[str, Any]) -> str:
    op, arg = (rule["op"], rule.get("arg", True)) if "op" in rule else next(iter(rule.items()))
    name = op.replace("_", " ")
    if isinstance(arg, Mapping) and "call" in arg:
        return f"{name} ({say.phrases.none_of(arg)})"
    return name if arg is True else f"{name} {shown(arg)}"


def _trajectory(say: Clauses, value: Any) -> str:
    made = say.phrases.selector(value.get("of", {"call": "*"}), many=True)
    calls = value["calls"]
    if isinstance(calls, Mapping):
        wanted = f"the expected {path_text(calls['expected'])}"
    else:
        wanted = joined([_wanted(call) for call in calls], "and") if calls else "none"
    agree = {
        "strict": f"the {made} are, in this order and no others, {wanted}",
        "unordered": f"the {made} are, in any order and no others, {wanted}",
        "subset": f"the {made} are none but {wanted}",
        "superset": f"among the {made} are {wanted}",
    }[value["as"]]
    default = _ARGUMENTS[value.get("arguments", "exact")]
    others = [f"those of {tool} {_ARGUMENTS[how]}" for tool, how in value.get("tools", {}).items()]
    return f"{agree} (arguments {', '.join([default, *others])})"


def _wanted(call: Mapping[str, Any]) -> str:
    return str(call["tool"]) + (f" with {shown(call['arguments'])}" if "arguments" in call else "")


_ARGUMENTS: Final = {
    "exact": "equal",
    "ignore": "whatever they are",
    "subset": "none but the wanted ones",
    "superset": "at least the wanted ones",
}


def _repeated(say: Clauses, value: Any) -> str:
    of = dict(value["of"])
    same = of.pop("take", ["tool", "arguments"])
    same = joined(same if isinstance(same, list) else [same], "and")
    span = "in a row" if "window" not in value else f"among any {value['window']} that follow each other"
    return f"of {say.phrases.selector(of, many=True)} no more than {value['at_most']} {span} have the same {same}"


def _confirmed(say: Clauses, value: Any) -> str:
    calls, by = say.phrases.selector(value["calls"]), say.phrases.selector(value["by"])
    return f"before {calls} there is, each time anew, {by}"


def _distance(value: Any, *, clock: str = "recorded_at") -> str:
    if "events" in value:
        return f"{value['events']} events"
    return f"{value['seconds']} seconds by {_CLOCKS[value.get('clock', clock)]}"


def _listing(value: Any) -> str:
    return "" if value is None else joined(value if isinstance(value, list) else [value], "or")


_CLOCKS: Final = {"recorded_at": "the log's clock", "time": "the producers' clock"}
_EDGES: Final = {"start": "the first no further from the start of the run", "end": "the last no further from its end"}


def _last(say: Clauses, value: Any) -> str:
    noun = say.phrases.selector({**value["of"], "pick": value["of"].get("pick", "last")})
    return f"of {noun} it holds that {say.phrases.predicate(value['is'])}"


def _answer(say: Clauses, value: Any) -> str:
    clean = value.get("clean", _SEED_CLEAN if "eq" in value else None)
    asked = {key: item for key, item in value.items() if key not in ("key", "clean")} | {"clean": clean}
    return say.phrases.question(f"the answer to {shown(value['key'])}", asked)


def _compare(say: Clauses, value: Any) -> str:
    alike = value["want"].get("take") == value["got"].get("take")
    want, got = (say.phrases.values(value[key], taken=not alike) for key in ("want", "got"))
    clause = {
        "every": f"each of {want} is found among {got}, as often as it is wanted",
        "only": f"among {got} there is nothing but {want}",
        "same": f"{got} are {want}, each as often, in any order",
        "said": f"each text of {want} occurs in {got}",
    }[value["as"]]
    by = f", compared by {taking(value['got']['take'])}" if alike and "take" in value["got"] else ""
    kept = [
        f"of {path_text(path)} only {joined(names, 'and')} {'counts' if len(names) == 1 else 'count'}"
        for path, names in value.get("keep", {}).items()
    ]
    return ", ".join([clause + by + cleaning(value.get("clean")), *kept])


def _joint(word: str) -> Callable[[Clauses, Any], str]:
    return lambda say, value: f"; {word} ".join(say.inner(part) for part in value)


def _none_of(say: Clauses, value: Any) -> str:
    return f"none of these holds: {_listed(say, value)}"


def _at_least(say: Clauses, value: Any) -> str:
    return f"at least {value['n']} of these hold: {_listed(say, value['of'])}"


def _listed(say: Clauses, parts: Sequence[Any]) -> str:
    return ", ".join(f"({say.check(part)})" for part in parts)


_KINDS: Final[dict[str, Callable[[Clauses, Any], str]]] = {
    "event": _event,
    "absent": _absent,
    "count": _counted,
    "sequence": _sequence,
    "within": _within,
    "before": _before,
    "gap": _gap,
    "sum": _sum,
    "budget": _budget,
    "reached": _reached,
    "judge": _judge,
    "trajectory": _trajectory,
    "repeated": _repeated,
    "confirmed": _confirmed,
    "last": _last,
    "answer": _answer,
    "compare": _compare,
    "all_of": _joint("and"),
    "any_of": _joint("or"),
    "none_of": _none_of,
    "at_least": _at_least,
}


def _count(milestones: Sequence[Any]) -> str:
    return f"{len(milestones)} milestone" + ("" if len(milestones) == 1 else "s")


def _mode(mode: str) -> str:
    if mode == "cumulative":
        return "climbed in order: behind the first that fails none counts"
    return "each judged on its own"


def _passing(document: Mapping[str, Any]) -> str:
    required = [milestone["name"] for milestone in document["milestones"] if milestone.get("required", True)]
    all_of_them = len(required) == len(document["milestones"])
    if all_of_them:
        passing = "it passes all of them" if len(required) > 1 else "it passes it"
    else:
        passing = f"it passes {joined(required, 'and')}"
    if "pass_at" in document:
        passing += f", and its score is at least {document['pass_at']}"
    return passing


def _total(milestones: Sequence[Any]) -> str:
    return f"{sum(milestone.get('weight', 1) for milestone in milestones):g}"


def _heading(milestone: Mapping[str, Any]) -> str:
    said = [f"weight {milestone.get('weight', 1):g}"] + ([] if milestone.get("required", True) else ["not required"])
    if "trust" in milestone:
        said.append(f"believed from {joined(milestone['trust'], 'and')}")
    return f"{milestone['name']} ({', '.join(said)})"
