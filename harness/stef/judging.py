"""The three questions a judge is asked: drift (stage 1), the question's specification, the verdict (stage 4)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlassay.harness.metrics.grading import asked
from sqlassay.harness.results.blocks import Block
from sqlassay.harness.results.judging import Ask, Judgement
from sqlassay.harness.stef.alignment import Alignment
from sqlassay.harness.stef.answers import DriftAnswer, QuestionSpec, VerdictAnswer
from sqlassay.harness.stef.rules import RuleProfile

_NAMES = 200
"""Names of columns a judge is shown at most."""


def ask_drift(ask: Ask, question: str, enriched: str, profile: RuleProfile) -> Judgement[DriftAnswer]:
    """Ask whether the enriched question still asks for what the user asked."""
    return asked(
        ask, DriftAnswer, "stef_drift", question=question, enriched_question=enriched, rules=rules_text(profile)
    )


def ask_specification(
    ask: Ask, question: str, enriched: str | None, profile: RuleProfile, blocks: Sequence[Block]
) -> Judgement[QuestionSpec]:
    """Ask for the question's specification; names of columns are shown, never what the query does with them."""
    return asked(
        ask,
        QuestionSpec,
        "stef_question",
        question=question,
        enriched_question=enriched,
        rules=rules_text(profile),
        names=", ".join(_names(blocks, profile)) or None,
    )


def ask_verdict(
    ask: Ask, question: str, enriched: str | None, sql: str, profile: RuleProfile, alignment: Alignment
) -> Judgement[VerdictAnswer]:
    """Ask for the verdict and the confidence in it, with the comparison record at hand."""
    return asked(
        ask,
        VerdictAnswer,
        "stef_verdict",
        question=question,
        enriched_question=enriched,
        sql=sql,
        rules=rules_text(profile),
        comparison=comparison_text(alignment),
    )


def rules_text(profile: RuleProfile) -> str | None:
    """Return a profile's rules as a judge reads them, None where there are none."""
    rules = profile.model_dump(mode="json", exclude={"tolerance"}, exclude_defaults=True)
    return json.dumps(rules, ensure_ascii=False, indent=1) if rules else None


def comparison_text(alignment: Alignment) -> str:
    """Return the comparison record as a judge reads it."""
    found = alignment.filters
    lines = [
        f"filters: {found.status}",
        *(f"required filter met: {each}" for each in found.matched),
        *(f"required filter missing: {each}" for each in found.missing),
        *(f"required filter {each} is in the query as: {other}" for each, other in found.mismatched),
        *(f"extra filter{', benign' if each in found.benign else ''}: {each}" for each in found.extras),
    ]
    for name in ("projection", "aggregation", "grouping"):
        lines.append(f"{name}: {'matches' if getattr(alignment, name) else 'does not match'}")
    for field in ("outputs", "aggregations", "groups"):
        for kind in ("missing", "extra"):
            lines += [f"{kind} {field}: {each}" for each in getattr(alignment, f"{kind}_{field}")]
    lines += [f"required GROUP BY: {each}" for each in alignment.required_groups]
    lines += [f"constrained GROUP BY: {each}" for each in alignment.pinned_groups]
    return "\n".join([*lines, f"ORDER BY: {alignment.order}", f"LIMIT: {alignment.limit}"])


def _names(blocks: Sequence[Block], profile: RuleProfile) -> list[str]:
    """Return names of columns that the query and the rules use, sorted: their order says nothing."""
    found = {
        name
        for block in blocks
        for name in (
            *(each.sql for each in block.selected),
            *(each.column for each in block.called),
            *(each.lhs for each in block.conditions),
            *block.grouped,
        )
        if name.replace("_", "").isalnum() and not name.isdigit()
    }
    return sorted(found | set(profile.column_mappings.values()))[:_NAMES]
