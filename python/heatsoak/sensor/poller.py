"""Polls the sensors during a run.

Each sensor has its own thread: a read that hangs in the kernel (a drive being reset may not answer
for minutes) then only affects that sensor's columns. Reading also costs the drive something:
polling keeps an idle drive awake and warm, so it can be slowed down for pauses.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from heatsoak.sensor.base import Sensor
from heatsoak.words import amount_text

#: A read that takes longer is reported.
SLOW_READ_S = 1.0

#: A failing sensor is retried with exponential backoff, up to this.
LONGEST_RETRY_S = 60.0

#: No sensor is read more often, whatever the settings.
SHORTEST_INTERVAL_S = 0.001

#: How often a drive is read in a pause, where it should cool down.
PAUSE_INTERVAL_S = 10.0


class Now(Protocol):
    """A clock of seconds since the start of the recording."""

    def now_s(self) -> float:
        """Return the time now."""


#: Takes one row: `t_s` and the columns of one sensor. Never called by two threads at once.
Sink = Callable[[dict[str, float]], None]

#: Takes level (``info`` or ``warning``) and text.
OnNote = Callable[[str, str], None]


class Poller:
    """Polls sensors from start to stop, each at its own interval.

    Cannot be restarted. `sink` and `on_note` are called from the poller's threads, one call at a
    time, and must return quickly; if `sink` raises, that sensor's thread ends with a note.
    The sensors are not closed: another Poller may use them later.
    """

    def __init__(
        self,
        sensors: Sequence[Sensor],
        clock: Now,
        sink: Sink,
        on_note: OnNote | None = None,
    ) -> None:
        """Prepare; nothing is read before :meth:`start`."""
        self._clock = clock
        self._sink = sink
        self._on_note = on_note
        self._pause_s: float | None = None
        self._changed = threading.Condition()
        self._out = threading.Lock()
        self._stopping = False
        self._beats = [_Beat(sensor) for sensor in sensors]
        self._threads = [
            threading.Thread(
                target=self._poll, args=(beat,), name=f"sensor-{beat.name}", daemon=True
            )
            for beat in self._beats
        ]

    def start(self) -> "Poller":
        """Start polling; the first readings come immediately."""
        for thread in self._threads:
            thread.start()
        return self

    def slow(self, interval_s: float = PAUSE_INTERVAL_S) -> None:
        """Read drives only every `interval_s` from now on; other sensors keep their intervals."""
        with self._changed:
            self._pause_s = interval_s
            self._changed.notify_all()

    def normal(self) -> None:
        """Read everything at its own interval again, starting now."""
        with self._changed:
            self._pause_s = None
            self._changed.notify_all()

    def stop(self, timeout_s: float = 2.0) -> bool:
        """Stop polling; return False if a read still hangs after `timeout_s` in total."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        end = time.monotonic() + timeout_s
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _wait_s(self, beat: "_Beat") -> float:
        info = beat.sensor.info
        wait_s = max(info.interval_s, SHORTEST_INTERVAL_S)
        if self._pause_s is not None and info.details.get("wakes_drive", True):
            wait_s = max(wait_s, self._pause_s)
        if beat.failures:
            wait_s = max(wait_s, min(LONGEST_RETRY_S, wait_s * 2.0**beat.failures))
        return wait_s

    def _poll(self, beat: "_Beat") -> None:
        due, wait_s = time.monotonic(), self._wait_s(beat)
        while True:
            with self._changed:
                while not self._stopping:
                    was_s, wait_s = wait_s, self._wait_s(beat)
                    due += wait_s - was_s
                    if (left := due - time.monotonic()) <= 0:
                        break
                    self._changed.wait(left)
                if self._stopping:
                    return
            if not self._read(beat):
                return
            self._report_hanging()
            # on a fixed grid, so that the time a read takes does not add to the interval
            wait_s = self._wait_s(beat)
            late_s = max(0.0, time.monotonic() - due)
            due += wait_s * (1 + late_s // wait_s)

    def _read(self, beat: "_Beat") -> bool:
        started = time.monotonic()
        beat.reading_since = started
        values: dict[str, float] = {}
        problem: str | None = None
        try:
            values = beat.sensor.read()
        except Exception as error:  # any error of a driver or library only affects this reading
            problem = f"{type(error).__name__}: {error}"
        t_s = self._clock.now_s()  # the drive took the reading just before its answer arrived
        beat.reading_since = None
        took_s = time.monotonic() - started
        if self._stopping:
            return False
        if took_s > SLOW_READ_S:
            self._report_slow(beat, f"a reading took {amount_text(took_s, 's', 2)}")
        if values:
            with self._out:
                try:
                    self._sink({"t_s": t_s, **values})
                except Exception as error:
                    self._note("warning", f"{beat.name}: its readings cannot be stored: {error}")
                    return False
        self._report(beat, bool(values), problem)
        return True

    def _report(self, beat: "_Beat", answered: bool, problem: str | None) -> None:
        if answered:
            if beat.failures and beat.failure_reported:
                self._say("info", f"{beat.name} answers again")
                beat.failure_reported = False
            beat.failures = 0
        else:
            beat.failures += 1
            if not beat.failure_reported:
                beat.failure_reported = True
                why = problem or beat.sensor.last_error or "no values"
                self._say("warning", f"{beat.name} cannot be read ({why}); retrying less often")
        for text in beat.sensor.notes():
            self._say("warning", f"{beat.name}: {text}")

    def _report_hanging(self) -> None:
        now = time.monotonic()
        for beat in self._beats:
            since = beat.reading_since
            if since is not None and now - since > SLOW_READ_S:
                self._report_slow(
                    beat, f"a reading has hung for {amount_text(now - since, 's', 2)}"
                )

    def _report_slow(self, beat: "_Beat", what: str) -> None:
        with self._out:
            if beat.slow_reported:
                return
            beat.slow_reported = True
            self._note("warning", f"{beat.name}: {what}; polling may slow the drive down")

    def _say(self, level: str, text: str) -> None:
        with self._out:
            self._note(level, text)

    def _note(self, level: str, text: str) -> None:
        if self._on_note is not None:
            self._on_note(level, text)


class _Beat:
    """The state of one sensor's polling."""

    def __init__(self, sensor: Sensor) -> None:
        self.sensor = sensor
        self.name = sensor.info.name
        self.failures = 0
        self.failure_reported = False
        self.slow_reported = False
        self.reading_since: float | None = None
