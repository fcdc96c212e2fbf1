"""What our own side of a connection refuses, beside the server: files of this machine, and a second statement."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pymysql
import pytest
from pymysql.constants import CLIENT
from test_hardening import Range, Served

from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role, StatementError
from sqlassay.dialect_adapters.mysql import session as mysql
from sqlassay.dialect_adapters.mysql.own import MYSQL
from sqlassay.dialect_adapters.postgres.session import PostgresSession
from sqlassay.sandboxes.contract import Sandbox

pytestmark = pytest.mark.docker
LIMITS = Limits(timeout=20.0)
TWO = "SELECT 1; DELETE FROM orders WHERE id = 1"


@pytest.fixture(scope="module")
def ranges() -> Iterator[Callable[[str], Range]]:
    """Each engine, prepared when first asked for."""
    made: dict[str, Range] = {}

    def of(dialect: str) -> Range:
        """Return one engine."""
        if dialect not in made:
            made[dialect] = Range(dialect)
        return made[dialect]

    yield of
    for ground in made.values():
        ground.provider.close()


@contextlib.contextmanager
def _server(ground: Range, replaced: dict[str, str]) -> Iterator[Sandbox]:
    """A fresh server of WRITE mode."""
    spoken: Any = Served(ground.adapter, replaced)
    sandbox = ground.provider.start(spoken, ground.image, Mode.WRITE, f"clients-{uuid4().hex[:8]}")
    try:
        yield sandbox
    finally:
        sandbox.destroy()


def _leaked(sandbox: Sandbox, secret: Path, *, flag: bool, ours: bool) -> bool:
    """Return whether a statement can have a file of this machine read into a table."""
    sql = f"LOAD DATA LOCAL INFILE '{secret}' INTO TABLE t_text"
    login = mysql.login_name("shop", Role.WRITER)
    with contextlib.closing(mysql.connect(sandbox.endpoint, "shop", login, local_infile=flag)) as connection:
        try:
            if ours:
                mysql.MysqlSession(connection, sandbox.endpoint, Pins(), MYSQL).fetch(sql, LIMITS)
            else:
                connection.query(sql)
        except (StatementError, pymysql.Error):
            return False
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM t_text WHERE l = 'secret-7c1b'")
            return bool(cursor.fetchone() == (1,))


def test_no_file_of_the_harness_is_read(ranges: Callable[[str], Range], tmp_path: Path) -> None:
    """LOAD DATA LOCAL is refused by the server, by a login without the flag, and by our wire, each of them alone."""
    secret = tmp_path / "secret"
    secret.write_text("secret-7c1b\n")
    ground = ranges("mysql")
    with _server(ground, {}) as sandbox:
        assert _leaked(sandbox, secret, flag=True, ours=False) is False
    with _server(ground, {"--local-infile=0": "--local-infile=1"}) as sandbox:
        assert _leaked(sandbox, secret, flag=False, ours=False) is False
        assert _leaked(sandbox, secret, flag=True, ours=True) is False
        assert _leaked(sandbox, secret, flag=True, ours=False) is True


def _orders(ground: Range, sandbox: Sandbox) -> object:
    """Return how many rows are left."""
    with contextlib.closing(sandbox.open(ground.database, Role.HARNESS, Pins())) as session:
        return session.fetch("SELECT count(*) FROM orders", LIMITS).rows[0][0]


def test_postgres_runs_one_statement_as_the_protocol_has_it(
    ranges: Callable[[str], Range], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extended protocol refuses a second statement; by the simple one it would run and stay."""
    ground = ranges("postgres")
    with _server(ground, {}) as sandbox:
        with contextlib.closing(sandbox.open(ground.database, Role.HARNESS, Pins())) as session:
            with pytest.raises(StatementError, match="multiple commands"):
                session.fetch(TWO, LIMITS)
            assert _orders(ground, sandbox) == 500
        with contextlib.closing(sandbox.open(ground.database, Role.HARNESS, Pins())) as session:
            assert isinstance(session, PostgresSession)
            session._wire.deadline(20)
            session._wire.simple(TWO)
        assert _orders(ground, sandbox) == 499


def test_mysql_runs_one_statement_as_the_login_has_it(
    ranges: Callable[[str], Range], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the flag MULTI_STATEMENTS a second statement is an error; with it, it would run and stay."""
    ground = ranges("mysql")
    with _server(ground, {}) as sandbox:
        with contextlib.closing(sandbox.open(ground.database, Role.HARNESS, Pins())) as session:
            with pytest.raises(StatementError, match="SQL syntax"):
                session.fetch(TWO, LIMITS)
            assert _orders(ground, sandbox) == 500

        def many(**given: Any) -> Any:
            """Connect with the flag."""
            return pymysql.connect(**given, client_flag=CLIENT.MULTI_STATEMENTS)

        with monkeypatch.context() as patch:
            patch.setattr(mysql, "pymysql", SimpleNamespace(connect=many, Error=pymysql.Error))
            session = sandbox.open(ground.database, Role.HARNESS, Pins())
        with contextlib.closing(session), contextlib.suppress(StatementError):
            session.fetch(TWO, LIMITS)
        assert _orders(ground, sandbox) == 499
