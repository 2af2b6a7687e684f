"""What is printed: plain where nothing is a terminal, folded and never cut where something is."""

import pytest
from rich.console import Console

from grading.cli.output import Column, Output, _fitted
from grading.cli.text import clipped, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("τ-bench ✓ 東京", "τ-bench ✓ 東京"),
        ("a\tb\nc", "a\\tb\\nc"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\u202eevil\u2066\u200b", "\\u202eevil\\u2066\\u200b"),
        ("\x9b31m\x85\x7f", "\\x9b31m\\x85\\x7f"),
        ("no\u00a0break", "no\u00a0break"),
        ("\ud800", "\\ud800"),
        ("[bold]not markup[/bold]", "[bold]not markup[/bold]"),
    ],
)
def test_text_from_elsewhere_cannot_steer_a_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_long_text_says_how_much_is_left_out() -> None:
    assert clipped("x" * 100, 40) == "x" * 40 + " … (60 more characters)"
    assert clipped("x" * 50, 40) == "x" * 50


def test_elsewhere_than_on_a_terminal_rows_are_aligned_and_whole(capsys: pytest.CaptureFixture[str]) -> None:
    columns = [Column("run", wide=True), Column("score", right=True), Column("note", optional=True)]

    Output().table(columns, [["run/" + "x" * 200, "1.00", ""], ["run/y", "0.5", ""]])

    head, first, second = capsys.readouterr().out.splitlines()
    assert head == "run" + " " * 203 + "score"
    assert first == "run/" + "x" * 200 + "   1.00"
    assert second == "run/y" + " " * 201 + "  0.5"


def test_wide_columns_are_folded_the_last_one_first() -> None:
    columns = [Column("a", wide=True), Column("b"), Column("c", wide=True)]

    assert _fitted(columns, [30, 10, 30], 80) == [30, 10, 30]
    assert _fitted(columns, [30, 10, 30], 60) == [30, 10, 16]
    assert _fitted(columns, [30, 10, 30], 45) == [17, 10, 14]
    assert _fitted(columns, [30, 10, 30], 40) is None


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_nothing_is_cut_on_a_terminal_of_any_width(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    out = Output()
    terminal = Console(width=width, force_terminal=True, record=True, color_system=None, markup=False)
    monkeypatch.setattr(out, "_out", terminal)
    monkeypatch.setattr(out, "data", lambda text: terminal.out(text, end=""))

    out.table([Column("run", wide=True), Column("n"), Column("why", wide=True)], [["r" * 25, "1", "w" * 90]])
    out.line("x" * 150, indent=4, prefix="seq 1  ")

    text = terminal.export_text()
    assert (text.count("r"), text.count("w"), text.count("x")) == (26, 91, 150)
