"""Whether the temperatures of recordings can be trusted, and whether they explain throttling."""

from heatsoak.analysis.sensors.judge import Onset, is_thermal, judge_sensors, judge_sensors_together

__all__ = ["Onset", "is_thermal", "judge_sensors", "judge_sensors_together"]
