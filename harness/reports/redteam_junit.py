"""The drill as JUnit: one testcase an attack and layer; a miss behind all layers, or of the guard alone, fails."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from sqlassay.harness.reports.escape import xml
from sqlassay.harness.results.redteam import AttackResult, Attempt, RedTeamResult


def document(found: RedTeamResult) -> str:
    """Return junit.xml."""
    root = ET.Element("testsuites", name="sqlassay redteam")
    suites = [_suite(found, layer) for layer in found.layers] + [_benign(found)]
    root.extend(suites)
    for name in ("tests", "failures", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    root.set("errors", "0")
    root.set("time", f"{found.seconds:.3f}")
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}'


def _suite(found: RedTeamResult, layer: str) -> ET.Element:
    """Return one layer's suite."""
    suite = ET.Element("testsuite", name=xml(f"redteam.{found.dialect}.{layer}"))
    for attack in found.attacks:
        for attempt in attack.attempts:
            if attempt.layer == layer:
                suite.append(_case(attack, attempt, found.dialect))
    return _counted(suite)


def _case(attack: AttackResult, attempt: Attempt, dialect: str) -> ET.Element:
    """Return one testcase; what one layer alone is not there to stop is skipped, not passed."""
    case = ET.Element("testcase", name=xml(attack.id), classname=xml(f"redteam.{dialect}.{attack.harm}"))
    case.set("time", f"{attempt.seconds:.3f}")
    if attempt.finding == "missed" and (attempt.layer in ("guard", "together") or "state" in attempt.effects):
        failure = ET.SubElement(case, "failure", message=xml(attempt.by), type="missed")
        failure.text = xml(attack.sql[:2000])
    elif attempt.finding in ("missed", "contained"):
        ET.SubElement(case, "skipped", message=xml(f"{attempt.finding}: {attempt.by}; another layer's to stop"))
    return case


def _benign(found: RedTeamResult) -> ET.Element:
    """Return the suite of harmless statements that were refused, and one case for the rest."""
    suite = ET.Element("testsuite", name=xml(f"redteam.{found.dialect}.harmless"))
    for alarm in found.false_alarms:
        case = ET.SubElement(suite, "testcase", name=xml(f"{alarm.id} ({alarm.layer})"), classname="redteam.harmless")
        ET.SubElement(case, "failure", message=xml(alarm.reason), type="false alarm").text = xml(alarm.sql)
    rest = found.benign - len({alarm.id for alarm in found.false_alarms})
    ET.SubElement(suite, "testcase", name=f"{rest} harmless statements pass", classname="redteam.harmless")
    return _counted(suite)


def _counted(suite: ET.Element) -> ET.Element:
    """Return the suite with its totals."""
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", "0")
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    return suite
