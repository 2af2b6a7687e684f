"""Gate: who asked, when something impure is done in a trial, and the refusal that meets it."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Final

from grading.purity.impurities import HARMLESS_WHEN_LOADED, Impurity

_EXCUSED: Final[Mapping[str, frozenset[Impurity]]] = {
    **dict.fromkeys(("logging", "warnings", "traceback"), frozenset(Impurity)),
    "_strptime": frozenset((Impurity.MACHINE,)),
    "pydantic": frozenset((Impurity.ENVIRONMENT,)),
}
"""What these do for themselves does not come back to who called them: the time of a log record and the source line of a
warning are shown to people; the locale that a parsed time is in, and whether plugins are turned off, are only checked.
"""

_OWN_LIBRARIES: Final = frozenset({*sys.stdlib_module_names, "__main__", "grading", "spine"})

Tell = Callable[[Impurity, str, str, int], None]


class Refusal(BaseException):
    """Meets a grader at an impure deed. No Exception: a check that catches everything must not go on."""


class Gate:
    """Knows whether a grader is at work, and which code is the grader's: the modules of its top-level package.

    A library that is imported meanwhile may do as it likes, and so may an installed one that the module calls while it
    is loaded (a decorator or a metaclass that sets itself up). What a check then calls in it may not.
    """

    def __init__(self, target: str, tell: Tell) -> None:
        self._target: Final = target
        self._package: Final = target.partition(".")[0]
        self._tell: Final = tell
        self._watching = False
        self._loading = False

    @contextmanager
    def watching(self, *, loading: bool = False) -> Iterator[None]:
        """While a check runs, or (`loading`) while the grader's module does."""
        self._watching, self._loading = True, loading
        try:
            yield
        finally:
            self._watching = self._loading = False

    @contextmanager
    def unwatched(self) -> Iterator[None]:
        """While something is done on behalf of the trial."""
        before, self._watching = self._watching, False
        try:
            yield
        finally:
            self._watching = before

    def meet(self, impurity: Impurity, what: str) -> None:
        """Refuse the deed if a grader does it. Raises Refusal."""
        if not self._watching or (self._loading and impurity in HARMLESS_WHEN_LOADED):
            return
        self._watching = False  # what is asked from here on is asked by the gate
        try:
            frame = self._who(sys._getframe(1), impurity)
            if frame is None:
                return
            self._tell(impurity, what, frame.f_globals.get("__name__", ""), frame.f_lineno)
        finally:
            self._watching = True
        raise Refusal(f"{impurity}: {what}")

    def asked_by_grader(self) -> bool:
        """Whether the grader's own code called who asks this, not a library that it uses."""
        return self._watching and self._is_own(sys._getframe(2))

    def _who(self, frame: FrameType | None, impurity: Impurity) -> FrameType | None:
        """The frame of the grader that is nearest to the deed; without one, while a check runs, the nearest that is not
        of this package. None: an import, or a library that tells people something."""
        nearest = None
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if self._is_own(frame):
                return frame if not self._loading or module == self._target else None
            library = module.partition(".")[0]
            if self._loading and library not in _OWN_LIBRARIES:
                return None
            if impurity in _EXCUSED.get(library, ()) or (
                module == "importlib._bootstrap" and frame.f_code.co_name == "_find_and_load"
            ):
                return None
            if nearest is None and not module.startswith(("__main__", "grading.purity", "importlib")):
                nearest = frame
            frame = frame.f_back
        return None if self._loading else nearest

    def _is_own(self, frame: FrameType) -> bool:
        module: str = frame.f_globals.get("__name__", "")
        return module == self._package or module.startswith(f"{self._package}.")
