"""Evidence of two statements on a small database: parsed, guarded, run and compared for real."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from types import TracebackType
from typing import Any

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.catalog import Catalog, CatalogColumn, CatalogTable
from sqlassay.cases.outcome import Failure, Outcome, Rows
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, Kind, Relation
from sqlassay.cases.verdicts import FailureKind, Verdict
from sqlassay.dialect_adapters.registry import adapter as find_adapter
from sqlassay.dialect_adapters.sqlite.plan import PLANS
from sqlassay.harness.compare import compare, partial_credit, resolve_policy
from sqlassay.harness.guard import check
from sqlassay.harness.parse import Parser
from sqlassay.harness.results.evidence import Evidence, Execution, MetricSettings

SCRIPT = """
CREATE TABLE customers (id INTEGER, name TEXT, region TEXT, email TEXT, active INTEGER);
INSERT INTO customers VALUES (1, 'Ann', 'north', 'ann@a.org', 1), (2, 'Bob', 'south', 'bob@b.org', 0),
  (3, 'Cat', 'north', NULL, 1), (4, 'Dan', NULL, 'dan@d.org', 1);
CREATE TABLE orders (id INTEGER, customer_id INTEGER, amount REAL, status TEXT, day TEXT);
INSERT INTO orders VALUES (1, 1, 10.5, 'paid', '2024-01-01'), (2, 1, 20.0, 'open', '2024-01-02'),
  (3, 2, 10.5, 'paid', '2024-02-01'), (4, 3, 99.25, 'paid', '2024-02-02'), (5, 3, 0.2, 'open', '2024-03-01');
CREATE TABLE numbers (n INTEGER);
WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 150) INSERT INTO numbers SELECT n FROM c;
"""


class Maker:
    """Makes evidence on one database in memory."""

    def __init__(self) -> None:
        """Fill the database and read its catalogue."""
        self.connection = sqlite3.connect(":memory:", check_same_thread=False)
        self.connection.executescript(SCRIPT)
        self.connection.execute("PRAGMA query_only = 1")
        names = [row[0] for row in self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        self.columns = {
            name: [row[1] for row in self.connection.execute(f"PRAGMA table_info({name})")] for name in names
        }
        self.catalog = Catalog(
            dialect="sqlite",
            snapshot="s",
            database="s",
            engine_version="0",
            tables=tuple(
                CatalogTable(name=n, columns=tuple(CatalogColumn(name=c, kind=Kind.OTHER, declared="") for c in cs))
                for n, cs in self.columns.items()
            ),
        )
        self._parser = Parser()
        self._rules = find_adapter("sqlite").rules

    def __enter__(self) -> Maker:
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End the parser and the database."""
        self._parser.close()
        self.connection.close()

    def run(self, sql: str) -> Outcome:
        """Return what a statement gives."""
        try:
            cursor = self.connection.execute(sql)
            rows = tuple(cursor.fetchall())
        except (sqlite3.Error, sqlite3.Warning) as error:
            return Failure(FailureKind.ERROR, str(error))
        return Rows(Relation(tuple(Column(each[0]) for each in cursor.description or ()), rows), 0.0)

    def make(
        self,
        gold: str,
        predicted: str | None,
        *,
        others: Iterable[str] = ("bird", "evalbench", "spider"),
        question: str = "?",
        answer: str | None = None,
        options: dict[str, Any] | None = None,
    ) -> Evidence:
        """Return the evidence of one prediction under the policy `skill`."""
        policy = preset("skill")
        gold_parsed = self._parse(gold)
        parsed = self._parse(predicted) if predicted is not None and predicted.strip() else None
        guard = check(parsed, self._rules, self.catalog) if parsed is not None else None
        evidence = Evidence(
            case=Case(id="c", question=question, snapshot="s", gold={"sqlite": (gold,)}),
            dialect="sqlite",
            prediction=Prediction(case_id="c", sql=predicted, answer=answer),
            verdict=Verdict.NO_PREDICTION,
            reason="the agent gave no SQL",
            policy=policy,
            gold_sql=gold,
            gold_parsed=gold_parsed,
            predicted_parsed=parsed,
            guard=guard,
            settings=MetricSettings(options=tuple((options or {}).items())),
            catalog=self.catalog,
        )
        if (
            guard is not None
            and guard.allowed
            and isinstance(asked := self.run(PLANS.ask + str(predicted)), Rows)
            and asked.relation.rows
        ):
            evidence = replace(evidence, plan=PLANS.read(asked.relation))
        expected = self.run(gold)
        if parsed is None or guard is None or predicted is None:
            return replace(evidence, executions=(Execution("s", expected, None),))
        if not guard.allowed and guard.node not in {"syntax_error", "unknown_table", "unknown_function"}:
            executions = (Execution("s", expected, None),)
            return replace(evidence, executions=executions, verdict=Verdict.BLOCKED, reason=guard.reason)
        got = self.run(predicted)
        if not isinstance(got, Rows) or not isinstance(expected, Rows):
            reason = got.message if isinstance(got, Failure) else ""
            executions = (Execution("s", expected, got),)
            return replace(evidence, executions=executions, verdict=Verdict.ERROR, reason=reason)

        def under(name: str) -> Any:
            """Compare under a preset."""
            chosen, order = resolve_policy(preset(name), facts=gold_parsed.order, gold=expected.relation, probe=None)
            return compare(expected.relation, got.relation, chosen, order=order)

        compared = under("skill")
        execution = Execution(
            "s",
            expected,
            got,
            comparison=compared,
            strict=under("strict"),
            partial=partial_credit(expected.relation, got.relation, policy),
            others=tuple((name, under(name)) for name in others),
        )
        return replace(evidence, executions=(execution,), verdict=Verdict(compared.verdict), reason=compared.reason)

    def _parse(self, sql: str) -> Any:
        """Return the facts of one text."""
        rules = self._rules
        return self._parser.parse(
            sql,
            "sqlite",
            self.catalog,
            sqlglot_dialect=rules.sqlglot_dialect,
            cte_scope=rules.cte_scope,
            spellings=rules.spellings,
        )
