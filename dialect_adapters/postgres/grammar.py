"""What the guard may let through on Postgres, and how Postgres reads a text."""

from __future__ import annotations

from pathlib import Path

from sqlassay.dialect_adapters.contract import GrammarRules, Spellings
from sqlassay.dialect_adapters.wordlist import PAREN_WORDS, read_catalogue, read_words, words

_SHOWABLE = (
    "server_version|server_version_num|timezone|time zone|datestyle|intervalstyle|client_encoding|server_encoding"
)
_SHOWABLE_TOO = (
    "standard_conforming_strings|transaction_isolation|transaction_read_only|statement_timeout|lc_collate|search_path"
)
_REG_TYPES = "class proc procedure oper operator type role namespace config dictionary collation"
_CATALOGUE_VIEWS = "columns tables views table_constraints key_column_usage referential_constraints"

_EXTENSIONS = words("""
    dblink dblink_connect dblink_connect_u dblink_exec dblink_open dblink_send_query crosstab connectby xslt_process
    http_get http_post plpy_execute
    """)
"""Functions of extensions that act outside the database: never a slip, whether installed or not."""

_WORD = r"(?:[\w$]+ \. )?[\w$]+ "
_LIST = r"\( (?:[\w$]+ (?:, )?)+\) "
_SEQUENCE = r"(?:(?:start|with|increment|by|minvalue|maxvalue|no|cache|cycle|-|\d+) )+"

_DIGITS = r"[0-9]++(?:_[0-9]++)*+"
_NUMBERS = (
    rf"0[xX](?:_?[0-9a-fA-F])++|0[oO](?:_?[0-7])++|0[bB](?:_?[01])++"
    rf"|(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
)
_CLOCK_HINTS = (
    # The word itself, an escape that may spell it, or a text that is put together and then taken for a moment.
    r"now|today|tomorrow|yesterday|\\|u&"
    r"|(?=.*(?:date|time|range))(?=.*(?:\|\||concat|format|replace|translate|reverse|overlay|chr\b|substr|left|right|pad"
    r"|trim|lower|upper|initcap|string_agg|array|json|xml|convert_from|decode|encode|to_char|split_part|unnest|quote|'[^']*'\s+'))"
)
_LABELS = (
    "select from having union except intersect into on using fetch for in not null true false cast collate create with "
    "desc asc distinct all any case when then else end primary references table to unique check and or as"
)
"""Words that the parser takes for more than a label behind AS."""

_OTHERWISE = r"(?:null|error|default (?:_|-? ?[\d.]+)|empty (?:array|object)) on (?:empty|error) "

SPELLINGS = Spellings(
    numbers=_NUMBERS,
    escaped_names=True,
    reads=(
        (r"\b(?P<a>operator \( pg_catalog \. )(?:[^\w\s()] ?)+ (?P<b>\) )", (("a", ""), ("b", ""))),
        (r"(?:^|\s)(?P<a>@ )", (("a", ""),)),
        *(
            (rf"^(?:select|with|\() .*[^\s(,] as (?P<a>{word} )(?=, |from |$)", (("a", f'"{word}"'),))
            for word in _LABELS.split()
        ),
        (r"\b(?P<a>exists )path _ ", (("a", ""),)),
        (rf"\bpath _ (?P<a>{_OTHERWISE})", (("a", ""),)),
    ),
    heads=(("refresh materialized view", "truncate table"),),
    rest=(
        (rf"^truncate table (?P<a>concurrently )(?={_WORD}(?:with (?:no )?data )?$)", (("a", ""),)),
        (rf"^truncate table {_WORD}(?P<a>with (?:no )?data )$", (("a", ""),)),
        (
            rf"^insert into {_WORD}(?:as {_WORD})?(?:{_LIST})?(?P<a>overriding (?:system|user) value )",
            (("a", ""),),
        ),
        (r"^create .*(?P<a>with (?:cascaded |local )?check option )$", (("a", ""),)),
        (rf"\bas identity (?P<a>\( {_SEQUENCE}\) )", (("a", ""),)),
        (r"^alter table .*\badd (?P<a>)(?=check \( )", (("a", "constraint c"),)),
        (
            rf"^alter table (?:if exists )?(?:only )?{_WORD}rename (?P<a>)(?!to |column |constraint )[\w$]+ to ",
            (("a", "column"),),
        ),
    ),
)
"""What Postgres alone writes: REFRESH, OVERRIDING, CHECK OPTION, options of an identity, nameless checks."""

_FUNCTIONS = read_words(Path(__file__).with_name("functions.txt"))
_CATALOGUE = read_catalogue(Path(__file__).with_name("catalogue.txt"))
_ACTING = frozenset(
    name
    for name, function in _CATALOGUE.items()
    if function.kind != "keyword" and function.volatility != "immutable" and name not in _FUNCTIONS
)
"""Functions that read or change something: what is immutable tells `value.name` nothing but the value."""

RULES = GrammarRules(
    sqlglot_dialect="postgres",
    functions=_FUNCTIONS,
    known_functions=frozenset(_CATALOGUE) | _EXTENSIONS,
    gaming=words("""
        random random_normal gen_random_uuid clock_timestamp statement_timestamp transaction_timestamp now timeofday
        array_sample array_shuffle current_date current_time current_timestamp localtime localtimestamp age
        """),
    system_schemas=frozenset({"pg_catalog", "information_schema", "pg_toast", "pg_temp"}),
    visible_system_tables=frozenset(f"information_schema.{view}" for view in _CATALOGUE_VIEWS.split()),
    foreign_marks=r"[`\\{}$]",
    rejected_text=(
        (r"\bfor\s+(?:no\s+key\s+)?update\b|\bfor\s+(?:key\s+)?share\b", "a locking clause"),
        (r"\bnext\s+value\s+for\b", "a sequence is advanced"),
        (r"\boperator\s*\((?! pg_catalog \. )", "an operator named with its schema"),
        (r"(?<!\. )(?<!as )\buser\b", "USER is a function"),
    ),
    allowed_statements=frozenset({"select", "union", "intersect", "except", "values"}),
    nested_comments=True,
    dollar_quotes=True,
    identifier_quotes='"',
    paren_words=PAREN_WORDS
    | words("""
        array ilike similar grouping symmetric asymmetric bpchar varbit timestamptz timetz ordinality columns path plan
        serial money uuid json jsonb bytea inet cidr tablesample repeatable distinct overlaps both leading trailing
        bernoulli system xmlattributes operator passing default
        """),
    system_prefixes=("pg_",),
    default_schemas=frozenset({"public"}),
    denied_words=frozenset(f"reg{kind}" for kind in _REG_TYPES.split())
    | frozenset({"session_user", "current_user", "current_role", "system_user", "current_catalog", "current_schema"}),
    gaming_words=words("""
        ctid xmin xmax cmin cmax tableoid current_date current_time current_timestamp localtime localtimestamp
        tablesample
        """),
    clock_hints=_CLOCK_HINTS,
    gaming_literals=frozenset({"now", "today", "tomorrow", "yesterday"}),
    utilities=(rf"show (?P<setting>{_SHOWABLE}|{_SHOWABLE_TOO})",),
    types=words("""
        box cidr circle inet jsonpath line lseg macaddr macaddr8 path point polygon refcursor tid tsquery tsvector
        varbit xid xid8 char name
        """),
    string_prefixes=("b", "x", "n", "u&"),
    escape_prefixes=("e",),
    dash_comment_ends="\n\r",
    functional_notation=_ACTING | _EXTENSIONS,
    cte_scope="recursive",
    spellings=SPELLINGS,
)
"""The rules: allow-lists are data, names are lower-case."""
