"""What an untrusted statement may compile to: allow-lists of functions, pragmas and tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

FUNCTIONS = frozenset(
    [
        "->",
        "->>",
        "abs",
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "avg",
        "bm25",
        "ceil",
        "ceiling",
        "char",
        "coalesce",
        "concat",
        "concat_ws",
        "cos",
        "cosh",
        "count",
        "cume_dist",
        "current_date",
        "current_time",
        "current_timestamp",
        "date",
        "datetime",
        "degrees",
        "dense_rank",
        "exp",
        "first_value",
        "floor",
        "format",
        "glob",
        "group_concat",
        "hex",
        "highlight",
        "if",
        "ifnull",
        "iif",
        "instr",
        "json",
        "json_array",
        "json_array_insert",
        "json_array_length",
        "json_error_position",
        "json_extract",
        "json_group_array",
        "json_group_object",
        "json_insert",
        "json_object",
        "json_patch",
        "json_pretty",
        "json_quote",
        "json_remove",
        "json_replace",
        "json_set",
        "json_type",
        "json_valid",
        "jsonb",
        "jsonb_array",
        "jsonb_extract",
        "jsonb_group_array",
        "jsonb_group_object",
        "jsonb_insert",
        "jsonb_object",
        "jsonb_patch",
        "jsonb_remove",
        "jsonb_replace",
        "jsonb_set",
        "julianday",
        "lag",
        "last_value",
        "lead",
        "length",
        "like",
        "likelihood",
        "likely",
        "ln",
        "log",
        "log10",
        "log2",
        "lower",
        "ltrim",
        "match",
        "matchinfo",
        "max",
        "median",
        "min",
        "mod",
        "nth_value",
        "ntile",
        "nullif",
        "octet_length",
        "offsets",
        "percent_rank",
        "percentile",
        "percentile_cont",
        "percentile_disc",
        "pi",
        "pow",
        "power",
        "printf",
        "quote",
        "radians",
        "random",
        "randomblob",
        "rank",
        "regexp",
        "replace",
        "round",
        "row_number",
        "rtrim",
        "sign",
        "sin",
        "sinh",
        "snippet",
        "soundex",
        "sqlite_version",
        "sqrt",
        "strftime",
        "string_agg",
        "substr",
        "substring",
        "sum",
        "tan",
        "tanh",
        "time",
        "timediff",
        "total",
        "trim",
        "trunc",
        "typeof",
        "unhex",
        "unicode",
        "unistr",
        "unistr_quote",
        "unixepoch",
        "unlikely",
        "upper",
        "zeroblob",
    ]
)
PRAGMAS_WITH_ARGUMENT = frozenset(
    ["foreign_key_list", "index_info", "index_list", "index_xinfo", "table_info", "table_list", "table_xinfo"]
)
PRAGMAS_BARE = frozenset(
    [
        "application_id",
        "collation_list",
        "data_version",
        "encoding",
        "foreign_keys",
        "freelist_count",
        "page_count",
        "page_size",
        "schema_version",
        "user_version",
    ]
)
PRAGMA_TABLES = tuple(f"pragma_{name}" for name in sorted(PRAGMAS_WITH_ARGUMENT | PRAGMAS_BARE))
TABLE_FUNCTIONS = ("generate_series", "json_each", "json_tree", "jsonb_each", "jsonb_tree")
"""What may be called as a table; a library that lacks one says so itself."""
SCHEMA_TABLES = frozenset(["sqlite_master", "sqlite_schema", "sqlite_sequence", "sqlite_stat1", "sqlite_stat4"])
HOST_TABLES = frozenset(
    [
        "bytecode",
        "completion",
        "csv",
        "dbstat",
        "fsdir",
        "fts3tokenize",
        "fts5vocab",
        "tables_used",
        "vtablog",
        "zipfile",
    ]
)
"""Virtual tables that look at the server or its files and need no CREATE: never readable, with or without column."""

Policy = Callable[..., int]
"""An authorizer callback."""


class ReaderPolicy:
    """The authorizer of a session that runs untrusted SQL: reads of this database, listed functions and pragmas."""

    def __init__(self, tables: frozenset[str]) -> None:
        """Remember the database's own tables and views, lower-cased."""
        self.tables = tables
        self.hidden: frozenset[str] = frozenset()
        self.beneath: frozenset[str] = frozenset()
        self.views: frozenset[str] = frozenset()

    def hide(self, hidden: frozenset[str], beneath: frozenset[str], views: frozenset[str]) -> None:
        """Deny some tables, but for those `beneath` these views where the library says that one of them asks."""
        self.hidden, self.beneath, self.views = hidden, beneath, views

    def __call__(self, action: int, first: str | None, second: str | None, database: str | None, inner: object) -> int:
        """Return whether one action may be compiled; everything not listed is denied."""
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in FUNCTIONS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ and (first or "").lower() in self.hidden:
            allowed = (first or "").lower() in self.beneath and str(inner).lower() in self.views
            return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_READ and self.readable((first or "").lower(), second or "", database):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and readable_pragma((first or "").lower(), bare=second is None):
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    def readable(self, table: str, column: str, database: str | None) -> bool:
        """Return True for this database's tables; a name without column is a CTE or subquery unless it is ours."""
        if table.startswith("pragma_"):
            return table in PRAGMA_TABLES
        if table.startswith("sqlite_"):
            return table in SCHEMA_TABLES and database in (None, "main")
        if table in self.tables or table in TABLE_FUNCTIONS:
            return True
        return not column and table not in HOST_TABLES


def readable_pragma(name: str, *, bare: bool) -> bool:
    """Return True for a pragma that only describes the schema, or reads a header field without setting it."""
    return name in PRAGMAS_WITH_ARGUMENT or (bare and name in PRAGMAS_BARE)


def harness_policy(action: int, _: object, second: str | None, *__: object) -> int:
    """Authorize our own session: every read, but no other file and no extension."""
    if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH):
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in ("load_extension", "fts3_tokenizer"):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK
