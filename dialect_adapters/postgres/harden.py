"""What PUBLIC loses on a Postgres server, so that a reader's login alone already stops what the guard missed.

Run once in template1, every snapshot database inherits it. Parser and planner read the catalogues without
privileges, so ordinary queries do not notice. What is granted back is an allow-list: what introspection needs.
"""

from __future__ import annotations

from collections.abc import Mapping

VISIBLE_CATALOGUES = [
    "pg_class",
    "pg_attribute",
    "pg_attrdef",
    "pg_namespace",
    "pg_type",
    "pg_enum",
    "pg_constraint",
    "pg_index",
    "pg_indexes",
    "pg_tables",
    "pg_views",
    "pg_description",
    "pg_collation",
    "pg_operator",
    "pg_am",
    "pg_range",
]

VISIBLE_INFORMATION = [
    "tables",
    "columns",
    "views",
    "schemata",
    "table_constraints",
    "key_column_usage",
    "constraint_column_usage",
    "referential_constraints",
    "check_constraints",
    "constraint_table_usage",
    "element_types",
    "domains",
]

VOLATILE_ALLOWED = [
    "random",
    "random_normal",
    "gen_random_uuid",
    "clock_timestamp",
    "timeofday",
    "array_sample",
    "array_shuffle",
    "bernoulli",
    "system",
]

COLLATIONS = {"en_US": "en_US.utf8", "en_US.utf8": "en_US.utf8"}
"""Collations of the system that servers have nearly everywhere; initdb looks for them by a program that is not here."""

STABLE_DENIED = [
    "txid_current",
    "txid_current_if_assigned",
    "txid_current_snapshot",
    "pg_current_xact_id",
    "pg_current_xact_id_if_assigned",
    "pg_current_snapshot",
    "pg_config",
    "pg_show_all_settings",
    "pg_settings_get_flags",
    "pg_get_replication_slots",
    "pg_available_extensions",
    "pg_available_extension_versions",
    "pg_extension_update_paths",
    "pg_tablespace_databases",
    "pg_tablespace_location",
    "pg_relation_filepath",
    "pg_relation_filenode",
    "pg_filenode_relation",
    "pg_conf_load_time",
    "pg_postmaster_start_time",
    "pg_listening_channels",
    "pg_cursor",
    "pg_prepared_statement",
    "inet_server_addr",
    "inet_server_port",
    "inet_client_addr",
    "inet_client_port",
    "pg_get_functiondef",
    "pg_get_function_sqlbody",
    "pg_get_userbyid",
    "ts_debug",
]


_OCTET_LENGTH = """
ALTER FUNCTION information_schema._pg_char_octet_length(oid, integer) SECURITY DEFINER SET search_path = pg_catalog;
"""
"""`information_schema.columns` calls it, and it asks pg_database for the encoding as whoever reads the view."""

IS_OPEN = "SELECT has_language_privilege('public', 'plpgsql', 'USAGE')"
"""Asks whether the template's statements have not been run here yet."""


def template_statements() -> str:
    """Return what is run once in template1 (and in the maintenance database)."""
    return f"""
REVOKE ALL ON ALL TABLES IN SCHEMA pg_catalog FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA information_schema FROM PUBLIC;
GRANT SELECT ON {_qualified("pg_catalog", VISIBLE_CATALOGUES)} TO PUBLIC;
GRANT SELECT ON {_qualified("information_schema", VISIBLE_INFORMATION)} TO PUBLIC;
{_OCTET_LENGTH}
REVOKE ALL ON SCHEMA public FROM PUBLIC;
REVOKE USAGE ON LANGUAGE sql FROM PUBLIC;
REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON ROUTINES FROM PUBLIC;
DO $harden$
DECLARE routine record;
BEGIN
  FOR routine IN
    SELECT p.oid::regprocedure AS signature FROM pg_catalog.pg_proc p
    WHERE p.pronamespace IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
      AND p.prokind = 'f' AND (
        (p.provolatile = 'v' AND p.proname <> ALL ({_array(VOLATILE_ALLOWED)})
           AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype, 'index_am_handler'::regtype,
             'table_am_handler'::regtype, 'language_handler'::regtype))
        OR p.proname = ANY ({_array(STABLE_DENIED)})
        OR p.proname LIKE 'pg\\_stat\\_get%'
        OR p.proname LIKE '%\\_to\\_xml%')
  LOOP
    EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || routine.signature || ' FROM PUBLIC';
  END LOOP;
END
$harden$;
DO $collations$
DECLARE named record;
BEGIN
  FOR named IN SELECT * FROM (VALUES {_rows(COLLATIONS)}) AS one (name, locale)
  LOOP
    BEGIN
      EXECUTE format('CREATE COLLATION IF NOT EXISTS pg_catalog.%I (provider = libc, locale = %L)',
        named.name, named.locale);
    EXCEPTION WHEN OTHERS THEN NULL;  -- a system without this locale has no such collation either
    END;
  END LOOP;
END
$collations$;
"""  # noqa: S608 - names of our own


def database_statements(database: str) -> str:
    """Return what closes a database to every login that was not let in by name (no other database, no TEMP)."""
    return f"REVOKE ALL ON DATABASE {database} FROM PUBLIC;"


def role(login: str, password: str, *, reads_only: bool) -> str:
    """Return the statements that make a login which can do and hold little; names and password come quoted."""
    return f"""
CREATE ROLE {login} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION NOBYPASSRLS
  CONNECTION LIMIT 30 PASSWORD {password};
ALTER ROLE {login} SET default_transaction_read_only = {"on" if reads_only else "off"};
ALTER ROLE {login} SET max_parallel_workers_per_gather = 0;
ALTER ROLE {login} SET jit = off;
ALTER ROLE {login} SET work_mem = '16MB';
ALTER ROLE {login} SET temp_file_limit = '256MB';
ALTER ROLE {login} SET track_activities = off;
ALTER ROLE {login} SET idle_in_transaction_session_timeout = '5min';
"""


def reader_grants(database: str, login: str, schemas: list[str]) -> str:
    """Return what lets a reader into one database: SELECT on its tables, no routine, no sequence."""
    lines = [f"GRANT CONNECT ON DATABASE {database} TO {login};"]
    for schema in schemas:
        lines += [
            f"REVOKE ALL ON SCHEMA {schema} FROM PUBLIC;",
            f"GRANT USAGE ON SCHEMA {schema} TO {login};",
            f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM PUBLIC;",
            f"REVOKE ALL ON ALL SEQUENCES IN SCHEMA {schema} FROM PUBLIC;",
            f"REVOKE EXECUTE ON ALL ROUTINES IN SCHEMA {schema} FROM PUBLIC;",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {login};",
        ]
    return "\n".join(lines)


def guest_grants(database: str, login: str, schemas: list[str], relations: list[str]) -> str:
    """Return what lets a guest into one database: SELECT on the relations named, all quoted."""
    lines = [f"GRANT CONNECT ON DATABASE {database} TO {login};"]
    lines += [f"GRANT USAGE ON SCHEMA {schema} TO {login};" for schema in schemas]
    lines += [f"GRANT SELECT ON {relation} TO {login};" for relation in relations]
    return "\n".join(lines)


_OWN = """
DO $own$
DECLARE relation record;
BEGIN
  FOR relation IN
    SELECT c.oid::regclass AS name, CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
        WHERE d.objid = c.oid AND d.classid = 'pg_catalog.pg_class'::regclass
          AND (d.deptype = 'e' OR (c.relkind = 'S' AND d.deptype IN ('a', 'i'))))
  LOOP
    EXECUTE format('ALTER %s %s OWNER TO {owner}', relation.kind, relation.name);
  END LOOP;
END
$own$;
"""
"""Tables, views and sequences become the owner's; a sequence of a column follows its table."""

_SEQUENCE_CALLS = ("nextval(regclass)", "currval(regclass)", "lastval()")


def writer_grants(database: str, writer: str, owner: str, schemas: list[str]) -> str:
    """Return what lets a writer change rows, and an owner tables, views and indexes; used in WRITE mode alone."""
    lines = [_OWN.replace("{owner}", owner.replace("'", "''"))]
    lines += [f"GRANT EXECUTE ON FUNCTION pg_catalog.{call} TO {writer}, {owner};" for call in _SEQUENCE_CALLS]
    lines.append(f"GRANT CONNECT ON DATABASE {database} TO {writer}, {owner};")
    for schema in schemas:
        lines += [
            f"GRANT USAGE ON SCHEMA {schema} TO {writer};",
            f"GRANT USAGE, CREATE ON SCHEMA {schema} TO {owner};",
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {writer};",
            f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {writer};",
        ]
    return "\n".join(lines)


def _qualified(schema: str, names: list[str]) -> str:
    """Return a comma-separated list of qualified names."""
    return ", ".join(f"{schema}.{name}" for name in names)


def _rows(values: Mapping[str, str]) -> str:
    """Return pairs as the rows of VALUES, of our own constants."""
    return ", ".join(f"('{name}', '{value}')" for name, value in values.items())


def _array(names: list[str]) -> str:
    """Return names as an SQL array of our own constants."""
    return "ARRAY[" + ", ".join(f"'{name}'" for name in names) + "]"
