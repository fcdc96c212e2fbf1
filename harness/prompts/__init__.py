"""Prompts for judges: text files with slots, and the fence that keeps hostile text data."""

from harness.prompts.builder import SYSTEM, build, fill, prompt_names

__all__ = ["SYSTEM", "build", "fill", "prompt_names"]
