"""Heat of the processor: stress-ng on all its cores, in time that nobody else wants.

A core that is kept free for fio would be a core that does not heat, half the heat of two. Under the
kernel's idle policy (sched(7), SCHED_IDLE) stress-ng gives way to fio within microseconds instead;
what the two still share is the processor's clock, its caches and its memory.
"""

from pathlib import Path

from heatsoak.heat.base import program
from heatsoak.heat.process import ProcessHeater

#: Of stress-ng's methods the one that its manual page calls the hottest.
_METHOD = "matrixprod"
_NOTE = (
    "the processor was heated meanwhile, in time that fio left: fio had its cores, but shared "
    "clock, caches and memory with the heater, so compare only with runs that were heated alike"
)


def cpu_heater(load_pct: float, log: Path) -> ProcessHeater:
    """Return the heater that loads all cores to `load_pct`."""
    stress = program(
        "stress-ng",
        advice="apt-get install stress-ng, or make the heat yourself and say --set heat=by-hand",
    )
    chrt = program("chrt", advice="apt-get install util-linux")
    line = [chrt, "--idle", "0", stress, "--cpu", "0", "--cpu-method", _METHOD]
    line += ["--cpu-load", f"{max(round(load_pct), 1)}", "--timeout", "0"]
    # it wants a directory that it can write to, even for loads that write nothing
    line += ["--temp-path", str(log.parent)]
    return ProcessHeater(line, log, name="stress-ng", notes=[_NOTE])
