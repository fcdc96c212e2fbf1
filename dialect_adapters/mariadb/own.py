"""MariaDB's own words among the servers of MySQL's family."""

from __future__ import annotations

from sqlassay.dialect_adapters.mysql.flavour import Flavour
from sqlassay.dialect_adapters.mysql.state import state_rules

_DESCRIBED = (
    "SELECT table_name, table_type, engine, table_collation, create_options, table_comment "
    "FROM information_schema.tables WHERE table_schema = %s "
    "ORDER BY 1",
    "SELECT table_name, ordinal_position, column_name, column_type, is_nullable, column_default, extra, "
    "collation_name, generation_expression, column_comment "
    "FROM information_schema.columns WHERE table_schema = %s ORDER BY 1, 2",
    "SELECT table_name, index_name, seq_in_index, column_name, non_unique, sub_part, ignored "
    "FROM information_schema.statistics WHERE table_schema = %s ORDER BY 1, 2, 3",
    "SELECT constraint_name, table_name, constraint_type FROM information_schema.table_constraints "
    "WHERE table_schema = %s ORDER BY 1, 2, 3",
    "SELECT table_name, constraint_name, level, check_clause FROM information_schema.check_constraints "
    "WHERE constraint_schema = %s ORDER BY 1, 2",
    "SELECT table_name, view_definition, security_type FROM information_schema.views WHERE table_schema = %s "
    "ORDER BY 1",
    "SELECT routine_name, routine_type, routine_definition, security_type, definer FROM information_schema.routines "
    "WHERE routine_schema = %s ORDER BY 1, 2",
    "SELECT trigger_name, event_manipulation, event_object_table, action_statement "
    "FROM information_schema.triggers WHERE trigger_schema = %s ORDER BY 1",
    # Its view is refused where the scheduler of events is switched off.
    "SELECT name, body, definer, status FROM mysql.event WHERE db = %s ORDER BY 1",
)
_CHANGED = (
    "SELECT schema_name, default_collation_name FROM information_schema.schemata ORDER BY 1",
    # Set while it runs, by whoever may; what it was started with differs between building and reading.
    "SELECT variable_name, global_value FROM information_schema.system_variables WHERE global_value_origin = 'SQL' "
    "ORDER BY 1",
)
# A sequence is read as a table of one row.
_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s AND table_type <> 'VIEW' ORDER BY 1"

# A check's name is one of its table's here, so two tables may have the same.
_CONSTRAINTS = """
SELECT t.table_name, t.constraint_type,
  (SELECT group_concat(k.column_name, ifnull(concat(' > ', k.referenced_table_name, '.', k.referenced_column_name), '')
      ORDER BY k.ordinal_position) FROM information_schema.key_column_usage k
    WHERE k.constraint_schema = t.constraint_schema AND k.constraint_name = t.constraint_name
      AND k.table_name = t.table_name) AS constrained,
  r.update_rule, r.delete_rule, c.check_clause, t.constraint_name
FROM information_schema.table_constraints t
LEFT JOIN information_schema.referential_constraints r ON r.constraint_schema = t.constraint_schema
  AND r.constraint_name = t.constraint_name AND r.table_name = t.table_name
LEFT JOIN information_schema.check_constraints c ON t.constraint_type = 'CHECK'
  AND c.constraint_schema = t.constraint_schema AND c.constraint_name = t.constraint_name
  AND c.table_name = t.table_name
WHERE t.table_schema = DATABASE()
"""
_INDEXES = """
SELECT s.table_name, max(s.non_unique) AS non_unique, s.index_type,
  group_concat(s.column_name, ' ', ifnull(s.collation, ''), ' ', ifnull(s.sub_part, '') ORDER BY s.seq_in_index)
    AS indexed,
  if(count(t.constraint_name), '', s.index_name) AS index_name
FROM information_schema.statistics s
LEFT JOIN information_schema.table_constraints t ON t.constraint_schema = s.table_schema
  AND t.table_name = s.table_name AND t.constraint_name = s.index_name
WHERE s.table_schema = DATABASE() GROUP BY s.table_name, s.index_name, s.index_type
"""


def _time_limit(seconds: float) -> str:
    """Return the setting that bounds every statement, whatever it does."""
    return f"max_statement_time = {seconds:.3f}"


MARIADB = Flavour(
    dialect="mariadb",
    engine="MariaDB",
    driver="mariadb+pymysql",
    time_limit=_time_limit,
    described=_DESCRIBED,
    changed=_CHANGED,
    tables=_TABLES,
    state=state_rules("SET SESSION group_concat_max_len = 1048576", _CONSTRAINTS, _INDEXES),
    # Without this right nobody writes on a server that is read-only, and nobody grants it or turns that off there.
    settled=("REVOKE READ_ONLY ADMIN ON *.* FROM 'root'@'%'",),
    executable="M?!",
)
