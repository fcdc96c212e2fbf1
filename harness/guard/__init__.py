"""The static guard: a pure decision on text and facts, before any database sees the statement."""

from __future__ import annotations

from sqlassay.harness.guard.check import check
from sqlassay.harness.guard.lexer import split
from sqlassay.harness.guard.profiles import PROFILES

__all__ = ["PROFILES", "check", "split"]
