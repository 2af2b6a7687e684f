"""How events, grades and moves look to a person."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from textwrap import wrap
from typing import Any, Final, TypeAlias

from rich.text import Text

from grading.cli import opinions
from grading.cli.output import Column, Output, joined, styled
from grading.cli.reference import departures, named, reference
from grading.cli.text import clipped, compact, plural
from grading.explanations import ExplainedRung, Explanation
from grading.gradebook import Gradebook
from grading.regrade import GradeReport, Move
from grading.rows import Coverage, GradeRow, RungRow, verdict
from spine import Event

_TELLING: Final = 240
_SHORT: Final = 100
_FOLDED: Final = 100
_EVENTS: Final = 8  # of a rung's citations, so many are shown

_STYLES: Final = {"passed": "green", "failed": "red", "broken": "magenta"}

_Payload: TypeAlias = Mapping[str, Any]


def shown(word: str) -> Text:
    """A verdict in its colour."""
    return styled(word, _STYLES.get(word, "dim"))


def score(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def telling(event: Event, limit: int = _TELLING) -> str:
    """What a person wants to know of an event, in a few words of its payload."""
    if event.erased:
        return "<erased>"
    payload = event.payload
    tell: Callable[[_Payload], str] = _TELL.get(event.type, compact)
    try:
        text = tell(payload)
    except (KeyError, TypeError):
        text = compact(payload)
    return clipped(text, limit)


def events(out: Output, found: Iterable[Event], *, indent: int = 0, limit: int = _TELLING) -> None:
    """Events in columns: seq, actor, type, and the telling part."""
    listed = list(found)
    if not listed:
        return
    seqs = max(len(str(event.seq)) for event in listed)
    types = max(len(event.type) for event in listed)
    for event in listed:
        head = f"{event.seq:>{seqs}}  {event.actor.value:<6}  {event.type:<{types}}  "
        out.line(telling(event, limit), indent=indent, prefix=head)


def grade_rows(rows: Sequence[GradeRow], *, history: bool) -> tuple[list[Column], list[list[str | Text]]]:
    """The table of `grades`."""
    columns = [
        Column("run", wide=True),
        Column("grader"),
        Column("verdict"),
        Column("score", right=True),
        Column("rungs", right=True),
        Column("overridden", optional=True),
        *([Column("current"), Column("recorded")] if history else []),
        Column("note", wide=True, optional=True),
    ]
    cells: list[list[str | Text]] = []
    for row in rows:
        rungs = "-" if row.reached is None else f"{row.reached}/{len(row.rungs)}"
        current = ["yes" if row.current else "", f"{row.recorded:%Y-%m-%d %H:%M:%SZ}"] if history else []
        graded: list[str | Text] = [shown(row.verdict), score(row.score), rungs, opinions.overridden_cell(row)]
        cells.append([row.stream, grader_of(row), *graded, *current, note(row)])
    return columns, cells


def grader_of(row: GradeRow) -> str:
    """Who graded: `name@version`, or the ladder's name where no grader was registered."""
    name = row.ladder if row.grader is None else f"{row.grader}@{row.version}"
    return name if row.registered else f"{name} (unregistered)"


def note(row: GradeRow) -> str:
    """What else to know of a grade: why it is broken, that the run has grown since, that people are to look again."""
    notes = [row.code] if row.code else []
    if row.through_seq is None:
        notes.append("supplied evidence")
    if row.grew:
        notes.append("grew since")
    notes += opinions.pending_note(row)
    return ", ".join(notes)


def tally(passed: int, failed: int, broken: int, not_graded: int | None = None) -> str:
    """Every outcome with its count, also where it is none."""
    rest = "" if not_graded is None else f", {not_graded:,} not graded"
    return f"{passed:,} passed, {failed:,} failed, {broken:,} broken{rest}"


def report_line(report: GradeReport) -> str:
    """What grading came to."""
    known = report.runs - report.new
    already = f" ({known:,} graded already)" if known else ""
    grader = f"{report.grader.name}@{report.grader.version}"
    return f"{grader}: {plural(report.runs, 'run')}: {tally(report.passed, report.failed, report.broken)}{already}"


def broken(out: Output, report: GradeReport) -> None:
    """Why how many runs could not be graded, and what to do next; for a person, also where nobody looks on."""
    if report.example is not None:
        codes = ", ".join(f"{count:,} {code}" for code, count in report.codes.most_common())
        out.remark(f"broken: {codes}; where: `gradespine explain {report.example}`")


def hidden(out: Output, found: Mapping[str, str], prefix: str) -> None:
    """That runs of a prefix are hidden, and how they come back."""
    for stream, reason in islice(found.items(), 1):
        if len(found) == 1:
            out.remark(f"{stream} is hidden ({reason}): `gradespine unhide {stream}` lets it appear again")
        else:
            out.remark(
                f"{len(found):,} runs under {prefix} are hidden, {stream} ({reason}) first:"
                f" `gradespine unhide --prefix {prefix}` lets them appear again"
            )


def coverage(out: Output, found: Sequence[Coverage]) -> None:
    """A line for every grader."""
    for one in found:
        counts = tally(one.passed, one.failed, one.broken, one.not_graded)
        out.line(f"{one.grader}@{one.version}: {plural(one.runs, 'run')}: {counts}", hanging=2)
        with_overrides = opinions.coverage_line(one)
        if with_overrides is not None:
            out.line(with_overrides, indent=2, hanging=2)


def explanation(out: Output, why: Explanation, gradebook: Gradebook) -> None:
    """A grade, rung by rung, with the events that decided it."""
    grade = why.grade
    head = f"{grader_of(grade)}: "
    through = "supplied evidence" if grade.through_seq is None else f"up to seq {grade.through_seq}"
    if grade.status == "broken":
        out.line(joined(head, shown("broken"), f", it cannot be graded, {through}"), hanging=2)
        out.line(f"{grade.milestone}: {grade.code}: {grade.where}", indent=2, hanging=2)
        asked = why.asked.rungs.get(grade.milestone or "")
        if asked is not None:
            _asks(out, asked, indent=4)
        seq = _seq_of(grade.where or "")
        events(out, gradebook.events(grade.stream, after=seq - 1, until=seq) if seq else [], indent=4)
        opinions.about_grade(out, grade)
        return
    points = f"score {score(grade.score)} ({grade.attained:g} of {grade.total:g})"
    rungs = f"{grade.reached} of {plural(len(grade.rungs), 'rung')} passed"
    out.line(joined(head, shown(grade.verdict), f", {points}, {rungs}, {through}"), hanging=2)
    for reason in _also_needed(why):
        out.line(reason, indent=2, hanging=2)
    opinions.about_grade(out, grade)
    expected = reference(gradebook, grade)
    for index, explained in enumerate(why.rungs):
        out.line()
        _rung(out, explained, expected, why.asked.rungs.get(explained.rung.name))
        opinions.about_rung(out, grade, index)
    if why.asked.meanings:
        out.line()
    for name, meaning in why.asked.meanings.items():
        out.line(f"“{name}” means that {meaning}", indent=2, hanging=2, style="dim")


def _also_needed(why: Explanation) -> Iterator[str]:
    """What a run that was graded and has not passed would also need: rungs, a score, or both."""
    grade = why.grade
    if grade.passed or not grade.rungs:
        return
    missing = [explained.rung.name for explained in why.rungs if explained.rung.required and not explained.rung.passed]
    if missing:
        yield f"to pass, it also needs: {', '.join(missing)}"
    needed = why.asked.pass_at
    if needed is not None and (grade.score or 0.0) < needed:
        yield f"to pass, it needs a score of {needed:g}"


def started(out: Output, found: Sequence[Explanation]) -> None:
    """Whose run it is, and of what."""
    event = next((why.started for why in found if why.started is not None), None)
    if event is not None:
        out.line(telling(event), indent=2, hanging=2, style="dim")


def _rung(out: Output, explained: ExplainedRung, expected: Event | None, asked: str | None) -> None:
    rung = explained.rung
    word = _word(rung)
    worth = f"weight {rung.weight:g}{'' if rung.required else ', not required'}"
    out.line(joined(shown(word), styled(f"  {rung.name}", "bold"), styled(f"  ({worth})", "dim")), indent=2, hanging=8)
    if asked is not None:
        _asks(out, asked, indent=10)
    if not rung.reached:
        out.line("behind the first rung that failed, this ladder looks no further", indent=10, hanging=2)
    if rung.detail and rung.reached:
        out.line(rung.detail, indent=10)
        for wanted in named(rung.detail, expected):
            out.line(str(wanted), indent=10, hanging=2)
            for line in departures(wanted, explained.events):
                out.line(line, indent=10, hanging=2)
    events(out, explained.events[:_EVENTS], indent=10)
    if rung.cited > _EVENTS:
        out.line(f"… and {rung.cited - _EVENTS:,} more events", indent=10, style="dim")


def _asks(out: Output, asked: str, *, indent: int) -> None:
    """What a rung asks, for a person: folded also where there is no terminal to fold it."""
    lines = [asked] if out.terminal else wrap(asked, _FOLDED, break_long_words=False, break_on_hyphens=False)
    for number, line in enumerate(lines):
        out.line(f"{'      ' if number else 'asks: '}{line}", indent=indent, hanging=6, style="dim")


def moves(out: Output, moved: Sequence[Move], gradebook: Gradebook, *, limit: int | None = None) -> None:
    """What a re-grade moved: the rungs that did it, and the events that either side cites for them."""
    for move in moved[:limit]:
        before, after = (f"{row.verdict} {score(row.score)}" for row in (move.before, move.after))
        out.line(joined(styled(move.stream, "bold"), f"  {before} → ", styled(after, _style(move.after))), indent=2)
        for flip in move.flips:
            out.line(
                f"{flip.rung}: {_side(move.before, flip.rung)} → {_side(move.after, flip.rung)}", indent=4, hanging=2
            )
        for row in (move.before, move.after):
            if row.status == "broken":
                out.line(f"{grader_of(row)}: {row.milestone}: {row.code}: {row.where}", indent=4, hanging=2)
        if not move.flips and move.before.status == move.after.status:
            same = "no rung changed its verdict, only which there are, what they weigh or which are required"
            out.line(same, indent=4, hanging=2)
        events(out, _cited(move, gradebook)[:_EVENTS], indent=6, limit=_SHORT)
    if limit is not None and len(moved) > limit:
        out.line(f"… and {len(moved) - limit:,} more: gradespine grades --history", indent=2)


def _cited(move: Move, gradebook: Gradebook) -> list[Event]:
    seqs = {seq for flip in move.flips for seq in (*flip.cited_before, *flip.cited_after)}
    if not seqs:
        return []
    read = gradebook.events(move.stream, after=min(seqs) - 1, until=max(seqs))
    return [event for event in read if event.seq in seqs]


def moved_counts(moved: Sequence[Move]) -> str:
    """`5 runs moved: 3 failed → passed, 2 passed → failed`, every kind counted."""
    counts: dict[str, int] = {}
    for move in moved:
        before, after = move.before.verdict, move.after.verdict
        kind = f"{before} → {after}" if before != after else f"{before} as before, other score or rungs"
        counts[kind] = counts.get(kind, 0) + 1
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
    return f"{plural(len(moved), 'run')} moved{': ' if kinds else ''}{kinds}"


def _side(grade: GradeRow, name: str) -> str:
    """How a rung stands in a grade, and the seqs that it cites: `passed (13, 16)`."""
    rung = next(rung for rung in grade.rungs if rung.name == name)
    named = ", ".join(str(seq) for seq in rung.citations[:5])
    more = ", …" if rung.cited > 5 else ""
    return f"{_word(rung)} ({named}{more})" if named else _word(rung)


def _word(rung: RungRow) -> str:
    return "passed" if rung.passed else "failed" if rung.reached else "not looked at"


def _style(row: GradeRow) -> str:
    return _STYLES[row.verdict]


def _seq_of(where: str) -> int | None:
    first, _, rest = where.partition(" ")
    number = rest.partition(":")[0]
    return int(number) if first == "seq" and number.isascii() and number.isdigit() else None


def _started(payload: _Payload) -> str:
    """`smith (gpt-9) on 7 of airline`; a recording that names no agent and no model leaves `case 7 of airline`."""
    agent, model, case = payload["agent"], payload["model"], payload["case"]
    who = f"{agent} ({model})" if agent and model else agent or model
    what = f"{case} of {payload['task']}" if payload["task"] else case
    return f"{who} on {what}" if who else f"case {what}"


def _called(payload: _Payload) -> str:
    return f"{payload['tool']} {compact(payload.get('arguments') or {})}"


def _returned(payload: _Payload) -> str:
    error = payload.get("error")
    return f"{payload['tool']} → {compact(payload.get('result')) if error is None else 'error: ' + compact(error)}"


def _exited(payload: _Payload) -> str:
    return f"$ {payload['command']} → exit {payload['exit_code']}"


def _finished(payload: _Payload) -> str:
    return str(payload["status"]) + (f": {payload['reason']}" if payload.get("reason") else "")


def _summary(payload: _Payload) -> str:
    return f"{_by(payload)}: {verdict(payload['passed'])}, score {score(payload['score'])}"


def _overridden(payload: _Payload) -> str:
    """`ada: tests_pass: passed: flaky`, without a milestone `ada: passed: …`."""
    what = "withdrawn" if payload["passed"] is None else verdict(payload["passed"])
    parts = (payload["by"], payload["milestone"], what, payload["reason"])
    return ": ".join(part for part in parts if part is not None)


def _by(payload: _Payload) -> str:
    grader = payload.get("grader")
    return str(payload["ladder"]) if grader is None else f"{grader['name']}@{grader['version']}"


_TELL: Final[Mapping[str, Callable[[_Payload], str]]] = {
    "run.started": _started,
    "message.sent": lambda payload: f"{payload['role']}: {compact(payload['content'])}",
    "tool.called": _called,
    "tool.returned": _returned,
    "command.exited": _exited,
    "file.changed": lambda payload: str(payload["path"]),
    "test.reported": lambda payload: f"{payload['name']}: {payload['status']}",
    "question.posed": lambda payload: f"{payload['key']}: {payload['prompt']}",
    "answer.given": lambda payload: f"{payload['key']}: {payload['answer']}",
    "score.imported": lambda payload: f"{payload['scorer']}: {compact(payload['value'])}",
    "run.finished": _finished,
    "grader.registered": lambda payload: f"{payload['name']}@{payload['version']} ({payload['kind']})",
    "grader.activated": lambda payload: f"{payload['name']}@{payload['version']}",
    "grader.qualified": lambda payload: f"{_by(payload)}: {'' if payload['qualified'] else 'not '}qualified",
    "grade.milestone": lambda payload: f"{payload['name']}: {verdict(payload['passed'])}",
    "grade.summary": _summary,
    "grade.broken": lambda payload: f"{_by(payload)}: {payload['milestone']}: {payload['code']}: {payload['where']}",
    "grade.overridden": _overridden,
    "stream.hidden": lambda payload: str(payload["reason"]),
}
