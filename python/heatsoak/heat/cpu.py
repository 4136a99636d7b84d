"""Heat of the processor: stress-ng on its cores, in time that nobody else wants.

Under the kernel's idle policy (sched(7), SCHED_IDLE) stress-ng gives way to fio on whatever core
fio is put. What the two still share slows fio all the same: the other thread of a core, clock,
caches and memory. So a machine of four cores or more keeps one for fio, which costs a quarter of
the heat at most; on fewer it would cost a third or a half of it, and none is kept.
"""

import os
from collections.abc import Collection
from pathlib import Path

from heatsoak.heat.base import program
from heatsoak.heat.process import ProcessHeater

#: Of stress-ng's methods the one that its manual page calls the hottest.
_METHOD = "matrixprod"
#: With so many cores one is kept.
_MANY_CORES = 4
_TOPOLOGY = Path("/sys/devices/system/cpu")


def cpu_heater(load_pct: float, log: Path) -> ProcessHeater:
    """Return the heater that loads cores to `load_pct`."""
    stress = program(
        "stress-ng",
        advice="apt-get install stress-ng, or make the heat yourself and say --set heat=by-hand",
    )
    chrt = program("chrt", advice="apt-get install util-linux")
    ours = os.sched_getaffinity(0)
    loaded = cpus_to_load(ours)
    line = [chrt, "--idle", "0", stress, "--cpu", f"{len(loaded)}", "--cpu-method", _METHOD]
    line += ["--cpu-load", f"{max(round(load_pct), 1)}", "--timeout", "0"]
    line += ["--taskset", ",".join(str(cpu) for cpu in loaded)]
    # it wants a directory that it can write to, even for loads that write nothing
    line += ["--temp-path", str(log.parent)]
    kept = (
        "one core was left to fio" if len(loaded) < len(ours) else "no core was left to fio alone"
    )
    note = (
        f"the processor was heated meanwhile, in idle time: {kept}, and clock, caches and memory "
        "were shared, so compare only with runs that were heated alike"
    )
    return ProcessHeater(line, log, name="stress-ng", notes=[note])


def cpus_to_load(cpus: Collection[int], topology: Path = _TOPOLOGY) -> list[int]:
    """Return which of the processors `cpus` to load: all, or all but those of one core of many."""
    cores: dict[str, list[int]] = {}
    for cpu in sorted(cpus):
        try:
            core = (topology / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text()
        except OSError:
            core = str(cpu)
        cores.setdefault(core.strip(), []).append(cpu)
    kept = list(cores.values())[-1] if len(cores) >= _MANY_CORES else []
    return [cpu for cpu in sorted(cpus) if cpu not in kept]
