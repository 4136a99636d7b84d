"""The heat sources: the processor, graphics cards, a command of the user's, or the user."""

import os
import shlex
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

from heatsoak.errors import UsageError
from heatsoak.heat.process import Ask, ProcessHeater, program


def command_heater(command: str, log: Path) -> ProcessHeater:
    """Return the heater for a command line, which is split like in a shell but run without one.

    Its program is found on the user's PATH, which it also gets.
    """
    words = shlex.split(command)
    path = shutil.which(words[0])
    if path is None:
        raise UsageError(
            f"the command '{words[0]}' does not exist or is not executable: give its path"
        )
    return ProcessHeater([path, *words[1:]], log, is_users=True)


#: The method that stress-ng's manual page calls the hottest.
_METHOD = "matrixprod"
#: From this many cores on, one is left free.
_MANY_CORES = 4
_TOPOLOGY = Path("/sys/devices/system/cpu")


def find_stress_ng() -> str:
    """Return the program that loads cores; raises UsageError if it is missing."""
    return program(
        "stress-ng",
        advice="apt-get install stress-ng, or heat by other means with --set heat=by-hand",
    )


def cpu_heater(load_pct: float, log: Path) -> ProcessHeater:
    """Return the heater that loads cores to `load_pct`."""
    stress = find_stress_ng()
    chrt = program("chrt", advice="apt-get install util-linux")
    ours = os.sched_getaffinity(0)
    loaded = cpus_to_load(ours)
    line = [chrt, "--idle", "0", stress, "--cpu", f"{len(loaded)}", "--cpu-method", _METHOD]
    line += ["--cpu-load", f"{max(round(load_pct), 1)}", "--timeout", "0"]
    line += ["--taskset", ",".join(str(cpu) for cpu in loaded)]
    # it needs a writable directory even for loads that write nothing
    line += ["--temp-path", str(log.parent)]
    kept = (
        "one core was left to fio" if len(loaded) < len(ours) else "no core was left to fio alone"
    )
    note = (
        f"the processor was being heated, in idle time: {kept}, and clock, caches and memory "
        "were shared, so compare only with runs that were heated in the same way"
    )
    return ProcessHeater(line, log, name="stress-ng", notes=[note])


def cpus_to_load(cpus: Collection[int], topology: Path = _TOPOLOGY) -> list[int]:
    """Return which of `cpus` to load: all, or with many cores all except those of one core."""
    cores: dict[str, list[int]] = {}
    for cpu in sorted(cpus):
        try:
            core = (topology / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text()
        except OSError:
            core = str(cpu)
        cores.setdefault(core.strip(), []).append(cpu)
    kept = list(cores.values())[-1] if len(cores) >= _MANY_CORES else []
    return [cpu for cpu in sorted(cpus) if cpu not in kept]


#: It needs a duration; no test takes a year.
_YEAR_S = 365 * 24 * 3600
#: The kernel that it compares results with, which it loads from its working directory.
_KERNEL = "compare.ptx"


def find_gpu_burn() -> str:
    """Return the program that loads graphics cards; raises UsageError if it is missing."""
    return program(
        "gpu-burn",
        "gpu_burn",
        advice="install it (https://github.com/wilicc/gpu-burn) in /usr/local/bin, name its "
        "directory in HEATSOAK_TOOLS, give [[heat]] source = 'command' and your own command, "
        "or heat by other means with --set heat=by-hand",
    )


def gpu_heater(load_pct: float, log: Path) -> ProcessHeater:
    """Return the heater that loads all cards for `load_pct` of the time."""
    burn = find_gpu_burn()
    beside = Path(burn).resolve().parent
    return ProcessHeater(
        [burn, str(_YEAR_S)],
        log,
        busy_pct=load_pct,
        directory=beside if (beside / _KERNEL).exists() else None,
    )


class PersonHeater:
    """Asks the user to switch on the heat, and assumes that it is on."""

    def __init__(self, load_pct: float, ask: Ask | None) -> None:
        """Raises UsageError without a terminal to ask at."""
        if ask is None:
            raise UsageError(
                "there is no terminal to ask at: switch on the heat and use --set heat=by-hand"
            )
        self._ask = ask
        self._load_pct = load_pct

    def describe(self) -> dict[str, Any]:
        """Return that the user makes the heat."""
        return {"made_by": "a person, who was asked for it"}

    def notes(self) -> list[str]:
        """Return nothing: the protocol says what was asked for."""
        return []

    def start(self) -> None:
        """Ask the user to switch it on."""
        self._ask(f"Switch on the heat, at {self._load_pct:g} %")

    def why_ended(self) -> str | None:
        """Return None: nobody can know."""
        return None

    def stop(self) -> None:
        """Does nothing: the user is told what to set up next."""
