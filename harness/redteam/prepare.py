"""Prepare a drill and run it: files read, engine up, image built, everything removed again at the end."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from dialect_adapters.registry import adapter as find_adapter
from harness.redteam.attacks import read_attacks, read_benign, sample
from harness.redteam.drill import LIMITS, Plan, Progress, Site, drill
from harness.redteam.report import result
from harness.redteam.targets import attacks_file, benign_file, find_target
from harness.redteam.variants import variants
from harness.results.redteam import Layer, RedTeamResult
from sandboxes.contract import Provider
from sandboxes.engine import EnginePolicy, ensure_engine
from sandboxes.registry import provider as find_provider

_PROVIDERS = {"files": "process", "server": "docker"}


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


def run(asked: Asked, notice: Callable[[str], None], progress: Progress) -> RedTeamResult:
    """Run the drill that was asked for.

    Raises:
        InputError: a malformed file, an unknown dialect or snapshot.
        InfrastructureError: no engine, image or sandbox.
    """
    started = time.monotonic()
    adapter = find_adapter(asked.dialect)
    target = find_target(asked.dialect, asked.snapshot)
    plan = _plan(asked)
    name = _PROVIDERS[adapter.recipe.kind] if asked.sandbox == "auto" else asked.sandbox
    provider = _provider(name, asked.engine, notice)
    try:
        image = provider.prepare(adapter, (target.snapshot,), notice)
        site = Site(provider, adapter, image, target, f"redteam-{secrets.token_hex(4)}")
        return result(site, plan, drill(site, plan, progress), time.monotonic() - started)
    finally:
        provider.close()


def _provider(name: str, engine: EnginePolicy, notice: Callable[[str], None]) -> Provider:
    """Return the provider with its engine up and dead runs' leftovers gone."""
    provider = find_provider(name)
    if provider.needs_engine:
        ensure_engine(engine, notice)
        provider = find_provider(name, engine_policy=engine)
    for removed in provider.sweep():
        notice(f"removed a leftover of a dead run: {removed}")
    return provider


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
