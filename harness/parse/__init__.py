"""Parsing behind a shield: one killable worker turns SQL text into plain facts; the parent never loads a parser."""
