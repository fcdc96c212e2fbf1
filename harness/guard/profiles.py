"""What each statement profile may be made of: roots and node kinds, as allow-lists."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlassay.dialect_adapters.wordlist import read_words, words

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
WHY = {
    "temporaryproperty": "a temporary table ends with its session and leaves nothing to compare",
    "definerproperty": "DEFINER lends another login's rights",
}
"""Why a node is not admitted to a change, where its name does not say."""

_READ = read_words(Path(__file__).with_name("nodes.txt"))
_DML_NODES = DML | {"when", "whens", "returning", "onconflict", "propertyeq"}
_DDL_NODES = words("""
    create drop alter altercolumn alterrename addconstraint columnconstraint columnconstraintkind constraint foreignkey
    primarykey primarykeycolumnconstraint notnullcolumnconstraint uniquecolumnconstraint defaultcolumnconstraint
    checkcolumnconstraint check references reference autoincrementcolumnconstraint computedcolumnconstraint
    generatedasidentitycolumnconstraint collatecolumnconstraint indexcolumnconstraint index indexparameters
    renamecolumn droppartition columnposition modifycolumn renameindex dropprimarykey properties
    engineproperty charactersetproperty collateproperty onproperty onconflict strictproperty withdataproperty
    likeproperty unloggedproperty materializedproperty partitionedbyproperty partitionedofproperty partitionboundspec
    autoincrementproperty charactersetcolumnconstraint onupdatecolumnconstraint commentcolumnconstraint
    schemacommentproperty algorithmproperty sqlsecurityproperty truncatetable comment property
    """)


_DDL_WORDS = words(
    """key references check unique add column default index include constraint foreign primary virtual stored identity
    conflict"""
)

_OBJECTS = (
    r"(?:create|drop|alter) (?:or replace )?"
    r"(?:(?:unique|fulltext|spatial|materialized|unlogged|temp|temporary|algorithm = \w+|sql security \w+) )*"
    r"(?:table|view|index)\b|truncate\b|rename tables?\b|refresh materialized view\b"
    r"|comment on (?:column|table|(?:materialized )?view|index)\b"
)


@dataclass(frozen=True, slots=True)
class Profile:
    """One statement profile: roots (None = the dialect's reads), node kinds and keywords.

    `objects` is how the code begins that says which objects it may change (a regex, empty = any).
    """

    roots: frozenset[str] | None
    nodes: frozenset[str]
    objects: str = ""
    paren_words: frozenset[str] = frozenset()


PROFILES = {
    "dql": Profile(None, _READ),
    "dml": Profile(
        DML | {"truncatetable"},
        _READ | _DML_NODES | {"truncatetable"},
        paren_words=words("conflict into set matched insert"),
    ),
    "ddl": Profile(
        frozenset({"create", "drop", "alter", "truncatetable", "comment"}),
        _READ | _DDL_NODES,
        _OBJECTS,
        _DDL_WORDS,
    ),
}
"""The profiles by query type."""

EXPLAINED = PROFILES["dml"].nodes
"""What a statement may hold that is only explained, not run."""
