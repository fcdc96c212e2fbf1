"""`sqlassay list WHAT`: names of everything that can be named on a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sqlassay.cases.counting import counted

if TYPE_CHECKING:
    from sqlassay.cases.policy import Policy

KINDS = ("packs", "metrics", "dialects", "policies", "formats", "reports", "sandboxes", "agents", "judges")


@click.command("list")
@click.argument("what", type=click.Choice(KINDS))
def command(what: str) -> int:
    """List the installed packs, metrics, dialects, policies, formats, reports, sandboxes, agents or judges."""
    for line in _lines(what):
        click.echo(line)
    return 0


def _lines(what: str) -> list[str]:
    """Return one line for each installed thing of a kind."""
    if what == "packs":
        return _packs()
    if what == "metrics":
        return _metrics()
    if what == "policies":
        from sqlassay.cases.presets import preset, preset_names

        return [_policy(name, preset(name), preset("strict")) for name in preset_names()]
    from sqlassay.cases.extensions import installed

    return list(installed(f"sqlassay.{what}"))


def _policy(name: str, policy: Policy, strict: Policy) -> str:
    """Return a preset with where it differs from `strict`, and its digest."""
    own, base = policy.model_dump(mode="json"), strict.model_dump(mode="json")
    differs = ", ".join(f"{field} {_shown(value)}" for field, value in own.items() if value != base[field])
    told = differs or ("every row, cell, type, order and column as it is" if name == "strict" else "as strict")
    return f"{name}  {told}  ({policy.digest})"


def _shown(value: object) -> str:
    """Return a field's value as a policy file spells it."""
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _packs() -> list[str]:
    """Return each bundled pack with its number of cases."""
    from sqlassay.cases.formats.registry import find_pack, load_pack, own_packs

    found = []
    for name in own_packs():
        pack = load_pack(find_pack(name))
        dialects = sorted({dialect for case in pack.cases for dialect in case.gold})
        found.append(f"{name}  {counted(len(pack.cases), 'case')}, gold for {', '.join(dialects)}")
    return found


def _metrics() -> list[str]:
    """Return each metric with its range, what it needs, its formula and its source."""
    from sqlassay.harness.metrics.registry import installed, metrics

    found = []
    for metric in metrics(sorted(installed())):
        low, high = metric.range
        needs = ", ".join(sorted(metric.needs)) or "nothing"
        found.append(f"{metric.name}  {low:g}..{high:g}  needs {needs}: {metric.formula} [{metric.citation}]")
    return found
