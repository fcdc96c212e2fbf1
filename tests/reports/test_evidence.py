"""Evidence says the same in a terminal, in Markdown and in HTML, and no text gets out of its place."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from report_runs import HOSTILE, compared, manifest, result, run

from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, Relation, Row
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.compare import compare
from sqlassay.harness.reports import summary
from sqlassay.harness.reports.evidence import CELL_LIMIT, FLAGS, SHOWN_COLUMNS, Sheet, case_sheet, cell_text, sheet
from sqlassay.harness.reports.evidence_media import html_evidence, html_page, markdown_evidence, terminal
from sqlassay.harness.results.case_result import ComparisonRecord, DifferenceRecord
from sqlassay.harness.results.records import comparison_record

TAGS = {"section", "h2", "span", "p", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tr", "th", "td"}


def relation(names: str, *rows: Row) -> Relation:
    return Relation(tuple(Column(name) for name in names.split()), rows)


def shown(gold: Relation, pred: Relation, policy: Policy | None = None) -> Sheet:
    record = comparison_record(compare(gold, pred, policy or preset("strict")))
    return sheet(record, *([column.name for column in side.columns] for side in (gold, pred)))


def hostile() -> Sheet:
    record = ComparisonRecord(
        verdict="mismatch",
        rule=HOSTILE,
        reason=HOSTILE,
        policy_digest="x",
        missing=1,
        first=DifferenceRecord(index=0, gold=[HOSTILE, {"$json": HOSTILE}], predicted=[{HOSTILE: HOSTILE}], cells=(0,)),
        columns=(0, None),
        flags=(HOSTILE,),
        looser=HOSTILE,
    )
    return sheet(record, (HOSTILE, "b"), (HOSTILE,))


def test_a_difference_is_told_with_everything_a_person_needs() -> None:
    """Verdict, rule, counts, the mapping used, the first differing row with its cells marked, what would match."""
    text = terminal(shown(relation("a b", (1, "X"), (2, "y")), relation("a b", (1, "x"), (2, "y"))), "case-1")
    assert text.splitlines() == [
        "case-1: mismatch by rule rows",
        "  rows differ; row 0, column 'b': 'X' is not 'x'",
        "  rows: 1 missing, 1 extra",
        "  columns: compared in position",
        "  would match with: text case folded",
        "  first differing row: row 0, counted from 0 (gold | predicted)",
        "    a: 1 | 1",
        "  > b: 'X' | 'x'",
    ]


def test_a_permuted_mapping_is_spelled_out_and_extra_columns_are_named() -> None:
    """Under `any` the reader sees which predicted column each gold column was compared with."""
    found = shown(relation("a b", (1, "x")), relation("k b a", (9, "x", 1)), preset("skill"))
    assert ("columns", "gold = predicted: a = a, b = b; 1 extra not compared") in found.facts


@pytest.mark.parametrize(
    ("gold", "pred", "heading", "cells"),
    [
        ((((1,), (2,))), ((1,),), "first missing row: row 1 of the gold, counted from 0", ("2", None)),
        (((1,),), (((1,), (2,))), "first extra row: row 1 of the prediction, counted from 0", (None, "2")),
    ],
)
def test_a_row_of_one_side_alone_is_shown_beside_nothing(
    gold: tuple[Row, ...], pred: tuple[Row, ...], heading: str, cells: tuple[str | None, str | None]
) -> None:
    """A missing and an extra row say on which side they stand."""
    found = shown(relation("a", *gold), relation("a", *pred))
    assert (found.heading, (found.cells[0].gold, found.cells[0].predicted)) == (heading, cells)


def test_an_empty_match_is_flagged_as_vacuous_everywhere() -> None:
    """Two empty results match, and every medium says how little that proves."""
    found = shown(relation("a"), relation("a"))
    for text in (terminal(found), markdown_evidence(found), html_evidence(found)):
        assert "match" in text
        assert FLAGS["vacuous"] in text


def test_wide_rows_show_the_differing_columns_first_and_count_the_rest() -> None:
    """Of 40 columns the differing last one is shown, and 28 are counted as left out."""
    names = " ".join(f"c{index}" for index in range(40))
    found = shown(relation(names, tuple(range(40))), relation(names, (*range(39), 99)))
    assert (found.cells[0].name, found.cells[0].differs) == ("c39", True)
    assert (len(found.cells), found.left_out) == (SHOWN_COLUMNS, 28)
    for text in (terminal(found), markdown_evidence(found), html_evidence(found)):
        assert "and 28 more columns" in text


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, "NULL"),
        ("NULL", "'NULL'"),
        (True, "true"),
        (7, "7"),
        ("7", "'7'"),
        ({"$decimal": "1.50"}, "decimal 1.50"),
        ({"$int": "9007199254740993"}, "9007199254740993"),
        ({"$float": "nan"}, "nan"),
        ({"$interval": [1, 2, 3]}, "interval [1, 2, 3]"),
        ({"$array": [1, "é"]}, 'array [1, "é"]'),
    ],
)
def test_a_cell_shows_its_type_where_its_text_does_not(cell: Any, text: str) -> None:
    """Text is quoted, so '7' and 7, or 'NULL' and NULL, never look alike."""
    assert cell_text(cell) == text


def test_a_long_cell_is_cut_with_its_length() -> None:
    """What is left out is said."""
    assert cell_text("x" * 5000) == "'" + "x" * (CELL_LIMIT - 1) + "… (5002 characters in all)"


def test_a_login_is_taken_out_before_a_cell_is_cut() -> None:
    """A password that the cut would tear in two is not shown by half."""
    assert "hunter" not in cell_text("x" * 90 + " postgres://bob:hunter2hunter2hunter2@db/x")


def test_the_strict_verdict_stands_beside_another_one() -> None:
    """A case that matches under its own policy and not under strict says so, with strict's reason."""
    record = compared("match").model_copy(update={"columns": (0, 1)})
    found = case_sheet(result("a", comparison=record, strict=compared("mismatch")))
    assert found is not None
    assert found.facts[-1] == ("under strict", "mismatch by rule bag: 3 rows are missing")
    assert case_sheet(result("a", comparison=None)) is None


def test_a_terminal_gets_no_control_character_and_no_second_line_from_a_text() -> None:
    """Whatever a cell, a name or a reason holds, only our own line ends are printed."""
    text = terminal(hostile(), HOSTILE)
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text) is None
    assert len(text.splitlines()) == 9
    assert "hunter2" not in text


def test_colour_is_added_only_where_asked_for() -> None:
    """A differing cell is marked by a sign; colour repeats it."""
    found = shown(relation("a", (1,)), relation("a", (2,)))
    assert "\x1b" not in terminal(found)
    assert "\x1b[1;31m  > a: 1 | 2\x1b[0m" in terminal(found, color=True)


def test_markdown_renders_hostile_text_as_itself() -> None:
    """No link, image, script or further table row comes out of a text."""
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown_evidence(hostile()))
    assert "<script" not in html
    assert "<a " not in html
    assert "<img" not in html
    assert [html.count(tag) for tag in ("<table>", "<tr>", "<h1>", "<pre>")] == [1, 3, 0, 0]
    assert "≠ <b>" in html


class _Tags(HTMLParser):
    """Collects the tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def test_html_holds_our_own_tags_alone() -> None:
    """Hostile text adds no element and no attribute; the page forbids scripts and loads nothing."""
    parser = _Tags()
    parser.feed(html_evidence(hostile(), HOSTILE))
    assert set(parser.tags) <= TAGS
    assert {name for name, _ in parser.attributes} == {"class", "scope"}
    assert '<tr class="differs">' in html_evidence(hostile())
    page = html_page(HOSTILE, [html_evidence(hostile(), HOSTILE)])
    assert "<script" not in page
    assert "default-src 'none'" in page
    page.encode("utf-8")


def test_the_summary_shows_the_evidence_of_each_failed_case(tmp_path: Path) -> None:
    """A mismatch and an undecided case are folded out with counts and the first difference."""
    unsure = compared("undecided").model_copy(update={"reason": "too many ways"})
    failed = run(
        result("wrong", Verdict.MISMATCH), result("unsure", Verdict.UNDECIDED, comparison=unsure), result("right")
    )
    summary.write(failed, tmp_path)
    page = (tmp_path / summary.MARKDOWN).read_text(encoding="utf-8")
    assert page.count("<details>") == 2
    assert "- rows: 3 missing, 1 extra" in page
    assert "| ≠ <b>amount / id</b> | <b><code>decimal 1.50</code></b> | <b>–</b> |" in page
    assert "too many ways" in page
    assert "strict differ" not in page


def test_the_summary_of_a_peer_says_where_strict_differs_and_why(tmp_path: Path) -> None:
    """Under a peer's preset each case on which strict says otherwise is listed with strict's rule and reason."""
    lenient = result("lenient", Verdict.MATCH, strict=compared("mismatch"))
    both = result("both", Verdict.MATCH, strict=compared("match"))
    summary.write(run(lenient, both, manifest=manifest(policy={"peer": "bird"})), tmp_path)
    page = (tmp_path / summary.MARKDOWN).read_text(encoding="utf-8")
    assert "## Where bird and strict differ (n = 1)" in page
    assert "| <code>lenient</code> | 0 | match | mismatch | bag: 3 rows are missing |" in page
