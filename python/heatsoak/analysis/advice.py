"""What to do next: a command to paste, where there is one for how the recording was made."""

import shlex

from heatsoak.analysis.findings import Verdict
from heatsoak.protocol import Protocol, bundled
from heatsoak.recording.columns import own_temperatures, throttle_counters
from heatsoak.recording.meta import RecordingMeta

#: What helps against a cause, or what to do about it, where no command does.
_HELPS: dict[Verdict, str] = {
    "spare-area": "leave part of the drive unused, or trim it, for steadier random writes",
    "write-cache": "write in smaller portions with pauses: the cache empties when the drive rests",
    "limited-by-host": "look for the limit in the host: processor, PCIe link, or the load itself",
    "sliding": "nothing is wrong: hard disks and some drives are slower towards the end",
}
#: Loads without a pause, each longer than the one before.
_LONGER = ("quick", "why", "non-stop")
LOAD_IT = "load it, in a directory of that drive: heatsoak run quick --on ."


def run_again(meta: RecordingMeta, protocol: str | None = None, label: str = "") -> str | None:
    """Return the command that runs a protocol, or the same one, where a recording was made.

    None for a log, one side of a copy, or a protocol that is not bundled: its file is not known.
    """
    made, path = meta.protocol, meta.drive.get("path")
    name = protocol or made.name
    is_known = isinstance(made, Protocol) and meta.part_of_copy is None and name in bundled()
    if not is_known or not path:
        return None
    words = ["heatsoak", "run", name, "--on", str(path)]
    if protocol is None:
        given = {key: str(value) for key, value in made.conditions.items()}
        given |= dict([label.split("=")] if label else [])
        words += [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
        words += ["--scale", f"{made.scale:g}"] if made.scale != 1 else []
    return shlex.join(words)


def against(cause: Verdict, meta: RecordingMeta) -> str | None:
    """Return what helps against a cause; None if it is unknown."""
    if cause == "thermal":
        return _cool_it(meta)
    if cause == "interference":
        again = run_again(meta)
        quiet = "while nothing else uses the drive"
        return f"{quiet}: {again}" if again else f"log the same load {quiet}"
    return _HELPS.get(cause)


def _cool_it(meta: RecordingMeta) -> str:
    path = str(meta.drive.get("path"))
    if path.startswith("sim:"):
        drive, _, place = path.removeprefix("sim:").partition("@")
        words = ["heatsoak", "advise", drive, *(["--enclosure", place] if place else [])]
        return f"how much cooling it needs: {shlex.join(words)}"
    how = "cool it better (a heatsink, more air, another slot)"
    again = run_again(meta, label="heatsink=new")
    return f"{how}, then: {again}" if again else f"{how}, and log the same load again"


def load_for_longer(meta: RecordingMeta) -> str:
    """Return how a drive gets as hot as its load makes it."""
    at = _LONGER.index(meta.protocol.name) + 1 if meta.protocol.name in _LONGER else 1
    again = run_again(meta, _LONGER[min(at, len(_LONGER) - 1)])
    return f"a longer load: {again}" if again else "a longer load would show whether it throttles"


def start_cool(meta: RecordingMeta) -> str:
    """Return how a drive that was hot from its first second shows its full speed."""
    again = run_again(meta)
    return f"let it cool, then: {again}" if again else "log the same load on a cool drive"


def tell_apart(probe: str | None, meta: RecordingMeta) -> str | None:
    """Return how to tell the likeliest causes apart; `probe` is what would, of any load."""
    if meta.protocol.name == "why":
        return probe
    again = run_again(meta, "why")
    return f"to tell, with probes after each fall: {again}" if again else probe


def load_evenly(meta: RecordingMeta) -> str:
    """Return what a load that was too uneven to judge lacks, of what it has not."""
    if again := run_again(meta, "why"):
        return f"a longer, even load: {again}"
    lacks = [] if own_temperatures(meta.columns) else ["temperature"]
    lacks += [] if throttle_counters(meta.columns) else ["throttling counters"]
    if not lacks:
        return "log an even load"
    return f"log an even load, and beside it the drive's {' and '.join(lacks)}"


def measure_it(meta: RecordingMeta) -> str:
    """Return how to record what a recording that could not be judged lacks."""
    scale = getattr(meta.protocol, "scale", 1.0)
    whole = run_again(meta, meta.protocol.name)
    if whole:
        return f"without --scale: {whole}" if scale < 1 else load_for_longer(meta)
    return "log the drive's throughput every few seconds"
