"""Which statements each role may run: the engine names a text's type, and the text itself what it makes or drops."""

from __future__ import annotations

import re

import duckdb

WRITERS = ("writer", "owner")
ROLES = ("reader", "guest", "harness", *WRITERS)

_READS = frozenset({"SELECT", "EXPLAIN", "MULTI"})
"""MULTI is a PIVOT whose columns are found first: it makes a temporary type and reads by it."""

_ROW_CHANGES = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE_INTO"})
_SCHEMA_CHANGES = frozenset({"CREATE", "ALTER", "DROP"})
_PRAGMAS = re.compile(r"pragma (?:table_info \(.*\)|show_tables|show_tables_expanded|version|database_size)")
_OWNED = re.compile(
    r"create (?:or replace )?(?:temp |temporary )?(?:table|view|(?:unique )?index) "
    r"|drop (?:table|view|index) |alter (?:table|view) |comment on (?:table|view|column) "
)


class DeniedError(Exception):
    """The role may not run this statement."""


def one_statement(db: duckdb.DuckDBPyConnection, text: str) -> duckdb.Statement:
    """Return the one statement of a text, read by a connection of ours: the module's own one has threads.

    Raises:
        DeniedError: there is none, or more than one.
    """
    found = db.extract_statements(text)
    if not found:
        raise DeniedError("the statement is empty")
    if len(found) > 1:
        raise DeniedError("only one statement may run")
    return found[0]


def type_name(statement: duckdb.Statement) -> str:
    """Return what the engine calls a statement, empty where its Python module does not know the type."""
    try:
        return str(statement.type.name)
    except ValueError:
        return ""


def check(statement: duckdb.Statement, text: str, role: str, *, writes: bool) -> None:
    """Let a statement through that the role may run.

    Raises:
        DeniedError: it may not.
    """
    kind = type_name(statement)
    allowed = kind in _READS or (kind == "PRAGMA" and bool(_PRAGMAS.fullmatch(_words(text))))
    if writes and role in WRITERS:
        allowed = allowed or kind in _ROW_CHANGES
    if writes and role == "owner":
        allowed = allowed or (kind in _SCHEMA_CHANGES and bool(_OWNED.match(_words(text) + " ")))
    if not allowed:
        raise DeniedError(f"the role {role} may run no statement of type {kind or 'unknown'} here")


def body(text: str) -> str:
    """Return a statement's text without the semicolon that ends it and what follows."""
    raw = text.encode()
    ends = [place for place, _ in duckdb.tokenize(text) if raw[place : place + 1] == b";"]
    return raw[: ends[0]].decode() if ends else text


def _words(text: str) -> str:
    """Return a statement's words and marks with one blank between them, lower-cased, without comments and the end."""
    raw = text.encode()
    tokens = duckdb.tokenize(text)
    ends = [place for place, _ in tokens[1:]] + [len(raw)]
    found = []
    for (start, kind), end in zip(tokens, ends, strict=True):
        word = raw[start:end].decode().strip().lower()
        if kind != duckdb.token_type.comment and word != ";":
            found.append(word)
    return " ".join(found)
