"""Parsing behind a shield: one killable worker turns SQL text into plain facts; the parent never loads a parser."""

from __future__ import annotations

from sqlassay.harness.parse.parser import Parser

__all__ = ["Parser"]
