"""The static guard: a pure decision on text and facts, before any database sees the statement."""
