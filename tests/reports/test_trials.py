"""pass@k and pass^k are the means over every choice of k trials, each with an interval."""

from __future__ import annotations

from itertools import combinations

import pytest

from sqlassay.harness.calibrate.agreement import wilson
from sqlassay.harness.results.trials import interval, passing


def test_estimates_are_the_mean_over_all_choices() -> None:
    """Each estimate equals what counting every choice of k trials of each case gives."""
    outcomes = [[True, False, False, True], [False] * 4, [True] * 5]
    found = passing(outcomes)
    assert [one.k for one in found] == [1, 2, 3, 4]
    for one in found:
        chosen = [list(combinations(trials, one.k)) for trials in outcomes]
        some = [sum(map(any, each)) / len(each) for each in chosen]
        every = [sum(map(all, each)) / len(each) for each in chosen]
        assert one.some == pytest.approx(sum(some) / 3)
        assert one.every == pytest.approx(sum(every) / 3)
        assert one.some_interval[0] <= one.some <= one.some_interval[1]
        assert one.every_interval[0] <= one.every <= one.every_interval[1]


def test_without_trials_there_is_nothing_to_estimate() -> None:
    """No case, or a case without trials, gives no estimate."""
    assert passing([]) == ()
    assert passing([[], [True]]) == ()


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (3, 7), (10, 10), (1, 1)])
def test_the_interval_is_wilsons(hits: int, n: int) -> None:
    """Of whole passes it is the interval that judges are calibrated with."""
    wanted = wilson(hits, n)
    assert interval(hits / n, n) == pytest.approx((wanted.low, wanted.high))
