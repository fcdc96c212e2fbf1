"""A digest of everything a statement could have changed in a Postgres database: rows, schema, rights, sequences."""

from __future__ import annotations

import hashlib
from typing import TypeAlias

import psycopg
from psycopg import sql

Connection: TypeAlias = psycopg.Connection[tuple[object, ...]]

_SCHEMA = """
SELECT string_agg(line, E'\\n' ORDER BY line COLLATE "C") FROM (
  SELECT format('class %s.%s %s %s', n.nspname, c.relname, c.relkind, c.relacl) AS line
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {own}
  UNION ALL SELECT format('column %s.%s.%s %s %s', n.nspname, c.relname, a.attname,
      format_type(a.atttypid, a.atttypmod), a.attnotnull)
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE {own} AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL SELECT format('constraint %s', pg_get_constraintdef(k.oid)) FROM pg_constraint k
    JOIN pg_namespace n ON n.oid = k.connamespace WHERE {own}
  UNION ALL SELECT format('index %s', pg_get_indexdef(i.indexrelid)) FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {own}
  UNION ALL SELECT format('view %s', pg_get_viewdef(c.oid)) FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {own} AND c.relkind IN ('v', 'm')
  UNION ALL SELECT format('routine %s %s %s %s', p.oid::regprocedure, md5(p.prosrc), p.prosecdef, p.proacl)
    FROM pg_proc p
    JOIN pg_namespace n ON n.oid = p.pronamespace WHERE {own}
  UNION ALL SELECT format('schema %s %s', n.nspname, n.nspacl) FROM pg_namespace n WHERE {own}
  UNION ALL SELECT format('role %s %s %s %s', rolname, rolsuper, rolconnlimit, md5(rolpassword)) FROM pg_authid
  UNION ALL SELECT format('member %s %s', roleid, member) FROM pg_auth_members
  UNION ALL SELECT format('setting %s %s %s', setdatabase, setrole, setconfig) FROM pg_db_role_setting
  UNION ALL SELECT format('blob %s', oid) FROM pg_largeobject_metadata
  UNION ALL SELECT format('extension %s %s', extname, extversion) FROM pg_extension
) AS lines
""".replace("{own}", "n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND n.nspname !~ '^pg_temp'")

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
    """Return the sha256 over the schema's own description and two independent 64-bit sums over every table's rows."""
    digest = hashlib.sha256(repr(connection.execute(_SCHEMA).fetchone()).encode())
    for schema, name, kind in connection.execute(_RELATIONS).fetchall():
        question = _SEQUENCE if kind == "S" else _ROWS
        answer = connection.execute(question.format(sql.Identifier(str(schema), str(name)))).fetchone()
        digest.update(f"{schema}.{name}:{answer!r};".encode())
    return digest.hexdigest()
