"""Find metrics by name among the installed `sqlassay.metrics` entry points, ours registered as a stranger's."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint

from cases import extensions
from cases.errors import InputError
from harness.metrics.contract import Metric
from harness.results.evidence import MetricSettings

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


PROFILES: dict[str, tuple[str, ...]] = {"skill": PRIMARY}
"""What `--profile` stands for."""

_POLICY = "policy:"


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


def profile(name: str) -> tuple[str, ...]:
    """Return the metrics one profile stands for; `all` is every installed one.

    Raises:
        InputError: an unknown profile; the remedy lists the known ones.
    """
    if name == "all":
        return tuple(installed())
    if name not in PROFILES:
        raise InputError(
            f"unknown profile '{name}'", field="--profile", remedy=f"Choose one of {', '.join(PROFILES)}, all"
        )
    return PROFILES[name]


def check_options(chosen: Sequence[Metric], settings: MetricSettings) -> None:
    """Refuse options no chosen metric has, and values their metric refuses.

    Raises:
        InputError: naming the option; the remedy lists those the chosen metrics have.
    """
    known = [f"{metric.name}.{option}" for metric in chosen for option in metric.options]
    for name, _ in settings.options:
        if name not in known:
            have = ", ".join(known) or "none of the chosen metrics has any"
            raise InputError(
                f"no chosen metric has the option '{name}'", field="--metric-option", remedy=f"Known: {have}"
            )
    for metric in chosen:
        if metric.check is not None:
            metric.check(settings)


def presets_needed(chosen: Sequence[Metric]) -> tuple[str, ...]:
    """Return the presets these metrics want the results compared under, sorted."""
    return tuple(sorted({need.removeprefix(_POLICY) for m in chosen for need in m.needs if need.startswith(_POLICY)}))
