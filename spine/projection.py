"""Projection: tables that follow the log. They are derived from it alone, and can be made anew from it at any time."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Protocol, TypeAlias

from sqlalchemy import Connection, Table, delete, select, update

from spine import places, shadows, unparking
from spine.briefs import Brief, Page, pages
from spine.errors import LogBusy, SchemaOutdated
from spine.parking import OnParked, Parked, apply_or_park
from spine.places import Place
from spine.schema import parked
from spine.sql_log import SqlLog

Progress: TypeAlias = Callable[[int, int], None]
"""Told the position reached and the position to reach."""

_NEAR: Final = 1000  # positions that may be left for the transaction that swaps
_SWAP_SECONDS: Final = 30.0
_PAUSE_SECONDS: Final = 0.05


class Projection(Protocol):
    """What to derive: `apply` is given events of `types` in position order, each exactly once. A raised `version` makes
    the next catch-up rebuild."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def types(self) -> Sequence[str] | None:
        """The types of the events it is given, at most 256. None: all; then each is the one behind the one before."""

    @property
    def tables(self) -> Sequence[Table]: ...

    def apply(self, connection: Connection, tables: Mapping[str, Table], events: Sequence[Brief]) -> None:
        """Take these events into the tables, which are given by name: the live ones, or others that are to take their
        place. The place reached is committed together with what this writes."""


def catch_up(
    log: SqlLog, projection: Projection, *, progress: Progress | None = None, on_parked: OnParked | None = None
) -> int:
    """Bring the projection to the end of the log; returns how many positions it moved. One whose version was raised, or
    whose place was forgotten, is rebuilt.

    `on_parked` is told of every stream that is put aside because the projection cannot take one of its events.
    Raises RestoreDetected when the log is not the one the projection has been following, SchemaOutdated when a newer
    version of it made the tables.
    """
    live = _Work(log, projection, progress, on_parked)
    while True:
        start = _start(log, projection)
        if start is None:
            return rebuild(log, projection, progress=progress, on_parked=on_parked)
        with suppress(_GoneError):
            live.take_again()
            return max(live.follow(start, log.position()) - start, 0)


def rebuild(
    log: SqlLog, projection: Projection, *, progress: Progress | None = None, on_parked: OnParked | None = None
) -> int:
    """Make the projection anew from the whole log; returns the position reached. Readers see the old tables until the
    new ones are whole, and writers wait for no more than a batch. It begins with no stream parked.

    One that was interrupted is gone on with, and two at once share the work. Raises LogBusy when another version of the
    projection is being rebuilt, or when readers leave no moment for the swap: repeated, it goes on from there.
    """
    shadow = _Rebuild(log, projection, progress, on_parked)
    patience: float | None = None
    try:
        at = shadow.begin()
        while True:
            at = shadow.follow(at, log.position())
            try:
                swapped = shadow.swap()
            except LogBusy:
                patience = patience or time.monotonic() + _SWAP_SECONDS
                if time.monotonic() > patience:
                    raise
                time.sleep(_PAUSE_SECONDS)
                continue
            if swapped is not None:
                return swapped
            at = shadow.resume()
    except _GoneError:
        # Another process has finished what both were at.
        return _start(log, projection) or 0


def lag(log: SqlLog, projection: Projection) -> int:
    """How many positions the projection is behind the log; 0 is in step, all of them when it has to be rebuilt. Raises
    RestoreDetected."""
    with log.database.read_transaction() as connection:
        place = places.place(connection, projection.name)
        if place is None or place.version < projection.version:
            return log.position()
        places.check(connection, projection.name, place)
    return max(log.position() - place.position, 0)


class _GoneError(Exception):
    """What was followed into has been put in place, or has been thrown away, by another process."""


class _Work:
    """Following the log into a projection's live tables. Its transactions queue at one lock for each projection."""

    def __init__(
        self, log: SqlLog, projection: Projection, progress: Progress | None, on_parked: OnParked | None
    ) -> None:
        self.log = log
        self.projection = projection
        self.name = projection.name
        self.tables: Mapping[str, Table] = {table.name: table for table in projection.tables}
        self._progress = progress
        self._on_parked = on_parked

    def follow(self, at: int, head: int) -> int:
        """Bring the tables from `at` to `head`, a batch in a transaction; returns the position reached."""
        while at < head:
            for page in pages(self.log.database, self.projection.types, after=at, until=head):
                at = self._step(at, page)
                if self._progress is not None:
                    self._progress(min(at, head), head)
                if at != page.reached:
                    break  # another process has moved it: what was read is not what comes next
        return at

    def position(self, connection: Connection) -> int:
        """Where the tables are, once they have been begun. Raises _GoneError, RestoreDetected."""
        place = places.place(connection, self.name)
        if place is None and not _holds_rows(connection, self.projection.tables):
            return 0
        if place is None or place.version != self.projection.version:
            raise _GoneError
        places.check(connection, self.name, place)
        return place.position

    def take(self, connection: Connection, events: Sequence[Brief]) -> list[Parked]:
        return apply_or_park(connection, self.name, events, partial(self._apply, connection)) if events else []

    def take_again(self) -> None:
        """Take up the streams put aside that somebody asked for."""
        for stream in unparking.asked(self.log, self.name):
            with self.log.database.write_transaction(self.projection.name) as connection:
                at = self.position(connection)
                apply = partial(self._apply, connection)
                still = unparking.take_again(
                    connection, self.log, self.name, stream, types=self.projection.types, until=at, apply=apply
                )
            self.tell([still] if still else [])

    def tell(self, parked: Sequence[Parked]) -> None:
        if self._on_parked is not None:
            for one in parked:
                self._on_parked(one)

    def _apply(self, connection: Connection, events: Sequence[Brief]) -> None:
        self.projection.apply(connection, self.tables, events)

    def _step(self, at: int, page: Page) -> int:
        """Take in a page that was read behind `at`, unless another process has moved the place; returns where it is."""
        with self.log.database.write_transaction(self.projection.name) as connection:
            now = self.position(connection)
            if now != at:
                return now
            parked = self.take(connection, page.events)
            places.move(connection, self.name, self.projection.version, page.reached)
        self.tell(parked)
        return page.reached


class _Rebuild(_Work):
    """Following the log into shadow tables, from its beginning, until they can take the place of the live ones."""

    def __init__(
        self, log: SqlLog, projection: Projection, progress: Progress | None, on_parked: OnParked | None
    ) -> None:
        super().__init__(log, projection, progress, on_parked)
        self.name = f"{projection.name}/rebuild"
        self.tables = shadows.shadows_of(projection.tables)

    def begin(self) -> int:
        """Make the tables, or go on with those that are there; returns where they are. Those of another version of the
        projection, or of an older schema, are thrown away."""
        with self.log.database.write_transaction(self.projection.name) as connection:
            place = places.place(connection, self.name)
            if place is not None and self._is_usable(connection, place):
                return place.position
            shadows.make(connection, self.projection.tables)
            connection.execute(delete(parked).where(parked.c.follower == self.name))
            places.move(connection, self.name, self.projection.version, 0)
            return 0

    def resume(self) -> int:
        """Where the tables are; made anew if they have come to be of an older schema."""
        with self.log.database.write_transaction(self.projection.name) as connection:
            self.position(connection)
        return self.begin()

    def position(self, connection: Connection) -> int:
        place = places.place(connection, self.name)
        if place is None:
            raise _GoneError
        if place.version != self.projection.version:
            raise LogBusy(
                f"{self.projection.name} is being rebuilt by a program of another version; repeat it when that is done"
            )
        return place.position

    def swap(self) -> int | None:
        """Let the tables take the place of the live ones; returns where they are. None when there is more to do first,
        LogBusy when others are at the live tables."""
        with self.log.database.write_transaction(self.projection.name) as connection:
            self.position(connection)
            shadows.prepare(connection, self.projection.tables)
        with self.log.database.write_transaction(self.projection.name) as connection:
            at, head = self.position(connection), self.log.position()
            if head - at > _NEAR or not shadows.fit(connection, self.projection.tables):
                return None
            found: list[Parked] = []
            for page in pages(self.log.database, self.projection.types, after=at, until=head):
                found += self.take(connection, page.events)
            shadows.swap(connection, self.projection.tables)
            self._take_over(connection, head)
        self.tell(found)
        return head

    def _take_over(self, connection: Connection, head: int) -> None:
        """Put the place and the parked streams in place of those of the live tables."""
        unparking.forget(connection, self.projection.name)
        held = update(parked).where(parked.c.follower == self.name)
        connection.execute(held.values(follower=self.projection.name))
        places.forget(connection, self.name)
        places.move(connection, self.projection.name, self.projection.version, head)

    def _is_usable(self, connection: Connection, place: Place) -> bool:
        return (
            place.version == self.projection.version
            and places.leaf_at(connection, place.position) == place.leaf
            and shadows.fit(connection, self.projection.tables)
        )


def _start(log: SqlLog, projection: Projection) -> int | None:
    """Where the projection is; None when it has to be rebuilt."""
    with log.database.read_transaction() as connection:
        place = places.place(connection, projection.name)
        if place is None:
            if not _holds_rows(connection, projection.tables):
                return 0
            place = places.place(connection, projection.name)  # another process may have begun in between
        if place is None or place.version < projection.version:
            return None
        if place.version > projection.version:
            raise SchemaOutdated(
                f"{projection.name} is at version {place.version}, this program knows version {projection.version}: "
                "upgrade gradespine, or run `gradespine rebuild`"
            )
        places.check(connection, projection.name, place)
        return place.position


def _holds_rows(connection: Connection, tables: Sequence[Table]) -> bool:
    return any(connection.execute(select(table).limit(1)).first() is not None for table in tables)
