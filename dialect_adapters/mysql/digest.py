"""A digest of everything a statement could have changed in a MySQL database: rows, schema, routines, rights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pymysql.connections import Connection
    from pymysql.cursors import Cursor

_SCHEMA = (
    "SELECT table_name, table_type, engine, table_collation FROM information_schema.tables WHERE table_schema = %s "
    "ORDER BY 1",
    "SELECT table_name, ordinal_position, column_name, column_type, is_nullable, column_default, extra, "
    "collation_name, generation_expression FROM information_schema.columns WHERE table_schema = %s ORDER BY 1, 2",
    "SELECT table_name, index_name, seq_in_index, column_name, non_unique, sub_part, expression "
    "FROM information_schema.statistics WHERE table_schema = %s ORDER BY 1, 2, 3",
    "SELECT constraint_name, table_name, constraint_type FROM information_schema.table_constraints "
    "WHERE table_schema = %s ORDER BY 1, 2, 3",
    "SELECT table_name, view_definition, security_type FROM information_schema.views WHERE table_schema = %s "
    "ORDER BY 1",
    "SELECT routine_name, routine_type, routine_definition, security_type, definer FROM information_schema.routines "
    "WHERE routine_schema = %s ORDER BY 1, 2",
    "SELECT trigger_name, event_manipulation, event_object_table, action_statement "
    "FROM information_schema.triggers WHERE trigger_schema = %s ORDER BY 1",
    "SELECT event_name, event_definition FROM information_schema.events WHERE event_schema = %s ORDER BY 1",
)
_SERVER = (
    "SELECT user, host, authentication_string, account_locked, select_priv, insert_priv, super_priv, file_priv "
    "FROM mysql.user ORDER BY 1, 2",
    "SELECT host, db, user, select_priv, insert_priv, update_priv, delete_priv, create_priv, drop_priv "
    "FROM mysql.db ORDER BY 1, 2, 3",
    "SELECT host, db, user, routine_name, routine_type, proc_priv FROM mysql.procs_priv ORDER BY 1, 2, 3, 4, 5",
    "SELECT schema_name, default_collation_name FROM information_schema.schemata ORDER BY 1",
)
_TABLES = (
    "SELECT table_name FROM information_schema.tables WHERE table_schema = %s AND table_type = 'BASE TABLE' ORDER BY 1"
)
_COLUMNS = (
    "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s "
    "ORDER BY ordinal_position"
)


def state_digest(connection: Connection[Cursor], database: str) -> str:
    """Return the sha256 over the schema's own description and a sum of row hashes for every table."""
    digest = hashlib.sha256()
    with connection.cursor() as cursor:
        for question in _SCHEMA:
            cursor.execute(question, (database,))
            digest.update(repr(cursor.fetchall()).encode())
        for question in _SERVER:
            cursor.execute(question)
            digest.update(repr(cursor.fetchall()).encode())
        cursor.execute(_TABLES, (database,))
        for (table,) in cursor.fetchall():
            cursor.execute(_COLUMNS, (database, table))
            columns = [str(name) for (name,) in cursor.fetchall()]
            cursor.execute(_rows_question(database, str(table), columns))
            digest.update(f"{table}:{cursor.fetchone()!r};".encode())
    return digest.hexdigest()


def _rows_question(database: str, table: str, columns: list[str]) -> str:
    """Return the SELECT that counts a table's rows and sums their hashes."""
    total = row_sum([quoted(column) for column in columns])
    return f"SELECT COUNT(*), {total} FROM {quoted(database)}.{quoted(table)}"  # noqa: S608 - quoted names


def row_sum(columns: Sequence[str]) -> str:
    """Return the sum of 60 bits of every row's SHA-2; hexadecimal keeps values and NULLs apart."""
    row = ", ".join(f"COALESCE(HEX(CAST({column} AS BINARY)), 'NULL')" for column in columns)
    return f"SUM(CAST(CONV(LEFT(SHA2(CONCAT_WS(',', {row}), 256), 15), 16, 10) AS UNSIGNED))"


def quoted(name: str) -> str:
    """Return an identifier quoted always."""
    return "`" + name.replace("`", "``") + "`"
