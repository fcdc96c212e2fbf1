"""EvalBench data sets, standard and bird-standard, with their setup directories, or the run config that names both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from cases.case import QueryType
from cases.errors import InputError
from cases.extensions import installed
from cases.formats.databases import Found, find_one, named_folders
from cases.formats.evalbench_setup import setup_scripts
from cases.formats.foreign import DataSet, ForeignRow, Sqls, alternatives, pack_of, tag_list, text_of
from cases.formats.json_rows import first_keys, object_rows
from cases.pack import Pack
from cases.paths import asks
from cases.yaml_reading import YamlDocument, read_yaml

FOLDERS = ("setup", "setup_directory", "databases", "dev_databases", "database")
_BIRD = "bird-standard-format"
_SPELLED = {"postgresql": "postgres", "pg": "postgres", "sqlite3": "sqlite"}
_TYPES = ("dql", "dml", "ddl")
_YAML = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class RunConfig:
    """What a run config says of its data: files, and filters that are empty where all is meant."""

    dataset: Path
    setup: Path | None = None
    bird: bool = False
    dialects: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()
    query_types: tuple[str, ...] = ()


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
        rows = tuple(_row(number, one, config, known) for number, (_, one) in enumerate(raw))
        folder = config.dataset.absolute().parent
        beside = (*named_folders(folder, FOLDERS), *named_folders(folder.parent, FOLDERS), folder)
        roots = (config.setup, *beside) if config.setup else beside
        return pack_of(
            DataSet(
                path.name if path.is_dir() else path.stem,
                path,
                self.name,
                tuple(row for row in rows if _chosen(row, config)),
                partial(_find, roots, known),
                FOLDERS[:1],
                (config.dataset,),
                notes=_skipped([one for _, one in raw], known),
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
        return _run_config(read_yaml(path))
    dataset = _dataset_in(path)
    if dataset is None:
        remedy = "Name the JSON file whose items have id, nl_prompt and golden_sql"
        raise InputError("no EvalBench data set here", file=path, remedy=remedy)
    keys = first_keys(dataset)
    return RunConfig(dataset, bird="nl_prompt" not in keys and bool(keys & {"question_id", "db_id"}))


def _run_config(document: YamlDocument) -> RunConfig:
    """Return what a run config says of its data."""
    value = document.value if isinstance(document.value, dict) else {}
    dataset = _named(document, value, "dataset_config", needed=True)
    assert dataset is not None
    singular = {"dialects": "dialect", "databases": "database", "query_types": "query_type"}
    chosen = {field: tag_list(value.get(field, value.get(one))) for field, one in singular.items()}
    return RunConfig(
        dataset,
        _named(document, value, "setup_directory"),
        bird=value.get("dataset_format") == _BIRD,
        dialects=tuple(_dialect(word) for word in chosen["dialects"]),
        databases=chosen["databases"],
        query_types=tuple(word.lower() for word in chosen["query_types"]),
    )


def _named(document: YamlDocument, value: dict[str, Any], field: str, *, needed: bool = False) -> Path | None:
    """Return a path a run config names: EvalBench reads it from where it is started, mostly a folder above."""
    written = value.get(field)
    if not isinstance(written, str):
        if needed:
            raise InputError(f"the run config names no {field}", file=document.path, field=field, remedy="Add it")
        return None
    starts = (Path.cwd(), document.path.absolute().parent, *document.path.absolute().parents)
    found = next((start / written for start in starts if asks((start / written).exists)), None)
    if found is None:
        remedy = "Correct the path; it is looked up from here and from every folder above the config"
        line = document.line((field,))
        raise InputError(f"nothing at '{written}'", file=document.path, line=line, field=field, remedy=remedy)
    return found


def _dialect(word: object) -> str:
    """Return our spelling of a dialect."""
    text = text_of(word).lower()
    return _SPELLED.get(text, text)


def _chosen(row: ForeignRow, config: RunConfig) -> bool:
    """Return True where the run config's filters let a row through; a strange row is always told of."""
    if row.reason:
        return True
    typed = not config.query_types or row.query_type in config.query_types
    return typed and (not config.databases or row.database in config.databases)


def _row(number: int, raw: dict[str, Any] | None, config: RunConfig, known: Sequence[str]) -> ForeignRow:
    """Return one item in our words."""
    if raw is None:
        return ForeignRow(str(number), "", reason="it is no object")
    if config.bird:
        return _bird_row(number, raw, config, known)
    kind = text_of(raw.get("query_type")).lower() or "dql"
    spoken = tuple(_dialect(word) for word in tag_list(raw.get("dialects")))
    wanted = config.dialects or spoken

    def by_dialect(field: str) -> Sqls:
        """Return a field's statements by dialect, those that can run here and that the config wants."""
        return _by_dialect(raw.get(field), wanted, known)

    row = ForeignRow(
        text_of(raw.get("id")) or str(number),
        text_of(raw.get("database")),
        question=text_of(raw.get("nl_prompt")),
        gold=by_dialect("golden_sql"),
        tags=tag_list(raw.get("tags")),
        setup_sql=by_dialect("setup_sql"),
        eval_query=by_dialect("eval_query"),
        cleanup_sql=by_dialect("cleanup_sql"),
    )
    if kind not in _TYPES:
        return replace(row, reason=f"query_type '{kind}' is none of {', '.join(_TYPES)}")
    if raw.get("golden_sql") and not row.gold:
        return replace(
            row, reason=f"its dialects ({', '.join(spoken) or 'none'}) have no adapter here or are not wanted"
        )
    return replace(row, query_type=cast("QueryType", kind))


def _bird_row(number: int, raw: dict[str, Any], config: RunConfig, known: Sequence[str]) -> ForeignRow:
    """Return one item of the bird-standard format; what is missing may stand under `other`, as in the original."""
    other = raw.get("other")
    beside = other if isinstance(other, dict) else {}
    gold = raw.get("golden_sql") or raw.get("SQL")
    return ForeignRow(
        text_of(raw.get("question_id")) or text_of(raw.get("id")) or str(number),
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
        written = {_dialect(word): alternatives(texts) for word, texts in value.items()}
        found = {dialect: texts for dialect, texts in written.items() if not spoken or dialect in spoken}
    else:
        found = dict.fromkeys(spoken, alternatives(value))
    return {dialect: texts for dialect, texts in found.items() if texts and dialect in known}


def _skipped(raw: Sequence[dict[str, Any] | None], known: Sequence[str]) -> tuple[str, ...]:
    """Return a line for each dialect the data set speaks and no adapter here does."""
    counts: dict[str, int] = {}
    for item in raw:
        gold = item.get("golden_sql") if item else None
        spoken = {
            _dialect(word) for word in (gold if isinstance(gold, dict) else tag_list((item or {}).get("dialects")))
        }
        for dialect in spoken - set(known):
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
