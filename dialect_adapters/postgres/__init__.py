"""The postgres dialect."""
