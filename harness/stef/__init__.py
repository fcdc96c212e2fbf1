"""STEF: a query judged by its question alone, without schema, gold or database (docs/stef.md)."""
