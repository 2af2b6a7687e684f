"""One pass over a whole log, and the peak memory of the process: `python -m scripts.benchmarks.passes scan URL`.

What a pass does not need is not imported: it would count.
"""

import os
import resource
import sys
from pathlib import Path
from typing import Final

from spine import SqlLog, open_log

_STATUS: Final = Path("/proc/self/status")


def main(name: str, url: str) -> None:
    with open_log(url) as log:
        {"scan": _scan, "export": _export, "verify": _verify, "rebuild": _rebuild}[name](log)
    print(_peak_megabytes())


def _scan(log: SqlLog) -> None:
    for event in log.read_all():
        _ = event.payload


def _verify(log: SqlLog) -> None:
    from spine.chain import verified

    name = log.name or ""
    for head in log.streams():
        for _ in verified(log.read(head.stream), name):
            pass


def _export(log: SqlLog) -> None:
    from spine.copying import export

    with open(os.devnull, "wb") as nowhere:
        export(log, nowhere)


def _rebuild(log: SqlLog) -> None:
    from grading.projector import Grades
    from spine import projection

    projection.rebuild(log, Grades(log))


def _peak_megabytes() -> float:
    # The peak that getrusage knows is the parent's too, from before this program was loaded.
    if _STATUS.exists():
        peak = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # macOS counts bytes


if __name__ == "__main__":
    main(*sys.argv[1:])
