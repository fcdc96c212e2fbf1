"""SQLAS's way in: `evaluate()` for one query, `run_suite()` for test cases and an agent, with its names and shapes.

The databases are sandboxes of ours, made from a SQLite file or a pack's snapshot; there is no way to a live one.
"""

from sqlassay.harness.metrics.sqlas_overall import V1 as WEIGHTS
from sqlassay.harness.metrics.sqlas_overall import V2 as WEIGHTS_V2
from sqlassay.harness.sqlas.scores import SQLASScores
from sqlassay.harness.sqlas.suite import TestCase, evaluate, run_suite

__all__ = ["WEIGHTS", "WEIGHTS_V2", "SQLASScores", "TestCase", "evaluate", "run_suite"]
