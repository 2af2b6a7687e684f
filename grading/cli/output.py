"""Where commands write: data on stdout; progress and remarks on stderr. Tables and colours are for terminals; elsewhere
the same rows come as aligned text that is never cut or wrapped."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn, TypeAlias

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grading.cli.failures import PIPE_CLOSED
from grading.cli.text import printable

_GAP: Final = 2  # between the columns of a table
_FOLDED: Final = 14  # a column is not folded more narrowly than this
_NARROW: Final = 24  # text is not folded more narrowly than this

Cell: TypeAlias = str | Text
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. One that is `wide` is folded where a terminal is too narrow; one that is `optional` is left
    out where it holds nothing."""

    title: str
    right: bool = False
    wide: bool = False
    optional: bool = False


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        self.quiet = True
        raise SystemExit(PIPE_CLOSED)


class Output:
    """stdout and stderr of one command. Whatever it is given is made printable here; no markup is interpreted."""

    def __init__(self) -> None:
        plain: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
        self._out: Final = _Console(**plain)
        self._err: Final = _Console(stderr=True, **plain)

    @property
    def terminal(self) -> bool:
        return self._out.is_terminal

    def line(self, text: Cell = "", *, indent: int = 0, prefix: Cell = "", hanging: int = 0, style: str = "") -> None:
        """A line behind `indent` and `prefix`. On a terminal it is folded, the next lines `hanging` (or as far as the
        prefix goes) further in."""
        self._write(self._out, _text(text, style), indent, _text(prefix), hanging)

    def remark(self, text: Cell, *, style: str = "") -> None:
        """A line for the person at the terminal, on stderr."""
        self._write(self._err, _text(text, style), 0, Text(), 2)

    def hint(self, text: str) -> None:
        """What to do next; only where somebody is looking."""
        if self._out.is_terminal:
            self.remark(text, style="dim")

    def data(self, text: str) -> None:
        """Text for another program, as it is."""
        try:
            sys.stdout.write(text)
        except BrokenPipeError:
            raise SystemExit(PIPE_CLOSED) from None

    def text(self, text: str) -> None:
        """A document: made printable on a terminal, as it is elsewhere."""
        if not self.terminal:
            self.data(text)
            return
        for line in text.expandtabs(4).splitlines():
            self.line(line)

    def json_line(self, value: Any) -> None:
        self.data(_json(value) + "\n")

    def json_list(self, values: Iterable[Any]) -> None:
        """A JSON list, an element a line, written as the elements come."""
        opening = "["
        for value in values:
            self.data(f"{opening}\n{_json(value)}")
            opening = ","
        self.data("[]\n" if opening == "[" else "\n]\n")

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[Cell]], *, indent: int = 0) -> None:
        cells = [[_text(cell) for cell in row] for row in rows]
        kept = [at for at, column in enumerate(columns) if not column.optional or any(row[at] for row in cells)]
        columns, cells = [columns[at] for at in kept], [[row[at] for at in kept] for row in cells]
        widths = [
            max(cell_len(column.title), *(row[at].cell_len for row in cells), 1) for at, column in enumerate(columns)
        ]
        fitted = _fitted(columns, widths, self._out.width - indent) if self.terminal else None
        if fitted is None:
            self._plain_table(columns, cells, widths, indent)
        else:
            self._out.print(Padding(self._rich_table(columns, cells, fitted), (0, 0, 0, indent)))

    @contextmanager
    def progress(self, what: str) -> Iterator[Progress]:
        """A bar with rate and time left on a terminal, nothing elsewhere. It goes when the work is done."""
        if not self._err.is_terminal:
            yield lambda done, total: None
            return
        # Loaded only where it is seen.
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self._err,
            transient=True,
        )
        with bar:
            task = bar.add_task(printable(what), total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)

    @contextmanager
    def status(self, what: str) -> Iterator[Callable[[str], None]]:
        """A line that changes while something of unknown length goes on; on a terminal only."""
        if not self._err.is_terminal:
            yield lambda text: None
            return
        with self._err.status(Text(printable(what))) as shown:
            yield lambda text: shown.update(Text(printable(text)))

    def _write(self, console: Console, text: Text, indent: int, prefix: Text, hanging: int) -> None:
        margin = Text(" " * indent)
        if not console.is_terminal:
            console.print(Text.assemble(margin, prefix, text), soft_wrap=True)
            return
        inner = max(prefix.cell_len, hanging)
        if console.width - indent - inner < _NARROW:
            if prefix:
                console.print(margin + prefix, soft_wrap=True)
            prefix, inner = Text(), 4
        lines = text.wrap(console, max(console.width - indent - inner, _NARROW)) or [Text()]
        for number, line in enumerate(lines):
            before = Text(" " * inner) if number or (inner and not prefix and not hanging) else prefix
            console.print(Text.assemble(margin, before, line), soft_wrap=True)

    def _rich_table(self, columns: Sequence[Column], rows: Sequence[Sequence[Text]], widths: Sequence[int]) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
        for column, width in zip(columns, widths, strict=True):
            side: Literal["left", "right"] = "right" if column.right else "left"
            # Every width is given: left to itself, rich cuts cells of a table that has to be narrow.
            table.add_column(Text(column.title), justify=side, overflow="fold", width=width)
        for row in rows:
            table.add_row(*row)
        return table

    def _plain_table(
        self, columns: Sequence[Column], rows: Sequence[Sequence[Text]], widths: Sequence[int], indent: int
    ) -> None:
        for line in ([column.title for column in columns], *([cell.plain for cell in row] for row in rows)):
            sides = (column.right for column in columns)
            filled = (_filled(*parts) for parts in zip(line, widths, sides, strict=True))
            self.data((" " * indent + (" " * _GAP).join(filled)).rstrip() + "\n")


def _fitted(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[int] | None:
    """The widths after folding wide columns, the last one first; None where that is not enough."""
    fitted = list(widths)
    excess = sum(widths) + _GAP * (len(widths) - 1) - room
    for at in reversed(range(len(columns))):
        if columns[at].wide and excess > 0:
            cut = min(excess, max(fitted[at] - _FOLDED, 0))
            fitted[at] -= cut
            excess -= cut
    return None if excess > 0 else fitted


def styled(text: str, style: str) -> Text:
    """Text in a colour, made printable."""
    return Text(printable(text), style=style)


def joined(*cells: Cell) -> Text:
    """Texts in a row, each in its own colour."""
    return Text.assemble(*(_text(cell) for cell in cells))


def _text(cell: Cell, style: str = "") -> Text:
    return cell if isinstance(cell, Text) else Text(printable(cell), style=style)


def _filled(text: str, width: int, right: bool) -> str:
    space = " " * (width - cell_len(text))
    return space + text if right else text + space


def _json(value: Any) -> str:
    """JSON in which nothing is left that a terminal would act on: what is not printable is escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
