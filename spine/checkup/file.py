"""The checks of a SQLite file and of what lies beside it.

A file is looked at by its status alone: opening and closing it here would drop the locks that SQLite holds on it in
this process.
"""

import os
import re
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from spine.checkup import contents
from spine.checkup.findings import Checks, Cursor, Verdict, failed, ok, rows, size, warning
from spine.checkup.library import library
from spine.schema import SQLITE_GUARDS
from spine.sqlite import SqliteDatabase

_MIB: Final = 1024 * 1024
_LARGE_WAL: Final = 64 * _MIB  # SQLite begins it anew after 4 MiB, unless a reader keeps it from doing so
_SETTINGS: Final = {"synchronous": 2, "secure_delete": 1, "foreign_keys": 1}
_GUARDED: Final = ("log", "streams", "events")

# Files of these are reached by several machines, or through a layer that does not keep the locks and the shared memory
# of one: https://sqlite.org/wal.html, "does not work over a network filesystem".
_FOREIGN: Final = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb",
        "smb3",
        "smbfs",
        "afs",
        "ceph",
        "glusterfs",
        "lustre",
        "gfs2",
        "ocfs2",
        "ncpfs",
        "9p",
    }
    | {"virtiofs", "vboxsf", "drvfs", "prl_fs"}
    | {f"fuse.{kind}" for kind in ("sshfs", "glusterfs", "s3fs", "rclone", "gcsfuse", "grpcfuse", "osxfs")}
)
_FLEETING: Final = frozenset({"tmpfs", "ramfs"})


def checks(database: SqliteDatabase, full: bool) -> Checks:
    """The checks of this file."""
    path = database.path
    of_log = [("guards", guards), ("positions", contents.positions)]
    of_log += [("sequences", contents.sequences)] if full else []
    return Checks(
        reached=partial(reached, path),
        revisions=revisions_of,
        of_database=[
            ("integrity", partial(integrity, "integrity_check" if full else "quick_check")),
            ("durability", durability),
        ],
        of_place=[
            ("library", library),
            ("file system", partial(file_system, path)),
            ("writable", partial(writable, path)),
            ("write-ahead log", partial(wal_size, path)),
            ("free space", partial(free_space, path)),
        ],
        of_log=[*of_log, ("followers", contents.followers), ("parked", contents.parked)],
    )


def reached(path: Path, cursor: Cursor) -> Verdict:
    rows(cursor, "SELECT count(*) FROM sqlite_master")
    return ok(f"{path}, {size(path.stat().st_size)}, SQLite {sqlite3.sqlite_version}")


def revisions_of(cursor: Cursor) -> list[str]:
    if not rows(cursor, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'alembic_version'"):
        return []
    return [str(revision) for (revision,) in rows(cursor, "SELECT version_num FROM alembic_version")]


def integrity(pragma: str, cursor: Cursor) -> Verdict:
    """Whether the pages of the file hang together; `integrity_check` also compares every index with its table."""
    found = [said for (said,) in rows(cursor, f"PRAGMA {pragma}(5)")]
    if found != ["ok"]:
        return failed(
            "; ".join(" ".join(said.split()) for said in found),
            "stop writing, keep the damaged file, and restore the last backup in another place",
        )
    loose = rows(cursor, "PRAGMA foreign_key_check")
    if loose:
        table, row, of, _ = loose[0]
        return failed(f"{len(loose):,} rows point nowhere, first {table} {row} to {of}", "restore the last backup")
    return ok(pragma)


def guards(cursor: Cursor) -> Verdict:
    """Whether the triggers that refuse change are there, word for word, and no others."""
    found = dict(rows(cursor, f"SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN {_GUARDED}"))
    return contents.compared(found, SQLITE_GUARDS)


def durability(cursor: Cursor) -> Verdict:
    """Whether an acknowledged append outlives a power cut, and what is erased is gone from the file."""
    [(mode,)] = rows(cursor, "PRAGMA journal_mode")
    if mode != "wal":
        return failed(f"journal_mode is {mode}", "it becomes WAL when gradespine next writes: see who changed it")
    found = {name: rows(cursor, f"PRAGMA {name}")[0][0] for name in _SETTINGS}
    if found != _SETTINGS:
        other = [
            f"{name} is {value}, not {_SETTINGS[name]}" for name, value in found.items() if value != _SETTINGS[name]
        ]
        return failed("; ".join(other), "this SQLite does not take our settings: use another build of it")
    return ok("WAL, synchronous FULL, secure_delete on")


def file_system(path: Path, mounts: Path = Path("/proc/self/mounts")) -> Verdict:
    """Whether the file lies where locks and shared memory can be relied on."""
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:
        return ok("not told by this system")
    kind, point = max(_over(path, lines), key=lambda mount: len(mount[1]), default=("", ""))
    if kind in _FOREIGN:
        return failed(
            f"{kind} at {point}", "locks are not reliable there: move the log to a local disk, or to Postgres"
        )
    if kind in _FLEETING:
        return warning(f"{kind} at {point}", "it is gone with the next restart: keep the log on a disk")
    return ok(f"{kind} at {point}" if kind else "not told by this system")


def _over(path: Path, lines: list[str]) -> Iterator[tuple[str, str]]:
    """Kind and mount point of the file systems over a path, the last mounted first."""
    for line in reversed(lines):
        _, point, kind, *_ = line.split(" ")
        point = re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), point)
        if path.is_relative_to(point):
            yield kind, point


def writable(path: Path) -> Verdict:
    """Whether this user may write to the file and to what stands beside it."""
    beside = [Path(f"{path}{end}") for end in ("-lock", "-wal", "-shm")]
    wanted = [path, *(file for file in beside if file.exists()), path.parent]
    refused = [str(file) for file in wanted if not os.access(file, os.W_OK)]
    if refused:
        return failed(
            f"{', '.join(refused)}: read-only for this user",
            "the file, its -lock, -wal and -shm, and their folder have to be writable to whoever uses the log",
        )
    return ok("the file, what stands beside it, and the folder")


def wal_size(path: Path) -> Verdict:
    try:
        found = os.stat(f"{path}-wal").st_size
    except FileNotFoundError:
        return ok("none: nobody has the log open")
    if found > _LARGE_WAL:
        return warning(
            f"{size(found)}",
            "a reader that stays in one transaction keeps it growing, and reading gets slower: end that reader; the"
            " file is given back when the last program closes the log",
        )
    return ok(size(found))


def free_space(path: Path) -> Verdict:
    status = os.statvfs(path.parent)
    free, whole = status.f_bavail * status.f_frsize, status.f_blocks * status.f_frsize
    said = f"{size(free)} of {size(whole)}"
    if free < 64 * _MIB:
        return failed(said, "appends are about to be refused: free some space")
    if free < 1024 * _MIB:
        return warning(said, "free some space before appends are refused")
    return ok(said)
