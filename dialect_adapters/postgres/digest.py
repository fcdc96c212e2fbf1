"""A digest of everything a statement could have changed on a Postgres server: rows, every catalogue, its files."""

# ruff: noqa: S608 (every question is put together from constants of our own and names of catalogues)

from __future__ import annotations

import hashlib
import logging
from typing import TypeAlias

import psycopg
from psycopg import sql

Connection: TypeAlias = psycopg.Connection[tuple[object, ...]]

_log = logging.getLogger("sqlassay.fingerprint")

_LEFT_OUT = {
    "pg_database": "read by its content: a database that is put back has another number",
    "pg_statistic": "what the planner counted, not what is there",
    "pg_statistic_ext_data": "as above",
    "pg_shdepend": "follows from the objects themselves, and names a database by its number",
}
"""Catalogues whose rows are not told one by one, and why. Every other one is, also those of versions to come."""

_CATALOGUES = "SELECT relname::text FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r'"
_TEMPORARY = "SELECT oid FROM pg_namespace WHERE nspname ~ '^pg_(toast_)?temp_'"
_OF_TEMPORARY = f"SELECT oid FROM pg_class WHERE relnamespace IN ({_TEMPORARY})"
_LASTING = {
    **{
        catalogue: f"{column} NOT IN ({_TEMPORARY})"
        for catalogue, column in (
            ("pg_class", "relnamespace"),
            ("pg_type", "typnamespace"),
            ("pg_proc", "pronamespace"),
            ("pg_constraint", "connamespace"),
            ("pg_namespace", "oid"),
        )
    },
    **{
        catalogue: f"{column} NOT IN ({_OF_TEMPORARY})"
        for catalogue, column in (
            ("pg_attribute", "attrelid"),
            ("pg_attrdef", "adrelid"),
            ("pg_index", "indrelid"),
            ("pg_inherits", "inhrelid"),
            ("pg_rewrite", "ev_class"),
            ("pg_trigger", "tgrelid"),
            ("pg_sequence", "seqrelid"),
            ("pg_policy", "polrelid"),
        )
    },
    # What an object needs follows from the object; what belongs to an extension does not.
    "pg_depend": "deptype IN ('e', 'x')",
}
"""What ends with its session leaves nothing behind."""

_OTHERS = (
    # A copy that `renew` keeps is no database of anybody's; an ACL's order says nothing.
    """
    SELECT (to_jsonb(d) - 'oid' - 'datfrozenxid' - 'datminmxid' - 'datacl')::text
      || coalesce((SELECT string_agg(a::text, ',' ORDER BY a::text) FROM unnest(d.datacl) AS a), '') AS line
    FROM pg_database d
    WHERE datname NOT IN (
      SELECT 'baked_' || left(encode(sha256(convert_to(datname, 'UTF8')), 'hex'), 16) FROM pg_database)
    """,
    "SELECT concat_ws('|', seqno, name, setting, error) AS line FROM pg_file_settings",
    "SELECT concat_ws('|', line_number, type, database, user_name, address, netmask, auth_method, options, error)"
    " AS line FROM pg_hba_file_rules",
)

_RELATIONS = """
SELECT n.nspname::text, c.relname::text, c.relkind::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'm', 'S') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
ORDER BY n.nspname, c.relname
"""

_ROWS = sql.SQL(
    "SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)::numeric), 0), "
    "coalesce(sum(hashtextextended(t::text, 1)::numeric), 0) FROM {} AS t"
)
_SEQUENCE = sql.SQL("SELECT last_value, is_called FROM {}")


def state_digest(connection: Connection) -> str:
    """Return the sha256 over every catalogue's rows, the server's files and two 64-bit sums over each table's rows.

    A relation that cannot be read counts by the reason, and is named in the log.
    """
    digest = hashlib.sha256()
    names = sorted(str(name) for (name,) in connection.execute(_CATALOGUES).fetchall())
    question = " UNION ALL ".join(_versions(name) for name in names if name not in _LEFT_OUT)
    digest.update(repr(connection.execute(question.encode()).fetchall()).encode())
    for other in _OTHERS:
        lines = f"SELECT string_agg(line, E'\\n' ORDER BY line COLLATE \"C\") FROM ({other}) AS lines"
        digest.update(repr(connection.execute(lines.encode()).fetchone()).encode())
    for schema, name, kind in connection.execute(_RELATIONS).fetchall():
        rows = (_SEQUENCE if kind == "S" else _ROWS).format(sql.Identifier(str(schema), str(name)))
        digest.update(f"{schema}.{name}:{_told(connection, rows, f'{schema}.{name}')};".encode())
    return digest.hexdigest()


def _versions(catalogue: str) -> str:
    """Return the question for the versions of a catalogue's rows: whoever changes a row writes another version of it.

    A seventh of what hashing their contents costs, and the planner's figures, which are changed in place, stay out.
    """
    condition = _LASTING.get(catalogue, "true")
    hashed = "hash_record_extended(ROW(t.xmin, t.ctid), 0)"
    return f"SELECT '{catalogue}', count(*), sum({hashed}::numeric) FROM pg_catalog.{catalogue} t WHERE {condition}"


def _told(connection: Connection, question: sql.Composed, name: str) -> str:
    """Return what a question about one relation gives, or why it cannot be read."""
    try:
        return repr(connection.execute(question).fetchone())
    except psycopg.Error as error:
        if connection.broken or error.sqlstate is None:
            raise
        _log.info("%s cannot be read: %s", name, error.diag.message_primary)
        return f"cannot be read ({error.sqlstate})"
