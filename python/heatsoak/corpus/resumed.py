"""Cycles of a governor that go on beneath another cause, which are no falls of their own."""

from dataclasses import replace

import numpy as np

from heatsoak.corpus.cycles import DEPTH_WINDOW_S
from heatsoak.corpus.labels import RECOVERED, TrueEpisode
from heatsoak.corpus.machine import Array


def without_resumed(rate: Array, grid_s: float, found: list[TrueEpisode]) -> list[TrueEpisode]:
    """Leave out falls of a cycle that the governor made before another cause took it lower.

    What the other cause took lasts then until it is back, or a third one comes.
    """
    kept: list[TrueEpisode] = []
    cycle: TrueEpisode | None = None
    stops_s = [episode.onset_s for episode in found[1:]] + [round(len(rate) * grid_s, 3)]
    for episode, stop_s in zip(found, stops_s, strict=False):
        on_top = kept[-1] if kept else None
        if cycle is not None and on_top is not None and not on_top.recovered:
            if on_top is not cycle and episode.cause == cycle.cause:
                kept[-1] = _lasting(rate, grid_s, on_top, episode, stop_s)
                continue
        elif on_top is not None and on_top.recovered:
            cycle = None
        if episode.shape == "cycle":
            cycle = episode
        kept.append(episode)
    return kept


def _lasting(
    rate: Array, grid_s: float, first: TrueEpisode, last: TrueEpisode, stop_s: float
) -> TrueEpisode:
    """The first of two episodes until it is back after the last, or until `stop_s`.

    The last fell from what the first had left, and to be back there is no recovery of the first.
    """
    onset, former = round(first.onset_s / grid_s), round(first.end_s / grid_s)
    end, stop = round(last.end_s / grid_s), round(stop_s / grid_s)
    window = round(DEPTH_WINDOW_S / grid_s)
    during = float(rate[max(onset, former - window) : former].mean())
    before = during / (1 - first.depth_pct / 100)
    back = rate[end:stop] >= RECOVERED * before
    recovered = bool(back.any())
    end = end + int(np.argmax(back)) if recovered else stop
    lasting = float(rate[max(onset, end - window) : end].mean())
    return replace(
        first,
        end_s=round(end * grid_s, 3),
        depth_pct=100 * (1 - lasting / before),
        recovered=recovered,
    )
