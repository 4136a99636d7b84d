"""What a protocol may do beside its first judged step, and why there may be several recordings."""

from dataclasses import replace

import numpy as np

from heatsoak.corpus.draw import Setup
from heatsoak.corpus.scenario import Frame, Scenario, Take, fill, load, pause
from heatsoak.protocol import Purge, WorkloadStep

SINGLE = 0.5
SEVERAL = 0.1
_FINNED_RESISTANCE = (0.25, 0.6)


def extend(scenario: Scenario, frame: Frame, chance: np.random.Generator) -> None:
    """Add steps to half of the scenarios, and recordings to some."""
    (take,) = scenario.takes
    if chance.random() < SINGLE:
        if chance.random() < 2 * SEVERAL and not take.held and not take.paces:
            _repeat(scenario, chance)
        return
    (step,) = take.steps
    assert isinstance(step, WorkloadStep)
    shapes = ["warm re-run", "re-run after a pause", "other direction"]
    if not step.reads:
        shapes.append("re-run after a purge")
    if take.history:
        shapes.append("filled first")
    scenario.protocol = str(chance.choice(shapes))
    again = step.model_copy(update={"name": f"{step.name} again"})
    long_pause = pause(chance.uniform(0.5, 1.5) * frame.duration_s)
    if "re-run" in scenario.protocol:
        # a slide is of the drive, and comes again
        take.held += [replace(h, step=again.name) for h in take.held if h.cause == "sliding"]
    match scenario.protocol:
        case "warm re-run":
            take.steps = [step, pause(chance.uniform(5, 30)), again]
        case "re-run after a pause":
            take.steps = [step, long_pause, again]
        case "re-run after a purge":
            take.steps = [step, Purge(kind="purge"), long_pause, again]
        case "other direction":
            rw = "read" if step.writes else "write"
            other = load(f"{rw} beside", rw, 1 << 17, 0.7 * frame.duration_s)
            take.steps = [step, long_pause, other]
        case _:
            take.steps = [fill(), pause(1.5 * frame.duration_s), step]
            take.history = []


def _repeat(scenario: Scenario, chance: np.random.Generator) -> None:
    """The same again, or with fins and without where heat is what it is about."""
    (take,) = scenario.takes
    if scenario.wanted == ("thermal",) and chance.random() < 0.7:
        scenario.several = "conditions"
        take.conditions = {"heatsink": "none"}
        finned = _again(take, chance)
        finned.conditions = {"heatsink": "finned"}
        _fit_fins(finned.setup, float(chance.uniform(*_FINNED_RESISTANCE)))
        scenario.takes.append(finned)
        return
    scenario.several = "repeats"
    scenario.takes += [_again(take, chance) for _ in range(int(chance.integers(1, 3)))]


def _again(take: Take, chance: np.random.Generator) -> Take:
    return Take(
        take.setup.copy(),
        list(take.steps),
        history=list(take.history),
        conditions=dict(take.conditions),
        link_mb_s=take.link_mb_s,
        size_bytes=take.size_bytes,
        model=take.model,
        seed=int(chance.integers(1 << 31)),
    )


def _fit_fins(setup: Setup, factor: float) -> None:
    for way in setup.place["links"].values():
        if "air" in way["between"]:
            way["k_per_w"] *= factor
