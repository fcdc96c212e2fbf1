"""What the parser said of gold texts, kept on the host between runs beside their answers. Predictions never read it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from sqlassay.harness.store.kept_files import KeptFiles


class FactsCache:
    """One file a text under one folder; nothing is kept where no folder is given. Safe between processes."""

    def __init__(self, folder: Path | None) -> None:
        """Keep facts in `folder`, or not at all where it is None."""
        # A folder that takes no facts takes no answers either, which say so.
        self._files = None if folder is None else KeptFiles(folder, ".facts", what="facts of gold", told=True)

    def of(self, *database: str) -> KeptFacts:
        """Return what is kept of texts against the database that these words name."""
        return KeptFacts(self._files, database)


class KeptFacts:
    """The facts of one database's texts, by all that the parser was asked."""

    def __init__(self, files: KeptFiles | None, database: tuple[str, ...]) -> None:
        """Remember where, and for which database."""
        self._files = files
        self._database = database

    def read(self, request: str) -> dict[str, Any] | None:
        """Return the facts kept for a request, None where there are none or their file is damaged."""
        if self._files is None:
            return None
        digest = self._digest(request)
        content = self._files.read(digest)
        if content is None:
            return None
        try:
            facts = json.loads(content)
        except ValueError as error:
            self._files.damaged(digest, error)
            return None
        return facts if isinstance(facts, dict) else None

    def write(self, request: str, facts: dict[str, Any]) -> None:
        """Keep the facts of a request."""
        if self._files is not None:
            self._files.write(self._digest(request), json.dumps(facts).encode())

    def _digest(self, request: str) -> str:
        """Return what a file is named by: the database and the request."""
        return hashlib.sha256(json.dumps([*self._database, request]).encode()).hexdigest()
