"""Fill an empty server of MySQL's family: databases, rows, keys, readers; prove that nothing was lost."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pymysql
from sqlalchemy import create_engine
from sqlalchemy.dialects import mysql
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.pool import StaticPool
from sqlalchemy.types import VARBINARY, TypeEngine

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import Kind, Row
from sqlassay.cases.settings import BINARY, DEFAULT, EngineSettings
from sqlassay.cases.snapshot import Snapshot, TableDef
from sqlassay.cases.sources.rows_check import first_clash
from sqlassay.cases.sources.schema import row_fault
from sqlassay.dialect_adapters.contract import Endpoint, Role, SessionLostError
from sqlassay.dialect_adapters.ddl import TypeMap, table_ddl
from sqlassay.dialect_adapters.mysql.digest import quoted, state_digest
from sqlassay.dialect_adapters.mysql.flavour import Flavour
from sqlassay.dialect_adapters.mysql.own import MYSQL
from sqlassay.dialect_adapters.mysql.routines import entitle_routines, read_routines
from sqlassay.dialect_adapters.mysql.scripts import run_script
from sqlassay.dialect_adapters.mysql.session import ADMIN, COLLATION, connect, login_name
from sqlassay.dialect_adapters.mysql.types import NAMED_KINDS, load_cell, reading, type_of
from sqlassay.dialect_adapters.names import NameRules, check_names
from sqlassay.dialect_adapters.reflect import catalog_of
from sqlassay.dialect_adapters.tally import Tally, check_loadable

if TYPE_CHECKING:
    from pymysql.connections import Connection
    from pymysql.cursors import Cursor


def names_of(engine: str) -> NameRules:
    """Return what a server of the family takes for a name."""
    refused = (
        (re.compile("[\U00010000-\U0010ffff]"), "takes no character past U+FFFF in a name, such as an emoji"),
        (re.compile(" $"), "takes no name that ends with a space"),
    )
    return NameRules(engine, 64, "characters", str.lower, refused)


@dataclass(frozen=True, slots=True)
class Loading:
    """How one flavour is loaded: its types, what its type names mean, and who spells its DDL.

    `unknown` are types of the server's, by name, that SQLAlchemy does not know and how it may read them.
    """

    flavour: Flavour
    names: NameRules
    spelled: Dialect
    type_of: TypeMap
    named_kinds: Mapping[str, Kind]
    unknown: Mapping[str, type[TypeEngine[Any]]]


NAMES = names_of(MYSQL.engine)
LOADING = Loading(MYSQL, NAMES, mysql.dialect(), type_of, NAMED_KINDS, {"vector": VARBINARY})
_SPELLED = "SELECT table_name, column_name, column_type FROM information_schema.columns WHERE table_schema = %s"
_ROW = re.compile(r" at row (\d+)")


def load(endpoint: Endpoint, snapshots: Sequence[Snapshot], loading: Loading) -> tuple[Catalog, ...]:
    """Load every snapshot into a database of its own and return their catalogues.

    Raises:
        InputError: a snapshot that cannot be loaded whole.
    """
    snapshots = [snapshot.on(loading.flavour.dialect) for snapshot in snapshots]
    for snapshot in snapshots:
        check_loadable(snapshot, loading.flavour.dialect)
        check_names(snapshot, loading.names)
    _take_over(endpoint, loading.flavour.settled)
    notes = [_fill(endpoint, snapshot, loading) for snapshot in snapshots]
    # Digests last: they cover the logins, which are the whole server's.
    return tuple(_catalog(endpoint, one, loading, told) for one, told in zip(snapshots, notes, strict=True))


def _take_over(endpoint: Endpoint, settled: Sequence[str]) -> None:
    """Give the administrator, created without a password, the image's own, and let it in from anywhere.

    On an earlier image, which has its password, nothing is `settled` again: no right can be given up twice.
    """
    try:
        connection = connect(endpoint, None, ADMIN, password="")
    except SessionLostError:
        connection, settled = connect(endpoint, None, ADMIN), ()
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT host FROM mysql.user WHERE user = %s", (ADMIN,))
        if cursor.fetchall() == (("localhost",),):
            cursor.execute("RENAME USER 'root'@'localhost' TO 'root'@'%%'", ())
        cursor.execute("ALTER USER 'root'@'%%' IDENTIFIED BY %s", (endpoint.password,))
        for statement in settled:
            cursor.execute(statement)


def _fill(endpoint: Endpoint, snapshot: Snapshot, loading: Loading) -> tuple[str, ...]:
    """Create one database, its rows and its logins; return what of its scripts was left out."""
    notes: list[str] = []
    database = snapshot.database.lower()
    with connect(endpoint, None, ADMIN) as connection:
        _create(connection, snapshot, loading)
    with connect(endpoint, database, ADMIN, local_infile=True) as connection:
        _tables(connection, snapshot, loading)
    for script in snapshot.scripts.get(loading.flavour.dialect, ()):
        with connect(endpoint, database, ADMIN) as connection:
            connection.query("SET SESSION collation_connection = @@collation_database")
            notes += run_script(connection, script, loading.flavour)
    with connect(endpoint, database, ADMIN) as connection:
        _analyze(connection)
        _logins(connection, database, endpoint.password)
        logins = [login_name(database, role) for role in _RIGHTS]
        if snapshot.visible is not None:
            logins.append(_invite(connection, database, snapshot.visible, endpoint.password))
        routines = read_routines(connection, snapshot, database, loading.flavour.dialect)
        entitle_routines(connection, routines, database, logins)
    return tuple(notes)


def _create(connection: Connection[Cursor], snapshot: Snapshot, loading: Loading) -> None:
    """Create the database under the collation that the snapshot asks for; without one, under the server's own."""
    asked = snapshot.settings_for(loading.flavour.dialect)
    named = COLLATION if asked.collation == BINARY else asked.collation
    collated = "" if named in (None, DEFAULT) else f" COLLATE {named}"
    # A collation decides its character set, which need not be utf8mb4.
    charset = "" if collated else " CHARACTER SET utf8mb4"
    try:
        connection.query(f"CREATE DATABASE {quoted(snapshot.database.lower())}{charset}{collated}")
        if asked.sql_mode is not None:
            connection.query(f"SET SESSION sql_mode = '{asked.sql_mode}'")
    except pymysql.Error as error:
        message = str(error.args[-1]) if error.args else type(error).__name__
        field = f"settings.{loading.flavour.dialect}"
        remedy = f"Name a collation or a mode that {loading.flavour.engine} has, or leave it out"
        raise InputError(message, file=snapshot.id, field=field, remedy=remedy) from None


def unload(endpoint: Endpoint, databases: Sequence[str]) -> None:
    """Remove databases and their logins, by the names in their catalogues, from a BUILD-mode server."""
    with connect(endpoint, None, ADMIN) as connection, connection.cursor() as cursor:
        for database in databases:
            cursor.execute(f"DROP DATABASE {quoted(database)}")
            for role in _RIGHTS:
                cursor.execute("DROP USER %s@'%%'", (login_name(database, role),))
            cursor.execute("DROP USER IF EXISTS %s@'%%'", (login_name(database, Role.GUEST),))


_RIGHTS = {
    Role.READER: "SELECT",
    Role.WRITER: "SELECT, INSERT, UPDATE, DELETE",
    Role.OWNER: "SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, REFERENCES, CREATE VIEW, SHOW VIEW",
}
"""What each login may do in its database; writers and owners log in on WRITE-mode servers alone."""


def _logins(connection: Connection[Cursor], database: str, password: str) -> None:
    """Create the logins that may use one database alone: no FILE, PROCESS, EXECUTE, nothing global."""
    # An underscore or a percent sign in a GRANT's database is a pattern that would open others.
    exact = quoted(database.replace("\\", "\\\\").replace("_", "\\_").replace("%", "\\%"))
    for role, rights in _RIGHTS.items():
        login = login_name(database, role)
        with connection.cursor() as cursor:
            cursor.execute(_CREATE_LOGIN, (login, password))
            cursor.execute(f"GRANT {rights} ON {exact.replace('%', '%%')}.* TO %s@'%%'", (login,))


_CREATE_LOGIN = "CREATE USER %s@'%%' IDENTIFIED BY %s WITH MAX_USER_CONNECTIONS 30 PASSWORD EXPIRE NEVER"


def _invite(connection: Connection[Cursor], database: str, visible: Sequence[str], password: str) -> str:
    """Make the login of predictions that may read some tables alone, with rights on these, and return its name."""
    login = login_name(database, Role.GUEST)
    with connection.cursor() as cursor:
        cursor.execute(_CREATE_LOGIN, (login, password))
        cursor.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = %s", (database,))
        for (table,) in cursor.fetchall():
            if str(table).lower() in visible:
                target = f"{quoted(database)}.{quoted(str(table))}".replace("%", "%%")
                cursor.execute(f"GRANT SELECT ON {target} TO %s@'%%'", (login,))
    return login


def _tables(connection: Connection[Cursor], snapshot: Snapshot, loading: Loading) -> None:
    """Create the tables of our own schema and fill them; references only once every row is there."""
    enforced = snapshot.enforce_foreign_keys
    spelled = table_ddl(snapshot.tables, loading.type_of, loading.spelled, foreign_keys=enforced)
    for table, ddl in zip(snapshot.tables, spelled, strict=True):
        _guarded(connection, snapshot, table.name, ddl.create)
        if snapshot.source is not None:
            _send(connection, snapshot, table, snapshot.source.rows(table.name))
        for statement in ddl.indexes:
            _guarded(connection, snapshot, table.name, statement)
    for table, ddl in zip(snapshot.tables, spelled, strict=True):
        for statement in ddl.foreign_keys:
            _guarded(connection, snapshot, table.name, statement)


def _send(connection: Connection[Cursor], snapshot: Snapshot, table: TableDef, rows: Iterator[Row]) -> None:
    """Send a table's rows by LOAD DATA LOCAL and compare counts and sums afterwards."""
    tally = Tally(table)
    kinds = [column.kind for column in table.columns]
    # A file without a name: whatever ends this process, no rows stay behind on the disk.
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as file:
        try:
            for row in tally.watch(rows):
                file.write("\t".join(load_cell(cell, kind) for cell, kind in zip(row, kinds, strict=True)) + "\n")
        except UnicodeEncodeError:
            message = f"table {table.name}: row {tally.rows} holds text that is no Unicode"
            raise row_fault(snapshot, table.name, tally.rows, message, "Correct it") from None
        file.flush()
        file.seek(0)
        _guarded(connection, snapshot, table.name, _load_data(table, f"/dev/fd/{file.fileno()}"))
    with connection.cursor() as cursor:
        # LOCAL turns errors into warnings: a row that was changed or left out is only named there.
        cursor.execute("SHOW WARNINGS LIMIT 1")
        if warning := cursor.fetchone():
            raise _first_clash(snapshot, table) or _refused(snapshot, table.name, str(warning[2]))
        cursor.execute(tally.question(quoted(table.name), quoted))
        answer = cursor.fetchone()
    if difference := tally.difference(answer or ()):
        raise _refused(snapshot, table.name, difference)


def _load_data(table: TableDef, path: str) -> str:
    """Return the LOAD DATA statement; cells of some kinds pass through a variable."""
    targets: list[str] = []
    settings: list[str] = []
    for index, column in enumerate(table.columns):
        expression = reading(column.kind, f"@c{index}")
        targets.append(f"@c{index}" if expression else quoted(column.name))
        if expression:
            settings.append(f"{quoted(column.name)} = {expression}")
    statement = f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE {quoted(table.name)} CHARACTER SET utf8mb4"
    statement += f" ({', '.join(targets)})"
    return statement + (f" SET {', '.join(settings)}" if settings else "")


def _analyze(connection: Connection[Cursor]) -> None:
    """Bring the optimizer's figures up to date, as READ mode cannot."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'")
        names = [quoted(str(row[0])) for row in cursor.fetchall()]
        if names:
            cursor.execute(f"ANALYZE TABLE {', '.join(names)}")


def _catalog(endpoint: Endpoint, snapshot: Snapshot, loading: Loading, notes: tuple[str, ...]) -> Catalog:
    """Return the catalogue of a loaded database."""
    database = snapshot.database.lower()
    with connect(endpoint, database, ADMIN) as connection:
        digest = state_digest(connection, database, loading.flavour)
        routines = read_routines(connection, snapshot, database, loading.flavour.dialect)
        spelled: dict[tuple[str, str], dict[str, str]] = {}
        with connection.cursor() as cursor:
            cursor.execute(_SPELLED, (database,))
            for table, column, declared in cursor.fetchall():
                spelled.setdefault((database, str(table)), {})[str(column)] = str(declared)
        version = connection.get_server_info()  # type: ignore[no-untyped-call]
        settings = _settings(connection, snapshot.settings_for(loading.flavour.dialect))
    driver = f"{loading.flavour.driver}://"
    engine = create_engine(driver, creator=lambda: connect(endpoint, database, ADMIN), poolclass=StaticPool)
    engine.dialect.ischema_names = {**engine.dialect.ischema_names, **loading.unknown}  # type: ignore[attr-defined]
    tables = tuple(replace(table, name=table.name.lower()) for table in snapshot.tables)
    try:
        with engine.connect() as reflected:
            return catalog_of(
                reflected,
                replace(snapshot, tables=tables),
                schemas=[database],
                database=database,
                engine_version=str(version).split("-")[0],
                type_of=loading.type_of,
                state_digest=digest,
                settings=settings,
                spelled=spelled,
                notes=notes,
                routines=routines,
                named_kinds=loading.named_kinds,
                unquoted=lambda name: name.replace("``", "`"),
            )
    finally:
        engine.dispose()


def _settings(connection: Connection[Cursor], asked: EngineSettings) -> EngineSettings:
    """Return the settings that hold for the database, what was left to the server named."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@collation_database, @@global.sql_mode, @@lower_case_table_names")
        collation, mode, folded = cursor.fetchone() or ("", "", 1)
    return EngineSettings.model_construct(
        collation=str(collation),
        sql_mode=str(mode) if asked.sql_mode is None else asked.sql_mode,
        time_zone=asked.time_zone or "UTC",
        lower_case_table_names=int(folded) if asked.lower_case_table_names is None else asked.lower_case_table_names,
        version=asked.version,
    )


def _guarded(connection: Connection[Cursor], snapshot: Snapshot, table: str, statement: str) -> None:
    """Run a statement of our own; a refusal is the snapshot's fault."""
    try:
        connection.query(statement)
    except pymysql.Error as error:
        raise _refused(snapshot, table, str(error.args[-1]) if error.args else type(error).__name__) from None


def _first_clash(snapshot: Snapshot, table: TableDef) -> InputError | None:
    """Return the fault of the first row whose key stands already, as the engine names the key and no row."""
    return first_clash(snapshot, table, snapshot.source.rows(table.name)) if snapshot.source is not None else None


def _refused(snapshot: Snapshot, table: str, message: str) -> InputError:
    """Return the engine's refusal with the table and, where the message has it, the row's place."""
    found = _ROW.search(message)
    row = int(found[1]) if found else None
    return row_fault(snapshot, table, row, f"table {table}: {message}", "Correct the row or the schema")
