"""The bench of whole runs calls a miss a miss, and a run that is not whole no success."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from run_bench import DIALECTS, Ran, bar, part  # noqa: E402 (found through the line above)


def ran(seconds: float, **verdicts: int) -> Ran:
    """Return one run."""
    return Ran(seconds, seconds / 2, verdicts, {"native": sum(verdicts.values())})


def test_the_bar_says_whether_it_holds() -> None:
    """The three runs together must fit, each with every case and no fault of ours."""
    whole = dict.fromkeys(DIALECTS, ran(100, match=500, mismatch=75))
    assert (bar(whole).holds, bar(whole).shown) == (True, "300 s")
    assert not bar(dict.fromkeys(DIALECTS, ran(201, match=575))).holds
    assert not bar(whole | {"mysql": ran(1, match=574)}).holds
    assert not bar(whole | {"mysql": ran(1, match=574, infrastructure=1)}).holds
    assert bar({"sqlite": ran(1, match=575)}).shown == "not measured whole"
    assert "| mysql | 100.0 | 50.0 s | 5.8 | 500 match, 75 mismatch | 575 native |" in part(whole)
