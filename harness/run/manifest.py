"""Everything that decides a run's results, written down before the first case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sqlassay.cases.case import Case
from sqlassay.cases.catalog import settings_groups
from sqlassay.cases.errors import InputError
from sqlassay.cases.isolation import IsolationLevel, stricter
from sqlassay.cases.pack import Pack
from sqlassay.cases.storable import unstorable
from sqlassay.harness.judges import Seated
from sqlassay.harness.results.run_result import IsolationRecord, Manifest, SettingsRecord
from sqlassay.harness.run.asking import Asker
from sqlassay.harness.run.bench import Bench
from sqlassay.harness.run.options import RunConfig
from sqlassay.harness.store.places import Places
from sqlassay.sandboxes.contract import Isolation

_PACKAGES = ("sqlglot", "pydantic", "psycopg", "pymysql", "sqlalchemy", "docker", "testcontainers")


def places(config: RunConfig, pack: Pack) -> Places:
    """Return where a resumed run finds what this one was given.

    Raises:
        InputError: a name among them is not UTF-8, so that no JSON file can hold it.
    """
    folder = Path.cwd()
    for path in (folder, pack.path, config.predictions, config.images_lock, config.judge_record):
        if path is not None and unstorable(str(path)):
            remedy = "Rename that folder or file, or link to it by another name"
            raise InputError("the name is not UTF-8, so a run cannot note it down", file=path, remedy=remedy)
    return Places(
        folder=folder,
        pack=pack.path,
        pack_format=pack.format,
        predictions=config.predictions,
        agent=config.agent,
        mirror=config.mirror,
        images_lock=config.images_lock,
        judge=config.judge,
        judge_record=config.judge_record,
    )


def known_before(
    config: RunConfig, pack: Pack, cases: Sequence[Case], asker: Asker, judge: Seated | None = None
) -> dict[str, object]:
    """Return the part of a manifest that is known before any sandbox is up, as JSON has it."""
    return {
        "sqlassay": _version("sqlassay"),
        "packages": {name: _version(name) for name in _PACKAGES},
        "dialect": config.dialect,
        "pack": pack.name,
        "pack_format": pack.format,
        "case_set": pack.digest,
        "cases": len(cases),
        "agent": asker.label,
        "predictions_digest": asker.digest,
        "agent_digest": asker.agent_digest,
        "judge": None if judge is None else judge.label,
        "settings": _settings(config),
        "policy": config.policy.model_dump(mode="json"),
        "policy_digest": config.policy.digest,
        "seed": config.seed,
    }


def manifest(
    config: RunConfig, pack: Pack, cases: Sequence[Case], bench: Bench, asker: Asker, isolation: Isolation
) -> Manifest:
    """Return the run's manifest; no path of the machine and no connection string is in it."""
    image = bench.image
    known: dict[str, Any] = known_before(config, pack, cases, asker, bench.judge)
    return Manifest(
        **known,
        run_id=bench.run_id,
        created=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        engine_version=image.catalogs[0].engine_version if image.catalogs else image.base.version,
        image=image.ref,
        image_key=image.key,
        base_image=image.base.ref,
        base_digest=image.base.digest,
        base_source=image.base.source,
        engine_settings=tuple(
            SettingsRecord(settings=settings, snapshots=names) for settings, names in settings_groups(image.catalogs)
        ),
        isolation=IsolationRecord(
            provider=isolation.provider,
            method=isolation.method,
            network=isolation.network,
            limits=isolation.limits,
            missing=isolation.missing,
            level=config.isolation,
            gold_level=config.isolation,
            stricter=_stricter(config, cases),
        ),
        policy_origin=dict(config.policy_origins),
        metrics=tuple(metric.name for metric in bench.rules.metrics),
    )


def _stricter(config: RunConfig, cases: Sequence[Case]) -> dict[IsolationLevel, int]:
    """Return how many cases are kept apart further than the run asks; a change is always alone on its server."""
    levels = ["statement" if case.query_type != "dql" else stricter(config.isolation, case.isolation) for case in cases]
    found: dict[IsolationLevel, int] = {}
    for level in ("case", "statement"):
        if level != config.isolation and (count := levels.count(level)):
            found[level] = count
    return found


_NO_SETTING = frozenset(
    {
        "dialect",
        "predictions",
        "agent",
        "out",
        "mirror",
        "images_lock",
        "judge",
        "judge_record",
        "policy",
        "policy_name",
        "dry_run",
        "origins",
        "policy_origins",
    }
)
"""Fields that stand elsewhere in the manifest, or name a place on this machine."""


def _settings(config: RunConfig) -> dict[str, object]:
    """Return each setting with its value, enough to resume the run; `origins` says where it was set."""
    values: dict[str, object] = {"policy": config.policy_name, "origins": dict(config.origins)}
    for setting in fields(config):
        if setting.name not in _NO_SETTING:
            values[setting.name] = _plain(getattr(config, setting.name))
    return values


def _plain(value: object) -> object:
    """Return a setting as JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


def _version(package: str) -> str:
    """Return an installed package's version, `absent` where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
