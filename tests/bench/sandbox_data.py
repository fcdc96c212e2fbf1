"""What sandboxes are measured on: a pack of twenty tables with 100,000 rows, and cases made to a number and a kind."""

from __future__ import annotations

import json
from pathlib import Path

TABLES = 20
ROWS = 5_000
MODULI = (100, 40, 20, 10, 5)
"""Columns `k100` … `k5` hold the row's number modulo that: the smaller, the more rows a join of two tables makes."""

_COLUMNS = "".join(f"      - {{name: k{modulus}, kind: int}}\n" for modulus in MODULI)
_TABLE = f"""\
  - name: {{name}}
    columns:
      - {{{{name: id, kind: int, nullable: false}}}}
      - {{{{name: name, kind: text, length: 100}}}}
      - {{{{name: amount, kind: decimal, precision: 10, scale: 2}}}}
{_COLUMNS.replace("{", "{{").replace("}", "}}")}    primary_key: [id]
"""
_PACK = """\
format: 1
name: bench
snapshots:
  bench:
    schema: schema.yaml
    data: data
cases: [cases.jsonl]
predictions: predictions.jsonl
"""
_SHORT = 50
"""Distinct short questions: their gold answers are kept after the first run."""


def table(number: int) -> str:
    """Return a table's name."""
    return f"t{number % TABLES:02d}"


def write_data(folder: Path) -> None:
    """Write schema and rows."""
    data = folder / "data"
    data.mkdir(parents=True)
    names = [table(number) for number in range(TABLES)]
    schema = "format: 1\ntables:\n" + "".join(_TABLE.format(name=name) for name in names)
    (folder / "schema.yaml").write_text(schema, encoding="utf-8")
    (folder / "pack.yaml").write_text(_PACK, encoding="utf-8")
    head = ",".join(("id", "name", "amount", *(f"k{modulus}" for modulus in MODULI)))
    for number, name in enumerate(names):
        rows = (
            ",".join(
                (str(row), f"name {row * 7919 % 10007}", f"{row * 31 % 9973}.{row % 100:02d}", *_keys(row + number))
            )
            for row in range(ROWS)
        )
        (data / f"{name}.csv").write_text("\n".join((head, *rows)) + "\n", encoding="utf-8")


def _keys(row: int) -> list[str]:
    """Return a row's cells in the columns that tables are joined by."""
    return [str(row % modulus) for modulus in MODULI]


def short(number: int, extra: str = "") -> tuple[str, str]:
    """Return a question that takes an engine no time, and another text that means the same."""
    name, row = table(number), number % _SHORT
    gold = f"SELECT id, name, amount FROM {name} WHERE id = {row}"  # noqa: S608 - our own names
    return gold, f"SELECT x.id, x.name, x.amount FROM {name} AS x WHERE x.id = {row}{extra}"  # noqa: S608


def slow(number: int, modulus: int) -> tuple[str, str]:
    """Return a question whose join makes many rows, and another text that means the same."""
    one, other, key = table(number), table(number + 1), f"k{modulus}"
    gold = f"SELECT sum(a.id + b.id) AS s FROM {one} a JOIN {other} b ON a.{key} = b.{key}"  # noqa: S608
    return gold, f"SELECT sum(b.id + a.id) AS s FROM {one} AS a JOIN {other} AS b ON a.{key} = b.{key}"  # noqa: S608


def write_cases(folder: Path, pairs: list[tuple[str, str]]) -> None:
    """Write one case and one prediction a pair of texts, for every engine."""
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as cases:
        for number, (gold, _) in enumerate(pairs):
            golds = dict.fromkeys(("postgres", "mysql", "sqlite"), gold)
            cases.write(json.dumps({"id": f"c{number:05d}", "question": f"Question {number}?", "gold": golds}) + "\n")
    with (folder / "predictions.jsonl").open("w", encoding="utf-8") as predictions:
        for number, (_, predicted) in enumerate(pairs):
            predictions.write(json.dumps({"case_id": f"c{number:05d}", "sql": predicted}) + "\n")
