"""Fixtures for every test."""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

from spine import GroupCommit, Log, MemoryLog, SqlLog, open_log, revisions
from spine.database import open_database
from tests.postgres import PostgresUnavailable, fresh_database, throwaway_postgres

OpenLog: TypeAlias = Callable[..., Log]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The admin URL of a Postgres that lives as long as the session."""
    with contextlib.ExitStack() as stack:
        try:
            url = stack.enter_context(throwaway_postgres())
        except PostgresUnavailable as problem:
            # A laptop may be without; a build that quietly tests half of what is promised may not.
            if os.environ.get("CI"):
                pytest.fail(str(problem), pytrace=False)
            pytest.skip(str(problem))
        yield url


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """An empty database of the test's own."""
    with fresh_database(postgres_server) as url:
        yield url


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> str:
    """The name of a database that the migrations have been run on, to be copied."""
    name = "gradespine_template"
    with psycopg.connect(postgres_server, autocommit=True) as admin:
        admin.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))
        admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'").format(sql.Identifier(name)))
    database = open_database(urlunsplit(urlsplit(postgres_server)._replace(path=f"/{name}")))
    revisions.upgrade(database)
    database.close()
    return name


@pytest.fixture
def migrated_postgres_url(postgres_server: str, postgres_template: str) -> Iterator[str]:
    """A migrated database of the test's own, without a log yet."""
    with fresh_database(postgres_server, template=postgres_template) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty log, on each database in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'log.db'}"
    url: str = request.getfixturevalue("migrated_postgres_url")
    return url


@pytest.fixture
def sql_log(database_url: str) -> Iterator[SqlLog]:
    """An empty log on each database in turn."""
    with open_log(database_url) as log:
        yield log


IMPLEMENTATIONS = ["memory", "sqlite", "postgres", "group"]


@contextlib.contextmanager
def _logs(request: pytest.FixtureRequest, folder: Path) -> Iterator[OpenLog]:
    with contextlib.ExitStack() as stack:

        def open_one(**injected: Any) -> Log:
            if request.param == "memory":
                return stack.enter_context(MemoryLog(**injected))
            if request.param in ("sqlite", "group"):
                url = f"sqlite:///{folder / secrets.token_hex(4)}.db"
            else:
                server = request.getfixturevalue("postgres_server")
                template = request.getfixturevalue("postgres_template")
                url = stack.enter_context(fresh_database(server, template=template))
            log = open_log(url, **injected)
            made: Log = GroupCommit(log) if request.param == "group" else log
            return stack.enter_context(made)

        yield open_one


@pytest.fixture(params=IMPLEMENTATIONS)
def open_a_log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenLog]:
    """Opens an empty log of each implementation in turn; called again, it opens another one."""
    with _logs(request, tmp_path) as open_one:
        yield open_one


@pytest.fixture
def log(open_a_log: OpenLog) -> Log:
    """An empty log of each implementation in turn."""
    return open_a_log()


@pytest.fixture(scope="module", params=IMPLEMENTATIONS)
def lasting_log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Log]:
    """A log of each implementation in turn, empty at first and the same for all tests of a module."""
    with _logs(request, tmp_path_factory.mktemp("logs")) as open_one:
        yield open_one()
