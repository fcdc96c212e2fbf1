"""Read the whole state of a database, table by table, so that two states can be compared and small ones shown."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from cases.outcome import Changed, TableState
from cases.relation import Column, Kind, Relation, Row
from dialect_adapters.contract import Limits, Role, Session, StatementError, StateRules

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
    session = open_session(Role.HARNESS)
    try:
        session.begin_read(READING)
        for statement in rules.prepare:
            session.fetch(statement, READING)
        columns = session.fetch(dict(rules.schema)["columns"], READING)
        found = [tuple(str(cell) if cell is not None else None for cell in row) for row in _listed(session, rules)]
        parts = []
        for name, schema, kind in found:
            title = f"{schema}.{name}" if schema else f"{name}"
            target = ".".join(_quoted(word, quote) for word in (schema, name) if word)
            if kind == "t":
                names = [_quoted(str(row[1]), quote) for row in columns.rows if row[0] == title]
                parts.append(_table(session, title, target, names, rules, known.get(("table", title))))
        # After the rows: an engine may know a table's next automatic key only once it has opened the table.
        aspects = {name: session.fetch(question, READING) for name, question in rules.schema}
        session.rollback()
    finally:
        session.close()
    for name, schema, kind in found:
        if kind == "v":
            target = ".".join(_quoted(word, quote) for word in (schema, name) if word)
            parts.append(_view(open_session, f"{schema}.{name}" if schema else f"{name}", target, limits))
    derived = rules.derived(aspects) if rules.derived else aspects
    return (*parts, *(_whole(name, "schema", relation) for name, relation in derived.items()))


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


def _listed(session: Session, rules: StateRules) -> tuple[Row, ...]:
    """Return name, schema and kind of every table and view."""
    return session.fetch(rules.tables, READING).rows


def _table(
    session: Session, name: str, target: str, columns: list[str], rules: StateRules, before: TableState | None
) -> TableState:
    """Return one table: whole where it is small or was changed, else by its checksum."""
    count = int(str(session.fetch(f"SELECT count(*) FROM {target}", READING).rows[0][0]))  # noqa: S608 - a quoted name
    everything = f"SELECT * FROM {target}"  # noqa: S608 - a quoted name
    if count <= SMALL:
        return _whole(name, "table", session.fetch(everything, READING))
    if rules.checksum is not None:
        digest = repr(session.fetch(rules.checksum(target, columns), READING).rows)
    else:
        digest = _paged(session, everything, count)
    state = TableState(name, "table", count, hashlib.sha256(digest.encode()).hexdigest())
    if before is None or before.digest == state.digest:
        return state
    try:
        return replace(state, relation=session.fetch(everything, READING))
    except StatementError:
        return state  # past the row or byte limit: the checksum alone stands for it


def _paged(session: Session, question: str, count: int) -> str:
    """Return the digest of a large table from its pages; the order of rows does not matter."""
    pages = range(0, count, PAGE)
    return str(sum(_sum(session.fetch(f"{question} LIMIT {PAGE} OFFSET {start}", READING).rows) for start in pages))


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
