"""Readers of pack formats; each is one module and one entry-point line."""
