"""MySQL's own words among the servers of its family."""

from __future__ import annotations

from sqlassay.dialect_adapters.mysql.flavour import Flavour
from sqlassay.dialect_adapters.mysql.state import STATE

_DESCRIBED = (
    "SELECT table_name, table_type, engine, table_collation, create_options, table_comment "
    "FROM information_schema.tables WHERE table_schema = %s "
    "ORDER BY 1",
    "SELECT table_name, ordinal_position, column_name, column_type, is_nullable, column_default, extra, "
    "collation_name, generation_expression, column_comment "
    "FROM information_schema.columns WHERE table_schema = %s ORDER BY 1, 2",
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
_SET_BY_LOGINS = (
    *("character_set_client", "character_set_connection", "character_set_results", "collation_connection"),
    *("cte_max_recursion_depth", "foreign_key_checks", "group_concat_max_len", "information_schema_stats_expiry"),
    *("max_execution_time", "sql_mode", "sql_notes", "sql_quote_show_create", "time_zone", "transaction_read_only"),
    *("unique_checks", "autocommit", "transaction_isolation", "net_read_timeout", "net_write_timeout"),
)
"""Variables that our sessions, or the scripts of a dump, set for themselves."""

_CHANGED = (
    "SELECT schema_name, default_collation_name FROM information_schema.schemata ORDER BY 1",
    "SELECT event_schema, event_name, event_definition FROM information_schema.events ORDER BY 1, 2",
    # Set while it runs, by whoever may; what it was started with differs between building and reading.
    "SELECT i.variable_name, g.variable_value FROM performance_schema.variables_info i JOIN "  # noqa: S608 - our names
    "performance_schema.global_variables g ON g.variable_name = i.variable_name WHERE i.variable_source = 'DYNAMIC' "
    # A login that sets its own value marks the variable as a whole: these are told always, by the server's value.
    f"OR i.variable_name IN ({', '.join(repr(name) for name in _SET_BY_LOGINS)}) ORDER BY 1",
    "SELECT variable_name, variable_value FROM performance_schema.persisted_variables ORDER BY 1",
    "SELECT name FROM information_schema.innodb_tablespaces WHERE space_type = 'General' ORDER BY 1",
    "SELECT resource_group_name, resource_group_enabled FROM information_schema.resource_groups ORDER BY 1",
)
_TABLES = (
    "SELECT table_name FROM information_schema.tables WHERE table_schema = %s AND table_type = 'BASE TABLE' ORDER BY 1"
)


def _time_limit(seconds: float) -> str:
    """Return the setting that bounds a SELECT, and no other statement."""
    return f"max_execution_time = {round(seconds * 1000)}"


MYSQL = Flavour(
    dialect="mysql",
    engine="MySQL",
    driver="mysql+pymysql",
    time_limit=_time_limit,
    described=_DESCRIBED,
    changed=_CHANGED,
    tables=_TABLES,
    state=STATE,
)
