"""Labels: what people say of runs, read from a file; and how far a grader agrees with them."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from grading.errors import InvalidLabels

Outcome: TypeAlias = Literal["passed", "failed", "broken"]

OUTCOMES: Final[tuple[Outcome, ...]] = ("passed", "failed", "broken")
MAX_BYTES: Final = 16 * 1024 * 1024
_COLUMNS: Final = ("stream", "passed")
_WORDS: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Label:
    """What somebody says of a run, and where: `place` is file and line."""

    stream: str
    passed: bool
    place: str


def read_labels(path: str) -> list[Label]:
    """The labels of a file: JSON lines, or CSV with a header line, of `stream` and `passed` (true or false). Other keys
    and columns are left alone. Raises InvalidLabels, naming file and line."""
    labels: list[Label] = []
    lines: dict[str, str] = {}
    for place, row in _rows(path):
        label = _label(row, place)
        if label.stream in lines:
            raise InvalidLabels(f"{place}: {label.stream} was labelled before, at {lines[label.stream]}")
        lines[label.stream] = place
        labels.append(label)
    if not labels:
        raise InvalidLabels(f"{path}: holds no labels: a line each, of stream and passed (true or false)")
    return labels


def _rows(path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each line that says something, with its place."""
    text = _text(path)
    if text.lstrip().startswith("{"):
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                yield f"{path}:{number}", _json(line, f"{path}:{number}")
        return
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        header = reader.fieldnames or []
        missing = [name for name in _COLUMNS if name not in header]
        if missing:
            raise InvalidLabels(f"{path}:1: has no column {missing[0]}: a header line `stream,passed` is needed")
        for row in reader:
            yield f"{path}:{reader.line_num}", row
    except csv.Error as error:
        raise InvalidLabels(f"{path}:{reader.line_num}: is no CSV: {error}") from None


def _text(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidLabels(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise InvalidLabels(f"{path}: has more than {MAX_BYTES:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InvalidLabels(f"{path}:{line}: is not UTF-8") from None


def _json(line: str, place: str) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise InvalidLabels(f"{place}: is no JSON") from None
    if not isinstance(value, dict):
        raise InvalidLabels(f"{place}: is no JSON object")
    return value


def _label(row: Mapping[str, Any], place: str) -> Label:
    stream, passed = row.get("stream"), row.get("passed")
    if isinstance(passed, str):
        passed = _WORDS.get(passed.strip().lower())
    if not isinstance(stream, str) or not stream.strip():
        raise InvalidLabels(f"{place}: `stream` is not the name of a run")
    if not isinstance(passed, bool):
        raise InvalidLabels(f"{place}: `passed` is neither true nor false")
    return Label(stream.strip(), passed, place)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How what a grader says of runs agrees with their labels: how many runs, by label and outcome."""

    counts: Mapping[tuple[bool, Outcome], int]

    @classmethod
    def of(cls, said: Sequence[tuple[bool, Outcome]]) -> "Agreement":
        """From each run's label and outcome."""
        return cls(Counter(said))

    def count(self, label: bool, outcome: Outcome) -> int:
        return self.counts.get((label, outcome), 0)

    @property
    def labelled(self) -> int:
        return sum(self.counts.values())

    @property
    def broken(self) -> int:
        return self.count(True, "broken") + self.count(False, "broken")

    @property
    def graded(self) -> int:
        return self.labelled - self.broken

    @property
    def agreed(self) -> int:
        return self.count(True, "passed") + self.count(False, "failed")

    @property
    def accuracy(self) -> float | None:
        """The share of the graded runs on which both agree; None when none could be graded."""
        return self.agreed / self.graded if self.graded else None

    @property
    def kappa(self) -> float | None:
        """Cohen's κ over the graded runs: agreement beyond what chance would give. None where it is undefined: one side
        says the same of all. Source: Cohen 1960."""
        labelled = self.count(True, "passed") + self.count(True, "failed")
        passed = self.count(True, "passed") + self.count(False, "passed")
        total = self.graded
        if labelled in (0, total) or passed in (0, total):
            return None
        chance = labelled * passed + (total - labelled) * (total - passed)  # × total²: whole numbers, so exact
        return (self.agreed * total - chance) / (total * total - chance)

    @property
    def undefined(self) -> str:
        """Why there is no κ; empty where there is one."""
        if self.kappa is not None:
            return ""
        if not self.graded:
            return "no labelled run could be graded"
        labelled = self.count(True, "passed") + self.count(True, "failed")
        side = "the labels say" if labelled in (0, self.graded) else "the grader says"
        return f"{side} the same of every graded run"

    def to_json(self) -> dict[str, Any]:
        table = {word: {outcome: self.count(label, outcome) for outcome in OUTCOMES} for word, label in _WORDS.items()}
        return {"labelled": self.labelled, "confusion": table, "accuracy": self.accuracy, "kappa": self.kappa}
