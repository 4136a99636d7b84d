"""Runs in this process, and whoever looks at one: keeps what it is told, and may stop the run."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from heatsoak.bench.conductor import conduct
from heatsoak.bench.progress import Observer
from heatsoak.bench.recorder import Latest
from heatsoak.protocol import Protocol, SingleStep, Step
from heatsoak.protocol.source import parse_toml
from heatsoak.recording import Recording
from heatsoak.target.base import Target


class Watcher(Observer):
    """Keeps what it is told, and presses Ctrl-C while one of the steps `stop_at` goes on.

    Attributes:
        told: each by its kind: "warm-up", "step", "round", "due", "probe", "skip", or a
            note's level.
        shown_mb_s: the throughputs that were shown, by step.
    """

    def __init__(self, stop_at: str | None = None) -> None:
        self.told: list[tuple[str, ...]] = []
        self.shown_mb_s: dict[str, list[float]] = {}
        self._stop_at = stop_at
        self._step = ""

    def on_warm_up(self, text: str) -> None:
        self.told.append(("warm-up", text))

    def on_step(self, index: int, step: Step, t_s: float, because: str = "") -> None:  # noqa: ARG002
        self.told.append(("step", step.name))
        if because:
            self.told.append(("probe", step.name, because))
        self._step = step.name

    def on_round(self, step: SingleStep, number: int) -> None:
        self.told.append(("round", step.name, str(number)))
        self._step = step.name

    def on_due(self, names: Collection[str]) -> None:
        self.told.append(("due", *sorted(names)))

    def on_skip(self, index: int, step: Step, reason: str | None) -> None:  # noqa: ARG002
        if reason is not None:
            self.told.append(("skip", step.name, reason))

    def on_progress(self, t_s: float, latest: Latest) -> None:  # noqa: ARG002
        if self._step == self._stop_at:
            raise KeyboardInterrupt
        if (mb_s := latest.throughput_mb_s()) is not None:
            self.shown_mb_s.setdefault(self._step, []).append(mb_s)

    def on_note(self, level: str, text: str) -> None:
        self.told.append((level, text))


def conducted(
    protocol: str | Protocol,
    target: Target,
    directory: Path,
    watcher: Watcher | None = None,
    **given: Any,
) -> Recording:
    """Run a protocol, or the text of one, on a target without sensors."""
    if isinstance(protocol, str):
        protocol = parse_toml(protocol, "mine")
    observer = watcher or Watcher()
    return conduct(protocol, target, {}, directory, sensors=[], observer=observer, **given)


def begun(recording: Recording) -> list[str | None]:
    """The steps that began, in order."""
    return [event.step for event in recording.events if event.kind == "step-begin"]


def kinds(recording: Recording) -> list[str]:
    """The kinds of all events, in order."""
    return [event.kind for event in recording.events]
