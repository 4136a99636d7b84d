"""NVIDIA graphics cards, read through NVML: they warm the drive's air.

Missing cards, drivers or permissions are not an error. Other vendors' cards have hwmon nodes and
are not read here.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from heatsoak.sensor.base import Sensor, SensorInfo
from heatsoak.words import listed

_READINGS: dict[str, Callable[[Any, Any], float]] = {
    "temp_c": lambda nvml, card: nvml.nvmlDeviceGetTemperature(card, nvml.NVML_TEMPERATURE_GPU),
    "gpu_load_pct": lambda nvml, card: nvml.nvmlDeviceGetUtilizationRates(card).gpu,
    "gpu_power_w": lambda nvml, card: nvml.nvmlDeviceGetPowerUsage(card) / 1000,
}


class GpuSensor(Sensor):
    """Temperature, load and power of all cards that NVML shows."""

    def __init__(self, nvml: Any, handles: list[Any]) -> None:
        """Take over an initialised NVML and its handles."""
        self._nvml = nvml
        self._handles = handles
        cards = [self._name(handle) for handle in handles]
        columns = tuple(self.read())
        self.info = SensorInfo(
            name="gpu",
            source=f"NVML: {listed(cards)}",
            columns=columns,
            details={"cards": cards, "wakes_drive": False},
        )

    @classmethod
    def find(cls, nvml: Any = None) -> "GpuSensor | None":
        """Return the sensor, or None without a card, driver or library."""
        try:
            nvml = nvml or import_module("pynvml")
        except ImportError:
            return None
        try:
            nvml.nvmlInit()
        except (nvml.NVMLError, OSError):
            return None
        try:
            count = nvml.nvmlDeviceGetCount()
            handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
            sensor = cls(nvml, handles)
        except nvml.NVMLError:
            nvml.nvmlShutdown()
            return None
        if not sensor.info.columns:
            sensor.close()
            return None
        return sensor

    def _name(self, handle: Any) -> str:
        try:
            name = self._nvml.nvmlDeviceGetName(handle)
        except self._nvml.NVMLError:
            return "unknown card"
        return name.decode() if isinstance(name, bytes) else str(name)

    def values(self) -> dict[str, float]:
        """Return the readings of all cards, leaving out what a card does not have."""
        values: dict[str, float] = {}
        problem = "there is no card"
        for index, handle in enumerate(self._handles):
            for family, reading in _READINGS.items():
                try:
                    values[f"{family}.gpu{index}"] = float(reading(self._nvml, handle))
                except self._nvml.NVMLError as error:
                    problem = str(error)
        if not values:
            raise OSError(problem)
        return values

    def close(self) -> None:
        """Release NVML; may be called twice."""
        if self._handles:
            self._handles = []
            self._nvml.nvmlShutdown()
