"""The bench of images calls a miss a miss, and what was not measured no success."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from image_bench import Baked, Built, bars, part  # noqa: E402 (found through the line above)


def measured(scale: float) -> tuple[dict[str, Baked], dict[str, Built]]:
    """Return figures that all hold at scale 1, and all miss at 10."""
    baked = {name: Baked(10 * scale, 3.0, 50_000_000, 4.0, 60_000_000, 5.0) for name in ("postgres", "mysql", "sqlite")}
    return baked, {name: Built(20 * scale, round(70_000_000 * scale), "17.1") for name in ("postgres", "mysql")}


def test_every_bar_says_whether_it_holds() -> None:
    """Each promise is on the page with its figure, and holds exactly where the figure does."""
    assert [bar.holds for bar in bars(*measured(1))] == [True] * 4
    assert [bar.holds for bar in bars(*measured(10))] == [False] * 4
    assert [(bar.holds, bar.shown) for bar in bars({}, {})] == [(False, "not measured")] * 4
    page = part(*measured(1))
    assert "| bake of 20 databases, postgres: at most 15 s | 10.0 s | yes |" in page
    assert "| sqlite | 10.0 s | 3.0 s | 50 MB | 4.0 s | 60 MB | 5.0 s |" in page
    assert "| mysql | 17.1 | 20 s | 70 MB |" in page
