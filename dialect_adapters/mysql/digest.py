"""A digest of all a statement could have changed on a server of MySQL's family: rows, schema, rights, settings."""

# ruff: noqa: S608 (every question is put together from constants of our own and quoted names)

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import pymysql

from sqlassay.dialect_adapters.mysql.flavour import Flavour

if TYPE_CHECKING:
    from pymysql.connections import Connection
    from pymysql.cursors import Cursor

_log = logging.getLogger("sqlassay.fingerprint")

_COLUMNS = (
    "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s "
    "ORDER BY ordinal_position"
)


_SERVERS_OWN = """
SELECT c.table_name, c.column_name FROM information_schema.columns c JOIN information_schema.tables t
  ON t.table_schema = c.table_schema AND t.table_name = c.table_name
WHERE c.table_schema = 'mysql' AND t.table_type = 'BASE TABLE' ORDER BY c.table_name, c.ordinal_position
"""
_LEFT_OUT = {
    "general_log": "a log; no server of ours writes it",
    "slow_log": "as above",
    "innodb_index_stats": "what the optimizer counted, not what is there",
    "innodb_table_stats": "as above",
    "column_stats": "as above",
    "index_stats": "as above",
    "table_stats": "as above",
    "transaction_registry": "of tables that keep their own history, whose rows are read themselves",
}
"""Tables of the server's own whose rows are not hashed, and why. Every other one is: all rights, plugins, servers."""


def state_digest(connection: Connection[Cursor], database: str, flavour: Flavour) -> str:
    """Return the sha256 over the schema, the server's own tables and settings, and a sum of every table's row hashes.

    A table that cannot be read counts by the reason, and is named in the log.
    """
    digest = hashlib.sha256()
    with connection.cursor() as cursor:
        for question in flavour.described:
            cursor.execute(question, (database,))
            digest.update(repr(cursor.fetchall()).encode())
        for question in flavour.changed:
            digest.update(_told(cursor, question, "the server's settings").encode())
        cursor.execute(_SERVERS_OWN)
        for table, listed in groupby(cursor.fetchall(), key=itemgetter(0)):
            if table not in _LEFT_OUT:
                told = _told(cursor, _sum_question(str(table), [str(column) for _, column in listed]), f"mysql.{table}")
                digest.update(f"mysql.{table}:{told};".encode())
        cursor.execute(flavour.tables, (database,))
        for (table,) in cursor.fetchall():
            cursor.execute(_COLUMNS, (database, table))
            columns = [str(name) for (name,) in cursor.fetchall()]
            rows = _told(cursor, _rows_question(database, str(table), columns), str(table))
            digest.update(f"{table}:{rows};".encode())
    return digest.hexdigest()


def _sum_question(table: str, columns: Sequence[str]) -> str:
    """Return the SELECT that counts rows of the server's own and sums short hashes: there are many, of time zones."""
    told = ", ".join(f"IFNULL(HEX({quoted(column)}), '-')" for column in columns)
    return f"SELECT COUNT(*), SUM(CRC32(CONCAT_WS('|', {told}))) FROM mysql.{quoted(table)}"


def _told(cursor: Cursor, question: str, name: str) -> str:
    """Return what a question gives, or why it has no answer."""
    try:
        cursor.execute(question)
        return repr(cursor.fetchall())
    except (pymysql.ProgrammingError, pymysql.NotSupportedError, pymysql.DataError, pymysql.InternalError) as error:
        _log.info("%s cannot be read: %s", name, error)
        return f"cannot be read ({error.args[0]})"


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
