"""Records of IBM's text2sql-eval-toolkit: BIRD's fields, a list of accepted SQL, and predictions by pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlassay.cases.case import Prediction
from sqlassay.cases.formats.databases import find_one, named_folders
from sqlassay.cases.formats.foreign import DataSet, ForeignRow, alternatives, pack_of, text_of
from sqlassay.cases.formats.json_rows import first_object, object_rows
from sqlassay.cases.pack import Pack

FOLDERS = ("database", "databases", "dev_databases", "test_database", "benchmarks")
_DIALECTS = ("sqlite", "postgres", "mysql")


class ToolkitFormat:
    """Reads `*-predictions.json` and the benchmark files they grow from."""

    name = "text2sql-eval-toolkit"
    fallback = -1  # its rows have BIRD's or Spider's fields too, so those would take them

    def detect(self, path: Path) -> bool:
        """Return True for a JSON list whose rows have db_id and predictions by pipeline, or a list of accepted SQL."""
        row = first_object(path)
        accepted = isinstance(row.get("sql"), list) and all(isinstance(text, str) for text in row["sql"])
        return "db_id" in row and (isinstance(row.get("predictions"), dict) or accepted)

    def load(self, path: Path) -> Pack:
        """Return the pack; the one pipeline's predictions come with it, of several one is named by `FILE#PIPELINE`.

        Raises:
            InputError: malformed JSON, or no database beside it.
        """
        raw = object_rows(path)
        dialect = next((word for word in _DIALECTS if word in path.stem.lower()), "sqlite")
        rows = tuple(_row(number, one, dialect) for number, (_, one) in enumerate(raw))
        pipelines = pipelines_of([one for _, one in raw])
        if len(pipelines) == 1:
            answers = (answer_of(one, number, pipelines[0]) for number, (_, one) in enumerate(raw))
            rows = tuple(
                replace(row, predictions=(answer,) if answer else ()) for row, answer in zip(rows, answers, strict=True)
            )
        parents = path.absolute().parents[:4]
        # Each benchmark's databases are in a folder of its own: benchmarks/dbs/spider/database/DB/DB.sqlite.
        kept = [
            folder for up in parents for place in ("dbs", "benchmarks/dbs") for folder in sorted(up.glob(f"{place}/*"))
        ]
        roots = tuple(folder for parent in (*parents, *kept) for folder in named_folders(parent, FOLDERS))
        find = partial(find_one, (*roots, path.parent))
        return pack_of(
            DataSet(
                path.stem,
                path,
                self.name,
                rows,
                find,
                FOLDERS,
                (path,),
                predictions=path if len(pipelines) > 1 else None,
            ),
        )


def pipelines_of(records: Sequence[dict[str, Any] | None]) -> tuple[str, ...]:
    """Return every pipeline that predicted something, in the order they first appear."""
    maps = (record.get("predictions") for record in records if record)
    return tuple(dict.fromkeys(name for found in maps if isinstance(found, dict) for name in found))


def answer_of(record: dict[str, Any] | None, number: int, pipeline: str) -> Prediction | None:
    """Return one pipeline's prediction of a record, None where it did not answer it."""
    answers = record.get("predictions") if record else None
    answer = answers.get(pipeline) if isinstance(answers, dict) else None
    if record is None or not isinstance(answer, dict):
        return None
    sql = answer.get("predicted_sql")
    text = sql if isinstance(sql, str) and sql.strip() else None
    return Prediction(case_id=record_id(record, number), sql=text, tokens=_tokens(answer))


def _tokens(answer: dict[str, Any]) -> int | None:
    """Return how many tokens an answer took, where it says so."""
    usage = answer.get("token_usage")
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    return total if isinstance(total, int) and 0 <= total <= 10**15 and not isinstance(total, bool) else None


def record_id(record: dict[str, Any], number: int) -> str:
    """Return a record's id: its own, its question_id, or its number."""
    return text_of(record.get("id")) or text_of(record.get("question_id")) or str(number)


def _row(number: int, raw: dict[str, Any] | None, dialect: str) -> ForeignRow:
    """Return one record in our words."""
    if raw is None:
        return ForeignRow(str(number), "", reason="it is no object")
    gold = alternatives(raw.get("sql")) or alternatives(raw.get("SQL"))
    asked = (text_of(raw.get(field)) for field in ("question", "utterance", "page_content"))
    return ForeignRow(
        record_id(raw, number),
        text_of(raw.get("db_id")),
        question=next((text for text in asked if text), ""),
        gold={dialect: gold} if gold else {},
        evidence=text_of(raw.get("evidence")) or None,
        difficulty=text_of(raw.get("difficulty")) or None,
    )
