"""Calibration: how far a judge agrees with people, before its scores are believed."""

from harness.calibrate.calibration import calibrate
from harness.calibrate.labels import Label, read_labels

__all__ = ["Label", "calibrate", "read_labels"]
