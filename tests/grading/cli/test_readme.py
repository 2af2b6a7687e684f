"""What the README shows has to work as it stands there."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from grading.cli.main import app
from grading.spec import read_ladder
from spine import open_log

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_python_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), {})

    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == "1.0 True (2,)"
    with open_log("sqlite:///runs.db") as log:
        types = [event.type for event in log.read("run/demo/1")]
        assert types[2:] == ["grade.milestone", "grade.milestone", "grade.summary"]


def test_its_ladders_are_read() -> None:
    ladders = [read_ladder(document, "README.md") for document in blocks("yaml")]

    assert [ladder.name for ladder in ladders] == ["deploy", "incident"]
    assert [note for ladder in ladders for note in ladder.notes] == []


def test_every_command_it_shows_exists() -> None:
    shown = [line[2:].partition("#")[0] for block in blocks("console") for line in block.splitlines()]
    commands = [shlex.split(line)[1:] for line in shown if line.startswith("gradespine ")]

    assert len(commands) > 10
    for words in commands:
        names = words[:2] if words[0] in ("grader", "db") else words[:1]
        options = {word for word in words if word.startswith("--")}
        result = CliRunner().invoke(app, [*names, "--help"])
        assert result.exit_code == 0, words
        assert all(option in result.stdout for option in options), words


def test_it_names_no_machine() -> None:
    assert not re.search(r"/(work|home|root|tmp)/|pypi|https?://", README)
