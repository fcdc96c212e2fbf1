"""Measure what judging by every deterministic metric costs once statements have run: `make bench-metrics`."""

from __future__ import annotations

import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import sections
from metrics_desk import desk_of, deterministic

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.pack import Pack
from sqlassay.cases.predictions import predictions_of
from sqlassay.harness.desk import Desk
from sqlassay.harness.evaluate import evaluate
from sqlassay.harness.gold import answer_gold
from sqlassay.harness.store.gold_cache import GoldCache
from sqlassay.sandboxes.scratch import Scratch

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
HANDED = ROOT.parent / "shared" / "data" / "text2sql"
BAR = 500
"""Cases a minute that one core judges by all of them."""
SAMPLED = 100
"""Pairs whose metrics are timed one by one."""

Pair = tuple[Case, Prediction]


@dataclass
class Cost:
    """CPU seconds of this process and its parser, what was judged, and the seconds of each metric."""

    cases: int = 0
    own: float = 0.0
    parser: float = 0.0
    metrics: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)

    @property
    def seconds(self) -> float:
        """Return all CPU seconds."""
        return self.own + self.parser

    @property
    def rate(self) -> float:
        """Return cases a minute on one core."""
        return 60 * self.cases / self.seconds if self.seconds else 0.0


def sources() -> Iterator[tuple[str, Pack, tuple[Prediction, ...]]]:
    """Yield the predictions to judge: the handed ones where they are, the project's own always."""
    shop = load_pack(Path("shop"))
    for file in sorted((shop.path / "predictions").glob("*.jsonl")):
        yield f"shop, {file.stem}", shop, predictions_of(file, shop)
    if HANDED.is_dir():
        spider = load_pack(HANDED / "cases" / "spider_dev.jsonl")
        for file in sorted((HANDED / "predictions" / "spider_dev").glob("*.jsonl")):
            yield f"Spider dev, {file.stem}", spider, predictions_of(file, spider)


def cost_of(pack: Pack, predictions: Sequence[Prediction], limit: int | None = None) -> Cost:
    """Return what judging predictions costs; the statements run before, in a pass that is not measured."""
    chosen = deterministic()
    by_case = {case.id: case for case in pack.cases if case.query_type == "dql"}
    pairs = [(by_case[one.case_id], one) for one in predictions if one.case_id in by_case][:limit]
    with Scratch("bench") as folder:
        fresh, executed = desk_of(pack, folder, chosen)
        try:
            _judge(fresh, pairs, Counter())
            cost = Cost(cases=len(pairs))
            before, children = time.process_time(), _children()
            _judge(fresh, pairs, cost.verdicts)
            cost.own, cost.parser = time.process_time() - before, _children() - children
            cost.metrics = _alone(fresh, pairs)
        finally:
            executed.close()
    return cost


def _judge(fresh: Callable[[], Desk], pairs: Sequence[Pair], verdicts: Counter[str]) -> None:
    """Judge every pair at a desk of its own parser: gold read, prediction read, guarded, compared and scored."""
    desk, cache = fresh(), GoldCache(None)
    with desk.parser:
        for case, prediction in pairs:
            judged = evaluate(case, prediction, answer_gold(case, desk, cache), desk)
            verdicts[judged.evidence.verdict.value] += 1


def _alone(fresh: Callable[[], Desk], pairs: Sequence[Pair]) -> Counter[str]:
    """Return the seconds of each metric by itself over some of the pairs."""
    desk, cache, seconds = fresh(), GoldCache(None), Counter[str]()
    with desk.parser:
        for case, prediction in pairs[:: max(1, len(pairs) // SAMPLED)]:
            evidence = evaluate(case, prediction, answer_gold(case, desk, cache), desk).evidence
            for metric in desk.rules.metrics:
                began = time.process_time()
                metric.compute(evidence, None)
                seconds[metric.name] += time.process_time() - began  # type: ignore[assignment]
    return seconds


def _children() -> float:
    """Return the CPU seconds of children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def part(costs: dict[str, Cost], count: int) -> str:
    """Return the bench's part of the page."""
    lines = [
        "## Metrics",
        "",
        "Written by `make bench-metrics`. CPU seconds, user and system, of one process and its parser, of judging",
        f"predictions by all {count} metrics that no judge decides, once their statements have run: both are",
        "parsed, guarded, compared under every policy a metric needs, and scored. Of an earlier pass only rows are",
        "kept. Metrics of speed are computed from rounds that were not timed here.",
        "",
        "### Bars",
        "",
        "| bar | measured | holds |",
        "|---|---|---|",
    ]
    worst = min(costs.values(), key=lambda cost: cost.rate)
    holds = "yes" if worst.rate >= BAR else "no"
    lines.append(f"| at least {BAR} cases a minute on one core | {worst.rate:,.0f} at worst | {holds} |")
    lines += ["", "| predictions | cases | cases a minute | parser | the rest | matches |", "|---|---|---|---|---|---|"]
    for name, cost in costs.items():
        shown = f"{cost.parser:.1f} s | {cost.own:.1f} s | {cost.verdicts['match']}"
        lines.append(f"| {name} | {cost.cases} | {cost.rate:,.0f} | {shown} |")
    total = sum((cost.metrics for cost in costs.values()), Counter[str]())
    whole = sum(total.values()) or 1.0
    lines += ["", "Of the time in metrics alone:", "", "| metric | share |", "|---|---|"]
    lines += [f"| `{name}` | {seconds / whole:.0%} |" for name, seconds in total.most_common(8)]
    return "\n".join(lines)


def main() -> int:
    """Measure every source and write the page's part; 1 where the bar is missed."""
    costs = {}
    for name, pack, predictions in sources():
        costs[name] = cost_of(pack, predictions)
        print(f"{name}: {costs[name].rate:,.0f} cases a minute", flush=True)
    sections.write(PAGE, "metrics", part(costs, len(deterministic())))
    return 0 if min(cost.rate for cost in costs.values()) >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
