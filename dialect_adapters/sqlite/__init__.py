"""SQLite: a jailed worker that speaks a framed protocol, its host-side session, loading and grammar rules."""
