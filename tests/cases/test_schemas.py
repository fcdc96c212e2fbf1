"""The JSON Schemas are those of the readers, and the packs that come with the package satisfy them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from sqlassay.cases.schemas.generate import FOLDER, rendered, schemas

DEMO = Path(__file__).parents[2] / "cases" / "packs" / "demo"


def test_no_schema_is_stale() -> None:
    """Every file equals what the models give now; `python -m sqlassay.cases.schemas.generate` renews them."""
    assert {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")} == rendered()


@pytest.mark.parametrize("name", sorted(schemas()))
def test_every_schema_is_one(name: str) -> None:
    """Each is a valid JSON Schema of its draft."""
    jsonschema.Draft202012Validator.check_schema(schemas()[name])


def _valid(name: str, value: Any) -> bool:
    """Return True where a value satisfies a schema."""
    return bool(jsonschema.Draft202012Validator(schemas()[name]).is_valid(value))


def test_the_demo_satisfies_the_schemas() -> None:
    """Header, schema, cases and predictions are valid; a slip is not."""
    header = yaml.safe_load((DEMO / "pack.yaml").read_text())
    assert _valid("pack.json", header) is True
    assert _valid("pack.json", {**header, "colour": "red"}) is False
    assert _valid("schema.json", yaml.safe_load((DEMO / "schema.yaml").read_text())) is True
    for line in (DEMO / "cases.jsonl").read_text().splitlines():
        assert _valid("case.json", json.loads(line)) is True
    for line in (DEMO / "predictions.jsonl").read_text().splitlines():
        assert _valid("prediction.json", json.loads(line)) is True
    assert _valid("case.json", {"id": "a", "question": "q", "gold": {"sqlite": 5}}) is False
