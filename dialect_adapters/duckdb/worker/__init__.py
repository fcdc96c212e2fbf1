"""Serve DuckDB files over a framed socket: one warm parent, one forked and limited child a session.

This package runs alone (`python3 -m worker --data DIR --socket PATH`) inside a jail with nothing but the standard
library and the `duckdb` module, and must not import the project. A frame is a 4-byte big-endian length and JSON text;
bytes travel as {"b": base64}. A connection opens with `open`, `cancel`, `fate` or `ping`; only `open` forks.
"""
