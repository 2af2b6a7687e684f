"""Failures: every error becomes one or two lines and an exit code. 1 is kept for findings: no fault may end in it."""

import io
import os
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from errno import EDQUOT, EIO, ENOSPC
from typing import TYPE_CHECKING, Any, Final, NoReturn

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from grading.cli.text import printable

if TYPE_CHECKING:
    from pydantic import ValidationError

FINDING: Final = 1
USAGE: Final = 2
NOT_CHECKED: Final = 3
FAULT: Final = 70
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141  # what a shell reports of a program that SIGPIPE ended


@dataclass(frozen=True, slots=True)
class Failure:
    """How a call ended that could not do what it was asked to."""

    code: int
    message: str
    next: str = ""


class Usage(TyperException):
    """The command was called wrongly: exit code 2."""

    exit_code = USAGE

    def __init__(self, message: str, context: typer.Context) -> None:
        super().__init__(message)
        self.ctx: Final = context


class Commands(TyperGroup):
    """The commands. Ends the program with an exit code of DESIGN, whatever happens."""

    def main(self, *args: Any, **options: Any) -> NoReturn:
        code: int
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # a terminal that has no arrow is no reason to fail
        try:
            code = super().main(*args, **{**options, "standalone_mode": False}) or 0
            sys.stdout.flush()
        except (SystemExit, BrokenPipeError):  # nobody reads on; commands themselves end in typer.Exit
            _silence(sys.stdout)
            code = PIPE_CLOSED
        except typer.Abort:
            code = INTERRUPTED
        except Exception as error:
            code = _report(error)
        sys.exit(code)


def _report(error: Exception) -> int:
    failure = _failure(error)
    if failure.code == FAULT and _debugging():
        traceback.print_exception(error)
    print(f"gradespine: {printable(' '.join(failure.message.split()))}", file=sys.stderr)
    if failure.next:
        print(f"  {printable(failure.next)}", file=sys.stderr)
    return failure.code


def _failure(error: Exception) -> Failure:
    if isinstance(error, TyperException):
        return _usage(error)
    # Only what went wrong loads what it needs to say how.
    from pydantic import ValidationError

    from grading import errors as grading
    from spine import errors as spine

    match error:
        case ValidationError() if error.title == "Settings":
            return _about_a_setting(error)
        case grading.CheckBroken() | grading.MilestoneBroken():
            return Failure(NOT_CHECKED, str(error))
        case grading.GraderConflict():
            return Failure(USAGE, str(error), "a version never changes its meaning: give the document another version")
        case grading.NotFound():
            return Failure(USAGE, str(error), error.next)
        case grading.GradingError() | spine.Refused():
            return Failure(USAGE, str(error))
        case spine.LogUnavailable():
            return Failure(NOT_CHECKED, str(error), _about_the_log(error))
        case spine.SpineError():
            return Failure(NOT_CHECKED, str(error))
        case OSError() if error.errno in (ENOSPC, EDQUOT, EIO) and error.filename is None:
            _silence(sys.stdout)
            return Failure(NOT_CHECKED, f"the output cannot be written: {error.strerror}")
        case OSError() if error.filename is not None:  # what was wrong was a path, not this program
            return Failure(NOT_CHECKED, f"{os.fsdecode(error.filename)}: {error.strerror}")
        case _:
            return _fault(error)


def _usage(error: TyperException) -> Failure:
    message = error.format_message()
    context = getattr(error, "ctx", None)
    path = "gradespine" if context is None else context.command_path
    if "--database" in message and "No such option" in message:
        return Failure(USAGE, message, "it stands before the command: gradespine --database URL COMMAND")
    return Failure(error.exit_code, message, f"{path} --help says more")


def _fault(error: Exception) -> Failure:
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    hint = "" if _debugging() else "GRADESPINE_DEBUG=1 shows where; please report it"
    return Failure(FAULT, f"a fault of this program: {what}", hint)


def _about_a_setting(error: "ValidationError") -> Failure:
    first = error.errors()[0]
    name = "_".join(str(part) for part in first["loc"]).upper()
    return Failure(USAGE, f"GRADESPINE_{name}: {first['msg'].lower()}")


def _about_the_log(error: Exception) -> str:
    if str(error).startswith("there is no log"):
        return "`gradespine import PATH` makes one; GRADESPINE_DATABASE_URL names another"
    if any(word in str(error) for word in ("read-only", "repeat", "was deleted", "was replaced")):
        return ""
    return "" if "run `" in str(error) else "--database or GRADESPINE_DATABASE_URL says which log is meant"


def _debugging() -> bool:
    # Read here as well, because settings themselves may be what fails.
    return os.environ.get("GRADESPINE_DEBUG", "").lower() in ("1", "true", "yes", "on")


def _silence(stream: Any) -> None:
    """Nobody reads on: what is still buffered must not fail at the interpreter's end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
