"""How an engine is spoken to: sessions, limits, types, grammar rules, loading."""
