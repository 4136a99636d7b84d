"""Makes a labelled case from a seed: draws, simulates, labels and logs it."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from heatsoak.analysis.series import Array
from heatsoak.protocol import Purge, WorkloadStep

from heatsoak_dev.corpus import loads, recordings, truth
from heatsoak_dev.corpus.draw import Setup
from heatsoak_dev.corpus.labels import (
    Choices,
    LabelledCase,
    NoiseFree,
    TrueEpisode,
    TrueVerdict,
    costliest_of,
)
from heatsoak_dev.corpus.loads import LINKS_MB_S, Like
from heatsoak_dev.corpus.machine import Machine, NoiselessStep
from heatsoak_dev.corpus.recordings import Habits, recorded
from heatsoak_dev.corpus.scenario import Frame, Recipe, Scenario, Take, fill, load, pause

WITH_TEMPS = 0.75
SIGMA = (0.01, 0.08)
CORRELATION = (0.6, 0.95)
WITH_DIPS = 0.8
WITH_GAPS = 0.2
#: How often a sensor measures nothing, in cases that are not about that.
NOT_MEASURING = 0.03
#: Which of the host's columns are recorded, if the case needs none.
_OTHERS = {"cpu": 0.5, "steal": 0.25, "device": 0.45, "link": 0.45}
#: Which of the host's sensors shows which disturbance.
_SHOWN_BY = {"cpu": "cpu", "link": "link", "traffic": "device", "steal": "steal"}
#: Sensors that would show a disturbance that must stay hidden.
_TELLING = {"limited-by-host": {"cpu", "link"}, "interference": {"device", "steal"}}


def draw_habits(
    scenario: Scenario, frame: Frame, fastest_mb_s: float, chance: np.random.Generator
) -> Habits:
    """Return how the recordings of a case are made; `fastest_mb_s` is the highest rate in it."""
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
    """What the sensor measures: what the governor acts on, or another node."""
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
        # a slide belongs to the drive, and repeats
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
    """Repeats, or recordings with and without fins for cases about heat."""
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


#: Must change whenever a seed gives another case.
EDITION = 1
#: How often a case is redrawn if it does not show what it should.
MAX_ATTEMPTS = 20
#: The effect that a case is made to show has at least this depth.
MIN_DEPTH_PCT = 10.0
#: A drive hotter than this would have shut down.
HOTTEST_C = 105.0
#: Pairs of seeds whose two cases match in onset and depth.
PAIRED = 0.12
RECIPES: dict[str, tuple[float, Recipe]] = {
    "thermal": (0.22, loads.thermal),
    "spare-area": (0.12, loads.spare_area),
    "write-cache": (0.12, loads.write_cache),
    "overlap": (0.23, loads.overlap),
    "steady": (0.10, loads.steady),
    "narrow-link": (0.03, loads.narrow_link),
    "limited-by-host": (0.07, loads.limited_by_host),
    "interference": (0.06, loads.interference),
    "sliding": (0.05, loads.sliding),
}
#: Sudden changes become ramps of at most this length.
MAX_RAMP_S = 2.0
SAMPLING_S = {0.1: 0.5, 1.0: 0.25, 5.0: 0.25}
_DURATIONS_S = {0.1: (120, 420), 1.0: (400, 1500), 5.0: (1500, 3600)}
#: What the simulator runs for a step, on its own clock.
_MACHINE_S = (35, 60)


def make(seed: int) -> LabelledCase:
    """Return the case of `seed`; the same seed gives the same case."""
    pair = _pair_of(seed)
    if pair is None:
        chance = np.random.default_rng([EDITION, 1, seed])
        names = list(RECIPES)
        weights = np.array([RECIPES[name][0] for name in names])
        name = names[int(chance.choice(len(names), p=weights / weights.sum()))]
        frame = _frame(np.random.default_rng([EDITION, 2, seed]))
        return _made(seed, name, RECIPES[name][1], frame, None)
    frame = _frame(np.random.default_rng([EDITION, 2, seed // 2]))
    if seed % 2 == 0:
        return _made(seed, "thermal", loads.thermal, frame, pair)
    (first,) = make(pair).truth
    like = Like(first.onset_s, first.depth_pct / 100)
    others: list[tuple[str, Recipe]] = [
        ("spare-area", partial(loads.spare_area, like=like)),
        ("write-cache", partial(loads.write_cache, like=like)),
    ]
    if np.random.default_rng([EDITION, 3, seed]).random() < 0.4:
        others.reverse()
    for name, recipe in others:
        made = _tried(seed, name, recipe, frame, pair, like)
        if made is not None:
            return made
    raise AssertionError(f"seed {seed}: nothing matches seed {pair}")


def _pair_of(seed: int) -> int | None:
    is_paired = np.random.default_rng([EDITION, 0, seed // 2]).random() < PAIRED
    return seed ^ 1 if is_paired else None


def _frame(chance: np.random.Generator) -> Frame:
    sampling_s = float(chance.choice(list(SAMPLING_S), p=list(SAMPLING_S.values())))
    grid_s = 0.1 if sampling_s == 0.1 else 0.5
    duration_s = float(round(chance.uniform(*_DURATIONS_S[sampling_s]) / 5) * 5)
    return Frame(duration_s, sampling_s, duration_s / chance.uniform(*_MACHINE_S), grid_s)


def _made(seed: int, name: str, recipe: Recipe, frame: Frame, pair: int | None) -> LabelledCase:
    made = _tried(seed, name, recipe, frame, pair)
    if made is None:
        raise AssertionError(f"seed {seed}: nothing shows {name} in {MAX_ATTEMPTS} attempts")
    return made


def _tried(
    seed: int, name: str, recipe: Recipe, frame: Frame, pair: int | None, like: Like | None = None
) -> LabelledCase | None:
    for attempt in range(MAX_ATTEMPTS):
        chance = np.random.default_rng([EDITION, 4, seed, attempt])
        scenario = recipe(chance, frame)
        if pair is None:
            extend(scenario, frame, chance)
        runs = [_run(take, frame) for take in scenario.takes]
        ramp_s = float(chance.uniform(0, MAX_RAMP_S))
        seen = [
            _seen(take, run, number, ramp_s, frame.sampling_s)
            for number, (take, run) in enumerate(zip(scenario.takes, runs, strict=True))
        ]
        if all(one.is_explained for one in seen) and _shows(seen, scenario, frame, pair, like):
            return _labelled(seed, name, scenario, frame, pair, ramp_s, runs, seen, chance)
    return None


@dataclass(frozen=True)
class _Seen:
    """Noise-free rates of a take's loads by their names, and the truth about them."""

    shown: dict[str, Array]
    episodes: list[TrueEpisode]
    is_explained: bool
    at_ceiling: frozenset[str]

    def demanded(self, sampling_s: float) -> list[TrueEpisode]:
        return [one for one in self.episodes if not truth.is_grey(one, sampling_s)]


def _run(take: Take, frame: Frame) -> tuple[list[NoiselessStep], int]:
    """Return the courses of a take's steps, with times from the recording's start, and its size."""
    machine = Machine(take.setup.drive, take.setup.place, frame.scale, frame.grid_s, take.seed)
    for before in take.history:
        machine.take(before)
    courses = [machine.take(step, take.paces.get(step.name, ())) for step in take.steps]
    now_s = 0.0
    for course in courses:
        # each step has whole intervals
        course.start_s = now_s
        now_s += course.duration_s
    return courses, machine.size_bytes


def _seen(
    take: Take, run: tuple[list[NoiselessStep], int], number: int, ramp_s: float, sampling_s: float
) -> _Seen:
    shown: dict[str, Array] = {}
    episodes: list[TrueEpisode] = []
    is_explained = True
    at_ceiling = set()
    for course in run[0]:
        step = course.step
        if not step.loads:
            continue
        is_explained &= float(course.controller_c.max()) <= HOTTEST_C
        held = [stretch for stretch in take.held if stretch.step == step.name]
        rate, by_host = recordings.held_back(course, held, ramp_s)
        shown[step.name] = rate
        if not step.is_judged:
            continue
        if take.link_mb_s is not None and truth.is_at(course, take.link_mb_s):
            at_ceiling.add(step.name)
        gates = {**truth.gates_of(course, take.setup.cache_gb), **by_host}
        found = truth.episodes(rate, course, gates, number, sampling_s)
        is_explained &= truth.is_explained(rate, course.grid_s, found)
        episodes += found
    return _Seen(shown, episodes, is_explained, frozenset(at_ceiling))


def _shows(
    seen: list[_Seen], scenario: Scenario, frame: Frame, pair: int | None, like: Like | None
) -> bool:
    """Whether the case shows what it should."""
    (first, *_) = seen
    step = next(s.name for s in scenario.takes[0].steps if s.kind == "workload")
    if scenario.at_ceiling and step not in first.at_ceiling:
        return False
    here = [one for one in first.demanded(frame.sampling_s) if one.step == step]
    causes = dict.fromkeys(one.cause for one in here if one.depth_pct >= MIN_DEPTH_PCT)
    if tuple(causes) != scenario.wanted:
        return False
    if pair is None:
        return True
    (episode, *more) = here
    if more or episode.recovered or episode.shape == "cycle":
        return False
    return like is None or (
        abs(episode.onset_s - like.onset_s) <= max(2.0, 0.05 * like.onset_s)
        and abs(episode.depth_pct - 100 * like.depth) <= 5
    )


def _labelled(
    seed: int,
    name: str,
    scenario: Scenario,
    frame: Frame,
    pair: int | None,
    ramp_s: float,
    runs: list[tuple[list[NoiselessStep], int]],
    seen: list[_Seen],
    chance: np.random.Generator,
) -> LabelledCase:
    fastest_mb_s = max(float(rate.max()) for one in seen for rate in one.shown.values())
    habits = draw_habits(scenario, frame, fastest_mb_s, chance)
    recordings = [
        recorded(take, courses, one.shown, habits, size, f"corpus-{seed}-{number}", chance)
        for number, (take, (courses, size), one) in enumerate(
            zip(scenario.takes, runs, seen, strict=True)
        )
    ]
    verdicts: dict[tuple[int, str], TrueVerdict] = {}
    noise_free: dict[tuple[int, str], NoiseFree] = {}
    for number, (take, one) in enumerate(zip(scenario.takes, seen, strict=True)):
        for step in take.steps:
            if step.kind != "workload":
                continue
            here = [
                episode for episode in one.demanded(frame.sampling_s) if episode.step == step.name
            ]
            costliest = costliest_of(here)
            noise_free[number, step.name] = NoiseFree(frame.grid_s, one.shown[step.name])
            verdicts[number, step.name] = "steady" if costliest is None else costliest.cause
            if costliest is None and step.name in one.at_ceiling:
                verdicts[number, step.name] = "limited-by-host"
    choices = Choices(
        recipe=name,
        protocol=scenario.protocol,
        several=scenario.several,
        sampling_s=frame.sampling_s,
        duration_s=frame.duration_s,
        noise_sigma=habits.sigma,
        correlation=habits.correlation,
        ramp_s=ramp_s,
        has_dips=habits.has_dips,
        gaps=habits.gaps,
        has_temps=habits.sensor != "none",
        sensor=habits.sensor,
        overlaps=scenario.overlaps,
        pair=pair,
        scale=frame.scale,
    )
    demanded = [episode for one in seen for episode in one.demanded(frame.sampling_s)]
    return LabelledCase(
        seed,
        recordings,
        truth=demanded,
        verdicts=verdicts,
        choices=choices,
        grey=[e for one in seen for e in one.episodes if e not in demanded],
        noise_free=noise_free,
    )
