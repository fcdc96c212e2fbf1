"""The public API of sqlassay."""
