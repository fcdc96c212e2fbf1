"""Writes junit.xml: a wrong answer is a failure, a fault of ours an error, what could not be asked is skipped."""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from xml.etree import ElementTree as ET

from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.reports import figures
from sqlassay.harness.reports.escape import xml
from sqlassay.harness.reports.files import base_name, write_text
from sqlassay.harness.results.case_result import CaseResult
from sqlassay.harness.results.run_result import RunResult

NAME = "junit.xml"
Outcome = Literal["passed", "failure", "error", "skipped"]
_OUTCOMES: dict[Verdict, Outcome] = {
    Verdict.MATCH: "passed",
    Verdict.UNAVAILABLE: "skipped",
    Verdict.OUT_OF_SCOPE: "skipped",
    Verdict.GOLD_ERROR: "error",
    Verdict.INFRASTRUCTURE: "error",
}


def write(run: RunResult, folder: Path) -> tuple[Path, ...]:
    """Write junit.xml into `folder` and return its path."""
    root = ET.Element("testsuites", name="sqlassay")
    suites = [_cases_suite(run), _run_suite(run)]
    root.extend(suites)
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    root.set("time", f"{sum(timing.total_seconds for timing in run.timings):.3f}")
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return (write_text(folder / NAME, f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'),)


def outcome_of(verdict: Verdict) -> Outcome:
    """Return what JUnit calls a verdict; every verdict that is not listed is a wrong answer."""
    return _OUTCOMES.get(verdict, "failure")


def _cases_suite(run: RunResult) -> ET.Element:
    """Return the suite with one testcase a result."""
    manifest = run.manifest
    suite = ET.Element("testsuite", name=xml(f"{base_name(manifest.pack)}.{manifest.dialect}"))
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(run).items():
        ET.SubElement(properties, "property", name=name, value=xml(value))
    timings, many = figures.timing_of(run), figures.trials(run) > 1
    for result in run.results:
        timing = timings.get(result.key)
        case = _case(result, base_name(manifest.pack), many=many)
        case.set("time", f"{0.0 if timing is None else timing.total_seconds:.3f}")
        suite.append(case)
    return _counted(suite)


def _properties(run: RunResult) -> dict[str, str]:
    """Return the run's identity and totals as JUnit properties."""
    means = {
        figures.label(total.name): f"{figures.decimal(total.mean)} (n={total.n} of {total.of})"
        for total in run.aggregates
    }
    return {
        "run_id": run.manifest.run_id,
        "engine": f"{run.manifest.dialect} {run.manifest.engine_version}",
        "engine_settings": figures.engine_settings(run),
        "isolation": figures.place(run),
        "health": figures.health(run),
        "policy_digest": run.manifest.policy_digest,
        "gold": figures.gold_line(run),
        **means,
        "verdict": run.verdict_line,
    }


def _case(result: CaseResult, pack: str, *, many: bool) -> ET.Element:
    """Return one testcase with its failure, error or skip and the two SQL texts as output."""
    name = f"{result.case_id} [trial {result.trial}]" if many else result.case_id
    classname = f"{pack}.{result.dialect}.{result.snapshot}"
    case = ET.Element("testcase", name=xml(name), classname=xml(classname))
    outcome = outcome_of(result.verdict)
    if outcome == "passed":
        return case
    cause = "" if result.cause is None else f" ({result.cause.value})"
    entry = ET.SubElement(case, outcome, message=xml(f"{result.verdict.value}{cause}: {result.reason}"))
    if outcome != "skipped":
        entry.set("type", result.verdict.value)
        entry.text = xml(_body(result))
    return case


def _body(result: CaseResult) -> str:
    """Return the question and both SQL texts, for a person who reads the failure in a CI page."""
    return "\n".join(
        (
            f"question: {result.question}",
            f"gold: {result.gold_sql or 'none'}",
            f"predicted: {result.predicted_sql or 'none'}",
        )
    )


def _run_suite(run: RunResult) -> ET.Element:
    """Return the suite about the run itself: that it was whole, breached nothing and kept its thresholds."""
    suite = ET.Element("testsuite", name="run")
    whole = ET.SubElement(suite, "testcase", name="finished", classname="sqlassay.run")
    if run.interrupted:
        message = f"interrupted: {len(run.results)} of {run.planned} results were judged"
        ET.SubElement(whole, "error", message=message, type="interrupted")
    safe = ET.SubElement(suite, "testcase", name="no breach", classname="sqlassay.run")
    if run.breaches:
        ET.SubElement(safe, "failure", message=xml("; ".join(run.breaches)), type="breach")
    for threshold in run.thresholds:
        name = f"{figures.label(threshold.metric)} at least {threshold.minimum}"
        case = ET.SubElement(suite, "testcase", name=xml(name), classname="sqlassay.run")
        if not threshold.held:
            ET.SubElement(case, "failure", message=figures.threshold_line(threshold), type="threshold")
    return _counted(suite)


def _counted(suite: ET.Element) -> ET.Element:
    """Return the suite with its totals set from the testcases in it."""
    suite.set("tests", str(len(suite.findall("testcase"))))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    return suite
