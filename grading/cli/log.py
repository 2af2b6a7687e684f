"""`gradespine log`: a whole log as a file, and back; and what it can do without."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from grading.cli.session import session
from grading.cli.text import plural


def export(
    context: typer.Context,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE, whole or not at all.")
    ] = None,
) -> None:
    """Write the whole log as JSON lines, an event a line.

    It is the log as it stands when this begins; what is appended meanwhile is left out. The same log gives the same
    bytes. Tables of grades do not travel: they are made anew from the log.

    \b
    Example:
      gradespine log export | zstd > log.jsonl.zst
    """
    from grading import bootstrap
    from grading.cli.output import Output
    from spine import copying

    out = Output()
    with (
        bootstrap.log(session(context).settings()) as log,
        out.progress("exporting") as progress,
        _written(output) as file,
    ):
        count = copying.export(log, file, progress=progress)
    out.remark(f"exported {count:,} events")


def import_(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="FILE", help="What `log export` wrote; - reads it from stdin.")],
) -> None:
    """Put an exported log into an empty database: SQLite to Postgres, or the other way, nothing lost.

    Every digest is verified on the way. It is all or nothing: the first fault is named with its line, and the database
    stays as empty as it was. Part of a log cannot be imported.

    \b
    Example:
      gradespine --database postgresql://localhost/runs log import log.jsonl
    """
    from grading import bootstrap
    from grading.cli.output import Output
    from spine import copying

    out = Output()
    with (
        _read(source) as file,
        bootstrap.new_log(session(context).settings()) as log,
        out.progress("importing") as progress,
    ):
        count = copying.import_log(file, log, progress=progress)
        name = log.name
    out.line(f"imported {count:,} events of {name}")


def prune(context: typer.Context) -> None:
    """Drop old snapshots: all but the newest of each stream and fold.

    Snapshots are states that a program keeps of a stream, so that it need not fold it from the beginning. Events and
    grades are not touched; what asks for the state at an earlier point takes longer.

    \b
    Example:
      gradespine log prune
    """
    from grading import bootstrap
    from grading.cli.output import Output
    from spine.pruning import prune_snapshots

    with bootstrap.log(session(context).settings()) as log:
        dropped = prune_snapshots(log)
    Output().line(f"dropped {plural(dropped, 'snapshot')}")


@contextmanager
def _written(path: Path | None) -> Iterator[BinaryIO]:
    """Stdout; or a file that is there when all of it is written and safe on the disk."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    descriptor, partial = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(partial)
        raise


@contextmanager
def _read(source: str) -> Iterator[BinaryIO]:
    if source == "-":
        yield sys.stdin.buffer
        return
    with open(source, "rb") as file:
        yield file
