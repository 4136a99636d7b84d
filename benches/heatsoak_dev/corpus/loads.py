"""Drives and loads for a wanted fall: its cause, onset, depth, and the heat for it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from heatsoak.analysis.findings import Cause
from heatsoak.analysis.series import Array
from heatsoak.protocol import WorkloadStep

from heatsoak_dev.corpus.draw import PAGE, Setup, draw_setup, few_dies, pages
from heatsoak_dev.corpus.machine import NoiselessStep, Pace
from heatsoak_dev.corpus.scenario import (
    Frame,
    Held,
    HostKind,
    Scenario,
    Take,
    fill,
    load,
    noiseless_step_of,
    pause,
)

#: The range of temperatures at which drives start to throttle.
LIMITS_C = (60.0, 90.0)
#: The usual range of air temperatures at the slot.
AIR_C = (18.0, 42.0)


def felt_c(setup: Setup, course: NoiselessStep) -> Array:
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
    # heat is linear except for leakage, so a second iteration comes close
    for _ in range(2):
        felt = felt_c(setup, noiseless_step_of(take, frame, step))
        index = min(len(felt) - 1, int(at_s / frame.grid_s))
        rise_k = float(felt[index]) - setup.place["air_c"]
        factor = (wanted_c - air_c) / max(rise_k, 0.5)
        setup.place["air_c"] = air_c
        # time constants do not change
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


KIB = 1024
GB = 1e9
#: With fewer I/Os per grid point, their number would be noisy.
MIN_IOS = 40


@dataclass(frozen=True)
class Like:
    """The drop that a case is to match."""

    onset_s: float
    depth: float


def heated(chance: np.random.Generator, frame: Frame) -> tuple[Take, WorkloadStep]:
    """A drive without cache under a load that never uses up its spare area."""
    setup = draw_setup(chance, write_mb_s=float(chance.uniform(150, 1500)))
    setup.set_size(chance.uniform(8, 20) * GB, chance.uniform(1, 3) * GB)
    rw = str(chance.choice(["write", "read", "rw", "randread"], p=[0.5, 0.3, 0.1, 0.1]))
    bs = _block(chance, frame, setup.drive["controller"]["write_mb_s"], (64, 128, 256, 1024))
    if rw == "randread":
        bs = _block(chance, frame, setup.drive["controller"]["read_mb_s"], (4, 16, 64))
        path_s = bs / (setup.drive["controller"]["read_mb_s"] * 1e6)
        setup.drive["controller"]["read_command_us"] = path_s * 1e6 * chance.uniform(1.0, 3)
    more = {"rwmixread": int(chance.choice([30, 50, 70]))} if rw == "rw" else {}
    step = load(rw, rw, bs, frame.duration_s, **more)
    take = Take(setup, [step], seed=int(chance.integers(1 << 31)))
    if step.reads:
        take.history = [fill(), pause(3 * frame.duration_s)]
    pace_heat(setup, frame, chance)
    return take, step


def _block(
    chance: np.random.Generator, frame: Frame, rate_mb_s: float, sizes: tuple[int, ...]
) -> int:
    """Draw a block size in KiB with tens of I/Os to each point of the grid; return it in bytes."""
    most = rate_mb_s * 1e6 * frame.grid_s / frame.scale / MIN_IOS / KIB
    fitting = [size for size in sizes if size <= most] or [sizes[0]]
    return int(chance.choice(fitting)) * KIB


def overwriting(
    chance: np.random.Generator, frame: Frame, like: Like | None
) -> tuple[Take, WorkloadStep]:
    """A drive whose free blocks are used up at a wanted time, by random writes."""
    onset_s = like.onset_s if like else chance.uniform(0.12, 0.6) * frame.duration_s
    depth = like.depth if like else chance.uniform(0.2, 0.9)
    is_filled = bool(chance.random() < 0.75)
    spare = chance.uniform(1.0, 5.0) * GB
    user = spare / chance.uniform(0.12, 0.5) if is_filled else spare * chance.uniform(0.6, 0.95)
    rate_mb_s = spare / (onset_s / frame.scale) / 1e6
    bs = _block(chance, frame, (1 - depth) * rate_mb_s, (4, 8, 16, 32))
    setup = draw_setup(chance, write_mb_s=rate_mb_s * chance.uniform(1.2, 3))
    setup.set_size(user, spare if is_filled else max(spare - user, 0))
    drive = setup.drive
    command_us = bs / rate_mb_s
    # energy follows firmware time, so a longer command costs more
    drive["controller"]["write_command_us"] = command_us
    step = load("randwrite", "randwrite", bs, frame.duration_s)
    take = Take(setup, [step], seed=int(chance.integers(1 << 31)))
    take.history = [fill(), pause(2 * frame.duration_s)] if is_filled else []
    pace_heat(setup, frame, chance)
    _give_room(take, frame, step, depth)
    for _ in range(3 if like else 2):
        _come_to(take, frame, step, Like(onset_s, depth))
    return take, step


def _give_room(take: Take, frame: Frame, step: WorkloadStep, depth: float) -> None:
    """Make flash fast enough for what is written and moved, so that the firmware is the limit."""
    drive = take.setup.drive
    moved = _late_moves(noiseless_step_of(take, frame, step), frame)
    rate_mb_s = step.bs / drive["controller"]["write_command_us"]
    flash_mb_s = drive["nand"]["dies"] * drive["nand"]["unit_bytes"] / drive["nand"]["program_us"]
    room = max(1.0, rate_mb_s * max(1.3, 4 * (1 - depth) * (1 + moved)) / flash_mb_s)
    for key in ("program_us", "read_us", "erase_us"):
        drive["nand"][key] /= room
    drive["nand"]["channel_mb_s"] *= room
    drive["controller"]["move_us"] = _extra_us(
        step, drive["controller"]["write_command_us"], depth
    ) / max(moved, 0.1)


def _come_to(take: Take, frame: Frame, step: WorkloadStep, like: Like) -> None:
    """Correct spare area and the firmware's time per moved page by their results."""
    controller = take.setup.drive["controller"]
    course = noiseless_step_of(take, frame, step)
    collects = np.flatnonzero(course.moved > 0.02)
    if not len(collects):
        return
    onset = int(collects[0]) + 1
    _shift_onset(take, like.onset_s / (frame.grid_s * onset))
    rate = course.rate_mb_s
    late = float(rate[-round(60 / frame.grid_s) :].mean())
    depth = float(np.clip(1 - late / rate[:onset].mean(), 0.02, 0.98))
    wanted_us = _extra_us(step, controller["write_command_us"], like.depth)
    given_us = _extra_us(step, controller["write_command_us"], depth)
    controller["move_us"] *= float(np.clip(wanted_us / given_us, 0.05, 20))


def _extra_us(step: WorkloadStep, command_us: float, depth: float) -> float:
    """The firmware's time for moves, for each page that is written, that loses `depth`."""
    return command_us / (step.bs / PAGE) * depth / (1 - depth)


def _late_moves(course: NoiselessStep, frame: Frame) -> float:
    late = slice(-round(60 / frame.grid_s), None)
    return float(np.average(course.moved[late], weights=course.write_mb_s[late] + 1e-9))


def _shift_onset(take: Take, factor: float) -> None:
    """Scale what can be written before anything has to be collected."""
    capacity = take.setup.drive["capacity"]
    block = take.setup.drive["nand"]["block_bytes"]
    free = capacity["raw_bytes"] - 6 * block
    if take.history:
        free -= capacity["user_bytes"]
    raw = capacity["raw_bytes"] + (factor - 1) * free
    least = capacity["user_bytes"] + 8 * block
    capacity["raw_bytes"] = pages(max(raw, least))


def cached(
    chance: np.random.Generator, frame: Frame, like: Like | None
) -> tuple[Take, WorkloadStep]:
    """A drive whose cache is full at a wanted time."""
    onset_s = like.onset_s if like else chance.uniform(0.1, 0.6) * frame.duration_s
    depth = like.depth if like else chance.uniform(0.15, 0.9)
    written = chance.uniform(8, 25) * GB
    machine_s = frame.duration_s / frame.scale
    first_s = onset_s / frame.scale
    rate_mb_s = written / (first_s + (1 - depth) * (machine_s - first_s)) / 1e6
    setup = draw_setup(chance, write_mb_s=rate_mb_s)
    bits = int(chance.choice([3, 4]))
    cache = pages(rate_mb_s * 1e6 * first_s)
    kind = str(chance.choice(["static", "dynamic"]))
    nand = setup.drive["nand"]
    few_dies(nand, (1 - depth) * rate_mb_s)
    width = nand["dies"] * nand["unit_bytes"]
    nand["program_us"] = width / ((1 - depth) * rate_mb_s)
    setup.drive["cache"] = {
        "kind": kind,
        "bytes": cache,
        "bits": bits,
        "read_us": nand["read_us"] * 0.5,
        "program_us": width / bits / (rate_mb_s * chance.uniform(1.3, 2)),
        "fold_after_s": float(chance.uniform(1, 10)) / frame.scale,
        "fold_mb_s": float(chance.uniform(0.3, 0.8) * (1 - depth) * rate_mb_s),
    }
    if kind == "static":
        setup.set_size(written * 1.15, GB, cache * bits)
    else:
        setup.set_size(written * 1.15, cache * (bits - 1) + GB)
    is_random = bool(chance.random() < 0.2)
    sizes = (16, 64) if is_random else (64, 128, 256, 1024)
    bs = _block(chance, frame, (1 - depth) * rate_mb_s, sizes)
    if is_random:
        setup.drive["controller"]["write_command_us"] = 0.5 * bs / rate_mb_s
    rw = "randwrite" if is_random else "write"
    step = load(rw, rw, bs, frame.duration_s)
    take = Take(setup, [step], seed=int(chance.integers(1 << 31)))
    pace_heat(setup, frame, chance)
    return take, step


def throttle(
    take: Take, frame: Frame, step: WorkloadStep, at_s: float, chance: np.random.Generator
) -> None:
    """Let the governor act once the load has run for `at_s`."""
    engage_c = float(chance.uniform(*LIMITS_C))
    bring_to(take, frame, step, at_s, engage_c)
    take.setup.limits_c = give_governor(take.setup, frame, engage_c, chance)


def stay_below(take: Take, frame: Frame, step: WorkloadStep, chance: np.random.Generator) -> None:
    """Let the drive get warm, and its governor act only above that."""
    top_c = float(chance.uniform(42, 78))
    course = noiseless_step_of(take, frame, step)
    hottest_s = frame.grid_s * int(np.argmax(felt_c(take.setup, course)))
    bring_to(take, frame, step, hottest_s, top_c)
    engage_c = max(top_c + float(chance.uniform(5, 20)), LIMITS_C[0])
    take.setup.limits_c = give_governor(take.setup, frame, min(engage_c, 95.0), chance)


#: What PCIe links carry per lane, first to fourth generation, MB/s.
LINKS_MB_S = (250.0, 500.0, 985.0, 1000.0, 1969.0, 2000.0, 3938.0, 7877.0)
#: The share of that left for data.
LINK_EFFICIENCY = (0.84, 0.93)


def thermal(chance: np.random.Generator, frame: Frame) -> Scenario:
    """The governor acts at some time in the step."""
    take, step = heated(chance, frame)
    throttle(take, frame, step, _onset_s(chance, frame), chance)
    return Scenario([take], wanted=("thermal",))


def steady(chance: np.random.Generator, frame: Frame) -> Scenario:
    """Nothing happens: cool, or in equilibrium below the limit."""
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
    """Writes fill the pSLC cache."""
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
        start_s = chance.uniform(0.6, 0.8) * duration_s
        others = _taken(chance, frame, step, start_s, duration_s, _how(chance))
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
        # the second must be hotter than the first
        take.setup.drive["energy"]["program_uj"] *= 3
        take.setup.drive["energy"]["move_uj"] *= 2
    throttle(take, frame, step, heat_s, chance)
    wanted: tuple[Cause, ...] = ("thermal", flash) if kind == "heat first" else (flash, "thermal")
    return Scenario([take], overlaps=True, wanted=wanted)


def narrow_link(chance: np.random.Generator, frame: Frame) -> Scenario:
    """The link limits the whole step."""
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
    """The host gives the drive less to do for one or two stretches, so that it cools."""
    take, step = heated(chance, frame)
    stay_below(take, frame, step, chance)
    own_mb_s = float(np.median(noiseless_step_of(take, frame, step).rate_mb_s))
    ways = 2 if step.is_mixed else 1
    how: HostKind = str(chance.choice(["cpu", "link", "silent"], p=[0.45, 0.3, 0.25]))  # type: ignore[assignment]
    narrower = [link for link in LINKS_MB_S if 0.15 <= link * ways / own_mb_s <= 0.9]
    if how == "link" and not narrower:
        how = "cpu"
    paces = []
    for start_s, end_s in _stretches(chance, frame, int(chance.integers(1, 3)), (0.12, 0.35)):
        mb_s, link_mb_s = own_mb_s / ways * (1 - chance.uniform(0.12, 0.75)), None
        if how == "link":
            link_mb_s = float(chance.choice(narrower))
            mb_s = link_mb_s * chance.uniform(*LINK_EFFICIENCY)
        paces.append(Pace(start_s, end_s, mb_s))
        take.held.append(
            Held(step.name, start_s, end_s, "limited-by-host", how, link_mb_s=link_mb_s)
        )
    take.paces[step.name] = tuple(paces)
    return Scenario([take], wanted=("limited-by-host",))


def interference(chance: np.random.Generator, frame: Frame) -> Scenario:
    """Others' traffic takes a share for irregular stretches; the drive keeps working as before."""
    take, step = heated(chance, frame)
    stay_below(take, frame, step, chance)
    how = _how(chance)
    for start_s, end_s in _stretches(chance, frame, int(chance.integers(1, 5)), (0.03, 0.2)):
        take.held.append(_taken(chance, frame, step, start_s, end_s, how))
    return Scenario([take], wanted=("interference",))


def sliding(chance: np.random.Generator, frame: Frame) -> Scenario:
    """A slow decline: the zones of a spinning disk, or growing fragmentation."""
    take, step = heated(chance, frame)
    is_disk = bool(chance.random() < 0.6)
    stay_below(take, frame, step, chance)
    start_s = 0.0 if is_disk else chance.uniform(0, 0.3) * frame.duration_s
    start_s = round(start_s / frame.grid_s) * frame.grid_s
    depth, bend = chance.uniform(0.2, 0.55), chance.uniform(0.9, 1.5)
    count = round((frame.duration_s - start_s) / frame.grid_s)
    share = 1 - depth * (np.arange(1, count + 1) / count) ** bend
    take.held.append(Held(step.name, start_s, frame.duration_s, "sliding", "silent", share))
    if is_disk:
        take.model = "Simulated disk of two zones in three"
        mean_mb_s = float(noiseless_step_of(take, frame, step).rate_mb_s.mean()) * float(
            share.mean()
        )
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
    start_s: float,
    end_s: float,
    how: HostKind,
) -> Held:
    """Others take a slowly varying share."""
    count = round(end_s / frame.grid_s) - round(start_s / frame.grid_s)
    points = max(2, round((end_s - start_s) / max(5.0, 0.02 * frame.duration_s)))
    taken = np.clip(chance.uniform(0.15, 0.75) * chance.lognormal(0, 0.15, points), 0.1, 0.9)
    share = 1 - np.interp(np.linspace(0, points - 1, count), np.arange(points), taken)
    return Held(step.name, start_s, end_s, "interference", how, share)


def _stretches(
    chance: np.random.Generator, frame: Frame, count: int, lengths: tuple[float, float]
) -> list[tuple[float, float]]:
    """Separate stretches in time order; the last may reach the step's end."""
    duration_s, grid_s = frame.duration_s, frame.grid_s
    min_s = max(8.0, 4 * frame.sampling_s)
    found: list[tuple[float, float]] = []
    start_s = chance.uniform(0.1, 0.35) * duration_s
    for _ in range(count):
        end_s = start_s + max(min_s, chance.uniform(*lengths) * duration_s)
        if end_s > 0.93 * duration_s:
            end_s = duration_s
        found.append((round(start_s / grid_s) * grid_s, round(end_s / grid_s) * grid_s))
        start_s = end_s + max(2 * min_s, chance.uniform(0.05, 0.3) * duration_s)
        if start_s > 0.85 * duration_s:
            break
    return found
