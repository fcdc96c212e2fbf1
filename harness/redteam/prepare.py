"""Prepare a drill and run it: files read, engine up, image built, everything removed again at the end."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from sqlassay.dialect_adapters.registry import adapter as find_adapter
from sqlassay.harness.redteam.attacks import read_attacks, read_benign, sample
from sqlassay.harness.redteam.drill import LIMITS, Plan, Progress, Site, drill
from sqlassay.harness.redteam.report import result
from sqlassay.harness.redteam.targets import attacks_file, benign_file, find_target
from sqlassay.harness.redteam.variants import variants
from sqlassay.harness.results.redteam import Layer, RedTeamResult
from sqlassay.sandboxes.engine import EnginePolicy
from sqlassay.sandboxes.images.choice import DEFAULT_CHOICE, BaseChoice
from sqlassay.sandboxes.opening import open_provider


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asked for."""

    dialect: str
    attacks: Path | None
    benign: Path | None
    snapshot: str | None
    layers: tuple[Layer, ...]
    jobs: int
    sample: int | None
    seed: int
    timeout: float
    sandbox: str
    engine: EnginePolicy
    runtime: str = ""
    bases: BaseChoice = DEFAULT_CHOICE


def run(asked: Asked, notice: Callable[[str], None], progress: Progress) -> RedTeamResult:
    """Run the drill that was asked for.

    Raises:
        InputError: a malformed file, an unknown dialect, snapshot, provider or runtime.
        InfrastructureError: no engine, image or sandbox.
    """
    started = time.monotonic()
    adapter = find_adapter(asked.dialect)
    target = find_target(asked.dialect, asked.snapshot)
    plan = _plan(asked)
    provider = open_provider(
        adapter.recipe, asked.sandbox, notice, engine=asked.engine, runtime=asked.runtime, bases=asked.bases
    )
    try:
        image = provider.prepare(adapter, (target.snapshot,), notice)
        site = Site(provider, adapter, image, target, f"redteam-{secrets.token_hex(4)}")
        return result(site, plan, drill(site, plan, progress), time.monotonic() - started)
    finally:
        provider.close()


def _plan(asked: Asked) -> Plan:
    """Return what is run: the files, their variants, and a seeded sample of both where one was asked for."""
    attacks = asked.attacks or attacks_file(asked.dialect)
    benign = asked.benign or benign_file(asked.dialect)
    listed = read_attacks(attacks, asked.dialect)
    changed = tuple(variants(listed, asked.seed)) if "guard" in asked.layers else ()
    return Plan(
        dialect=asked.dialect,
        attacks=sample(listed, asked.sample, asked.seed),
        variants=sample(changed, asked.sample and asked.sample * 10, asked.seed),
        benign=read_benign(benign, asked.dialect),
        layers=asked.layers,
        jobs=asked.jobs,
        seed=asked.seed,
        attacks_file=attacks,
        benign_file=benign,
        limits=replace(LIMITS, timeout=asked.timeout),
    )
