"""How quiet the machine is: figures of a noisy one mislead."""

import os
import statistics
import sys
import time
from pathlib import Path
from typing import Final

_STAT: Final = Path("/proc/stat")
_QUIET: Final = 0.8
_SLOW_FSYNC_MS: Final = 1.0
_UNSTEADY: Final = 5.0


def report(folder: Path) -> None:
    """Say on stderr how idle the machine is while this does nothing, and how long a sync to the disk takes."""
    idle = _idle_share(0.5)
    middle, slow = _syncs(folder)
    said = f"fdatasync {middle:.2f} ms, one in ten over {slow:.2f} ms"
    if idle is not None:
        said = f"{os.cpu_count()} cores, {idle:.0%} idle; {said}"
    print(f"bench: {said}", file=sys.stderr)
    if idle is not None and idle < _QUIET:
        print("bench: noisy: other programs are busy; the ratios hold better than the rates", file=sys.stderr)
    if middle > _SLOW_FSYNC_MS or slow > _UNSTEADY * middle:
        print("bench: noisy: the disk is slow or unsteady; ratios of single commits mean little", file=sys.stderr)


def _idle_share(seconds: float) -> float | None:
    """The share of all cores' time that nobody used; None where the system does not say."""
    if not _STAT.exists():
        return None
    before = _ticks()
    time.sleep(seconds)
    spent = [after - earlier for after, earlier in zip(_ticks(), before, strict=True)]
    return (spent[3] + spent[4]) / max(1, sum(spent))  # idle and iowait


def _ticks() -> list[int]:
    return [int(number) for number in _STAT.read_text().splitlines()[0].split()[1:9]]


def _syncs(folder: Path) -> tuple[float, float]:
    """The median and the ninth decile of the milliseconds that syncing an overwritten block takes."""
    took = []
    # macOS has no fdatasync.
    sync = getattr(os, "fdatasync", os.fsync)
    file = os.open(folder / "probe", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        for _ in range(200):
            os.pwrite(file, b"x" * 4096, 0)
            start = time.perf_counter()
            sync(file)
            took.append((time.perf_counter() - start) * 1000)
    finally:
        os.close(file)
    return statistics.median(took), statistics.quantiles(took, n=10)[-1]
