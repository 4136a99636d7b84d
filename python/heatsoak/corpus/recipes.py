"""What a case is made to show: one cause, two, or none."""

import numpy as np

from heatsoak.analysis.findings import Cause
from heatsoak.corpus.loads import (
    Like,
    cached,
    heated,
    overwriting,
    stay_below,
    throttle,
)
from heatsoak.corpus.machine import Pace
from heatsoak.corpus.scenario import Frame, Held, HostKind, Scenario, course_of
from heatsoak.protocol import WorkloadStep

#: What PCIe links carry as they are trained: lanes of the first to the fourth generation, MB/s.
LINKS_MB_S = (250.0, 500.0, 985.0, 1000.0, 1969.0, 2000.0, 3938.0, 7877.0)
#: What is left of that for data.
LINK_EFFICIENCY = (0.84, 0.93)


def thermal(chance: np.random.Generator, frame: Frame) -> Scenario:
    """The governor acts at some time in the step."""
    take, step = heated(chance, frame)
    throttle(take, frame, step, _onset_s(chance, frame), chance)
    return Scenario([take], wanted=("thermal",))


def steady(chance: np.random.Generator, frame: Frame) -> Scenario:
    """Nothing happens: cool, or in balance below the limit."""
    take, step = heated(chance, frame)
    stay_below(take, frame, step, chance)
    sensor = str(chance.choice(["good", "stuck", "placeholder"], p=[0.7, 0.15, 0.15]))
    return Scenario([take], sensor=sensor)


def spare_area(chance: np.random.Generator, frame: Frame, like: Like | None = None) -> Scenario:
    """Random writes use up the free blocks."""
    take, step = overwriting(chance, frame, like)
    stay_below(take, frame, step, chance)
    return Scenario([take], wanted=("spare-area",))


def write_cache(chance: np.random.Generator, frame: Frame, like: Like | None = None) -> Scenario:
    """Writes fill the flash of one bit a cell."""
    take, step = cached(chance, frame, like)
    stay_below(take, frame, step, chance)
    return Scenario([take], wanted=("write-cache",))


def overlap(chance: np.random.Generator, frame: Frame) -> Scenario:
    """A second cause on top of a first."""
    kind = str(chance.choice(["heat first", "flash first", "then others"], p=[0.6, 0.2, 0.2]))
    duration_s = frame.duration_s
    if kind == "then others":
        take, step = heated(chance, frame)
        throttle(take, frame, step, chance.uniform(0.12, 0.4) * duration_s, chance)
        begin_s = chance.uniform(0.6, 0.8) * duration_s
        others = _taken(chance, frame, step, begin_s, duration_s, _how(chance))
        take.held.append(others)
        return Scenario([take], overlaps=True, wanted=("thermal", "interference"))
    first_s = chance.uniform(0.12, 0.35) * duration_s
    second_s = chance.uniform(0.55, 0.75) * duration_s
    heat_s, flash_s = (first_s, second_s) if kind == "heat first" else (second_s, first_s)
    like = Like(flash_s, chance.uniform(0.35, 0.85))
    if chance.random() < 0.5:
        take, step = overwriting(chance, frame, like)
        flash: Cause = "spare-area"
    else:
        take, step = cached(chance, frame, like)
        flash = "write-cache"
    if kind == "flash first":
        # what follows has to be hotter than what went before
        take.setup.drive["energy"]["program_uj"] *= 3
        take.setup.drive["energy"]["move_uj"] *= 2
    throttle(take, frame, step, heat_s, chance)
    wanted: tuple[Cause, ...] = ("thermal", flash) if kind == "heat first" else (flash, "thermal")
    return Scenario([take], overlaps=True, wanted=wanted)


def narrow_link(chance: np.random.Generator, frame: Frame) -> Scenario:
    """All of it is what the link carries."""
    take, step = heated(chance, frame)
    speed_mb_s = min(take.setup.drive["controller"][f"{way}_mb_s"] for way in ("read", "write"))
    fitting = [link for link in LINKS_MB_S if link * 1.3 < speed_mb_s]
    stated = float(chance.choice(fitting[-2:])) if fitting else LINKS_MB_S[0]
    if not fitting:
        raise_to = stated * chance.uniform(1.4, 3) / speed_mb_s
        for key in ("read_mb_s", "write_mb_s"):
            take.setup.drive["controller"][key] *= raise_to
        take.setup.drive["nand"]["program_us"] /= raise_to
        take.setup.drive["nand"]["read_us"] /= raise_to
    take.setup.place["link_mb_s"] = stated * chance.uniform(*LINK_EFFICIENCY)
    take.link_mb_s = stated
    stay_below(take, frame, step, chance)
    return Scenario([take], at_ceiling=True)


def limited_by_host(chance: np.random.Generator, frame: Frame) -> Scenario:
    """The host gives the drive less to do for one stretch or two, so that it cools."""
    take, step = heated(chance, frame)
    stay_below(take, frame, step, chance)
    own_mb_s = float(np.median(course_of(take, frame, step).rate_mb_s))
    ways = 2 if step.is_mixed else 1
    how: HostKind = str(chance.choice(["cpu", "link", "silent"], p=[0.45, 0.3, 0.25]))  # type: ignore[assignment]
    narrower = [link for link in LINKS_MB_S if 0.15 <= link * ways / own_mb_s <= 0.9]
    if how == "link" and not narrower:
        how = "cpu"
    paces = []
    for begin_s, end_s in _stretches(chance, frame, int(chance.integers(1, 3)), (0.12, 0.35)):
        mb_s, link_mb_s = own_mb_s / ways * (1 - chance.uniform(0.12, 0.75)), None
        if how == "link":
            link_mb_s = float(chance.choice(narrower))
            mb_s = link_mb_s * chance.uniform(*LINK_EFFICIENCY)
        paces.append(Pace(begin_s, end_s, mb_s))
        take.held.append(
            Held(step.name, begin_s, end_s, "limited-by-host", how, link_mb_s=link_mb_s)
        )
    take.paces[step.name] = tuple(paces)
    return Scenario([take], wanted=("limited-by-host",))


def interference(chance: np.random.Generator, frame: Frame) -> Scenario:
    """Others' traffic takes its share for irregular stretches; the drive works on as before."""
    take, step = heated(chance, frame)
    stay_below(take, frame, step, chance)
    how = _how(chance)
    for begin_s, end_s in _stretches(chance, frame, int(chance.integers(1, 5)), (0.03, 0.2)):
        take.held.append(_taken(chance, frame, step, begin_s, end_s, how))
    return Scenario([take], wanted=("interference",))


def sliding(chance: np.random.Generator, frame: Frame) -> Scenario:
    """A slow decline: the zones of a turning disk, or what is more and more scattered."""
    take, step = heated(chance, frame)
    is_disk = bool(chance.random() < 0.6)
    stay_below(take, frame, step, chance)
    begin_s = 0.0 if is_disk else chance.uniform(0, 0.3) * frame.duration_s
    begin_s = round(begin_s / frame.grid_s) * frame.grid_s
    depth, bend = chance.uniform(0.2, 0.55), chance.uniform(0.9, 1.5)
    count = round((frame.duration_s - begin_s) / frame.grid_s)
    share = 1 - depth * (np.arange(1, count + 1) / count) ** bend
    take.held.append(Held(step.name, begin_s, frame.duration_s, "sliding", "silent", share))
    if is_disk:
        take.model = "Simulated disk of two zones in three"
        mean_mb_s = float(course_of(take, frame, step).rate_mb_s.mean()) * float(share.mean())
        take.size_bytes = int(mean_mb_s * 1e6 * frame.duration_s * chance.uniform(1.0, 1.3))
    return Scenario([take], wanted=("sliding",))


def _onset_s(chance: np.random.Generator, frame: Frame) -> float:
    return float(chance.uniform(0.12, 0.6)) * frame.duration_s


def _how(chance: np.random.Generator) -> HostKind:
    return str(chance.choice(["traffic", "steal", "silent"], p=[0.4, 0.3, 0.3]))  # type: ignore[return-value]


def _taken(
    chance: np.random.Generator,
    frame: Frame,
    step: WorkloadStep,
    begin_s: float,
    end_s: float,
    how: HostKind,
) -> Held:
    """Others take a share that wanders slowly."""
    count = round(end_s / frame.grid_s) - round(begin_s / frame.grid_s)
    points = max(2, round((end_s - begin_s) / max(5.0, 0.02 * frame.duration_s)))
    taken = np.clip(chance.uniform(0.15, 0.75) * chance.lognormal(0, 0.15, points), 0.1, 0.9)
    share = 1 - np.interp(np.linspace(0, points - 1, count), np.arange(points), taken)
    return Held(step.name, begin_s, end_s, "interference", how, share)


def _stretches(
    chance: np.random.Generator, frame: Frame, count: int, lengths: tuple[float, float]
) -> list[tuple[float, float]]:
    """Stretches in the order of time, apart from each other; the last may reach the step's end."""
    duration_s, grid_s = frame.duration_s, frame.grid_s
    least_s = max(8.0, 4 * frame.sampling_s)
    found: list[tuple[float, float]] = []
    begin_s = chance.uniform(0.1, 0.35) * duration_s
    for _ in range(count):
        end_s = begin_s + max(least_s, chance.uniform(*lengths) * duration_s)
        if end_s > 0.93 * duration_s:
            end_s = duration_s
        found.append((round(begin_s / grid_s) * grid_s, round(end_s / grid_s) * grid_s))
        begin_s = end_s + max(2 * least_s, chance.uniform(0.05, 0.3) * duration_s)
        if begin_s > 0.85 * duration_s:
            break
    return found
