"""Values: what the two sides of a comparison are, taken from events, from calls, or from `case.expected`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Protocol, TypeAlias

from grading.budget import Work
from grading.cleaning import Clean, cleaned
from grading.entries import Entry, Unread
from grading.errors import BrokenCode, CheckBroken
from grading.operators import equal_key, not_a
from grading.paths import MISSING, Path
from grading.predicates import FromExpected, Mismatch, Predicate
from grading.selectors import Context, Selection, Selector, Thing, View, value_of
from spine import Event

Take: TypeAlias = Path | tuple[Path, ...] | None


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a side: what it is called in a detail, the events it comes from, and what is kept of it."""

    name: str
    seqs: tuple[int, ...]
    kept: Any


class Side(Protocol):
    """One side of a comparison under way."""

    @property
    def types(self) -> frozenset[str]: ...

    def step(self, event: Event) -> None: ...

    def values(self) -> list[Value | Unread]:
        """The values so far, in order."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How an item becomes the value that is compared: only these keys of the objects at `keep`, then `take`, then
    `clean` on what is text of it. `as_text` says that it has to be text."""

    take: Take
    keep: tuple[tuple[Path, frozenset[str]], ...]
    clean: Clean
    as_text: bool

    def of(self, item: Any, work: Work) -> Any:
        """The value; MISSING where nothing that is taken is there."""
        for path, names in self.keep:
            item = _trimmed(item, path, 0, names)
        if isinstance(self.take, tuple):
            found = {str(place): path.find(item) for place, path in enumerate(self.take)}
            return {at: cleaned(v, self.clean, work) for at, v in found.items() if v is not MISSING} or MISSING
        path = self.take or Path()
        value = cleaned(path.find(item), self.clean, work)
        if self.as_text and value is not MISSING and not isinstance(value, str):
            raise Mismatch(path, not_a(value, "string"))
        return value


Digest: TypeAlias = Callable[[Any, Work], Any]
"""What is remembered of a value that is there."""


@dataclass(frozen=True, slots=True)
class Selected:
    """Values of what a selector selects."""

    of: Selector
    take: Take = None

    def begin(self, context: Context, view: View, shape: Shape, digest: Digest) -> Side:
        def keep(thing: Thing, work: Work) -> Any:
            value = shape.of(value_of(thing), work)
            return MISSING if value is MISSING else digest(value, work)

        return SelectedSide(Selection(self.of, context, view, keep=keep))


@dataclass(slots=True)
class SelectedSide:
    selection: Selection

    @property
    def types(self) -> frozenset[str]:
        return self.selection.types

    def step(self, event: Event) -> None:
        self.selection.step(event)

    def values(self) -> list[Value | Unread]:
        return [
            Value(f"seq {outcome.seq}", outcome.seqs, outcome.kept) if isinstance(outcome, Entry) else outcome
            for outcome in self.selection.outcomes()
            if isinstance(outcome, Unread) or outcome.kept is not MISSING
        ]


@dataclass(frozen=True, slots=True)
class Expected:
    """Values of `case.expected`: the items of the array at a path, or the one value that stands there."""

    path: Path
    where: Predicate | None = None
    take: Take = None

    def begin(self, context: Context, view: View, shape: Shape, digest: Digest) -> "FixedSide":
        """Raises CheckBroken where the reference is missing, or of a wrong type."""
        found = FromExpected(self.path).of(context.expected)
        asked = None if self.where is None else self.where.bind(context.expected)
        named = (
            [(self.path / index, item) for index, item in enumerate(found)]
            if isinstance(found, list)
            else [(self.path, found)]
        )
        values: list[Value | Unread] = []
        for path, item in named:
            try:
                value = shape.of(item, context.work) if asked is None or asked(item, context.work) else MISSING
            except Mismatch as error:
                where = f"case.expected {path / error.path}: {error.what}"
                raise CheckBroken(BrokenCode.WRONG_TYPE, where) from None
            if value is not MISSING:
                values.append(Value(str(path), (), digest(value, context.work)))
        return FixedSide(values)


@dataclass(slots=True)
class FixedSide:
    fixed: list[Value | Unread]
    types: frozenset[str] = frozenset()

    def step(self, event: Event) -> None:
        pass

    def values(self) -> list[Value | Unread]:
        return self.fixed


Values: TypeAlias = Selected | Expected

_KEPT_WHOLE: Final = 64


def fingerprint(value: Any, work: Work) -> bytes:
    """Equal for values that are equal as JSON, and small however large they are."""
    text = equal_key(value, work)
    return text if len(text) <= _KEPT_WHOLE else b"sha256 " + sha256(text).digest()


def _trimmed(item: Any, path: Path, depth: int, names: frozenset[str]) -> Any:
    """The item with only these keys in the object, or in the objects of the array, at the path. A copy."""
    if depth == len(path.steps):
        if isinstance(item, list):
            return [_only(part, names, path / index) for index, part in enumerate(item)]
        return _only(item, names, path)
    step = Path((path.steps[depth],))
    inner = step.find(item)
    if inner is MISSING:
        return item
    new = _trimmed(inner, path, depth + 1, names)
    if isinstance(item, Mapping):
        return {**item, str(path.steps[depth]): new}
    place = path.steps[depth]
    at = int(place) % len(item)
    return [*item[:at], new, *item[at + 1 :]]


def _only(value: Any, names: frozenset[str], path: Path) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise Mismatch(path, not_a(value, "object"))
    return {key: kept for key, kept in value.items() if key in names}
