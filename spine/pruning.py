"""Pruning: snapshots that a newer one makes needless are dropped. Each is a cache; no state is another for it."""

from typing import Final

from spine.sql_log import SqlLog

_STREAMS: Final = 200
_NEXT: Final = (
    "SELECT max(stream_id) FROM (SELECT DISTINCT stream_id FROM snapshots WHERE stream_id > ? ORDER BY stream_id "
    "LIMIT ?) AS s"
)
_PRUNE: Final = (
    "DELETE FROM snapshots WHERE stream_id > ? AND stream_id <= ? AND EXISTS (SELECT 1 FROM snapshots n "
    "WHERE n.stream_id = snapshots.stream_id AND n.fold = snapshots.fold "
    "AND (n.version > snapshots.version OR (n.version = snapshots.version AND n.seq > snapshots.seq)))"
)


def prune_snapshots(log: SqlLog) -> int:
    """Drop all snapshots but the newest of each stream and fold: the one of the highest version, and there the highest
    seq. Returns how many went.

    What is replayed up to an earlier seq, or by an older version of a fold, starts from zero afterwards. Writers wait
    for the snapshots of 200 streams at most. Raises LogBusy, LogUnavailable: what went until then stays gone.
    """
    after, dropped = 0, 0
    while (last := _next(log, after)) is not None:
        with log.database.write() as cursor:
            cursor.execute(log.database.sql(_PRUNE), (after, last))
            dropped += cursor.rowcount
        after = last
    return dropped


def _next(log: SqlLog, after: int) -> int | None:
    """The last of the next streams that have snapshots."""
    with log.database.read() as cursor:
        cursor.execute(log.database.sql(_NEXT), (after, _STREAMS))
        last: int | None = cursor.fetchall()[0][0]
    return last
