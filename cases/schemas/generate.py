"""Generate the JSON Schemas of our input files; `python -m sqlassay.cases.schemas.generate` writes them anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.formats.header import PackHeader
from sqlassay.cases.formats.skill_models import SkillConfig, SkillRow
from sqlassay.cases.pairs import PairModel
from sqlassay.cases.sources.schema import SchemaModel

FOLDER = Path(__file__).parent
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_MODELS: dict[str, type[BaseModel]] = {
    "case": Case,
    "pack": PackHeader,
    "pair": PairModel,
    "prediction": Prediction,
    "schema": SchemaModel,
    "skill_config": SkillConfig,
    "skill_row": SkillRow,
}
_TEXT = {"type": "string"}


def schemas() -> dict[str, dict[str, Any]]:
    """Return every schema by file name, with the shorthands that the readers accept."""
    made = {}
    for name, model in _MODELS.items():
        schema = {"$schema": _DRAFT, **model.model_json_schema(by_alias=True)}
        made[f"{name}.json"] = schema
    _accept_case_shorthands(made["case.json"])
    _accept_pack_shorthands(made["pack.json"])
    _accept_pair_shorthands(made["pair.json"])
    return made


def _accept_case_shorthands(schema: dict[str, Any]) -> None:
    """Let one SQL text stand for a list of one, and the snapshot be left out where only one can be meant."""
    for field in ("gold", "setup_sql", "eval_query", "cleanup_sql"):
        values = schema["properties"][field]
        values["additionalProperties"] = {"anyOf": [_TEXT, values["additionalProperties"]]}
    schema["required"] = [field for field in schema["required"] if field != "snapshot"]


def _accept_pack_shorthands(schema: dict[str, Any]) -> None:
    """Let a policy be a preset's name, and one file stand for a list of one."""
    schema["properties"]["policy"]["anyOf"].append(_TEXT)
    cases = schema["properties"]["cases"]
    schema["properties"]["cases"] = {
        "anyOf": [_TEXT, {key: cases[key] for key in ("type", "items", "minItems")}],
        "description": cases["description"],
        "title": cases["title"],
    }
    scripts = schema["$defs"]["SnapshotModel"]["properties"]["scripts"]
    scripts["additionalProperties"] = {"anyOf": [_TEXT, scripts["additionalProperties"]]}


def _accept_pair_shorthands(schema: dict[str, Any]) -> None:
    """Let a policy be a preset's name, an id be a number, and `predicted` stand for `pred`."""
    schema["properties"]["policy"]["anyOf"].append(_TEXT)
    schema["properties"]["id"] = {"anyOf": [schema["properties"]["id"], {"type": "integer"}]}
    schema["properties"]["predicted"] = schema["properties"]["pred"]
    schema["required"].remove("pred")
    schema["oneOf"] = [{"required": ["pred"]}, {"required": ["predicted"]}]


def rendered() -> dict[str, str]:
    """Return every schema as the text of its file."""
    return {name: json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for name, schema in schemas().items()}


def write(folder: Path = FOLDER) -> None:
    """Write every schema file."""
    for name, text in rendered().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
