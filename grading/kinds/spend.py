"""sum and budget: how much was used, and whether it was allowed."""

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Final

from grading.budget import Work
from grading.checks import Verdict
from grading.entries import Entry, readable
from grading.errors import BrokenCode, CheckBroken
from grading.kinds.amounts import NOTHING, added, amount_at, may_give_back, text_at
from grading.kinds.base import NAMED, Demand, Running, cited, seqs_of, sort_out
from grading.kinds.folds import FirstEnough
from grading.kinds.presence import Bound
from grading.kinds.standing import Folding
from grading.paths import Path
from grading.predicates import Mismatch
from grading.selectors import Context, Selection, Selector, Thing, View, event_of, value_of
from grading.trust import default_trust
from spine import Event, PayloadErased

SET: Final = "budget.set"
CHARGED: Final = "budget.charged"
EXHAUSTED: Final = "budget.exhausted"


@dataclass(frozen=True, slots=True)
class SumCheck:
    """Passes when the amounts at a path of what is selected add up as the bound says. `at_least` looks from the front,
    and stops at enough; a bound that is passed is passed, whatever else could not be read. Where the path is missing,
    there is no amount."""

    of: Selector
    take: Path
    bound: Bound
    amount: Decimal

    @property
    def demand(self) -> Demand:
        demands = {Bound.AT_LEAST: Demand.PRESENCE, Bound.AT_MOST: Demand.LIMIT, Bound.EXACTLY: Demand.BOTH}
        return demands[self.bound]

    @property
    def selectors(self) -> tuple[Selector, ...]:
        return (self.of,)

    def begin(self, context: Context, view: View) -> Running:
        return SumRunning(self, Selection(self.of, context, view, keep=self._amount))

    def _amount(self, thing: Thing, work: Work) -> Decimal | None:
        work.step()
        found = amount_at(self.take, value_of(thing))
        if found is None or found >= 0:
            return found
        row = event_of(thing).row
        return found if may_give_back(row.type, row.actor, self.of.trust) else NOTHING


@dataclass(slots=True)
class SumRunning:
    check: SumCheck
    selection: Selection
    _total: Decimal = NOTHING
    _first: FirstEnough | None = None
    _folding: Folding | None = None

    @property
    def types(self) -> frozenset[str]:
        return self.selection.types

    def step(self, event: Event) -> None:
        self.selection.step(event)

    def result(self, work: Work) -> Verdict:
        return self._enough() if self.check.bound is Bound.AT_LEAST else self._bounded()

    def stands(self, work: Work) -> bool:
        if self.check.bound is not Bound.AT_LEAST:
            return self._keeps()
        if self._first is None or self._folding is None:
            self._first = FirstEnough(self.check.amount)
            self._folding = Folding(self._first, [self.selection], nothing=None)
        self._folding.follow()
        return self._first.found()

    def _keeps(self) -> bool:
        for _, before, after in self.selection.found.changes():
            if isinstance(before, Entry) and before.kept is not None:
                self._total = added(self._total, before.kept.copy_negate())
            if isinstance(after, Entry) and after.kept is not None:
                self._total = added(self._total, after.kept)
        if self._total > self.check.amount:
            return False
        self.selection.found.check_readable()
        return self.check.bound is Bound.AT_MOST or self._total >= self.check.amount

    def _enough(self) -> Verdict:
        total, counted = NOTHING, list[Entry]()
        for outcome in self.selection.outcomes():
            entry = readable(outcome)
            if entry.kept is not None:
                total = added(total, entry.kept)
                counted.append(entry)
                if total >= self.check.amount:
                    return self._verdict(True, "at least", counted)
        return self._verdict(False, "less than", counted)

    def _bounded(self) -> Verdict:
        entries, broken = sort_out(self.selection.outcomes())
        counted = [entry for entry in entries if entry.kept is not None]
        total = NOTHING
        for entry in counted:
            total = added(total, entry.kept)
        if total > self.check.amount:
            return self._verdict(False, "more than", counted)
        if broken is not None:
            raise broken
        if self.check.bound is Bound.EXACTLY and total < self.check.amount:
            return self._verdict(False, "less than", counted)
        return self._verdict(True, self.check.bound.replace("_", " "), counted)

    def _verdict(self, passed: bool, how: str, counted: list[Entry]) -> Verdict:
        check = self.check
        detail = f"{check.of}: the sum of {check.take} in {len(counted)} is {how} {check.amount}"
        return Verdict(passed, detail, seqs_of(counted))


class Unset(StrEnum):
    """What a charge means where no limit is set for its scope and resource."""

    ALLOWED = "allowed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Accounts:
    """Which charges are meant: of these scopes and resources, or of all where that is None."""

    scopes: frozenset[str] | None = None
    resources: frozenset[str] | None = None

    def key(self, event: Event) -> tuple[str, str] | None:
        """Scope and resource; None for an event that is not meant. Raises Mismatch, PayloadErased."""
        scope, resource = (text_at(path, event.payload) for path in _KEY)
        if self.scopes is not None and scope not in self.scopes:
            return None
        return (scope, resource) if self.resources is None or resource in self.resources else None


_KEY: Final = (Path(("scope",)), Path(("resource",)))
_LIMIT: Final = Path(("limit",))
_AMOUNT: Final = Path(("amount",))


def charge_of(event: Event) -> Decimal:
    """What a `budget.charged` charges. Raises Mismatch, PayloadErased."""
    return _needed(_AMOUNT, event, gives_back=may_give_back(CHARGED, event.row.actor))


def _needed(path: Path, event: Event, *, gives_back: bool = True) -> Decimal:
    found = amount_at(path, event.payload)
    if found is None:
        raise Mismatch(path, "missing")
    return found if gives_back or found > 0 else NOTHING


def unread(event: Event, error: Mismatch | PayloadErased) -> CheckBroken:
    """Why an event that has to be read could not be."""
    if isinstance(error, PayloadErased):
        return CheckBroken(BrokenCode.EVIDENCE_ERASED, f"seq {error.seq}")
    return CheckBroken(BrokenCode.WRONG_TYPE, f"seq {event.seq}: {error.path}: {error.what}")


@dataclass(frozen=True, slots=True)
class BudgetCheck:
    """Passes when every charge keeps what was charged so far in its scope and resource within the limit that is set
    there at that moment, and nothing is charged after it was exhausted until it is set again.

    Limits are those of `budget.set` by the system or a human; charges are everyone's, whoever is trusted.
    """

    accounts: Accounts
    unset: Unset = Unset.ALLOWED

    @property
    def demand(self) -> Demand:
        return Demand.LIMIT

    @property
    def selectors(self) -> tuple[Selector, ...]:
        return (Selector((SET, CHARGED, EXHAUSTED)),)

    def begin(self, context: Context, view: View) -> Running:
        return BudgetRunning(self, context, view)


@dataclass(slots=True)
class _Account:
    total: Decimal = NOTHING
    limit: Decimal | None = None
    set_at: int | None = None
    exhausted_at: int | None = None
    charged_at: int | None = None

    @property
    def seqs(self) -> tuple[int, ...]:
        return tuple(seq for seq in (self.set_at, self.charged_at) if seq is not None)


@dataclass(slots=True)
class BudgetRunning:
    check: BudgetCheck
    context: Context
    view: View
    types: frozenset[str] = frozenset({SET, CHARGED, EXHAUSTED})
    _accounts: dict[tuple[str, str], _Account] = field(default_factory=dict)
    _over: list[tuple[int, ...]] = field(default_factory=list)
    """For every charge too much: its seq, then those of what made it so."""
    _charges: int = 0
    _broken: CheckBroken | None = None
    _blind: bool = False
    """Whether a limit could not be read: what comes after cannot be judged."""

    def step(self, event: Event) -> None:
        type = event.row.type
        everyone = type == CHARGED and self.view is View.EVERYONE
        if self._blind or not (everyone or event.row.actor in default_trust(type)):
            return
        self.context.work.step()
        try:
            key = self.check.accounts.key(event)
            if key is not None:
                self._enter(event, self._accounts.setdefault(key, _Account()))
        except (Mismatch, PayloadErased) as error:
            self._broken = self._broken or unread(event, error)
            self._blind = type == SET

    def _enter(self, event: Event, account: _Account) -> None:
        match event.row.type:
            case "budget.set":
                account.limit = _needed(_LIMIT, event)
                account.set_at, account.exhausted_at = event.seq, None
            case "budget.exhausted":
                account.exhausted_at = event.seq
            case _:
                self._charge(event, account)

    def _charge(self, event: Event, account: _Account) -> None:
        amount = charge_of(event)
        account.total = added(account.total, amount)
        account.charged_at = event.seq
        self._charges += 1
        if amount <= 0:
            return
        if account.exhausted_at is not None:
            self._over.append((event.seq, account.exhausted_at))
        elif account.limit is None:
            if self.check.unset is Unset.REFUSED:
                self._over.append((event.seq,))
        elif account.total > account.limit:
            self._over.append((event.seq, *account.seqs))

    def result(self, work: Work) -> Verdict:
        if self._over:
            named = ", ".join(str(seqs[0]) for seqs in self._over[:NAMED])
            more = f" and {len(self._over) - NAMED} more" if len(self._over) > NAMED else ""
            return Verdict(False, f"charged more than was allowed at seq {named}{more}", cited(self._over))
        if self._broken is not None:
            raise self._broken
        deciding = cited(account.seqs for account in self._accounts.values() if account.charged_at is not None)
        return Verdict(True, f"within what was allowed ({self._charges} charges)", deciding)

    def stands(self, work: Work) -> bool:
        if self._over:
            return False
        if self._broken is not None:
            raise self._broken
        return True
