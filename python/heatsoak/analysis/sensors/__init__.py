"""Whether the temperatures of recordings can be trusted, and whether they explain throttling."""

from heatsoak.analysis.sensors.judge import (
    EpisodeOnset,
    is_thermal,
    judge_sensors,
    judge_sensors_together,
)

__all__ = ["EpisodeOnset", "is_thermal", "judge_sensors", "judge_sensors_together"]
