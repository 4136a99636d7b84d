"""Recordings in, findings out: episodes, their cause, consistency, trust in sensors."""

from heatsoak.analysis.findings import (
    Answer,
    Consistency,
    CopyFindings,
    CopyStepFindings,
    Episode,
    Findings,
    RecordingFindings,
    RoundsFindings,
    ScoreFindings,
    SensorTrust,
    StepFindings,
    Unloaded,
)
from heatsoak.analysis.judge import analyze

__all__ = [
    "Answer",
    "Consistency",
    "CopyFindings",
    "CopyStepFindings",
    "Episode",
    "Findings",
    "RecordingFindings",
    "RoundsFindings",
    "ScoreFindings",
    "SensorTrust",
    "StepFindings",
    "Unloaded",
    "analyze",
]
