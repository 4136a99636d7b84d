"""What warms the case while a drive is tested: processor, graphics cards, a command, or the user.

:func:`heater` returns the heater of a source, which is started, checked and stopped. Heaters end
when heatsoak ends, even by kill -9.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from heatsoak import writing
from heatsoak.errors import ToolError, UsageError
from heatsoak.heat import keeper
from heatsoak.tools import environment, which
from heatsoak.words import percent_text

#: Shows a line to the user at the terminal, and returns once Enter was pressed.
Ask = Callable[[str], None]


class Heater(Protocol):
    """One heat source. Only created if this machine can run it."""

    def describe(self) -> dict[str, Any]:
        """Return its description for the recording, as JSON values."""

    def notes(self) -> list[str]:
        """Return what readers of the recording must know about this source."""

    def start(self) -> None:
        """Start heating; raises ToolError if that fails."""

    def why_ended(self) -> str | None:
        """Return None while it is heating, else why it stopped."""

    def stop(self) -> None:
        """Stop heating; may be called twice, and without start."""


def program(*names: str, advice: str) -> str:
    """Return the path of the first of `names` that is installed.

    Raises UsageError with `advice` if none is.
    """
    for name in names:
        path = which(name)
        if path is not None:
            return path
    raise UsageError(f"{names[0]} is not installed: {advice}")


#: A heater that fails to start exits within this time.
_START_S = 1.0
#: How long the keeper may take to end the heater.
_STOP_S = 2 * keeper.GRACE_S + 5.0
_TAIL_BYTES = 4096
_MAX_SHOWN = 300


class ProcessHeater:
    """A command supervised by its own :mod:`heatsoak.heat.keeper`.

    Attributes:
        command: the program's path and its arguments.
        name: its name in messages.
        log: the file with its output.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        *,
        busy_pct: float = 100.0,
        directory: Path | None = None,
        name: str | None = None,
        notes: Sequence[str] = (),
        is_users: bool = False,
    ) -> None:
        """Does not start it yet; `busy_pct` is the share of the time that it may run.

        The user's own command (`is_users`) gets the user's PATH, any other that of our tools.
        """
        self.command = list(command)
        self.name = name or Path(command[0]).name
        self.log = log
        self._busy_pct = busy_pct
        self._directory = directory
        self._notes = list(notes)
        self._is_users = is_users
        self._setpriv = program("setpriv", advice="apt-get install util-linux")
        self._keeper: subprocess.Popen[bytes] | None = None
        self._why: str | None = None

    def describe(self) -> dict[str, Any]:
        """Return its command line, the name of its output file, and its duty cycle."""
        known: dict[str, Any] = {"command": self.command, "output": self.log.name}
        return known if self._busy_pct == 100 else {**known, "busy_pct": self._busy_pct}

    def notes(self) -> list[str]:
        """Return what readers of the recording must know about it."""
        return self._notes

    def start(self) -> None:
        """Start it; raises ToolError if it ends immediately."""
        try:
            log = writing.numbered_file(self.log)
        except OSError as error:
            raise writing.write_error(self.log, error) from error
        self.log = Path(log.name)
        wanted = {
            # if the keeper is killed, the kernel kills the command too
            "command": [self._setpriv, "--pdeathsig", "KILL", "--", *self.command],
            "log": log.fileno(),
            "busy_pct": self._busy_pct,
            "directory": None if self._directory is None else str(self._directory),
        }
        # keeper.py needs nothing but the standard library: neither packages nor the environment
        with log:
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", "-S", keeper.__file__, json.dumps(wanted)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=None if self._is_users else environment(),
                start_new_session=True,  # Ctrl-C must only reach us
                pass_fds=[log.fileno()],
            )
        with suppress(subprocess.TimeoutExpired):
            self._keeper.wait(_START_S)
        why = self.why_ended()
        if why is not None:
            raise ToolError(why)

    def why_ended(self) -> str | None:
        """Return None while it is running, else how it ended and its last output."""
        if self._why is None and self._keeper is not None and self._keeper.poll() is not None:
            self._why = self._how_ended(self._keeper)
        return self._why

    def stop(self) -> None:
        """End it and all its descendants; raises ToolError if some process is left."""
        if self._keeper is None:
            return
        assert self._keeper.stdin is not None
        with suppress(BrokenPipeError):
            self._keeper.stdin.close()
        assert self._keeper.stdout is not None
        try:
            is_gone = self._keeper.wait(_STOP_S) != keeper.STILL_RUNNING
        except subprocess.TimeoutExpired:
            is_gone = False
        self._keeper.stdout.close()
        self._keeper = None
        if not is_gone:
            raise ToolError(
                f"the heater {self.name} cannot be stopped: find its processes and end them"
            )

    def _how_ended(self, kept: "subprocess.Popen[bytes]") -> str:
        assert kept.stdout is not None
        words = kept.stdout.read().decode("utf-8", "replace").split()
        if kept.returncode != 0 and words:
            # it was killed, and so was the command; end the rest of the command's group
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(int(words[0]), signal.SIGKILL)
        code = int(words[1]) if len(words) > 1 else None
        output = self._last_output()
        return f"{self.name} {_ending(code)}" + (f": {output}" if output else "")

    def _last_output(self) -> str:
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
                text = file.read().decode("utf-8", "replace")
        except OSError:
            return ""
        lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
        return " / ".join(lines[-3:])[-_MAX_SHOWN:]


def _ending(code: int | None) -> str:
    if code is None:
        return "was killed with its keeper"
    if code < 0:
        return f"was killed by signal {-code} ({signal.Signals(-code).name})"
    return f"ended with exit code {code}"


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
        self._ask(f"Switch on the heat, at {percent_text(self._load_pct, 3)}")

    def why_ended(self) -> str | None:
        """Return None: nobody can know."""
        return None

    def stop(self) -> None:
        """Does nothing: the user is told what to set up next."""


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
