"""EvalBench data sets, standard and bird-standard, with their setup directories, or the run config that names both."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from sqlassay.cases.case import Prediction, QueryType
from sqlassay.cases.errors import InputError
from sqlassay.cases.extensions import installed
from sqlassay.cases.formats.databases import Found, find_one, named_folders
from sqlassay.cases.formats.evalbench_config import QUERY_TYPES, RunConfig, dialect_name, read_config, run_config, wrong
from sqlassay.cases.formats.evalbench_setup import setup_scripts
from sqlassay.cases.formats.foreign import DataSet, ForeignRow, Sqls, alternatives, pack_of, tag_list, text_of
from sqlassay.cases.formats.json_rows import first_keys, object_rows
from sqlassay.cases.pack import Pack
from sqlassay.cases.paths import asks

FOLDERS = ("setup", "setup_directory", "databases", "dev_databases", "database")
_YAML = (".yaml", ".yml")


class EvalBenchFormat:
    """Reads an EvalBench data set (JSON) or the YAML run config that names one."""

    name = "evalbench"

    def detect(self, path: Path) -> bool:
        """Return True for a list of EvalBench items, a folder with one such file, or a run config."""
        if path.suffix in _YAML:
            return asks(path.is_file) and b"dataset_config" in path.read_bytes()[:65_536]
        return _dataset_in(path) is not None

    def load(self, path: Path) -> Pack:
        """Return the pack; golds of dialects that have no adapter here are left out and counted.

        Raises:
            InputError: malformed JSON or YAML, a file the config names and that is not there, or no database.
        """
        config = _config(path)
        raw = object_rows(config.dataset)
        known = tuple(installed("sqlassay.dialects"))
        rows = tuple(_with_generated(_row(n, one, config, known), n, one, config) for n, (_, one) in enumerate(raw))
        folder = config.dataset.absolute().parent
        beside = (*named_folders(folder, FOLDERS), *named_folders(folder.parent, FOLDERS), folder)
        own = (config.setup,) if config.setup else ()
        roots = (*own, *config.folders, *beside)
        return pack_of(
            DataSet(
                path.name if path.is_dir() else path.stem,
                path,
                self.name,
                tuple(replace(row, chosen=row.chosen and _chosen(row, config)) for row in rows),
                partial(_find, roots, known),
                FOLDERS[:1],
                (config.dataset, *config.reports),
                notes=(*_filters(rows, config, known), *_skipped([one for _, one in raw], known, config)),
            )
        )


def _dataset_in(path: Path) -> Path | None:
    """Return the data set a path means: the file itself, or the one such file of a folder."""
    files = sorted(path.glob("*.json")) if asks(path.is_dir) else [path]
    found = [file for file in files if _is_dataset(first_keys(file))]
    return found[0] if len(found) == 1 else None


def _is_dataset(keys: frozenset[str]) -> bool:
    """Return True for the keys of an EvalBench item."""
    return "golden_sql" in keys and bool(keys & {"nl_prompt", "question", "query_type", "question_id"})


def _config(path: Path) -> RunConfig:
    """Return what to read: a run config's data, or the data set itself."""
    if path.suffix in _YAML:
        return run_config(read_config(path))
    dataset = _dataset_in(path)
    if dataset is None:
        remedy = "Name the JSON file whose items have id, nl_prompt and golden_sql"
        raise InputError("no EvalBench data set here", file=path, remedy=remedy)
    keys = first_keys(dataset)
    return RunConfig(dataset, bird="nl_prompt" not in keys and bool(keys & {"question_id", "db_id"}))


def _chosen(row: ForeignRow, config: RunConfig) -> bool:
    """Return True where the run config's filters let a row through; a strange row is always told of."""
    if row.reason:
        return True
    typed = not config.query_types or row.query_type in config.query_types
    return typed and (not config.databases or row.database in config.databases)


def _row(number: int, raw: dict[str, Any] | None, config: RunConfig, known: Sequence[str]) -> ForeignRow:
    """Return one item in our words; one that speaks no dialect the config wants is not chosen."""
    if raw is None:
        return ForeignRow(str(number), "", reason="it is no object")
    if config.bird:
        return _bird_row(number, raw, config, known)
    kind = text_of(raw.get("query_type")).lower() or "dql"
    spoken = tuple(dialect_name(word) for word in tag_list(raw.get("dialects")))
    wanted = tuple(word for word in config.dialects if not spoken or word in spoken) if config.dialects else spoken
    if config.dialects and not wanted:
        return ForeignRow(_id(number, raw, config), text_of(raw.get("database")), chosen=False)

    def by_dialect(field: str) -> Sqls:
        """Return a field's statements by dialect, those that can run here and that the config wants."""
        return _by_dialect(raw.get(field), wanted, known)

    row = ForeignRow(
        _id(number, raw, config),
        text_of(raw.get("database")),
        question=text_of(raw.get("nl_prompt")),
        gold=by_dialect("golden_sql"),
        tags=tag_list(raw.get("tags")),
        setup_sql=by_dialect("setup_sql"),
        eval_query=by_dialect("eval_query"),
        cleanup_sql=by_dialect("cleanup_sql"),
    )
    if kind not in QUERY_TYPES:
        return replace(row, reason=f"query_type '{kind}' is none of {', '.join(QUERY_TYPES)}")
    if raw.get("golden_sql") and not row.gold:
        return replace(
            row, reason=f"its dialects ({', '.join(spoken) or 'none'}) have no adapter here or are not wanted"
        )
    return replace(row, query_type=cast("QueryType", kind))


def _id(number: int, raw: dict[str, Any], config: RunConfig) -> str:
    """Return an item's id: its own, else its number."""
    return (text_of(raw.get("question_id")) if config.bird else "") or text_of(raw.get("id")) or str(number)


def _with_generated(row: ForeignRow, number: int, raw: dict[str, Any] | None, config: RunConfig) -> ForeignRow:
    """Return a row with the statements its item brings along."""
    return row if raw is None else replace(row, predictions=tuple(_generated(number, raw, config)))


def _generated(number: int, raw: dict[str, Any], config: RunConfig) -> Iterator[Prediction]:
    """Yield the statements an item brings along as `generated_sql`, which EvalBench's generator `noop` judges."""
    written = raw.get("generated_sql")
    for word, text in written.items() if isinstance(written, dict) else (("", written),):
        found = alternatives(text)
        if found:
            yield Prediction(case_id=_id(number, raw, config), sql=found[0], dialect=dialect_name(word) or None)


def others(config: RunConfig) -> dict[str, str]:
    """Return what each item keeps under `other`, as EvalBench prints it: nothing here is decided by it.

    Raises:
        InputError: malformed JSON.
    """
    found: dict[str, str] = {}
    for number, (_, raw) in enumerate(object_rows(config.dataset)):
        kept = raw.get("other") if raw is not None and not config.bird else None
        if raw is not None and isinstance(kept, dict):
            # The first item keeps an id that stands twice.
            found.setdefault(_id(number, raw, config), str({key: json.dumps(value) for key, value in kept.items()}))
    return found


def _bird_row(number: int, raw: dict[str, Any], config: RunConfig, known: Sequence[str]) -> ForeignRow:
    """Return one item of the bird-standard format; what is missing may stand under `other`, as in the original."""
    other = raw.get("other")
    beside = other if isinstance(other, dict) else {}
    gold = raw.get("golden_sql") or raw.get("SQL")
    return ForeignRow(
        _id(number, raw, config),
        text_of(raw.get("db_id")) or text_of(raw.get("database")) or config.dataset.stem,
        question=text_of(raw.get("question")) or text_of(beside.get("question")),
        gold=_by_dialect(gold, config.dialects or ("sqlite",), known),
        evidence=text_of(raw.get("evidence")) or text_of(beside.get("evidence")) or None,
        difficulty=text_of(raw.get("difficulty")) or None,
        tags=tag_list(raw.get("tags")),
    )


def _by_dialect(value: object, spoken: Sequence[str], known: Sequence[str]) -> Sqls:
    """Return statements by dialect: written so, or one list for every dialect the item speaks."""
    if isinstance(value, dict):
        written = {dialect_name(word): alternatives(texts) for word, texts in value.items()}
        found = {dialect: texts for dialect, texts in written.items() if not spoken or dialect in spoken}
    else:
        found = dict.fromkeys(spoken, alternatives(value))
    return {dialect: texts for dialect, texts in found.items() if texts and dialect in known}


def _filters(rows: Sequence[ForeignRow], config: RunConfig, known: Sequence[str]) -> Iterator[str]:
    """Yield a line for each name of a filter that lets nothing through.

    Raises:
        InputError: a filter whose every name lets nothing through.
    """
    there = sorted({row.database for row in rows if row.database})
    types = sorted({row.query_type for row in rows})
    checks = (
        ("databases", config.databases, there, "no item asks database '{}'"),
        ("query_types", config.query_types, types, "no item has query type '{}'"),
        ("dialects", config.dialects, known, "dialect {} has no adapter here"),
    )
    for field, wanted, present, message in checks:
        strange = [word for word in wanted if word not in present]
        if strange and len(strange) == len(wanted) and config.document is not None:
            remedy = f"Choose among {', '.join(present) or 'none'}"
            raise wrong(config.document, (field,), message.format(strange[0]), remedy)
        yield from (f"{field} of the run config: {message.format(word)}" for word in strange)


def _skipped(raw: Sequence[dict[str, Any] | None], known: Sequence[str], config: RunConfig) -> tuple[str, ...]:
    """Return a line for each dialect the data set speaks, that is wanted and that no adapter here speaks."""
    counts: dict[str, int] = {}
    for item in raw:
        gold = item.get("golden_sql") if item else None
        spoken = {
            dialect_name(word) for word in (gold if isinstance(gold, dict) else tag_list((item or {}).get("dialects")))
        }
        for dialect in sorted(spoken - set(known)):
            if not config.dialects or dialect in config.dialects:
                counts[dialect] = counts.get(dialect, 0) + 1
    return tuple(
        f"dialect {name} has no adapter here: its gold of {n} items was left out" for name, n in counts.items()
    )


def _find(roots: tuple[Path, ...], known: Sequence[str], name: str) -> Found | None:
    """Return a database: its setup directory, else a SQLite file."""
    for root in roots:
        scripts = setup_scripts(root / name, known)
        if scripts:
            return Found(name, scripts=scripts)
    return find_one(roots, name)
