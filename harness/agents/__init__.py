"""Where predictions come from: a file, or a callable in a child process that cannot see the gold."""
