"""Turns a finished run into files and terminal text; reads results only, decides nothing."""
