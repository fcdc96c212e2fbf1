"""What extensions are written against: metrics, formats, reports, dialects, sandboxes, agents and judges.

An extension is a Python package that names its object under an entry point; docs/how-to shows each kind.

| entry point | object |
|---|---|
| `sqlassay.metrics` | a `Metric` |
| `sqlassay.formats` | a `Format`, which reads a path into a `Pack` |
| `sqlassay.reports` | a function from `RunResult` and folder to the paths it wrote |
| `sqlassay.dialects` | an `Adapter` |
| `sqlassay.sandboxes` | a `Provider` of `Sandbox`es |
| `sqlassay.agents` | a function that makes an `Agent` |
| `sqlassay.judges` | a function from `JudgeSpec` and environment to `Backend`s |
"""

from __future__ import annotations

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.formats.contract import Format
from sqlassay.cases.pack import Pack
from sqlassay.cases.relation import Column, Kind, Relation
from sqlassay.dialect_adapters.contract import Adapter, ServerRecipe
from sqlassay.harness.agents.contract import Agent
from sqlassay.harness.agents.request import AgentRequest
from sqlassay.harness.judges.contract import Backend, JudgeError, JudgeSpec, Question, Reply
from sqlassay.harness.metrics.contract import Ask, Metric
from sqlassay.harness.prompts import fill
from sqlassay.harness.reports.escape import one_line
from sqlassay.harness.reports.registry import Report
from sqlassay.harness.results.case_result import CaseResult
from sqlassay.harness.results.evidence import Evidence, Score
from sqlassay.harness.results.run_result import RunResult
from sqlassay.sandboxes.contract import BaseImage, Isolation, Provider, Sandbox, SnapshotImage

__all__ = [
    "Adapter",
    "Agent",
    "AgentRequest",
    "Ask",
    "Backend",
    "BaseImage",
    "Case",
    "CaseResult",
    "Column",
    "Evidence",
    "Format",
    "InfrastructureError",
    "InputError",
    "Isolation",
    "JudgeError",
    "JudgeSpec",
    "Kind",
    "Metric",
    "Pack",
    "Prediction",
    "Provider",
    "Question",
    "Relation",
    "Reply",
    "Report",
    "RunResult",
    "Sandbox",
    "Score",
    "ServerRecipe",
    "SnapshotImage",
    "fill",
    "one_line",
]
