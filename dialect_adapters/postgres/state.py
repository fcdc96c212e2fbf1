"""How the state of a Postgres database is read: schema as relations, checksums of large tables, trusted setup."""

# ruff: noqa: S608 (every question is put together from constants of our own and quoted names)

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import psycopg

from sqlassay.cases.errors import GoldBrokenError, InputError
from sqlassay.dialect_adapters.contract import Endpoint, Pins, StateRules
from sqlassay.dialect_adapters.postgres.clock import set_clock
from sqlassay.dialect_adapters.postgres.load import entitle
from sqlassay.dialect_adapters.postgres.session import ADMIN, connect

_OWN = "n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND n.nspname !~ '^pg_temp'"
_NAME = "CASE n.nspname WHEN 'public' THEN '' ELSE n.nspname || '.' END || {}::text"
_TABLE = _NAME.format("c.relname")
_JOINED = "JOIN pg_class c ON c.oid = {} JOIN pg_namespace n ON n.oid = c.relnamespace"

_COLUMNS = f"""
SELECT {_TABLE} AS table_name, a.attname::text AS column_name, format_type(a.atttypid, a.atttypmod) AS type,
  a.attnotnull AS not_null,
  nullif(regexp_replace(pg_get_expr(d.adbin, d.adrelid), '^NULL::.*', 'NULL'), 'NULL') AS column_default,
  a.attidentity::text AS identity, a.attgenerated::text AS generated,
  a.attcollation::regcollation::text AS collation_name,
  row_number() OVER (PARTITION BY c.oid ORDER BY a.attnum)::int AS position
FROM pg_attribute a {_JOINED.format("a.attrelid")}
  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE {_OWN} AND c.relkind IN ('r', 'p', 'v', 'm') AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY c.oid, a.attnum
"""
_TABLES = f"""
SELECT {_TABLE} AS table_name, c.relkind::text AS kind, c.relpersistence::text AS persistence,
  pg_get_partkeydef(c.oid) AS partition_key, array_to_string(c.reloptions, ',') AS options,
  pg_get_expr(c.relpartbound, c.oid) AS partition_bound,
  (SELECT string_agg(i.inhparent::regclass::text, ',' ORDER BY i.inhseqno) FROM pg_inherits i
    WHERE i.inhrelid = c.oid) AS parents
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {_OWN} AND c.relkind IN ('r', 'p', 'v', 'm')
"""
_CONSTRAINTS = f"""
SELECT {_TABLE} AS table_name, k.contype::text AS kind, pg_get_constraintdef(k.oid) AS definition,
  k.conname::text AS constraint_name
FROM pg_constraint k {_JOINED.format("k.conrelid")} WHERE {_OWN} AND k.contype <> 'n'
"""
_INDEXES = f"""
SELECT {_TABLE} AS table_name, pg_get_indexdef(i.indexrelid) AS definition
FROM pg_index i {_JOINED.format("i.indrelid")}
WHERE {_OWN} AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p','u','x'))
"""
_SEQUENCES = """
SELECT schemaname || '.' || sequencename AS sequence_name, data_type::text AS type, start_value, min_value, max_value,
  increment_by, cycle, last_value FROM pg_sequences
"""
_TRIGGERS = f"""
SELECT {_TABLE} AS table_name, pg_get_triggerdef(t.oid) AS definition, t.tgenabled::text AS enabled
FROM pg_trigger t {_JOINED.format("t.tgrelid")} WHERE {_OWN} AND NOT t.tgisinternal
"""
_ROUTINES = f"""
SELECT p.oid::regprocedure::text AS routine, md5(p.prosrc) AS body
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE {_OWN}
"""
_COMMENTS = f"""
SELECT {_TABLE} AS table_name, a.attname::text AS column_name, d.description
FROM pg_description d {_JOINED.format("d.objoid")}
  LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid AND d.objsubid > 0
WHERE {_OWN} AND d.classoid = 'pg_class'::regclass
"""
# One that is not filled cannot be read: it is told as a view that fails is.
_LISTED = f"""
SELECT c.relname::text, nullif(n.nspname, 'public')::text,
  CASE WHEN c.relkind = 'v' OR NOT c.relispopulated THEN 'v' ELSE 't' END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE {_OWN} AND c.relkind IN ('r', 'v', 'm') ORDER BY n.nspname, c.relname
"""


def _checksum(target: str, _: Sequence[str]) -> str:
    """Return the question for two independent 64-bit sums over a table's rows."""
    sums = ", ".join(f"sum(hashtextextended(t::text, {seed})::numeric)" for seed in (0, 1))
    return f"SELECT count(*), {sums} FROM {target} AS t"  # noqa: S608 - a quoted name


STATE = StateRules(
    tables=_LISTED,
    schema=(
        ("columns", _COLUMNS),
        ("tables", _TABLES),
        ("constraints", _CONSTRAINTS),
        ("indexes", _INDEXES),
        ("sequences", _SEQUENCES),
        ("triggers", _TRIGGERS),
        ("routines", _ROUTINES),
        ("comments", _COMMENTS),
    ),
    checksum=_checksum,
)
"""Partitions are read as the tables they are; views and materialized ones by what they show, not by their text."""


def set_up(endpoint: Endpoint, database: str, scripts: Sequence[str], pins: Pins) -> None:
    """Run trusted SQL as the administrator, then give the logins their rights on what it made.

    Raises:
        GoldBrokenError: a statement failed.
    """
    with contextlib.suppress(InputError):  # whoever needs the clock is told by the next login
        set_clock(endpoint, pins.clock)
    with connect(endpoint, database, ADMIN, time_zone=pins.time_zone) as connection:
        for script in scripts:
            try:
                connection.execute(script.encode())
                connection.execute("RESET ALL")
            except psycopg.Error as error:
                raise GoldBrokenError(f"setup_sql failed: {error.diag.message_primary or error}") from None
        entitle(connection, database)
