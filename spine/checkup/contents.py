"""The checks of what is in the log, the same on every database."""

from typing import Final

from spine.checkup.findings import Cursor, Verdict, failed, ok, rows, warning

_FAR_BEHIND: Final = 10_000  # events


def positions(cursor: Cursor) -> Verdict:
    """Whether positions go from 1 to their number, and the log has its name."""
    [(count, first, last)] = rows(cursor, "SELECT count(*), min(position), max(position) FROM events")
    names = [name for (name,) in rows(cursor, "SELECT name FROM log")]
    if count and (first, last) != (1, count):
        return failed(
            f"{count:,} events stand at positions {first:,} to {last:,}",
            "events are missing: stop writing, and restore a backup in another place",
        )
    if count and len(names) != 1:
        return failed(f"{count:,} events, and {len(names)} names of the log", "a log has one name: restore a backup")
    if not count:
        return ok("the log is empty")
    return ok(f"{count:,} events, without a gap, of {names[0]}")


def sequences(cursor: Cursor) -> Verdict:
    """Whether the events of every stream go from 1 to their number."""
    torn = rows(
        cursor,
        "SELECT s.name, count(*), min(e.seq), max(e.seq) FROM events e LEFT JOIN streams s "
        "ON s.stream_id = e.stream_id GROUP BY e.stream_id, s.name "
        "HAVING min(e.seq) <> 1 OR max(e.seq) <> count(*) OR s.name IS NULL ORDER BY 1 LIMIT 5",
    )
    if torn:
        name, count, first, last = torn[0]
        return failed(
            f"{name or 'a stream without a name'}: {count:,} events stand at seq {first:,} to {last:,}"
            + (", and others are torn too" if len(torn) > 1 else ""),
            "events are missing: stop writing, and restore a backup in another place",
        )
    [(streams,)] = rows(cursor, "SELECT count(*) FROM streams")
    return ok(f"{streams:,} streams, each without a gap")


def followers(cursor: Cursor) -> Verdict:
    """Whether every follower is on the history that stands in the log, and how far behind it is."""
    [(head,)] = rows(cursor, "SELECT coalesce(max(position), 0) FROM events")
    found = rows(
        cursor,
        "SELECT f.name, f.position, CASE WHEN f.position = 0 OR e.leaf = f.leaf THEN 1 ELSE 0 END "
        "FROM followers f LEFT JOIN events e ON e.position = f.position ORDER BY f.name",
    )
    if not found:
        return ok("none")
    strayed = [name for name, _, same in found if not same]
    if strayed:
        return failed(
            f"{', '.join(strayed)}: has seen what the log does not hold",
            "the database was put back to an older copy, or another log was put in its place: rebuild what follows it",
        )
    said = ", ".join(f"{name} {head - at:,} behind" if at < head else f"{name} in step" for name, at, _ in found)
    if any(head - at >= _FAR_BEHIND for _, at, _ in found):
        return warning(said, "let it catch up: nobody seems to be following")
    return ok(said)


def parked(cursor: Cursor) -> Verdict:
    """Streams that a follower has put aside because it could not take one of their events."""
    found = rows(
        cursor,
        "SELECT follower, count(*), min(stream) FROM parked WHERE substr(follower, length(follower) - 5) <> '/again' "
        "GROUP BY follower ORDER BY follower",
    )
    if not found:
        return ok("no streams")
    said = "; ".join(f"{follower}: {count:,}, first {stream}" for follower, count, stream in found)
    return failed(said, "see why with `gradespine followers list`, put it right, then `gradespine followers unpark`")


def compared(found: dict[str, str], wanted: dict[str, str]) -> Verdict:
    """Guards by name, as they are and as they have to be."""
    missing = sorted(wanted.keys() - found.keys())
    changed = sorted(name for name in wanted.keys() & found.keys() if wanted[name] != found[name])
    foreign = sorted(found.keys() - wanted.keys())
    if missing or changed:
        parts = [(missing, "not there"), (changed, "not as it was made")]
        return failed(
            "; ".join(f"{', '.join(names)}: {what}" for names, what in parts if names),
            "what is recorded could be changed unnoticed: find out who did it, verify the log against a backup, and"
            " put the guard back from spine/schema.py",
        )
    if foreign:
        return warning(f"{', '.join(foreign)}: not a guard of ours", "see what it does to what is recorded")
    return ok(f"{len(wanted)} in place")
