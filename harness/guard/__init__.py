"""The static guard: a pure decision on text and facts, before any database sees the statement."""

from __future__ import annotations

from harness.guard.check import check
from harness.guard.lexer import split
from harness.guard.profiles import PROFILES

__all__ = ["PROFILES", "check", "split"]
