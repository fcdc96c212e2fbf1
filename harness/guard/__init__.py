"""The static guard: a pure decision on text and facts, before any database sees the statement."""

from __future__ import annotations

from harness.guard.check import check

__all__ = ["check"]
