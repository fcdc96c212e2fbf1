"""What the parser said of gold is kept by all it depends on, and a kept reading is the reading."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from sqlassay.cases.catalog import Catalog, CatalogColumn, CatalogTable
from sqlassay.cases.relation import Kind
from sqlassay.harness.parse import parser as parsing
from sqlassay.harness.parse.parser import Parser
from sqlassay.harness.store import kept_files
from sqlassay.harness.store.facts_cache import FactsCache
from sqlassay.harness.store.kept_files import KeptFiles

SQL = "SELECT x.id, x.name FROM t AS x WHERE x.id = 7 ORDER BY x.name LIMIT 3"


def _catalog(*columns: str) -> Catalog:
    """Return a catalogue of one table."""
    table = CatalogTable(
        name="t", columns=tuple(CatalogColumn(name=name, kind=Kind.TEXT, declared="text") for name in columns)
    )
    return Catalog(dialect="postgres", snapshot="s", database="db", engine_version="17", tables=(table,))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the texts that a worker was asked about."""
    texts: list[str] = []
    ask = Parser._ask

    def listen(self, request, catalog, spellings):
        texts.append(request["sql"])
        return ask(self, request, catalog, spellings)

    monkeypatch.setattr(Parser, "_ask", listen)
    return texts


def test_a_kept_reading_is_the_reading_of_the_worker(tmp_path: Path, asked: list[str]) -> None:
    """Another parser, of another run, is told the same without asking its worker."""
    for folder in (tmp_path, None):
        said = []
        for _ in range(2):
            with Parser() as parser:
                kept = FactsCache(folder).of("image", "db")
                catalog = _catalog("id", "name")
                said.append(parser.parse(SQL, "postgres", catalog, sqlglot_dialect="postgres", readings=kept))
        assert said[0] == said[1]
        assert (said[0].error, said[0].order is not None, said[0].blocks != ()) == (None, True, True)
    assert asked == [SQL, SQL, SQL]


@pytest.mark.parametrize(
    ("database", "dialect", "scope", "code"),
    [
        (("other", "db"), "postgres", "earlier", None),
        (("image", "other"), "postgres", "earlier", None),
        (("image", "db"), "mysql", "earlier", None),
        (("image", "db"), "postgres", "all", None),
        (("image", "db"), "postgres", "earlier", "other code"),
    ],
)
def test_a_reading_is_kept_by_all_it_depends_on(
    tmp_path: Path,
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
    database: tuple[str, str],
    dialect: str,
    scope: str,
    code: str | None,
) -> None:
    """Another image, database, dialect, scope or version of the code is asked anew."""
    with Parser() as parser:
        cache = FactsCache(tmp_path)
        for _ in range(2):
            parser.parse(SQL, "d", _catalog("id"), sqlglot_dialect="postgres", readings=cache.of("image", "db"))
        assert asked == [SQL]
        if code is not None:
            monkeypatch.setattr(parsing, "_code", lambda: code)
        kept = cache.of(*database)
        parser.parse(SQL, "d", _catalog("id"), sqlglot_dialect=dialect, cte_scope=scope, readings=kept)
    assert asked == [SQL, SQL]


def test_what_is_no_reading_is_not_kept_and_a_damaged_file_is_read_anew(tmp_path: Path, asked: list[str]) -> None:
    """An error may be the moment's; a torn file is written again."""
    with Parser() as parser:
        kept = FactsCache(tmp_path).of("image", "db")
        for _ in range(2):
            assert parser.parse("SELECT FROM WHERE (", "d", sqlglot_dialect="postgres", readings=kept).error
        assert (len(asked), [*tmp_path.rglob("*.facts")]) == (2, [])
        whole = parser.parse(SQL, "d", sqlglot_dialect="postgres", readings=kept)
        (file,) = tmp_path.rglob("*.facts")
        flipped = bytearray(file.read_bytes())
        flipped[flipped.index(b"asc")] ^= 1
        for damage in (b"", b"{", b"[]", bytes(flipped)):
            file.write_bytes(damage)
            assert parser.parse(SQL, "d", sqlglot_dialect="postgres", readings=kept) == whole
            assert json.loads(file.read_bytes().partition(b"\n")[2])["root"] == "select"


def test_a_full_disk_is_told_once_whichever_worker_meets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight threads fail together and one line is logged, however long that takes."""
    said: list[object] = []

    def warn(*line: object) -> None:
        """Log slowly, so that the others fail meanwhile."""
        said.append(line)
        time.sleep(0.2)

    monkeypatch.setattr(kept_files._log, "warning", warn)
    (tmp_path / "drafts").write_text("no folder can be made here")
    files = KeptFiles(tmp_path, ".json", what="facts")
    together = threading.Barrier(8)

    def write(number: int) -> None:
        """Fail with the others."""
        together.wait()
        files.write(f"{number:02d}", b"{}")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) == 1
