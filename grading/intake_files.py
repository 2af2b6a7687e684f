"""Which files an import is about: the named ones, and what lies below the named folders."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from errno import ELOOP, ENOENT
from hashlib import sha256
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Found:
    """A regular file. `named` says that it was named itself, not found in a folder."""

    path: Path
    named: bool

    @property
    def shown(self) -> str:
        """Its path as text that can be printed."""
        return _printable(self.path)

    @property
    def name(self) -> str:
        """Its last component, as text that can be stored."""
        return _printable(Path(self.path.name))


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that was not imported, or a part of it, and why. `refused`: that is an error."""

    path: str
    reason: str
    refused: bool = False


def find(paths: Sequence[str | os.PathLike[str]]) -> Iterator[Found | Skipped]:
    """The files to import, each once, folders in order of their names.

    Links to files are followed; links to folders only where they are named, since they can go round in circles.
    """
    chosen = list(dict.fromkeys(Path(path) for path in paths))
    files = {path.resolve() for path in chosen if _exists(path) and not _is_folder(path)}
    seen: set[Path] = set()
    for path in chosen:
        for found in _folder(path) if _is_folder(path) else [_look(path, named=True)]:
            if isinstance(found, Found):
                real = found.path.resolve()
                if real in seen:
                    continue
                seen.add(real)
                found = Found(found.path, real in files)
            yield found


def sha256_of(path: Path) -> str:
    """The digest of a file's bytes, in hex."""
    digest = sha256()
    with path.open("rb") as file:
        while chunk := file.read(1024 * 1024):
            digest.update(chunk)
    return digest.hexdigest()


def state_of(path: Path) -> tuple[int, int, int]:
    """What changes when a file is replaced or written to."""
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _folder(folder: Path) -> Iterator[Found | Skipped]:
    """All that lies below a named folder; that there is nothing is said too."""
    empty = True
    for found in _walk(folder):
        empty = False
        yield found
    if empty:
        yield Skipped(_printable(folder), "a folder without any file")


def _walk(folder: Path) -> Iterator[Found | Skipped]:
    try:
        entries = sorted(folder.iterdir(), key=lambda entry: os.fsencode(entry.name))
    except OSError as error:
        yield Skipped(_printable(folder), f"cannot be read: {error.strerror}", refused=True)
        return
    for entry in entries:
        if not _is_folder(entry):
            yield _look(entry, named=False)
        elif os.path.islink(entry):
            yield Skipped(_printable(entry), "a link to a folder: name it to import it")
        else:
            yield from _walk(entry)


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except OSError:
        return False  # looked at again, as a file, to say why


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _look(path: Path, *, named: bool) -> Found | Skipped:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        dangling = os.path.islink(path) and error.errno in (ENOENT, ELOOP)
        return Skipped(_printable(path), f"cannot be read: {error.strerror}", refused=named or not dangling)
    if not stat.S_ISREG(mode):  # opening a pipe or a device would wait, or worse
        return Skipped(_printable(path), "not a regular file", refused=named)
    return Found(path, named)


def _printable(path: Path) -> str:
    return os.fsencode(path).decode("utf-8", "replace")
