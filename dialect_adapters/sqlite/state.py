"""How the state of a SQLite database is read: schema as relations, what only the text says included, trusted setup."""

# ruff: noqa: S608 (every question is put together from constants of our own and quoted names)

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence

from sqlassay.cases.errors import GoldBrokenError
from sqlassay.cases.relation import Column, Kind, Relation, Row
from sqlassay.dialect_adapters.contract import Endpoint, Limits, Pins, Role, StatementError, StateRules
from sqlassay.dialect_adapters.sqlite.session import SqliteSession

_OWN = "m.name NOT LIKE 'sqlite!_%' ESCAPE '!'"

# Of tables alone: asking for the columns of a view whose table is gone is an error, and a view shows its own.
_COLUMNS = f"""
SELECT m.name AS table_name, x.name AS column_name, upper(x.type) AS type, x."notnull" AS not_null,
  CASE WHEN upper(x.dflt_value) <> 'NULL' THEN x.dflt_value END AS column_default, x.pk AS primary_key,
  x.hidden AS generated, x.cid AS position
FROM sqlite_master m, pragma_table_xinfo(m.name) x
WHERE m.type = 'table' AND {_OWN} ORDER BY m.name, x.cid
"""
_TABLES = (
    "SELECT name AS table_name, type AS kind, wr AS without_rowid, strict FROM pragma_table_list WHERE schema = 'main'"
)
_FOREIGN_KEYS = f"""
SELECT m.name AS table_name, f."table" AS referenced, group_concat(f."from" || '>' || coalesce(f."to", '')) AS columns,
  f.on_update, f.on_delete
FROM sqlite_master m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table' AND {_OWN} GROUP BY m.name, f.id
"""
_INDEXES = """
SELECT m.name AS table_name, CASE i.origin WHEN 'c' THEN i.name ELSE '' END AS index_name, i."unique" AS is_unique,
  i.origin, (SELECT group_concat(coalesce(x.name, '?') || ' ' || x."desc" || ' ' || x.coll)
    FROM pragma_index_xinfo(i.name) x WHERE x.key) AS indexed,
  CASE WHEN i.partial OR (SELECT count(*) FROM pragma_index_xinfo(i.name) x WHERE x.cid = -2)
    THEN (SELECT s.sql FROM sqlite_master s WHERE s.name = i.name) END AS definition
FROM sqlite_master m, pragma_index_list(m.name) i WHERE m.type = 'table'
"""
_SQL = f"SELECT m.tbl_name, m.type, m.name, m.sql FROM sqlite_master m WHERE m.sql IS NOT NULL AND {_OWN}"
_LISTED = f"""
SELECT m.name, NULL, CASE m.type WHEN 'view' THEN 'v' ELSE 't' END FROM sqlite_master m
WHERE m.type IN ('table', 'view') AND (m.name = 'sqlite_sequence' OR {_OWN}) ORDER BY m.name
"""
_TOKEN = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*` | \[[^\]]*\] | --[^\n]* | /\*.*?\*/ | \w+ | \S""",
    re.VERBOSE | re.DOTALL,
)


_TABLE_CONSTRAINTS = ("primary", "unique", "check", "foreign")
_NAMED_KIND = {"primary": ("primary", "key"), "null": ("not", "null"), ")": ("check",)}


def _derived(aspects: Mapping[str, Relation]) -> Mapping[str, Relation]:
    """Replace the texts of the schema by what only they say: checks, automatic keys, generated values, triggers."""
    rows = sorted({row for text in aspects["sql"].rows for row in _told(text)}, key=repr)
    told = Relation(tuple(Column(name, Kind.TEXT) for name in ("table_name", "kind", "definition")), tuple(rows))
    return {name: relation for name, relation in aspects.items() if name != "sql"} | {"constraints": told}


def _told(text: Row) -> Iterator[Row]:
    """Yield what one object's text says beyond the pragmas; a trigger counts by its whole text."""
    table, kind, _, sql = (str(cell) for cell in text)
    words = tuple(_words(sql))
    if kind == "trigger":
        yield (table, "trigger", " ".join(words))
    if kind != "table":
        return
    for index, word in enumerate(words):
        if word == "autoincrement":
            yield (table, word, "")
        elif word == "deferrable" and words[index + 1 : index + 3] == ("initially", "deferred"):
            if words[index - 1] != "not":
                yield (table, word, "initially deferred")
        elif words[index - 1 : index + 1] == ("on", "conflict"):
            yield (table, "on conflict", _conflict(words, index - 1))
        elif word == "collate":
            yield (table, word, words[index + 1] if index + 1 < len(words) else "")
        elif word in ("check", "as") and words[index + 1 : index + 2] == ("(",):
            yield (table, word, " ".join(_group(words, index + 1)))


def _conflict(words: Sequence[str], place: int) -> str:
    """Return which constraint's conflict clause stands at a place, and what it says."""
    start, depth = place, 0
    while start > 0 and not (depth == 0 and words[start - 1] in (",", "(")):
        start -= 1
        depth += (words[start] == ")") - (words[start] == "(")
    told = list(words[start:place])
    if told and told[0] == "constraint":
        told = told[2:]
    if told and told[0] in _TABLE_CONSTRAINTS:
        return " ".join([*told, words[place + 2]])
    kind = "primary" if words[place - 2 : place] == ("primary", "key") else words[place - 1]
    return " ".join([*_NAMED_KIND.get(kind, (kind,)), "(", *told[:1], ")", words[place + 2]])


def _words(sql: str) -> Iterator[str]:
    """Yield a text's words, lower-cased outside quotes; comments and blanks say nothing."""
    for token in _TOKEN.findall(sql):
        if not token.startswith(("--", "/*")):
            yield token if token.startswith("'") else token.strip('"`[]').lower()


def _group(words: Sequence[str], start: int) -> Sequence[str]:
    """Return the words of a parenthesis from its opening to its end."""
    depth = 0
    for index in range(start, len(words)):
        depth += (words[index] == "(") - (words[index] == ")")
        if depth == 0:
            return words[start : index + 1]
    return words[start:]


STATE = StateRules(
    tables=_LISTED,
    schema=(
        ("columns", _COLUMNS),
        ("tables", _TABLES),
        ("foreign keys", _FOREIGN_KEYS),
        ("indexes", _INDEXES),
        ("sql", _SQL),
    ),
    derived=_derived,
)
"""Automatic keys are the rows of sqlite_sequence; views are read by what they show, not by their text."""


def set_up(endpoint: Endpoint, database: str, scripts: Sequence[str], pins: Pins) -> None:
    """Run trusted SQL as the owner, one statement after another: tables, views, indexes and rows, no triggers.

    Raises:
        GoldBrokenError: a statement failed.
    """
    limits = Limits(timeout=300.0)
    for statement in (one for script in scripts for one in _statements(script)):
        session = SqliteSession(endpoint, database, Role.OWNER, pins)
        try:
            session.begin_write(limits)
            session.fetch(statement, limits)
            session.commit()
        except StatementError as error:
            raise GoldBrokenError(f"setup_sql failed: {error.message}") from None
        finally:
            session.close()


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a text; a semicolon inside a literal or a trigger ends none."""
    pending = ""
    for piece in re.split(r"(?<=;)", script):
        pending += piece
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        yield pending
