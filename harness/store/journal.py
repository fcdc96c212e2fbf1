"""The journal: what a run has finished, one fsynced line each, and the lock that says which process writes it."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from errno import EMFILE, ENFILE
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.paths import private
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.results.case_result import FORMAT, CaseResult, Timing

JOURNAL = "journal.jsonl"

Key = tuple[str, int]


@dataclass(slots=True)
class Journalled:
    """What the whole lines of a journal say; `size` is where the last whole line ends, `torn` what follows it.

    Of a result that stands twice the later line counts: the earlier one was a fault of ours, asked again since.
    """

    finished: dict[Key, tuple[CaseResult, Timing]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    breaches: list[str] = field(default_factory=list)
    end: tuple[int, str] | None = None
    size: int = 0
    torn: int = 0

    @property
    def kept(self) -> dict[Key, tuple[CaseResult, Timing]]:
        """Return what stays when the run is resumed: every result that is no fault of our own."""
        return {key: pair for key, pair in self.finished.items() if not ours(pair[0])}


class Journal:
    """One run's journal, open for appending and locked for as long as this process writes it."""

    def __init__(self, path: Path, *, new: bool) -> None:
        """Open and lock it; a new one must be empty.

        Raises:
            InputError: a living process writes it, or it holds a run already.
            OSError: it cannot be opened.
        """
        self.path = path
        # Unbuffered: what could not be written must not be written at some later moment.
        self._stream = open(path, "ab", buffering=0, opener=private)  # noqa: PTH123, SIM115 (closed in close)
        try:
            self._lock()
            self._refuse_used(new=new)
        except BaseException:  # whatever ends the start must not keep the lock; raised again
            self._stream.close()
            raise

    def _lock(self) -> None:
        """Take the lock, which the kernel frees at the moment this process dies.

        Raises:
            InputError: another process has it.
        """
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            remedy = "Wait for its end, or interrupt it with Ctrl-C and resume it then"
            raise InputError("a run that still lives writes here", file=self.path.parent, remedy=remedy) from None

    def _refuse_used(self, *, new: bool) -> None:
        """Refuse a journal with lines where a new one is wanted.

        Raises:
            InputError: it has some.
        """
        if new and not self.empty:
            folder = self.path.parent
            raise InputError(f"{folder} already holds a run", field="--out", remedy=go_on(folder))

    def drop_torn(self, whole: int) -> None:
        """Cut off what follows the last whole line: a line that was being written when its run was killed.

        Raises:
            InfrastructureError: the file cannot be changed.
        """
        try:
            self._stream.truncate(whole)
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise unwritable(self.path, error) from error

    def add(self, result: CaseResult, timing: Timing) -> None:
        """Append one finished result."""
        self.add_all(((result, timing),))

    def add_all(self, finished: Iterable[tuple[CaseResult, Timing]]) -> None:
        """Append results that finished together: one wait for the disk makes all of them safe."""
        told = ({"result": r.model_dump(mode="json"), "timing": t.model_dump(mode="json")} for r, t in finished)
        self._append(*({**one, "digest": _digest(one)} for one in told))

    def note(self, *, problems: tuple[str, ...] = (), breaches: tuple[str, ...] = ()) -> None:
        """Append what went wrong on our side or got through, so that a killed run does not take it along."""
        if problems or breaches:
            self._append({"note": {"problems": list(problems), "breaches": list(breaches)}})

    def end(self, exit_code: int, verdict_line: str) -> None:
        """Append that everything is written: the run is finished."""
        self._append({"end": {"exit_code": exit_code, "verdict_line": verdict_line}})

    def _append(self, *values: dict[str, Any]) -> None:
        """Append a line a value and force them to disk, or leave the journal as it was.

        Raises:
            InfrastructureError: it could not be written.
        """
        data = "".join(map(line, values)).encode()
        before = self._length()
        try:
            written = 0
            while written < len(data):
                written += self._stream.write(data[written:]) or 0
            os.fsync(self._stream.fileno())
        except OSError as error:
            with suppress(OSError):
                self._stream.truncate(before)
            raise unwritable(self.path, error) from error

    def close(self) -> None:
        """Close it and let go of the lock; idempotent.

        Raises:
            InfrastructureError: the last bytes did not reach the disk.
        """
        try:
            self._stream.close()
        except OSError as error:
            raise unwritable(self.path, error) from error

    @property
    def closed(self) -> bool:
        """Return True once it was closed."""
        return self._stream.closed

    @property
    def empty(self) -> bool:
        """Return True while nothing was written."""
        return self._length() == 0

    def _length(self) -> int:
        """Return how many bytes were written so far."""
        return os.fstat(self._stream.fileno()).st_size


def read(path: Path) -> Journalled:
    """Return what a journal's whole lines say; a torn last line (a killed run) and blank ones at the end are left out.

    A damaged line that held a result is left out and told among the problems: that case is asked again.

    Raises:
        InputError: a line was written by another version of this program.
        InfrastructureError: a damaged line may tell what got through, or a result that was none of our faults stands
            twice.
    """
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1].rstrip()
    found = Journalled(size=len(whole) + 1 if whole else 0)
    found.torn = len(data) - found.size
    for number, text in enumerate(data[: found.size].split(b"\n")[:-1], 1):
        try:
            value = json.loads(text)
            _refuse_other_format(value, path, number)
            _take(value, found)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ValidationError) as error:
            if b"breaches" in text or b'"case_id"' not in text or isinstance(error, _TwiceError):
                message = f"{path}:{number}: damaged journal line"
                remedy = "Look at the line: unless it says that something got through, remove it and resume the run"
                raise InfrastructureError(message, remedy=remedy) from error
            found.problems.append(f"{path.name}:{number}: damaged line left out; the case it held is asked again")
    return found


class _TwiceError(ValueError):
    """A result that was none of our faults stands twice."""


def _refuse_other_format(value: Any, path: Path, number: int) -> None:
    """Refuse a whole line that another version of this program wrote: by its format number, or by its fields.

    Raises:
        InputError: it did.
    """
    result = value.get("result") if isinstance(value, dict) else None
    if not isinstance(result, dict):
        return
    given, more = result.get("format", FORMAT), sorted(set(result) - set(CaseResult.model_fields))
    # A field that is damaged is missing as well as unknown.
    newer = bool(more) and len(set(result)) > len(CaseResult.model_fields)
    if given == FORMAT and not newer:
        return
    found, field = ("unknown field", more[0]) if given == FORMAT else (f"format {given!r} is not known", "format")
    raise InputError(
        f"{found}: this version of sqlassay reads format {FORMAT}",
        file=path,
        line=number,
        field=field,
        remedy="Use the version that wrote it, or start a new run",
    )


def _take(value: Any, found: Journalled) -> None:
    """Add one line's content to what was found.

    Raises: ValueError, KeyError, TypeError, ValidationError where it is no journal line.
    """
    if "note" in value:
        found.problems.extend(str(item) for item in value["note"]["problems"])
        found.breaches.extend(str(item) for item in value["note"]["breaches"])
    elif "end" in value:
        found.end = int(value["end"]["exit_code"]), str(value["end"]["verdict_line"])
    else:
        # Journals of earlier versions have no digest.
        if "digest" in value and value["digest"] != _digest({name: value[name] for name in ("result", "timing")}):
            raise ValueError("the line is not as it was written")
        result, timing = CaseResult.model_validate(value["result"]), Timing.model_validate(value["timing"])
        before = found.finished.get(result.key)
        if before is not None and not ours(before[0]):
            raise _TwiceError(f"{result.key} stands twice")
        found.finished[result.key] = result, timing


def _digest(told: dict[str, Any]) -> str:
    """Return what tells that a line's result was altered since: one field alone may look right and contradict."""
    return hashlib.sha256(line(told).encode()).hexdigest()[:16]


def ours(result: CaseResult) -> bool:
    """Return True where a fault of ours stands for the result: it says nothing about the agent and is asked again."""
    return result.verdict is Verdict.INFRASTRUCTURE


def line(value: Any) -> str:
    """Return one JSON line with keys in the given order, non-ASCII kept; a text that is no Unicode is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False) + "\n"
    return text


def go_on(folder: Path) -> str:
    """Return the remedy of a folder that holds a run."""
    return f"Go on with it by `sqlassay resume {folder}`, or name another folder"


def unwritable(path: Path, error: OSError, folder: Path | None = None) -> InfrastructureError:
    """Name the file that could not be written and why; `folder` is the run's, where the file does not lie in it."""
    way = f"`sqlassay resume {folder or path.parent}`: finished cases are safe in {JOURNAL}"
    remedy = f"Raise `ulimit -n`, then {way}" if error.errno in (EMFILE, ENFILE) else f"Free space, then {way}"
    return InfrastructureError(f"{path} cannot be written ({error.strerror or error})", remedy=remedy)
