"""Makes heat come to a wanted temperature at a wanted time, and gives drives a governor."""

from typing import Any

import numpy as np

from heatsoak.corpus.draw import Setup
from heatsoak.corpus.machine import Array, Course
from heatsoak.corpus.scenario import Frame, Take, course_of
from heatsoak.protocol import WorkloadStep

#: Where drives begin to throttle.
LIMITS_C = (60.0, 90.0)
#: Air at the slot that does not surprise.
AIR_C = (18.0, 42.0)


def felt_c(setup: Setup, course: Course) -> Array:
    """Return the temperature that the governor acts on."""
    nodes = {"controller": course.controller_c, "nand": course.nand_c, "board": course.board_c}
    weights: dict[str, float] = setup.drive["governor"]["weights"]
    return np.asarray(sum(weight * nodes[name] for name, weight in weights.items()))


def pace_heat(setup: Setup, frame: Frame, chance: np.random.Generator) -> None:
    """Bring the place's time constant to a share of the step, on the simulator's clock."""
    nodes = [*setup.drive["thermal"]["nodes"].values(), *setup.place.get("nodes", {}).values()]
    to_air = [link["k_per_w"] for link in setup.place["links"].values() if "air" in link["between"]]
    through_air = 1 / sum(1 / k_per_w for k_per_w in to_air)
    constant_s = sum(node["j_per_k"] for node in nodes) * through_air
    wanted_s = frame.duration_s / frame.scale * chance.uniform(0.15, 0.6)
    setup.scale_heat(1.0, wanted_s / constant_s)


def bring_to(take: Take, frame: Frame, step: WorkloadStep, at_s: float, wanted_c: float) -> None:
    """Scale resistances so that the governor's temperature is `wanted_c` after `at_s` of `step`.

    The air is drawn from the take's seed.
    """
    setup = take.setup
    chance = np.random.default_rng([take.seed, 7])
    air_c = min(float(chance.uniform(*AIR_C)), wanted_c - 15.0)
    # heat is linear but for leakage, so a second look comes close
    for _ in range(2):
        felt = felt_c(setup, course_of(take, frame, step))
        index = min(len(felt) - 1, int(at_s / frame.grid_s))
        rise_k = float(felt[index]) - setup.place["air_c"]
        factor = (wanted_c - air_c) / max(rise_k, 0.5)
        setup.place["air_c"] = air_c
        # time constants stay what they are
        setup.scale_heat(factor, 1 / factor)


def give_governor(
    setup: Setup, frame: Frame, engage_c: float, chance: np.random.Generator
) -> dict[str, float]:
    """Turn the governor on at `engage_c` with a law at random; return the limits it may state."""
    governor: dict[str, Any] = setup.drive["governor"]
    kind = str(chance.choice(["band", "steps", "delay"], p=[0.4, 0.4, 0.2]))
    limits: dict[str, float] = {}
    if kind == "band":
        law = {
            "kind": "band",
            "engage_c": engage_c,
            "band_k": chance.uniform(0.5, 6),
            "floor": chance.uniform(0.05, 0.5),
        }
    elif kind == "steps":
        share, second_k = chance.uniform(0.25, 0.85), chance.uniform(2, 6)
        levels = [{"enter_c": engage_c, "leave_c": engage_c - chance.uniform(1, 6), "share": share}]
        if chance.random() < 0.6:
            levels.append(
                {
                    "enter_c": engage_c + second_k,
                    "leave_c": engage_c + second_k - chance.uniform(1, 4),
                    "share": share * chance.uniform(0.3, 0.8),
                }
            )
            levels[1]["leave_c"] = max(levels[1]["leave_c"], levels[0]["leave_c"] + 0.5)
        law = {"kind": "steps", "levels": levels, "dwell_s": chance.uniform(1, 5) / frame.scale}
        limits = {"tmt1_c": round(engage_c), "tmt2_c": round(engage_c + second_k)}
    else:
        law = {
            "kind": "delay",
            "engage_c": engage_c,
            "release_c": engage_c - chance.uniform(3, 8),
            "target_c": engage_c + chance.uniform(-1.5, 1),
            "gain_per_k": chance.uniform(0.003, 0.02) * frame.scale,
            "damping_s_per_k": chance.uniform(0.02, 0.12),
            "floor": chance.uniform(0.05, 0.4),
        }
    governor |= {"law": law, "on": True}
    limits["warning_c"] = round(engage_c + chance.uniform(-1, 6))
    limits["critical_c"] = limits["warning_c"] + round(chance.uniform(4, 12))
    return limits
