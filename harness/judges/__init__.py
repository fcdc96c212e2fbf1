"""Judges: who answers a prompt, and how an answer is fetched, checked, kept and counted."""
