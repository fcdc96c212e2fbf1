"""Read EvalBench's run config: what runs, by which scorers, where results go, and what of it is not taken."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.evalbench import others
from sqlassay.cases.formats.evalbench_config import (
    DatabaseConfig,
    database_configs,
    find_named,
    mapping,
    read_config,
    run_config,
    wrong,
)
from sqlassay.cases.yaml_reading import FromEnvironment, YamlDocument
from sqlassay.harness.evalbench import keys
from sqlassay.harness.evalbench.reporting import Reporting, read_reporting
from sqlassay.harness.evalbench.scorers import COMPAT, Scorer, check_compat, read_scorers
from sqlassay.harness.evalbench.values import section, whole

MOST_JOBS = 256
_MOST_TRIALS = 1000
_TEMPLATE = re.compile(r"\$\{([^}{:]+)(?::([^}]*))?\}")
NOOP = "noop"
_PROMPTS = ("SQLGenBasePromptGenerator", "NOOPGenerator")


@dataclass(frozen=True, slots=True)
class Model:
    """The model a config names: the file, and the generator EvalBench would ask."""

    file: Path
    line: int | None
    field: str
    generator: str
    value: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EvalBenchRun:
    """A run config, resolved: `engines` are the sandboxes to run on in their order, `notes` what is not taken.

    `value` is the config as written, `databases` the database configs by engine, `others` what items keep under
    `other`: EvalBench reports all three.
    """

    path: Path
    value: dict[str, Any]
    model: Model | None
    databases: tuple[tuple[str, dict[str, Any]], ...]
    engines: tuple[str, ...]
    scorers: tuple[Scorer, ...]
    reporting: Reporting
    trials: int | None
    jobs: int | None
    notes: tuple[str, ...]
    others: Mapping[str, str] = field(default_factory=dict)


def read_run(path: Path, environment: Mapping[str, str], known: Sequence[str]) -> EvalBenchRun:
    """Return the run a config describes; `known` are the dialects that have an adapter here.

    Raises:
        InputError: a wrong value, a file that is not there, or an engine none of which has a sandbox here.
    """
    document = read_config(path)
    data = run_config(document)  # the data part is checked first: it says what the rest is about
    value = _filled(mapping(document), environment)
    notes = [*keys.told(document, (), value, keys.READ, keys.WITHOUT_EFFECT)]
    _refuse_scripts(document, value)
    check_compat(document, ("compat",), value.get("compat"))
    described = database_configs(document)
    engines, of_databases = _engines(document, described, data.dialects, known)
    model, of_model = _model(document, value, environment)
    scorers, of_scorers = read_scorers(document, value.get("scorers"), compat=value.get("compat") == COMPAT)
    reporting, of_reporting = read_reporting(document, value.get("reporting"), environment)
    jobs, of_runners = _jobs(document, value.get("runners"))
    trials = whole(document, ("num_trials",), value.get("num_trials"), least=1, most=_MOST_TRIALS)
    return EvalBenchRun(
        path,
        value,
        model,
        tuple((one.engine, _filled(one.value, environment)) for one in described),
        engines,
        scorers,
        reporting,
        trials,
        jobs,
        (*notes, *of_databases, *of_model, *_prompts(document, value), *of_scorers, *of_runners, *of_reporting),
        others(data),
    )


def _filled(value: Any, environment: Mapping[str, str]) -> Any:
    """Return a value with its `!ENV` texts filled in; a name that is not set stands for its default, else `N/A`."""
    if isinstance(value, dict):
        return {str(key): _filled(item, environment) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, environment) for item in value]
    if not isinstance(value, FromEnvironment):
        return value
    return _TEMPLATE.sub(lambda found: environment.get(found[1].strip(), found[2] or "N/A"), value)


def _refuse_scripts(document: YamlDocument, value: Mapping[str, Any]) -> None:
    """Refuse shell scripts: nothing a config names runs on this machine itself."""
    for key in ("set_up_script", "tear_down_script"):
        if value.get(key):
            remedy = "Remove it; SQL that makes the database belongs into setup_directory"
            raise wrong(document, (key,), "a shell script would run on this machine, outside any sandbox", remedy)


def _engines(
    document: YamlDocument, described: Sequence[DatabaseConfig], wanted: Sequence[str], known: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the engines to run on, and a line for each database config that is not used or used otherwise.

    Raises:
        InputError: no database config, or none that is wanted and has a sandbox here.
    """
    if not described:
        remedy = "Name the YAML files that describe the databases; their engines are run in sandboxes here"
        raise wrong(document, ("database_configs",), "the run config names no database_configs", remedy)
    engines: list[str] = []
    notes: list[str] = []
    for one in described:
        file = one.document.path
        notes += keys.told(one.document, (), one.value, keys.DATABASE_READ | keys.DATABASE_IGNORED)
        if one.engine not in known:
            notes.append(f"{file}: no sandbox for db_type '{one.engine}': it is left out")
        elif wanted and one.engine not in wanted:
            notes.append(f"{file}: is not among the dialects of the run")
        elif one.engine in engines:
            notes.append(f"{file}: {one.engine} has its sandbox already and runs once")
        else:
            engines.append(one.engine)
            ignored = [key for key in one.value if key in keys.DATABASE_IGNORED]
            if ignored:
                notes.append(f"{file}: {one.engine} runs in a sandbox; not used: {', '.join(ignored)}")
    if not engines:
        remedy = f"Sandboxes here are of: {', '.join(known)}; see the keys dialects and db_type"
        raise wrong(document, ("database_configs",), "no database config has a wanted engine with a sandbox", remedy)
    return tuple(engines), tuple(notes)


def _model(
    document: YamlDocument, value: Mapping[str, Any], environment: Mapping[str, str]
) -> tuple[Model | None, tuple[str, ...]]:
    """Return the model a config names and a line for each key of its file nobody knows."""
    written = value.get("model_config")
    if written is None:
        return None, ()
    own = read_config(find_named(document, ("model_config",), written))
    found = _filled(mapping(own), environment)
    key = "generator_class" if found.get("generator_class") else "generator"
    generator = found.get(key)
    if not isinstance(generator, str):
        remedy = "Add it, as in generator: noop"
        raise wrong(own, ("generator",), "the model config names no generator", remedy)
    return Model(own.path, own.line((key,)), key, generator, found), tuple(keys.told(own, (), found, keys.MODEL))


def no_answers(run: EvalBenchRun) -> InputError:
    """Return the error of a run that nobody answers: models are asked by the user's own means."""
    remedy = "Give the answers as --predictions FILE, or a callable to ask as --agent MODULE:FUNCTION"
    if run.model is None:
        message = "the run config names no model_config, and no answers are given"
        return InputError(message, file=run.path, field="model_config", remedy=remedy)
    message = f"generator '{run.model.generator}' is not asked from here"
    if run.model.generator == NOOP:
        message = "generator 'noop' takes the data set's own generated_sql, and no item has any"
    return InputError(message, file=run.model.file, line=run.model.line, field=run.model.field, remedy=remedy)


def _prompts(document: YamlDocument, value: Mapping[str, Any]) -> Iterator[str]:
    """Say that prompts are the agent's own matter where a config names a generator of them."""
    written = value.get("prompt_generator")
    if written is None or written == "NOOPGenerator":
        return
    where = f"{document.path}:{document.line(('prompt_generator',))}:prompt_generator"
    if written in _PROMPTS:
        yield f"{where}: has no effect here: an agent is given the question and writes its own prompt"
    else:
        yield f"{where}: unknown prompt generator '{written}', ignored"


def _jobs(document: YamlDocument, value: object) -> tuple[int | None, tuple[str, ...]]:
    """Return how many cases run at once: EvalBench's workers for statements, else the most of any stage."""
    if value is None:
        return None, ()
    asked = section(document, ("runners",), value)
    notes = tuple(keys.told(document, ("runners",), asked, keys.RUNNERS, keys.RUNNERS_WITHOUT_EFFECT))
    counts = {
        name: whole(document, ("runners", name), asked.get(name), least=1, most=MOST_JOBS) for name in keys.RUNNERS
    }
    given = [count for count in counts.values() if count is not None]
    return counts["sqlexec_runners"] or (max(given) if given else None), notes
