"""judge: the rules of the rule judge, asked of a text that a run left: an answer, or what stands in an event."""

from dataclasses import dataclass, field
from typing import Any, Final

from grading.budget import Work
from grading.checks import Verdict
from grading.errors import BrokenCode, CheckBroken
from grading.kinds.base import NAMED, Demand, Running, at
from grading.kinds.standing import Kept
from grading.operators import Operator, not_a
from grading.paths import MISSING, Path
from grading.predicates import Test
from grading.rules.ops import Question
from grading.rules.quoting import well_formed
from grading.selectors import Context, Pick, Selection, Selector, Thing, View, value_of
from spine import Actor, Event, PayloadErased


@dataclass(frozen=True, slots=True)
class PlacedRule:
    """A rule about the text, and its place in the document: `rules.1`."""

    place: str
    op: str
    arg: Any
    question: Question = field(compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.place} ({self.op})"


@dataclass(frozen=True, slots=True)
class JudgedCheck:
    """Passes when the one that is selected has a text at the path, and every rule holds of it. It looks for something:
    a run that says nothing does not pass what forbids a word. `key`: the text is the answer under it."""

    of: Selector
    path: Path
    rules: tuple[PlacedRule, ...]
    key: str | None = None

    @property
    def demand(self) -> Demand:
        return Demand.PRESENCE

    @property
    def selectors(self) -> tuple[Selector, ...]:
        return (self.of,)

    @property
    def subject(self) -> str:
        return str(self.of) if self.key is None else f"answer for {self.key}"

    def begin(self, context: Context, view: View) -> Running:
        if self.key is not None and context.answers is not None:
            return SuppliedRunning(self, context, context.answers.get(self.key))
        return JudgedRunning(self, Selection(self.of, context, view, keep=_itself))

    def verdict(self, text: str, named: str, seqs: tuple[int, ...], work: Work) -> Verdict:
        """Every rule is asked, also behind one that fails. Raises OutOfBudget."""
        failed = [rule for rule in self.rules if not _holds(rule, text, work)]
        if not failed:
            count = len(self.rules)
            return Verdict(True, f"{named} keeps {'the rule' if count == 1 else f'all {count} rules'}", seqs)
        more = f" and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
        listed = ", ".join(map(str, failed[:NAMED]))
        return Verdict(False, f"{named} breaks {len(failed)} of {len(self.rules)} rules: {listed}{more}", seqs)


def answer_of(key: str, trust: frozenset[Actor] | None) -> Selector:
    """The run's last answer under a key."""
    asked = Test(Path(("key",)), Operator.EQ, key)
    return Selector(("answer.given",), trust=trust, where=asked, pick=Pick.LAST)


class JudgedRunning:
    """The text that would be judged, so far."""

    def __init__(self, check: JudgedCheck, selection: Selection) -> None:
        self._check: Final = check
        self._selection: Final = selection
        self._kept: Final = Kept(selection.context)
        self.types: Final = selection.types

    def step(self, event: Event) -> None:
        self._selection.step(event)

    def result(self, work: Work) -> Verdict:
        check = self._check
        entries = self._selection.entries()
        if not entries:
            return Verdict(False, f"no {check.subject}")
        entry = entries[-1]
        named = f"{check.subject}, {at(entries[-1:])},"
        text = _text(entry.kept, entry.seq, check.path)
        if text is None:
            return Verdict(False, f"{named} has no {check.path}", entry.seqs)
        return check.verdict(text, named, entry.seqs, work)

    def stands(self, work: Work) -> bool:
        return self._kept.ask(self._selection.found.version, lambda work: self.result(work).passed, work)


class SuppliedRunning:
    """An answer that was supplied with the evidence: no event decides, so none is cited."""

    types = frozenset[str]()

    def __init__(self, check: JudgedCheck, context: Context, text: str | None) -> None:
        self._check: Final = check
        self._kept: Final = Kept(context)
        self._text: Final = text

    def step(self, event: Event) -> None:
        """Events say nothing here."""

    def result(self, work: Work) -> Verdict:
        if self._text is None:
            return Verdict(False, f"no {self._check.subject}")
        return self._check.verdict(well_formed(self._text), f"the supplied {self._check.subject}", (), work)

    def stands(self, work: Work) -> bool:
        return self._kept.ask(self._text, lambda work: self.result(work).passed, work)


def _holds(rule: PlacedRule, text: str, work: Work) -> bool:
    work.step()
    return rule.question(text, work).passed


def _itself(thing: Thing, work: Work) -> Thing:
    return thing


def _text(thing: Thing, seq: int, path: Path) -> str | None:
    """The text at the path; None where nothing stands there. Raises CheckBroken."""
    try:
        found = path.find(value_of(thing))
    except PayloadErased as error:
        raise CheckBroken(BrokenCode.EVIDENCE_ERASED, f"seq {error.seq}") from None
    if found is MISSING:
        return None
    if not isinstance(found, str):
        raise CheckBroken(BrokenCode.WRONG_TYPE, f"seq {seq}: {path}: {not_a(found, 'string')}")
    return found
