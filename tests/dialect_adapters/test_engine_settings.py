"""Text, modes and moments mean on a snapshot what its pack says, and without a word what the engine itself has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from rows import rows_of

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.outcome import Changed, Failure, Rows
from sqlassay.cases.relation import Kind
from sqlassay.cases.settings import EngineSettings
from sqlassay.cases.snapshot import EVERY, Snapshot
from sqlassay.dialect_adapters.contract import Limits, Pins
from sqlassay.dialect_adapters.execute import Change
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.kin import in_dialects
from sqlassay.sandboxes.contract import SnapshotImage
from sqlassay.sandboxes.pool import Pool
from sqlassay.sandboxes.pool_size import PoolSize
from sqlassay.sandboxes.registry import provider
from sqlassay.sandboxes.station import Station

TABLE = rows_of("engine_settings")
ROWS = [(dialect, row) for dialect, part in TABLE.items() for row in part["rows"]]


@pytest.fixture(scope="module")
def stations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[Station, SnapshotImage]]]:
    """Every engine with the three snapshots, baked and started once."""
    docker = provider("docker")
    pools, found = [], {}
    for dialect, part in TABLE.items():
        script = tmp_path_factory.mktemp("settings") / f"{dialect}.sql"
        script.write_text(part["script"])
        asked = {
            "stock": {},
            "binary": {EVERY: EngineSettings(collation="binary")},
            "own": {dialect: EngineSettings.model_validate(part["own"])},
        }
        engine = adapter(dialect)
        snapshots = [
            Snapshot(name, name, f"settings-{name}-2", scripts={dialect: (script,)}, settings=settings)
            for name, settings in asked.items()
        ]
        odd = script.with_name("odd.sql")
        odd.write_text(part["odd"])
        snapshots.append(Snapshot("odd", "odd", "settings-odd-1", scripts={dialect: (odd,)}))
        image = docker.prepare(engine, snapshots, lambda line: None)
        pools.append(Pool(docker, engine, f"settings-{uuid4().hex[:8]}", PoolSize(most=1, ahead=0)))
        found[dialect] = Station(pools[-1], image), image
    yield found
    for pool in pools:
        pool.close()
    docker.close()


@pytest.mark.docker
@pytest.mark.parametrize(("dialect", "row"), ROWS, ids=[f"{name} {row['like']}: {row['sql']}" for name, row in ROWS])
def test_a_statement_means_what_the_settings_say(
    stations: dict[str, tuple[Station, SnapshotImage]], dialect: str, row: dict[str, object]
) -> None:
    """The value of each row is what a server so set answers."""
    station, _ = stations[dialect]
    outcome = station.run(str(row["like"]), str(row["sql"]), Limits(timeout=10), Pins())
    assert isinstance(outcome, Rows), outcome
    assert outcome.relation.rows == ((row["value"],),)


@pytest.mark.docker
@pytest.mark.parametrize("dialect", list(TABLE))
def test_the_catalogue_says_which_settings_hold(
    stations: dict[str, tuple[Station, SnapshotImage]], dialect: str
) -> None:
    """What was left to the engine is named as the engine has it; reports tell it from here."""
    _, image = stations[dialect]
    for name, expected in TABLE[dialect]["told"].items():
        settings = image.catalog(name).settings.model_dump(exclude_none=True)
        assert settings | expected == settings


def test_names_whose_case_counts_where_the_data_comes_from_are_told() -> None:
    """What a server with lower_case_table_names 0 refuses is found here; the settings in every report say so."""
    told = EngineSettings(time_zone="UTC", lower_case_table_names=0).told
    assert told.startswith("time zone UTC, lower_case_table_names 0 where the data comes from (")
    assert EngineSettings(lower_case_table_names=1).told == "lower_case_table_names 1"


@pytest.mark.docker
@pytest.mark.parametrize("dialect", list(TABLE))
def test_columns_of_types_that_nobody_knows_are_read_and_told_by_the_engines_own_words(
    stations: dict[str, tuple[Station, SnapshotImage]], dialect: str
) -> None:
    """Geometry, composite types, domains, ranges, arrays of them: kind other, the DDL as the engine spells it."""
    station, image = stations[dialect]
    catalog = image.catalog("odd")
    table = next(one for one in catalog.tables if one.name == "odd")
    outcome = station.run("odd", "SELECT * FROM odd", Limits(timeout=10), Pins())
    assert isinstance(outcome, Rows), outcome
    assert len(outcome.relation.columns) == len(table.columns)
    declared = {column.name: (column.kind, column.declared) for column in table.columns}
    expected = {
        "mysql": {
            "g": (Kind.OTHER, "geometry"),
            "gc": (Kind.OTHER, "geomcollection"),
            "s": (Kind.TEXT, "SET('a','b')"),
        },
        "mariadb": {"g": (Kind.OTHER, "geometry"), "l": (Kind.OTHER, "linestring"), "i4": (Kind.TEXT, "INET4")},
        "postgres": {
            "p": (Kind.OTHER, "point"),
            "a": (Kind.OTHER, "addr"),
            "rs": (Kind.OTHER, "floatrange[]"),
            "x": (Kind.OTHER, "xml"),
            "ls": (Kind.OTHER, "pg_lsn"),
            "pp": (Kind.OTHER, "point[]"),
        },
    }[dialect]
    assert declared | expected == declared
    for _, text in expected.values():
        assert text in catalog.ddl


@pytest.mark.docker
def test_a_materialized_view_that_was_never_filled_is_a_state_like_any_other(
    stations: dict[str, tuple[Station, SnapshotImage]],
) -> None:
    """It has no count of rows; a read of it fails as a statement does, and a change may leave one unfilled."""
    station, image = stations["postgres"]
    view = next(table for table in image.catalog("odd").tables if table.name == "mv")
    assert (view.is_view, view.rows) == (True, None)
    assert next(table for table in image.catalog("odd").tables if table.name == "odd").rows == 1
    assert isinstance(station.run("odd", "SELECT * FROM mv", Limits(timeout=10), Pins()), Failure)
    for statement in ("REFRESH MATERIALIZED VIEW mv", "REFRESH MATERIALIZED VIEW mv WITH NO DATA"):
        changed = station.change("odd", Change(statement, "ddl"), Limits(timeout=10), Pins())
        assert isinstance(changed, Changed), changed


@pytest.mark.docker
@pytest.mark.parametrize("dialect", list(TABLE))
def test_a_collation_that_the_server_lacks_is_refused_by_name(tmp_path: Path, dialect: str) -> None:
    """The error names the snapshot's field."""
    script = tmp_path / "x.sql"
    script.write_text("CREATE TABLE t (id int)")
    asked = {dialect: EngineSettings(collation="klingon_ci")}
    wrong = Snapshot("s", "s", "settings-wrong", scripts={dialect: (script,)}, settings=asked)
    docker = provider("docker")
    try:
        with pytest.raises(InputError, match=rf"^s:settings\.{dialect}: "):
            docker.prepare(adapter(dialect), (wrong,), lambda line: None)
    finally:
        docker.close()


def _pack(folder: Path, snapshot: str) -> Snapshot:
    (folder / "x.sql").write_text("CREATE TABLE t (id int)")
    header = f"format: 1\nname: p\nsnapshots:\n  s: {snapshot}\n"
    header += 'cases:\n  - {id: a, question: q, gold: {mysql: "SELECT 1"}}\n'
    (folder / "pack.yaml").write_text(header)
    return in_dialects(load_pack(folder), ["mariadb"]).snapshot("s")


def test_settings_are_part_of_what_a_snapshot_is(tmp_path: Path) -> None:
    """Images and kept gold go by the digest: another collation, mode or zone is another one."""
    plain = _pack(tmp_path, "{scripts: {mysql: x.sql}}")
    told = [
        _pack(tmp_path, f"{{scripts: {{mysql: x.sql}}, {more}}}").digest
        for more in (
            "collation: binary",
            "settings: {mysql: {sql_mode: TRADITIONAL}}",
            "settings: {mysql: {time_zone: CET}}",
        )
    ]
    assert len({plain.digest, *told}) == 4


def test_mariadb_reads_mysqls_settings_but_not_the_names_of_its_collations(tmp_path: Path) -> None:
    """A mode means the same on both servers; utf8mb4_0900_as_cs is a name of MySQL's."""
    asked = _pack(
        tmp_path, "{scripts: {mysql: x.sql}, settings: {mysql: {collation: utf8mb4_0900_as_cs, time_zone: CET}}}"
    )
    assert asked.settings_for("mariadb") == EngineSettings(time_zone="CET")
    assert asked.settings_for("mysql").collation == "utf8mb4_0900_as_cs"


def test_rows_of_a_sqlite_file_compare_by_their_bytes_unless_the_pack_says_otherwise(tmp_path: Path) -> None:
    """They were written for an engine that compares so; scripts of the engine's own are its own."""
    file = tmp_path / "x.sqlite"
    data = Snapshot("s", "s", "0", sqlite_file=file)
    assert data.settings_for("mysql").collation == "binary"
    stock = Snapshot("s", "s", "0", sqlite_file=file, settings={EVERY: EngineSettings(collation="default")})
    assert stock.settings_for("mysql").collation == "default"
    scripts = Snapshot("s", "s", "0", sqlite_file=file, scripts={"mysql": (file,)})
    assert scripts.settings_for("mysql").collation is None


@pytest.mark.parametrize("mode", ["ANSI_QUOTES", "ANSI", "NO_BACKSLASH_ESCAPES", "IGNORE_SPACE", "ORACLE", "NONSENSE"])
def test_a_mode_that_moves_the_ends_of_words_is_refused(tmp_path: Path, mode: str) -> None:
    """The guard reads a statement before the server does, and must read the same words."""
    with pytest.raises(InputError, match=rf"pack\.yaml:4.*sql_mode {mode} is not to be had"):
        _pack(tmp_path, f"{{scripts: {{mysql: x.sql}}, settings: {{mysql: {{sql_mode: {mode}}}}}}}")
