"""One run's folder: manifest first, journal while it runs, final files at the end. All under mode 0700."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from pydantic import ValidationError

from cases.errors import InfrastructureError, InputError
from cases.relation import Relation
from cases.typed_json import relation_to_json
from harness.results.case_result import CaseResult, Timing
from harness.results.run_result import Manifest

MANIFEST = "manifest.json"
JOURNAL = "journal.jsonl"
RESULTS = "results.jsonl"
TIMINGS = "timings.jsonl"
RELATIONS = "relations"


def _line(value: Any) -> str:
    """Return one JSON line with keys in the given order, non-ASCII kept; a text that is no Unicode is escaped."""
    line = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"
    try:
        line.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False) + "\n"
    return line


class RunFolder:
    """Writes a run's own files; every failure to write is one infrastructure error naming the file."""

    def __init__(self, path: Path) -> None:
        """Create the folder (mode 0700).

        Raises:
            InputError: it cannot be created, or holds a run already.
        """
        self.path = path
        try:
            if (path / JOURNAL).exists() or (path / MANIFEST).exists():
                raise InputError(f"{path} already holds a run", field="--out", remedy="Name another folder")
            self._new = not path.exists()
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.chmod(0o700)
            # Opened here and closed in __exit__: the journal lives as long as the run.
            self._journal = (path / JOURNAL).open("xb")
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(
                f"the run folder {path} cannot be made ({reason})", field="--out", remedy="Name another folder"
            ) from error

    def __enter__(self) -> RunFolder:
        """Return the open folder."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the journal; a run that ended before its manifest leaves nothing behind."""
        try:
            self._journal.close()
        except OSError as fault:
            raise _unwritable(self.path / JOURNAL, fault) from fault
        journal = self.path / JOURNAL
        if not (self.path / MANIFEST).exists() and journal.stat().st_size == 0:
            journal.unlink()
            if self._new:
                with suppress(OSError):
                    self.path.rmdir()

    def write_manifest(self, manifest: Manifest) -> None:
        """Write manifest.json before the first case."""
        self._write(MANIFEST, json.dumps(manifest.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n")

    def append(self, result: CaseResult, timing: Timing) -> None:
        """Append one finished result to the journal and force it to disk."""
        value = {"result": result.model_dump(mode="json"), "timing": timing.model_dump(mode="json")}
        try:
            self._journal.write(_line(value).encode())
            self._journal.flush()
            os.fsync(self._journal.fileno())
        except OSError as error:
            raise _unwritable(self.path / JOURNAL, error) from error

    def store_relations(self, result: CaseResult, sides: Iterable[tuple[str, Relation | None]]) -> None:
        """Write the typed rows of one result's sides (gold, probe, predicted), one JSON line a side."""
        lines = [
            _line(
                {"format": 1, "case_id": result.case_id, "trial": result.trial, "side": side, **relation_to_json(rows)}
            )
            for side, rows in sides
            if rows is not None
        ]
        if lines:
            name = f"{RELATIONS}/{file_name(result.case_id)}.{result.trial}.jsonl.gz"
            self._write_bytes(name, gzip.compress("".join(lines).encode(), mtime=0))

    def finish(self, results: Iterable[CaseResult], timings: Iterable[Timing]) -> None:
        """Write results.jsonl (case order, no clocks) and timings.jsonl."""
        self._write(RESULTS, "".join(_line(r.model_dump(mode="json")) for r in results))
        self._write(TIMINGS, "".join(_line(t.model_dump(mode="json")) for t in timings))

    def _write(self, name: str, text: str) -> None:
        """Write one text file whole."""
        self._write_bytes(name, text.encode())

    def _write_bytes(self, name: str, content: bytes) -> None:
        """Write one file through a scratch name, so that no half file is ever seen."""
        path = self.path / name
        scratch = path.with_name(path.name + ".tmp")
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            scratch.write_bytes(content)
            scratch.replace(path)
        except OSError as error:
            scratch.unlink(missing_ok=True)
            raise _unwritable(path, error) from error


def read_journal(path: Path) -> tuple[tuple[CaseResult, Timing], ...]:
    """Return every whole line of a journal; a torn last line (a killed run) is dropped."""
    found = []
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            value = json.loads(line)
            found.append((CaseResult.model_validate(value["result"]), Timing.model_validate(value["timing"])))
        except (ValueError, KeyError, TypeError, ValidationError) as error:
            if number == len(lines):
                break
            raise InfrastructureError(f"{path}:{number}: damaged journal line", remedy="Start the run again") from error
    return tuple(found)


def file_name(case_id: str) -> str:
    """Return a file name for a case id: itself where it is plain, else cleaned with a digest that keeps it unique."""
    if re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}", case_id):
        return case_id
    clean = re.sub(r"[^A-Za-z0-9_-]+", "_", case_id)[:60]
    return f"{clean}-{hashlib.sha256(case_id.encode()).hexdigest()[:12]}"


def _unwritable(path: Path, error: OSError) -> InfrastructureError:
    """Name the file that could not be written and why."""
    return InfrastructureError(
        f"{path} cannot be written ({error.strerror or error})",
        remedy="Free space or name another folder with --out; finished cases are safe in journal.jsonl",
    )
