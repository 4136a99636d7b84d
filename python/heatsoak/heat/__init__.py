"""Heat sources that warm the case while a drive is tested, with one interface.

:func:`heater` returns the heater of a source, which is started, checked and stopped. Heaters end
when heatsoak ends, even by kill -9.
"""

from collections.abc import Callable
from pathlib import Path

from heatsoak.heat.process import Ask, Heater
from heatsoak.heat.sources import PersonHeater, command_heater, cpu_heater, gpu_heater
from heatsoak.heat.steady import Steadiness

__all__ = ["Heater", "Steadiness", "heater"]


def heater(source: str, load_pct: float, command: str | None, log: Path, ask: Ask | None) -> Heater:
    """Return the heater for `source` (``gpu``, ``cpu``, ``command``, ``person``).

    `log` is the file for its output; `ask` prompts the user at the terminal, None without one.
    Raises UsageError, with a hint, if this machine cannot run it.
    """
    make: dict[str, Callable[[], Heater]] = {
        "gpu": lambda: gpu_heater(load_pct, log),
        "cpu": lambda: cpu_heater(load_pct, log),
        "command": lambda: command_heater(command or "", log),
        "person": lambda: PersonHeater(load_pct, ask),
    }
    return make[source]()
