"""Whether the temperatures of recordings can be trusted, and whether they explain throttling."""

from heatsoak.analysis.sensors.judge import judge_sensors_together, sense

__all__ = ["judge_sensors_together", "sense"]
