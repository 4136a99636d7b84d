"""Recordings in, findings out: episodes, their cause, consistency, trust in sensors."""

from heatsoak.analysis.copied import CopyFindings, CopyStepFindings
from heatsoak.analysis.findings import (
    Consistency,
    Episode,
    Findings,
    RecordingFindings,
    SensorTrust,
    StepFindings,
)
from heatsoak.analysis.judge import analyze
from heatsoak.analysis.scored import RoundsFindings, Score

__all__ = [
    "Consistency",
    "CopyFindings",
    "CopyStepFindings",
    "Episode",
    "Findings",
    "RecordingFindings",
    "RoundsFindings",
    "Score",
    "SensorTrust",
    "StepFindings",
    "analyze",
]
