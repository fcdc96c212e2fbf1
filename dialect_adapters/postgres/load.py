"""Fill an empty Postgres server with snapshots: databases, rows, keys, readers; prove that nothing was lost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import psycopg
from psycopg import sql
from sqlalchemy import create_engine
from sqlalchemy.dialects import postgresql
from sqlalchemy.pool import StaticPool

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import Row
from sqlassay.cases.settings import BINARY, DEFAULT, EngineSettings
from sqlassay.cases.snapshot import ForeignKey, Snapshot, TableDef
from sqlassay.cases.sources.schema import row_fault
from sqlassay.dialect_adapters.contract import Endpoint, Role
from sqlassay.dialect_adapters.ddl import table_ddl
from sqlassay.dialect_adapters.names import NameRules, check_names
from sqlassay.dialect_adapters.postgres import harden
from sqlassay.dialect_adapters.postgres.digest import state_digest
from sqlassay.dialect_adapters.postgres.routines import entitle_routines, read_routines
from sqlassay.dialect_adapters.postgres.scripts import run_script
from sqlassay.dialect_adapters.postgres.session import ADMIN, MAINTENANCE, connect, file_copy, login_name
from sqlassay.dialect_adapters.postgres.types import copy_cell, type_of
from sqlassay.dialect_adapters.reflect import catalog_of
from sqlassay.dialect_adapters.tally import Tally, check_loadable

Connection: TypeAlias = psycopg.Connection[tuple[object, ...]]

_CHUNK = 65536
_LONGEST_NAME = 56
_UNIQUE = "23505"
_ICU = "-x-icu"
# Columns of several versions: what one of them lacks is NULL in the row as JSON.
_COLLATION = (
    "SELECT CASE j->>'datlocprovider' WHEN 'i' THEN coalesce(j->>'datlocale', j->>'daticulocale') || '-x-icu' "
    "WHEN 'b' THEN j->>'datlocale' ELSE j->>'datcollate' END FROM (SELECT to_jsonb(d) j FROM pg_database d "
    "WHERE datname = current_database()) one"
)
NAMES = NameRules("Postgres", 63, "bytes", str.lower)
_ROW = re.compile(r"COPY .*, line (\d+)(?:, column (.*?)(?::|$))?")
_SCHEMAS = (
    "SELECT nspname::text FROM pg_namespace WHERE nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') "
    "AND nspname !~ '^pg_temp' ORDER BY nspname <> 'public', nspname"
)
_SPELLED = (
    "SELECT n.nspname::text, c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod) "
    "FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND a.attnum > 0 AND NOT a.attisdropped "
    "AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
)
_VISIBLE = (
    "SELECT format('%%I.%%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relkind IN ('r', 'm', 'p', 'v') AND n.nspname NOT IN ('pg_catalog', 'information_schema') "
    "AND n.nspname !~ '^pg_(toast|temp)' AND lower(c.relname) = ANY (%s) ORDER BY 1"
)
_RELATIONS = (
    "SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relkind IN ('r', 'm', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema') "
    "AND n.nspname !~ '^pg_(toast|temp)' ORDER BY 1"
)


def load(endpoint: Endpoint, snapshots: Sequence[Snapshot]) -> tuple[Catalog, ...]:
    """Load every snapshot into a database of its own and return their catalogues.

    Raises:
        InputError: a snapshot that cannot be loaded whole.
    """
    snapshots = [snapshot.on("postgres") for snapshot in snapshots]
    for snapshot in snapshots:
        check_loadable(snapshot, "postgres")
        check_names(snapshot, NAMES)
    for name in ("template1", MAINTENANCE):
        with connect(endpoint, name, ADMIN) as connection:
            # Once: a second time would move rows in the catalogues that every later database copies.
            if connection.execute(harden.IS_OPEN).fetchone() == (True,):
                _admin(connection, harden.template_statements())
                _admin(connection, harden.database_statements(name))
                # Here and not in each database: what is copied from a frozen template is frozen.
                _admin(connection, "VACUUM (ANALYZE, FREEZE)")
    with connect(endpoint, MAINTENANCE, ADMIN) as maintenance:
        notes = [_fill(endpoint, maintenance, snapshot) for snapshot in snapshots]
    # Digests last: they cover the logins, which are the whole server's.
    return tuple(_catalog(endpoint, one, told) for one, told in zip(snapshots, notes, strict=True))


def _fill(endpoint: Endpoint, maintenance: Connection, snapshot: Snapshot) -> tuple[str, ...]:
    """Create one database, its rows and its logins; return what of its scripts was left out."""
    notes: list[str] = []
    database = database_name(snapshot)
    quoted = _quoted(database)
    _create(endpoint, maintenance, snapshot)
    _admin(maintenance, harden.database_statements(quoted))
    password = sql.Literal(endpoint.password).as_string(maintenance)
    for role in (Role.READER, Role.WRITER, Role.OWNER):
        login = _quoted(login_name(database, role))
        _admin(maintenance, harden.role(login, password, reads_only=role is Role.READER))
    with connect(endpoint, database, ADMIN) as connection:
        _tables(connection, snapshot)
        for script in snapshot.scripts.get("postgres", ()):
            notes += run_script(connection, script)
            _admin(connection, "RESET ALL")
        entitle(connection, database)
        roles = [Role.READER, Role.WRITER, Role.OWNER]
        if snapshot.visible is not None:
            roles.append(Role.GUEST)
            _invite(connection, database, snapshot.visible, password)
        logins = [_quoted(login_name(database, role)) for role in roles]
        entitle_routines(connection, read_routines(connection, snapshot), logins)
        _settle(connection)
    return tuple(notes)


def _create(endpoint: Endpoint, maintenance: Connection, snapshot: Snapshot) -> None:
    """Create the database: a copy of the hardened template, or of the empty one where text sorts another way.

    Raises:
        InputError: a collation or a time zone that this server does not have.
    """
    database, asked = database_name(snapshot), snapshot.settings_for("postgres")
    # Copied as files: through the log, every database's catalogues would be written twice.
    statement = f"CREATE DATABASE {_quoted(database)}{file_copy(maintenance)}"
    other = asked.collation not in (None, DEFAULT, BINARY)
    try:
        if asked.time_zone is not None:
            _admin(maintenance, f"SET TimeZone = '{asked.time_zone}'")
            _admin(maintenance, "RESET TimeZone")
        _admin(maintenance, statement + (f" TEMPLATE template0 {_locale(str(asked.collation))}" if other else ""))
    except psycopg.Error as error:
        message = error.diag.message_primary or str(error)
        remedy = "Leave it out, or name a collation such as en_US.utf8 or en-US-x-icu that this server has"
        raise InputError(message, file=snapshot.id, field="settings.postgres", remedy=remedy) from None
    if other:
        with connect(endpoint, database, ADMIN) as connection:
            _admin(connection, harden.template_statements())


def _locale(collation: str) -> str:
    """Return what CREATE DATABASE is told of a collation; a locale of the system without an encoding is UTF-8."""
    if collation.endswith(_ICU):
        return f"LOCALE_PROVIDER icu ICU_LOCALE '{collation.removesuffix(_ICU)}' LOCALE 'C'"
    encoded = collation if "." in collation or collation in ("C", "POSIX") else f"{collation}.utf8"
    return f"LOCALE_PROVIDER libc LOCALE '{encoded}'"


def unload(endpoint: Endpoint, databases: Sequence[str]) -> None:
    """Remove databases and their logins, by the names in their catalogues, from a BUILD-mode server."""
    with connect(endpoint, MAINTENANCE, ADMIN) as connection:
        for database in databases:
            _admin(connection, f"DROP DATABASE {_quoted(database)} WITH (FORCE)")
            for role in (Role.READER, Role.WRITER, Role.OWNER):
                _admin(connection, f"DROP ROLE {_quoted(login_name(database, role))}")
            _admin(connection, f"DROP ROLE IF EXISTS {_quoted(login_name(database, Role.GUEST))}")


def entitle(connection: Connection, database: str) -> None:
    """Give a database's logins their rights on every table there is; setup SQL that makes more asks again."""
    schemas = [_quoted(str(schema)) for (schema,) in connection.execute(_SCHEMAS).fetchall()]
    reader, writer, owner = (_quoted(login_name(database, role)) for role in (Role.READER, Role.WRITER, Role.OWNER))
    _admin(connection, harden.reader_grants(_quoted(database), reader, schemas))
    _admin(connection, harden.writer_grants(_quoted(database), writer, owner, schemas))


def _invite(connection: Connection, database: str, visible: Sequence[str], password: str) -> None:
    """Make the login of predictions that may read some tables alone, with rights on these."""
    guest = _quoted(login_name(database, Role.GUEST))
    schemas = [_quoted(str(schema)) for (schema,) in connection.execute(_SCHEMAS).fetchall()]
    relations = [str(name) for (name,) in connection.execute(_VISIBLE, [list(visible)]).fetchall()]
    _admin(connection, harden.role(guest, password, reads_only=True))
    _admin(connection, harden.guest_grants(_quoted(database), guest, schemas, relations))


def _settle(connection: Connection) -> None:
    """Count the database's own relations for the planner and freeze what is new, so that no reader writes to it.

    The catalogues' own statistics are the template's: to gather them anew would cost most of a small database's load.
    """
    own = [str(name) for (name,) in connection.execute(_RELATIONS).fetchall()]
    if own:
        _admin(connection, f"ANALYZE {', '.join(own)}")
    _admin(connection, "VACUUM (FREEZE)")


def _tables(connection: Connection, snapshot: Snapshot) -> None:
    """Create the tables of our own schema and fill them; references only once every row is there."""
    tables = tuple(lowered(table) for table in snapshot.tables)
    references = snapshot.enforce_foreign_keys
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    spelled = table_ddl(tables, type_of, dialect, foreign_keys=references)
    for original, table, ddl in zip(snapshot.tables, tables, spelled, strict=True):
        _guarded(connection, snapshot, table.name, ddl.create)
        if snapshot.source is not None:
            _copy(connection, snapshot, table, snapshot.source.rows(original.name))
        for statement in ddl.indexes:
            _guarded(connection, snapshot, table.name, statement)
    for table, ddl in zip(tables, spelled, strict=True):
        for statement in ddl.foreign_keys:
            _guarded(connection, snapshot, table.name, statement)


def _copy(connection: Connection, snapshot: Snapshot, table: TableDef, rows: Iterator[Row]) -> None:
    """Send a table's rows by COPY and compare counts and sums afterwards."""
    tally = Tally(table)
    columns = sql.SQL(", ").join(sql.Identifier(column.name) for column in table.columns)
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table.name), columns)
    try:
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            for chunk in _chunks(table, tally.watch(rows)):
                copy.write(chunk)
        target = _quoted(table.name)
        answer = connection.execute(tally.question(target, _quoted).encode()).fetchone()
    except psycopg.Error as error:
        raise _refused(snapshot, table.name, error) from None
    except UnicodeEncodeError:
        message = f"table {table.name}: row {tally.rows} holds text that is no Unicode"
        raise row_fault(snapshot, original_name(snapshot, table.name), tally.rows, message, "Correct it") from None
    if difference := tally.difference(answer or ()):
        remedy = "Correct the column's declared kind or size"
        name = original_name(snapshot, table.name)
        raise row_fault(snapshot, name, None, f"table {table.name}: {difference}", remedy)


def _chunks(table: TableDef, rows: Iterator[Row]) -> Iterator[str]:
    """Yield COPY text in pieces of about 64 KB."""
    kinds = [column.kind for column in table.columns]
    lines: list[str] = []
    size = 0
    for row in rows:
        line = "\t".join(copy_cell(cell, kind) for cell, kind in zip(row, kinds, strict=True)) + "\n"
        lines.append(line)
        size += len(line)
        if size > _CHUNK:
            yield "".join(lines)
            lines, size = [], 0
    yield "".join(lines)


def _catalog(endpoint: Endpoint, snapshot: Snapshot, notes: tuple[str, ...]) -> Catalog:
    """Return the catalogue of a loaded database."""
    database = database_name(snapshot)
    with connect(endpoint, database, ADMIN) as connection:
        schemas = [str(schema) for (schema,) in connection.execute(_SCHEMAS).fetchall()]
        version = connection.info.parameter_status("server_version") or ""
        digest = state_digest(connection)
        routines = read_routines(connection, snapshot)
        spelled: dict[tuple[str, str], dict[str, str]] = {}
        for schema, table, column, declared in connection.execute(_SPELLED).fetchall():
            spelled.setdefault((str(schema), str(table)), {})[str(column)] = str(declared)
        asked = snapshot.settings_for("postgres")
        (collation,) = connection.execute(_COLLATION).fetchone() or ("",)
        settings = EngineSettings(collation=str(collation), time_zone=asked.time_zone or "UTC", version=asked.version)
        engine = create_engine("postgresql+psycopg://", creator=lambda: connection, poolclass=StaticPool)
        try:
            with engine.connect() as reflected:
                return catalog_of(
                    reflected,
                    replace(snapshot, tables=tuple(lowered(table) for table in snapshot.tables)),
                    schemas=schemas,
                    database=database,
                    engine_version=version.split(" ")[0],
                    type_of=type_of,
                    state_digest=digest,
                    settings=settings,
                    spelled=spelled,
                    notes=notes,
                    routines=routines,
                )
        finally:
            engine.dispose()


def database_name(snapshot: Snapshot) -> str:
    """Return the database's name on Postgres: lower-case.

    Raises:
        InputError: a name whose login would be cut.
    """
    name = snapshot.database.lower()
    if len(name.encode()) > _LONGEST_NAME:
        raise InputError(
            f"database name '{name}' is longer than {_LONGEST_NAME} bytes", file=snapshot.id, remedy="Shorten it."
        )
    return name


def lowered(table: TableDef) -> TableDef:
    """Return a table with lower-case names, as unquoted names in SQL are folded."""
    return replace(
        table,
        name=table.name.lower(),
        columns=tuple(replace(column, name=column.name.lower()) for column in table.columns),
        primary_key=_folded(table.primary_key),
        unique=tuple(_folded(key) for key in table.unique),
        indexes=tuple(_folded(key) for key in table.indexes),
        foreign_keys=tuple(
            ForeignKey(_folded(key.columns), key.table.lower(), _folded(key.references)) for key in table.foreign_keys
        ),
    )


def _folded(names: Sequence[str]) -> tuple[str, ...]:
    """Return names in lower case."""
    return tuple(name.lower() for name in names)


def _quoted(name: str) -> str:
    """Return an identifier quoted always, as a name may be a keyword."""
    return '"' + name.replace('"', '""') + '"'


def _admin(connection: Connection, statement: str) -> None:
    """Run our own statements."""
    connection.execute(statement.encode())


def _guarded(connection: Connection, snapshot: Snapshot, table: str, statement: str) -> None:
    """Run a schema statement; a refusal is the snapshot's fault."""
    try:
        connection.execute(statement.encode())
    except psycopg.Error as error:
        raise _refused(snapshot, table, error) from None


def _refused(snapshot: Snapshot, table: str, error: psycopg.Error) -> InputError:
    """Return the engine's refusal with the table and, where COPY gives it, the row."""
    detail = error.diag.message_primary or str(error)
    if error.diag.message_detail and error.sqlstate == _UNIQUE:
        detail = f"{detail} ({error.diag.message_detail})"
    found = _ROW.search((error.diag.context or "").partition("\n")[0])
    named = f"table {table}, column {found[2]}" if found and found[2] else f"table {table}"
    row = int(found[1]) if found else None
    return row_fault(
        snapshot, original_name(snapshot, table), row, f"{named}: {detail}", "Correct the row or the schema"
    )


def original_name(snapshot: Snapshot, table: str) -> str:
    """Return a table's name as the snapshot spells it."""
    return next(one.name for one in snapshot.tables if one.name.lower() == table)
