"""Whoever watches a run: the door between the conductor and what a person sees."""

from typing import Protocol

from heatsoak.bench.latest import Latest
from heatsoak.protocol import SingleStep, Step


class Observer(Protocol):
    """Whoever watches a run; called from the conductor's thread."""

    def on_warm_up(self, text: str) -> None:  # noqa: ARG002 -- for subclasses
        """The case is warmed before the first step, as `text` says."""
        return

    def on_step(self, index: int, step: Step, t_s: float) -> None:
        """A step begins."""

    def on_probe(self, step: Step, reason: str) -> None:  # noqa: ARG002 -- likewise
        """The step that has begun is a probe, taken for `reason`."""
        return

    def on_skip(self, index: int, step: Step, reason: str) -> None:  # noqa: ARG002 -- likewise
        """A step is left out for `reason`."""
        return

    def on_kept(self, index: int, step: Step) -> None:  # noqa: ARG002 -- likewise
        """A step is over since before the run was cut."""
        return

    def on_round(self, step: SingleStep, number: int) -> None:  # noqa: ARG002 -- likewise
        """A step of a round begins, within the rounds that have begun."""
        return

    def on_progress(self, t_s: float, latest: Latest) -> None:
        """Time has passed; `latest` holds the newest value of each column."""

    def on_note(self, level: str, text: str) -> None:
        """Something worth a line was seen."""
