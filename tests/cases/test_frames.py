"""What people hold already becomes a relation: files, frames, Arrow tables and records, with types and NULLs kept."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

import sqlassay
from sqlassay.cases.errors import InputError
from sqlassay.cases.frames import relation_of
from sqlassay.cases.relation import Column, FarTemporal, Json, Kind, Relation

NANOSECONDS = "2026-01-31 12:00:00.123456789"
MOMENT = datetime(2026, 1, 31, 12, 0, 0, 123456)


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1", "-2", ""], [1, -2, None]),
        (["1.50", "2"], [Decimal("1.50"), Decimal(2)]),
        (["0.1", "0.30000000000000004"], [0.1, 0.30000000000000004]),
        (["1e3", "2"], [1000.0, 2.0]),
        (["007", "8"], ["007", "8"]),
        (["1", "x"], ["1", "x"]),
        (["true", "False"], [True, False]),
        (["2026-01-31", ""], [date(2026, 1, 31), None]),
        (["2026-13-01", "2026-01-01"], ["2026-13-01", "2026-01-01"]),
        (
            ["2026-01-31 12:00:00", "2026-01-31T12:00:00.5"],
            [datetime(2026, 1, 31, 12), datetime(2026, 1, 31, 12, 0, 0, 500000)],
        ),
        (["2026-01-31 12:00:00+02", ""], [datetime(2026, 1, 31, 10, tzinfo=UTC), None]),
        (["-", "+"], ["-", "+"]),
        (["", ""], [None, None]),
        (['""', "x", ""], ["", "x", None]),
        (['""', "1", ""], [None, 1, None]),
        (['""', "2026-01-31"], [None, date(2026, 1, 31)]),
        (['""', '""'], ["", ""]),
        (['"a"""', '""', '"b,"""""'], ['a"', "", 'b,""']),
    ],
)
def test_a_column_of_csv_is_what_all_of_its_cells_spell(tmp_path: Path, cells: list[str], values: list[object]) -> None:
    """One other spelling, and the column is text; an empty cell is NULL, in quotes an empty text among texts."""
    (tmp_path / "r.csv").write_text("id,n\n" + "".join(f"{place},{cell}\n" for place, cell in enumerate(cells)))
    found = relation_of(tmp_path / "r.csv")
    assert [row[1] for row in found.rows] == values
    assert [type(row[1]) for row in found.rows] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("n\n1\n\n2\n", [(1,), (None,), (2,)]),
        ('n\n1\n""\n', [(1,), (None,)]),
        ("a,b\n,\n1,2\n\n,\n", [(None, None), (1, 2), (None, None)]),
        ("a,b\n", []),
        ("a,b\n ,x\n", [(" ", "x")]),
    ],
)
def test_no_row_of_a_result_is_lost(tmp_path: Path, text: str, rows: list[tuple[object, ...]]) -> None:
    """A row of NULLs counts; a blank line is one in a table of one column, and blank text is text."""
    (tmp_path / "r.csv").write_text(text)
    assert list(relation_of(tmp_path / "r.csv").rows) == rows


def test_exact_decimals_of_csv_stay_exact(tmp_path: Path) -> None:
    """A cent is no rounding error; a float's last digit is one."""
    for name, cell in (("a", "12345678.90"), ("b", "12345678.91"), ("c", "0.3"), ("d", "0.30000000000000004")):
        (tmp_path / f"{name}.csv").write_text(f"n\n{cell}\n")
    assert sqlassay.compare(tmp_path / "a.csv", tmp_path / "b.csv").verdict == "mismatch"
    assert sqlassay.compare(tmp_path / "c.csv", tmp_path / "d.csv", sqlassay.preset("skill")).verdict == "match"


def test_json_files(tmp_path: Path) -> None:
    """Records, a relation in typed JSON and a frame as pandas splits it are one and the same."""
    file = tmp_path / "r.json"
    wanted = ((1, "x"), (2, None))
    for value in (
        [{"a": 1, "b": "x"}, {"a": 2, "b": None}],
        {"columns": [{"name": "a", "kind": "int"}, {"name": "b"}], "rows": [[1, "x"], [2, None]]},
        {"columns": ["a", "b"], "index": [0, 1], "data": [[1, "x"], [2, None]]},
    ):
        file.write_text(json.dumps(value))
        assert relation_of(file).rows == wanted
    file.write_text(json.dumps({"columns": ["a", "b"], "data": [[1]]}))
    with pytest.raises(InputError, match=r"r.json:data: rows have not 2 cells each"):
        relation_of(file)


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    """Decimals, documents, lists and moments come back as they are; nanoseconds are kept as text."""
    duckdb = pytest.importorskip("duckdb", reason="the extra `duckdb` is not installed")
    file = tmp_path / "r.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT 1 AS n, 1.50::DECIMAL(5, 2) AS d, {{'a': 1}} AS s, [1, NULL] AS l, NULL::TEXT AS e,"
            f" TIMESTAMP '{MOMENT}' AS t, TIMESTAMP_NS '{NANOSECONDS}' AS f, TIMESTAMP_NS '{MOMENT}' AS w)"
            f" TO '{file}' (FORMAT parquet)"
        )
    found = relation_of(str(file))
    assert found.rows == (
        (1, Decimal("1.50"), Json('{"a": 1}'), (1, None), None, MOMENT, FarTemporal(NANOSECONDS), MOMENT),
    )
    assert [column.name for column in found.columns] == ["n", "d", "s", "l", "e", "t", "f", "w"]
    (tmp_path / "no.parquet").write_text("no")
    with pytest.raises(InputError, match="no Parquet file"):
        relation_of(tmp_path / "no.parquet")


def test_records_and_what_is_none() -> None:
    """A key that a row lacks is NULL; a value of a strange type, and what is no result, are refused."""
    assert relation_of([{"a": 1}, {"b": timedelta(days=1)}]) == Relation(
        (Column("a"), Column("b")), ((1, None), (None, timedelta(days=1)))
    )
    assert relation_of([]) == Relation((), ())
    with pytest.raises(InputError, match="a cell of type object cannot be compared"):
        relation_of([{"a": object()}])
    with pytest.raises(InputError, match="no relation is made of a int"):
        relation_of(7)
    with pytest.raises(InputError, match="no file of results"):
        relation_of("r.doc")


def test_pandas_frames() -> None:
    """NaN and NaT are NULL, an index with a name is a column, and nanoseconds are kept."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    moments = pandas.to_datetime([NANOSECONDS, None, str(MOMENT)], format="ISO8601")
    frame = pandas.DataFrame({"n": [1, None, 3], "t": moments, "l": [[1, 2], None, {"k": 1}]})
    found = relation_of(frame)
    assert found.rows == (
        (1.0, FarTemporal(NANOSECONDS), (1, 2)),
        (None, None, None),
        (3.0, MOMENT, Json('{"k": 1}')),
    )
    assert [column.kind for column in found.columns][:2] == [Kind.FLOAT64, Kind.TIMESTAMP]
    counted = frame.assign(g=["a", "a", "b"]).groupby("g")[["n"]].sum()
    assert relation_of(counted).rows == (("a", 1.0), ("b", 3.0))


def test_arrow_tables_and_polars_frames() -> None:
    """Both keep decimals, documents and zones; nanoseconds are kept as text."""
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    value = 1769860800123456789
    table = arrow.table(
        {
            "d": arrow.array([Decimal("1.50"), None]),
            "s": arrow.array([{"k": 1}, None]),
            "t": arrow.array([value, value // 1000 * 1000], arrow.timestamp("ns")),
            "z": arrow.array([value // 1000 * 1000, None], arrow.timestamp("ns", tz="Europe/Berlin")),
        }
    )
    wanted = (
        (Decimal("1.50"), Json('{"k": 1}'), FarTemporal(NANOSECONDS), MOMENT.replace(tzinfo=UTC)),
        (None, None, MOMENT, None),
    )
    assert relation_of(table).rows == wanted
    assert relation_of(table.to_batches()[0]).rows == wanted
    polars = pytest.importorskip("polars", reason="polars is not installed")
    assert relation_of(polars.from_arrow(table)).rows == wanted


def test_the_library_compares_what_it_is_given() -> None:
    """Records against a relation, as against each other."""
    gold = Relation((Column("n"),), ((1,), (2,)))
    assert sqlassay.compare(gold, [{"n": 2}, {"n": 1}]).verdict == "match"
    assert sqlassay.compare([{"n": 1}], gold).verdict == "mismatch"
    assert sqlassay.relation([{"n": 1}]).columns == (Column("n"),)
