"""What metrics of cost look at, collected once the verdict stands: the engine's plan, and times beside the gold's."""

from __future__ import annotations

from dataclasses import replace

from sqlassay.cases.errors import InfrastructureError, RunEndsError
from sqlassay.cases.outcome import Failure, Rows
from sqlassay.cases.plan import QueryPlan
from sqlassay.dialect_adapters.explaining import Planning
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.dialect_adapters.timing import Paced
from sqlassay.harness.desk import Desk
from sqlassay.harness.results.evidence import Evidence
from sqlassay.sandboxes.station import Care

_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)
"""What a reader of plans raises where an answer is none that it knows."""


def measured(evidence: Evidence, snapshot_id: str | None, desk: Desk) -> Evidence:
    """Return the evidence with what the chosen metrics need of it; without such a metric nothing is run.

    Nothing of this can move the verdict: it stands already, and only seconds and the plan are kept.
    """
    if snapshot_id is None or evidence.case.query_type != "dql":
        return evidence
    if desk.rules.wants("plan"):
        plan, why = _planned(evidence, snapshot_id, desk)
        evidence = replace(evidence, plan=plan, no_plan=why)
    return _timed(evidence, snapshot_id, desk) if desk.rules.clocked else evidence


def _planned(evidence: Evidence, snapshot_id: str, desk: Desk) -> tuple[QueryPlan | None, str]:
    """Return the engine's plan of a prediction that the guard let through, else why there is none."""
    found = adapter(desk.rules.dialect)
    prediction, guard = evidence.prediction, evidence.guard
    if not isinstance(found, Planning):
        return None, f"{desk.rules.dialect} tells no plans"
    if prediction is None or prediction.sql is None or guard is None or not guard.allowed:
        return None, "the statement was not let through"
    rules, case = desk.rules, evidence.case
    question = found.plans.ask + prediction.sql
    pins, care = rules.pins(case, guard.flags), Care.FLAGGED if guard.flags else Care.PLAIN
    try:
        outcome = desk.station.run(
            snapshot_id, question, rules.case_limits(case), pins, level=rules.isolation(case), care=care
        )
        if isinstance(outcome, Rows):
            return found.plans.read(outcome.relation), ""
    except RunEndsError:
        raise  # the next case would fare no better: the run ends here and can be resumed
    except InfrastructureError as error:
        return None, error.message
    except _UNREADABLE as error:
        return None, f"the engine's plan is of a form that is not known here ({type(error).__name__})"
    return None, outcome.message if isinstance(outcome, Failure) else "the engine gave no plan"


def _timed(evidence: Evidence, snapshot_id: str, desk: Desk) -> Evidence:
    """Return the evidence with the seconds of its gold and its prediction in turn, where both gave rows."""
    execution = evidence.executions[-1] if evidence.executions else None
    both = execution is not None and isinstance(execution.gold, Rows) and isinstance(execution.predicted, Rows)
    prediction, gold = evidence.prediction, evidence.gold_sql
    if execution is None or not both or prediction is None or prediction.sql is None or gold is None:
        return evidence
    if snapshot_id != evidence.case.snapshot:
        paced = Paced(failure="the prediction ran on another snapshot than the gold")
    else:
        paced = _in_turn(evidence, gold, prediction.sql, desk)
    timed = replace(execution, timings=paced.rounds, clock=paced.clock, not_timed=paced.failure)
    return replace(evidence, executions=(*evidence.executions[:-1], timed))


def _in_turn(evidence: Evidence, gold: str, predicted: str, desk: Desk) -> Paced:
    """Return the rounds on a server that nothing has run on and nothing will run on afterwards."""
    rules, case = desk.rules, evidence.case
    pins = rules.pins(case, evidence.guard.flags if evidence.guard is not None else ())
    sides = (gold, rules.gold_limits), (predicted, rules.case_limits(case))
    try:
        return desk.station.timed(case.snapshot, *sides, rules.settings.repetitions, pins)
    except RunEndsError:
        raise  # the next case would fare no better: the run ends here and can be resumed
    except InfrastructureError as error:
        return Paced(failure=error.message)
