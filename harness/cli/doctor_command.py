"""`sqlassay doctor`: what works here, which limits are off, and the line that fixes what does not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sqlassay.sandboxes.checks import Finding


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Write the findings as JSON.")
def command(as_json: bool) -> int:
    """Say what works on this machine, which limits are off, and the exact line that fixes what does not.

    Ends with exit code 0 where at least one dialect can be evaluated as it is, else 3.
    """
    from sqlassay.sandboxes.checks import examine

    parser = _parser()
    findings = (parser, *examine())
    usable = parser.ok and any(finding.ok for finding in findings if finding.decides)
    if as_json:
        value = {
            "format": 1,
            "usable": usable,
            "checks": [
                {"name": f.name, "ok": f.ok, "found": f.found, "fix": f.fix, "decides": f.decides} for f in findings
            ],
        }
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        for finding in findings:
            click.echo(f"{'ok ' if finding.ok else 'NO '} {finding.name}: {finding.found}")
            if finding.fix:
                click.echo(f"     fix: {finding.fix}")
        click.echo("OK: evaluations can run here (exit 0)" if usable else "INFRASTRUCTURE: nothing can run (exit 3)")
    return 0 if usable else 3


def _parser() -> Finding:
    """Return whether the process that reads SQL starts and reads a text: without it nothing is judged."""
    from sqlassay.cases.errors import InfrastructureError
    from sqlassay.harness.parse import Parser
    from sqlassay.sandboxes.checks import Finding

    try:
        with Parser() as parser:
            read = parser.parse("SELECT 1", "sqlite", sqlglot_dialect="sqlite")
    except InfrastructureError as fault:
        return Finding("parser", False, fault.message, fault.remedy)
    return Finding("parser", read.error is None, read.error or f"{read.parser} reads SELECT 1")
