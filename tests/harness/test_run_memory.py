"""What a run keeps of each result is small, so that a long one does not grow out of memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.results.case_result import (
    CaseResult,
    ComparisonRecord,
    GuardRecord,
    ScoreRecord,
    StructureRecord,
    Timing,
)
from sqlassay.harness.run.book import Book
from sqlassay.harness.store.folder import RunFolder

RESULTS = 500
MOST_BYTES = 5_000


def result(number: int) -> CaseResult:
    """Return one of many results with texts of its own."""
    gold, predicted = (f"SELECT id, name FROM t{number % 20} {x} WHERE {x}.id = {number}" for x in "ab")
    structures = [
        StructureRecord(
            parser="sqlglot 1",
            root="select",
            tables=(f"t{number % 20}",),
            projections=("id", "name"),
            filters=(f"id = {number}",),
            processed_sql=sql,
        )
        for sql in (gold, predicted)
    ]
    compared = ComparisonRecord(verdict="match", rule="bag", reason="1 row", policy_digest="p", columns=(0, 1))
    return CaseResult(
        case_id=f"c{number}",
        dialect="sqlite",
        question=f"Question {number}?",
        snapshot="s",
        gold_sql=gold,
        predicted_sql=predicted,
        verdict=Verdict.MATCH,
        reason="1 row",
        scores={f"metric_{n}": ScoreRecord(value=1.0, reason=f"because {n}") for n in range(6)},
        guard=GuardRecord(allowed=True, reason="reads"),
        comparison=compared,
        strict=compared,
        gold_structure=structures[0],
        predicted_structure=structures[1],
        gold_columns=("id", "name"),
        predicted_columns=("id", "name"),
        policy_digest="p",
    )


def test_a_finished_result_takes_little_memory(tmp_path: Path) -> None:
    """A result that is journalled and kept for the reports takes 5 KB at most, texts of its own included."""
    with RunFolder(tmp_path / "run") as folder:
        book = Book(folder, None)
        book.finish([(result(RESULTS), Timing(case_id=f"c{RESULTS}", trial=0))])
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            for number in range(RESULTS):
                book.finish([(result(number), Timing(case_id=f"c{number}", trial=0, total_seconds=number / 7))])
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert (after - before) / RESULTS < MOST_BYTES
