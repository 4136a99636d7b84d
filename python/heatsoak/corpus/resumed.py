"""Cycles of a governor that go on beneath another cause, which are no falls of their own."""

from dataclasses import replace

from heatsoak.corpus.cycles import DEPTH_WINDOW_S
from heatsoak.corpus.labels import TrueEpisode
from heatsoak.corpus.machine import Array


def without_resumed(rate: Array, grid_s: float, found: list[TrueEpisode]) -> list[TrueEpisode]:
    """Leave out falls of a cycle that the governor made before another cause took it lower.

    What the other cause took lasts then until it is back, or a third one comes.
    """
    kept: list[TrueEpisode] = []
    cycle: TrueEpisode | None = None
    for episode in found:
        on_top = kept[-1] if kept else None
        if cycle is not None and on_top is not None and not on_top.recovered:
            if on_top is not cycle and episode.cause == cycle.cause:
                kept[-1] = _lasting(rate, grid_s, on_top, episode)
                continue
        elif on_top is not None and on_top.recovered:
            cycle = None
        if episode.shape == "cycle":
            cycle = episode
        kept.append(episode)
    return kept


def _lasting(rate: Array, grid_s: float, first: TrueEpisode, last: TrueEpisode) -> TrueEpisode:
    """The first of two episodes until the end of the last."""
    onset, end = round(first.onset_s / grid_s), round(last.end_s / grid_s)
    former = round(first.end_s / grid_s)
    window = round(DEPTH_WINDOW_S / grid_s)
    during = float(rate[max(onset, former - window) : former].mean())
    before = during / (1 - first.depth_pct / 100)
    lasting = float(rate[max(onset, end - window) : end].mean())
    return replace(
        first,
        end_s=last.end_s,
        depth_pct=100 * (1 - lasting / before),
        recovered=last.recovered,
    )
