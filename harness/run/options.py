"""What a run was asked to do, from every source, and the one frozen RunConfig that it becomes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypedDict

import yaml
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, field_validator

from sqlassay.cases.errors import InputError
from sqlassay.cases.isolation import IsolationLevel
from sqlassay.cases.pack import PackSettings
from sqlassay.cases.policy import Policy, PolicyOverrides
from sqlassay.cases.policy_spelling import policy_named
from sqlassay.cases.presets import merge
from sqlassay.harness.metrics.registry import profile
from sqlassay.sandboxes.pool_size import MOST_AHEAD

DEFAULT_PRESET = "skill"

_HEADLINE, _STRICT = "execution_accuracy", "strict_execution_accuracy"

RUNS = Path("runs")
"""Where run folders are made, unless --out names another place."""

Layer = tuple[str, "RunOptions"]
"""Where options came from (`command line`, `environment`, `run file`, `pack`) and the options themselves."""


class RunOptions(BaseModel):
    """Everything a run may be told; None means unset, so that a weaker source may say it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dialect: str | None = None
    predictions: Path | None = None
    agent: str | None = None
    format: str | None = None
    out: Path | None = None
    jobs: int | None = Field(default=None, ge=1, le=256)
    isolation: IsolationLevel | None = None
    pool: int | None = Field(default=None, ge=0, le=MOST_AHEAD)
    sandbox: str | None = None
    trials: int | None = Field(default=None, ge=1, le=1000)
    timeout: float | None = Field(default=None, gt=0, le=3600)
    gold_timeout: float | None = Field(default=None, gt=0, le=86400)
    row_limit: int | None = Field(default=None, ge=1, le=10_000_000)
    engine: Literal["auto", "ask", "none"] | None = None
    runtime: str | None = None
    pull: Literal["auto", "never"] | None = None
    mirror: tuple[str, ...] | None = None
    images_lock: Path | None = None
    policy: str | None = None
    metrics: tuple[str, ...] | None = None
    profile: str | None = None
    metric_option: tuple[tuple[str, Any], ...] | None = None
    fail_under: tuple[tuple[str, FiniteFloat], ...] | None = None
    min_coverage: float | None = Field(default=None, ge=0, le=1)
    gate: tuple[Literal["safety"], ...] | None = None
    only: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    limit: int | None = Field(default=None, ge=1)
    sample: int | None = Field(default=None, ge=1)
    seed: int | None = None
    dry_run: bool | None = None
    allow_unknown: bool | None = None
    store_rows: Literal["all", "diff", "none"] | None = None
    gold_cache: bool | None = None
    transpile_gold: bool | None = None
    leave_undetermined: bool | None = None
    alpha: float | None = Field(default=None, ge=0, le=1)
    beta: float | None = Field(default=None, ge=0, le=1)
    disagreement: float | None = Field(default=None, ge=0, lt=1)
    clock: datetime | None = None
    repetitions: int | None = Field(default=None, ge=0, le=1000)
    agent_timeout: float | None = Field(default=None, gt=0, le=86400)
    judge: tuple[str, ...] | None = None
    judge_record: Path | None = None
    judge_cache: bool | None = None

    @field_validator("metrics", "only", "tags", "mirror", "judge", "gate", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        """Accept `a,b` beside a list; an empty one (an unset variable in a script) is a mistake, not everything."""
        found = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
        if isinstance(found, list) and not found:
            raise ValueError("names nothing: leave it out to take all")
        return tuple(found) if isinstance(found, list) else found

    @field_validator("metric_option", mode="before")
    @classmethod
    def _named_values(cls, value: object) -> object:
        """Accept `metric.option=VALUE` texts, VALUE in YAML, and {metric.option: value} beside pairs."""
        if isinstance(value, dict):
            return tuple(value.items())
        texts = (value,) if isinstance(value, str) else value
        if not isinstance(texts, list | tuple):
            return value
        return tuple(_named(text) if isinstance(text, str) else text for text in texts)

    @field_validator("fail_under", mode="before")
    @classmethod
    def _thresholds(cls, value: object) -> object:
        """Accept `metric=0.9` texts and {metric: 0.9} beside pairs."""
        if isinstance(value, dict):
            return tuple(value.items())
        texts = (value,) if isinstance(value, str) else value
        if not isinstance(texts, list | tuple):
            return value
        pairs = []
        for text in texts:
            if isinstance(text, str):
                for part in text.split(","):
                    name, sign, number = part.partition("=")
                    if not sign:
                        raise ValueError(f"'{part}' is not METRIC=NUMBER")
                    pairs.append((name.strip(), number.strip()))
            else:
                pairs.append(text)
        return tuple(pairs)


def _named(text: str) -> tuple[str, Any]:
    """Return one `metric.option=VALUE` as its name and value.

    Raises:
        ValueError: no name, or a value that is not YAML.
    """
    name, sign, value = text.partition("=")
    if not sign:
        raise ValueError(f"'{text}' is not METRIC.OPTION=VALUE")
    try:
        return name.strip(), yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise ValueError(f"the value of '{name.strip()}' is not YAML") from error


class JudgeKeywords(TypedDict, total=False):
    """Options of `sqlassay run` that a single statement has too, as the Python API takes them; None is unset."""

    format: str | None
    isolation: IsolationLevel | None
    jobs: int | None
    pool: int | None
    sandbox: str | None
    timeout: float | None
    gold_timeout: float | None
    row_limit: int | None
    leave_undetermined: bool | None
    engine: Literal["auto", "ask", "none"] | None
    runtime: str | None
    pull: Literal["auto", "never"] | None
    mirror: Sequence[str] | None
    images_lock: str | Path | None
    policy: str | None
    metrics: str | Sequence[str] | None
    profile: str | None
    metric_option: Mapping[str, Any] | Sequence[str] | None
    gold_cache: bool | None
    alpha: float | None
    beta: float | None
    disagreement: float | None
    clock: str | datetime | None
    repetitions: int | None
    judge_record: str | Path | None
    judge_cache: bool | None


class RunKeywords(JudgeKeywords, total=False):
    """Every option of `sqlassay run`, as the Python API takes it; what the API types apart is left out."""

    dialect: str | None
    out: str | Path | None
    trials: int | None
    agent_timeout: float | None
    fail_under: Mapping[str, float] | Sequence[str] | None
    min_coverage: float | None
    gate: Literal["safety"] | Sequence[Literal["safety"]] | None
    only: str | Sequence[str] | None
    tags: str | Sequence[str] | None
    limit: int | None
    sample: int | None
    seed: int | None
    dry_run: bool | None
    allow_unknown: bool | None
    store_rows: Literal["all", "diff", "none"] | None
    transpile_gold: bool | None


def options_from(
    values: dict[str, Any],
    *,
    file: Path | str | None,
    names: str = "",
    line: Callable[[str], int | None] = lambda _field: None,
) -> RunOptions:
    """Validate one source of options; the error names file and line, or the option as this source spells it.

    Raises:
        InputError: an unknown or malformed option.
    """
    try:
        return RunOptions.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"][:1])
        spelled = field.replace("_", "-") if names.startswith("--") else field.upper() if names else field
        known = ", ".join(sorted(RunOptions.model_fields))
        remedy = f"Known fields: {known}" if first["type"] == "extra_forbidden" else "See `sqlassay run --help`"
        message = first["msg"].removeprefix("Value error, ")
        shown = f"{names}{spelled}"
        raise InputError(message, file=file, line=line(field), field=shown, remedy=remedy) from error


@dataclass(frozen=True, slots=True)
class RunConfig:
    """One run's settings, all resolved; read once and passed down as an argument. `origins` says who set what."""

    dialect: str
    predictions: Path | None
    agent: str | None
    out: Path | None
    jobs: int
    isolation: IsolationLevel
    pool: int | None
    sandbox: str
    trials: int
    timeout: float
    gold_timeout: float
    row_limit: int
    engine: Literal["auto", "ask", "none"]
    runtime: str
    pull: Literal["auto", "never"]
    mirror: tuple[str, ...]
    images_lock: Path | None
    policy: Policy
    policy_name: str
    metrics: tuple[str, ...] | None
    metric_option: tuple[tuple[str, Any], ...]
    fail_under: tuple[tuple[str, float], ...]
    min_coverage: float
    gate: tuple[Literal["safety"], ...]
    only: tuple[str, ...]
    tags: tuple[str, ...]
    limit: int | None
    sample: int | None
    seed: int
    dry_run: bool
    allow_unknown: bool
    store_rows: Literal["all", "diff", "none"]
    gold_cache: bool
    transpile_gold: bool
    leave_undetermined: bool
    alpha: float
    beta: float
    disagreement: float
    clock: datetime | None
    repetitions: int | None
    agent_timeout: float
    judge: tuple[str, ...]
    judge_record: Path | None
    judge_cache: bool
    origins: tuple[tuple[str, str], ...]
    policy_origins: tuple[tuple[str, str], ...]


_DEFAULTS = RunOptions(
    dialect="sqlite",
    sandbox="auto",
    isolation="run",
    trials=1,
    timeout=30.0,
    gold_timeout=300.0,
    row_limit=100_000,
    engine="auto",
    runtime="",
    pull="auto",
    mirror=(),
    policy=DEFAULT_PRESET,
    metric_option=(),
    fail_under=(),
    min_coverage=1.0,
    gate=(),
    only=(),
    tags=(),
    seed=0,
    dry_run=False,
    allow_unknown=False,
    store_rows="all",
    gold_cache=True,
    transpile_gold=False,
    leave_undetermined=False,
    alpha=0.3,
    beta=0.2,
    disagreement=0.1,
    agent_timeout=120.0,
    judge=(),
    judge_cache=True,
)

_PACK_FIELDS = ("timeout", "gold_timeout", "row_limit", "disagreement", "alpha", "beta", "clock")


def resolve(layers: Sequence[Layer], pack: PackSettings) -> RunConfig:
    """Merge options, strongest layer first, then the pack header, then the defaults, into one RunConfig.

    Raises:
        InputError: an unknown policy preset, or predictions and an agent both named by one source.
    """
    from_pack = RunOptions.model_validate({f: getattr(pack, f) for f in _PACK_FIELDS} | {"policy": pack.policy_preset})
    chain = [*layers, ("pack", from_pack), ("default", _DEFAULTS)]
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for field in RunOptions.model_fields:
        for origin, options in chain:
            value = getattr(options, field)
            if value is not None:
                values[field], origins[field] = value, origin
                break
        else:
            values[field] = None
    _one_source(layers, values)
    values.pop("format")
    values.pop("profile")
    values["metrics"] = _metrics(layers)
    name = values.pop("policy")
    policy, policy_origins = _policy(name, origins["policy"], pack.policy)
    values["jobs"] = values["jobs"] or os.cpu_count() or 1
    return RunConfig(
        **values,
        policy=policy,
        policy_name=name,
        origins=tuple(sorted(origins.items())),
        policy_origins=policy_origins,
    )


def _one_source(layers: Sequence[Layer], values: dict[str, Any]) -> None:
    """Let the strongest layer that names predictions or an agent decide which of the two it is."""
    for origin, options in layers:
        if options.predictions is not None and options.agent is not None:
            raise InputError(
                f"predictions and an agent are both given ({origin})", field="agent", remedy="Name one of the two"
            )
        if options.predictions is not None:
            values["agent"] = None
            return
        if options.agent is not None:
            values["predictions"] = None
            return


def _metrics(layers: Sequence[Layer]) -> tuple[str, ...] | None:
    """Return what the strongest layer that names a profile or metrics asks for: the profile's, then the others."""
    for _, options in layers:
        if options.profile is not None or options.metrics is not None:
            found = profile(options.profile) if options.profile is not None else ()
            return _with_strict(tuple(dict.fromkeys((*found, *(options.metrics or ())))))
    return None


def _with_strict(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the metrics with the accuracy under `strict` right behind the headline: no report shows one alone."""
    if _HEADLINE not in names or _STRICT in names:
        return names
    at = names.index(_HEADLINE) + 1
    return (*names[:at], _STRICT, *names[at:])


def _policy(name: str, origin: str, header: PolicyOverrides | None) -> tuple[Policy, tuple[tuple[str, str], ...]]:
    """Return the run's policy with each field's origin; a preset named above the pack replaces the pack's fields."""
    base = policy_named(name)
    overrides = header if origin in ("pack", "default") else None
    policy = merge(base, overrides)
    set_fields = overrides.chosen if overrides else {}
    origins = {f: "pack" if f in set_fields else f"preset {name} ({origin})" for f in Policy.model_fields}
    return policy, tuple(sorted(origins.items()))
