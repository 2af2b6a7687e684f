"""The checks of the SQLite library in this process."""

import re
import sqlite3
from pathlib import Path
from typing import Final

from spine.checkup.findings import Verdict, failed, ok, warning

_SOURCE_ID: Final = re.compile(rb"\b20\d\d-\d\d-\d\d \d\d:\d\d:\d\d [0-9a-f]{40}")


def library() -> Verdict:
    """Whether this SQLite is known to be sound, and the only one in the process.

    The WAL-reset bug (https://sqlite.org/wal.html#walresetbug) can lose or garble commits where two connections write
    or checkpoint at once. 3.7.0 to 3.51.2 have it; it is fixed in 3.51.3, and in the backports 3.50.7 and 3.44.6.
    """
    version = sqlite3.sqlite_version
    others = libraries()
    if len(others) > 1:
        return failed(
            f"{len(others)} SQLite libraries in this process: {', '.join(others)}",
            "each drops the other's locks, and commits are lost silently: https://sqlite.org/howtocorrupt.html, 2.2.1",
        )
    if has_wal_reset_bug(sqlite3.sqlite_version_info):
        return warning(
            f"SQLite {version} has the WAL-reset bug",
            "rare, but it can damage a file that several connections write to: use a Python with SQLite 3.51.3 or newer"
            " (or 3.50.7, 3.44.6)",
        )
    return ok(f"SQLite {version}, the only one in this process")


def has_wal_reset_bug(version: tuple[int, ...]) -> bool:
    if version >= (3, 51, 3) or version < (3, 7, 0):
        return False
    fixed_from = {(3, 50): 7, (3, 44): 6}.get((version[0], version[1]))
    return fixed_from is None or version[2] < fixed_from


def libraries(maps: Path = Path("/proc/self/maps")) -> list[str]:
    """The files mapped into this process that hold a SQLite library; none where the system does not tell."""
    try:
        lines = maps.read_text(errors="replace").splitlines()
    except OSError:
        return []
    mapped = {fields[5] for line in lines if len(fields := line.split(maxsplit=5)) == 6 and "x" in fields[1]}
    return sorted(name for name in mapped if name.startswith("/") and _holds_sqlite(Path(name)))


def _holds_sqlite(path: Path) -> bool:
    try:
        content = path.read_bytes()
    except OSError:
        return False
    return b"SQLite format 3\0" in content and _SOURCE_ID.search(content) is not None
