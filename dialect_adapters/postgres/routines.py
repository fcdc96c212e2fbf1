"""The routines that a snapshot's scripts made on Postgres, and the right to call those its pack allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import psycopg

from sqlassay.cases.catalog import CatalogRoutine
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.routines import with_allowed

Connection: TypeAlias = psycopg.Connection[tuple[object, ...]]

HARMLESS = frozenset(
    {
        "btree_gin",
        "btree_gist",
        "citext",
        "cube",
        "earthdistance",
        "fuzzystrmatch",
        "hstore",
        "intarray",
        "isn",
        "ltree",
        "pg_trgm",
        "pgcrypto",
        "seg",
        "unaccent",
        "uuid-ossp",
    }
)
"""Extensions of types and arithmetic: what of theirs changes nothing may be called, as their operators need it."""

HOME = "public"
"""The schema a name without one is looked up in."""

_OWN = "n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND n.nspname !~ '^pg_temp'"

_READ = f"""
SELECT p.proname::text AS name,
  CASE WHEN p.prorettype IN ('trigger'::regtype, 'event_trigger'::regtype) THEN 'trigger'
    ELSE (CASE p.prokind WHEN 'p' THEN 'procedure' WHEN 'a' THEN 'aggregate' WHEN 'w' THEN 'window'
      ELSE 'function' END) END AS kind,
  n.nspname::text AS schema_name, pg_get_function_identity_arguments(p.oid) AS arguments,
  coalesce(pg_get_function_result(p.oid), '') AS returns, l.lanname::text AS language,
  CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END AS volatility,
  p.prosecdef AS security_definer,
  coalesce((SELECT e.extname::text FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
    WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'), '') AS extension
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang
WHERE {_OWN} ORDER BY n.nspname <> 'public', n.nspname, p.proname COLLATE "C",
  pg_get_function_identity_arguments(p.oid) COLLATE "C"
"""  # noqa: S608 - constants of our own

_SIGNATURES = (
    "SELECT p.oid::regprocedure::text, pg_get_function_identity_arguments(p.oid) FROM pg_proc p "
    "JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = %s AND p.proname = %s AND p.prokind <> 'p' "
    "ORDER BY 1"
)


def read_routines(connection: Connection, snapshot: Snapshot) -> tuple[CatalogRoutine, ...]:
    """Return every routine outside the system's schemas, those marked that its pack allows, or that are harmless.

    Raises:
        InputError: the pack allows what is no function here.
    """
    with connection.cursor() as cursor:
        rows = cursor.execute(_READ.encode()).fetchall()
        names = [column.name for column in cursor.description or ()]
    found = [CatalogRoutine(**cast(dict[str, Any], dict(zip(names, row, strict=True)))) for row in rows]
    found = [one.model_copy(update={"allowed": True}) if _harmless(one) else one for one in found]
    return with_allowed(found, snapshot, "postgres", HOME)


def _harmless(routine: CatalogRoutine) -> bool:
    """Return whether a function of a known extension computes from its arguments alone."""
    pure = routine.volatility in ("immutable", "stable") and not routine.security_definer
    return routine.extension in HARMLESS and routine.callable and pure


def entitle_routines(connection: Connection, routines: Sequence[CatalogRoutine], logins: Sequence[str]) -> None:
    """Let the logins (quoted) call the allowed functions, every overload of them."""
    allowed = {(one.schema_name, one.name, one.arguments) for one in routines if one.allowed}
    granted = [
        str(signature)
        for schema, name in sorted({(schema, name) for schema, name, _ in allowed})
        for signature, arguments in connection.execute(_SIGNATURES, (schema, name)).fetchall()
        if (schema, name, arguments) in allowed
    ]
    if granted:
        connection.execute(f"GRANT EXECUTE ON FUNCTION {', '.join(granted)} TO {', '.join(logins)}".encode())
