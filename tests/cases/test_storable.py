"""What no file could hold again, half characters and endless numbers, is refused where it enters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.predictions import read_predictions
from sqlassay.cases.reading import parse_json
from sqlassay.cases.starter import write_starter
from sqlassay.cases.storable import half_escape
from sqlassay.cases.yaml_reading import read_yaml

HALVES = [
    (r'"\ud800"', 1),
    (r'"\udc00"', 1),
    (r'"\ud800\ud800\udc00"', 1),
    (r'"\uD83D\n\uDE00"', 1),
    (r'"\\\ud800"', 3),
    (r'"\ude00\ud83d"', 1),
    (r'"\ud83d\ude00"', None),
    (r'"\\ud800"', None),
    (r'"\u00e9 \\"', None),
]


@pytest.mark.parametrize(("text", "offset"), HALVES)
def test_half_character_is_found_where_json_would_make_one(text: str, offset: int | None) -> None:
    """A surrogate without its other half is found, one with it and an escaped backslash are not."""
    assert half_escape(text) == offset
    decoded = json.loads(text)
    assert any("\ud800" <= one <= "\udfff" for one in decoded) is (offset is not None)


@pytest.mark.parametrize("field", ["sql", "answer", "route", "raw", "case_id", "metadata"])
def test_half_character_in_a_prediction_names_file_line_and_field(tmp_path: Path, field: str) -> None:
    """The second line's field is named, however deep the text lies."""
    bad = {"a": ["x\ud800"]} if field == "metadata" else "x\ud800"
    lines = [{"case_id": "a", "sql": "SELECT 1"}, {"case_id": "b", "sql": "SELECT 1", field: bad}]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "p.json").write_text(json.dumps(lines, indent=1))
    place = "metadata.a.0" if field == "metadata" else field
    with pytest.raises(InputError, match=rf"p\.jsonl:2:{place}: holds half a character"):
        read_predictions(tmp_path / "p.jsonl")
    with pytest.raises(InputError, match=rf"p\.json:\d+:1\.{place}: holds half a character"):
        read_predictions(tmp_path / "p.json")


@pytest.mark.parametrize("field", ["question", "gold", "evidence", "tags"])
def test_half_character_in_a_case_names_file_line_and_field(tmp_path: Path, field: str) -> None:
    """A pack with such a case is not loaded."""
    write_starter(tmp_path / "p")
    bad = {"gold": {"sqlite": "SELECT '\ud800'"}, "tags": ["\ud800"]}.get(field, "\ud800")
    case = {"id": "a", "question": "q", "gold": {"sqlite": "SELECT 1"}, field: bad}
    (tmp_path / "p" / "cases.jsonl").write_text("\n" + json.dumps(case) + "\n")
    with pytest.raises(InputError, match=rf"cases\.jsonl:2:{field}[^ ]*: holds half a character"):
        load_pack(tmp_path / "p")


def test_half_character_in_yaml_names_file_line_and_field(tmp_path: Path) -> None:
    """YAML joins no halves: even two make no character."""
    (tmp_path / "run.yaml").write_text('jobs: 1\ntags: ["\\ud83d\\ude00"]\n')
    with pytest.raises(InputError, match=r"run\.yaml:2:tags\.0: holds half a character"):
        read_yaml(tmp_path / "run.yaml")
    (tmp_path / "key.yaml").write_text('a: 1\n"\\ud800": 1\n')
    with pytest.raises(InputError, match=r"key\.yaml:2: a key must be plain text"):
        read_yaml(tmp_path / "key.yaml")


@pytest.mark.parametrize(
    "fields",
    [
        {"cost": float("nan")},
        {"cost": float("inf")},
        {"cost": -0.01},
        {"tokens": -3},
        {"tokens": 10**400},
        {"cost": 1e308},
        {"metadata": {"a": [{"b": float("inf")}]}},
        {"steps": ({"seconds": float("nan")},)},
        {"result": {"rows": [[float("-inf")]]}},
        {"sql": "SELECT '\ud800'"},
        {"metadata": {"\ud800": 1}},
    ],
)
def test_what_json_cannot_hold_is_no_prediction(fields: dict[str, object]) -> None:
    """Costs and tokens are finite and not negative, and everything below a field can be written as JSON."""
    with pytest.raises(ValidationError) as caught:
        Prediction.model_validate({"case_id": "a", **fields})
    assert caught.value.errors()[0]["loc"][0] == next(iter(fields))


def test_endless_timeout_of_a_case_is_refused() -> None:
    """A case's own limit is a number of seconds."""
    with pytest.raises(ValidationError, match="timeout"):
        Case.model_validate({"id": "a", "question": "q", "snapshot": "s", "timeout": float("inf")})


def test_endless_number_in_a_prediction_file_names_line_and_field(tmp_path: Path) -> None:
    """1e999 is JSON and yet no finite number."""
    (tmp_path / "p.jsonl").write_text('{"case_id": "a", "cost": 1e999}\n{"case_id": "b", "metadata": {"x": 1e999}}\n')
    with pytest.raises(InputError) as caught:
        read_predictions(tmp_path / "p.jsonl")
    assert "p.jsonl:1:cost" in str(caught.value)
    assert "p.jsonl:2:metadata" in str(caught.value)


def test_deep_value_is_looked_through() -> None:
    """Depth costs no frames: what the parser took is looked at whole."""
    assert parse_json("[" * 500 + r'"\ud83d\ude00"' + "]" * 500, Path("x")) is not None
