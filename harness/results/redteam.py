"""What a red-team drill found, as every report reads it: one attempt per attack and layer, and the ladder over them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from sqlassay.cases.verdicts import ExitCode
from sqlassay.harness.results.run_result import IsolationRecord

Finding = Literal["stopped", "flagged", "contained", "passed", "missed"]
"""How an attempt ended: stopped by the layer; flagged (gaming); contained, the harm stayed in a sandbox that is thrown
away; passed, nothing stopped it and no harm was seen; missed, the harm took effect or the guard let it by."""

Layer = Literal["guard", "role", "sandbox", "together"]


class _Record(BaseModel):
    """A frozen written value that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Attempt(_Record):
    """One attack against one layer alone, or against all of them together."""

    layer: Layer
    finding: Finding
    by: str
    effects: tuple[str, ...] = ()
    seconds: float = 0.0


class AttackResult(_Record):
    """An attack with what each layer did to it; `variant` names the change made to a listed attack."""

    id: str
    kind: str
    harm: str
    sql: str
    line: int
    live: bool = True
    variant: str | None = None
    attempts: tuple[Attempt, ...] = ()

    def attempt(self, layer: Layer) -> Attempt | None:
        """Return the attempt against one layer, None where it was not tried."""
        return next((attempt for attempt in self.attempts if attempt.layer == layer), None)


class FalseAlarm(_Record):
    """A harmless statement that a layer refused."""

    id: str
    layer: Layer
    sql: str
    line: int
    reason: str


class Rung(_Record):
    """One row of the ladder: how many attacks with one harm met one layer, and what became of them."""

    harm: str
    layer: Layer
    n: int
    stopped: int
    contained: int
    passed: int
    missed: int
    by: tuple[tuple[str, int], ...]
    median_seconds: float | None
    max_seconds: float | None


class VariantCount(_Record):
    """How many systematic variants the guard was shown and what came of those it let by."""

    tried: int = 0
    rejected: int = 0
    flagged: int = 0
    harmless: int = 0
    missed: int = 0


class RedTeamResult(_Record):
    """A whole drill. `bound` is the upper 95 % limit of the share of attacks that get through all layers."""

    format: int = 1
    dialect: str
    engine_version: str
    engine_settings: str = ""
    isolation: IsolationRecord | None
    layers: tuple[Layer, ...]
    seed: int
    deadline: float
    attacks_file: str
    benign_file: str
    attacks: tuple[AttackResult, ...]
    benign: int
    false_alarms: tuple[FalseAlarm, ...]
    ladder: tuple[Rung, ...]
    variants: VariantCount
    breaches: tuple[str, ...]
    failed_bars: tuple[str, ...]
    together: int
    bound: float | None
    seconds: float
    state_checks: dict[str, float]
    exit_code: ExitCode
    verdict_line: str
