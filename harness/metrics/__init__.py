"""Metrics: pure functions from evidence to a score and a reason."""
