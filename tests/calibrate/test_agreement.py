"""Kappa, Wilson's interval and thresholds have the values that others publish or compute."""

from __future__ import annotations

from typing import Any

import pytest
from rows import rows_of

from sqlassay.harness.calibrate.agreement import Estimate, best_threshold, confusion, held_out, kappa, wilson

_ROWS = rows_of("kappa")["rows"]


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: str(row["table"]))
def test_kappa_is_the_published_one(row: dict[str, Any]) -> None:
    """Value and interval are those of the row, of either rater first."""
    for table in (row["table"], list(zip(*row["table"], strict=True))):
        found = kappa(tuple(tuple(counts) for counts in table))
        if row["kappa"] is None:
            assert found == Estimate(None)
            continue
        assert (found.value, found.low, found.high) == pytest.approx((row["kappa"], row["low"], row["high"]), abs=1e-12)
        if "published" in row:
            assert found.value == pytest.approx(row["published"], abs=5e-4)


def test_wilson_has_the_values_of_statsmodels() -> None:
    """`proportion_confint(method="wilson")` gives these bounds; no rating gives none."""
    for hits, n, low, high in (
        (7, 20, 0.18119182410108203, 0.5671457233147638),
        (20, 20, 0.8388748419471804, 1.0),
        (0, 5, 0.0, 0.43448246478317487),
        (51, 60, 0.7388541093022145, 0.9190255941983225),
    ):
        found = wilson(hits, n)
        assert (found.value, found.low, found.high) == pytest.approx((hits / n, low, high), abs=1e-12)
    assert wilson(0, 0) == Estimate(None)


def test_a_score_at_the_threshold_is_a_yes() -> None:
    """People's no and yes are down, the judge's across."""
    human, scores = [False, False, True, True, True], [0.1, 0.5, 0.4, 0.5, 0.9]
    assert confusion(human, scores, 0.5) == ((1, 1), (1, 2))


def test_the_best_threshold_lies_in_the_middle_of_its_gap() -> None:
    """It has the highest kappa; the present one stays where none is better."""
    human, scores = [False, False, False, True, True], [0.2, 0.3, 0.6, 0.8, 0.9]
    assert best_threshold(human, scores, 0.5) == pytest.approx(0.7)
    assert best_threshold(human, scores, 0.75) == 0.75
    assert best_threshold([True, True], [0.2, 0.9], 0.5) == pytest.approx(0.5)


def test_held_out_kappa_sees_through_a_threshold_that_fits_by_luck() -> None:
    """Scores that say nothing get a good kappa on their own labels and a bad one on others."""
    human = [bool((7 * n * n + 3 * n) % 11 % 2) for n in range(20)]
    scores = [(n * 37 % 20) / 20 for n in range(20)]
    best = best_threshold(human, scores, 0.5)
    own, other = kappa(confusion(human, scores, best)).value, held_out(human, scores, 0.5).value
    assert own is not None
    assert other is not None
    assert other < own
    assert held_out([True], [0.5], 0.5) == Estimate(None)


def test_held_out_kappa_of_scores_that_tell_is_high() -> None:
    """Where scores tell the classes apart, the threshold holds on other labels too."""
    human = [n % 2 == 1 for n in range(40)]
    scores = [0.85 + n / 1000 if yes else 0.7 + n / 1000 for n, yes in enumerate(human)]
    assert kappa(confusion(human, scores, 0.5)).value == 0.0
    assert held_out(human, scores, 0.5).value == 1.0
