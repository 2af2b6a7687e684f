"""Session: what the options before the command said, and the gradebook that a command asks for."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from grading.gradebook import Gradebook
    from grading.settings import Settings


@dataclass(frozen=True, slots=True)
class Session:
    """One call of the command. Nothing is opened before a command asks for it."""

    database_url: str | None = None

    def settings(self) -> "Settings":
        # Here, and not above: `--help` must not wait for what only a command needs.
        from grading.settings import Settings

        return Settings() if self.database_url is None else Settings(database_url=self.database_url)

    @contextmanager
    def gradebook(self, *, create: bool = False) -> Iterator["Gradebook"]:
        """The gradebook. `create`: a SQLite file that is not there is made."""
        from grading import bootstrap

        with bootstrap.gradebook(self.settings(), create=create) as opened:
            yield opened


def session(context: typer.Context) -> Session:
    """The session of this call."""
    found = context.obj
    return found if isinstance(found, Session) else Session()
