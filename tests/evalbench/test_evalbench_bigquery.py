"""Tables reach BigQuery through Google's own client, seen by a local double of its REST API on 127.0.0.1."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from sqlassay.cases.errors import InfrastructureError
from sqlassay.harness.evalbench.bigquery import EMULATOR, check_installed, store
from sqlassay.harness.evalbench.reporting import BigQuery
from sqlassay.harness.evalbench.tables import EVALS, SCORES, SUMMARY, Table

pytest.importorskip("google.cloud.bigquery", reason="needs the extra sqlassay[bigquery]")

TARGET = BigQuery("proj", "evalbench", "EU", 2)
TIME = "2026-11-28 05:09:32.619855"
TABLES = (
    Table("configs", ("job_id", "run_time", "config", "value"), (("j", TIME, "a.b", "=1"), ("j", TIME, "c", None))),
    Table("evals", EVALS, (tuple(f"{name} value" for name in EVALS),)),
    Table(
        "scores",
        SCORES,
        tuple(("set_match", None, "", "d", ["sqlite"], None, "SELECT 1", str(n), "j", 100.0) for n in range(3)),
    ),
    Table("summary", SUMMARY, (("set_match", 100, 3, 3, "j", TIME),)),
)


@dataclass
class Double:
    """What the double was asked, and how it answers: a status for every data set, an error for every job."""

    url: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)
    loads: list[tuple[dict[str, Any], list[dict[str, Any]]]] = field(default_factory=list)
    headers: list[str | None] = field(default_factory=list)
    datasets: list[dict[str, Any]] = field(default_factory=list)
    create_status: int = 200
    job_error: str | None = None
    busy: int = 0


def _handler(double: Double) -> type[BaseHTTPRequestHandler]:
    """Return the handler of a double."""

    class Handler(BaseHTTPRequestHandler):
        """Answers the calls Google's client makes to create a data set and to load a table."""

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the library's own name)
            """Say nothing."""

        def _answer(self, value: dict[str, Any], status: int = 200) -> None:
            """Send JSON."""
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _refuse(self, status: int, reason: str) -> None:
            """Send an error as Google's servers word it."""
            error = {"code": status, "message": reason, "errors": [{"reason": reason, "message": reason}]}
            self._answer({"error": error}, status)

        def do_GET(self) -> None:
            """Give a data set or a job that is done."""
            path = urlsplit(self.path).path
            double.asked.append(("GET", path))
            if "/jobs/" in path:
                self._answer(_job(path.rpartition("/")[2], double.job_error))
            else:
                self._answer({"datasetReference": {"projectId": "proj", "datasetId": "evalbench"}})

        def do_POST(self) -> None:
            """Create a data set, or take a load job with its rows."""
            split = urlsplit(self.path)
            double.asked.append(("POST", split.path))
            double.headers.append(self.headers["Authorization"])
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if not split.path.startswith("/upload/"):
                if double.create_status != 200:
                    return self._refuse(double.create_status, "refused here")
                double.datasets.append(json.loads(body))
                return self._answer(json.loads(body))
            assert parse_qs(split.query)["uploadType"] == ["multipart"]
            if double.busy:
                double.busy -= 1
                return self._refuse(503, "busy")
            whole = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode() + body
            about, rows = message_from_bytes(whole).get_payload()
            lines = rows.get_payload(decode=True).decode().splitlines()
            double.loads.append((json.loads(about.get_payload(decode=True)), [json.loads(line) for line in lines]))
            name = double.loads[-1][0]["jobReference"]["jobId"]
            return self._answer(_job(name, None, state="RUNNING"))

    return Handler


def _job(name: str, error: str | None, state: str = "DONE") -> dict[str, Any]:
    """Return a job's resource."""
    reason = {"reason": "invalid", "message": error}
    status = {"state": state, **({"errorResult": reason, "errors": [reason]} if error else {})}
    reference = {"projectId": "proj", "jobId": name, "location": "EU"}
    return {"jobReference": reference, "configuration": {"load": {}}, "status": status, "id": name}


@contextmanager
def served() -> Iterator[Double]:
    """Serve a double on a free port of 127.0.0.1."""
    double = Double()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(double))
    server.daemon_threads = True
    double.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield double
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_four_tables_are_appended_as_evalbench_appends_them() -> None:
    """The data set is made where it is to be, each table is loaded in chunks, with types and without a login."""
    with served() as double:
        assert store(TABLES, TARGET, {EMULATOR: double.url}) == "proj.evalbench"
    (dataset,) = double.datasets
    assert (dataset["datasetReference"], dataset["location"]) == ({"projectId": "proj", "datasetId": "evalbench"}, "EU")
    assert set(double.headers) == {None}
    loads = [(about["configuration"]["load"], rows) for about, rows in double.loads]
    assert [(load["destinationTable"]["tableId"], len(rows)) for load, rows in loads] == [
        ("configs", 2),
        ("results", 1),
        ("scores", 2),
        ("scores", 1),
        ("summary", 1),
    ]
    for load, _ in loads:
        assert load["writeDisposition"] == "WRITE_APPEND"
        assert load["sourceFormat"] == "NEWLINE_DELIMITED_JSON"
        assert load["schemaUpdateOptions"] == ["ALLOW_FIELD_ADDITION", "ALLOW_FIELD_RELAXATION"]
    assert all(about["jobReference"]["location"] == "EU" for about, _ in double.loads)
    assert loads[0][1][0] == {"job_id": "j", "run_time": TIME, "config": "a.b", "value": "=1"}
    assert loads[0][1][1]["value"] is None
    types = [{one["name"]: (one["type"], one["mode"]) for one in load["schema"]["fields"]} for load, _ in loads]
    assert types[0] == {
        **dict.fromkeys(("job_id", "config", "value"), ("STRING", "NULLABLE")),
        "run_time": ("DATETIME", "NULLABLE"),
    }
    assert set(types[1].values()) == {("STRING", "NULLABLE")}
    assert (types[2]["dialects"], types[2]["score"]) == (("STRING", "REPEATED"), ("STRING", "NULLABLE"))
    assert (loads[2][1][0]["dialects"], loads[2][1][0]["score"]) == (["sqlite"], "100")
    assert types[4]["metric_score"] == ("INTEGER", "NULLABLE")
    assert loads[4][1] == [dict(zip(SUMMARY, TABLES[3].rows[0], strict=True))]


def test_a_data_set_that_is_there_is_used() -> None:
    """A conflict on making it is no fault: the tables are appended to the one that is there."""
    with served() as double:
        double.create_status = 409
        store(TABLES[:1], TARGET, {EMULATOR: double.url})
    assert ("GET", "/bigquery/v2/projects/proj/datasets/evalbench") in double.asked
    assert len(double.loads) == 1


def test_a_busy_server_is_asked_again() -> None:
    """One refusal of a server that has no time costs a second, not the report."""
    with served() as double:
        double.busy = 1
        store(TABLES[3:], TARGET, {EMULATOR: double.url})
    assert len(double.loads) == 1


def _forbidden(double: Double) -> None:
    """Refuse the data set."""
    double.create_status = 403


def _broken(double: Double) -> None:
    """Fail every load."""
    double.job_error = "no such field"


@pytest.mark.parametrize(("fault", "says"), [(_forbidden, "refused here"), (_broken, "no such field")])
def test_a_refusal_is_a_fault_of_the_machine(fault: Callable[[Double], None], says: str) -> None:
    """What Google says is repeated on one line, with what to look at; the exit code is that of a fault of ours."""
    with served() as double:
        fault(double)
        with pytest.raises(InfrastructureError, match=says) as error:
            store(TABLES[3:], TARGET, {EMULATOR: double.url})
    assert str(error.value).startswith("BigQuery data set proj.evalbench cannot be written: ")
    assert "\n" not in str(error.value)
    assert int(error.value.exit_code) == 3


def test_the_client_is_found() -> None:
    """Where the extra is installed nothing is refused, and no target needs none."""
    check_installed(TARGET)
    check_installed(None)
