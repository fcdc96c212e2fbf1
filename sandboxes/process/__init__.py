"""SQLite in a jailed worker process on this machine: no container engine needed."""
