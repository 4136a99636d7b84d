"""Drives and loads for a wanted fall: where its onset and its depth come from."""

from dataclasses import dataclass

import numpy as np

from heatsoak.corpus.draw import PAGE, draw_setup, few_dies, pages
from heatsoak.corpus.heat import LIMITS_C, bring_to, felt_c, give_governor, pace_heat
from heatsoak.corpus.machine import Course
from heatsoak.corpus.scenario import Frame, Take, course_of, fill, load, pause
from heatsoak.protocol import WorkloadStep

KIB = 1024
GB = 1e9
#: Fewer I/Os at a point of the grid would make noise of their number.
LEAST_IOS = 40


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
    most = rate_mb_s * 1e6 * frame.grid_s / frame.scale / LEAST_IOS / KIB
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
    # energy goes with what the firmware does, so a command that takes longer costs more
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
    """Make flash fast enough for what is written and moved: the firmware is what is slow."""
    drive = take.setup.drive
    moved = _late_moves(course_of(take, frame, step), frame)
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
    """Correct spare area and the firmware's time for a moved page by what they gave."""
    controller = take.setup.drive["controller"]
    course = course_of(take, frame, step)
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


def _late_moves(course: Course, frame: Frame) -> float:
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
    course = course_of(take, frame, step)
    hottest_s = frame.grid_s * int(np.argmax(felt_c(take.setup, course)))
    bring_to(take, frame, step, hottest_s, top_c)
    engage_c = max(top_c + float(chance.uniform(5, 20)), LIMITS_C[0])
    take.setup.limits_c = give_governor(take.setup, frame, min(engage_c, 95.0), chance)
