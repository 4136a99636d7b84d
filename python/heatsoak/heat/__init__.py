"""What warms the case while a drive is tested: one module a source, one interface.

:func:`heater` gives the one of a source; it is started, asked whether it still runs, and stopped.
Whatever ends heatsoak, kill -9 included, ends it too.
"""

from collections.abc import Callable
from pathlib import Path

from heatsoak.heat.process import Ask, Heater
from heatsoak.heat.sources import PersonHeater, command_heater, cpu_heater, gpu_heater
from heatsoak.heat.steady import Steadiness

__all__ = ["Heater", "Steadiness", "heater"]


def heater(source: str, load_pct: float, command: str | None, log: Path, ask: Ask | None) -> Heater:
    """Return what makes the heat of `source` (``gpu``, ``cpu``, ``command``, ``person``).

    `log` is where its output is kept; `ask` puts a question to the person at the terminal, None
    where there is nobody.
    Raises UsageError where it cannot be commanded on this machine, and says what would help.
    """
    make: dict[str, Callable[[], Heater]] = {
        "gpu": lambda: gpu_heater(load_pct, log),
        "cpu": lambda: cpu_heater(load_pct, log),
        "command": lambda: command_heater(command or "", log),
        "person": lambda: PersonHeater(load_pct, ask),
    }
    return make[source]()
