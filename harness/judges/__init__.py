"""Judges: who answers a prompt, and how an answer is fetched, checked, kept and counted."""

from sqlassay.harness.judges.contract import Figures, Seated
from sqlassay.harness.judges.registry import open_judge

__all__ = ["Figures", "Seated", "open_judge"]
