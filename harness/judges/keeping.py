"""Answers that outlive a question: in the cache folder for the next run, in a replay file for a run without a key."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.reading import json_lines
from sqlassay.harness.judges.contract import Answered
from sqlassay.harness.store.output import note

FORMAT = 1


class Keeper(Protocol):
    """Somewhere answers are kept."""

    def find(self, identity: str | None, question: str) -> Answered | None:
        """Return what was kept of one question, None where nothing was."""
        ...

    def keep(self, identity: str | None, answered: Answered) -> None:
        """Keep an answer."""
        ...


class Cache:
    """One file an answer, named by a digest of judge and question; a file that cannot be read is as good as none."""

    def __init__(self, folder: Path) -> None:
        """Name the folder; it is made when the first answer is kept."""
        self._folder = folder

    def find(self, identity: str | None, question: str) -> Answered | None:
        """Return a kept answer; damage is no answer, and the question is asked again."""
        if identity is None:
            return None
        try:
            found = Answered.model_validate_json(self._path(identity, question).read_bytes())
        except (OSError, ValidationError):
            return None
        return found if found.format == FORMAT and found.question == question and not found.reason else None

    def keep(self, identity: str | None, answered: Answered) -> None:
        """Keep an answer that was valid; a full disk costs the next run a question, not this one its answer."""
        if identity is None or answered.reason:
            return
        path = self._path(identity, answered.question)
        draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
        with suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(answered.model_dump_json() + "\n")
            draft.replace(path)

    def _path(self, identity: str, question: str) -> Path:
        """Return the file of one judge's answer to one question."""
        name = hashlib.sha256(json.dumps([FORMAT, identity, question]).encode()).hexdigest()
        return self._folder / name[:2] / f"{name}.json"


class Recorder:
    """Appends each answer once to a replay file, unavailable ones with their reason."""

    def __init__(self, path: Path) -> None:
        """Make the file, or go on where an earlier run recorded into it.

        Raises:
            InputError: the file is there and is no replay file.
            InfrastructureError: it cannot be written.
        """
        self._path = path
        # Guards that a line is whole and written once.
        self._lock = threading.Lock()
        self._written = {(line.judge, line.question) for line in read_answers(path)} if path.exists() else set()
        self._append("")
        note(path)

    def record(self, answered: Answered) -> None:
        """Write one answer where it is not written yet.

        Raises:
            InfrastructureError: the disk is full: a file with holes would replay another run.
        """
        with self._lock:
            if (answered.judge, answered.question) not in self._written:
                self._append(answered.model_dump_json() + "\n")
                self._written.add((answered.judge, answered.question))

    def _append(self, text: str) -> None:
        """Write at the end of the file, which is its owner's alone."""
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(text)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> InfrastructureError:
        """Return the error of a file that cannot be written."""
        message = f"'{self._path}' cannot be written ({error.strerror or error})"
        return InfrastructureError(message, remedy="Name another file with --judge-record")


def read_answers(path: Path) -> tuple[Answered, ...]:
    """Return the lines of a replay file.

    Raises:
        InputError: it cannot be read, or a line is no recorded answer of a format known here.
    """
    remedy = "Record it with --judge-record FILE"
    found = []
    for record in json_lines(path):
        try:
            line = Answered.model_validate(record.value)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise InputError(first["msg"], file=path, line=record.line, field=place, remedy=remedy) from error
        if line.format != FORMAT:
            message = f"format {line.format} is not known here"
            raise InputError(message, file=path, line=record.line, field="format", remedy="Record it anew")
        found.append(line)
    return tuple(found)
