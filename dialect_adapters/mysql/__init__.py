"""The mysql dialect."""
