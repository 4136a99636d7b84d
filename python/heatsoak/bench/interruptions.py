"""What disturbs the time of a run: a machine that sleeps, a clock that is set, a process held up.

The kernel keeps three clocks that tell them apart. `CLOCK_MONOTONIC` stops while the machine
sleeps, `CLOCK_BOOTTIME` keeps running, and nobody can set either (clock_gettime(2)); the wall clock
keeps running as well, and is set by hand and by NTP.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from heatsoak import system
from heatsoak.recording import Boot, RecordingMeta
from heatsoak.target import Note
from heatsoak.words import amount_text, duration_text

#: Clocks that differ by less than this were only read one after the other.
_MIN_S = 0.5
#: NTP speeds a clock up or slows it down by less than this share rather than set it.
_SLEWED = 0.1
#: The clocks are read several times a second: a longer gap means that the process was held up.
_HELD_UP_S = 3.0
#: A run that is resumed after longer was started by a clock that was wrong.
_MAX_PAUSE_S = 365 * 86400.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Clocks:
    """The three clocks at one moment, each in s.

    Attributes:
        awake_s: stops while the machine sleeps.
        all_s: keeps running meanwhile.
        wall_s: since 1970, as far as the machine knows.
    """

    awake_s: float
    all_s: float
    wall_s: float


def read_clocks() -> Clocks:
    """Return this machine's clocks; without one that runs in sleep, no sleep is seen."""
    while True:
        awake_s = time.monotonic()
        all_s = system.clock_in_sleep_s()
        all_s = awake_s if all_s is None else all_s
        wall_s = time.time()
        # a process held up between the reads would take that for a sleep
        if time.monotonic() - awake_s < _MIN_S / 4:
            return Clocks(awake_s, all_s, wall_s)


def boot_now(ago_s: float = 0.0) -> Boot | None:
    """Return the time `ago_s` ago by the clock of this boot; None where the kernel has none."""
    try:
        boot_id = _BOOT_ID.read_text("ascii").strip()
    except (OSError, ValueError):
        return None
    return Boot(id=boot_id, clock_s=read_clocks().all_s - ago_s)


def passed_since(began: RecordingMeta) -> float | None:
    """Return how long ago a recording began, in s; None where no clock can tell.

    In the same boot no clock that was set matters; after another one the wall clock has to do.
    """
    now = boot_now()
    if now is not None and began.started_boot is not None and now.id == began.started_boot.id:
        return now.clock_s - began.started_boot.clock_s
    if began.started_unix_s is None:
        return None
    passed_s = read_clocks().wall_s - began.started_unix_s
    return passed_s if 0 <= passed_s <= _MAX_PAUSE_S else None


@dataclass
class Interruptions:
    """Watches the clocks, those of this machine as a rule; to be asked several times a second."""

    read: Callable[[], Clocks] = read_clocks
    _last: Clocks | None = None

    def look(self) -> Iterator[Note]:
        """Yield what has happened since the last call, a sleep with its length as `slept_s`."""
        last, now = self._last, self.read()
        self._last = now
        if last is None:
            return
        awake_s, all_s = now.awake_s - last.awake_s, now.all_s - last.all_s
        set_s = now.wall_s - last.wall_s - all_s
        slept_s = all_s - awake_s
        if slept_s > _MIN_S:
            text = f"the machine slept for {duration_text(slept_s)}"
            yield Note("warning", text, {"slept_s": round(slept_s, 3)})
        if abs(set_s) > _MIN_S + _SLEWED * awake_s:
            way = "forward" if set_s > 0 else "back"
            yield Note(
                "warning",
                f"the machine's clock was set {way} by {amount_text(abs(set_s), 's', 2)}; the "
                "recording's own clock is not affected",
                {"clock_set_s": round(set_s, 3)},
            )
        if awake_s > _HELD_UP_S:
            yield Note(
                "warning",
                f"heatsoak was paused for {duration_text(awake_s)}: it was stopped, or had to wait "
                "for the machine",
                {"stood_still_s": round(awake_s, 3)},
            )
