"""A run: options, selection, the two phases, and what is left at the end."""
