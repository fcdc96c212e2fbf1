"""Tell whether a text may ask what day it is, as far as its words can tell; whether it does, running it shows."""

from __future__ import annotations

import re
from functools import cache

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.relation import Kind
from sqlassay.dialect_adapters.contract import GrammarRules
from sqlassay.harness.results.parsed import ParsedQuery


def may_read_clock(parsed: ParsedQuery, rules: GrammarRules, catalog: Catalog | None) -> bool:
    """Return whether its words allow that a statement reads the clock: too often rather than too seldom.

    A view may read it in the statement's place; and where a day is wanted some engines take a time to be today's.
    """
    if rules.clock_hints and _compiled(rules.clock_hints).search(parsed.sql):
        return True
    named = {table.name for table in parsed.tables}
    tables = [table for table in (catalog.tables if catalog is not None else ()) if table.name.lower() in named]
    return any(
        table.is_view or (rules.times_are_today and any(column.kind is Kind.TIME for column in table.columns))
        for table in tables
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a dialect's hints once."""
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)
