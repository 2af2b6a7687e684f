"""Every way to go wrong ends in its exit code, with a line that says what, where and what next."""

from pathlib import Path

import pytest

import grading.gradebook
from grading.cli.failures import FAULT, FINDING, INTERRUPTED, NOT_CHECKED, USAGE
from spine import LogBusy, LogCorrupt
from tests.grading.cli.command import done, run


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    done(url, "grader", "add", "example:ctf")
    return url


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["grades", "--grader", "nobody@3"], "nobody"),
        (["grade", "nobody", "--all"], "there is no grader nobody"),
        (["grade", "ctf@9", "--all"], "ctf@9"),
        (["grade", "ctf", "--all"], "there are no runs under run/"),
        (["grade", "ctf"], "say which runs"),
        (["grade", "ctf", "run/x", "--all"], "only one of STREAM… and --all"),
        (["grade", "ctf", "--prefix", "run/", "--all"], "only one of --prefix P and --all"),
        (["regrade", "ctf", "--prefix", "run/", "--all"], "only one of --prefix P and --all"),
        (["grade", "cft", "--all"], "there is no grader cft; did you mean ctf?"),
        (["grades", "--grader", "nobody"], "there is no grader nobody"),
        (["grades", "--grader", "ctff"], "did you mean ctf?"),
        (["explain", "run/x", "--grader", "nobody"], "there is no stream run/x"),
        (["explain", "grader/ctf", "--grader", "cft"], "there is no grader cft; did you mean ctf?"),
        (["grader", "show", "ctff"], "did you mean ctf?"),
        (["grader", "add", "example:safe-chnge"], "did you mean safe-change?"),
        (["hide", "--reason", "x"], "say which runs"),
        (["unhide"], "say which runs"),
        (["hide", "grader/ctf", "--reason", "x"], "grader/ctf is a stream of the service"),
        (["hide", "--prefix", "run/none", "--reason", "x"], "there are no runs under run/none"),
        (["hide", "run/none/1", "--reason", ""], "reason: is empty"),
        (["unhide", "--prefix", "run/none"], "nothing is hidden under run/none"),
        (["grade", "not a name", "--all"], "not a grader's name"),
        (["regrade", "ctf"], "say which runs"),
        (["explain", "run/none/1"], "there is no stream run/none/1"),
        (["show", "run/none/1"], "there is no stream run/none/1"),
        (["hide", "run/none/1"], "--reason"),
        (["hide", "run/none/1", "--reason", "x"], "there is no stream"),
        (["grader", "add", "/nowhere/x.yaml"], "cannot be read"),
        (["grader", "add", "example:nothing"], "there is no example nothing; there are ctf"),
        (["grader", "add", "no.such.module:ladder"], "no.such"),
        (["grader", "check"], "--schema"),
        (["grader", "activate", "ctf"], "say which version"),
        (["import", "/nowhere", "--format", "nonsense"], "no importer for 'nonsense'"),
        (["grades", "--json", "--csv"], "either --json or --csv"),
        (["show", "run/none/1", "--after", "-1"], "--after"),
        (["grades", "--database", "x"], "before the command"),
        (["nonsense"], "nonsense"),
        (["grader"], "Missing command"),
    ],
)
def test_a_wrong_call_is_said_in_two_lines(url: str, arguments: list[str], said: str) -> None:
    result = run(url, *arguments)

    assert result.exit_code == USAGE, result.output
    assert said in result.stderr
    assert result.stderr.startswith("gradespine: ")
    assert len(result.stderr.splitlines()) <= 2
    assert result.stdout == ""


def test_the_same_version_with_another_meaning_is_refused(url: str, tmp_path: Path) -> None:
    document = tmp_path / "ctf.yaml"
    document.write_text(done(url, "grader", "examples", "ctf").replace("submitted_the_flag", "flagged"))

    result = run(url, "grader", "add", str(document))

    assert result.exit_code == USAGE
    assert "another version" in result.stderr


def test_a_log_that_is_not_there_is_not_made_by_looking(tmp_path: Path) -> None:
    result = run(f"sqlite:///{tmp_path / 'none.db'}", "grades")

    assert result.exit_code == NOT_CHECKED
    assert "there is no log at" in result.stderr
    assert "gradespine import" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgres://ada:secret@host/name", "did you mean postgresql://?"),
        ("postgre://host/name", "did you mean postgresql://?"),
        ("sqlite3:///runs.db", "did you mean sqlite://?"),
    ],
)
def test_a_database_that_is_nearly_right_is_put_right(url: str, said: str) -> None:
    result = run(url, "grades")

    assert result.exit_code == USAGE
    assert said in result.stderr
    assert "secret" not in result.output


@pytest.mark.parametrize(
    ("arguments", "hinted"),
    [
        (["show", "elsewhere/1"], "`gradespine streams` lists them"),
        (["grade", "zzz", "--all"], "`gradespine grader list` says what there is"),
        (["grader", "activate", "ctf"], None),
        (["grader", "add", "/nowhere/x.yaml"], None),
        (["show", "grader/ct"], None),
    ],
)
def test_the_next_step_fits_what_went_wrong(url: str, arguments: list[str], hinted: str | None) -> None:
    first, *more = run(url, *arguments).stderr.splitlines()

    assert first.startswith("gradespine: ")
    assert more == ([] if hinted is None else [f"  {hinted}"])


@pytest.mark.parametrize("url", ["mysql://host/name", "nonsense"])
def test_a_database_that_is_not_supported_is_a_wrong_call(url: str) -> None:
    assert run(url, "grades").exit_code == USAGE


def test_a_database_that_cannot_be_reached_is_not_checked() -> None:
    result = run("postgresql://127.0.0.1:1/none", "grades")

    assert result.exit_code == NOT_CHECKED
    assert len(result.stderr.splitlines()) <= 2


def test_an_unmigrated_postgres_says_which_command_it_needs(postgres_url: str) -> None:
    result = run(postgres_url, "grades")

    assert result.exit_code == NOT_CHECKED
    assert "gradespine db upgrade" in result.stderr


def test_db_upgrade_makes_a_postgres_usable(postgres_url: str) -> None:
    assert run(postgres_url, "db", "current").exit_code == FINDING

    assert "now" in done(postgres_url, "db", "upgrade")

    assert "already" in done(postgres_url, "db", "upgrade")
    done(postgres_url, "db", "current")
    done(postgres_url, "grades")


def test_a_wrong_setting_names_its_variable(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADESPINE_LOG_LEVEL", "loud")

    result = run(url, "grades")

    assert result.exit_code == USAGE
    assert "GRADESPINE_LOG_LEVEL" in result.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (LogBusy("busy"), NOT_CHECKED),
        (LogCorrupt("a gap"), NOT_CHECKED),
        (ZeroDivisionError("division by zero"), FAULT),
        (OSError("disk full"), FAULT),
        (PermissionError(13, "Permission denied", "/locked/x"), NOT_CHECKED),
        (KeyboardInterrupt(), INTERRUPTED),
    ],
)
def test_what_goes_wrong_inside_has_its_own_code(
    url: str, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(grading.gradebook.Gradebook, "hidden", fail)

    result = run(url, "streams")

    assert result.exit_code == code
    assert "Traceback" not in result.output


def test_a_fault_shows_where_when_asked_to(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(grading.gradebook.Gradebook, "hidden", fail)
    monkeypatch.setenv("GRADESPINE_DEBUG", "1")

    result = run(url, "streams")

    assert result.exit_code == FAULT
    assert "Traceback" in result.stderr
