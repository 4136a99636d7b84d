"""Whether the temperatures of a recording can be trusted."""

from heatsoak.analysis.sensors.judge import judge_sensors

__all__ = ["judge_sensors"]
