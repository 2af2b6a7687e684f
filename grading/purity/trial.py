"""A trial: the process that loads a grader behind refusals, asks its checks, and writes down what came of it.

It is started by `trials`, given a Task on standard input, and writes a JSON object a line. It ends with the line
"done": without it, the trial did not come to its end.
"""

import json
import os
import pickle
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from types import TracebackType
from typing import Any, BinaryIO, Final

from grading.errors import InvalidLadder
from grading.ladders import Ladder, Milestone
from grading.purity import refusals
from grading.purity.asking import ENDED, REFUSED, Asked, Said
from grading.purity.gate import Gate, Refusal
from grading.purity.impurities import Impurity
from grading.purity.roots import roots
from grading.purity.samples import Sample
from grading.python_ladders import load_python_ladder

MEMORY_BYTES: Final = 1024**3


@dataclass(frozen=True, slots=True)
class Task:
    """What a trial is to do. Either `target` (`module:attribute`, with the digest of its source) or a `document`."""

    samples: Sequence[Sample]
    target: str = ""
    definition: str = ""
    document: Mapping[str, Any] | None = None
    shift_seconds: int | None = None
    turn_addresses: bool = False
    backwards: bool = False
    """The samples and the milestones in the opposite order."""
    thorough: bool = False
    """Also asks again, in another order and in other batches."""


@dataclass(slots=True)
class _Trial:
    task: Task
    write: Callable[[dict[str, Any]], None]
    milestone: str = ""
    said: dict[tuple[int, int], Said] = field(default_factory=dict)
    known: set[tuple[str, str]] = field(default_factory=set)

    def run(self) -> None:
        target = self.task.target.partition(":")[0]
        gate = Gate(target or "a document", self._access)
        refusals.install(gate, shift_seconds=self.task.shift_seconds, turn_addresses=self.task.turn_addresses)
        ladder = self._load(gate)
        if ladder is None:
            return
        package = target.partition(".")[0]
        for milestone in ladder.milestones:
            places = [list(place) for place in roots(milestone.check, package)] if package else []
            self.write({"milestone": milestone.name, "roots": places})
        order = [(at, place) for at in range(len(ladder.milestones)) for place in range(len(self.task.samples))]
        for at, place in reversed(order) if self.task.backwards else order:
            self._first(at, ladder.milestones[at], place, self.task.samples[place], gate)
        if self.task.thorough:
            self._again(ladder.milestones, gate)

    def _load(self, gate: Gate) -> Ladder | None:
        if self.task.document is not None:
            from grading.spec import ladder_from_document  # only what a document needs

            return ladder_from_document(self.task.document)
        self.write({"at": "loading"})
        try:
            with gate.watching(loading=True):
                found = load_python_ladder(self.task.target)
        except Refusal:
            return None
        except InvalidLadder as error:
            self.write({"failed": str(error)})
            return None
        if self.task.definition and sha256(found.source.encode()).hexdigest() != self.task.definition:
            self.write({"failed": f"the source of {self.task.target} changed while it was tried"})
            return None
        return found.ladder

    def _first(self, at: int, milestone: Milestone, place: int, sample: Sample, gate: Gate) -> None:
        asked = self._asked(milestone, sample, gate)
        said = self.said[at, place] = asked.whole()
        self.write({"sample": place, "milestone": milestone.name, "said": asdict(said)})
        if said.outcome == ENDED:
            self._tell("ends", "ends the program (SystemExit)")
        self._tell_changed(asked)

    def _again(self, milestones: Sequence[Milestone], gate: Gate) -> None:
        samples = self.task.samples
        for place in reversed(range(len(samples))):
            for at in reversed(range(len(milestones))):
                asked = self._asked(milestones[at], samples[place], gate)
                self._compare(at, place, asked.whole(), "when it is asked again in the same process")
                for said in asked.in_steps():
                    self._compare(at, place, said, "when its events come in other batches")
                self._tell_changed(asked)

    def _asked(self, milestone: Milestone, sample: Sample, gate: Gate) -> Asked:
        self.milestone = milestone.name
        self.write({"at": milestone.name})
        return Asked(milestone, sample, gate.watching)

    def _compare(self, at: int, place: int, said: Said, when: str) -> None:
        difference = self.said[at, place].differs(said)
        if difference and REFUSED not in (said.outcome, self.said[at, place].outcome):
            why = "it carries something from one call to the next"
            if said.outcome == self.said[at, place].outcome:
                why += ", or shows an address"
            self._tell("differs", f"gives another verdict {when} ({difference}): {why}")

    def _tell_changed(self, asked: Asked) -> None:
        if asked.changed and ("changes", self.milestone) not in self.known:
            module, line = _grader_line(asked.changing_line(), self.task.target)
            self._tell("changes", f"changes its evidence: {asked.changed}", module, line)

    def _access(self, impurity: Impurity, what: str, module: str, line: int) -> None:
        when = "" if self.milestone else " while it is loaded"
        self._tell(f"{impurity} {what} {module} {line}", f"{impurity}{when} ({what})", module, line)

    def _tell(self, kind: str, what: str, module: str = "", line: int = 0) -> None:
        """Write down a finding, once of a kind and milestone."""
        if (kind, self.milestone) not in self.known:
            self.known.add((kind, self.milestone))
            finding = {"what": what, "milestone": self.milestone, "module": module, "line": line}
            self.write({"finding": finding, "kind": kind.partition(" ")[0]})


def _grader_line(way: TracebackType | None, target: str) -> tuple[str, int]:
    """The innermost line of the grader's package on this way."""
    package = target.partition(":")[0].partition(".")[0]
    found = ("", 0)
    while way is not None:
        module = way.tb_frame.f_globals.get("__name__", "")
        if package and module.partition(".")[0] == package:
            found = (module, way.tb_lineno)
        way = way.tb_next
    return found


def _limit_memory() -> None:
    """As far as the platform knows such a limit."""
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ValueError, OSError):
        return


def _own_output() -> BinaryIO:
    """Standard output for the trial alone: what a check prints goes nowhere."""
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)
    return out


def main() -> None:
    task: Task = pickle.load(sys.stdin.buffer)
    out = _own_output()
    _limit_memory()

    def write(line: dict[str, Any]) -> None:
        out.write(json.dumps(line).encode() + b"\n")

    _Trial(task, write).run()
    write({"done": True})
