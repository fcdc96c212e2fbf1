"""What the guard may let through on MySQL, and how MySQL reads a text."""

from __future__ import annotations

from pathlib import Path

from sqlassay.dialect_adapters.contract import GrammarRules, Spellings
from sqlassay.dialect_adapters.wordlist import PAREN_WORDS, read_catalogue, read_words, words

_NAME = r"(?:`[^`]+`|\w+)"
_TABLE = rf"(?:(?P<schema>{_NAME})\.)?(?P<table>{_NAME})"
_LIKE = r"(?: like (?:'[^'\\]*'|\"[^\"\\]*\"))?"
_EXPLAINABLE = "select|values|table|with|insert|update|delete|replace|analyze|format|extended|partitions|for"
_CATALOGUE_VIEWS = "columns tables views statistics table_constraints key_column_usage referential_constraints"

EXTENSIONS = words("sys_exec sys_eval sys_get sys_set lib_mysqludf_sys_info http_get http_post")
"""Functions of extensions that act outside the database: never a slip, whether installed or not."""

_WORD = r"(?:[\w$]+ \. )?[\w$]+ "

SPELLINGS = Spellings(
    heads=(("replace", "insert"), ("rename", "alter")),
    rest=(
        (r"^(?:insert|update|delete) (?P<a>(?:low_priority|high_priority|delayed|ignore) )", (("a", ""),)),
        (r"^alter (?P<a>tables )", (("a", "table"),)),
        (rf"^alter table {_WORD}(?P<a>)to ", (("a", "rename"),)),
        (
            rf"^alter table {_WORD}rename to {_WORD}.*, (?P<a>)(?!rename to ){_WORD}(?P<b>)to ",
            (("a", "rename to"), ("b", ", rename")),
        ),
        (r"^alter table .*\brename (?P<a>as )", (("a", "to"),)),
        (r"^alter table .*\badd (?P<a>)(?=check \( )", (("a", "constraint c"),)),
        (r"^alter table .*(?P<a>convert to )(?=(?:character set|charset) \w+ (?:collate \w+ )?$)", (("a", "default"),)),
        (r"^create (?:unique )?(?:index|key) [\w$]+ (?P<a>using (?:btree|hash) )on ", (("a", ""),)),
        (r"^(?:create|alter) .*\) (?P<a>using (?:btree|hash) )", (("a", ""),)),
        (r"^create (?P<a>(?:fulltext|spatial) )index ", (("a", ""),)),
        (r"^create .*(?P<a>with (?:cascaded |local )?check option )$", (("a", ""),)),
    ),
    prefixes=True,
    gated=True,
    reads=(
        (
            r"\bselect (?P<a>(?:sql_(?:small_result|big_result|buffer_result|no_cache)|high_priority) )"
            r"(?=distinct |distinctrow |all )",
            (("a", ""),),
        ),
        (r"\b(?P<a>exists )path _ ", (("a", ""),)),
        (r"\bpath _ (?P<a>(?:null|error|default _) on (?:empty|error) )", (("a", ""),)),
    ),
)
"""What MySQL alone writes: REPLACE, RENAME TABLE, IGNORE, CONVERT TO, index methods, CHECK OPTION, nameless checks."""

RULES = GrammarRules(
    sqlglot_dialect="mysql",
    quotient_scale=4,  # div_precision_increment, which no session here changes
    functions=read_words(Path(__file__).with_name("functions.txt")),
    known_functions=frozenset(read_catalogue(Path(__file__).with_name("catalogue.txt"))) | EXTENSIONS,
    gaming=words("""
        rand uuid now sysdate curdate curtime current_date current_time current_timestamp localtime localtimestamp
        unix_timestamp utc_date utc_time utc_timestamp
        """),
    system_schemas=frozenset({"information_schema", "mysql", "performance_schema", "sys", "ndbinfo"}),
    visible_system_tables=frozenset(f"information_schema.{view}" for view in _CATALOGUE_VIEWS.split()) | {"dual"},
    foreign_marks=r"[\\{}$@?]",
    rejected_text=(
        (r"@ @|: =", "a variable of the server's, or one that is set"),
        (r"\bfor\s+(?:update|share)\b|\block\s+in\s+share\s+mode\b", "a locking clause"),
        (r"\bprocedure\s+analyse\b", "PROCEDURE ANALYSE"),
        (
            r"\) (?:\( )+with\b",
            "a WITH inside a WITH's own query, where MySQL forgets the outer one and the parser does not",
        ),
        (r"\bsql_calc_found_rows\b", "SQL_CALC_FOUND_ROWS changes the session"),
    ),
    allowed_statements=frozenset({"select", "union", "intersect", "except", "values"}),
    backslash_escapes=True,
    hash_comments=True,
    identifier_quotes="`",
    executable_comments=True,
    paren_words=PAREN_WORDS
    | words("""
        rlike regexp signed unsigned index key force ignore use against of separator xor columns path nested error empty
        year json straight_join sounds member fulltext div div mod boolean mode expansion duplicate set enum
        """),
    denied_words=frozenset({"current_user", "session_user", "system_user", "outfile", "dumpfile"}),
    clock_hints=r"date|time|day|now|stamp|month|year|week",
    times_are_today=True,
    gaming_words=frozenset({"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"}),
    utilities=(
        r"show(?: full)? tables" + _LIKE,
        rf"show(?: extended)?(?: full)? (?:columns|fields) (?:from|in) {_TABLE}{_LIKE}",
        rf"show (?:index|indexes|keys) (?:from|in) {_TABLE}",
        rf"show (?P<others>create) (?:table|view) {_TABLE}",
        rf"(?:describe|desc|explain) (?!(?:{_EXPLAINABLE})\b){_TABLE}(?: {_NAME})?",
    ),
    string_prefixes=("b", "x"),
    escape_prefixes=("n",),
    double_quoted_strings=True,
    odbc_literals=True,
    dash_comment_needs_blank=True,
    cte_scope="earlier",
    spellings=SPELLINGS,
    comment_words=frozenset({"sql_no_cache", "straight_join", "high_priority", "sql_small_result", "sql_big_result"}),
)
"""The rules: allow-lists are data, names are lower-case."""
