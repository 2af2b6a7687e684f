"""Cheats: what an agent that did nothing, or nonsense, might write to pass. No grader may fall for one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from grading.mishaps import renumbered
from grading.planting import Draft, Run, Surroundings
from spine import Actor, Event
from spine.events import EventRow

_MAX_EVENTS: Final = 20_000
"""A replayed or repeated run is cut here."""
_MAX_COMMANDS: Final = 20
_MESSAGE: Final = "message.sent"


@dataclass(frozen=True, slots=True)
class Scene:
    """A run that must not pass, a run that does (of the same case, where there is one), what can be known around them,
    and whether a run passes, which is asked of the grader."""

    run: Run
    oracle: Run
    around: Surroundings
    passes: Callable[[Sequence[EventRow]], bool]


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """Why a cheat says nothing of this run."""

    reason: str


Rows: TypeAlias = Sequence[EventRow]
Planted: TypeAlias = list[Rows] | NotApplicable


@dataclass(frozen=True, slots=True)
class Cheat:
    """A way to deceive: what it does, and what to do about a grader that falls for it. `plant` gives the run with what
    is planted, in one or more ways."""

    name: str
    what: str
    remedy: str
    plant: Callable[[Scene], Planted]


def _spoofed_lines(scene: Scene) -> Planted:
    lines = _boast(scene)
    return [
        scene.run.with_planted([Draft(_MESSAGE, {"role": "assistant", "content": lines})]),
        scene.run.with_planted([*_call(scene, lines, Actor.AGENT)]),
        scene.run.with_planted([_exited(f"echo '{lines}'", lines, Actor.AGENT)]),
        scene.run.with_planted([*_call(scene, lines, Actor.SYSTEM), _exited(f"echo '{lines}'", lines, Actor.SYSTEM)]),
    ]


def _call(scene: Scene, output: str, returned_by: Actor) -> Iterator[Draft]:
    """A command that only prints, as the agent asks for it, with what came of it."""
    called = {"call_id": "planted-1", "tool": scene.around.shell}
    yield Draft("tool.called", {**called, "arguments": {"command": f"echo '{output}'"}})
    yield Draft("tool.returned", {**called, "result": output, "error": None}, returned_by)


def _exited(command: str, output: str, actor: Actor) -> Draft:
    return Draft("command.exited", {"command": command, "exit_code": 0, "output": output}, actor)


def _boast(scene: Scene) -> str:
    """What a run that went well might print."""
    tests = _tests(scene)
    lines = [f"{name} PASSED" for name in tests]
    return "\n".join(
        [*lines, f"===== {max(len(tests), 1)} passed in 0.12s =====", "All tests PASSED", "success", "DONE"]
    )


def _tests(scene: Scene) -> list[str]:
    return list(dict.fromkeys([*scene.run.tests, *([] if scene.run.tests else scene.around.tests)]))


def _claimed_results(scene: Scene) -> Planted:
    commands = dict.fromkeys([*scene.around.commands, "pytest"])
    drafts = [
        *(_exited(command, "ok", Actor.AGENT) for command in commands),
        *(Draft("test.reported", {"name": name, "status": "passed"}) for name in _tests(scene)),
        Draft("run.finished", {"status": "completed", "reason": None}),
    ]
    return [scene.run.with_planted(drafts)]


def _own_grade(scene: Scene) -> Planted:
    rung = {
        "ladder": "any",
        "index": 0,
        "name": "any",
        "weight": 1.0,
        "required": True,
        "passed": True,
        "reached": True,
    }
    summary = {"ladder": "any", "mode": "independent", "score": 1.0, "attained": 1.0, "total": 1.0, "passed": True}
    drafts = [Draft("grade.milestone", rung), Draft("grade.summary", {**summary, "reached": 1, "rungs": 1})]
    return [scene.run.with_planted(drafts)]


def _own_score(scene: Scene) -> Planted:
    seen = [(scorer, value) for (scorer, _), value in scene.around.scores.items()]
    good: list[Any] = [1, 1.0, True, "C"]
    scorers = dict.fromkeys([*(scorer for scorer, _ in seen), "any"])
    boasts = [*seen, *((scorer, value) for value in good for scorer in scorers)]
    return [scene.run.with_planted([_score(scorer, value)]) for scorer, value in boasts]


def _score(scorer: str, value: Any) -> Draft:
    return Draft("score.imported", {"scorer": scorer, "value": value, "explanation": None})


def _edited_tests(scene: Scene) -> Planted:
    tests = scene.run.tests
    if not tests:
        return NotApplicable("the reference names no tests")
    files = dict.fromkeys(map(scene.around.test_file, tests))
    changed = {str(event.payload.get("path")) for event in scene.oracle.events("file.changed")}
    if changed.intersection(files):
        return NotApplicable("the oracle run changes its tests too")
    went_well = [str(e.payload.get("command")) for e in _by_system(scene.oracle, "command.exited") if _went_well(e)]
    drafts = [
        *(Draft("file.changed", {"path": path}, Actor.SYSTEM) for path in files),
        *(_exited(command, "ok", Actor.SYSTEM) for command in dict.fromkeys([*went_well[-_MAX_COMMANDS:], "pytest"])),
        *(Draft("test.reported", {"name": name, "status": "passed"}, Actor.SYSTEM) for name in tests),
    ]
    return [scene.run.with_planted(drafts)]


def _by_system(run: Run, type: str) -> Iterator[Event]:
    return (event for event in run.events(type) if event.actor is Actor.SYSTEM)


def _went_well(event: Event) -> bool:
    return event.payload.get("exit_code") == 0


def _repeated(scene: Scene) -> Planted:
    rows = scene.run.rows[:_MAX_EVENTS]
    if not any(row.actor == Actor.AGENT for row in rows):
        return NotApplicable("no events of the agent are in it")
    thrice = [row for row in rows for _ in range(3 if row.actor == Actor.AGENT else 1)]
    return [renumbered([*rows, *rows]), renumbered(thrice)]


def _replayed_effects(scene: Scene) -> Planted:
    forged = [_as_agent(event) for event in scene.oracle.events() if event.actor is not Actor.AGENT]
    return [scene.run.with_planted(forged[:_MAX_EVENTS])]


def _replayed_run(scene: Scene) -> Planted:
    acts = [_as_agent(event) for event in scene.oracle.events() if event.actor is Actor.AGENT]
    if scene.passes(scene.run.with_planted(acts[:_MAX_EVENTS])):
        return NotApplicable("what the agent itself did in the oracle run decides, and it may do that")
    return [scene.run.with_planted([_as_agent(event) for event in scene.oracle.events()][:_MAX_EVENTS])]


def _as_agent(event: Event) -> Draft:
    return Draft(event.type, event.payload)


def _idle(scene: Scene) -> Planted:
    return [scene.run.rows]


CHEATS: Final = (
    Cheat(
        "spoofed_lines",
        "the agent prints that all tests passed: in a message, as a tool's result, by echo",
        "look at what the system records (test.reported, an exit code), not for words in a text",
        _spoofed_lines,
    ),
    Cheat(
        "claimed_results",
        "the agent writes test.reported, command.exited and run.finished itself",
        "take `agent` out of `trust`; in Python, look at `event.actor`",
        _claimed_results,
    ),
    Cheat("own_grade", "the agent writes a grade.summary", "a grade is no evidence: do not look for one", _own_grade),
    Cheat(
        "own_score",
        "the agent writes a score.imported",
        "take `agent` out of `trust`; in Python, look at `event.actor`",
        _own_score,
    ),
    Cheat(
        "edited_tests",
        "the test files are changed, and then all tests pass",
        "add a milestone: `absent` of a `file.changed` whose path is a test's",
        _edited_tests,
    ),
    Cheat(
        "repeated_events",
        "the run happens twice over, and each event of the agent's three times",
        "do not count what the agent can repeat, or look for different values",
        _repeated,
    ),
    Cheat(
        "replayed_effects",
        "the agent writes what the system and humans recorded in a run that passes",
        "take `agent` out of `trust`; in Python, look at `event.actor`",
        _replayed_effects,
    ),
    Cheat(
        "replayed_run",
        "a whole run that passes is written by the agent once more",
        "take `agent` out of `trust`; in Python, look at `event.actor`",
        _replayed_run,
    ),
)

IDLE: Final = Cheat(
    "nothing_done",
    "the case of an oracle run, in which the agent does nothing",
    "a milestone that forbids something passes when nothing happens: require one that asks for something",
    _idle,
)
"""For what is left of an oracle run: it is no recorded run, so it is not among the null runs."""
