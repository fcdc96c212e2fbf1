"""Read the whole state of a database, table by table, so that two states can be compared and small ones shown."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from sqlassay.cases.outcome import Changed, TableState
from sqlassay.cases.relation import Column, Kind, Relation, Row
from sqlassay.dialect_adapters.contract import Limits, Role, Session, StatementError, StateRules

SMALL = 1_000
"""Tables of at most so many rows are always read whole; of larger ones a checksum first."""

PAGE = 20_000
"""Rows of one page, where an engine has no checksum of its own."""

READING = Limits(timeout=300.0)
"""What one question of ours may use."""

OpenSession = Callable[[Role], Session]
State = tuple[TableState, ...]


def read_state(open_session: OpenSession, rules: StateRules, quote: str, limits: Limits, before: State = ()) -> State:
    """Return every table, view and aspect of the schema.

    The HARNESS login reads tables and schema; views, which hold untrusted SQL, are run as OWNER, READ ONLY and under
    `limits`. Rows of a large table are read only where its checksum is not the one in `before`.

    Raises:
        SessionLostError: the server is gone.
        StatementError: a question of our own failed.
    """
    known = {(part.part, part.name): part for part in before}
    reader = _Reader(open_session, rules)
    try:
        columns = reader.fetch(dict(rules.schema)["columns"])
        found = [tuple(None if cell is None else str(cell) for cell in row) for row in reader.fetch(rules.tables).rows]
        parts = []
        for name, schema, kind in found:
            title, target = _names(name, schema, quote)
            if kind == "t":
                names = [_quoted(str(row[1]), quote) for row in columns.rows if row[0] == title]
                parts.append(_table(reader, title, target, names, known.get(("table", title))))
        # After the rows: an engine may know a table's next automatic key only once it has opened the table.
        aspects = {name: reader.fetch(question) for name, question in rules.schema}
    finally:
        reader.close()
    for name, schema, kind in found:
        if kind == "v":
            parts.append(_view(open_session, *_names(name, schema, quote), limits))
    derived = rules.derived(aspects) if rules.derived else aspects
    return (*parts, *(_whole(name, "schema", relation) for name, relation in derived.items()))


class _Reader:
    """The HARNESS login that asks our questions; one that passed a limit leaves the connection out of step."""

    def __init__(self, open_session: OpenSession, rules: StateRules) -> None:
        """Log in."""
        self.rules = rules
        self._open = open_session
        self._session = self._login()

    def _login(self) -> Session:
        """Return a session that reads."""
        session = self._open(Role.HARNESS)
        try:
            session.begin_read(READING)
            for statement in self.rules.prepare:
                session.fetch(statement, READING)
        except BaseException:  # whatever it is, the login must not be left behind
            session.close()
            raise
        return session

    def fetch(self, question: str) -> Relation:
        """Return what one question gives; after a failure the next one finds a fresh login."""
        try:
            return self._session.fetch(question, READING)
        except StatementError:
            self._session.close()
            self._session = self._login()
            raise

    def close(self) -> None:
        """Leave; nothing was written, so there is nothing to undo."""
        self._session.close()


def _names(name: str | None, schema: str | None, quote: str) -> tuple[str, str]:
    """Return how a table is called, and how it is named in SQL."""
    parts = [part for part in (schema, name) if part]
    return ".".join(parts), ".".join(_quoted(part, quote) for part in parts)


def known_tables(state: State) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return every table and view of a state with its columns."""
    columns = next(part.relation for part in state if part.part == "schema" and part.name == "columns")
    tables: dict[str, list[str]] = {}
    for row in columns.rows if columns else ():
        tables.setdefault(str(row[0]), []).append(str(row[1]))
    for part in state:
        if part.part == "view" and part.relation is not None:
            tables.setdefault(part.name, [column.name for column in part.relation.columns])
    return tuple((name, tuple(names)) for name, names in tables.items())


def changed(before: State, after: State, seconds: float) -> Changed:
    """Return what a statement left, and which parts it touched."""
    old = {(part.part, part.name): part.digest for part in before}
    new = {(part.part, part.name) for part in after}
    touched = [part.title for part in after if old.get((part.part, part.name)) != part.digest]
    touched += [part.title for part in before if (part.part, part.name) not in new]
    return Changed(after, tuple(touched), (), seconds, known_tables(before))


def _table(reader: _Reader, name: str, target: str, columns: list[str], before: TableState | None) -> TableState:
    """Return one table: whole where it is small or was changed, else by its checksum."""
    count = int(str(reader.fetch(f"SELECT count(*) FROM {target}").rows[0][0]))  # noqa: S608 - a quoted name
    everything = f"SELECT * FROM {target}"  # noqa: S608 - a quoted name
    if count <= SMALL:
        with contextlib.suppress(StatementError):  # few rows, but past the byte limit
            return _whole(name, "table", reader.fetch(everything))
    if reader.rules.checksum is not None:
        digest = repr(reader.fetch(reader.rules.checksum(target, columns)).rows)
    else:
        digest = _paged(reader, everything, count)
    state = TableState(name, "table", count, hashlib.sha256(digest.encode()).hexdigest())
    if before is None or before.digest == state.digest or count <= SMALL:
        return state
    with contextlib.suppress(StatementError):  # past the row or byte limit: the checksum alone stands for it
        return replace(state, relation=reader.fetch(everything))
    return state


def _paged(reader: _Reader, question: str, count: int) -> str:
    """Return the digest of a large table from its pages; the order of rows does not matter."""
    pages = range(0, count, PAGE)
    return str(sum(_sum(reader.fetch(f"{question} LIMIT {PAGE} OFFSET {start}").rows) for start in pages))


def _view(open_session: OpenSession, name: str, target: str, limits: Limits) -> TableState:
    """Return what a view shows; one that cannot be read in time or at all says why."""
    session = open_session(Role.OWNER)
    try:
        session.begin_read(limits)
        relation = session.fetch(f"SELECT * FROM {target}", limits)  # noqa: S608 - a quoted name
        session.rollback()
    except StatementError as error:
        return TableState(name, "view", 0, f"failed: {error.kind}", failure=error.message)
    finally:
        session.close()
    return _whole(name, "view", relation)


def _whole(name: str, part: str, relation: Relation) -> TableState:
    """Return a part whose rows are all here."""
    digest = hashlib.sha256(f"{[c.name for c in relation.columns]}{_sum(relation.rows)}".encode()).hexdigest()
    kind: dict[str, object] = {"part": part}
    return replace(TableState(name, "table", len(relation.rows), digest, relation), **kind)  # type: ignore[arg-type]


def _sum(rows: Iterable[Row]) -> int:
    """Return a sum over the hashes of rows, whatever their order."""
    return sum(int.from_bytes(hashlib.sha256(repr(row).encode()).digest()) for row in rows) % 2**256


def _quoted(name: str, quote: str) -> str:
    """Return a quoted identifier."""
    return quote + name.replace(quote, quote * 2) + quote


def relation_of(names: tuple[str, ...], rows: Iterable[Row]) -> Relation:
    """Return an aspect of the schema that was worked out rather than asked."""
    return Relation(tuple(Column(name, Kind.TEXT) for name in names), tuple(rows))


Aspects = Mapping[str, Relation]
