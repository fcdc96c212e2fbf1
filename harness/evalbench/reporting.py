"""What a run config's `reporting` asks for: where tables go, and after how many rows results are cut in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlassay.cases.formats.evalbench_config import REPORTS, wrong
from sqlassay.cases.yaml_reading import YamlDocument
from sqlassay.harness.evalbench import keys
from sqlassay.harness.evalbench.values import section, text, whole

TRUNCATED = 250
PROJECT = "EVAL_GCP_PROJECT_ID"
_DATASET = "evalbench"
_LOCATION = "US"
_CHUNK = 500


@dataclass(frozen=True, slots=True)
class BigQuery:
    """A data set of tables in BigQuery, and how many rows go into one load."""

    project: str
    dataset: str = _DATASET
    location: str = _LOCATION
    chunk: int = _CHUNK


@dataclass(frozen=True, slots=True)
class Reporting:
    """The reports a config asks for; None where it asks for none. Results are cut after `rows` rows."""

    rows: int = TRUNCATED
    csv: Path | None = None
    bigquery: BigQuery | None = None


def read_reporting(
    document: YamlDocument, value: object, environment: Mapping[str, str]
) -> tuple[Reporting, tuple[str, ...]]:
    """Return the reports a config asks for, and a line for each key that is not taken.

    Raises:
        InputError: a wrong value, or BigQuery without a project.
    """
    if value is None:
        return Reporting(), ()
    asked = section(document, ("reporting",), value)
    notes = [*keys.told(document, ("reporting",), asked, keys.REPORTING, keys.REPORTING_WITHOUT_EFFECT)]
    written = asked.get("truncate_execution_outputs")
    rows = whole(document, ("reporting", "truncate_execution_outputs"), written, least=0)
    csv = None
    if "csv" in asked:
        place = ("reporting", "csv")
        own = section(document, place, asked["csv"])
        notes += keys.told(document, place, own, keys.CSV, keys.DELEGATED)
        csv = Path(text(document, (*place, "output_directory"), own.get("output_directory")) or REPORTS)
    bigquery = None
    if "bigquery" in asked:
        own = section(document, ("reporting", "bigquery"), asked["bigquery"])
        notes += keys.told(document, ("reporting", "bigquery"), own, keys.BIGQUERY, keys.DELEGATED)
        bigquery = _bigquery(document, own, environment)
    return Reporting(TRUNCATED if rows is None else rows, csv, bigquery), tuple(notes)


def _bigquery(document: YamlDocument, own: Mapping[str, Any], environment: Mapping[str, str]) -> BigQuery:
    """Return where in BigQuery the tables go; the project may come from the environment."""
    place = ("reporting", "bigquery")
    project = text(document, (*place, "gcp_project_id"), own.get("gcp_project_id")) or environment.get(PROJECT)
    if not project:
        raise wrong(document, (*place, "gcp_project_id"), "no Google Cloud project", f"Write it, or set {PROJECT}")
    chunk = whole(document, (*place, "chunk_size"), own.get("chunk_size"), least=1)
    return BigQuery(
        project,
        text(document, (*place, "dataset_id"), own.get("dataset_id")) or _DATASET,
        text(document, (*place, "dataset_location"), own.get("dataset_location")) or _LOCATION,
        chunk or _CHUNK,
    )
