"""Proof: everything that is found of a grader, by the scan and by the trials."""

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from grading.errors import ImpureGrader, UntriedGrader
from grading.purity import samples
from grading.purity.impurities import Impurity
from grading.purity.reach import Reach
from grading.purity.report import Finding, in_order, refusal
from grading.purity.samples import Sample
from grading.purity.source import Place, Scanned, Seen, scan
from grading.purity.trial import Task
from grading.purity.trials import FAR, TRIAL_SECONDS, Outcome, Trials, stopped

_MAX_MODULES: Final = 100
_SIGNS: Final = {
    Impurity.HASH: "PYTHONHASHSEED",
    Impurity.ORDER: "PYTHONHASHSEED",
    Impurity.ADDRESS: "addresses",
    Impurity.STATE: "from one call to the next",
}
"""By which words of a finding something that the scan suspects is what made the difference."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The grader to be tried: one in Python (`target`, `source` and its digest), or a document."""

    name: str
    target: str = ""
    source: str = ""
    definition: str = ""
    document: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Proof:
    """What was found. `samples` are the names of those it was tried on, `modules` those of its package that it also
    runs, which its definition does not cover."""

    subject: Subject
    findings: tuple[Finding, ...]
    samples: tuple[str, ...]
    modules: tuple[str, ...] = ()

    @property
    def refused(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.refused)

    @property
    def notes(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if not finding.refused)

    def require(self) -> None:
        """Raises ImpureGrader where anything was found that refuses it."""
        if self.refused:
            raise ImpureGrader(self.subject.name, refusal(self.refused))


def prove(subject: Subject, recorded: Sequence[Sample] = (), *, seconds: float = TRIAL_SECONDS) -> Proof:
    """Try a grader on these samples and on those that ship.

    A finding refuses it when a trial made it (the access was met, verdicts differed, evidence was changed), or when the
    scan names something impure in a function that a milestone's check comes to by plain names, whether a sample came
    there or not. All else the scan sees is a note.
    Raises UntriedGrader where a trial did not come to its end within `seconds` and its memory.
    """
    scanned = _scanned(subject)
    words = [body.words for one in scanned for body in one.bodies]
    # The smallest comes first, and the largest where the order is turned: what the first run leaves behind tells.
    tried_on = sorted([*samples.shipped(), *samples.of_words(words), *recorded], key=lambda sample: len(sample.rows))
    worlds = FAR if subject.document is not None or _hashes(scanned) else FAR[:1]
    trials = Trials(Task(tried_on, subject.target, subject.definition, subject.document), seconds, worlds)
    outcomes = trials.everywhere()
    home = outcomes[0]
    found = list(home.findings)
    for outcome in outcomes[1:]:
        known = {finding.milestone for finding in found}
        found += [finding for finding in outcome.findings if finding.milestone not in known]
    why = stopped(outcomes)
    if why and not found:
        raise UntriedGrader(subject.name, why)
    guilty = {finding.milestone for finding in found}
    if not why:
        found += trials.differences(outcomes, guilty)
    findings = [*_with_the_scan(found, Reach(scanned), home), *(_always_broken(home) if subject.target else ())]
    own = subject.target.partition(":")[0]
    others = tuple(one.module for one in scanned if one.module != own)
    return Proof(subject, tuple(in_order(findings)), tuple(sample.name for sample in tried_on), others)


def _hashes(scanned: Sequence[Scanned]) -> bool:
    """Whether there are sets in it or hashes: two things lie in the same order by chance every second time, so that
    one other hash seed would show too little."""
    names = {name for one in scanned for body in one.bodies for name in body.uses}
    return not names.isdisjoint(("builtins.set", "builtins.frozenset", "builtins.hash"))


def _with_the_scan(found: Sequence[Finding], reach: Reach, home: Outcome) -> list[Finding]:
    """What was found, with what the scan adds to it: the line that a difference is due to, and what no sample met."""
    pointed = [_pointed(one, reach, home) for one in found]
    places = {(one.milestone, one.module, one.line) for one in pointed}
    lines = {(one.module, one.line) for one in pointed}
    deeds = {(one.milestone, _deed(one)) for one in pointed}
    return pointed + [
        one
        for one in reach.findings(home.roots)
        if (one.milestone, one.module, one.line) not in places
        and (one.milestone, _deed(one)) not in deeds
        and (one.refused or (one.module, one.line) not in lines)
    ]


def _always_broken(home: Outcome) -> list[Finding]:
    """A note for each milestone that gave a verdict on no sample: nothing was tried of it."""
    said: dict[str, list[str]] = {}
    for (name, _), one in home.said.items():
        said.setdefault(name, []).append(one.where)
    return [
        Finding(
            f"gave no verdict on any sample ({wheres[0]}), so nothing of it was tried",
            name,
            refused=False,
        )
        for name, wheres in said.items()
        if all(wheres)
    ]


def _deed(finding: Finding) -> str:
    return finding.what.partition(" (")[0]


def _pointed(finding: Finding, reach: Reach, home: Outcome) -> Finding:
    """What has no line of its own gets the one that the scan suspects for it, or that of the check."""
    roots = home.roots.get(finding.milestone, ())
    if finding.line or not roots:
        return finding
    suspects = sorted(reach.seen_from(roots), key=lambda seen: seen.place)
    seen = next((one for one in suspects if _explains(one, finding)), None)
    place: Place = roots[0] if seen is None else seen.place
    why = "" if seen is None else f", look at {seen.name}"
    return replace(finding, what=f"{finding.what}{why}", module=place.module, line=place.line)


def _explains(seen: Seen, finding: Finding) -> bool:
    sign = _SIGNS.get(seen.impurity)
    return sign is not None and sign in finding.what


def _scanned(subject: Subject) -> list[Scanned]:
    """The grader's module, and the modules of its top-level package that it imports, and those import."""
    own = subject.target.partition(":")[0]
    if not own:
        return []
    package = own.partition(".")[0]
    found = {own: scan(own, subject.source, package=_package(own))}
    waiting = list(found[own].imports)
    while waiting and len(found) < _MAX_MODULES:
        name = waiting.pop(0)
        if name in found or not name.startswith(f"{package}."):
            continue
        source = _source(name)
        if source:
            found[name] = scan(name, source, package=_package(name))
            waiting.extend(found[name].imports)
    return list(found.values())


def _package(module: str) -> str:
    there = sys.modules.get(module)
    return module if hasattr(there, "__path__") else module.rpartition(".")[0]


def _source(module: str) -> str | None:
    """The source of a module that can be read; None for a name in a module, or compiled code."""
    try:
        spec = importlib.util.find_spec(module)
        source = getattr(spec.loader, "get_source", lambda _: None)(module) if spec is not None else None
    except (ImportError, AttributeError, ValueError, SyntaxError, OSError):
        return None
    return source if isinstance(source, str) else None
