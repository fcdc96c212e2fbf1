"""One run's folder: manifest first, journal while it runs, final files at the end. All for its owner alone."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from pydantic import BaseModel

from sqlassay.cases.errors import InputError
from sqlassay.cases.left_out import FILE, SHOWN
from sqlassay.cases.paths import private
from sqlassay.harness.results.case_result import CaseResult, Timing
from sqlassay.harness.results.run_result import Manifest
from sqlassay.harness.store import journal
from sqlassay.harness.store.journal import JOURNAL, Journal, Journalled, go_on, line, unwritable
from sqlassay.harness.store.output import MARKER, check_output, make_private, mark, note
from sqlassay.harness.store.places import PLACES, Places
from sqlassay.harness.store.sides import Side, side_to_json

MANIFEST = "manifest.json"
RESULTS = "results.jsonl"
TIMINGS = "timings.jsonl"
RELATIONS = "relations"
DIFFERENCES = "differences"
"""Where every differing cell of a failed case stands as CSV."""
_DRAFT = ".tmp"
_DRAFTED = (MANIFEST, RESULTS, TIMINGS, PLACES)
RUN = "run"
"""How the folder of a run is marked."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC


class RunFolder:
    """Writes a run's own files; every failure to write is one infrastructure error naming the file."""

    def __init__(self, path: Path, *, earlier: bool = False) -> None:
        """Create the folder (mode 0700) and lock its journal, or go on in the folder of an `earlier` run.

        A folder whose run was killed before its manifest stood holds nothing, and is taken over. An empty folder that
        was there keeps its mode: its files are their owner's alone.

        Raises:
            InputError: it cannot be made, holds something already, or a living process writes in it.
        """
        self.path = path
        try:
            if not earlier:
                check_new(path)
            self._new = not path.exists()
            make_private(path)
            if not earlier:
                mark(path, RUN)
            # Opened here and closed in __exit__: the journal lives as long as the run.
            self.journal = Journal(path / JOURNAL, new=not earlier)
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(
                f"the run folder {path} cannot be made ({reason})", field="--out", remedy="Name another folder"
            ) from error
        note(path)
        self._drop_drafts()

    def __enter__(self) -> RunFolder:
        """Return the open folder."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the journal, once; a run that ended before its manifest leaves nothing behind."""
        if self.journal.closed:
            return
        unused = self.journal.empty and not (self.path / MANIFEST).exists()
        if unused:
            for name in (JOURNAL, PLACES, MARKER):
                (self.path / name).unlink(missing_ok=True)
        self.journal.close()
        if unused and self._new:
            with suppress(OSError):
                self.path.rmdir()

    def earlier(self) -> Journalled:
        """Return what the journal of a killed or interrupted run says, a torn last line cut off, half files removed.

        Rows of results that are not in the journal go: those results are made again.
        """
        found = journal.read(self.path / JOURNAL)
        if found.torn:
            self.journal.drop_torn(found.size)
        kept = {_rows_name(case_id, trial) for case_id, trial in found.kept}
        for path in (self.path / RELATIONS).glob("*.jsonl.gz"):
            if f"{RELATIONS}/{path.name}" not in kept:
                path.unlink()
        told = {differences_name(case_id, trial) for case_id, trial in found.kept}
        for path in (self.path / DIFFERENCES).glob("*.csv"):
            if f"{DIFFERENCES}/{path.name}" not in told:
                path.unlink()
        return found

    def write_manifest(self, manifest: Manifest, places: Places | None = None) -> None:
        """Write manifest.json before the first case, and beside it where a resumed run finds what it needs."""
        if places is not None:
            self._write(PLACES, places.model_dump_json(indent=2) + "\n")
        self._write(MANIFEST, json.dumps(manifest.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n")

    def list_left_out(self, lines: Sequence[str]) -> None:
        """Write which rows of the data set are no cases, one a line, where there are more than the reports name."""
        if len(lines) > SHOWN:
            self._write(FILE, "".join(f"{line}\n" for line in lines))

    def append(self, result: CaseResult, timing: Timing) -> None:
        """Append one finished result to the journal and force it to disk."""
        self.journal.add(result, timing)

    def store_relations(self, result: CaseResult, sides: Iterable[Side]) -> None:
        """Write what one result's verdict was found from, one JSON line a side."""
        head = {"format": 1, "case_id": result.case_id, "trial": result.trial}
        lines = [line({**head, **side_to_json(side)}) for side in sides]
        if lines:
            self._write_rows(_rows_name(*result.key), gzip.compress("".join(lines).encode(), mtime=0))

    def store_differences(self, result: CaseResult, text: str) -> None:
        """Write every differing cell of one result as CSV."""
        self._write_rows(differences_name(*result.key), text.encode("utf-8", "backslashreplace"))

    def finish(self, results: Iterable[CaseResult], timings: Iterable[Timing]) -> None:
        """Write results.jsonl (case order, no clocks) and timings.jsonl."""
        self._write_lines(RESULTS, results)
        self._write_lines(TIMINGS, timings)

    def end(self, exit_code: int, verdict_line: str) -> None:
        """Say that the run is finished; where it was found is not needed any more, and names this machine's folders."""
        self.journal.end(exit_code, verdict_line)
        (self.path / PLACES).unlink(missing_ok=True)

    def _drop_drafts(self) -> None:
        """Remove files that a killed process was still writing."""
        for name in _DRAFTED:
            (self.path / (name + _DRAFT)).unlink(missing_ok=True)

    def _write(self, name: str, text: str) -> None:
        """Write one text file whole, on disk when it is there: not even a power cut leaves half of it."""
        self._write_bytes(name, (text.encode(),), durable=True)

    def _write_lines(self, name: str, records: Iterable[BaseModel]) -> None:
        """Write a line a record as they come, as durable."""
        self._write_bytes(name, (line(one.model_dump(mode="json")).encode() for one in records), durable=True)

    def _write_rows(self, name: str, content: bytes) -> None:
        """Write the rows of one result in as few system calls as can be: each lets the workers in and waits for them.

        A kill may leave half of it; the result is not in the journal then, and whoever goes on removes it.
        """
        path = self.path / name
        try:
            try:
                descriptor = os.open(path, _NEW, 0o600)
            except FileNotFoundError:
                path.parent.mkdir(mode=0o700, exist_ok=True)  # another worker may be first
                descriptor = os.open(path, _NEW, 0o600)
            try:
                while content:
                    content = content[os.write(descriptor, content) :]
            finally:
                os.close(descriptor)
        except OSError as error:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            raise unwritable(path, error, self.path) from error

    def _write_bytes(self, name: str, content: Iterable[bytes], *, durable: bool = False) -> None:
        """Write one file through a scratch name, so that no half file is ever seen."""
        path = self.path / name
        scratch = path.with_name(path.name + _DRAFT)
        try:
            with open(scratch, "wb", opener=private) as stream:  # noqa: PTH123 (Path has no opener)
                stream.writelines(content)
                if durable:
                    stream.flush()
                    os.fsync(stream.fileno())
            scratch.replace(path)
        except OSError as error:
            with suppress(OSError):
                scratch.unlink(missing_ok=True)
            raise unwritable(path, error, self.path) from error


def check_new(path: Path) -> None:
    """Refuse a folder for a new run that holds a run, or anything that no run of ours left there.

    Raises:
        InputError: it does; nothing was changed.
    """
    if (path / MANIFEST).exists():
        raise InputError(f"{path} already holds a run", field="--out", remedy=go_on(path))
    check_output(path, RUN)


def read_journal(path: Path) -> tuple[tuple[CaseResult, Timing], ...]:
    """Return every result in a journal's whole lines; a torn last line (a killed run) is dropped."""
    return tuple(journal.read(path).finished.values())


def _rows_name(case_id: str, trial: int) -> str:
    """Return the name of the file with one result's rows."""
    return f"{RELATIONS}/{file_name(case_id)}.{trial}.jsonl.gz"


def differences_name(case_id: str, trial: int) -> str:
    """Return the name of the file with the differing cells of one result."""
    return f"{DIFFERENCES}/{file_name(case_id)}.{trial}.csv"


def file_name(case_id: str) -> str:
    """Return a file name for a case id: itself where it is plain, else cleaned with a digest that keeps it unique."""
    if re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}", case_id):
        return case_id
    clean = re.sub(r"[^A-Za-z0-9_-]+", "_", case_id)[:60]
    return f"{clean}-{hashlib.sha256(case_id.encode()).hexdigest()[:12]}"
