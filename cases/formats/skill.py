"""The Skill's own files: a dataset JSON with predictions inside its rows, and a config of data sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.errors import InputError
from sqlassay.cases.faults import Faults, Place
from sqlassay.cases.formats.checks import Placed, case_set_digest, check_cases
from sqlassay.cases.formats.skill_models import SkillConfig, SkillRow
from sqlassay.cases.formats.skill_sources import snapshot_of_script, snapshots_of_config
from sqlassay.cases.pack import Pack, PackSettings
from sqlassay.cases.paths import asks
from sqlassay.cases.reading import element_lines, parse_json, read_text, starts_with
from sqlassay.cases.snapshot import Snapshot
from sqlassay.cases.yaml_reading import YamlDocument, read_yaml

_YAML = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Dataset:
    """The rows of a dataset with their lines, and its schema script where it carries one."""

    path: Path
    rows: tuple[object, ...]
    line: Callable[[int], int]
    schema: str | None


class SkillFormat:
    """Reads the Skill's dataset JSON and config."""

    name = "skill"
    fallback = 1  # other formats' rows may hold its one field too

    def detect(self, path: Path) -> bool:
        """Return True for a dataset JSON, a config that names one, or a folder that holds one dataset."""
        if path.is_dir():
            found = list(path.glob("*.json"))
            return not (path / "pack.yaml").exists() and len(found) == 1 and _has_gold(found[0])
        if path.suffix in _YAML:
            return path.is_file() and b"dataset" in path.read_bytes()[:65_536]
        return path.suffix == ".json" and (_has_gold(path) or _has_cases(path))

    def load(self, path: Path) -> Pack:
        """Return the pack; predictions inside the rows become its inline predictions.

        Raises:
            InputError: anything malformed, as file:line:field with the remedy.
        """
        dataset_file, config_file = _files(path)
        document = read_yaml(config_file) if config_file else None
        config = _config(document)
        if dataset_file is None:
            dataset_file = _named_dataset(config, document)
        dataset = _dataset(dataset_file)
        rows = _rows(dataset)
        snapshots, routes = _data(config, document, dataset, rows)
        placed = _cases(rows, dataset, config, snapshots, routes)
        cases = tuple(item.case for item in placed)
        return Pack(
            name=dataset.path.stem,
            path=path,
            digest=case_set_digest(cases, routes, {}),
            cases=cases,
            snapshots=snapshots,
            routes=tuple(routes.items()),
            settings=_settings(config),
            format=self.name,
            inline_predictions=tuple(_prediction(row, config) for row in rows if row.predicted),
            files=(dataset.path,),
        )


def _has_gold(path: Path) -> bool:
    """Return True for a JSON file with the one field every row of a dataset has; a folder may hold any other."""
    return asks(path.is_file) and b'"ground_truth_sql"' in path.read_bytes()


def _has_cases(path: Path) -> bool:
    """Return True for a JSON object with a list of cases and no other format's gold."""
    if not starts_with(path, b"{"):
        return False
    head = path.read_bytes()[:65_536]
    return b'"cases"' in head and b'"gold_sql' not in head


def _files(path: Path) -> tuple[Path | None, Path | None]:
    """Return the dataset and the config that a path means; either may be found beside the other."""
    if path.is_file() and path.suffix in _YAML:
        return None, path
    folder = path if path.is_dir() else path.parent
    configs = sorted(file for file in folder.iterdir() if file.suffix in _YAML)
    preferred = [file for file in configs if file.stem in ("config", path.stem)]
    config = preferred[0] if preferred else configs[0] if len(configs) == 1 else None
    if path.is_file():
        return path, config
    datasets = sorted(folder.glob("*.json"))
    if len(datasets) != 1:
        raise InputError(f"{len(datasets)} JSON files here, one is needed", file=path, remedy="Name the dataset file")
    return datasets[0], config


def _config(document: YamlDocument | None) -> SkillConfig:
    """Return the config; a flat mapping of names to URIs is a config of data sources alone."""
    if document is None:
        return SkillConfig()
    value = document.value
    if isinstance(value, dict) and value and all(_is_uri(entry) for entry in value.values()):
        value = {"data_sources": value}
    faults = Faults()
    config = faults.validate(SkillConfig, value, file=document.path, line=document.line)
    faults.check()
    assert config is not None
    return config


def _is_uri(value: object) -> bool:
    """Return True for text that looks like a connection URI."""
    return isinstance(value, str) and "://" in value


def _named_dataset(config: SkillConfig, document: YamlDocument | None) -> Path:
    """Return the dataset file a config names, relative to it or to the folder above."""
    assert document is not None
    place = ("dataset",)
    if config.dataset is None:
        raise InputError(
            "the config names no dataset", file=document.path, field="dataset", remedy="Add `dataset: FILE.json`"
        )
    folder = document.path.resolve().parent
    for base in (folder, folder.parent):
        if asks((base / config.dataset).is_file):
            return base / config.dataset
    message = f"no file '{config.dataset}'"
    line = document.line(place)
    raise InputError(message, file=document.path, line=line, field="dataset", remedy="Correct the path")


def _dataset(path: Path) -> Dataset:
    """Return the rows of a dataset: a list, or an object with `cases` and perhaps a `schema` script."""
    text = read_text(path)
    value = parse_json(text, path)
    if isinstance(value, list):
        return Dataset(path, tuple(value), element_lines(text), None)
    if isinstance(value, dict) and isinstance(value.get("cases"), list):
        schema = value.get("schema")
        if schema is not None and not isinstance(schema, str):
            remedy = "Write the script as one text"
            raise InputError("the schema is an SQL script", file=path, field="schema", remedy=remedy)
        return Dataset(path, tuple(value["cases"]), element_lines(text, key="cases"), schema)
    remedy = 'Write [{"id": …, "question": …, "ground_truth_sql": …}] or {"cases": […]}'
    raise InputError("not a dataset of the Skill", file=path, line=1, remedy=remedy)


def _rows(dataset: Dataset) -> tuple[SkillRow, ...]:
    """Return the validated rows."""
    faults = Faults()
    rows = []
    for index, raw in enumerate(dataset.rows):
        line = partial(_row_line, dataset.line(index))
        rows.append(faults.validate(SkillRow, raw, file=dataset.path, line=line))
    faults.check()
    if not rows:
        raise InputError("the dataset has no row", file=dataset.path, remedy="Add a row")
    return tuple(row for row in rows if row is not None)


def _row_line(line: int, _place: Place) -> int:
    """Return the line a row starts on, whatever its field."""
    return line


def _data(
    config: SkillConfig, document: YamlDocument | None, dataset: Dataset, rows: Sequence[SkillRow]
) -> tuple[tuple[Snapshot, ...], dict[str, str | None]]:
    """Return snapshots and routes: from the config, or from the dataset's own schema, shared by every name."""
    if config.data_sources and document is not None:
        raw = document.value if isinstance(document.value, dict) else {}
        key = next((name for name in ("data_sources", "databases", "connections") if name in raw), None)
        return snapshots_of_config(config.data_sources, document, (key,) if key else ())
    if dataset.schema is None:
        remedy = "Put a config.yaml beside it with data_sources: {NAME: sqlite:///FILE}"
        raise InputError("no data source is configured for this dataset", file=dataset.path, remedy=remedy)
    snapshot = snapshot_of_script(dataset.schema, config.dialect)
    names = [name for row in rows for name in (row.expected_data_source, row.selected_data_source) if name]
    return (snapshot,), dict.fromkeys(names, snapshot.id)


def _cases(
    rows: Sequence[SkillRow],
    dataset: Dataset,
    config: SkillConfig,
    snapshots: Sequence[Snapshot],
    routes: dict[str, str | None],
) -> list[Placed]:
    """Return the cases in our own words, checked against snapshots and routes."""
    faults = Faults()
    placed = []
    for index, row in enumerate(rows):
        expected = row.expected_data_source
        target = routes.get(expected) if expected else snapshots[0].id if len(snapshots) == 1 else None
        if expected is None and target is None:
            remedy = f"Name one of: {', '.join(routes)}"
            message = f"row '{row.id}' names none of several data sources"
            place = "expected_data_source"
            faults.add(InputError(message, file=dataset.path, line=dataset.line(index), field=place, remedy=remedy))
        case = _case(row, config.dialect, target or snapshots[0].id)
        placed.append(Placed(case, dataset.path, dataset.line(index)))
    check_cases(placed, [snapshot.id for snapshot in snapshots], routes, faults)
    faults.check()
    return placed


def _case(row: SkillRow, dialect: str, snapshot: str) -> Case:
    """Return one row as a case."""
    return Case(
        id=row.id,
        question=row.question,
        snapshot=snapshot,
        gold={dialect: (row.ground_truth_sql,)},
        evidence=row.evidence,
        route=row.expected_data_source,
        order_required=row.order_required,
        allow_extra_predicted_columns=row.allow_extra_predicted_columns,
        scenario=row.scenario,
        tags=row.tags,
    )


def _prediction(row: SkillRow, config: SkillConfig) -> Prediction:
    """Return the agent's answer that stands in a row."""
    return Prediction(case_id=row.id, sql=row.predicted_sql, dialect=config.dialect, route=row.selected_data_source)


def _settings(config: SkillConfig) -> PackSettings:
    """Return the pack's settings; the Skill's own comparison is the preset `skill`."""
    return PackSettings(
        policy_preset="skill",
        timeout=config.timeout,
        row_limit=config.row_limit,
        disagreement=config.disagreement,
        alpha=config.alpha,
        beta=config.beta,
    )
