"""Trials: the same grader on the same evidence in processes that are unlike in all that must make no difference."""

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from grading.purity.asking import Said
from grading.purity.report import Finding
from grading.purity.source import Place
from grading.purity.trial import Task

TRIAL_SECONDS: Final = 20.0
"""A trial that takes longer is ended, and its grader could not be tried."""

_START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop()); from grading.purity.trial import main; main()"
)
_YEAR: Final = 366 * 86_400


@dataclass(frozen=True, slots=True)
class World:
    """What surrounds a trial. The clocks are `clock` seconds off; None: they are refused."""

    hash_seed: int = 0
    zone: str = "UTC0"
    language: str = "C.UTF-8"
    folder: str = "."
    clock: int | None = None
    addresses: bool = False
    backwards: bool = False


HOME: Final = World()
FAR: Final = (
    World(1, "<+14>-14", "tr_TR.UTF-8", "/", _YEAR + 18_421, True, True),
    World(2, "<-11>+11", "C", "..", -20 * _YEAR - 40_003, False),
    World(3, "CET-1CEST", "de_DE.UTF-8", ".", 7 * 3600, True, True),
)
_FACTORS: Final = {
    "hash_seed": "with PYTHONHASHSEED={0.hash_seed} and {1.hash_seed}: it uses hash() or the order of a set",
    "addresses": "when objects lie at other addresses: it uses id()",
    "backwards": "when its runs come in another order: it carries something from one call to the next",
    "clock": "at another time: it reads a clock",
    "zone": "with TZ={0.zone} and {1.zone}: it uses the time zone of the machine",
    "language": "with LC_ALL={0.language} and {1.language}: it uses the locale",
    "folder": "in another working folder: it uses where it runs",
}


@dataclass(slots=True)
class Outcome:
    """What a trial wrote. `stopped` says why it did not come to its end."""

    findings: list[Finding] = field(default_factory=list)
    said: dict[tuple[str, int], Said] = field(default_factory=dict)
    roots: dict[str, list[Place]] = field(default_factory=dict)
    failed: str = ""
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class Trials:
    """Runs trials of one task, two at a time."""

    task: Task
    seconds: float = TRIAL_SECONDS
    worlds: Sequence[World] = FAR

    def everywhere(self) -> list[Outcome]:
        """At home, behind every refusal and thoroughly, then in each other world."""
        first = replace(self.task, thorough=True)
        return self._side_by_side([(first, HOME), *((self.task, world) for world in self.worlds)])

    def differences(self, outcomes: Sequence[Outcome], known: Collection[str] = ()) -> list[Finding]:
        """The milestones that said something else far away, each with what that is due to. `known` are left out."""
        home, *far = outcomes
        found: dict[str, Finding] = {}
        for world, there in zip(self.worlds, far, strict=True):
            new = {name for name in _unlike(home, there) if name not in found and name not in known}
            for name, why in self._reasons(home, world, new).items():
                found[name] = Finding(f"gives another verdict {why}", name)
        return list(found.values())

    def _reasons(self, home: Outcome, world: World, names: set[str]) -> dict[str, str]:
        """Changes one thing at a time, to say which made the difference."""
        if not names:
            return {}
        names_of = [one.name for one in fields(World) if getattr(HOME, one.name) != getattr(world, one.name)]
        alone = [replace(HOME, **{name: getattr(world, name)}) for name in names_of]
        again, *apart = self._side_by_side([(self.task, one) for one in (HOME, *alone)])
        reasons = dict.fromkeys(names, "between one process and the next")
        for name in names - _unlike(home, again):
            due = [
                _FACTORS[factor].format(HOME, world)
                for factor, outcome in zip(names_of, apart, strict=True)
                if name in _unlike(home, outcome)
            ]
            reasons[name] = "; and ".join(due) or "where several of hash seed, clock, time zone and folder differ"
        return reasons

    def _side_by_side(self, wanted: Sequence[tuple[Task, World]]) -> list[Outcome]:
        with tempfile.TemporaryDirectory(prefix="gradespine-trial-") as home, ThreadPoolExecutor(2) as pool:
            hung: list[str] = []

            def run(one: tuple[Task, World]) -> Outcome:
                outcome = Outcome(stopped=hung[0]) if hung else self._run(one[0], one[1], Path(home))
                hung.extend(filter(None, [outcome.stopped]))
                return outcome

            return list(pool.map(run, wanted))

    def _run(self, task: Task, world: World, home: Path) -> Outcome:
        given = pickle.dumps(
            replace(task, shift_seconds=world.clock, turn_addresses=world.addresses, backwards=world.backwards)
        )
        path = json.dumps([entry or os.getcwd() for entry in sys.path])
        folder = (home / world.folder).resolve()
        command = [sys.executable, "-c", _START, path]
        try:
            done = subprocess.run(
                command,
                input=given,
                capture_output=True,
                cwd=folder,
                env=_environment(world),
                timeout=self.seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            return _read(late.output or b"", f"had no verdict after {self.seconds:g} s")
        return _read(done.stdout, f"ended the process with exit code {done.returncode}{_last(done.stderr)}")


def _environment(world: World) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "PYTHON", "COVERAGE_"))}
    changed = {"PYTHONHASHSEED": str(world.hash_seed), "TZ": world.zone, "LC_ALL": world.language}
    return {**kept, **changed, "LANG": world.language, "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def _last(stderr: bytes) -> str:
    """The kind of error that ended a trial, without its message: that may hold values."""
    lines = stderr.decode(errors="replace").strip().splitlines()
    return f" ({lines[-1].partition(':')[0][:100]})" if lines else ""


def _read(output: bytes, stopped: str) -> Outcome:
    """What a trial wrote, up to the last whole line."""
    outcome = Outcome()
    at = "loading"
    for text in output.split(b"\n")[:-1]:
        line: dict[str, Any] = json.loads(text)
        match line:
            case {"at": str(at)}:
                pass
            case {"finding": dict(finding)}:
                outcome.findings.append(Finding(**finding))
            case {"roots": list(places), "milestone": str(milestone)}:
                outcome.roots[milestone] = [Place(*place) for place in places]
            case {"said": dict(said), "milestone": str(milestone), "sample": int(sample)}:
                outcome.said[milestone, sample] = Said(**said)
            case {"failed": str(why)}:
                outcome.failed = why
            case {"done": True}:
                return outcome
    outcome.stopped = f"{'its module' if at == 'loading' else f'milestone {at}'} {stopped}"
    return outcome


def _unlike(home: Outcome, there: Outcome) -> set[str]:
    return {
        name
        for (name, sample), said in home.said.items()
        if (name, sample) in there.said and said.differs(there.said[name, sample])
    }


def stopped(outcomes: Iterable[Outcome]) -> str:
    """Why the first trial that did not come to its end did not."""
    return next((one.failed or one.stopped for one in outcomes if one.failed or one.stopped), "")
