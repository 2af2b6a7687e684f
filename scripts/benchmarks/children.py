"""Child processes that do a part of a benchmark: a line in on stdin, a line back on stdout."""

import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

ROOT: Final = Path(__file__).resolve().parents[2]
_STOP_SECONDS: Final = 10.0


class ChildFailed(Exception):
    """A child ended before its answer; what it said stands above, on stderr."""


class Child:
    """A module of this checkout that runs as a process of its own until its stdin ends: also when its parent is
    killed. Ctrl-C does not reach it."""

    def __init__(
        self,
        module: str,
        *arguments: str,
        python: str | Path = sys.executable,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._name = module
        self._process = subprocess.Popen(
            [str(python), "-m", module, *arguments],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def ask(self, line: str) -> str:
        self.tell(line)
        return self.hear()

    def tell(self, line: str) -> None:
        with suppress(BrokenPipeError):  # `hear` tells why
            print(line, file=_pipe(self._process.stdin), flush=True)

    def hear(self) -> str:
        """The next line it says. Raises ChildFailed."""
        line = _pipe(self._process.stdout).readline()
        if not line:
            raise ChildFailed(f"{self._name} ended with exit code {self._process.wait()} before it had answered")
        return line.rstrip("\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(BrokenPipeError):
            _pipe(self._process.stdin).close()
        try:
            # After an error nobody waits for the work it may be in the middle of.
            self._process.wait(0 if kind else _STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            _pipe(self._process.stdout).close()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe
