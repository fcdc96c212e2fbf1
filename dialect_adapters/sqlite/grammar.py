"""What the guard may let through on SQLite, and how SQLite reads a text."""

from __future__ import annotations

from pathlib import Path

from sqlassay.dialect_adapters.contract import GrammarRules, Spellings
from sqlassay.dialect_adapters.wordlist import PAREN_WORDS, read_catalogue, read_words, words

_NAME = r"(?:\"[^\"]+\"|`[^`]+`|\[[^\]]+\]|'[^']+'|\w+)"
_TABLE_PRAGMAS = "table_info|table_xinfo|index_list"
_READ_PRAGMAS = "user_version|schema_version|foreign_keys|encoding|page_count|page_size|collation_list"

_EXTENSIONS = words("readfile writefile edit fsdir lsmode shell_add_schema sqlite3_exec eval")
"""Functions of extensions that act outside the database: never a slip, whether installed or not."""

_WORD = r"(?:[\w$]+ \. )?[\w$]+ "
_CONFLICT = "(?:rollback|abort|fail|ignore|replace)"

_DIGITS = r"[0-9]++(?:_[0-9]++)*+"
_NUMBERS = (
    r"0[xX][0-9a-fA-F]++(?:_[0-9a-fA-F]++)*+"
    rf"|(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
)

SPELLINGS = Spellings(
    numbers=_NUMBERS,
    heads=(("replace", "insert"),),
    rest=(
        (rf"\b(?:update|insert) (?P<a>or {_CONFLICT} )", (("a", ""),)),
        (rf"^(?:create|alter) .*\b(?P<a>on conflict {_CONFLICT} )", (("a", ""),)),
        (r"^create .*\) (?P<a>(?:without rowid|strict) (?:, (?:without rowid|strict) )*)$", (("a", ""),)),
        (
            r"^create .*[(,] [\w$]+ (?P<a>any )(?:[),]|not |primary key |unique |default |check |references )",
            (("a", "text"),),
        ),
        (rf"^alter table {_WORD}drop (?P<a>)(?!column )", (("a", "column"),)),
        (rf"^alter table {_WORD}rename (?P<a>)(?!to |column )[\w$]+ to ", (("a", "column"),)),
    ),
)
"""What SQLite alone writes: conflict clauses, REPLACE, WITHOUT ROWID, STRICT, ALTER without COLUMN."""

RULES = GrammarRules(
    sqlglot_dialect="sqlite",
    functions=read_words(Path(__file__).with_name("functions.txt")),
    known_functions=frozenset(read_catalogue(Path(__file__).with_name("catalogue.txt"))) | _EXTENSIONS,
    gaming=frozenset({"random", "randomblob", "current_date", "current_time", "current_timestamp"}),
    system_schemas=frozenset({"temp"}),
    visible_system_tables=frozenset({"sqlite_master", "sqlite_schema"}),
    foreign_marks=r"[\\{}$@?:#]",
    allowed_statements=frozenset({"select", "union", "intersect", "except", "values"}),
    pragmas=frozenset((_TABLE_PRAGMAS + "|" + _READ_PRAGMAS).split("|")) | {"foreign_key_list", "table_list"},
    identifier_quotes='"`',
    paren_words=PAREN_WORDS | frozenset({"glob", "regexp", "match", "indexed", "nvarchar", "clob", "key"}),
    system_prefixes=("sqlite_", "pragma_"),
    default_schemas=frozenset({"main"}),
    denied_words=frozenset({"dbstat", "bytecode", "tables_used", "sqlite_stmt", "fsdir"}),
    gaming_words=frozenset({"rowid", "oid", "_rowid_", "current_date", "current_time", "current_timestamp"}),
    gaming_literals=frozenset({"now"}),
    clock_hints=r"date|time|julian|epoch",
    clock_calls={"date": 1, "time": 1, "datetime": 1, "julianday": 1, "unixepoch": 1, "strftime": 2},
    utilities=(
        rf"pragma (?:main\.)?(?:{_TABLE_PRAGMAS}|(?P<others>foreign_key_list)) ?\( ?(?P<table>{_NAME}) ?\)",
        rf"pragma (?:main\.)?index_(?:info|xinfo) ?\( ?{_NAME} ?\)",
        rf"pragma (?:main\.)?(?:table_list|(?P<setting>{_READ_PRAGMAS}))",
    ),
    string_prefixes=("x",),
    bracket_identifiers=True,
    leading_bom=True,
    cte_scope="all",
    spellings=SPELLINGS,
    catalogue_functions=frozenset(
        f"pragma_{pragma}" for pragma in (*_TABLE_PRAGMAS.split("|"), "foreign_key_list", "index_info", "index_xinfo")
    ),
)
"""The rules: allow-lists are data, names are lower-case."""
