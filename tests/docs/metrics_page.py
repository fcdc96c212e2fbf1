"""Writes docs/metrics.md from the installed metrics: `python tests/docs/metrics_page.py`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
_HEAD = """\
# Metrics

Generated from the program by `make docs`; a test fails where it is stale. Choose metrics with `--metrics A,B`, a family
with `--profile NAME`, or both. A metric that cannot be measured has no value and says why; it is never 0 for that.

`needs` says what a metric looks at beside the two texts: `gold`, the `schema`, a `judge`, the agent's `answer` in
words, the engine's `plan` of the prediction, `timings:k` (k rounds of gold and prediction in turn), the case's
`extra_snapshots`, or a comparison under a preset (`policy:NAME`). A run collects what its metrics need, nothing else.

Metrics that need timings are clocks: their scores and the seconds stand in `timings.jsonl` and in the totals, never in
`results.jsonl`, which stays the same bytes from run to run. `--repetitions K` sets the rounds for all of them, 0 times
nothing. Gold and prediction run on a sandbox of their own after the verdict, once unmeasured and then K times in turn,
each in a warm session: by the engine's own clock, which hands out no rows (Postgres, SQLite), or around the whole
result (MySQL). Each score has the interval that holds the true median (`low`, `high`, `coverage`: 94 % of runs at five
rounds, at least 95 % from six on), the mean that of all of them. `--jobs 1` is the quietest.
"""
_FAMILIES = {
    "": "The Skill and this project",
    "evalbench": "EvalBench",
    "sqlas": "SQLAS",
    "bird": "BIRD",
    "spider": "Spider",
    "stef": "STEF",
    "nucleusiq": "NucleusIQ",
}
_NOTES = {
    "nucleusiq": """\
The agent's `steps` are what it tells of its tool calls (`tool_name` or `tool`, `args`, `round`, `success`); a case's
`expected_tools` must all be called, in any order. `sql_safety` is of the statement that is judged, not of those within
steps. `correct_answer` finds whole numbers, in digits or in words (an 18 is no 8; `eight`, `1.2 million`, `12%` and
`no customers` are numbers), days in the usual spellings, and whole words. A
judge that has not enough information gives no score. `composite` is 0 for what is unsafe, however well it reads, and
its part `flagged` is 1 below 0.7. pass@k, pass^k and the pass rate of `--trials` are in scorecard.json,
and there, as `estimates`, both for every smaller k too: the mean over all choices of k trials, with its interval.""",
    "evalbench": """\
Scores go from 0 to 100. A `_compat` metric is the number EvalBench 1.20 itself prints for a file of predictions
(NOOPGenerator), or has no value where EvalBench runs something else; the other one is what its document says.
`consistency` compares the trials of a case (`--trials`). Recall is the share of the gold's rows,
precision that of the prediction's (EvalBench has them swapped). A change is compared by the state it leaves.
Patterns are given as `--metric-option 'evalbench.regexp_matcher.regexp_string_list=["(?i)group by"]'` and match the
statement with its white space collapsed.""",
    "sqlas": """\
E(x) are the physical tables and the columns a text reads: names it makes itself do not count, stars are expanded.
Speed is `efficiency_score` alone and no part of `execution_accuracy`. `overall` uses the weights of v1, or those of
`--metric-option 'sqlas.overall.weights={execution_accuracy: 0.6, safety_score: 0.4}'`, which must sum to 1; the
weight of a metric without a value goes to the others in proportion, and the reason names each of them. Its parts
have the mean of each category. `empty_result_penalty` goes by the gold, else by its option `expected_nonempty`.
Personal columns come from the case, else from `sqlas.safety_score.pii_columns`, else SQLAS's list.
`data_scan_efficiency` asks the engine how it would run the statement (`EXPLAIN`): a table read from end to end costs
.3 where the plan has no condition on it and the statement no GROUP BY or LIMIT, so `WHERE 1 = 1` narrows nothing.
SQLite's plan does not tell conditions, so a WHERE counts there. The details name what is read whole and what is
looked up. A statement that the guard or the engine refuses has 0, one that ran without a plan (a view in MySQL) no
value.""",
    "bird": """\
`soft_f1` pairs distinct rows in their order (the published script pairs them in the order of a hash),
`soft_f1_any_order` pairs them at best. Both compare cells within a pair by membership, as published. `ves` and `r_ves`
take the median of the rounds' ratios gold / predicted, without those more than three standard deviations from the mean;
the published scripts take the mean of these: the detail `published` is what they would say of the same rounds.""",
    "spider": """\
Equal to the published script, score for score, on every prediction the tests compare; the odd ways it reads a text
are rows of tests/tables/spider_published.yaml. Values and DISTINCT aside, each clause is all or nothing. Columns
tied by a foreign key have one name; where a schema declares none, those that a join makes equal. A prediction its
grammar does not read (an alias of a column, LEFT JOIN, IS NULL, `<>`) has no clause and matches nothing, and the
reason names the word; a gold it does not read is compared by the trees of both sides. The details name the gold's
hardness: easy, medium, hard or extra. `test_suite_accuracy` runs gold and prediction on every further snapshot of a
case (`extra_snapshots`) as well; the verdict stays that of the case's own. Of several accepted golds one must fit
everywhere. A gold that fails on one of the snapshots leaves the suite without a value, unless they differ on
another. A run with `exact_set_match` leaves spider_summary.json, the script's table: by level the exact matches, and of
each clause precision, recall and F1 over the queries that have it. `execution_accuracy` is that of the test-suite
script with `--keep_distinct`; its default strikes DISTINCT from both texts first, and no statement is edited here.""",
}


def page() -> str:
    """Return the whole page."""
    registry = import_module("sqlassay.harness.metrics.registry")
    found = registry.metrics(sorted(registry.installed()))
    parts = [_HEAD]
    for family, title in _FAMILIES.items():
        members = [metric for metric in found if _family(metric.name) == family]
        if members:
            parts += [f"## {title}", *([_NOTES[family]] if family in _NOTES else []), _metrics(members)]
    parts += ["## Profiles", _profiles(registry), "## SQLAS: categories and weights", _weights()]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _family(name: str) -> str:
    """Return the family a metric's name begins with."""
    return name.partition(".")[0] if name.partition(".")[0] in _FAMILIES else ""


def _metrics(members: Sequence[Any]) -> str:
    """Return the table of one family."""
    rows = []
    for metric in members:
        low, high = metric.range
        needs = ", ".join(f"`{need}`" for need in sorted(metric.needs)) or "–"
        options = "".join(f"<br>option `{option}`" for option in metric.options)
        rows.append((f"`{metric.name}`{options}", f"{low:g}–{high:g}", needs, metric.formula, metric.citation))
    return _table(("metric", "range", "needs", "formula", "source"), rows)


def _profiles(registry: Any) -> str:
    """Return what each profile stands for."""
    rows = [(f"`{name}`", ", ".join(f"`{metric}`" for metric in names)) for name, names in registry.PROFILES.items()]
    return _table(("profile", "metrics"), [*rows, ("`all`", "every installed metric")])


def _weights() -> str:
    """Return SQLAS's metrics by category with both profiles' weights."""
    overall = import_module("sqlassay.harness.metrics.sqlas_overall")
    rows = []
    for category, members in overall.CATEGORIES.items():
        for metric in members:
            short = metric.name.removeprefix("sqlas.")
            weights = [f"{profile[short]:.2f}" if short in profile else "–" for profile in (overall.V1, overall.V2)]
            rows.append((category, f"`{short}`", *weights))
    return _table(("category", "metric", "v1", "v2"), rows)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
