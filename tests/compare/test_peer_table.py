"""Peer presets say what the peers themselves said: frozen verdicts of real packages and published rules."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from rows import rows_of
from test_comparison_table import CORPUS, TABLE, side

from sqlassay.cases.presets import preset, preset_names
from sqlassay.cases.relation import Relation
from sqlassay.harness.compare import compare

PEERS = Path(__file__).parents[1] / "tables" / "peers.yaml"
SAID = {"match": "match", "mismatch": "mismatch", "unavailable": "undecided"}


def frozen() -> dict[str, Any]:
    """Return the table of what the peers said."""
    return dict(rows_of(PEERS))


def disagreements(pairs: dict[str, tuple[Relation, Relation]]) -> list[str]:
    """Return where a preset does not say what its peer said, over the pairs given."""
    wrong = []
    for row in frozen()["pairs"]:
        if row["id"] not in pairs:
            continue
        for peer in frozen_names():
            policy = preset(peer).model_copy(update={"row_order": "exact"} if row["ordered"] else {})
            found = compare(*pairs[row["id"]], policy)
            expected = (SAID[row[peer]], row[peer] == "unavailable")
            if (found.verdict, found.rule == "peer_unavailable") != expected:
                wrong.append(f"{row['id']} {peer}: {found.verdict}, the peer said {row[peer]}")
    return wrong


def frozen_names() -> tuple[str, ...]:
    """Return the peers whose verdicts are frozen."""
    return ("bird", "evalbench", "spider", "spider2", "sqlas")


def test_presets_say_what_the_peers_said_on_every_pair_of_our_table() -> None:
    """On 326 labelled pairs each preset gives its peer's verdict, and none where the peer crashed or hung."""
    rows = rows_of(TABLE)
    pairs = {row["id"]: (side(**row["gold"]), side(**row["pred"])) for row in rows}
    assert len(pairs.keys() & {row["id"] for row in frozen()["pairs"]}) >= 320
    assert disagreements(pairs) == []


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the handed corpus is not beside the project")
def test_presets_say_what_the_peers_said_on_the_whole_corpus() -> None:
    """All 165 pairs of the handed corpus, the large and adversarial ones included."""
    spec = importlib.util.spec_from_file_location("read_corpus", CORPUS / "read_corpus.py")
    assert spec is not None
    assert spec.loader is not None
    reader = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reader)
    lines = (CORPUS / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = {
        pair["id"]: tuple(side(**pair[name], names=reader.NAMES) for name in ("gold", "pred"))
        for pair in map(json.loads, lines)
    }
    assert pairs.keys() <= {row["id"] for row in frozen()["pairs"]}
    assert disagreements(pairs) == []  # type: ignore[arg-type]


def test_the_table_says_where_each_verdict_comes_from() -> None:
    """Each frozen peer is a preset and names the package version or the published rule that was run."""
    sources = frozen()["sources"]
    assert set(sources) == set(frozen_names()) <= set(preset_names())
    assert {source["from"] for source in sources.values()} == {"package", "published rule"}
    assert all(source["note"] for source in sources.values())
