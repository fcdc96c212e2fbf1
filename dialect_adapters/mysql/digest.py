"""A digest of everything a statement could have changed in a database of MySQL's family: rows, schema, rights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dialect_adapters.mysql.flavour import Flavour

if TYPE_CHECKING:
    from pymysql.connections import Connection
    from pymysql.cursors import Cursor

_COLUMNS = (
    "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s "
    "ORDER BY ordinal_position"
)


def state_digest(connection: Connection[Cursor], database: str, flavour: Flavour) -> str:
    """Return the sha256 over the schema's own description and a sum of row hashes for every table."""
    digest = hashlib.sha256()
    with connection.cursor() as cursor:
        for question in flavour.described:
            cursor.execute(question, (database,))
            digest.update(repr(cursor.fetchall()).encode())
        for question in flavour.rights:
            cursor.execute(question)
            digest.update(repr(cursor.fetchall()).encode())
        cursor.execute(flavour.tables, (database,))
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
