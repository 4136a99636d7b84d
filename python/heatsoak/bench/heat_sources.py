"""What makes a protocol's heat on this machine, or why it cannot be made."""

from collections.abc import Sequence
from pathlib import Path

from heatsoak.bench.heating import heats_on
from heatsoak.bench.places import HeatPreview, Run
from heatsoak.bench.prompt import is_attended
from heatsoak.errors import UsageError
from heatsoak.heat import Heater, heater
from heatsoak.heat.process import Ask
from heatsoak.protocol import Heat, Protocol
from heatsoak.recording.meta import RAW


class HeatSources:
    """The heaters of a protocol's runs; simulated drives have their enclosure's heat instead."""

    def __init__(self, protocol: Protocol, ask: Ask) -> None:
        """`ask` puts a question to the person at the terminal, where there is one."""
        self._protocol = protocol
        self._ask = ask

    def of_run(self, run: Run, directory: Path) -> list[tuple[Heat, Heater]]:
        """Return what heats during `run`, whose recording is in `directory`; nothing begins.

        Raises UsageError where it cannot be commanded here.
        """
        from heatsoak.target.fio.process import free_path  # Linux's, as all heat of ours is

        found = []
        for number, heat in enumerate(self._heats(run), 1):
            try:
                made = self._heater(heat, free_path(directory / RAW / f"heat-{number}.log"))
            except UsageError as error:
                how_hard = "" if heat.command else f" at {heat.load_pct:g} %"
                raise UsageError(
                    f"{self._protocol.name} wants {heat.source} heat{how_hard} here: {error}"
                ) from error
            found.append((heat, made))
        return found

    def preview(self, run: Run) -> tuple[HeatPreview, ...]:
        """Return what would heat during `run`, and why not where it cannot be commanded here."""
        return tuple(HeatPreview(heat.describe(), self._why_not(heat)) for heat in self._heats(run))

    def _heats(self, run: Run) -> Sequence[Heat]:
        return [] if run.place.is_simulated else heats_on(self._protocol, run.conditions)

    def _heater(self, heat: Heat, log: Path) -> Heater:
        ask = self._ask if is_attended() else None
        return heater(heat.source, heat.load_pct, heat.command, log, ask)

    def _why_not(self, heat: Heat) -> str | None:
        try:
            self._heater(heat, Path())
        except UsageError as error:
            return str(error)
        return None
