"""How a curve looks to a person: the grade after each event, and what earned or lost each rung."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.text import Text

from grading.cli import render
from grading.cli.curve_json import seconds
from grading.cli.output import Column, Output, joined, styled
from grading.cli.text import plural
from grading.curve import Change, Curve, Point, RungCurve, Standing
from grading.errors import BrokenCode
from grading.explanations import Drawn
from grading.rows import verdict
from spine import Event

_LEVELS: Final = "▁▂▃▄▅▆▇█"
_BROKEN: Final = "×"
_WIDTH: Final = 60
_TOLD: Final = 60
_SHOWN: Final = 5  # of the changes of a rung, so many are shown: the first ones, and the last

_WORDS: Final = {Standing.NOT_REACHED: "not looked at"}


def curve(out: Output, drawn: Drawn, *, every: bool) -> None:
    """The curve of a run under one grader: what it came to, a sparkline, what changed when, and each rung."""
    found = drawn.curve
    if found is None:
        out.line(joined(f"{drawn.name}: ", styled("no curve", "magenta"), f": {drawn.reason}"), hanging=2)
        return
    out.line(joined(f"{drawn.name}: ", *_came_to(found)), hanging=2)
    out.line(f"score  {sparkline(found)}  {_range(found)}", indent=2)
    out.line()
    out.table(*_table(found, found.every() if every else found.points), indent=2)
    for rung in found.rungs:
        out.line()
        _rung(out, found, rung)


def sparkline(found: Curve, width: int = _WIDTH) -> str:
    """The score as a row of blocks from 0 to 1, `×` where it could not be graded. A run of more events than there is
    room for shows the score at the end of each of its parts."""
    last = len(found.events)
    places = range(last + 1) if last < width else [round(last * at / (width - 1)) for at in range(width)]
    scores = (found.at(place).score for place in places)
    return "".join(_BROKEN if score is None else _LEVELS[round(score * (len(_LEVELS) - 1))] for score in scores)


def _came_to(found: Curve) -> Iterator[str | Text]:
    last = found.points[-1]
    yield f"after {plural(len(found.events), 'event')} "
    yield render.shown(verdict(last.passed))
    if last.score is not None:
        yield f", score {render.score(last.score)}"
    elif last.cause is not None:
        yield f" ({last.milestone}: {last.cause.code}: {last.cause.where})"
    first, since = found.first_passed, found.passed_since
    if first is None:
        yield "; it never had passed"
    elif since is None:
        yield f"; it had passed {_named(found, first)}, and lost that"
    elif since == first:
        yield f"; passed {_named(found, first)}, and stayed so"
    else:
        yield f"; passed first {_named(found, first)}, for good {_named(found, since)}"


def _range(found: Curve) -> str:
    best = found.best
    if best is None:
        return "broken at every event"
    first, last = (render.score(found.points[at].score) for at in (0, -1))
    highest = f", highest {render.score(best.score)} {_named(found, best.place)}"
    ends = f"{'broken' if first == '-' else first} → {'broken' if last == '-' else last}"
    return ends + ("" if best.score == found.points[-1].score else highest)


def _table(found: Curve, points: Iterable[Point]) -> tuple[list[Column], list[list[str | Text]]]:
    columns = [
        Column("seq", right=True),
        Column("event", right=True, optional=True),
        Column("time", right=True, optional=True),
        Column("score", right=True),
        Column("verdict"),
        Column("what changed", wide=True),
        Column("by"),
    ]
    numbered = any(event.seq != place for place, event in enumerate(found.events, 1))
    rows: list[list[str | Text]] = []
    before: Point | None = None
    for point in points:
        event = found.events[point.place - 1] if point.place else None
        rows.append(
            [
                "-" if event is None else str(event.seq),
                str(point.place) if numbered else "",
                _elapsed(found, point.place),
                render.score(point.score),
                render.shown(verdict(point.passed)),
                "; ".join(_what_changed(found, before, point)),
                "(no event yet)" if event is None else event.type,
            ]
        )
        before = point
    return columns, rows


def _what_changed(found: Curve, before: Point | None, point: Point) -> Iterator[str]:
    """`+ earned`, `- lost`, `× broken`. That the ladder came to a rung that fails is no change."""
    for at, (rung, now) in enumerate(zip(found.rungs, point.standings, strict=True)):
        was = None if before is None else before.standings[at]
        if now is was:
            continue
        if now is Standing.PASSED:
            yield f"+ {rung.name}"
        elif now is Standing.BROKEN:
            broken = point.cause if point.milestone == rung.name else None
            yield f"{_BROKEN} {rung.name}{'' if broken is None else f': {broken.code}'}"
        elif was is Standing.PASSED:
            yield f"- {rung.name}{' (not looked at)' if now is Standing.NOT_REACHED else ''}"
        elif was is Standing.BROKEN:
            yield f"{rung.name}: {_word(now)}"


def _rung(out: Output, found: Curve, rung: RungCurve) -> None:
    word = _word(rung.now.standing)
    worth = f"weight {rung.weight:g}{'' if rung.required else ', not required'}"
    out.line(
        joined(render.shown(word), styled(f"  {rung.name}", "bold"), styled(f"  ({worth})", "dim")), indent=2, hanging=8
    )
    told = list(_story(found, rung))
    if len(told) > _SHOWN + 1:
        told = [*told[: _SHOWN - 1], f"… {len(told) - _SHOWN:,} more changes", told[-1]]
    for line in told:
        out.line(line, indent=10, hanging=2)
    if rung.violated is not None and not _tells(rung, rung.violated):
        out.line(f"first violated {_by(found, rung.violated)}", indent=10, hanging=2)


def _word(standing: Standing) -> str:
    return _WORDS.get(standing, standing.value)


def _tells(rung: RungCurve, place: int) -> bool:
    """Whether the story of the rung has the event at this place."""
    return any(change.place == place and change.standing is Standing.FAILED for change in rung.changes)


def _story(found: Curve, rung: RungCurve) -> Iterator[str]:
    """What became of a rung, a line a change: earned, lost, earned again."""
    held = False
    before: Standing | None = None
    for change in rung.changes:
        now = change.standing
        if now is Standing.BROKEN:
            if not _waits(found, rung):
                yield _broken(found, change)
        elif now is Standing.PASSED:
            yield _earned(found, rung, change.place, before, again=held)
            held = True
        elif before is Standing.PASSED:
            yield f"{'first violated' if change.place == rung.violated else 'lost'} {_by(found, change.place)}"
        elif before is Standing.BROKEN and not _waits(found, rung):
            yield f"{_word(now)} {_by(found, change.place)}"
        before = now
    if not held and before is not Standing.BROKEN:
        yield "never earned"


def _earned(found: Curve, rung: RungCurve, place: int, before: Standing | None, *, again: bool) -> str:
    if not place:
        return "held from the start" + (", never violated" if len(rung.changes) == 1 else "")
    if before is Standing.BROKEN and _waits(found, rung):
        kept = ", never violated" if rung.limit and rung.violated is None else ""
        return f"held as soon as there was a reference, {_named(found, place)}{kept}"
    return f"earned{' again' if again else ''} {_by(found, place)}"


def _waits(found: Curve, rung: RungCurve) -> bool:
    """Whether all that ever broke the rung was that the reference had not come yet."""
    first, *rest = rung.changes
    waited = first.cause is not None and first.cause.code is BrokenCode.EXPECTED_MISSING and bool(rest)
    came = waited and found.events[rest[0].place - 1].type == "case.expected"
    return came and all(change.cause is None for change in rest)


def _broken(found: Curve, change: Change) -> str:
    cause = "" if change.cause is None else f": {change.cause.code}: {change.cause.where}"
    return f"could not be graded {_by(found, change.place) if change.place else 'from the start'}{cause}"


def _named(found: Curve, place: int) -> str:
    return f"at seq {found.events[place - 1].seq}" if place else "before the first event"


def _by(found: Curve, place: int) -> str:
    """`at seq 14 (14 events, +2m 05s): file.changed  a.py`."""
    event = found.events[place - 1]
    elapsed = _elapsed(found, place)
    when = f", {elapsed}" if elapsed else ""
    return f"at seq {event.seq} ({plural(place, 'event')}{when}): {_told(event)}"


def _told(event: Event) -> str:
    return f"{event.type}  {render.telling(event, _TOLD)}"


def _elapsed(found: Curve, place: int) -> str:
    """`+2m 05s` since the first event by the events' own times; nothing in a recording that gives all the same time."""
    since = seconds(found, place)
    if since is None or _timeless(found.events):
        return ""
    sign, whole = ("-" if since < 0 else "+"), abs(since)
    if whole < 10:
        return f"{sign}{whole:.1f}s"
    minutes, left = divmod(round(whole), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{sign}{hours}h {minutes:02}m"
    return f"{sign}{minutes}m {left:02}s" if minutes else f"{sign}{left}s"


def _timeless(events: Sequence[Event]) -> bool:
    return events[0].row.time == events[-1].row.time
