"""Which of a snapshot's own routines a pack lets queries call, as rows, and on the real servers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from sqlassay.cases.catalog import CatalogRoutine
from sqlassay.cases.errors import InputError
from sqlassay.cases.outcome import Failure, Outcome, Rows
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role
from sqlassay.dialect_adapters.execute import execute
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.dialect_adapters.routines import described, with_allowed
from sqlassay.sandboxes.contract import Provider, Sandbox, SnapshotImage
from sqlassay.sandboxes.pool import Pool
from sqlassay.sandboxes.pool_size import PoolSize
from sqlassay.sandboxes.registry import provider
from sqlassay.sandboxes.station import Care, Station

FOUND = (
    CatalogRoutine(name="f_total", kind="function", schema_name="public", arguments="integer"),
    CatalogRoutine(name="f_total", kind="function", schema_name="public", arguments="text", returns="numeric"),
    CatalogRoutine(name="f_total", kind="function", schema_name="evil"),
    CatalogRoutine(name="f_total", kind="procedure", schema_name="public"),
    CatalogRoutine(name="p_wipe", kind="procedure", schema_name="public"),
    CatalogRoutine(name="t_stamp", kind="trigger", schema_name="public"),
    CatalogRoutine(name="twin", kind="function", schema_name="public"),
    CatalogRoutine(name="TWIN", kind="function", schema_name="public"),
)


def _snapshot(*functions: str, scripts: str = "postgres") -> Snapshot:
    return Snapshot("s", "s", "routines-0", scripts={scripts: (Path("x.sql"),)}, functions=functions)


def _allowed(snapshot: Snapshot) -> list[tuple[str | None, str]]:
    marked = with_allowed(FOUND, snapshot, "postgres", "public")
    return [(one.schema_name, f"{one.name}({one.arguments})") for one in marked if one.allowed]


def test_a_name_allows_every_overload_in_its_schema_alone() -> None:
    """Without a schema it is one of the schema names are looked up in; procedures of that name stay out."""
    assert _allowed(_snapshot()) == []
    assert _allowed(_snapshot("f_total")) == [("public", "f_total(integer)"), ("public", "f_total(text)")]
    assert _allowed(_snapshot("Evil.F_TOTAL")) == [("evil", "f_total()")]


def test_an_engine_without_the_snapshots_scripts_has_none_of_its_functions() -> None:
    """One pack may list functions that only one engine's scripts make."""
    assert _allowed(_snapshot("f_missing", scripts="mysql")) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("f_missing", "no function 'f_missing'. The snapshot's functions: TWIN, f_total, twin"),
        ("p_wipe", "'p_wipe' is a procedure, which no query calls"),
        ("t_stamp", "'t_stamp' is a trigger function, which no query calls"),
        ("twin", "two functions are called 'twin' but for the case of their letters"),
        ("other.f_total", "no function 'other.f_total'"),
    ],
)
def test_a_name_that_no_query_can_call_is_refused(name: str, message: str) -> None:
    """The error names the snapshot's list and says what there is."""
    with pytest.raises(InputError) as caught:
        with_allowed(FOUND, _snapshot(name), "postgres", "public")
    assert str(caught.value).startswith("s:allowed_functions.s: ")
    assert message in str(caught.value)


def test_an_agent_is_told_of_the_functions_it_may_call() -> None:
    """Allowed functions stand beside the tables' DDL, the others do not."""
    marked = with_allowed(FOUND, _snapshot("f_total"), "postgres", "public")
    assert described(marked) == "-- function f_total(integer)\n-- function f_total(text) RETURNS numeric"


SCRIPTS = {
    "postgres": """
CREATE TABLE bills (id int PRIMARY KEY, customer int, amount numeric);
INSERT INTO bills VALUES (1, 7, 10.5), (2, 7, 2), (3, 8, 1);
CREATE FUNCTION f_total(of integer) RETURNS numeric LANGUAGE sql STABLE
  AS 'SELECT sum(amount) FROM bills WHERE customer = of';
CREATE FUNCTION f_total(of text) RETURNS numeric LANGUAGE sql STABLE AS 'SELECT f_total(of::integer)';
CREATE FUNCTION f_lock() RETURNS boolean LANGUAGE sql SECURITY DEFINER
  AS $$ SELECT pg_try_advisory_lock(1); SELECT set_config('x.y', 'left behind', false) IS NOT NULL $$;
CREATE FUNCTION f_left() RETURNS text LANGUAGE sql AS $$ SELECT coalesce(current_setting('x.y', true), 'nothing') $$;
CREATE FUNCTION f_wipe() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'DELETE FROM bills; SELECT 1';
CREATE FUNCTION f_secret() RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT rolpassword FROM pg_authid LIMIT 1';
CREATE PROCEDURE p_wipe() LANGUAGE sql AS 'DELETE FROM bills';
CREATE FUNCTION f_plus(a bills, b int) RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1';
CREATE OPERATOR + (LEFTARG = bills, RIGHTARG = int, FUNCTION = f_plus);
CREATE FUNCTION f_text(bills) RETURNS text LANGUAGE sql AS $$ SELECT 'x' $$;
CREATE CAST (bills AS text) WITH FUNCTION f_text(bills);
CREATE FUNCTION t_stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE FUNCTION f_ext() RETURNS int LANGUAGE sql AS 'SELECT 1';
ALTER EXTENSION plpgsql ADD FUNCTION f_ext();
CREATE AGGREGATE a_sum(numeric) (SFUNC = numeric_add, STYPE = numeric);
""",
    "mysql": """
CREATE TABLE bills (id int PRIMARY KEY, customer int, amount decimal(8,2));
INSERT INTO bills VALUES (1, 7, 10.5), (2, 7, 2), (3, 8, 1);
DELIMITER //
CREATE FUNCTION f_total(wanted INT) RETURNS DECIMAL(8,2) READS SQL DATA SQL SECURITY INVOKER
  RETURN (SELECT SUM(amount) FROM bills WHERE customer = wanted)//
CREATE FUNCTION f_lock() RETURNS INT NOT DETERMINISTIC BEGIN SET @left_behind = 'left behind'; RETURN 1; END//
CREATE FUNCTION f_left() RETURNS TEXT DETERMINISTIC NO SQL RETURN COALESCE(@left_behind, 'nothing')//
CREATE FUNCTION f_wipe() RETURNS INT MODIFIES SQL DATA BEGIN DELETE FROM bills; RETURN 1; END//
CREATE FUNCTION f_secret() RETURNS TEXT READS SQL DATA
  RETURN (SELECT authentication_string FROM mysql.user LIMIT 1)//
CREATE PROCEDURE p_wipe() BEGIN DELETE FROM bills; END//
""",
}
ALLOWED = ("f_left", "f_lock", "f_total", "f_wipe")
KNOWN = {
    "postgres": {
        ("a_sum", "aggregate", "numeric", "numeric", "internal", "immutable", "", False, False),
        ("f_ext", "function", "", "integer", "sql", "volatile", "", False, False),
        ("f_left", "function", "", "text", "sql", "volatile", "", False, True),
        ("f_plus", "function", "a bills, b integer", "integer", "sql", "volatile", "", True, False),
        ("f_text", "function", "bills", "text", "sql", "volatile", "", False, False),
        ("f_lock", "function", "", "boolean", "sql", "volatile", "", True, True),
        ("f_secret", "function", "", "text", "sql", "volatile", "", True, False),
        ("f_total", "function", "of integer", "numeric", "sql", "stable", "", False, True),
        ("f_total", "function", "of text", "numeric", "sql", "stable", "", False, True),
        ("f_wipe", "function", "", "integer", "sql", "volatile", "", True, True),
        ("p_wipe", "procedure", "", "", "sql", "volatile", "", False, False),
        ("t_stamp", "trigger", "", "trigger", "plpgsql", "volatile", "", False, False),
    },
    "mysql": {
        ("f_left", "function", "", "text", "sql", "deterministic", "no sql", True, True),
        ("f_lock", "function", "", "int", "sql", "not deterministic", "contains sql", True, True),
        ("f_secret", "function", "", "text", "sql", "not deterministic", "reads sql data", True, False),
        (
            "f_total",
            "function",
            "wanted int",
            "decimal(8,2)",
            "sql",
            "not deterministic",
            "reads sql data",
            False,
            True,
        ),
        ("f_wipe", "function", "", "int", "sql", "not deterministic", "modifies sql data", True, True),
        ("p_wipe", "procedure", "", "", "sql", "not deterministic", "contains sql", True, False),
    },
}


class Baked:
    """One engine with the scripts above, of which four functions are allowed."""

    def __init__(self, dialect: str, docker: Provider, script: Path) -> None:
        script.write_text(SCRIPTS[dialect])
        self.dialect = dialect
        self.provider = docker
        self.adapter = adapter(dialect)
        self.snapshot = Snapshot("b", "b", f"routines-{dialect}-1", scripts={dialect: (script,)}, functions=ALLOWED)
        self.image: SnapshotImage = docker.prepare(self.adapter, (self.snapshot,), lambda line: None)
        self.server: Sandbox = docker.start(self.adapter, self.image, Mode.READ, f"routines-{uuid4().hex[:8]}")

    def run(self, sql: str, role: Role = Role.READER) -> Outcome:
        """Run one statement on a session of its own."""
        return execute(
            lambda: self.server.open("b", role, Pins()),
            sql,
            Limits(timeout=10),
            kill=self.server.kill,
            died_of_memory=self.server.died_of_memory,
        ).outcome


@pytest.fixture(scope="module", params=["postgres", "mysql"])
def baked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Baked]:
    docker = provider("docker")
    dialect = str(request.param)
    yield Baked(dialect, docker, tmp_path_factory.mktemp("routines") / f"{dialect}.sql")
    docker.close()


def _value(outcome: Outcome) -> object:
    assert isinstance(outcome, Rows), outcome
    return outcome.relation.rows[0][0]


@pytest.mark.docker
def test_the_catalogue_tells_of_every_routine(baked: Baked) -> None:
    """Name, kind, arguments, result, language, volatility, access, rights and leave are what the server says."""
    catalog = baked.image.catalogs[0]
    assert catalog.format == 2
    told = {
        (
            one.name,
            one.kind,
            one.arguments,
            one.returns,
            one.language,
            one.volatility,
            one.data_access,
            one.security_definer,
            one.allowed,
        )
        for one in catalog.routines
    }
    assert told == KNOWN[baked.dialect]
    of_extensions = {(one.name, one.extension) for one in catalog.routines if one.extension}
    assert of_extensions == ({("f_ext", "plpgsql")} if baked.dialect == "postgres" else set())
    assert {one.schema_name for one in catalog.routines} == {"public" if baked.dialect == "postgres" else "b"}
    assert "-- function f_total(" in catalog.ddl
    assert "f_secret" not in catalog.ddl


@pytest.mark.docker
@pytest.mark.parametrize("role", [Role.READER, Role.WRITER, Role.OWNER])
def test_a_login_calls_what_is_allowed_and_nothing_else(baked: Baked, role: Role) -> None:
    """The allowed functions answer; the server itself refuses the others, whatever the guard thinks."""
    assert float(str(_value(baked.run("SELECT f_total(7)", role)))) == 12.5
    assert isinstance(baked.run("SELECT f_secret()", role), Failure)
    assert isinstance(baked.run("CALL p_wipe()", role), Failure)


@pytest.mark.docker
@pytest.mark.parametrize("sql", ["SELECT b + 1 FROM bills b", "SELECT CAST(b AS text) FROM bills b"])
def test_an_operator_or_cast_of_the_snapshot_reaches_no_function(baked: Baked, sql: str) -> None:
    """Spelled without a call, the function behind it is still refused, by the login."""
    if baked.dialect != "postgres":
        pytest.skip("only Postgres lets a script define operators and casts")
    refused = baked.run(sql)
    assert isinstance(refused, Failure)
    assert "permission denied for function" in refused.message


@pytest.mark.docker
def test_an_allowed_function_writes_nothing_on_a_server_for_reading(baked: Baked) -> None:
    """Even one that runs with its owner's rights and deletes is stopped by transaction and server."""
    assert isinstance(baked.run("SELECT f_wipe()"), Failure)
    assert _value(baked.run("SELECT count(*) FROM bills")) == 3
    catalog = baked.image.catalogs[0]
    assert baked.adapter.state_digest(baked.server.endpoint, "b") == catalog.state_digest


@pytest.mark.docker
def test_what_an_allowed_function_leaves_in_its_session_is_gone_with_it(baked: Baked) -> None:
    """A flagged statement has a login of its own: locks, variables and settings reach none, kept or fresh."""
    pool = Pool(baked.provider, baked.adapter, f"routines-{uuid4().hex[:8]}", PoolSize(most=1, ahead=0))
    station = Station(pool, baked.image)

    def run(sql: str, care: Care) -> object:
        """Run one statement on the one server and return its value."""
        return _value(station.run("b", sql, Limits(timeout=10), Pins(), care=care))

    try:
        for care in (Care.PLAIN, Care.FLAGGED, Care.PLAIN):
            assert run("SELECT 1 AS one", Care.PLAIN) == 1
            assert str(run("SELECT f_lock()", Care.FLAGGED)) in {"True", "1"}
            assert run("SELECT f_left()", care) == "nothing"
        pool.settle()
        assert (pool.drift, pool.figures.started) == ((), 1)
    finally:
        pool.close()


@pytest.mark.docker
def test_a_pack_that_allows_what_is_no_function_is_refused_when_it_is_baked(baked: Baked) -> None:
    """The error names the list's place and the functions there are; no image is left to be used."""
    wrong = replace(baked.snapshot, digest=f"routines-{baked.dialect}-wrong", functions=("f_gone",))
    with pytest.raises(InputError, match=r"allowed_functions\.b: no function 'f_gone'.*f_left, f_lock"):
        baked.provider.prepare(baked.adapter, (wrong,), lambda line: None)
