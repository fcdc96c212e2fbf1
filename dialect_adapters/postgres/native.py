"""Write a live Postgres database down as a script of its own, with types, keys, views and functions as they are."""

# ruff: noqa: S608 - every statement is of our own constants and of names the server has quoted
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import psycopg
from sqlalchemy.engine import Connection

from sqlassay.cases.counting import counted
from sqlassay.cases.errors import InfrastructureError
from sqlassay.cases.settings import EngineSettings
from sqlassay.dialect_adapters.taking import Native

_SYSTEM = ("C", "POSIX", "C.UTF-8", "C.utf8", "ucs_basic")
_OURS = ("en_US.utf8", "en_US.UTF-8")

_OWN = (
    "n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)' AND NOT EXISTS "
    "(SELECT FROM pg_depend e WHERE e.classid = '{catalog}'::regclass AND e.objid = {oid} AND e.deptype = 'e')"
)
_CLASS = _OWN.format(catalog="pg_class", oid="c.oid")
_TYPE = _OWN.format(catalog="pg_type", oid="t.oid")
_PROC = _OWN.format(catalog="pg_proc", oid="p.oid")

_SCHEMAS = """
SELECT format('CREATE SCHEMA IF NOT EXISTS %I;', nspname) FROM pg_namespace n
WHERE nspname NOT IN ('pg_catalog', 'information_schema', 'public') AND nspname !~ '^pg_(toast|temp)' ORDER BY nspname
"""
_EXTENSIONS = """
SELECT format('CREATE EXTENSION IF NOT EXISTS %I WITH SCHEMA %I;', extname, nspname) FROM pg_extension e
JOIN pg_namespace n ON n.oid = e.extnamespace WHERE extname <> 'plpgsql' ORDER BY e.oid
"""
_TYPES = f"""
SELECT sql FROM (
  SELECT t.oid, format('CREATE TYPE %I.%I AS ENUM (%s);', n.nspname, t.typname,
      (SELECT string_agg(quote_literal(enumlabel), ', ' ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid))
    AS sql FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE {_TYPE} AND t.typtype = 'e'
  UNION ALL SELECT t.oid, format('CREATE TYPE %I.%I AS (%s);', n.nspname, t.typname,
      (SELECT string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum)
        FROM pg_attribute a WHERE a.attrelid = t.typrelid AND attnum > 0 AND NOT attisdropped))
    FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace JOIN pg_class k ON k.oid = t.typrelid
    WHERE {_TYPE} AND t.typtype = 'c' AND k.relkind = 'c'
  UNION ALL SELECT t.oid, format('CREATE DOMAIN %I.%I AS %s%s%s%s;', n.nspname, t.typname,
      format_type(t.typbasetype, t.typtypmod), coalesce(' DEFAULT ' || t.typdefault, ''),
      CASE WHEN t.typnotnull THEN ' NOT NULL' ELSE '' END,
      (SELECT coalesce(string_agg(format(' CONSTRAINT %I %s', conname, pg_get_constraintdef(oid)), '' ORDER BY oid), '')
        FROM pg_constraint WHERE contypid = t.oid AND contype = 'c'))
    FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE {_TYPE} AND t.typtype = 'd'
  UNION ALL SELECT t.oid, format('CREATE TYPE %I.%I AS RANGE (subtype = %s%s);', n.nspname, t.typname,
      format_type(r.rngsubtype, NULL),
      CASE WHEN r.rngsubdiff::oid <> 0 THEN ', subtype_diff = ' || r.rngsubdiff::text ELSE '' END)
    FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace JOIN pg_range r ON r.rngtypid = t.oid
    WHERE {_TYPE} AND t.typtype = 'r'
) one ORDER BY oid
"""
_FUNCTIONS = f"""
SELECT pg_get_functiondef(p.oid) || ';' FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE {_PROC} AND p.prokind IN ('f', 'p', 'w') AND (to_jsonb(p)->>'prosqlbody' IS NOT NULL) = :late ORDER BY p.oid
"""
_SEQUENCES = f"""
SELECT format('CREATE SEQUENCE %I.%I AS %s INCREMENT BY %s MINVALUE %s MAXVALUE %s START WITH %s CACHE %s%s;',
  n.nspname, c.relname, format_type(s.seqtypid, NULL), s.seqincrement, s.seqmin, s.seqmax, s.seqstart, s.seqcache,
  CASE WHEN s.seqcycle THEN ' CYCLE' ELSE '' END)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_sequence s ON s.seqrelid = c.oid
WHERE {_CLASS} AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
  AND d.deptype = 'i') ORDER BY c.oid
"""
_TABLES = f"""
SELECT c.oid, n.nspname, c.relname, c.relkind::text, c.relispartition,
  CASE WHEN c.relkind = 'p' THEN pg_get_partkeydef(c.oid) END AS partitioned,
  CASE WHEN c.relispartition THEN pg_get_expr(c.relpartbound, c.oid) END AS bound,
  (SELECT format('%I.%I', pn.nspname, pc.relname) FROM pg_inherits i JOIN pg_class pc ON pc.oid = i.inhparent
    JOIN pg_namespace pn ON pn.oid = pc.relnamespace WHERE i.inhrelid = c.oid LIMIT 1) AS parent
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE {_CLASS} AND c.relkind IN ('r', 'p') ORDER BY c.relispartition, c.oid
"""
_COLUMNS = """
SELECT a.attname, a.attgenerated::text <> '' AS generated,
  format('%I %s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
    CASE WHEN a.attcollation <> t.typcollation AND a.attcollation <> 0
      THEN ' COLLATE ' || a.attcollation::regcollation::text ELSE '' END,
    CASE WHEN a.attidentity <> '' THEN format(
        ' GENERATED %s AS IDENTITY (SEQUENCE NAME %s START WITH %s INCREMENT BY %s)',
        CASE a.attidentity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END, s.seqrelid::regclass, s.seqstart,
        s.seqincrement)
      WHEN a.attgenerated = 's' THEN format(' GENERATED ALWAYS AS (%s) STORED', pg_get_expr(d.adbin, d.adrelid))
      WHEN a.attgenerated = 'v' THEN format(' GENERATED ALWAYS AS (%s) VIRTUAL', pg_get_expr(d.adbin, d.adrelid))
      WHEN d.adbin IS NOT NULL THEN ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid) ELSE '' END,
    CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END) AS spelled
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN pg_depend o ON a.attidentity <> '' AND o.refobjid = a.attrelid AND o.refobjsubid = a.attnum
  AND o.deptype = 'i' AND o.classid = 'pg_class'::regclass
LEFT JOIN pg_sequence s ON s.seqrelid = o.objid
WHERE a.attrelid = :oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_OWNED = f"""
SELECT format('ALTER SEQUENCE %I.%I OWNED BY %s.%I;', n.nspname, c.relname, d.refobjid::regclass, a.attname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_depend d ON d.classid = 'pg_class'::regclass
  AND d.objid = c.oid AND d.deptype = 'a' AND d.refobjsubid > 0
JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid WHERE {_CLASS} AND c.relkind = 'S'
ORDER BY c.oid
"""
_VALUES = """
SELECT format('SELECT pg_catalog.setval(%L, %s, true);', format('%I.%I', schemaname, sequencename), last_value)
FROM pg_sequences WHERE last_value IS NOT NULL ORDER BY schemaname, sequencename
"""
_CONSTRAINTS = f"""
SELECT format('ALTER TABLE ONLY %I.%I ADD CONSTRAINT %I %s;', n.nspname, c.relname, k.conname,
  pg_get_constraintdef(k.oid))
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE {_CLASS} AND k.contype IN ('p', 'u', 'x', 'c', 'f') AND k.conislocal AND k.coninhcount = 0
ORDER BY k.contype = 'f', k.contype <> 'p', k.oid
"""
_INDEXES = f"""
SELECT pg_get_indexdef(i.indexrelid) || ';' FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE {_CLASS} AND c.relkind = ANY(:kinds)
  AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x'))
  AND NOT EXISTS (SELECT FROM pg_inherits h WHERE h.inhrelid = i.indexrelid) ORDER BY i.indexrelid
"""
_VIEWS = f"""
SELECT CASE c.relkind WHEN 'v' THEN format('CREATE VIEW %I.%I AS %s', n.nspname, c.relname, pg_get_viewdef(c.oid))
  ELSE format('CREATE MATERIALIZED VIEW %I.%I AS %s %s;', n.nspname, c.relname, rtrim(pg_get_viewdef(c.oid), ';'),
    CASE WHEN c.relispopulated THEN '' ELSE 'WITH NO DATA' END) END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {_CLASS} AND c.relkind IN ('v', 'm') ORDER BY c.oid
"""
_TRIGGERS = f"""
SELECT pg_get_triggerdef(g.oid) || ';' FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid
JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {_CLASS} AND NOT g.tgisinternal AND NOT c.relispartition
ORDER BY g.oid
"""
_COMMENTS = f"""
SELECT CASE WHEN d.objsubid = 0
  THEN format('COMMENT ON %s %I.%I IS %L;', CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
    ELSE 'TABLE' END, n.nspname, c.relname, d.description)
  ELSE format('COMMENT ON COLUMN %I.%I.%I IS %L;', n.nspname, c.relname, a.attname, d.description) END
FROM pg_description d JOIN pg_class c ON c.oid = d.objoid AND d.classoid = 'pg_class'::regclass
JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid
WHERE {_CLASS} AND c.relkind IN ('r', 'p', 'v', 'm') ORDER BY c.oid, d.objsubid
"""
_LOST = f"""
SELECT what, count(*) FROM (
  SELECT 'aggregate' AS what FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE {_PROC} AND p.prokind = 'a'
  UNION ALL SELECT 'foreign table' FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE {_CLASS} AND c.relkind = 'f'
  UNION ALL SELECT 'row security rule' FROM pg_policy
  UNION ALL SELECT 'rewrite rule' FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {_CLASS} AND r.rulename <> '_RETURN'
  UNION ALL SELECT 'inheritance of a table (its rows are taken as its own)' FROM pg_inherits i
    JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE {_CLASS} AND c.relkind = 'r' AND NOT c.relispartition
  UNION ALL SELECT 'operator' FROM pg_operator o JOIN pg_namespace n ON n.oid = o.oprnamespace
    WHERE {_OWN.format(catalog="pg_operator", oid="o.oid")}
  UNION ALL SELECT 'large object' FROM pg_largeobject_metadata
) one GROUP BY what ORDER BY what
"""
_SETTINGS = """
SELECT (SELECT CASE to_jsonb(d)->>'datlocprovider'
    WHEN 'i' THEN coalesce(to_jsonb(d)->>'datlocale', to_jsonb(d)->>'daticulocale') || '-x-icu'
    WHEN 'b' THEN to_jsonb(d)->>'datlocale' ELSE d.datcollate END
    FROM pg_database d WHERE datname = current_database()),
  (SELECT reset_val FROM pg_settings WHERE name = 'TimeZone'), current_setting('server_version')
"""


@dataclass(frozen=True, slots=True)
class _Table:
    """A table to be written: its number and quoted name."""

    oid: int
    name: str
    quoted: str
    filled: bool


def write_native(connection: Connection, out: IO[bytes]) -> Native:
    """Write the whole database as a script, in the transaction that is open, and return what was found and lost."""

    def lines(question: str, **values: Any) -> Iterator[str]:
        """Yield one statement a row."""
        for (line,) in connection.exec_driver_sql(*_bound(question, values)):
            yield str(line)

    def write(statements: Iterator[str]) -> None:
        """Write statements, one a line or more."""
        out.writelines(f"{statement}\n".encode() for statement in statements)

    connection.exec_driver_sql("SET LOCAL search_path = ''")
    write(iter(("SET check_function_bodies = false;", "SET search_path = '';")))
    for question in (_SCHEMAS, _EXTENSIONS, _TYPES):
        write(lines(question))
    write(lines(_FUNCTIONS, late=False))
    write(lines(_SEQUENCES))
    tables = []
    rows = 0
    for table, create in _tables(connection):
        write(iter((create,)))
        tables.append(table)
    for table in tables:
        rows += _copy(connection, table, out)
    for question in (_OWNED, _VALUES, _CONSTRAINTS):
        write(lines(question))
    write(lines(_INDEXES, kinds=["r", "p"]))
    write(lines(_FUNCTIONS, late=True))
    write(lines(_VIEWS))
    write(lines(_INDEXES, kinds=["m"]))
    for question in (_TRIGGERS, _COMMENTS):
        write(lines(question))
    lost = [counted(int(count), str(what)) for what, count in connection.exec_driver_sql(_LOST)]
    settings, told = _settings(connection)
    notes = ([f"not taken: {', '.join(lost)}"] if lost else []) + told
    names = tuple(table.name for table in tables)
    return Native(names, rows, settings, tuple(notes))


def _bound(question: str, values: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a question with its values as the driver takes them: a percent sign of the text is doubled."""
    text = question.replace("%", "%%")
    for name in values:
        text = text.replace(f":{name}", f"%({name})s")
    return (text, values) if values else (text, {})


def _tables(connection: Connection) -> Iterator[tuple[_Table, str]]:
    """Yield each table with the statement that makes it."""
    found = connection.exec_driver_sql(*_bound(_TABLES, {})).fetchall()
    for oid, schema, name, kind, is_partition, partitioned, bound, parent in found:
        quoted = f'"{schema.replace(chr(34), chr(34) * 2)}"."{name.replace(chr(34), chr(34) * 2)}"'
        columns = connection.exec_driver_sql(*_bound(_COLUMNS, {"oid": oid})).fetchall()
        tail = f" PARTITION BY {partitioned}" if partitioned else ""
        if is_partition:
            create = f"CREATE TABLE {quoted} PARTITION OF {parent} {bound}{tail};"
        else:
            create = f"CREATE TABLE {quoted} ({', '.join(str(one[2]) for one in columns)}){tail};"
        plain = name if schema == "public" else f"{schema}.{name}"
        yield _Table(int(oid), plain, quoted, filled=kind == "r"), create


def _copy(connection: Connection, table: _Table, out: IO[bytes]) -> int:
    """Write a table's rows as COPY data and return how many there were."""
    if not table.filled:
        return 0
    columns = connection.exec_driver_sql(*_bound(_COLUMNS, {"oid": table.oid})).fetchall()
    names = ", ".join('"' + str(name).replace('"', '""') + '"' for name, generated, _ in columns if not generated)
    if not names:
        return 0
    out.write(f"COPY {table.quoted} ({names}) FROM stdin;\n".encode())
    driver: Any = connection.connection.driver_connection
    try:
        with driver.cursor() as cursor:
            with cursor.copy(f"COPY (SELECT {names} FROM ONLY {table.quoted}) TO STDOUT".encode()) as data:
                for chunk in data:
                    out.write(bytes(chunk))
            count = int(cursor.rowcount)
    except psycopg.Error as error:
        message = f"table {table.name} cannot be read: {error.diag.message_primary or type(error).__name__}"
        raise InfrastructureError(message, remedy="Check that the login may read every table") from None
    out.write(b"\\.\n")
    return count


def _settings(connection: Connection) -> tuple[EngineSettings, list[str]]:
    """Return the database's settings, and a line for what the image does not have."""
    found = connection.exec_driver_sql(*_bound(_SETTINGS, {})).fetchone()
    collation, zone, version = (str(one or "") for one in found or ("", "", ""))
    told: list[str] = []
    named: str | None = collation
    if collation in _SYSTEM or not collation:
        named = None
    elif collation not in _OURS and not collation.endswith("-x-icu"):
        named = collation.split(".")[0].split("@")[0].replace("_", "-") + "-x-icu"
        told.append(f"collation {collation} is taken as {named}: punctuation may sort otherwise")
    settings = EngineSettings.model_construct(
        collation=named,
        sql_mode=None,
        time_zone=zone or None,
        lower_case_table_names=None,
        version=version.split(" ")[0],
    )
    return settings, told
