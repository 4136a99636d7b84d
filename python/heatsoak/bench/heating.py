"""What warms the case in a run: switched on before its first step, watched, and always ended."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from heatsoak import errors, words
from heatsoak.bench.by_hand import BY_HAND, is_attended
from heatsoak.bench.progress import Observer
from heatsoak.bench.recorder import Recorder
from heatsoak.files import free_path
from heatsoak.heat import Ask, Heater, heater
from heatsoak.protocol import Conditions, Heat, Protocol
from heatsoak.recording.meta import RAW

#: The shortest window, and the window's share of the time since the start of the warm-up.
WINDOW_S = 600.0
_WINDOW_SHARE = 0.25
#: Steady if a temperature rises by less between the window's first and last third.
RISE_K = 0.5
_LEFT_OUT = 0.25
#: With fewer readings, a third is not meaningful.
_MIN_READINGS = 3
#: Shortest interval between readings that are kept.
_INTERVAL_S = 1.0


@dataclass
class Steadiness:
    """Collects the temperatures of a warm-up from `start_s` on, and says when they no longer rise.

    The window is the last ten minutes, or the last quarter of the warm-up if that is longer (what
    warms slowly also rises slowly). Its first and last third are averaged without the highest and
    lowest quarter of their readings, so that noise and glitches do not count, and sensors with
    whole kelvins are resolved as well as possible. Temperatures are steady if none rose by half a
    kelvin from the first third to the last. A first-order warm-up, T = T_end - A exp(-t / tau), is
    then usually within 1 K of its end, and always within 2 K, for tau up to 15 minutes, A up to
    60 K, noise of 0.3 K and whole kelvins.
    """

    start_s: float
    _readings: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def add(self, t_s: float, temps_c: Mapping[str, float]) -> None:
        """Add the newest reading of each sensor."""
        for name, temp_c in temps_c.items():
            kept = self._readings.setdefault(name, [])
            if not kept or t_s - kept[-1][0] >= _INTERVAL_S:
                kept.append((t_s, temp_c))

    def rises_k(self, now_s: float) -> dict[str, float]:
        """Return the rise of each sensor within the window; empty until the first has passed.

        Infinite for a sensor without enough readings.
        """
        passed_s = now_s - self.start_s
        window_s = max(WINDOW_S, _WINDOW_SHARE * passed_s)
        if passed_s < window_s:
            return {}
        since_s = now_s - window_s
        return {name: _rise_k(kept, since_s, window_s) for name, kept in self._readings.items()}

    def is_steady(self, now_s: float) -> bool:
        """Whether no temperature is rising any more; False without readings."""
        rises_k = self.rises_k(now_s)
        return bool(rises_k) and max(rises_k.values()) < RISE_K


def _rise_k(kept: list[tuple[float, float]], since_s: float, window_s: float) -> float:
    t_s, temps_c = np.array(kept).T
    first = temps_c[(t_s >= since_s) & (t_s < since_s + window_s / 3)]
    last = temps_c[t_s >= since_s + window_s * 2 / 3]
    if min(len(first), len(last)) < _MIN_READINGS:
        return float("inf")
    return _middle(last) - _middle(first)


def _middle(temps_c: NDArray[np.float64]) -> float:
    """Return the mean without the lowest and highest quarter (scipy.stats is slow to import)."""
    out = int(_LEFT_OUT * len(temps_c))
    return float(np.sort(temps_c)[out : len(temps_c) - out].mean())


#: How often it is looked whether temperatures are steady.
_LOOK_S = 10.0

#: What heats, and what makes it.
HeatSource = tuple[Heat, Heater]
#: Lets some seconds pass without load, fewer where the function given returns true.
Wait = Callable[[float, Callable[[], bool]], None]


def heats_on(protocol: Protocol, conditions: Conditions) -> list[Heat]:
    """Return the heat that heatsoak has to make in these conditions on a real machine."""
    if conditions.get("heat") == BY_HAND:
        return []
    return [heat for heat in protocol.heat if heat.is_on(conditions)]


def warm_up_s(heats: Sequence[Heat]) -> float:
    """Return how long they warm up before the first step, at most."""
    return max((heat.longest_warm_up_s for heat in heats), default=0.0)


class PlannedHeat(BaseModel):
    """What warms the case during a run; `why_not` says why that cannot be commanded here."""

    heat: str
    why_not: str | None


@dataclass(frozen=True)
class Heaters:
    """The heaters of a protocol's runs on a real machine.

    Attributes:
        ask: puts a question to the person at the terminal, where there is one.
    """

    protocol: Protocol
    ask: Ask

    def of_run(self, conditions: Conditions, directory: Path) -> list[HeatSource]:
        """Return what heats a run that is recorded into `directory`; nothing is started.

        Raises UsageError where it cannot be commanded here.
        """
        found = []
        for number, heat in enumerate(heats_on(self.protocol, conditions), 1):
            try:
                made = self._heater(heat, free_path(directory / RAW / f"heat-{number}.log"))
            except errors.UsageError as error:
                how_hard = "" if heat.command else f" at {words.percent_text(heat.load_pct, 3)}"
                raise errors.UsageError(
                    f"{self.protocol.name} asks for {heat.source} heat{how_hard} here: {error}"
                ) from error
            found.append((heat, made))
        return found

    def preview(self, conditions: Conditions) -> list[PlannedHeat]:
        """Return what would heat a run, and why not where it cannot be commanded here."""
        planned = []
        for heat in heats_on(self.protocol, conditions):
            why_not = None
            try:
                self._heater(heat, Path())
            except errors.UsageError as error:
                why_not = str(error)
            planned.append(PlannedHeat(heat=heat.describe(), why_not=why_not))
        return planned

    def _heater(self, heat: Heat, log: Path) -> Heater:
        ask = self.ask if is_attended() else None
        return heater(heat.source, heat.load_pct, heat.command, log, ask)


@dataclass
class _Source:
    heat: Heat
    heater: Heater
    name: str
    start_s: float | None = None


class Heating:
    """What warms the case during one recording; nothing where it has no sources."""

    def __init__(self, sources: Sequence[HeatSource], recorder: Recorder) -> None:
        """Start nothing yet; what happens is recorded by `recorder`."""
        self._recorder = recorder
        names = [heat.source for heat, _ in sources]
        self._sources = [
            _Source(
                heat, made, heat.source if names.count(heat.source) == 1 else f"{heat.source}-{n}"
            )
            for n, (heat, made) in enumerate(sources, 1)
        ]
        self._is_warming_up = False

    @contextmanager
    def on(self, observer: Observer, wait: Wait) -> Iterator[None]:
        """Heat for as long as the context lasts; entering takes as long as the warm-up.

        Raises ToolError where a source ends before the warm-up is over.
        """
        try:
            for source in self._sources:
                start_s = self._recorder.now_s()
                source.heater.start()
                source.start_s = start_s
                data = {
                    "source": source.heat.source,
                    "load_pct": source.heat.load_pct,
                    **source.heater.describe(),
                    "temps_c": self._recorder.latest.temps_c(),
                }
                self._recorder.event("heat-begin", None, source.heat.describe(), data)
                for text in source.heater.notes():
                    self._recorder.note("warning", text)
            if self._sources:
                self._warm_up(observer, wait)
            yield
        except BaseException:
            with suppress(errors.HeatsoakError):  # what ended the run is what is reported
                self._end()
            raise
        else:
            self._end()

    def check(self) -> None:
        """Warn of a source that has ended early; the run continues.

        Raises ToolError during the warm-up: nothing has been measured yet.
        """
        for source in self._sources:
            why = None if source.start_s is None else source.heater.why_ended()
            if why is None:
                continue
            if self._is_warming_up:
                raise errors.ToolError(
                    f"the {source.name} heat ended before it had warmed up: {why}"
                )
            data = self._stop(source)
            self._recorder.note(
                "warning",
                f"the {source.name} heat ended early, after "
                f"{words.duration_text(data['duration_s'])}: {why}; "
                "what follows was not heated as the protocol demands",
                {"source": source.heat.source, **data},
            )

    def _warm_up(self, observer: Observer, wait: Wait) -> None:
        recorder = self._recorder
        heats = [source.heat for source in self._sources]
        max_s, start_s = warm_up_s(heats), recorder.now_s()
        min_s = max((h.longest_warm_up_s for h in heats if not h.until_steady), default=0.0)
        until_steady = any(heat.until_steady for heat in heats)
        if max_s <= 0:
            return
        observer.on_warm_up(", ".join(heat.describe() for heat in heats))
        steadiness = Steadiness(start_s)
        looked_s, is_steady = start_s, False

        def is_done() -> bool:
            nonlocal looked_s, is_steady
            now_s = recorder.now_s()
            steadiness.add(now_s, recorder.latest.temps_c())
            if until_steady and now_s - looked_s >= _LOOK_S:
                looked_s, is_steady = now_s, steadiness.is_steady(now_s)
            return is_steady and now_s - start_s >= min_s

        self._is_warming_up = True
        wait(max_s, is_done)
        self._is_warming_up = False
        if not until_steady:
            return
        waited_s, rises_k = recorder.now_s() - start_s, steadiness.rises_k(recorder.now_s())
        # a sensor that does not answer has no rise, and JSON no infinity
        known_k = {name: round(k, 2) for name, k in rises_k.items() if k < float("inf")}
        data = {"waited_s": waited_s, "rises_k": known_k, "temps_c": recorder.latest.temps_c()}
        kind = "heat-steady" if is_steady else "heat-not-steady"
        recorder.event(kind, None, f"after {words.duration_text(waited_s)}", data)
        if is_steady:
            return
        rising = [f"{n} rose by {words.kelvin_text(k)}" for n, k in known_k.items() if k >= RISE_K]
        seen = words.listed(rising) or (
            "it takes ten minutes to tell" if data["temps_c"] else "no temperature can be read"
        )
        recorder.note(
            "warning",
            f"the warm-up was not steady within {words.duration_text(waited_s)}: {seen} at its end",
        )

    def _end(self) -> None:
        """End all sources, whatever becomes of one; raises what the first could not."""
        failed: errors.HeatsoakError | None = None
        for source in self._sources:
            try:
                if source.start_s is None:
                    source.heater.stop()  # it may have been starting
                else:
                    self._stop(source)
            except errors.HeatsoakError as error:
                self._recorder.note("warning", str(error))
                failed = failed or error
        if failed is not None:
            raise failed

    def _stop(self, source: _Source) -> dict[str, Any]:
        recorder = self._recorder
        assert source.start_s is not None
        data = {
            "duration_s": recorder.now_s() - source.start_s,
            "temps_c": recorder.latest.temps_c(),
        }
        source.start_s = None
        recorder.event("heat-end", None, source.heat.describe(), data)
        source.heater.stop()
        return data
