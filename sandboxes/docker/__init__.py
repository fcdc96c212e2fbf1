"""Sandboxes in containers, on any engine that speaks Docker's interface."""
