"""The routines that a snapshot's scripts made, and the right to call those its pack allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlassay.cases.catalog import CatalogRoutine
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.mysql.digest import quoted
from sqlassay.dialect_adapters.routines import with_allowed

if TYPE_CHECKING:
    from pymysql.connections import Connection
    from pymysql.cursors import Cursor

_READ = """
SELECT r.routine_name, LOWER(r.routine_type), COALESCE(r.dtd_identifier, ''), LOWER(r.external_language),
  IF(r.is_deterministic = 'YES', 'deterministic', 'not deterministic'), LOWER(r.sql_data_access),
  r.security_type = 'DEFINER',
  COALESCE((SELECT GROUP_CONCAT(CONCAT_WS(' ', IF(p.parameter_mode = 'IN', NULL, p.parameter_mode), p.parameter_name,
      p.dtd_identifier) ORDER BY p.ordinal_position SEPARATOR ', ') FROM information_schema.parameters p
    WHERE p.specific_schema = r.routine_schema AND p.specific_name = r.specific_name
      AND p.routine_type = r.routine_type AND p.ordinal_position > 0), '')
FROM information_schema.routines r WHERE r.routine_schema = %s ORDER BY r.routine_type, r.routine_name
"""


def read_routines(
    connection: Connection[Cursor], snapshot: Snapshot, database: str, dialect: str
) -> tuple[CatalogRoutine, ...]:
    """Return every function and procedure of the database, those marked that the snapshot's pack allows.

    Raises:
        InputError: the pack allows what is no function here.
    """
    with connection.cursor() as cursor:
        cursor.execute(_READ, (database,))
        rows = cursor.fetchall()
    found = [
        CatalogRoutine(
            name=name,
            kind="procedure" if kind == "procedure" else "function",
            schema_name=database,
            arguments=arguments,
            returns=returns,
            language=str(language or "sql"),
            volatility=volatility,
            data_access=access,
            security_definer=bool(definer),
        )
        for name, kind, returns, language, volatility, access, definer, arguments in rows
    ]
    return with_allowed(found, snapshot, dialect, database)


def entitle_routines(
    connection: Connection[Cursor], routines: Sequence[CatalogRoutine], database: str, logins: Sequence[str]
) -> None:
    """Let the logins call the allowed functions, each by name: no EXECUTE on the schema."""
    for name in sorted(one.name for one in routines if one.allowed):
        target = f"{quoted(database)}.{quoted(name)}".replace("%", "%%")
        for login in logins:
            with connection.cursor() as cursor:
                cursor.execute(f"GRANT EXECUTE ON FUNCTION {target} TO %s@'%%'", (login,))
