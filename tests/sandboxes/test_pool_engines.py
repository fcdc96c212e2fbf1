"""The pool and its stations on real engines: levels, resets, taint and what is left."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import pytest

from sqlassay.cases.outcome import Changed, Failure, Outcome, Rows
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.conformance_data import ALPHA, BETA
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Renewing, Role, SessionLostError
from sqlassay.dialect_adapters.execute import Change
from sqlassay.dialect_adapters.postgres.session import connect
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.dialect_adapters.sqlite.session import SqliteSession
from sqlassay.sandboxes.contract import Provider, SnapshotImage
from sqlassay.sandboxes.labels import RUN
from sqlassay.sandboxes.pool import Pool
from sqlassay.sandboxes.pool_size import PoolSize
from sqlassay.sandboxes.process.sandbox import runs_root
from sqlassay.sandboxes.registry import provider
from sqlassay.sandboxes.station import Care, Station

ENGINES = [
    pytest.param("sqlite", marks=pytest.mark.jail),
    pytest.param("postgres", marks=pytest.mark.docker),
    pytest.param("mysql", marks=pytest.mark.docker),
]
POSTGRES = pytest.param("postgres", marks=pytest.mark.docker)
SQLITE = pytest.param("sqlite", marks=pytest.mark.jail)
SERVER = {"postgres": "SELECT pg_backend_pid()", "mysql": "SELECT @@server_uuid", "sqlite": "SELECT 1"}


@dataclass
class Site:
    """A prepared image and its provider."""

    provider: Provider
    image: SnapshotImage
    dialect: str
    run_id: str

    def pool(self, *, most: int = 3, ahead: int = 0) -> Pool:
        """Open a pool."""
        return Pool(self.provider, adapter(self.dialect), self.run_id, PoolSize(most, ahead))

    def left(self) -> list[str]:
        """Return what is there of this run: containers and run folders."""
        folders = [path.name for path in runs_root().iterdir() if path.name.startswith(self.run_id)]
        if not self.provider.needs_engine:
            return folders
        from sqlassay.sandboxes.docker.client import connect

        engine = connect()
        found = engine.api.containers(all=True, filters={"label": f"{RUN}={self.run_id}"})
        engine.api.close()
        return folders + [container["Id"] for container in found]


@pytest.fixture
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """A site of the dialect asked for."""
    dialect = request.param
    makes = provider("process" if dialect == "sqlite" else "docker")
    try:
        image = makes.prepare(adapter(dialect), (ALPHA, BETA), lambda line: None)
        yield Site(makes, image, dialect, f"pool-{uuid4().hex[:8]}")
    finally:
        makes.close()


def value(outcome: Outcome) -> object:
    """Return the one cell of a result."""
    assert isinstance(outcome, Rows), outcome
    return outcome.relation.rows[0][0]


def run(station: Station, sql: str = "SELECT 1", **how: object) -> Outcome:
    """Run one statement as the reader of the first snapshot."""
    return station.run(ALPHA.id, sql, Limits(timeout=20), Pins(), **how)  # type: ignore[arg-type]


@pytest.mark.parametrize("site", ENGINES, indirect=True)
def test_each_level_starts_as_many_servers_as_it_says(site: Site) -> None:
    """Five statements of two cases take one server at level run, two at level case and five at level statement."""
    for level, expected in (("run", 1), ("case", 2), ("statement", 5)):
        pool = site.pool()
        station = Station(pool, site.image)
        try:
            for statements in (2, 3):
                for _ in range(statements):
                    assert value(run(station, level=level)) == 1
                station.rest()
            pool.settle()
        finally:
            pool.close()
        assert (level, pool.figures.started, pool.figures.handouts) == (level, expected, 5 if level != "case" else 2)
        assert pool.drift == ()
    assert site.left() == []


@pytest.mark.parametrize("site", ENGINES[:2], indirect=True)
@pytest.mark.parametrize("level", ["run", "case"])
def test_two_statements_are_timed_on_a_server_that_nothing_else_ever_uses(site: Site, level: str) -> None:
    """The timed pair has a server nothing ran on before, and it is gone afterwards; what is kept for others stays."""
    pool = site.pool(most=2)
    station = Station(pool, site.image)
    pair = [(f"SELECT count(*) AS n FROM big WHERE id > {least}", Limits(timeout=20)) for least in (0, 4000)]
    try:
        run(station, level=level)
        paced = station.timed(ALPHA.id, pair[0], pair[1], 2, Pins())
        started = pool.figures.started
        run(station, level=level)
        again = pool.figures.started
        pool.settle()
    finally:
        pool.close()
    assert (paced.failure, len(paced.rounds), paced.clock, started) == ("", 2, "engine", 2)
    assert again == (2 if level == "run" else 3)
    assert pool.drift == ()
    assert site.left() == []


@pytest.mark.parametrize("site", ENGINES, indirect=True)
def test_nothing_is_left_after_an_exception(site: Site) -> None:
    """A phase that is broken off with servers leased, idle, ready and booting leaves no container and no folder."""

    def broken_off() -> None:
        """Use the pool in every way and fail."""
        pool = site.pool(most=6, ahead=2)
        try:
            pool.warm(site.image, Mode.READ, 9)
            station = Station(pool, site.image)
            run(station, level="case")
            run(Station(pool, site.image), level="run")
            pool.lease(site.image, Mode.READ, fresh=True)
            raise KeyboardInterrupt
        finally:
            pool.kill()
            pool.close()

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert site.left() == []


@pytest.mark.parametrize("site", [POSTGRES], indirect=True)
def test_a_plain_statement_gets_a_reset_login_and_any_other_its_own(site: Site) -> None:
    """One backend serves plain statements of one database; a statement not known to be harmless never meets it."""
    pool = site.pool()
    station = Station(pool, site.image)
    try:
        plain = [value(run(station, SERVER["postgres"], care=Care.PLAIN)) for _ in range(3)]
        apart = [value(run(station, SERVER["postgres"], care=care)) for care in (Care.UNKNOWN, Care.FLAGGED)]
        again = value(run(station, SERVER["postgres"], care=Care.PLAIN))
        other = value(
            station.run(BETA.id, SERVER["postgres"], Limits(), Pins(), care=Care.PLAIN),
        )
    finally:
        pool.close()
    assert len(set(plain)) == 1
    assert again == plain[0]
    assert len({plain[0], *apart, other}) == 4
    assert pool.figures.started == 1


@pytest.mark.parametrize("site", [SQLITE], indirect=True)
def test_a_plain_statement_of_sqlite_meets_the_process_of_the_one_before(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three plain statements share one process of the worker; any other has one of its own."""
    opened: list[Role] = []
    began = SqliteSession.__init__

    def noted(self: SqliteSession, *given: Any) -> None:
        """Note each login."""
        opened.append(given[2])
        began(self, *given)

    monkeypatch.setattr(SqliteSession, "__init__", noted)
    pool = site.pool()
    station = Station(pool, site.image)
    try:
        for care in (Care.PLAIN, Care.PLAIN, Care.UNKNOWN, Care.FLAGGED, Care.PLAIN):
            run(station, SERVER["sqlite"], care=care)
        readers = opened.count(Role.READER)
    finally:
        pool.close()
    assert readers == 3


@pytest.mark.parametrize("site", [POSTGRES], indirect=True)
def test_a_failed_plain_statement_leaves_a_login_that_works(site: Site) -> None:
    """After a division by zero the same backend answers the next plain statement."""
    pool = site.pool()
    station = Station(pool, site.image)
    try:
        before = value(run(station, SERVER["postgres"], care=Care.PLAIN))
        failed = run(station, "SELECT 1 / 0", care=Care.PLAIN)
        after = value(run(station, SERVER["postgres"], care=Care.PLAIN))
    finally:
        pool.close()
    assert isinstance(failed, Failure)
    assert after == before


@pytest.mark.parametrize("site", [POSTGRES], indirect=True)
def test_a_reset_leaves_nothing_of_what_a_session_can_hold(site: Site) -> None:
    """Settings, advisory locks, prepared statements, cursors, LISTEN and temporary tables are gone; the zone stays."""
    sandbox = site.provider.start(adapter("postgres"), site.image, Mode.WRITE, site.run_id)
    database = site.image.catalog(ALPHA.id).database
    session = sandbox.open(database, Role.HARNESS, Pins(time_zone="Europe/Paris"))
    try:
        for sql in (
            "SET work_mem = '1MB'",
            "SET TIME ZONE 'Asia/Tokyo'",
            "SET search_path = pg_catalog",
            "SELECT pg_advisory_lock(7)",
            "PREPARE kept AS SELECT 1",
            "DECLARE held CURSOR WITH HOLD FOR SELECT 1",
            "LISTEN somebody",
            "CREATE TEMP TABLE scratch (a int)",
        ):
            session.fetch(sql, Limits())
        assert session.reset() is True
        found = session.fetch(
            "SELECT current_setting('TimeZone'), current_setting('work_mem'), current_setting('search_path'),"
            "(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'),"
            "(SELECT count(*) FROM pg_prepared_statements),"
            "(SELECT count(*) FROM pg_cursors WHERE name <> ''), (SELECT count(*) FROM pg_listening_channels()),"
            "to_regclass('scratch')::text",
            Limits(),
        ).rows[0]
    finally:
        session.close()
        sandbox.destroy()
    assert found == ("Europe/Paris", "16MB", '"$user", public', 0, 0, 0, 0, None)


@pytest.mark.parametrize("site", [POSTGRES], indirect=True)
def test_no_function_that_runs_on_a_reset_login_is_volatile(site: Site) -> None:
    """What the engine itself calls volatile is never allowed without a flag, and a flagged one gets its own login."""
    sandbox = site.provider.start(adapter("postgres"), site.image, Mode.READ, site.run_id)
    session = sandbox.open(site.image.catalog(ALPHA.id).database, Role.HARNESS, Pins())
    try:
        asked = "SELECT DISTINCT proname::text FROM pg_proc WHERE provolatile = 'v'"
        volatile = {row[0] for row in session.fetch(asked, Limits()).rows}
    finally:
        session.close()
        sandbox.destroy()
    rules = adapter("postgres").rules
    assert "random" in volatile
    assert (rules.functions - rules.gaming) & volatile == set()


@pytest.mark.parametrize("site", [POSTGRES], indirect=True)
def test_a_resource_limit_taints_the_server_and_keeps_the_outcome(site: Site) -> None:
    """A sort past the limit of temporary files is a resource limit; the next statement runs on another server."""
    pool = site.pool(ahead=1)
    station = Station(pool, site.image)
    try:
        greedy = "SELECT count(*) FROM (SELECT repeat('x', 200) || a FROM generate_series(1, 3000000) a ORDER BY 1) s"
        outcome = run(station, greedy)
        assert isinstance(outcome, Failure), outcome
        assert outcome.kind is FailureKind.RESOURCE_LIMIT
        assert value(run(station)) == 1
    finally:
        pool.close()
    assert (pool.figures.replaced, pool.figures.started >= 2) == (1, True)
    assert site.left() == []


@pytest.mark.parametrize("site", ENGINES, indirect=True)
def test_a_statement_that_lost_its_server_runs_again_on_another(site: Site) -> None:
    """The server is killed between two statements: the innocent one is answered all the same."""
    pool = site.pool()
    station = Station(pool, site.image)
    try:
        assert value(run(station)) == 1
        server = pool.lease(site.image, Mode.READ, fresh=False)
        server.kill()
        time.sleep(1.0)  # the kernel ends a jail's inner processes a moment after its outer one
        pool.release(server, again=True)
        assert value(run(station)) == 1
    finally:
        pool.close()
    assert (pool.figures.started, pool.figures.replaced) == (2, 1)


@pytest.mark.parametrize("site", ENGINES, indirect=True)
def test_a_change_has_a_server_of_its_own(site: Site) -> None:
    """Two changes meet the state as it was baked, each on a fresh WRITE server, beside the readers' one."""
    pool = site.pool(most=2)
    station = Station(pool, site.image)
    table = next(table.name for table in site.image.catalog(ALPHA.id).tables)
    try:
        assert value(run(station)) == 1
        outcomes = [
            station.change(ALPHA.id, Change(f"DELETE FROM {table}", "dml"), Limits(), Pins()) for _ in range(2)  # noqa: S608
        ]  # fmt: skip
    finally:
        pool.close()
    assert [isinstance(outcome, Changed) and bool(outcome.touched) for outcome in outcomes] == [True, True]
    assert pool.figures.started == 3
    assert site.left() == []


@pytest.mark.parametrize("site", ENGINES, indirect=True)
def test_a_server_booted_ahead_is_handed_out_at_once(site: Site) -> None:
    """A hand-out of a ready server takes less than 30 ms, and its first statement is answered."""
    pool = site.pool(most=3, ahead=2)
    station = Station(pool, site.image)
    try:
        pool.warm(site.image, Mode.READ, 9)
        until = time.monotonic() + 60
        while pool.figures.started < 2 and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.2)
        assert value(run(station, level="statement")) == 1
    finally:
        pool.close()
    assert pool.figures.fresh == 1
    assert pool.figures.fresh_median is not None
    assert pool.figures.fresh_median < 0.03


@pytest.mark.parametrize("site", [POSTGRES], indirect=True)
def test_trusted_changes_share_a_server_and_meet_what_was_baked(site: Site) -> None:
    """Three golds that change and drop what they find take one server; each leaves what it leaves on a fresh one."""
    table = next(table.name for table in site.image.catalog(ALPHA.id).tables)
    changes = (
        Change(f"DELETE FROM {table}", "dml"),  # noqa: S608
        Change(f"DROP TABLE {table} CASCADE", "ddl"),
        Change("CREATE TABLE made (a int)", "ddl", questions=("SELECT count(*) FROM made",)),
    )
    seen = []
    for trusted, servers in ((True, 1), (False, 3)):
        pool = site.pool()
        station = Station(pool, site.image)
        try:
            outcomes = [station.change(ALPHA.id, change, Limits(), Pins(), trusted=trusted) for change in changes]
        finally:
            pool.close()
        assert pool.figures.started == servers
        assert all(isinstance(outcome, Changed) for outcome in outcomes), outcomes
        seen.append([replace(outcome, seconds=0.0) for outcome in outcomes if isinstance(outcome, Changed)])
    assert seen[0] == seen[1]
    assert site.left() == []


@pytest.mark.parametrize("site", [POSTGRES], indirect=True)
def test_a_trusted_change_that_fails_leaves_its_server_to_nobody(site: Site) -> None:
    """After a failure the next trusted change gets another server."""
    pool = site.pool()
    station = Station(pool, site.image)
    try:
        failed = station.change(ALPHA.id, Change("DELETE FROM nowhere", "dml"), Limits(), Pins(), trusted=True)
        after = station.change(ALPHA.id, Change("CREATE TABLE made (a int)", "ddl"), Limits(), Pins(), trusted=True)
    finally:
        pool.close()
    assert (isinstance(failed, Failure), isinstance(after, Changed), pool.figures.started) == (True, True, 2)


@pytest.mark.parametrize("site", [POSTGRES], indirect=True)
def test_a_renewed_database_is_as_it_was_baked(site: Site) -> None:
    """Rows, schema and rights have the digest of the bake again, and only its own logins get in."""
    sandbox = site.provider.start(adapter("postgres"), site.image, Mode.WRITE, site.run_id)
    spoken, catalog = adapter("postgres"), site.image.catalog(ALPHA.id)
    assert isinstance(spoken, Renewing)
    try:
        before = spoken.state_digest(sandbox.endpoint, catalog.database)
        assert spoken.renew(sandbox.endpoint, catalog.database) is True
        session = sandbox.open(catalog.database, Role.HARNESS, Pins())
        session.fetch("CREATE TABLE made (a int)", Limits())
        session.close()
        assert spoken.state_digest(sandbox.endpoint, catalog.database) != before
        assert spoken.renew(sandbox.endpoint, catalog.database) is True
        assert spoken.state_digest(sandbox.endpoint, catalog.database) == before
        for role in (Role.READER, Role.WRITER, Role.OWNER):
            sandbox.open(catalog.database, role, Pins()).close()
        stranger = f"reader_{site.image.catalog(BETA.id).database}"
        with pytest.raises(SessionLostError):
            connect(sandbox.endpoint, catalog.database, stranger)
    finally:
        sandbox.destroy()
