"""Makes a labelled case of a seed: draws, simulates, labels, and logs."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from heatsoak.corpus import host, protocols, recipes, truth
from heatsoak.corpus.habits import draw_habits
from heatsoak.corpus.labels import Choices, Labelled, NoiseFree, TrueEpisode, TrueVerdict
from heatsoak.corpus.loads import Like
from heatsoak.corpus.machine import Array, Course, Machine
from heatsoak.corpus.recorded import recorded
from heatsoak.corpus.scenario import Frame, Recipe, Scenario, Take

#: Changes with everything that changes what a seed makes.
EDITION = 1
#: How often a case is drawn again that did not show what it was to show.
MOST_ATTEMPTS = 20
#: What a case is made to show has at least this depth.
LEAST_DEPTH_PCT = 10.0
#: A drive that gets hotter than this would have shut itself down.
HOTTEST_C = 105.0
#: Pairs of seeds whose two cases match in onset and depth.
PAIRED = 0.12
RECIPES: dict[str, tuple[float, Recipe]] = {
    "thermal": (0.22, recipes.thermal),
    "spare-area": (0.12, recipes.spare_area),
    "write-cache": (0.12, recipes.write_cache),
    "overlap": (0.23, recipes.overlap),
    "steady": (0.10, recipes.steady),
    "narrow-link": (0.03, recipes.narrow_link),
    "limited-by-host": (0.07, recipes.limited_by_host),
    "interference": (0.06, recipes.interference),
    "sliding": (0.05, recipes.sliding),
}
#: Sudden changes become ramps of up to this long.
MOST_RAMP_S = 2.0
SAMPLING_S = {0.1: 0.5, 1.0: 0.25, 5.0: 0.25}
_DURATIONS_S = {0.1: (120, 420), 1.0: (400, 1500), 5.0: (1500, 3600)}
#: What the simulator runs for a step, on its own clock.
_MACHINE_S = (35, 60)


def make(seed: int) -> Labelled:
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
        return _made(seed, "thermal", recipes.thermal, frame, pair)
    (first,) = make(pair).truth
    like = Like(first.onset_s, first.depth_pct / 100)
    others: list[tuple[str, Recipe]] = [
        ("spare-area", partial(recipes.spare_area, like=like)),
        ("write-cache", partial(recipes.write_cache, like=like)),
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


def _made(seed: int, name: str, recipe: Recipe, frame: Frame, pair: int | None) -> Labelled:
    made = _tried(seed, name, recipe, frame, pair)
    if made is None:
        raise AssertionError(f"seed {seed}: nothing shows {name} in {MOST_ATTEMPTS} attempts")
    return made


def _tried(
    seed: int, name: str, recipe: Recipe, frame: Frame, pair: int | None, like: Like | None = None
) -> Labelled | None:
    for attempt in range(MOST_ATTEMPTS):
        chance = np.random.default_rng([EDITION, 4, seed, attempt])
        scenario = recipe(chance, frame)
        if pair is None:
            protocols.extend(scenario, frame, chance)
        runs = [_run(take, frame) for take in scenario.takes]
        ramp_s = float(chance.uniform(0, MOST_RAMP_S))
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


def _run(take: Take, frame: Frame) -> tuple[list[Course], int]:
    """Return how the steps of a take go, times counted from the recording's begin, and its size."""
    machine = Machine(take.setup.drive, take.setup.place, frame.scale, frame.grid_s, take.seed)
    for before in take.history:
        machine.take(before)
    courses = [machine.take(step, take.paces.get(step.name, ())) for step in take.steps]
    now_s = 0.0
    for course in courses:
        # each step takes whole intervals
        course.begin_s = now_s
        now_s += course.duration_s
    return courses, machine.size_bytes


def _seen(
    take: Take, run: tuple[list[Course], int], number: int, ramp_s: float, sampling_s: float
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
        rate, by_host = host.held_back(course, held, ramp_s)
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
    """Whether the case shows what it was made to show."""
    (first, *_) = seen
    step = next(s.name for s in scenario.takes[0].steps if s.kind == "workload")
    if scenario.at_ceiling and step not in first.at_ceiling:
        return False
    here = [one for one in first.demanded(frame.sampling_s) if one.step == step]
    causes = dict.fromkeys(one.cause for one in here if one.depth_pct >= LEAST_DEPTH_PCT)
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
    runs: list[tuple[list[Course], int]],
    seen: list[_Seen],
    chance: np.random.Generator,
) -> Labelled:
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
            deepest = max(here, key=lambda episode: episode.depth_pct, default=None)
            noise_free[number, step.name] = NoiseFree(frame.grid_s, one.shown[step.name])
            verdicts[number, step.name] = "steady" if deepest is None else deepest.cause
            if deepest is None and step.name in one.at_ceiling:
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
    return Labelled(
        seed,
        recordings,
        truth=demanded,
        verdicts=verdicts,
        choices=choices,
        grey=[e for one in seen for e in one.episodes if e not in demanded],
        noise_free=noise_free,
    )
