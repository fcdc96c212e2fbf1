"""What parser and guard find in a label's statement, as a run would hand it to the metric; there is no database."""

from __future__ import annotations

from dataclasses import replace

from sqlassay.dialect_adapters.registry import adapter, names
from sqlassay.harness.answer import read_answer
from sqlassay.harness.calibrate.labels import Label
from sqlassay.harness.guard import check
from sqlassay.harness.parse.parser import Parser
from sqlassay.harness.results.evidence import Evidence


class Statements:
    """Reads labelled statements with one parser, which ends with the block."""

    def __init__(self) -> None:
        """Prepare a parser; it starts with the first statement."""
        self._parser = Parser()

    def __enter__(self) -> Statements:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the parser."""
        self._parser.close()

    def judged(self, label: Label) -> Evidence:
        """Return the evidence of a label with its statement's facts and, where an adapter speaks it, the guard's word.

        Raises:
            InputError: rows that are no relation.
        """
        evidence = label.judged()
        if not (label.sql or "").strip():
            return evidence
        sql, dialect = label.sql or "", label.dialect
        if dialect not in names():  # a warehouse's grammar is enough for what is read of the text
            return replace(evidence, predicted_parsed=self._parser.parse(sql, dialect, sqlglot_dialect=dialect))
        rules = adapter(dialect).rules
        sql = read_answer(sql, rules).sql or sql
        parsed = self._parser.parse(
            sql,
            dialect,
            sqlglot_dialect=rules.sqlglot_dialect,
            cte_scope=rules.cte_scope,
            spellings=rules.spellings,
        )
        return replace(evidence, predicted_parsed=parsed, guard=check(parsed, rules, None, profile="dql"))
