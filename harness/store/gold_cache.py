"""Gold answers kept on the host between runs, keyed by everything they depend on. Predictions never read it."""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Protocol

from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import Relation
from sqlassay.cases.typed_json import relation_from_json, relation_to_json
from sqlassay.harness.store.facts_cache import FactsCache
from sqlassay.harness.store.kept_files import KeptFiles

FORMAT = 4
_REWRITES = "rewrites"
_FACTS = "facts"
_REMEMBERED_CELLS = 100


@dataclass(frozen=True, slots=True)
class GoldKey:
    """Snapshot image, engine version, database, limits and pins, and the text: what names a gold answer."""

    image: str
    engine_version: str
    database: str
    settings: str
    sql: str

    @property
    def digest(self) -> str:
        """Return the sha256 over format version and every part."""
        return hashlib.sha256(json.dumps([FORMAT, *astuple(self)]).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class KeptGold:
    """A gold relation, its probe for hidden order keys, and the seconds it took when it ran."""

    relation: Relation
    probe: Relation | None
    seconds: float


class Answered(Protocol):
    """What can be kept: a gold answer with rows."""

    @property
    def relation(self) -> Relation | None:
        """Return the gold rows."""
        ...

    @property
    def probe(self) -> Relation | None:
        """Return the rows with hidden order keys."""
        ...

    @property
    def seconds(self) -> float:
        """Return the seconds the gold took."""
        ...


class GoldCache:
    """Files under one folder (mode 0700), or memory alone where no folder is given. Safe between processes."""

    def __init__(self, folder: Path | None) -> None:
        """Keep answers in `folder`, or only in memory where it is None."""
        self._folder = folder
        self._memory: dict[str, KeptGold] = {}
        self._files = None if folder is None else KeptFiles(folder, ".gz", what="gold")
        self.facts = FactsCache(None if folder is None else folder / _FACTS)

    @property
    def rewrites(self) -> Path | None:
        """Return the folder where rewritten gold is kept beside the answers."""
        return None if self._folder is None else self._folder / _REWRITES

    def read(self, key: GoldKey) -> KeptGold | None:
        """Return the kept answer, None where there is none or its file is damaged (it is then written anew)."""
        kept = self._memory.get(key.digest)
        if kept is not None or self._files is None:
            return kept
        content = self._files.read(key.digest)
        if content is None:
            return None
        try:
            value = json.loads(gzip.decompress(content))
            probe = value["probe"]
            kept = KeptGold(
                relation=relation_from_json(value["relation"]),
                probe=None if probe is None else relation_from_json(probe),
                seconds=float(value["seconds"]),
            )
        except (OSError, EOFError, ValueError, KeyError, TypeError, InputError) as error:
            self._files.damaged(key.digest, error)
            return None
        self._remember(key, kept)
        return kept

    def write(self, key: GoldKey, answer: Answered) -> None:
        """Keep an answer; a folder that cannot be written costs speed, not the run."""
        if answer.relation is None:
            return
        self._remember(key, KeptGold(answer.relation, answer.probe, answer.seconds))
        if self._files is None:
            return
        value = {
            "relation": relation_to_json(answer.relation),
            "probe": None if answer.probe is None else relation_to_json(answer.probe),
            "seconds": answer.seconds,
        }
        self._files.write(key.digest, gzip.compress(json.dumps(value).encode(), mtime=0))

    def _remember(self, key: GoldKey, kept: KeptGold) -> None:
        """Keep a small answer in memory for other cases that have the same gold; a large one would stay for the run."""
        rows, columns = kept.relation.shape
        if rows * columns <= _REMEMBERED_CELLS:
            self._memory[key.digest] = kept
