"""How a case is recorded, drawn at random."""

import numpy as np

from heatsoak.corpus.draw import Setup
from heatsoak.corpus.logged import Habits
from heatsoak.corpus.recipes import LINKS_MB_S
from heatsoak.corpus.scenario import Frame, Scenario

WITH_TEMPS = 0.75
SIGMA = (0.01, 0.08)
CORRELATION = (0.6, 0.95)
WITH_DIPS = 0.8
WITH_GAPS = 0.2
#: A sensor that does not measure where the case is not about that.
NOT_MEASURING = 0.03
#: What of the host is recorded, where nothing asks for it.
_OTHERS = {"cpu": 0.5, "steal": 0.25, "device": 0.45, "link": 0.45}
#: What shows in which of the host's sensors.
_SHOWN_BY = {"cpu": "cpu", "link": "link", "traffic": "device", "steal": "steal"}
#: Sensors that would show what nothing is to show.
_TELLING = {"limited-by-host": {"cpu", "link"}, "interference": {"device", "steal"}}


def draw_habits(
    scenario: Scenario, frame: Frame, fastest_mb_s: float, chance: np.random.Generator
) -> Habits:
    """Return how all recordings of a case are taken; `fastest_mb_s` is the highest rate seen."""
    setup = scenario.takes[0].setup
    has_temps = bool(chance.random() < WITH_TEMPS)
    sensor = scenario.sensor
    if sensor == "good" and chance.random() < NOT_MEASURING:
        sensor = str(chance.choice(["stuck", "placeholder"]))
    counts = has_temps and bool(chance.random() < 0.4)
    if chance.random() < 0.4:
        for take in scenario.takes:
            take.setup.limits_c = {}
    others = {name for name, part in _OTHERS.items() if chance.random() < part}
    for take in scenario.takes:
        for held in take.held:
            if held.how in _SHOWN_BY:
                others.add(_SHOWN_BY[held.how])
            else:
                others -= _TELLING.get(held.cause, set())
    if scenario.at_ceiling:
        others.add("link")
    whole = float(chance.uniform(3, 50))
    wide_enough = [
        link for link in LINKS_MB_S if link * 0.8 > fastest_mb_s and _is_wider(scenario, link)
    ]
    return Habits(
        sampling_s=frame.sampling_s,
        sigma=float(chance.uniform(*SIGMA)),
        correlation=float(chance.uniform(*CORRELATION)),
        has_dips=bool(chance.random() < WITH_DIPS),
        gaps=int(chance.integers(1, 4)) if chance.random() < WITH_GAPS else 0,
        has_latencies=bool(chance.random() < 0.6),
        sensor=sensor if has_temps else "none",
        weights=_weights(setup, chance),
        lag_s=float(chance.uniform(0.5, 8)),
        offset_c=float(chance.uniform(-8, 3)) if chance.random() < 0.5 else 0.0,
        step_c=1.0,
        apart=bool(chance.random() < 0.5),
        levels=_levels(setup) if counts else (),
        others=frozenset(others),
        busy_pct=(whole, float(chance.uniform(max(whole, 15), 80))),
        link_mb_s=wide_enough[int(chance.integers(0, min(2, len(wide_enough))))],
    )


def _is_wider(scenario: Scenario, link_mb_s: float) -> bool:
    stated = scenario.takes[0].link_mb_s
    return stated is None or link_mb_s >= 1.9 * stated


def _weights(setup: Setup, chance: np.random.Generator) -> dict[str, float]:
    """What the sensor feels: what the governor acts on, or something beside it."""
    kind = chance.random()
    if kind < 0.45:
        return dict(setup.drive["governor"]["weights"])
    if kind < 0.7:
        return {"nand": 1.0}
    return {"controller": 0.5, "board": 0.5}


def _levels(setup: Setup) -> tuple[float, ...]:
    """Permitted shares below which light and heavy throttling are counted."""
    law = setup.drive["governor"]["law"]
    heavy = 0.5
    if law["kind"] == "steps":
        heavy = law["levels"][0]["share"] - 1e-3
    return (0.995, heavy)
