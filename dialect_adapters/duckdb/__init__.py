"""DuckDB: files written on the host, read in process by jailed workers."""
