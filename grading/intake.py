"""Recordings that other programs wrote, put onto the log: every run once, whole, and nothing that differs silently."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from grading.errors import InvalidRecording
from grading.intake_files import Found, Skipped, find, sha256_of, state_of
from grading.intake_runs import Differs, append_run
from grading.twins import Twin
from spine.errors import IdentityClash, InvalidInput
from spine.events import Actor, NewEvent
from spine.identity import derived_id
from spine.importers import Importer, Recording, Reference, Refusal, importers, read_reference, recognised_by
from spine.importers.json_values import Tally, Unreadable, adapted
from spine.importers.sniffing import HEAD
from spine.log import Log

_LISTED: Final = 1000
"""So many refusals of a file are listed in `import.recorded`; all are counted."""
_BEGUN: Final = 50
_SAID: Final = 500
"""So many characters of a reason are kept."""


@dataclass(slots=True)
class ImportedFile:
    """What became of one recognised file. `runs` and `events` are what it holds, `new_…` what the log did not have;
    `begun` names the first of the streams that it began, `references` the digests of the files its runs' gold answers
    came from."""

    path: str
    name: str
    sha256: str
    format: str
    mapping: int
    runs: int = 0
    events: int = 0
    new_runs: int = 0
    new_events: int = 0
    refused: list[Refusal] = field(default_factory=list)
    adapted: Tally = field(default_factory=Tally)
    begun: list[str] = field(default_factory=list)
    references: set[str] = field(default_factory=set)
    finished: bool = False
    stopped: bool = False


@dataclass(slots=True)
class ImportReport:
    """What an import did. `unrecognised` lists what a folder holds beside recordings: that is no error. `twin` is a run
    that seems to be on the log twice."""

    files: list[ImportedFile] = field(default_factory=list)
    unrecognised: list[Skipped] = field(default_factory=list)
    refused_files: list[Skipped] = field(default_factory=list)
    twin: Twin | None = None

    @property
    def refused(self) -> list[Skipped]:
        """Everything that was refused: by path, with the part of the file and the reason."""
        parts = [Skipped(file.path, f"{bad.where}: {bad.reason}") for file in self.files for bad in file.refused]
        return self.refused_files + parts

    @property
    def runs(self) -> int:
        return sum(file.runs for file in self.files)

    @property
    def new_runs(self) -> int:
        """Streams that were begun."""
        return sum(file.new_runs for file in self.files)

    @property
    def new_events(self) -> int:
        return sum(file.new_events for file in self.files)


Watcher = Callable[[ImportedFile], None]
"""Told of a file after each of its runs, and at its end."""


def import_paths(
    log: Log,
    paths: Sequence[str | os.PathLike[str]],
    *,
    format: str | None = None,
    prefix: str | None = None,
    references: Sequence[str | os.PathLike[str]] = (),
    report: Watcher | None = None,
) -> ImportReport:
    """Import files, and folders with everything below them, in order of their names.

    A run is one atomic append. Importing it again adds nothing, a run that grew gets its suffix, one that differs from
    what is recorded is refused. `format` reads named files as that format whatever they look like; `prefix` names the
    source where a format names no run; `references` are the files of gold answers that InterCode keeps beside its
    results. Safe to repeat, and to do in several processes at once. A run that was imported without its reference gets
    it when it is imported again with it.
    Raises InvalidRecording for an unknown format or a bad reference; what `log` raises when it cannot be written to.
    """
    known = importers([_reference(Path(path)) for path in references])
    chosen = None if format is None else _importer(format, known)
    done = ImportReport()
    for found in find(paths):
        if isinstance(found, Skipped):
            (done.refused_files if found.refused else done.unrecognised).append(found)
            continue
        opened = _open(found, known, chosen)
        if isinstance(opened, Skipped):
            (done.refused_files if opened.refused else done.unrecognised).append(opened)
            continue
        done.files.append(opened.file)
        _import_file(log, found.path, opened, prefix or "", report or _nobody)
    return done


@dataclass(frozen=True, slots=True)
class _Opened:
    """A recognised file as it was when it was hashed."""

    file: ImportedFile
    importer: Importer
    state: tuple[int, int, int]


def _importer(format: str, known: Sequence[Importer]) -> Importer:
    for importer in known:
        if importer.format == format:
            return importer
    names = ", ".join(importer.format for importer in known)
    raise InvalidRecording(f"there is no importer for {format!r}: known are {names}")


def _reference(path: Path) -> Reference:
    try:
        return read_reference(path)
    except Unreadable as problem:
        raise InvalidRecording(f"{path} is no file of gold answers: {problem}") from None
    except OSError as error:
        raise InvalidRecording(f"{path} cannot be read: {error.strerror}") from error


def _nobody(file: ImportedFile) -> None:
    """Watches nothing."""


def _open(found: Found, known: Sequence[Importer], chosen: Importer | None) -> _Opened | Skipped:
    try:
        state = state_of(found.path)
        with found.path.open("rb") as file:
            head = file.read(HEAD)
        importer = recognised_by(head, known) if chosen is None else chosen
        forced = chosen is not None and found.named and head
        if importer is None or not (forced or importer.recognises(head)):
            return Skipped(found.shown, "not a recording of a known format" if head else "empty", refused=found.named)
        digest = sha256_of(found.path)
    except OSError as error:
        return Skipped(found.shown, f"cannot be read: {error.strerror}", refused=True)
    return _Opened(ImportedFile(found.shown, found.name, digest, importer.format, importer.mapping), importer, state)


def _import_file(log: Log, path: Path, opened: _Opened, prefix: str, watch: Watcher) -> None:
    file = opened.file
    # A file that changes meanwhile: its runs would go by the digest of what it was.
    if _changed(path, opened.state) or not _read(log, path, opened, prefix, watch):
        file.refused.append(Refusal("the file", "it changed while it was read: import it again"))
    elif not file.stopped:
        _record(log, file, prefix)
    file.finished = True
    watch(file)


def _read(log: Log, path: Path, opened: _Opened, prefix: str, watch: Watcher) -> bool:
    """Take the file's runs; whether it was the same file to the end."""
    file = opened.file
    for read in _readings(opened.importer, path, prefix or file.sha256[:12]):
        if isinstance(read, _Stopped):
            file.stopped = True
            file.refused.append(Refusal("the file", read.reason))
        else:
            _take(log, read, file)
        watch(file)
    return file.stopped or not _changed(path, opened.state)


@dataclass(frozen=True, slots=True)
class _Stopped:
    """The reading of a file ended before its end, for a cause outside the file."""

    reason: str


def _readings(importer: Importer, path: Path, prefix: str) -> Iterator[Recording | Refusal | _Stopped]:
    try:
        yield from importer.read(path, prefix)
    except OSError as error:
        yield _Stopped(f"cannot be read: {error.strerror}")


def _changed(path: Path, before: tuple[int, int, int]) -> bool:
    try:
        return state_of(path) != before
    except OSError:
        return True


def _take(log: Log, read: Recording | Refusal, file: ImportedFile) -> None:
    if isinstance(read, Refusal):
        file.refused.append(read)
        return
    try:
        added, begun = append_run(log, read)
    except (InvalidInput, Differs) as problem:
        file.refused.append(Refusal(read.where, str(problem)[:_SAID]))
        return
    file.runs += 1
    file.events += len(read.events)
    file.new_runs += begun
    if begun and len(file.begun) < _BEGUN:
        file.begun.append(read.stream)
    file.new_events += added
    file.adapted.update(read.adapted)
    file.references |= {read.reference} - {""}


def _record(log: Log, file: ImportedFile, prefix: str) -> None:
    """Say once for each file, format, mapping, prefix and references that it was imported; what it says is of the
    first time."""
    stream = f"import/{file.sha256}"
    references: dict[str, Any] = {"references": sorted(file.references)} if file.references else {}
    meaning = {"format": file.format, "mapping": file.mapping, "prefix": prefix, "stream": stream, **references}
    identity = derived_id(meaning)
    if log.find(stream, identity) is not None:
        return
    payload: dict[str, Any] = {
        "name": file.name,
        "sha256": file.sha256,
        "format": file.format,
        "mapping": file.mapping,
        "prefix": prefix,
        "runs": file.runs,
        "events": file.events,
        "refused": [{"where": bad.where, "reason": bad.reason} for bad in file.refused[:_LISTED]],
        "refusals": len(file.refused),
        "adapted": dict(file.adapted.most_common(_LISTED)),
        **references,
    }
    try:
        stored = adapted(payload, Tally())
        appended = log.append(stream, [NewEvent("import.recorded", stored, actor=Actor.SYSTEM, id=identity)])
        file.new_events += 1 if appended.new else 0
    except IdentityClash:
        pass  # another process said it a moment ago, under the name it knows the file by
