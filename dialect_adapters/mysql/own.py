"""MySQL's own words among the servers of its family."""

from __future__ import annotations

from dialect_adapters.mysql.flavour import Flavour
from dialect_adapters.mysql.state import STATE

_DESCRIBED = (
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
_RIGHTS = (
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


def _time_limit(seconds: float) -> str:
    """Return the setting that bounds a SELECT, and no other statement."""
    return f"max_execution_time = {round(seconds * 1000)}"


MYSQL = Flavour(
    dialect="mysql",
    engine="MySQL",
    driver="mysql+pymysql",
    time_limit=_time_limit,
    described=_DESCRIBED,
    rights=_RIGHTS,
    tables=_TABLES,
    state=STATE,
)
