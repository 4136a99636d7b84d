"""Heat of NVIDIA's graphics cards: gpu-burn on all of them.

gpu-burn knows full load alone. A lesser one is made in time: its processes are stopped and let go
on by turns of two seconds, far shorter than a card takes to warm or cool.
"""

from pathlib import Path

from heatsoak.heat.base import program
from heatsoak.heat.process import ProcessHeater

#: It wants to be told how long; nothing is tested for a year.
_YEAR_S = 365 * 24 * 3600
#: What it compares its results with, looked for in the directory that it is run in.
_KERNEL = "compare.ptx"


def gpu_heater(load_pct: float, log: Path) -> ProcessHeater:
    """Return the heater that loads all cards for `load_pct` of the time."""
    burn = program(
        "gpu-burn",
        "gpu_burn",
        advice="install it (https://github.com/wilicc/gpu-burn) in /usr/local/bin, or name its "
        "directory in HEATSOAK_TOOLS, give the [[heat]] source = "
        "'command' and a command of your own, or make the heat yourself and say --set heat=by-hand",
    )
    beside = Path(burn).resolve().parent
    return ProcessHeater(
        [burn, str(_YEAR_S)],
        log,
        busy_pct=load_pct,
        directory=beside if (beside / _KERNEL).exists() else None,
    )
