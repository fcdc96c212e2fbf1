"""A second parser's reading of the same text, where one is installed: Postgres' own grammar by way of pglast."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

_PARSERS = {"postgres": "pglast"}
"""The package that reads a dialect as its engine does (extra `guard`)."""

_CLAUSES = frozenset({"intoClause", "lockingClause"})
"""Parts of a SELECT that make it more than a read."""


@cache
def _parser(dialect: str) -> Any:
    """Return the second parser of a dialect, None where there is none or it is not installed."""
    package = _PARSERS.get(dialect)
    return None if package is None or find_spec(package) is None else import_module(f"{package}.parser")


def second_reading(sql: str, dialect: str) -> dict[str, Any] | None:
    """Return what the second parser sees: statements, their kinds, tables, calls, or its error."""
    parser = _parser(dialect)
    if parser is None:
        return None
    try:
        tree = json.loads(parser.parse_sql_json(sql))
    except parser.ParseError as error:
        return {"error": _line(str(error.args[0]), error.args[1] if len(error.args) > 1 else None, sql)}
    except (ValueError, RecursionError, UnicodeError) as error:
        return {"error": f"not read: {type(error).__name__}"}
    nodes = list(_nodes(tree))
    return {
        "error": None,
        "statements": len(tree.get("stmts", ())),
        "kinds": sorted({name for name, _ in nodes if name in _CLAUSES or _is_statement(name)}),
        "tables": sorted({_table(value) for _, value in nodes if isinstance(value, dict) and "relname" in value}),
        "calls": sorted({call for name, value in nodes if name == "FuncCall" for call in _call(value)}),
    }


def _is_statement(name: str) -> bool:
    """Return True for a statement's node; fields that hold one begin with a small letter."""
    return name.endswith("Stmt") and name[0].isupper()


def _line(why: str, index: object, sql: str) -> str:
    """Return the engine's message with line and column."""
    place = index if isinstance(index, int) else 0
    before = sql[:place]
    return f"line {before.count(chr(10)) + 1}, column {place - before.rfind(chr(10))}: {why.splitlines()[0][:200]}"


def _nodes(tree: Any) -> Iterator[tuple[str, Any]]:
    """Yield every named value of the tree, without recursion."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield from node.items()
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)


def _table(node: dict[str, Any]) -> tuple[str, str]:
    """Return a table's name and schema, lower-cased; the schema is empty where none is written."""
    return str(node["relname"]).lower(), str(node.get("schemaname", "")).lower()


def _call(node: dict[str, Any]) -> Iterator[str]:
    """Yield the name a call is written by; what the grammar itself makes calls of is no call of the text."""
    if node.get("funcformat") != "COERCE_SQL_SYNTAX":
        yield ".".join(str(part["String"]["sval"]).lower() for part in node["funcname"])
