"""Everything that decides a run's results, written down before the first case."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from cases.case import Case
from cases.pack import Pack
from harness.results.run_result import IsolationRecord, Manifest
from harness.run.asking import Asker
from harness.run.bench import Bench
from harness.run.options import RunConfig
from sandboxes.contract import Isolation

_PACKAGES = ("sqlglot", "pydantic", "psycopg", "pymysql", "sqlalchemy", "docker", "testcontainers")


def manifest(
    config: RunConfig, pack: Pack, cases: Sequence[Case], bench: Bench, asker: Asker, isolation: Isolation
) -> Manifest:
    """Return the run's manifest; no path of the machine and no connection string is in it."""
    image = bench.image
    return Manifest(
        run_id=bench.run_id,
        created=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        sqlassay=_version("sqlassay"),
        packages={name: _version(name) for name in _PACKAGES},
        dialect=config.dialect,
        engine_version=image.catalogs[0].engine_version if image.catalogs else image.base.version,
        image=image.ref,
        image_key=image.key,
        base_image=image.base.ref,
        base_digest=image.base.digest,
        base_source=image.base.source,
        isolation=IsolationRecord(
            provider=isolation.provider,
            method=isolation.method,
            network=isolation.network,
            limits=isolation.limits,
            missing=isolation.missing,
        ),
        pack=pack.name,
        pack_format=pack.format,
        case_set=pack.digest,
        cases=len(cases),
        agent=asker.label,
        predictions_digest=asker.digest,
        settings=_settings(config),
        policy=config.policy.model_dump(mode="json"),
        policy_origin=dict(config.policy_origins),
        policy_digest=config.policy.digest,
        metrics=tuple(metric.name for metric in bench.rules.metrics),
        seed=config.seed,
    )


def _settings(config: RunConfig) -> dict[str, object]:
    """Return each setting with its value; `origins` says where it was set."""
    return {
        "timeout": config.timeout,
        "gold_timeout": config.gold_timeout,
        "row_limit": config.row_limit,
        "trials": config.trials,
        "alpha": config.alpha,
        "beta": config.beta,
        "disagreement": config.disagreement,
        "policy": config.policy_name,
        "clock": config.clock.isoformat() if config.clock else None,
        "only": list(config.only),
        "tags": list(config.tags),
        "limit": config.limit,
        "sample": config.sample,
        "store_rows": config.store_rows,
        "jobs": config.jobs,
        "origins": dict(config.origins),
    }


def _version(package: str) -> str:
    """Return an installed package's version, `absent` where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
