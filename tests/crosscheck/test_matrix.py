"""Two engines agree, differ silently, fail or were not run; a prediction is judged by any gold that has rows."""

from __future__ import annotations

import csv
import io
from xml.etree import ElementTree as ET

import pytest

from sqlassay.cases.case import Case
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, Kind, Relation
from sqlassay.cases.verdicts import ExitCode
from sqlassay.harness.crosscheck.matrix import agreement, cross_case, judged
from sqlassay.harness.crosscheck.score import advice, portability
from sqlassay.harness.crosscheck.statements import Answered, Given
from sqlassay.harness.reports.crosscheck import render, summary, write
from sqlassay.harness.reports.crosscheck_junit import document
from sqlassay.harness.results.crosscheck import CrossResult, Found
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.results.parsed import ParsedQuery

POLICY = preset("cross_dialect")
PARSED = ParsedQuery("SELECT 1", "sqlite", "sqlglot")
NOTHING = Answered(Given((), "none", reason="no gold in mysql"), ())


def gave(*cells: object, failure: str | None = None) -> Answered:
    """Return an engine's answer: one column of these cells, or a failure."""
    relation = None if failure else Relation((Column("n", Kind.INT),), tuple((cell,) for cell in cells))
    return Answered(Given(("SELECT 1",), "own"), (GoldAnswer("SELECT 1", PARSED, relation, failure=failure),))


def either(*sides: Answered) -> Answered:
    """Return an answer of several accepted statements."""
    return Answered(sides[0].given, tuple(answer for side in sides for answer in side.answers))


FAILED = gave(failure="error: no such function: x")


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        (gave(1, 2), gave(2, 1), "agree"),
        (gave(1, 2), gave(1, 3), "silent"),
        (gave(), gave(), "vacuous"),
        (gave(None), gave(None), "vacuous"),
        (gave(), gave(1), "silent"),
        (gave(1), FAILED, "error"),
        (FAILED, gave(1), "error"),
        (FAILED, FAILED, "both fail"),
        (gave(1), NOTHING, "not run"),
        (gave(1), either(gave(2), gave(1)), "agree"),
    ],
)
def test_agreement(one, other, found):
    """Any accepted statement of either side may agree."""
    assert agreement(one, other, POLICY)[0] == found


def test_judged_by_any_gold():
    """A prediction matches where one gold with rows does; without any there is no verdict."""
    golds = [*FAILED.answers, *gave(1).answers]
    assert judged(gave(1), golds, POLICY) == "match"
    assert judged(gave(2), golds, POLICY) == "mismatch"
    assert judged(FAILED, golds, POLICY) == "error"
    assert judged(gave(1), FAILED.answers, POLICY) is None


FORM = "=SELECT n FROM t WHERE n ILIKE 'a%' AND n NOT IN (" + ", ".join(map(str, range(1000))) + ")"
"""The statement that showed a cause: longer than a terminal is wide, and begun as a spreadsheet's formula."""


def crossed_result() -> CrossResult:
    """Return a result with a silent difference, a failure and hostile text."""
    case = Case(id="a|<b>", question="?", snapshot="s")
    why = Found(cause="LIKE case", owner="dialect", probe="the rewritten form agrees", explained=True, form=FORM)
    sides = {"sqlite": gave(1), "postgres": gave(2), "mysql": gave(failure="error: \x1b[31m & <x>")}
    one = cross_case(case, sides, {}, {("sqlite", "postgres"): why}, POLICY)
    alike = cross_case(Case(id="b", question="?", snapshot="s"), dict.fromkeys(sides, gave(1)), {}, {}, POLICY)
    return CrossResult(
        pack="p",
        case_set="c",
        agent="gold",
        predict="native",
        dialects=tuple(sides),
        engines=dict.fromkeys(sides, "1"),
        policy_digest=POLICY.digest,
        cases=(one, alike),
        portability=portability((one, alike), tuple(sides)),
        advice=advice((one, alike)),
        unexplained=("a on mysql: other",),
        problems=(),
        breaches=(),
        seconds=1.0,
        exit_code=ExitCode.OK,
        verdict_line="OK (exit 0)",
    )


def test_what_no_cause_was_found_for_is_other():
    """A pair that disagrees never stands without a cause: where none was found it is `other`, and not explained."""
    pairs = {(pair.one, pair.other): pair for pair in crossed_result().cases[0].pairs}
    assert pairs["sqlite", "postgres"].found.cause == "LIKE case"
    assert (pairs["sqlite", "mysql"].found.cause, pairs["sqlite", "mysql"].found.explained) == ("other", False)


def test_reports_hold_hostile_text():
    """The verdict is the last line; the matrix shows silent differences; markup and control characters stay text."""
    result = crossed_result()
    shown = render(result, "out", width=100, color=False)
    assert shown.splitlines()[-1] == "OK (exit 0)"
    assert "1 row, silent" in shown
    page = summary(result)
    assert "<b>" not in page
    assert "\x1b" not in page + shown
    root = ET.fromstring(document(result))
    assert [suite.get("failures") for suite in root] == ["1", "1", "1"]
    assert root.get("tests") == "6"


def test_written_files_name_no_folder_of_this_machine(tmp_path):
    """An agent given by its file is named by that file alone, and crosscheck.json reads back as it was."""
    result = crossed_result().model_copy(update={"agent": "/home/somebody/agent.py:ask"})
    files = write(result, tmp_path)
    assert [file.name for file in files] == ["crosscheck.json", "crosscheck.csv", "summary.md", "junit.xml"]
    assert all("somebody" not in file.read_text(encoding="utf-8") for file in files)
    again = CrossResult.model_validate_json(files[0].read_text(encoding="utf-8"))
    assert again == result.model_copy(update={"agent": "agent.py:ask"})


def test_the_statement_that_showed_a_cause_is_in_every_file(tmp_path):
    """It is whole in JSON and CSV; Markdown, JUnit and the terminal say where it is cut and where the whole is."""
    result = crossed_result()
    files = {file.name: file.read_text(encoding="utf-8") for file in write(result, tmp_path)}
    assert FORM in files["crosscheck.json"]
    rows = list(csv.DictReader(io.StringIO(files["crosscheck.csv"])))
    assert len(rows) == 6
    assert [row["form"] for row in rows if row["cause"] == "LIKE case"] == [f"'{FORM}"]
    assert {(row["case_id"], row["agreement"], row["form"]) for row in rows if row["case_id"] == "b"} == {
        ("b", "agree", "")
    }
    for name in ("summary.md", "junit.xml"):
        assert FORM[:60] in files[name]
        assert "cut here: it is whole in crosscheck.csv" in files[name]
    for width in (80, 200):
        lines = render(result, "out", width=width, color=False).splitlines()
        at = lines.index("Shown by, each whole in crosscheck.csv:")
        assert lines[at + 1].startswith("  LIKE case, a|<b> on postgres: =SELECT n FROM t")
        assert len(lines[at + 1]) == width
        assert lines[at + 1].endswith("…")
