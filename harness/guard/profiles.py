"""What each statement profile may be made of: roots and node kinds, as allow-lists."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dialect_adapters.wordlist import read_words, words

KINDS = {
    "insert": "INSERT",
    "update": "UPDATE",
    "delete": "DELETE",
    "merge": "MERGE",
    "create": "CREATE",
    "drop": "DROP",
    "alter": "ALTER",
    "truncate": "TRUNCATE",
    "truncatetable": "TRUNCATE",
    "grant": "GRANT",
    "revoke": "REVOKE",
    "replace": "INSERT",
}
"""The ten statement kinds that are named in a rejection, by keyword and node kind."""

DML = frozenset({"insert", "update", "delete", "merge"})
_READ = read_words(Path(__file__).with_name("nodes.txt"))
_DML_NODES = DML | {"when", "whens", "returning", "onconflict", "propertyeq"}
_DDL_NODES = words("""
    create drop alter altercolumn alterrename addconstraint columnconstraint columnconstraintkind constraint foreignkey
    primarykey primarykeycolumnconstraint notnullcolumnconstraint uniquecolumnconstraint defaultcolumnconstraint
    checkcolumnconstraint check references reference autoincrementcolumnconstraint computedcolumnconstraint
    generatedasidentitycolumnconstraint collatecolumnconstraint indexcolumnconstraint index indexparameters
    renamecolumn droppartition columnposition modifycolumn renameindex dropprimarykey properties
    """)


@dataclass(frozen=True, slots=True)
class Profile:
    """One statement profile: its own roots (None = the dialect's read statements) and the node kinds it may hold."""

    roots: frozenset[str] | None
    nodes: frozenset[str]
    objects: frozenset[str] = frozenset()


PROFILES = {
    "dql": Profile(None, _READ),
    "dml": Profile(DML, _READ | _DML_NODES),
    "ddl": Profile(frozenset({"create", "drop", "alter"}), _READ | _DDL_NODES, frozenset({"table", "view", "index"})),
}
"""The profiles by query type."""

EXPLAINED = PROFILES["dml"].nodes
"""What a statement may hold that is only explained, not run."""
