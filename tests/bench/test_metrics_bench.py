"""The bench of metrics judges for real, counts what it judged, and calls a miss a miss."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from metrics_bench import BAR, Cost, cost_of, part  # noqa: E402 (found through the line above)
from metrics_desk import deterministic  # noqa: E402

from sqlassay.cases.formats.registry import load_pack  # noqa: E402
from sqlassay.cases.predictions import predictions_of  # noqa: E402


@pytest.mark.slow
def test_it_judges_with_every_metric_that_no_judge_decides() -> None:
    """A few predictions of the project's own pack are judged, and each metric's seconds are known."""
    pack = load_pack(Path("shop"))
    cost = cost_of(pack, predictions_of(pack.path / "predictions" / "good.jsonl", pack), 6)
    assert cost.cases == 6
    assert cost.verdicts.total() == 6
    assert cost.verdicts["match"] >= 4
    assert set(cost.metrics) == {metric.name for metric in deterministic()}
    assert cost.parser > 0
    assert not any(name.startswith(("sqlas.fluency", "evalbench.llmrater")) for name in cost.metrics)


def test_the_bar_holds_where_its_figure_does() -> None:
    """The worst source decides, by cases over all CPU seconds."""
    fast, slow = Cost(1000, 20.0, 10.0, Counter({"bird.ves": 1})), Cost(1000, 100.0, 50.0)  # type: ignore[arg-type]
    assert (fast.rate, slow.rate) == (2000.0, 400.0)
    assert f"| at least {BAR} cases a minute on one core | 2,000 at worst | yes |" in part({"a": fast}, 3)
    page = part({"a": fast, "b": slow}, 3)
    assert "400 at worst | no |" in page
    assert "| `bird.ves` | 100% |" in page
