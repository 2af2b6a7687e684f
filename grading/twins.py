"""Twins: the same run of a source that names no run, recorded under two names."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spine.importers.tau_bench import TauBench
from spine.log import Log

_ROOT: Final = f"run/{TauBench.format}/"
_LOOKS: Final = 1000  # so many streams are looked for before a log of very many sources is let be


@dataclass(frozen=True, slots=True)
class Begun:
    """A file's path, and the first of the streams that it began."""

    path: str
    streams: Sequence[str]


@dataclass(frozen=True, slots=True)
class Twin:
    """A stream that a file began, and one that has the same task and trial under another prefix."""

    path: str
    stream: str
    known: str

    @property
    def prefix(self) -> str:
        """What the streams of the other source begin with."""
        return _ROOT + self.known.removeprefix(_ROOT).partition("/")[0] + "/"


def find_twin(log: Log, begun: Sequence[Begun], hidden: Collection[str]) -> Twin | None:
    """The first twin among these, or None. A τ-bench file is known by its bytes or by `--prefix`, so one that grew is
    another source to the log, unless it had the same prefix from the first."""
    looks = 0
    for file in begun:
        sources = list(_sources(log)) if any(stream.startswith(_ROOT) for stream in file.streams) else []
        for stream in file.streams:
            source, _, run = stream.removeprefix(_ROOT).partition("/")
            for other in sources:
                known = f"{_ROOT}{other}/{run}"
                if other == source or known in hidden:
                    continue
                looks += 1
                if log.head(known) is not None:
                    return Twin(file.path, stream, known)
                if looks == _LOOKS:
                    return None
    return None


def _sources(log: Log) -> Iterator[str]:
    """The prefixes that there are, each found in one step."""
    after = ""
    while (head := next(log.streams(_ROOT, after=after, limit=1), None)) is not None:
        source = head.stream.removeprefix(_ROOT).partition("/")[0]
        yield source
        after = f"{_ROOT}{source}0"  # "0" is what comes right behind "/"
