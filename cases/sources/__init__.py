"""Where a snapshot's content comes from: schema YAML with CSV, SQL scripts, or a SQLite file."""
