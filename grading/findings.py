"""Findings: what speaks against a grader that was tried, and what to do about it."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from grading.labels import Agreement
from grading.polarity import Change
from grading.trials import Fall, Raise, Trial

_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a grader is not qualified: where, by which milestones, and what to do."""

    part: Literal["oracle", "null", "cheat", "mishap", "agreement"]
    stream: str
    milestones: tuple[str, ...]
    what: str
    remedy: str
    cheat: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "part": self.part,
            "cheat": self.cheat,
            "stream": self.stream,
            "milestones": list(self.milestones),
            "what": self.what,
            "remedy": self.remedy,
        }


def of_oracle(trial: Trial) -> Finding:
    """A run that has to pass, and does not."""
    if trial.broken is not None:
        return _broken("oracle", trial)
    what = "does not pass, and has to" if trial.missed else f"does not pass, and has to: {trial.detail} is too low"
    remedy = "see what the milestones miss (`gradespine explain`), or take the run out of the oracle runs"
    return Finding("oracle", trial.stream, trial.missed, what, remedy)


def of_null(trial: Trial) -> Finding:
    """A run that must not pass, and does."""
    if trial.broken is not None:
        return _broken("null", trial)
    what = "passes, and must not: every required milestone does"
    return Finding("null", trial.stream, (), what, "require what it misses, or take it out of the null runs")


def _broken(part: Literal["oracle", "null"], trial: Trial) -> Finding:
    assert trial.broken is not None
    found = trial.broken
    what = f"could not be graded: {found.code}: {found.where}"
    return Finding(part, trial.stream, (found.milestone,), what, "take the cause away, or try it on another run")


def of_fall(fall: Fall) -> Finding:
    """A cheat by which a run passes."""
    what = f"passes when {fall.cheat.what}"
    return Finding("cheat", fall.stream, fall.milestones, what, fall.cheat.remedy, fall.cheat.name)


def of_raise(raised: Raise) -> Finding:
    """A milestone that claims to ask for something to be there, and passes with less of it."""
    seqs = ", ".join(map(str, raised.seqs[:_NAMED]))
    more = f" and {len(raised.seqs) - _NAMED} more" if len(raised.seqs) > _NAMED else ""
    what = f"passes with seq {seqs}{more} {raised.change}, and fails without that"
    remedy = "it asks for more than that something is there: let its check declare another `polarity`, or none"
    if raised.change is Change.DUPLICATED:
        remedy = "do not count what can be repeated, or let its check declare another `polarity`"
    return Finding("mishap", raised.stream, (raised.milestone,), what, remedy)


def of_agreement(agreement: Agreement, needed: float | None) -> Finding:
    """Too little agreement with the labels."""
    kappa = agreement.kappa
    what = f"κ is undefined: {agreement.undefined}" if kappa is None else f"κ is {kappa:.3f}"
    return Finding("agreement", "", (), f"{what}; {needed} was asked for", "look at the runs they disagree on")
