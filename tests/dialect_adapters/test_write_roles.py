"""On a server that can be written, a writer and an owner still hold nothing beyond their own tables."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.conformance_data import ALPHA, BETA
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role, StatementError
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.sandboxes.contract import Sandbox
from sqlassay.sandboxes.registry import provider

pytestmark = pytest.mark.docker

LIMITS = Limits(timeout=10)
REFUSED = {
    "postgres": [
        "CREATE ROLE more",
        "ALTER ROLE owner_alpha SUPERUSER",
        "SET ROLE sqlassay_admin",
        "CREATE DATABASE more",
        "CREATE EXTENSION plpgsql",
        "COPY big TO PROGRAM 'cat'",
        "COPY big FROM '/etc/passwd'",
        "SELECT * FROM pg_authid",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT setval('made', 9)",
        "CREATE FUNCTION made() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE FUNCTION made() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "DO 'BEGIN END'",
        "SELECT lo_create(0)",
        "ALTER SYSTEM SET work_mem = '1GB'",
        "CREATE TEMPORARY TABLE made (id INT)",
    ],
    "mysql": [
        "CREATE USER more",
        "GRANT ALL ON alpha.* TO r_alpha",
        "CREATE DATABASE more",
        "SELECT * FROM mysql.user",
        "SELECT 1 INTO OUTFILE '/tmp/made'",
        "LOAD DATA INFILE '/etc/passwd' INTO TABLE hollow",
        "SET GLOBAL max_connections = 1",
        "CREATE FUNCTION made() RETURNS INT DETERMINISTIC RETURN 1",
        "CREATE TRIGGER made BEFORE INSERT ON hollow FOR EACH ROW SET NEW.id = 1",
        "CREATE EVENT made ON SCHEDULE EVERY 1 DAY DO DELETE FROM hollow",
        "KILL 1",
        "SHUTDOWN",
        "CREATE TEMPORARY TABLE made (id INT)",
        "LOCK TABLES hollow WRITE",
    ],
}


@pytest.fixture(scope="module", params=sorted(REFUSED))
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, Sandbox]]:
    """A WRITE-mode server and its dialect."""
    made = provider("docker")
    try:
        image = made.prepare(adapter(request.param), (ALPHA, BETA), lambda line: None)
        run_id = f"roles-{uuid4().hex[:8]}"
        yield request.param, made.start(adapter(request.param), image, Mode.WRITE, run_id)
    finally:
        made.close()


@pytest.mark.parametrize("role", [Role.WRITER, Role.OWNER])
def test_no_login_reaches_beyond_its_tables(server: tuple[str, Sandbox], role: Role) -> None:
    """Roles, files, programs, routines, other databases and the server itself are refused to both."""
    dialect, sandbox = server
    kinds = {}
    for sql in REFUSED[dialect]:
        session = sandbox.open("alpha", role, Pins())
        try:
            session.begin_write(LIMITS)
            session.fetch(sql, LIMITS)
            kinds[sql] = "passed"
        except StatementError as error:
            kinds[sql] = error.kind
        finally:
            session.close()
    assert kinds == dict.fromkeys(REFUSED[dialect], FailureKind.ERROR)


@pytest.mark.parametrize("role", [Role.WRITER, Role.OWNER])
def test_both_may_do_their_own_work(server: tuple[str, Sandbox], role: Role) -> None:
    """What is refused is refused for what it is: rows can be changed, and tables by the owner."""
    _, sandbox = server
    session = sandbox.open("alpha", role, Pins())
    try:
        session.begin_write(LIMITS)
        session.fetch("UPDATE big SET name = 'x' WHERE id = 1", LIMITS)
        session.rollback()
    finally:
        session.close()
