"""What the tests of importing share: a folder of recordings, and what is said of a file."""

from pathlib import Path
from typing import Any

from spine import Log
from tests.spine.importers.builders import eval_log, eval_zip, sample, tau_file, tau_run


def record(log: Log) -> dict[str, Any]:
    """The only import.recorded."""
    (event,) = log.read_all(types=["import.recorded"])
    return dict(event.payload)


def folder(path: Path) -> Path:
    """A folder with two recordings of two runs each, and a file that is none."""
    path.mkdir()
    tau_file(path / "a.json", tau_run(0), tau_run(1))
    (path / "deep").mkdir()
    eval_zip(path / "deep" / "b.eval", eval_log(sample(1), sample(2)))
    (path / "notes.txt").write_text("nothing")
    return path
