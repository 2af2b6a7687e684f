"""References: what a benchmark keeps beside its results, the tasks with their gold answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from spine.importers.json_values import Unreadable, parse
from spine.importers.recording import MAX_RUN
from spine.importers.shapes import a_list, an_object

_ALIKE: Final = 0.8
"""So much of the words of two questions is shared when one is the other, reworded."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The tasks of a dataset in order: a run's task number is a place in it. `name` is that of its file."""

    name: str
    sha256: str
    tasks: Sequence[Mapping[str, Any]]


def read_reference(path: Path) -> Reference:
    """An InterCode dataset: a JSON list of objects with `query` and `gold`. Raises Unreadable, OSError."""
    with path.open("rb") as file:
        data = file.read(MAX_RUN + 1)
    if len(data) > MAX_RUN:
        raise Unreadable(f"more than {MAX_RUN:,} bytes")
    tasks = [an_object(task, f"task {number}") for number, task in enumerate(a_list(parse(data), "the reference"))]
    for number, task in enumerate(tasks):
        if not isinstance(task.get("query"), str) or "gold" not in task:
            raise Unreadable(f"task {number} has no text `query`, or no `gold`")
    return Reference(path.name, sha256(data).hexdigest(), tasks)


def task_of(
    references: Sequence[Reference], dataset: str, number: Any, question: str
) -> tuple[Reference, Mapping[str, Any]] | None:
    """The task of a run, and the reference that holds it: the one that has the name of the run's dataset, else one that
    asks the run's question at its number. A gold answer to another question would be worse than none."""
    if isinstance(number, bool) or not isinstance(number, int):
        return None
    found = [(each, each.tasks[number]) for each in references if 0 <= number < len(each.tasks)]
    named = (pair for pair in found if pair[0].name == dataset)
    asking = (pair for pair in found if _alike(pair[1]["query"], question))
    return next(named, None) or next(asking, None)


def _alike(one: str, other: str) -> bool:
    left, right = set(one.split()), set(other.split())
    return one == other or len(left & right) >= _ALIKE * len(left | right) > 0
