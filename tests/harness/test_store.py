"""A run's folder, its journal and the gold cache: nothing half-written, nothing lost, nothing readable by others."""

from __future__ import annotations

import gzip
import hashlib
import json
from decimal import Decimal
from pathlib import Path

import pytest

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.relation import Column, Kind, Relation
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.results.case_result import CaseResult, Timing
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.results.parsed import ParsedQuery
from sqlassay.harness.store.folder import JOURNAL, RELATIONS, RunFolder, file_name, read_journal
from sqlassay.harness.store.gold_cache import GoldCache, GoldKey
from sqlassay.harness.store.sides import Side

RELATION = Relation((Column("n", Kind.DECIMAL),), ((Decimal("1.50"),), (None,)))
KEY = GoldKey(image="i", engine_version="1", database="d", settings="s", sql="SELECT 1")


def result(case_id: str) -> CaseResult:
    return CaseResult(case_id=case_id, dialect="sqlite", question="é?", snapshot="s", verdict=Verdict.MATCH, reason="r")


def timing(case_id: str) -> Timing:
    return Timing(case_id=case_id, trial=0, total_seconds=0.1)


def test_folder_is_private(tmp_path):
    """A run folder is for its owner alone (mode 0700)."""
    with RunFolder(tmp_path / "run") as folder:
        assert folder.path.stat().st_mode & 0o777 == 0o700


def test_journal_survives_a_torn_last_line(tmp_path):
    """A killed run leaves at most a torn last line; every whole line before it counts."""
    with RunFolder(tmp_path / "run") as folder:
        folder.append(result("a"), timing("a"))
        folder.append(result("b"), timing("b"))
    path = tmp_path / "run" / JOURNAL
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 4])
    assert [r.case_id for r, _ in read_journal(path)] == ["a", "b"]


def test_journal_damaged_inside_is_refused(tmp_path):
    """A damaged line that is not the last one is our fault and named with its number."""
    with RunFolder(tmp_path / "run") as folder:
        folder.append(result("a"), timing("a"))
    path = tmp_path / "run" / JOURNAL
    path.write_bytes(b"{torn\n" + path.read_bytes())
    with pytest.raises(InfrastructureError, match=r"journal\.jsonl:1"):
        read_journal(path)


def test_results_have_no_clock_and_keep_order(tmp_path):
    """results.jsonl is written in the order given, one object a line, without any seconds."""
    with RunFolder(tmp_path / "run") as folder:
        folder.finish([result("b"), result("a")], [timing("b"), timing("a")])
    lines = (tmp_path / "run" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["case_id"] for line in lines] == ["b", "a"]
    assert "seconds" not in lines[0]
    assert "é" in lines[0]


def test_relations_are_typed_and_repeatable(tmp_path):
    """Stored rows keep their types, and two writes of one relation give the same bytes."""
    for name in ("one", "two"):
        with RunFolder(tmp_path / name) as folder:
            folder.store_relations(result("a/b"), [Side("gold", RELATION)])
    paths = [next((tmp_path / name / "relations").iterdir()) for name in ("one", "two")]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    line = json.loads(gzip.decompress(paths[0].read_bytes()))
    assert (line["side"], line["rows"][0][0]) == ("gold", {"$decimal": "1.50"})


def test_two_workers_may_store_their_first_rows_at_once(tmp_path, monkeypatch):
    """The folder of rows that another worker has just made is used: the run goes on."""
    make = Path.mkdir

    def second(path, *arguments, **options):
        if path.name == RELATIONS:
            make(path, mode=0o700, exist_ok=True)  # the other worker, between our look and our call
        make(path, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", second)
    with RunFolder(tmp_path / "run") as folder:
        folder.store_relations(result("a"), [Side("predicted", RELATION)])
        assert [path.name for path in (folder.path / RELATIONS).iterdir()] == ["a.0.jsonl.gz"]


def test_file_names_stay_inside_and_apart():
    """A case id can neither leave the folder nor share a file with another."""
    assert file_name("demo-01") == "demo-01"
    hostile = [file_name(name) for name in ("../../etc/passwd", "..", ".", "a/b", "a_b", "A" * 500, "ü")]
    assert len(set(hostile)) == len(hostile)
    assert not any("/" in name or name.startswith(".") or len(name) > 120 for name in hostile)


def test_a_folder_with_a_run_is_not_overwritten(tmp_path):
    """Running twice into one folder is refused: the first run's numbers stay."""
    (tmp_path / "manifest.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="already holds a run"):
        RunFolder(tmp_path)


def test_unwritable_folder_is_one_error(tmp_path):
    """A path that cannot be a folder is named with its remedy."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="--out"):
        RunFolder(tmp_path / "file" / "run")


def answer() -> GoldAnswer:
    parsed = ParsedQuery(sql="SELECT 1", dialect="sqlite", parser="p")
    return GoldAnswer("SELECT 1", parsed, RELATION, RELATION, seconds=0.25)


def test_gold_cache_keeps_typed_rows_between_processes(tmp_path):
    """What one run kept, the next reads with its types, its probe and its seconds."""
    GoldCache(tmp_path).write(KEY, answer())
    kept = GoldCache(tmp_path).read(KEY)
    assert kept is not None
    assert (kept.relation, kept.probe, kept.seconds) == (RELATION, RELATION, 0.25)


@pytest.mark.parametrize("field", ["image", "engine_version", "database", "settings", "sql"])
def test_gold_cache_key_covers_everything(tmp_path, field):
    """Changing any part of the key misses: stale gold is worse than slow gold."""
    GoldCache(tmp_path).write(KEY, answer())
    parts = {name: getattr(KEY, name) for name in ("image", "engine_version", "database", "settings", "sql")}
    assert GoldCache(tmp_path).read(GoldKey(**{**parts, field: "other"})) is None


def test_damaged_gold_is_run_again(tmp_path):
    """A damaged file is a miss, never a wrong answer or a crash."""
    GoldCache(tmp_path).write(KEY, answer())
    path = next(tmp_path.rglob("*.gz"))
    path.write_bytes(path.read_bytes()[:-9])
    assert GoldCache(tmp_path).read(KEY) is None
    content = gzip.compress(b'{"relation": 3}')
    path.write_bytes(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
    assert GoldCache(tmp_path).read(KEY) is None


def test_cache_without_folder_keeps_nothing_on_disk(tmp_path):
    """--no-gold-cache keeps gold in memory for this run alone."""
    cache = GoldCache(None)
    cache.write(KEY, answer())
    assert cache.read(KEY) is not None
    assert GoldCache(None).read(KEY) is None
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_never_began_leaves_no_folder(tmp_path):
    """A folder without a manifest is removed again; one that was there before stays, without a journal."""
    with RunFolder(tmp_path / "new"):
        pass
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    with RunFolder(tmp_path / "old"):
        pass
    assert list((tmp_path / "old").iterdir()) == []


def test_a_text_that_is_no_unicode_is_escaped(tmp_path):
    """A lone surrogate costs no result: its line is written escaped, the others stay as they are."""
    with RunFolder(tmp_path / "run") as folder:
        folder.append(result("a").model_copy(update={"answer": "x\ud800"}), timing("a"))
        folder.finish([result("b")], [timing("b")])
    assert b"\\ud800" in (tmp_path / "run" / JOURNAL).read_bytes()
    assert "é" in (tmp_path / "run" / "results.jsonl").read_text(encoding="utf-8")
