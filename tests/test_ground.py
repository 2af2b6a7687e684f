"""The ground: locks, scripts, the throw-away Postgres, and a wheel that works far from its checkout."""

import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
import venv
from pathlib import Path

import psycopg
import pytest
from packaging.requirements import Requirement

from tests.postgres import PostgresUnavailable, throwaway_postgres

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "scripts" / "locks"
SCRIPTS = [".ci/run", *(f"scripts/{name}" for name in ("bench", "boot", "check", "demo", "lock", "test"))]


def pins(lock: str) -> dict[str, str]:
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", (LOCKS / f"{lock}.txt").read_text(), re.MULTILINE))


@pytest.mark.parametrize("path", sorted(LOCKS.iterdir()), ids=lambda path: path.name)
def test_locks_name_no_place_to_fetch_from(path: Path) -> None:
    place = r"://|^-|--(?:extra-)?index|--find-links| @ |[a-z0-9-]+\.(?:org|com|net|io|dev)\b"
    assert re.findall(place, path.read_text(), re.MULTILINE) == []


@pytest.mark.parametrize("path", sorted(LOCKS.glob("*.txt")), ids=lambda path: path.name)
def test_everything_locked_has_a_hash(path: Path) -> None:
    entries = re.split(r"\n(?=\S)", path.read_text().strip())
    assert entries
    assert [entry for entry in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}", entry)] == []


def test_a_larger_lock_only_adds() -> None:
    run, build, test, check = (pins(name) for name in ("run", "build", "test", "check"))
    assert run.items() | build.items() <= test.items()
    assert test.items() <= check.items()


def test_the_lock_answers_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    locked = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pins("run").items()}
    wanted = [Requirement(text) for text in project["dependencies"]]
    assert [str(r) for r in wanted if locked[re.sub(r"[-_.]+", "-", r.name).lower()] not in r.specifier] == []


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_can_be_run(script: str) -> None:
    assert (ROOT / script).stat().st_mode & 0o100
    subprocess.run(["bash", "-n", script], cwd=ROOT, check=True)


def test_postgres_speaks_utf8(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        row = connection.execute(
            "SELECT current_setting('server_encoding'), current_setting('server_version_num')::int, 'τ'"
        ).fetchone()
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert row is not None
    assert (row[0], row[2]) == ("UTF8", "τ")
    assert row[1] >= 130000
    assert tables == (0,)


def test_each_test_has_a_database_of_its_own(postgres_server: str, postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection, psycopg.connect(postgres_server) as admin:
        assert connection.info.dbname != admin.info.dbname


def test_unknown_source_of_postgres_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADESPINE_TEST_POSTGRES", "cloud")
    with pytest.raises(PostgresUnavailable, match="system or wheel"), throwaway_postgres():
        pass


def test_what_was_tried_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADESPINE_TEST_POSTGRES", "system")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("tests.postgres._USUAL_FOLDERS", ())
    with pytest.raises(PostgresUnavailable, match="initdb: not on PATH"), throwaway_postgres():
        pass


@pytest.mark.skipif(bool(os.environ.get("GRADESPINE_TEST_POSTGRES_URL")), reason="the server is not ours to kill")
def test_a_killed_launcher_is_swept_by_the_next(postgres_server: str) -> None:
    code = (
        "from tests.postgres import throwaway_postgres\n"
        "with throwaway_postgres() as url:\n    print(url, flush=True)\n    input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as launcher:
        assert launcher.stdout is not None
        url = launcher.stdout.readline().strip()
        psycopg.connect(url).close()
        launcher.send_signal(signal.SIGKILL)
    left = list(Path(tempfile.gettempdir()).glob(f"gradespine-pg-{launcher.pid}-*"))

    with throwaway_postgres():
        deadline = time.monotonic() + 20
        while any(folder.exists() for folder in left) and time.monotonic() < deadline:
            time.sleep(0.05)  # another worker may be at it
    assert not any(folder.exists() for folder in left)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)


APPEND_AND_READ = """
import pathlib, sys
import spine
from spine import NO_STREAM, Actor, NewEvent, open_log

package = pathlib.Path(spine.__file__).parent
assert package.is_relative_to(sys.prefix), package
assert (package / "_migrations" / "env.py").is_file()
assert (package / "py.typed").is_file()
event = NewEvent("tool.returned", {"call_id": "c1", "tool": "bash", "result": "ok"}, actor=Actor.SYSTEM)
with open_log("sqlite:///runs.db") as log:
    log.append("run/demo/1", [event], expect=NO_STREAM)
with open_log("sqlite:///runs.db") as log:
    print([(e.seq, e.type, e.payload["result"]) for e in log.read("run/demo/1")])
"""


def test_the_wheel_works_without_the_checkout(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True)
    (wheel,) = tmp_path.glob("gradespine-*.whl")

    # Only the dependencies come from this environment: a .pth adds a folder, but not what that folder's own .pth
    # files add, so the editable checkout stays out of reach.
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(environment), "platbase": str(environment)}))
    install = ["-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([sys.executable, *install], check=True)
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    work = tmp_path / "elsewhere"
    work.mkdir()
    done = subprocess.run([python, "-I", "-c", APPEND_AND_READ], cwd=work, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[(1, 'tool.returned', 'ok')]", "")
    assert (work / "runs.db").exists()
    assert (environment / "bin" / "gradespine").exists()
