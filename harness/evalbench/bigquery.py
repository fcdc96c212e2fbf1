"""Load the tables into BigQuery through Google's own client, as EvalBench does: one data set, four tables, appended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from typing import Any

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.extras import install_line
from sqlassay.harness.evalbench.reporting import BigQuery
from sqlassay.harness.evalbench.tables import Cell, Table

EMULATOR = "BIGQUERY_EMULATOR_HOST"
"""Where Google's client finds a server other than Google's: it is then asked without any login."""

_NAMES = {"evals": "results"}
"""EvalBench calls its file evals and its table results."""

_TYPES = {
    **dict.fromkeys(("metric_score", "correct_results_count", "total_results_count"), ("INTEGER", "NULLABLE")),
    "run_time": ("DATETIME", "NULLABLE"),
}
_CREATE_SECONDS = 30
_LOAD_SECONDS = 600


def check_installed(target: BigQuery | None) -> None:
    """Refuse a run that is to be reported to BigQuery where the client is not installed, before anything runs.

    Raises:
        InputError: it is not.
    """
    if target is None:
        return
    try:
        there = find_spec("google.cloud.bigquery") is not None
    except ModuleNotFoundError:
        there = False
    if not there:
        remedy = f"Install it by {install_line('bigquery')}, or remove bigquery from reporting"
        raise InputError("BigQuery's client is not installed", field="reporting.bigquery", remedy=remedy)


def store(tables: Sequence[Table], target: BigQuery, environment: Mapping[str, str]) -> str:
    """Append the tables to the data set, making what is not there, and return its name.

    Raises:
        InfrastructureError: no login is found, or the server refuses or does not answer.
    """
    from google.api_core.exceptions import GoogleAPIError
    from google.auth.exceptions import GoogleAuthError
    from google.cloud import bigquery
    from requests.exceptions import RequestException

    name = f"{target.project}.{target.dataset}"
    try:
        with closing(_client(target, environment)) as client:
            made = bigquery.Dataset(name)
            made.location = target.location
            client.create_dataset(made, exists_ok=True, timeout=_CREATE_SECONDS)
            for table in tables:
                _load(client, table, name, target)
    except (GoogleAPIError, GoogleAuthError, RequestException) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__).rstrip(". ")
        remedy = "The run and its CSV files are whole; see that the project, its data set and your login are right"
        raise InfrastructureError(f"BigQuery data set {name} cannot be written: {reason}", remedy=remedy) from error
    return name


def _client(target: BigQuery, environment: Mapping[str, str]) -> Any:
    """Return Google's client; it finds a login by itself, and needs none for a server of one's own."""
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import bigquery

    host = environment.get(EMULATOR)
    if not host:
        return bigquery.Client(project=target.project, location=target.location)
    return bigquery.Client(
        project=target.project,
        location=target.location,
        credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call, unused-ignore]
        client_options={"api_endpoint": host},
    )


def _load(client: Any, table: Table, dataset: str, target: BigQuery) -> None:
    """Append one table in chunks; columns it lacks are added, and a busy server is asked again by the client."""
    from google.cloud import bigquery

    config = bigquery.LoadJobConfig(
        schema=[bigquery.SchemaField(column, *_type(table, column)) for column in table.columns],
        write_disposition=bigquery.WriteDisposition.WRITE_APPEND,
        schema_update_options=[
            bigquery.SchemaUpdateOption.ALLOW_FIELD_ADDITION,
            bigquery.SchemaUpdateOption.ALLOW_FIELD_RELAXATION,
        ],
    )
    rows = [dict(zip(table.columns, map(_cell, row), strict=True)) for row in table.rows]
    for start in range(0, len(rows), target.chunk):
        job = client.load_table_from_json(
            rows[start : start + target.chunk],
            f"{dataset}.{_NAMES.get(table.name, table.name)}",
            location=target.location,
            job_config=config,
            timeout=_LOAD_SECONDS,
        )
        job.result(timeout=_LOAD_SECONDS)


def _type(table: Table, column: str) -> tuple[str, str]:
    """Return a column's type and mode: texts but for counts and times; a score's dialects are a list, as there."""
    if (table.name, column) == ("scores", "dialects"):
        return "STRING", "REPEATED"
    if (table.name, column) == ("evals", "run_time"):
        return "STRING", "NULLABLE"
    return _TYPES.get(column, ("STRING", "NULLABLE"))


def _cell(cell: Cell) -> Cell:
    """Return one cell; scores are texts there, whole numbers without a point."""
    return f"{cell:g}" if isinstance(cell, float) else cell
