"""compare: whether what a run did agrees with a reference."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from grading.budget import Work
from grading.checks import Verdict
from grading.cleaning import Clean
from grading.entries import Unread
from grading.kinds.balance import Agreement, Balance, Balanced, Covered, Said
from grading.kinds.base import NAMED, Demand, Running, cited
from grading.kinds.saying import Saying
from grading.paths import Path
from grading.selectors import Context, Selector, View
from grading.values import Digest, FixedSide, Selected, Shape, Side, Take, Value, Values, fingerprint
from spine import Event


class How(StrEnum):
    """How the multiset of got values has to agree with that of wanted ones."""

    EVERY = "every"
    """Every wanted value was got, as often as it is wanted."""
    ONLY = "only"
    """Every got value was wanted, as often as it was got."""
    SAME = "same"
    """Both."""
    SAID = "said"
    """Every wanted text occurs in some got text."""


@dataclass(frozen=True, slots=True)
class CompareCheck:
    """Passes when the values agree as `how` says. An empty `want` does not open `got` where only wanted values matter;
    a got value that is not wanted decides `only` and `same`, whatever else could not be read."""

    want: Values
    got: Values
    how: How
    keep: tuple[tuple[Path, frozenset[str]], ...] = ()
    clean: Clean = ()

    @property
    def demand(self) -> Demand:
        return {How.ONLY: Demand.LIMIT, How.SAME: Demand.BOTH}.get(self.how, Demand.PRESENCE)

    @property
    def selectors(self) -> tuple[Selector, ...]:
        return (self.got.of,) if isinstance(self.got, Selected) else ()

    def begin(self, context: Context, view: View) -> Running:
        plain: Digest = _itself if self.how is How.SAID else fingerprint
        want = self.want.begin(context, View.BELIEVED, self._shape(self.want.take), plain)
        if isinstance(want, FixedSide) and self.how in (How.EVERY, How.SAID) and not want.fixed:
            return CompareRunning(self.how, want, FixedSide([]))
        digest = plain
        if self.how is How.SAID and isinstance(want, FixedSide):
            digest = _Occurring([value.kept for value in want.fixed if isinstance(value, Value)])
        return CompareRunning(self.how, want, self.got.begin(context, view, self._shape(self.got.take), digest))

    def _shape(self, take: Take) -> Shape:
        return Shape(take, self.keep, self.clean, as_text=self.how is How.SAID)


class CompareRunning:
    def __init__(self, how: How, want: Side, got: Side) -> None:
        self._how = how
        self._want = want
        self._got = got
        self._agreement: Agreement | None = None
        self.types = want.types | got.types

    def step(self, event: Event) -> None:
        self._want.step(event)
        self._got.step(event)

    def result(self, work: Work) -> Verdict:
        wanted = [_read(value) for value in self._want.values()]
        got = self._got.values() if wanted or self._how in (How.ONLY, How.SAME) else []
        match self._how:
            case How.EVERY:
                return _every(wanted, got)
            case How.SAID:
                return self._said(wanted, got, work)
            case _:
                return _only(wanted, got, missing_fails=self._how is How.SAME)

    def stands(self, work: Work) -> bool:
        if self._agreement is None:
            self._agreement = self._begun()
        return self._agreement.holds(work)

    def _begun(self) -> Agreement:
        if self._how in (How.ONLY, How.SAME):
            return Balanced(self._want, self._got, both=self._how is How.SAME)
        if self._how is How.EVERY:
            return Covered(self._want, self._got, Balance())
        if isinstance(self._want, FixedSide):
            return Covered(self._want, self._got, Said(len(self._want.fixed)))
        return Saying(self._want, self._got)

    def _said(self, wanted: list[Value], got: list[Value | Unread], work: Work) -> Verdict:
        open_ = dict(enumerate(wanted))
        cites: list[tuple[int, ...]] = []
        for value in got:
            if not open_:
                break
            said = _read(value)
            occurring = said.kept
            if isinstance(occurring, str):
                occurring = _Occurring([want.kept for want in wanted])(occurring, work)
            found = [index for index in occurring if open_.pop(index, None) is not None]
            cites.extend([said.seqs] if found else [])
        if open_:
            return Verdict(False, f"not said: {_names(list(open_.values()))}", cited(v.seqs for v in open_.values()))
        return Verdict(True, _all("said", wanted), cited([*cites, *(v.seqs for v in wanted)]))


def _every(wanted: list[Value], got: list[Value | Unread]) -> Verdict:
    open_: defaultdict[bytes, list[Value]] = defaultdict(list)
    for want in reversed(wanted):
        open_[want.kept].append(want)
    left = len(wanted)
    matched: list[Value] = []
    others: list[Value] = []
    for value in got:
        if not left:
            break
        had = _read(value)
        if open_[had.kept]:
            open_[had.kept].pop()
            matched.append(had)
            left -= 1
        else:
            others.append(had)
    missing = [want for want in wanted if want in open_[want.kept]]
    if missing:
        return Verdict(False, f"not found: {_names(missing)}", cited(value.seqs for value in [*others, *missing]))
    return Verdict(True, _all("found", wanted), cited(v.seqs for v in [*matched, *wanted]))


def _only(wanted: list[Value], got: list[Value | Unread], *, missing_fails: bool) -> Verdict:
    room = Counter(want.kept for want in wanted)
    had = [value for value in got if isinstance(value, Value)]
    extra: list[Value] = []
    for value in had:
        room[value.kept] -= 1
        if room[value.kept] < 0:
            extra.append(value)
    if extra:
        return Verdict(False, f"not wanted: {_names(extra)}", cited(value.seqs for value in extra))
    if len(had) < len(got):
        _read(next(value for value in got if isinstance(value, Unread)))
    if missing_fails and len(had) < len(wanted):
        return _every(wanted, got)
    return Verdict(True, f"only what was wanted ({len(had)})", cited(value.seqs for value in had))


class _Occurring:
    """Which of these texts occur in a text, by their places."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self._wanted = wanted

    def __call__(self, text: Any, work: Work) -> frozenset[int]:
        work.scan(text, len(self._wanted))
        return frozenset(index for index, want in enumerate(self._wanted) if want in text)


def _itself(value: Any, work: Work) -> Any:
    return value


def _read(value: Value | Unread) -> Value:
    if isinstance(value, Unread):
        raise value.error()
    return value


def _all(how: str, wanted: Sequence[Value]) -> str:
    return f"{how} all that was wanted ({len(wanted)})" if wanted else "nothing was wanted"


def _names(values: Sequence[Value]) -> str:
    more = f" and {len(values) - NAMED} more" if len(values) > NAMED else ""
    return ", ".join(value.name for value in values[:NAMED]) + more
