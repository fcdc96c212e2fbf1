"""Calibration: how far a judge agrees with people, before its scores are believed."""

from sqlassay.harness.calibrate.calibration import calibrate
from sqlassay.harness.calibrate.labels import Label, read_labels

__all__ = ["Label", "calibrate", "read_labels"]
