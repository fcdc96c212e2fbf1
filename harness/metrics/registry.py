"""Find metrics by name among the installed `sqlassay.metrics` entry points, ours registered as a stranger's."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint

from cases import extensions
from harness.metrics.contract import Metric

GROUP = "sqlassay.metrics"

PRIMARY = (
    "routing",
    "structural",
    "execution_accuracy",
    "strict_execution_accuracy",
    "execution_score",
    "disagreement",
)
"""The metrics of a run that names none, in report order."""


def installed() -> dict[str, EntryPoint]:
    """Return every installed metric's entry point by name."""
    return extensions.installed(GROUP)


def metrics(names: Sequence[str] | None) -> tuple[Metric, ...]:
    """Return the named metrics in the given order, the primary ones where none are named.

    Raises:
        InputError: an unknown metric; the remedy lists the installed ones.
    """
    chosen = names if names is not None else PRIMARY
    return tuple(extensions.load(GROUP, name, what="metric", field="--metrics") for name in chosen)
