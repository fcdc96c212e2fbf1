"""A crosscheck as JUnit: one testcase a case and pair of engines; a disagreement fails, what did not run is skipped."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from sqlassay.harness.reports.escape import xml
from sqlassay.harness.results.crosscheck import CrossCase, CrossResult, Pair

_SQL_LIMIT = 2000


def cut(sql: str, limit: int) -> str:
    """Return a statement that fits a report, with a line where it is cut."""
    return sql if len(sql) <= limit else f"{sql[:limit]}\n-- cut here: it is whole in crosscheck.csv"


def document(found: CrossResult) -> str:
    """Return junit.xml."""
    root = ET.Element("testsuites", name="sqlassay crosscheck")
    names = [(score.what, tuple(score.what.split(" to "))) for score in found.portability if score.what != "all"]
    suites = [_suite(found, what, pair) for what, pair in names]
    root.extend(suites)
    for name in ("tests", "failures", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    root.set("errors", "0")
    root.set("time", f"{found.seconds:.3f}")
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}'


def _suite(found: CrossResult, what: str, names: tuple[str, ...]) -> ET.Element:
    """Return one pair of engines' suite."""
    suite = ET.Element("testsuite", name=xml(f"crosscheck.{what}"))
    for case in found.cases:
        for pair in case.pairs:
            if (pair.one, pair.other) == names:
                suite.append(_case(case, pair, found.pack))
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", "0")
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    return suite


def _case(case: CrossCase, pair: Pair, pack: str) -> ET.Element:
    """Return one testcase."""
    entry = ET.Element("testcase", name=xml(case.case_id), classname=xml(f"{pack}.{pair.one}.{pair.other}"))
    if pair.agreement in ("not run", "both fail", "vacuous"):
        ET.SubElement(entry, "skipped", message=xml(f"{pair.agreement}: {pair.reason}"))
    elif pair.agreement != "agree":
        cause = "" if pair.found is None else f" {pair.found.cause} ({pair.found.owner})"
        failure = ET.SubElement(
            entry, "failure", message=xml(f"{pair.agreement}:{cause}: {pair.reason}"), type=xml(pair.agreement)
        )
        parts = [f"-- {cell.dialect}\n{cut(cell.sql or '', _SQL_LIMIT)}" for cell in case.cells]
        if pair.found is not None:
            parts.append(f"-- {pair.found.probe}\n{cut(pair.found.form, _SQL_LIMIT)}")
        failure.text = xml("\n\n".join(parts))
    return entry
