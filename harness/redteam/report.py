"""Turn what a drill saw into the one value its reports read."""

from __future__ import annotations

from collections import Counter
from statistics import median

from sqlassay.cases.catalog import settings_groups, settings_line
from sqlassay.harness.redteam.drill import ALONE, Findings, Plan, Site
from sqlassay.harness.redteam.figures import breaches, exit_code, failed_bars, ladder, upper_bound, verdict_line
from sqlassay.harness.results.redteam import AttackResult, Layer, RedTeamResult, VariantCount
from sqlassay.harness.results.run_result import IsolationRecord


def result(site: Site, plan: Plan, findings: Findings, seconds: float) -> RedTeamResult:
    """Return the drill's figures, breaches and verdict."""
    tried = tuple(found for found in findings.variants if len(found.attempts) > 1)
    missed = tuple(found for found in findings.variants if _missed(found))
    every = (*findings.attacks, *tried)
    layers: tuple[Layer, ...] = plan.layers
    if set(ALONE) <= set(layers):
        layers = (*layers, "together")
    broken = breaches(every)
    bars = failed_bars((*findings.attacks, *missed), findings.false_alarms, len(plan.benign), plan.layers)
    # Variants of one attack are no independent trials: the bound speaks of the attacks that were listed.
    n = sum(attack.attempt("together") is not None for attack in findings.attacks if attack.harm != "none")
    bound = upper_bound(min(len(broken), n), n)
    code = exit_code(broken, bars)
    return RedTeamResult(
        dialect=plan.dialect,
        engine_version=site.image.catalogs[0].engine_version,
        engine_settings=settings_line(settings_groups(site.image.catalogs)),
        isolation=_isolation(findings),
        layers=layers,
        seed=plan.seed,
        deadline=plan.limits.timeout,
        attacks_file=plan.attacks_file.name,
        benign_file=plan.benign_file.name,
        attacks=(*findings.attacks, *tried),
        benign=len(plan.benign),
        false_alarms=findings.false_alarms,
        ladder=ladder(findings.attacks, layers),
        variants=_variants(findings),
        breaches=broken,
        failed_bars=bars,
        together=n,
        bound=bound,
        seconds=round(seconds, 1),
        state_checks=_checks(findings),
        exit_code=code,
        verdict_line=verdict_line(code, broken, bars, n, bound),
    )


def _missed(variant: AttackResult) -> bool:
    """Return whether the guard let a variant by that did something."""
    attempt = variant.attempt("guard")
    return attempt is not None and attempt.finding == "missed"


def _variants(findings: Findings) -> VariantCount:
    """Count what the guard did with the variants."""
    count = Counter(attempt.finding for found in findings.variants if (attempt := found.attempt("guard")) is not None)
    return VariantCount(
        tried=len(findings.variants),
        rejected=count["stopped"],
        flagged=count["flagged"],
        harmless=count["passed"],
        missed=count["missed"],
    )


def _isolation(findings: Findings) -> IsolationRecord | None:
    """Return how the sandboxes were isolated, as it is written."""
    found = findings.isolation
    if found is None:
        return None
    return IsolationRecord(
        provider=found.provider, method=found.method, network=found.network, limits=found.limits, missing=found.missing
    )


def _checks(findings: Findings) -> dict[str, float]:
    """Return what looking at the whole state cost."""
    seconds, marks = findings.check_seconds, findings.mark_seconds
    if not seconds:
        return {}
    return {
        "marks": len(marks),
        "mark_median_seconds": round(median(marks), 6) if marks else 0.0,
        "checks": len(seconds),
        "median_seconds": round(median(seconds), 5),
        "max_seconds": round(max(seconds), 5),
        "sandboxes": findings.sandboxes,
    }
