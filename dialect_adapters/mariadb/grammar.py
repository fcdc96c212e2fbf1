"""What the guard may let through on MariaDB, and how MariaDB reads a text: as MySQL does, with words of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sqlassay.dialect_adapters.mysql.grammar import EXTENSIONS
from sqlassay.dialect_adapters.mysql.grammar import RULES as MYSQL
from sqlassay.dialect_adapters.wordlist import read_catalogue, read_words, words

_HERE = Path(__file__)
_READ_BY_THE_GRAMMAR = words("nextval lastval setval percentile_cont percentile_disc json_table")
"""Functions in whose arguments the grammar takes names alone, so that catalogue.txt lacks them."""

RULES = replace(
    MYSQL,
    functions=read_words(_HERE.with_name("functions.txt")),
    known_functions=frozenset(read_catalogue(_HERE.with_name("catalogue.txt"))) | _READ_BY_THE_GRAMMAR | EXTENSIONS,
    gaming=MYSQL.gaming | words("uuid_v4 uuid_v7 sys_guid rownum"),
    rejected_text=(
        *MYSQL.rejected_text,
        (r"\b(?:next|previous) value for\b", "a sequence's next value"),
        (r"\brows examined\b", "a LIMIT that cuts the rows without a word"),
    ),
    # It runs comments of versions to 5.07.00 and from 10.00.00 on, none between: no one version tells which of several.
    spellings=replace(
        MYSQL.spellings,
        gated=False,
        reads=(
            *MYSQL.spellings.reads,
            (r"\bgroup_concat \( [^()]*(?P<a>limit \d+ (?:(?:,|offset) \d+ )?)\) ", (("a", ""),)),
        ),
    ),
    cte_scope="sealed",
    denied_words=MYSQL.denied_words | {"current_role"},
)
"""The rules. MySQL's lexical level is MariaDB's, but that every executable comment is refused, `/*M! */` among them."""
