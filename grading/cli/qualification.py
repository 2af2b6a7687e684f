"""`gradespine grader qualify`: whether a grader may be relied on, and what speaks against it."""

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from grading.cli.failures import FINDING, NOT_CHECKED, Usage
from grading.cli.session import session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grading.cli.output import Output
    from grading.findings import Finding
    from grading.gradebook import Gradebook
    from grading.graders import GraderRef
    from grading.labels import Agreement
    from grading.qualification import Labelled, Qualification
    from grading.trials import CheatTrials, Trial

_SHOWN: Final = 20
_LISTED: Final = 5


def qualify(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A grader, or one of its versions: NAME@V.")],
    oracle: Annotated[
        list[str] | None, typer.Option(metavar="STREAM", help="A run that has to pass; repeatable.")
    ] = None,
    null: Annotated[
        list[str] | None, typer.Option(metavar="STREAM", help="One that must not: idle, or nonsense; repeatable.")
    ] = None,
    oracle_prefix: Annotated[
        str | None, typer.Option(metavar="P", help="Runs that have to pass: all whose names begin so.")
    ] = None,
    null_prefix: Annotated[
        str | None, typer.Option(metavar="P", help="Runs that must not: all whose names begin so.")
    ] = None,
    labelled: Annotated[
        str | None, typer.Option(metavar="FILE", help="What people say of runs: JSON lines or CSV.")
    ] = None,
    kappa: Annotated[float | None, typer.Option(metavar="K", help="The least Cohen's κ with the labels.")] = None,
    json: Annotated[bool, typer.Option("--json", help="A JSON object, with every trial and finding.")] = False,
) -> None:
    """Try a grader before you rely on it.

    Oracle runs have to pass, null runs must not. Then cheats are planted in null runs, and in oracle runs without what
    the agent did: printed PASSED lines, events that the agent may not write, edited tests, repeated and replayed
    events. None may pass. Milestones that only ask for something to be there must not pass because events are dropped,
    reordered or duplicated. Nothing planted is ever appended; what came of it is, as `grader.qualified`.

    FILE holds `stream` and `passed` (true or false), as JSON lines or as CSV with a header line. Agreement with it is
    shown, and decides only with --kappa.

    Exit code: 0 qualified, 1 not, 2 usage, 3 a run could not be graded, so that nothing is known.

    \b
    Examples:
      gradespine grader qualify safe-change \\
        --oracle run/demo/code-dates/4 --null run/demo/code-dates/2
      gradespine grader qualify ctf@2 --oracle-prefix run/solved/ \\
        --null-prefix run/idle/ --labelled labels.csv --kappa 0.8
    """
    from grading.cli.output import Output
    from grading.graders import GraderRef
    from grading.labels import read_labels

    if not (oracle or oracle_prefix) or not (null or null_prefix):
        raise Usage("name runs that have to pass (--oracle) and runs that must not (--null)", context)
    if kappa is not None and labelled is None:
        raise Usage("--kappa is about labels: give them with --labelled", context)
    labels = [] if labelled is None else read_labels(labelled)
    out = Output()
    with session(context).gradebook() as gradebook, out.progress("trying") as progress:
        done = gradebook.qualify(
            GraderRef.parse(name),
            oracle=oracle or (),
            null=null or (),
            oracle_prefix=oracle_prefix,
            null_prefix=null_prefix,
            labels=labels,
            kappa=kappa,
            progress=progress,
        )
    if json:
        out.json_line(_to_json(done))
    else:
        _tell(out, done)
    if not done.qualified:
        raise typer.Exit(NOT_CHECKED if done.broken else FINDING)


def warn(out: "Output", gradebook: "Gradebook", ref: "GraderRef") -> None:
    """Say on stderr that a grader is not qualified, where it is not."""
    from grading.qualification import Standing

    standing = gradebook.standing(ref)
    if standing is not Standing.QUALIFIED:
        out.remark(f"{ref} is {standing}: `gradespine grader qualify {ref} --oracle STREAM --null STREAM` tries it")


def _tell(out: "Output", done: "Qualification") -> None:
    from grading.cli.output import Column

    grader = f"{done.grader.name}@{done.grader.version}"
    out.line(f"{grader} is {'' if done.qualified else 'not '}qualified")
    out.line()
    counted = [Column("runs"), *(Column(outcome, right=True) for outcome in ("passed", "failed", "broken"))]
    out.table(counted, [["oracle", *_counts(done.oracle)], ["null", *_counts(done.null)]])
    out.line()
    numbers = [Column(title, right=True) for title in ("tried", "passed", "broken")]
    columns = [Column("cheat"), *numbers, Column("does not apply", wide=True, optional=True)]
    out.table(columns, [_cheat_row(trials) for trials in done.cheats])
    out.line()
    _tell_mishaps(out, done)
    if done.labelled is not None:
        _tell_labels(out, done.labelled)
    _tell_findings(out, done)


def _counts(trials: "Sequence[Trial]") -> list[str]:
    from grading.labels import OUTCOMES

    return [f"{sum(trial.outcome == outcome for trial in trials):,}" for outcome in OUTCOMES]


def _cheat_row(trials: "CheatTrials") -> list[str]:
    from grading.cli.text import plural

    left = f"{plural(trials.not_applicable, 'run')}: {trials.reason}" if trials.not_applicable else ""
    numbers = (trials.outcomes.total(), trials.outcomes["passed"], trials.outcomes["broken"])
    return [trials.cheat.name, *(f"{number:,}" for number in numbers), left]


def _tell_mishaps(out: "Output", done: "Qualification") -> None:
    from grading.cli.text import plural

    if not done.claiming:
        out.line("no dropped, reordered or duplicated events were tried: no milestone claims to withstand them")
        return
    ask = "asks" if done.claiming == 1 else "ask"
    claim = f"{plural(done.claiming, 'milestone')} only {ask} for something to be there"
    if not done.mishaps:
        out.line(f"{claim}, and no run fails that: none was tried on dropped or repeated events", hanging=2)
        return
    tried = f"{plural(done.mishaps, 'variant')} with events dropped, reordered or duplicated"
    out.line(f"{claim}: {tried} raised {f'{len(done.raises):,}' if done.raises else 'none'}", hanging=2)


def _tell_labels(out: "Output", labelled: "Labelled") -> None:
    from grading.cli.output import Column

    agreement = labelled.agreement
    out.line()
    columns = [Column("labelled"), *(Column(outcome, right=True) for outcome in ("passed", "failed", "broken"))]
    out.table(columns, [_label_row(agreement, "passed", True), _label_row(agreement, "failed", False)])
    out.line(_agreement(agreement))
    disputed = labelled.disputed
    for label, trial in disputed[:_SHOWN]:
        said = "passed" if label.passed else "failed"
        missed = "" if not trial.missed else f": {', '.join(trial.missed)}"
        out.line(f"{label.stream}: labelled {said}, {trial.outcome}{missed}", indent=2, hanging=2)
    if len(disputed) > _SHOWN:
        out.line(f"and {len(disputed) - _SHOWN:,} more: --json has them all", indent=2)


def _label_row(agreement: "Agreement", word: str, label: bool) -> list[str]:
    from grading.labels import OUTCOMES

    return [word, *(f"{agreement.count(label, outcome):,}" for outcome in OUTCOMES)]


def _agreement(agreement: "Agreement") -> str:
    if agreement.accuracy is None:
        return f"no accuracy and no κ: {agreement.undefined}"
    shown = f"accuracy {agreement.accuracy:.3f} ({agreement.agreed:,} of {agreement.graded:,})"
    kappa = agreement.kappa
    return f"{shown}, Cohen's κ " + (f"{kappa:.3f}" if kappa is not None else f"undefined: {agreement.undefined}")


def _tell_findings(out: "Output", done: "Qualification") -> None:
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in done.findings():
        title = f"{finding.part} {finding.cheat}" if finding.cheat else finding.part
        groups.setdefault((f"{title}: {finding.what}", finding.remedy), []).append(finding)
    if not groups:
        return
    out.line()
    out.line("what speaks against it:")
    for (what, remedy), findings in list(groups.items())[:_SHOWN]:
        out.line(what, indent=2, hanging=2)
        for finding in findings[:_LISTED]:
            if finding.stream:
                out.line(f"{finding.stream}{_milestones(finding)}", indent=4, hanging=2)
        if len(findings) > _LISTED:
            out.line(f"and {len(findings) - _LISTED:,} more: --json has them all", indent=4)
        out.line(f"→ {remedy}", indent=4, hanging=2)
    if len(groups) > _SHOWN:
        out.line(f"and {len(groups) - _SHOWN:,} more: --json has them all", indent=2)


def _milestones(finding: "Finding") -> str:
    return f": {', '.join(finding.milestones)}" if finding.milestones else ""


def _to_json(done: "Qualification") -> dict[str, Any]:
    """What is recorded, with the findings and what the labels and the grader disagree on."""
    disputed = [] if done.labelled is None else done.labelled.disputed
    return {
        **done.to_payload(),
        "findings": [finding.to_json() for finding in done.findings()],
        "disputed": [
            {"stream": label.stream, "passed": label.passed, "outcome": trial.outcome, "missed": list(trial.missed)}
            for label, trial in disputed
        ],
    }
