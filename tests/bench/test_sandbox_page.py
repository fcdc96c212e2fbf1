"""The sandbox bench writes its own part of the page, calls a miss a miss, and what was not measured no success."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import sandbox_data as data  # noqa: E402 (found through the line above)
import sections  # noqa: E402
from sandbox_page import Found, bars, part  # noqa: E402
from sandbox_rates import Cost, Overhead  # noqa: E402
from sandbox_starts import middle  # noqa: E402

from sqlassay.cases.formats.registry import load_pack  # noqa: E402


def measured(scale: float) -> Found:
    """Return figures that all hold at scale 1, and all miss at 100."""
    found = Found()
    took = middle([0.002 * scale])
    for name in ("postgres docker read", "mysql docker read", "sqlite process read"):
        found.up[name] = found.down[name] = took
        found.memory[name] = round(10 * 1024 * 1024 * scale)
    for name in ("postgres docker", "mysql docker", "sqlite process"):
        found.handed[name] = found.answered[name] = found.marks[name] = took
        found.checksums[name] = middle([0.003 * scale])
    for name in ("postgres case", "postgres reset", "postgres fresh", "mysql run", "sqlite run"):
        found.costs[name] = Cost(0.003 * scale, 100, 1.0)
    for name in ("postgres", "mysql", "sqlite"):
        found.overheads[name] = Overhead(0.1, 0.1 + 0.005 * scale)
    found.growth["postgres"] = {100: 0.001, 1000: 0.001 * (1 + scale / 10)}
    return found


def test_every_bar_says_whether_it_holds() -> None:
    """Each promise is on the page with its figure, and holds exactly where the figure does."""
    good, bad, nothing = (bars(found) for found in (measured(1), measured(1000), Found()))
    assert len(good) == 21
    assert [bar.text for bar in good if not bar.holds] == []
    assert [bar.text for bar in bad if bar.holds] == []
    assert [bar.text for bar in nothing if bar.holds] == []
    assert "not measured" in nothing[0].line


def test_a_part_holds_every_figure() -> None:
    """What was measured is in a table, with the words that say how."""
    found = measured(1)
    text = part(found, bars(found), 2)
    assert text.startswith("## Sandboxes\n")
    assert "| postgres docker read | 2 ms (2–2, 1 runs) | 2 ms (2–2, 1 runs) | 10 MB |" in text
    assert "| postgres reset | 333.3 | 3.0 ms | 1.0 s |" in text


def test_parts_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Each bench replaces its own part and leaves the other's byte for byte; their order is fixed."""
    page = tmp_path / "page.md"
    sections.write(page, "sandbox", "## Two\n\nfirst\n")
    sections.write(page, "compare", "## One\n\nother\n")
    sections.write(page, "sandbox", "## Two\n\nsecond\n")
    text = page.read_text("utf-8")
    assert text.startswith(sections.TITLE)
    assert "first" not in text
    assert text.index("## One\n\nother") < text.index("## Two\n\nsecond")


def test_the_data_is_a_pack(tmp_path: Path) -> None:
    """The pack that is measured loads, with as many rows as the page says and two texts a case."""
    folder = tmp_path / "pack"
    data.write_data(folder)
    data.write_cases(folder, [data.short(0), data.slow(1, 5)])
    pack = load_pack(folder)
    (snapshot,) = pack.snapshots
    assert len(snapshot.tables) == data.TABLES
    assert snapshot.source is not None
    assert sum(1 for _ in snapshot.source.rows("t00")) == data.ROWS
    predicted = [json.loads(line)["sql"] for line in (folder / "predictions.jsonl").read_text("utf-8").splitlines()]
    assert len(pack.cases) == len(set(predicted)) == 2
