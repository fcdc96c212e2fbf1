"""Run, guard, compare, score and report: the evaluation itself."""
