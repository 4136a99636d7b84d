"""Whether the temperatures of recordings can be trusted, and whether they explain throttling."""

from heatsoak.analysis.sensors.judge import EpisodeOnset, judge_sensors_together, sense

__all__ = ["EpisodeOnset", "judge_sensors_together", "sense"]
