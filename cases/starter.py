"""The small pack that `sqlassay init` writes: it runs at once and shows every file a pack has."""

from __future__ import annotations

from pathlib import Path

from sqlassay.cases.errors import InputError
from sqlassay.cases.paths import private

_PACK = """\
# A pack: questions, reference SQL and the data they are asked of. Fields: docs/formats.md
format: 1
name: starter
description: A first pack; replace its data and cases by your own.
snapshots:
  library:
    schema: schema.yaml
    data: data
cases: [cases.jsonl]
predictions: predictions.jsonl
"""
_SCHEMA = """\
format: 1
tables:
  - name: authors
    columns:
      - {name: id, kind: int, nullable: false}
      - {name: name, kind: text, length: 100}
    primary_key: [id]
  - name: books
    columns:
      - {name: id, kind: int, nullable: false}
      - {name: title, kind: text, length: 200}
      - {name: author_id, kind: int}
      - {name: price, kind: decimal, precision: 8, scale: 2}
      - {name: published, kind: date}
    primary_key: [id]
    foreign_keys:
      - {columns: [author_id], table: authors, references: [id]}
"""
_AUTHORS = """\
id,name
1,Ada
2,Émile
3,Grace
"""
_BOOKS = """\
id,title,author_id,price,published
1,First Steps,1,12.50,2021-03-01
2,"Rows, Columns",1,30.00,2023-10-15
3,Sets,2,,2020-01-31
"""
_CASES = """\
{"id": "books-count", "question": "How many books are there?", "gold": {"sqlite": "SELECT COUNT(*) FROM books", \
"postgres": "SELECT COUNT(*) FROM books", "mysql": "SELECT COUNT(*) FROM books"}, "tags": ["easy"]}
{"id": "authors-without-books", "question": "Which authors have no book?", "gold": {\
"sqlite": "SELECT name FROM authors WHERE id NOT IN (SELECT author_id FROM books)", \
"postgres": "SELECT name FROM authors WHERE id NOT IN (SELECT author_id FROM books)", \
"mysql": "SELECT name FROM authors WHERE id NOT IN (SELECT author_id FROM books)"}, "tags": ["join"]}
"""
_PREDICTIONS = """\
{"case_id": "books-count", "sql": "SELECT COUNT(id) FROM books"}
{"case_id": "authors-without-books", "sql": "SELECT a.name FROM authors a JOIN books b ON b.author_id = a.id"}
"""
_FILES = {
    "pack.yaml": _PACK,
    "schema.yaml": _SCHEMA,
    "data/authors.csv": _AUTHORS,
    "data/books.csv": _BOOKS,
    "cases.jsonl": _CASES,
    "predictions.jsonl": _PREDICTIONS,
}


def write_starter(folder: Path) -> list[Path]:
    """Write the starter pack into `folder`, made where missing, and return the files written.

    Raises:
        InputError: a file would be overwritten, or the folder cannot be written.
    """
    present = [name for name in _FILES if (folder / name).exists() or (folder / name).is_symlink()]
    if present:
        remedy = "Name a new or empty folder; nothing was written"
        raise InputError(f"{', '.join(present)} exists already", file=folder, remedy=remedy)
    written = []
    for name, text in _FILES.items():
        path = folder / name
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(path, "x", encoding="utf-8", newline="\n", opener=private) as stream:  # noqa: PTH123
                stream.write(text)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=path, remedy="Name another folder") from None
        written.append(path)
    return written
