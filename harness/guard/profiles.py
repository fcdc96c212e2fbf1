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
    engineproperty charactersetproperty collateproperty onproperty
    """)


_DDL_WORDS = words(
    "key references check unique add column default index include constraint foreign primary virtual stored"
)


@dataclass(frozen=True, slots=True)
class Profile:
    """One statement profile: roots (None = the dialect's reads), node kinds, objects it may change, keywords."""

    roots: frozenset[str] | None
    nodes: frozenset[str]
    objects: frozenset[str] = frozenset()
    paren_words: frozenset[str] = frozenset()


PROFILES = {
    "dql": Profile(None, _READ),
    "dml": Profile(DML, _READ | _DML_NODES, paren_words=words("conflict into set matched insert")),
    "ddl": Profile(
        frozenset({"create", "drop", "alter"}), _READ | _DDL_NODES, frozenset({"table", "view", "index"}), _DDL_WORDS
    ),
}
"""The profiles by query type."""

EXPLAINED = PROFILES["dml"].nodes
"""What a statement may hold that is only explained, not run."""
