"""An agent asked by a run finds no gold, neither this run's nor an earlier one's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sqlassay.cases.starter import write_starter

pytestmark = pytest.mark.jail

AGENT = """
import json, os
from pathlib import Path

def answer(request):
    folder, cache, note = Path({folder!r}), Path({cache!r}), Path({note!r})
    seen = []
    for place in (folder, cache):
        for where, inner, names in os.walk(place):
            inner[:] = [name for name in inner if name != "__pycache__"]
            seen += [f"{{where}}/{{name}}" for name in names if place == cache or "SELECT" in _text(Path(where, name))]
    with note.open("a") as stream:
        stream.write(json.dumps(seen) + "\\n")
    return "SELECT COUNT(*) FROM books"

def _text(path):
    try: return path.read_bytes().decode(errors="replace")
    except OSError: return ""
"""


@pytest.mark.parametrize("runs", ["runs", "elsewhere"])
def test_a_run_hides_its_pack_its_kept_gold_and_its_runs(
    cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: str
) -> None:
    """In the second run there is gold in four places, and the agent finds it in none, wherever --out puts the runs."""
    cache, note, agent = tmp_path / "cache", tmp_path / "note.txt", tmp_path / "agent/mine.py"
    monkeypatch.chdir(tmp_path)
    write_starter(tmp_path / "pack")
    agent.parent.mkdir()
    agent.write_text(AGENT.format(folder=str(tmp_path), cache=str(cache / "sqlassay/gold"), note=str(note)))
    for number in (1, 2):
        run = ("run", "pack", "--agent", f"{agent}:answer", "--out", f"{runs}/{number}", "--jobs", "1")
        ran = cli(*run, env={"XDG_CACHE_HOME": str(cache)})
        assert ran.code == 0, ran.err
    assert len(list((cache / "sqlassay/gold").iterdir())) > 0
    assert "SELECT" in (tmp_path / runs / "1/results.jsonl").read_text()
    # What it finds is its own text.
    assert [set(json.loads(line)) for line in note.read_text().splitlines()] == [{str(agent)}] * 4
