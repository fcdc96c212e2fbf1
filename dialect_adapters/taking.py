"""Take the tables of a live database: read once in one read-only transaction, as text that loses nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any, Protocol, runtime_checkable

import sqlalchemy
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError, SAWarning, SQLAlchemyError
from sqlalchemy.types import NullType, TypeEngine

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.relation import Kind
from sqlassay.cases.settings import EngineSettings
from sqlassay.cases.snapshot import ColumnDef, ForeignKey, TableDef
from sqlassay.dialect_adapters.reflect import column_kind

_KEPT = frozenset({kind for kind in Kind if kind not in (Kind.OTHER, Kind.ARRAY, Kind.BITS, Kind.TIMETZ)})
_BATCH = 2_000


@dataclass(frozen=True, slots=True)
class Native:
    """A database written as a script for its own engine: tables, rows, settings, and what no statement carries."""

    tables: tuple[str, ...]
    rows: int
    settings: EngineSettings
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TakingRules:
    """How an engine is asked for its rows: the driver, what opens the transaction, and each kind as text.

    `text` has one `{}` for the column; `by_kind` holds the kinds that need more. `named` says what a type's name means.
    `native` writes the whole database as a script of its own engine. `odd` is the text of a column whose type
    SQLAlchemy does not know, `unknown` are such types by name that it is to read as another.
    """

    driver: str
    begin: tuple[str, ...]
    text: str
    by_kind: Mapping[Kind, str] = field(default_factory=dict)
    named: Mapping[str, Kind] = field(default_factory=dict)
    native: Callable[[Connection, IO[bytes]], Native] | None = None
    odd: str = ""
    unknown: Mapping[str, type[TypeEngine[Any]]] = field(default_factory=dict)


@runtime_checkable
class Takeable(Protocol):
    """An adapter whose live databases can be taken as snapshots."""

    @property
    def taking(self) -> TakingRules:
        """Return how the engine is asked."""
        ...


@dataclass(frozen=True, slots=True)
class LiveDatabase:
    """An open read-only transaction on somebody's database: its tables, and their rows as CSV fields."""

    tables: tuple[TableDef, ...]
    notes: tuple[str, ...]
    _connection: Connection
    _rules: TakingRules
    _schema: str | None
    _odd: frozenset[tuple[str, str]] = frozenset()

    def write_native(self, out: IO[bytes]) -> Native | None:
        """Write the whole database as a script for its own engine; None where the engine has no such way.

        Raises:
            InfrastructureError: the server refused or went away.
        """
        if self._rules.native is None:
            return None
        try:
            return self._rules.native(self._connection, out)
        except SQLAlchemyError as error:
            raise _refused(self._connection.engine.url, error) from None

    def _asked(self, table: str, column: ColumnDef) -> str:
        """Return how a column is asked for as text."""
        if self._rules.odd and (table, column.name) in self._odd:
            return self._rules.odd
        return self._rules.by_kind.get(column.kind, self._rules.text)

    def rows(self, table: TableDef) -> Iterator[tuple[str | None, ...]]:
        """Yield a table's rows, each cell as its kind is written in our CSV files, None for NULL.

        Raises:
            InfrastructureError: the server refused or went away.
        """
        quoted = self._connection.dialect.identifier_preparer.quote_identifier
        cells = [self._asked(table.name, column).format(quoted(column.name)) for column in table.columns]
        source = ".".join(quoted(part) for part in (self._schema, table.name) if part)
        statement = sqlalchemy.text(f"SELECT {', '.join(cells)} FROM {source}".replace(":", "\\:"))  # noqa: S608
        try:
            # Of the statement, not of the connection, which would keep them: only a query can be streamed.
            found = self._connection.execute(statement.execution_options(stream_results=True, yield_per=_BATCH))
            for row in found:
                yield tuple(None if cell is None else str(cell) for cell in row)
        except SQLAlchemyError as error:
            raise _refused(self._connection.engine.url, error) from None


@contextmanager
def live_database(uri: str, rules: TakingRules, *, tables: Sequence[str] = ()) -> Iterator[LiveDatabase]:
    """Open a database read-only, reflect its tables (all, or those named) and give it; closed on every way out.

    Raises:
        InputError: a malformed URI, or a table that is not there. InfrastructureError: the server does not answer.
    """
    url = _url(uri, rules)
    engine = sqlalchemy.create_engine(url)
    known: Any = engine.dialect
    known.ischema_names = {**known.ischema_names, **rules.unknown}
    try:
        with engine.connect() as connection:
            for statement in rules.begin:
                connection.exec_driver_sql(statement)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Did not recognize type", SAWarning)
                live = _reflected(connection, rules, tables)
            yield live
            connection.rollback()
    except SQLAlchemyError as error:
        raise _refused(url, error) from None
    finally:
        engine.dispose()


def _url(uri: str, rules: TakingRules) -> URL:
    """Return the URI with our driver; it is never repeated in a message, as it may hold a password."""
    try:
        url = make_url(uri)
    except ArgumentError:
        remedy = "Write postgresql://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE"
        raise InputError("not a connection URI", field="--from", remedy=remedy) from None
    if not url.database:
        raise InputError("the URI names no database", field="--from", remedy="End it with /DATABASE")
    return url.set(drivername=rules.driver)


def _spelled(declared: Any) -> str:
    """Return a type's name for a note; one that SQLAlchemy does not know is told as what it is to us."""
    return "of a type of its own" if isinstance(declared, NullType) else type(declared).__name__.lower()


def _refused(url: URL, error: Exception) -> InfrastructureError:
    """Say what the server said, without the URI and its secrets."""
    said = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
    secret = str(url.password or "")
    text = said.replace(secret, "***") if secret else said
    message = f"database '{url.database}' cannot be read: {text}"
    return InfrastructureError(message, remedy="Check the URI and that the login may read its tables")


def _reflected(connection: Connection, rules: TakingRules, wanted: Sequence[str]) -> LiveDatabase:
    """Return the tables of the connection's own schema with keys and kinds."""
    inspector = sqlalchemy.inspect(connection)
    schema = inspector.default_schema_name
    names = inspector.get_table_names()
    missing = [name for name in wanted if name not in names]
    if missing:
        remedy = f"Tables: {', '.join(sorted(names)[:20]) or 'none'}"
        raise InputError(f"no table '{missing[0]}'", field="--tables", remedy=remedy)
    chosen = [name for name in names if not wanted or name in wanted]
    if not chosen and rules.native is None:
        raise InputError("the database has no table", field="--from", remedy="Name one that holds data")
    notes: list[str] = [f"view '{name}' is not carried to other engines" for name in inspector.get_view_names()]
    tables = tuple(_table(inspector, name, set(chosen), rules, notes) for name in chosen)
    odd = frozenset(
        (name, str(column["name"]))
        for name in chosen
        for column in inspector.get_columns(name)
        if isinstance(column["type"], NullType)
    )
    return LiveDatabase(tables, tuple(notes), connection, rules, schema, odd)


def _table(inspector: Any, name: str, chosen: set[str], rules: TakingRules, notes: list[str]) -> TableDef:
    """Return one table's definition; a kind that our CSV files cannot spell is taken as text, with a note."""
    columns = []
    for column in inspector.get_columns(name):
        kind = column_kind(column["type"], rules.named)
        if kind not in _KEPT:
            notes.append(
                f"column '{name}.{column['name']}' ({_spelled(column['type'])}) is carried to other engines as text"
            )
            kind = Kind.TEXT
        length = getattr(column["type"], "length", None)
        numeric = kind is Kind.DECIMAL
        columns.append(
            ColumnDef(
                column["name"],
                kind,
                bool(column["nullable"]),
                length if kind in (Kind.CHAR, Kind.TEXT) and isinstance(length, int) else None,
                getattr(column["type"], "precision", None) if numeric else None,
                getattr(column["type"], "scale", None) if numeric else None,
            )
        )
    keys = tuple(
        ForeignKey(tuple(key["constrained_columns"]), key["referred_table"], tuple(key["referred_columns"]))
        for key in inspector.get_foreign_keys(name)
        if key["referred_table"] in chosen and not key.get("referred_schema")
    )
    unique = tuple(tuple(one["column_names"]) for one in inspector.get_unique_constraints(name))
    primary = tuple(inspector.get_pk_constraint(name).get("constrained_columns") or ())
    return TableDef(name, tuple(columns), primary, unique, keys)
