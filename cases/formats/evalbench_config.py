"""What an EvalBench run config says of its data: files, filters and the databases its engines are described by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.foreign import text_of
from sqlassay.cases.paths import asks
from sqlassay.cases.yaml_reading import FromEnvironment, YamlDocument, read_yaml

STANDARD = "evalbench-standard-format"
BIRD = "bird-standard-format"
QUERY_TYPES = ("dql", "dml", "ddl")
REPORTS = "results"
"""Where EvalBench writes its tables where a config names no folder."""

_SPELLED = {"postgresql": "postgres", "pg": "postgres", "sqlite3": "sqlite"}


@dataclass(frozen=True, slots=True)
class RunConfig:
    """What a run config says of its data: files, and filters that are empty where all is meant.

    `folders` are where its database configs keep SQLite files, `reports` where earlier runs left tables, with
    their gold. `document` is the run config itself, where there is one, for the place of an error.
    """

    dataset: Path
    setup: Path | None = None
    bird: bool = False
    dialects: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()
    query_types: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    reports: tuple[Path, ...] = ()
    document: YamlDocument | None = None


@dataclass(frozen=True, slots=True)
class DatabaseConfig:
    """One of the YAML files that describe a database: its engine, and the folder of its files where it has one."""

    document: YamlDocument
    value: dict[str, Any]
    engine: str
    folder: Path | None


def read_config(path: Path) -> YamlDocument:
    """Return a run config, or a file one names, whose values may be `!ENV` texts.

    Raises:
        InputError: no YAML, or no mapping.
    """
    document = read_yaml(path, templates=True)
    if not isinstance(document.value, dict):
        raise InputError("a mapping of keys is expected", file=path, remedy="See docs/how-to/evalbench.md")
    return document


def run_config(document: YamlDocument) -> RunConfig:
    """Return what a run config says of its data.

    Raises:
        InputError: a file that is not there, an unknown format, or a filter that is no list of texts.
    """
    value = mapping(document)
    singular = {"dialects": "dialect", "databases": "database", "query_types": "query_type"}
    chosen = {field: _texts(document, value, field, one) for field, one in singular.items()}
    types = tuple(word.lower() for word in chosen["query_types"])
    for word in types:
        if word not in QUERY_TYPES:
            remedy = f"Choose among {', '.join(QUERY_TYPES)}"
            raise wrong(document, ("query_types",), f"'{word}' is no query type", remedy)
    return RunConfig(
        _dataset(document, value),
        _named(document, value, "setup_directory", folder=True),
        bird=_format(document, value) == BIRD,
        dialects=tuple(map(dialect_name, chosen["dialects"])),
        databases=chosen["databases"],
        query_types=types,
        folders=tuple(one.folder for one in database_configs(document, lenient=True) if one.folder is not None),
        reports=_reports(value),
        document=document,
    )


def mapping(document: YamlDocument) -> dict[str, Any]:
    """Return a document's keys."""
    return document.value if isinstance(document.value, dict) else {}


def wrong(document: YamlDocument, place: tuple[str | int, ...], message: str, remedy: str) -> InputError:
    """Return the error of a bad value: file, line, field and what to do."""
    field = ".".join(map(str, place))
    return InputError(message, file=document.path, line=document.line(place), field=field, remedy=remedy)


def dialect_name(word: object) -> str:
    """Return our spelling of a dialect."""
    text = text_of(word).lower()
    return _SPELLED.get(text, text)


def database_configs(document: YamlDocument, *, lenient: bool = False) -> tuple[DatabaseConfig, ...]:
    """Return the database configs in the order they are named; `lenient` passes over those that are not there.

    Raises:
        InputError: a file that is not there or is no mapping, a dialect its engine does not speak, no db_type.
    """
    value = mapping(document)
    field = "database_configs" if value.get("database_configs") is not None else "database_config"
    names = value.get(field)
    found = []
    for index, name in enumerate(names if isinstance(names, list) else [names]):
        if name is None:
            continue
        place = (field, index) if isinstance(names, list) else (field,)
        try:
            path = find_named(document, place, name)
        except InputError:
            if lenient:
                continue
            raise
        found.append(_database(document, path))
    return tuple(found)


def _database(document: YamlDocument, path: Path) -> DatabaseConfig:
    """Return what one database config says; everything about hosts and logins in it is for nobody here."""
    own = read_config(path)
    value = mapping(own)
    engine, spoken = dialect_name(value.get("db_type")), dialect_name(value.get("dialect"))
    if not engine:
        raise wrong(own, ("db_type",), "the database config names no db_type", "Add it, as in db_type: sqlite")
    if spoken and spoken != engine:
        message = f"a database of type '{engine}' does not speak '{spoken}'"
        raise wrong(own, ("dialect",), message, f"Write dialect: {engine}, or another db_type")
    kept = value.get("database_path")
    folder = None
    if isinstance(kept, str) and kept and not isinstance(kept, FromEnvironment):
        starts = _starts(document)
        folder = next((start / kept for start in starts if asks((start / kept).is_dir)), None)
    return DatabaseConfig(own, value, engine, folder)


def _reports(value: dict[str, Any]) -> tuple[Path, ...]:
    """Return the folder of the tables where there is one already; what is wrong with it is said where it is written."""
    reporting = value.get("reporting")
    if not isinstance(reporting, dict) or "csv" not in reporting:
        return ()
    csv = reporting["csv"] if isinstance(reporting["csv"], dict) else {}
    folder = Path(str(csv.get("output_directory") or REPORTS))
    return (folder,) if asks(folder.is_dir) else ()


def _dataset(document: YamlDocument, value: dict[str, Any]) -> Path:
    """Return the data set's file, named alone or as `prompts_file`."""
    if isinstance(value.get("dataset_config"), dict):
        return find_named(document, ("dataset_config", "prompts_file"), value["dataset_config"].get("prompts_file"))
    found = _named(document, value, "dataset_config")
    if found is None:
        raise wrong(document, ("dataset_config",), "the run config names no dataset_config", "Add it")
    return found


def _format(document: YamlDocument, value: dict[str, Any]) -> str:
    """Return the data set's format; those of agents' conversations and of clouds are no SQL to judge."""
    written = value.get("dataset_format")
    if written is None:
        return STANDARD
    if written not in (STANDARD, BIRD):
        remedy = f"Here {STANDARD} (the default) and {BIRD} are read"
        raise wrong(document, ("dataset_format",), f"data sets in '{written}' are not read here", remedy)
    return str(written)


def _texts(document: YamlDocument, value: dict[str, Any], field: str, singular: str) -> tuple[str, ...]:
    """Return a filter: one text or a list of them; no key, and an empty list, mean all."""
    name = field if value.get(field) is not None else singular
    written = value.get(name)
    if written is None:
        return ()
    listed = written if isinstance(written, list) else [written]
    for index, one in enumerate(listed):
        if not text_of(one) or isinstance(one, FromEnvironment):
            place = (name, index) if isinstance(written, list) else (name,)
            raise wrong(document, place, "a plain text is expected", f"Write {field} as a list of names")
    return tuple(map(text_of, listed))


def _named(document: YamlDocument, value: dict[str, Any], field: str, *, folder: bool = False) -> Path | None:
    """Return a path a run config names, None where it names none."""
    written = value.get(field)
    return None if written is None else find_named(document, (field,), written, folder=folder)


def find_named(document: YamlDocument, place: tuple[str | int, ...], written: object, *, folder: bool = False) -> Path:
    """Return a path a config names: EvalBench reads it from where it is started, mostly a folder above the config.

    Raises:
        InputError: no plain text, or nothing there.
    """
    if not isinstance(written, str) or not written or isinstance(written, FromEnvironment):
        raise wrong(document, place, "a path is expected", "Write the path out as plain text")
    kind = Path.is_dir if folder else Path.is_file
    starts = _starts(document)
    found = next((start / written for start in starts if asks(lambda at=start: kind(at / written))), None)  # type: ignore[misc]
    if found is None:
        remedy = "Correct the path; it is looked up from here and from every folder above the config"
        raise wrong(document, place, f"nothing at '{written}'", remedy)
    return found


def _starts(document: YamlDocument) -> Sequence[Path]:
    """Return where relative paths are looked up, in this order: here, beside the config, and in every folder above."""
    folder = document.path.absolute().parent
    return (Path(), folder, *folder.parents)
