"""Upcasters: events of older schema versions, read in the shape of the current one. What is stored never changes."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from spine.canonical import decode, encode
from spine.errors import EventTooNew, InvalidInput, UpcastersBroken, UpcastFailed
from spine.events import Event, EventRow
from spine.identifiers import check_type

ToNextVersion: TypeAlias = Callable[[dict[str, Any]], Mapping[str, Any]]
"""Gives the payload of the next schema version. Deterministic: from the payload alone, without clock, chance or I/O."""

_LAST_VERSION: Final = 2**31 - 1


class Upcaster(NamedTuple):
    """One step: payloads of `type` in version `from_version` into the shape of the version after it."""

    type: str
    from_version: int
    function: ToNextVersion


class Upcasters:
    """The upcasters of a program, put together once at its start."""

    def __init__(
        self, upcasters: Iterable[Upcaster] = (), *, current: Mapping[str, int] | None = None, strict: bool = False
    ) -> None:
        """The steps of a type lead from version 1 to its current version, one for each version between.

        `current` says for a type which version this program reads; a type that is not named there is current where its
        steps end. Raises UpcastersBroken for a gap, a double, or steps that end elsewhere than at `current`.

        An event of a newer version than the current one is passed through as it is; `strict` refuses it.
        """
        steps: dict[str, dict[int, ToNextVersion]] = {}
        for type_, version, function in upcasters:
            _check_step(type_, version)
            if version in steps.setdefault(type_, {}):
                raise UpcastersBroken(type_, version, f"two upcasters from version {version}: keep one")
            steps[type_][version] = function
        said = {} if current is None else current
        self._steps: Final = {type_: _chain(type_, steps.get(type_, {}), said.get(type_)) for type_ in [*steps, *said]}
        self._strict: Final = strict

    def current(self, type: str) -> int | None:
        """The version this program reads a type in; None for a type it was told nothing about."""
        chain = self._steps.get(type)
        return None if chain is None else len(chain) + 1

    def versions(self, types: Collection[str] | None = None) -> dict[str, int]:
        """The current version of each type (of these types) that has upcasters."""
        return {
            type_: len(chain) + 1 for type_, chain in self._steps.items() if chain and (types is None or type_ in types)
        }

    def apply(self, event: Event) -> Event:
        """The event in its type's current version.

        The same object if there is nothing to do: it is current, or erased, or of a type without upcasters. Otherwise
        `payload` and `schema_version` are the newer ones, and everything else, `row` and digest too, is as stored.
        Raises UpcastFailed; EventTooNew if strict.
        """
        chain = self._steps.get(event.type)
        if chain is None or event.schema_version == len(chain) + 1 or event.erased:
            return event
        row = event.row
        version = row.schema_version
        if version > len(chain) + 1:
            if self._strict:
                raise EventTooNew(row.stream, row.seq, row.type, version=version, known=len(chain) + 1)
            return event
        text = row.payload or ""
        for number, function in enumerate(chain[version - 1 :], start=version):
            text = _step(row, number, function, text)
        return UpcastEvent(row, len(chain) + 1, text)


class UpcastEvent(Event):
    """An event read in a newer schema version than it was stored in."""

    __slots__ = ("_text", "_upcast", "_version")

    def __init__(self, row: EventRow, version: int, text: str) -> None:
        super().__init__(row)
        self._version = version
        self._text = text
        self._upcast: Mapping[str, Any] | None = None

    @property
    def schema_version(self) -> int:
        return self._version

    @property
    def payload(self) -> Mapping[str, Any]:
        """The payload in the newer version; this object's own, as every payload is."""
        if self._upcast is None:
            self._upcast = decode(self._text)
        return self._upcast

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UpcastEvent) and (self.row, self._version, self._text) == (
            other.row,
            other._version,
            other._text,
        )

    def __hash__(self) -> int:
        return super().__hash__()


def upcast(events: Iterable[Event], upcasters: Upcasters | None) -> Iterator[Event]:
    """The events in the current version of their types; without upcasters, as they are."""
    return iter(events) if upcasters is None else map(upcasters.apply, events)


def _check_step(type_: str, version: int) -> None:
    check_type(type_, "type")
    if type(version) is not int or not 1 <= version < _LAST_VERSION:
        raise InvalidInput("from_version", f"{version!r} is not a schema version of {type_} that one can come after")


def _chain(type_: str, steps: Mapping[int, ToNextVersion], current: int | None) -> list[ToNextVersion]:
    """The functions from version 1 on, in order."""
    last = max(steps, default=0) + 1 if current is None else current
    if type(last) is not int or not 1 <= last <= _LAST_VERSION:
        raise InvalidInput("current", f"{last!r} is not a schema version of {type_}")
    for expected, version in enumerate(sorted(steps), start=1):
        if version >= last:
            raise UpcastersBroken(
                type_, version, f"an upcaster from version {version} leads beyond version {last}, which is current"
            )
        if version != expected:
            raise _gap(type_, expected, last)
    if len(steps) + 1 < last:
        raise _gap(type_, len(steps) + 1, last)
    return [steps[version] for version in sorted(steps)]


def _gap(type: str, version: int, last: int) -> UpcastersBroken:
    return UpcastersBroken(
        type, version, f"no upcaster from version {version} to {version + 1}, and version {last} is current: add it"
    )


def _step(row: EventRow, version: int, function: ToNextVersion, text: str) -> str:
    """The payload's text in the next version. It goes through text, so that no function holds what another is given."""
    try:
        payload: object = function(decode(text))
    except Exception as error:
        raise _failed(row, version, f"the upcaster raised {type(error).__name__}: {error}") from error
    if not isinstance(payload, Mapping):
        raise _failed(row, version, f"the upcaster gave {type(payload).__name__}, not a JSON object")
    try:
        return encode(payload, "payload").decode()
    except InvalidInput as error:
        raise _failed(row, version, f"what the upcaster gave is not JSON: {error}") from error


def _failed(row: EventRow, version: int, reason: str) -> UpcastFailed:
    return UpcastFailed(row.stream, row.seq, row.type, version, reason)
