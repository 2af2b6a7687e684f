"""The command as the operating system sees it: exit codes, pipes, streams, and what it costs to ask for help."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from spine import Actor, NewEvent, open_log
from tests.grading.cli.command import record_demo

GRADESPINE = Path(sys.executable).with_name("gradespine")


def call(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [GRADESPINE, *arguments], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('log') / 'log.db'}"
    record_demo(url)
    return url


def test_the_environment_names_the_log(url: str) -> None:
    result = call("streams", "--limit", "1", GRADESPINE_DATABASE_URL=url)

    assert result.returncode == 0
    assert result.stdout.splitlines()[1].split() == ["run/demo/code-cache/1", "22"]
    assert result.stderr == ""


def test_where_nothing_is_a_terminal_there_are_no_colours_and_no_bars(url: str) -> None:
    call("--database", url, "grader", "add", "example:safe-change")

    result = call("--database", url, "grade", "safe-change", "--prefix", "run/demo/code-")

    assert result.returncode == 3
    assert "\x1b" not in result.stdout + result.stderr
    assert result.stderr == "broken: 1 expected_missing; where: `gradespine explain run/demo/code-login/2`\n"


def test_a_reader_that_goes_away_is_no_finding(url: str) -> None:
    process = subprocess.Popen(
        [GRADESPINE, "--database", url, "show", "run/demo/code-dates/2", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()

    assert process.wait() == 141
    assert process.stderr.read() == b""
    process.stderr.close()


def test_a_terminal_without_arrows_is_no_fault(url: str) -> None:
    result = call("--database", url, "show", "run/demo/code-dates/2", PYTHONIOENCODING="ascii")

    assert result.returncode == 0
    assert "\\u2192 exit 0" in result.stdout


def test_an_interrupted_command_ends_in_130() -> None:
    process = subprocess.Popen(
        [GRADESPINE, "grader", "check", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Tests that run in the background of a script inherit that interrupts are ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr is not None
    with pytest.raises(subprocess.TimeoutExpired):  # it waits for a document
        process.wait(timeout=3)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()

    assert process.returncode == 130
    assert b"Traceback" not in said


def test_help_is_cheap() -> None:
    asked = (
        "import sys\n"
        "from grading.cli.main import app\n"
        "try: app(['--help'], prog_name='gradespine')\n"
        "except SystemExit: pass\n"
        "heavy = {'sqlalchemy', 'alembic', 'psycopg', 'pydantic_settings', 'structlog', 're2'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )

    result = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stderr
    assert "Exit codes:" in result.stdout


COMMANDS = (
    "demo,import,streams,show,hide,unhide,grade,grades,explain,override,regrade,rebuild,judge,"
    "log export,log import,log prune,db upgrade,db current,db check,db backup,"
    "followers list,followers reset,followers unpark,"
    "grader add,grader list,grader show,grader check,grader qualify,grader activate,grader examples"
)


def test_every_command_has_help_that_fits_eighty_columns() -> None:
    listed = COMMANDS.split(",")

    for name in ["", *listed]:
        result = call(*name.split(), "--help", COLUMNS="80")
        assert result.returncode == 0, name
        assert max(map(len, result.stdout.splitlines())) <= 80, name
        assert "..." not in result.stdout.partition("\nCommands:")[2], name


def test_the_version_is_that_of_the_distribution() -> None:
    result = call("--version")

    assert result.returncode == 0
    assert result.stdout.startswith("gradespine 0.")


def test_alone_it_says_what_it_can_do() -> None:
    result = call()

    assert result.returncode == 0
    assert "Commands:" in result.stdout


def test_a_ladder_in_python_is_found_in_the_working_folder(url: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from grading import Ladder, Milestone, event_recorded\n"
        'ladder = Ladder("mine", milestones=[Milestone("tested", event_recorded("test.reported"))], version="1")\n'
    )

    def typed(*arguments: str) -> str:
        return subprocess.run(
            [GRADESPINE, "--database", url, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout

    typed("grader", "add", "mine:ladder")

    assert typed("grade", "mine", "run/demo/code-dates/1") == "mine@1: 1 run: 1 passed, 0 failed, 0 broken\n"


@pytest.mark.parametrize(
    ("redirected", "code", "said"),
    [
        (">&-", 0, ""),
        ("2>&-", 0, ""),
        (">&- 2>&-", 0, ""),
        ("> /dev/full", 3, "gradespine: the output cannot be written: No space left on device\n"),
    ],
)
def test_output_that_nobody_takes_is_no_fault_of_the_program(url: str, redirected: str, code: int, said: str) -> None:
    result = subprocess.run(
        ["sh", "-c", f'"$0" --database "$1" streams {redirected}', GRADESPINE, url],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (result.returncode, result.stderr) == (code, said)


def test_nothing_that_a_terminal_would_act_on_is_in_json(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with open_log(url) as log:
        log.append("run/a", [NewEvent("a.thing", {"text": "\x9b31m\u202ex\x7f😀é"}, actor=Actor.AGENT)])

    [line] = call("--database", url, "show", "run/a", "--json").stdout.splitlines()

    assert line.isprintable()
    assert json.loads(line)["payload"] == {"text": "\x9b31m\u202ex\x7f😀é"}
