"""What the guard may let through on DuckDB, and how DuckDB reads a text."""

from __future__ import annotations

from pathlib import Path

from sqlassay.dialect_adapters.contract import GrammarRules, Spellings
from sqlassay.dialect_adapters.wordlist import PAREN_WORDS, read_catalogue, read_words, words

_NAME = r"(?:\"[^\"]+\"|\w+)"
_TABLE = rf"(?:(?P<schema>{_NAME}) ?\. ?)?(?P<table>{_NAME})"
_CATALOGUE_VIEWS = "columns tables views table_constraints key_column_usage referential_constraints"

_EXTENSIONS = words("""
    getenv http_get http_post postgres_query postgres_execute mysql_query mysql_execute sqlite_scan sqlite_query
    postgres_scan mysql_scan iceberg_scan delta_scan st_read read_xlsx load_aws_credentials shellfs dbgen dsdgen
    """)
"""Functions of extensions that act outside the database: never a slip, whether installed or not."""

_WORD = r"(?:[\w$]+ \. )?[\w$]+ "
_DIGITS = r"[0-9]++(?:_[0-9]++)*+"
_NUMBERS = rf"(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"

SPELLINGS = Spellings(
    numbers=_NUMBERS,
    reads=((r"\blimit [0-9.]+ (?P<a>% )(?=\) |offset |$)", (("a", "percent"),)),),
    rest=(
        (rf"^alter table (?:if exists )?{_WORD}drop (?P<a>)(?!column |constraint )", (("a", "column"),)),
        (rf"^alter table (?:if exists )?{_WORD}rename (?P<a>)(?!to |column )[\w$]+ to ", (("a", "column"),)),
    ),
)
"""What DuckDB writes shorter than the parser expects: ALTER without COLUMN, and `%` for PERCENT."""

RULES = GrammarRules(
    sqlglot_dialect="duckdb",
    functions=read_words(Path(__file__).with_name("functions.txt")),
    known_functions=frozenset(read_catalogue(Path(__file__).with_name("catalogue.txt"))) | _EXTENSIONS,
    gaming=words("""
        random uuid gen_random_uuid uuidv4 uuidv7 now today get_current_time get_current_timestamp ago age
        transaction_timestamp current_date current_time current_timestamp current_localtime current_localtimestamp
        localtime localtimestamp reservoir_quantile
        """),
    system_schemas=frozenset({"system", "temp", "pg_catalog", "information_schema"}),
    visible_system_tables=frozenset(f"information_schema.{view}" for view in _CATALOGUE_VIEWS.split()),
    foreign_marks=r"[`\\?$#]",
    rejected_text=(
        (r"\b0[xXoObB]\w", "a number that DuckDB reads as another"),
        (r"(?<!\. )(?<!as )\buser\b", "USER is a function"),
        (
            r"(?:\(|\b(?:union|except|intersect)(?: all| distinct)?(?: by name)?) (?:show|desc|describe|summarize)\b",
            "a SHOW or DESCRIBE inside a query, which the parser reads as a name",
        ),
        (
            r"\) (?:\( )+with\b",
            "a WITH inside a WITH's own query, where DuckDB forgets the inner one and the parser does not",
        ),
    ),
    allowed_statements=frozenset({"select", "union", "intersect", "except", "values", "pivot"}),
    nested_comments=True,
    dollar_quotes=True,
    identifier_quotes='"',
    paren_words=PAREN_WORDS
    | words("""
        array ilike similar grouping symmetric asymmetric columns lambda exclude rename qualify pivot unpivot sample
        positional asof semi anti struct map union enum list varchar string hugeint uhugeint ubigint uinteger usmallint
        utinyint tinyint timestamptz timetz uuid json bytea tablesample repeatable distinct overlaps both leading
        trailing bernoulli system reservoir include summarize ordinality years
        """),
    system_prefixes=("pg_", "duckdb_", "sqlite_", "pragma_"),
    default_schemas=frozenset({"main"}),
    denied_words=frozenset({"session_user", "current_user", "current_role"}),
    gaming_words=words("""
        rowid current_date current_time current_timestamp localtime localtimestamp tablesample sample
        """),
    utilities=(
        r"show tables",
        rf"(?:show|describe|desc|summarize) {_TABLE}",
        rf"pragma table_info ?\( ?'?{_TABLE}'? ?\)",
        r"pragma (?P<setting>version)",
    ),
    string_prefixes=("b", "x", "n"),
    escape_prefixes=("e",),
    dash_comment_ends="\n\r",
    cte_scope="anchored",
    method_calls=True,
    allowed_into=r"\binto name [\w$]+ value\b",
    spellings=SPELLINGS,
    file_tables=r"[^\w\s$\"-]",
    column_calls=frozenset({"histogram"}),
)
"""The rules: allow-lists are data, names are lower-case."""
