"""Prompts for judges: text files with slots, and the fence that keeps hostile text data."""

from sqlassay.harness.prompts.builder import SYSTEM, TooLongError, build, fill, prompt_names
from sqlassay.harness.prompts.statement import UNTOLD, without_comments

__all__ = ["SYSTEM", "UNTOLD", "TooLongError", "build", "fill", "prompt_names", "without_comments"]
