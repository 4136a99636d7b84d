"""Draws a case of a seed: a situation, how it was logged, the files and the truth."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from heatsoak_dev.elsewhere import truth as truths
from heatsoak_dev.elsewhere.lookalikes import LOOKALIKES
from heatsoak_dev.elsewhere.noise import JITTER, measured_noise
from heatsoak_dev.elsewhere.observe import Observed, blur_s, observe, roughness
from heatsoak_dev.elsewhere.situations import SITUATIONS, Scene
from heatsoak_dev.elsewhere.thermal import Generator
from heatsoak_dev.elsewhere.truth import Truth
from heatsoak_dev.elsewhere.writers import FORMATS

DEVELOPMENT = range(10_000)
HELD_OUT = range(10_000, 1_000_000)
#: The world of usual situations, and that of those which look like heat, or like none.
WORLDS = {"usual": SITUATIONS, "lookalikes": LOOKALIKES}

# where only some formats make sense: nobody logs an idle desktop with fio, or a disk with nvme-cli
LOGGERS = [name for name, (_, _, beside) in FORMATS.items() if beside]
SUITABLE = {
    "idle desktop": ["hwinfo", "table", "iostat+hwmon", "smartctl-json", "iostat+nvme-json"],
    "bursts": [name for name in LOGGERS if name != "smartctl-json"],
    "uneven load": [name for name in LOGGERS if name != "smartctl-json"],
    "zones of a disk": ["fio-log", "iostat", "iostat+hwmon", "table", "bare-table", "sadf"],
}
ROUGH = 0.5  # the share of loads on SSDs that are as rough as a real log
POLLED = "smartctl-json"  # its rates come from the drive's counters, at its polls


def pick(rng: Generator, weights: dict[str, float]) -> str:
    """Draw a name by its weight."""
    names = list(weights)
    shares = np.array([weights[name] for name in names])
    return names[int(rng.choice(len(names), p=shares / shares.sum()))]


def spacing(rng: Generator, format_: str, seconds: float, dt: float) -> tuple[float, float]:
    """Draw how far apart samples and polls are."""
    intervals = [1.0, 2.0, 5.0]
    if format_ in ("hwinfo", "table"):
        intervals = [2.0, 2.0, 5.0] if format_ == "hwinfo" else [1.0, 1.0, 2.0, 5.0, 10.0]
    elif format_.startswith("fio-log"):
        intervals = [0.5, 1.0, 1.0, 2.0]
    elif format_.startswith("sadf"):
        intervals = [1.0, 5.0, 10.0, 60.0]
    elif format_.startswith("iostat"):
        intervals = [1.0, 1.0, 2.0, 5.0, 10.0]
    usable = [one for one in intervals if one >= dt and seconds / one >= 25] or [intervals[0]]
    interval = float(rng.choice([one for one in usable if seconds / one <= 12_000] or usable[-1:]))
    polls = [one for one in (1.0, 2.0, 5.0, 10.0, 30.0, 60.0) if 12 <= seconds / one <= 2500]
    poll = float(rng.choice(polls[:4] or [5.0]))
    if format_ == POLLED:
        return poll, poll
    return interval, interval if format_ in ("hwinfo", "table") else poll


def truth_of(seed: int, situation: str, format_: str, seen: Observed, shown: set[str]) -> Truth:
    """Return the truth of a scene as logged."""
    scene: Scene = seen.scene
    known = shown | scene.seen
    rough = roughness(scene, seen.interval_s)
    spans = [(a * scene.dt, b * scene.dt) for a, b in truths.loads(scene.demand, scene.dt)]
    falls = []
    if scene.loaded:
        for fall in truths.falls_of(scene.demand, scene.level, scene.cause, scene.dt):
            load = next(span for span in spans if span[0] <= fall.onset_s < span[1])
            blur = blur_s(scene, seen.interval_s, fall.depth_pct / 100)
            falls.append(truths.visible(fall, seen.interval_s, rough, load, blur))
        for begin_s, end_s in spans:
            if scene.noise.seems_to_fall(end_s - begin_s):
                falls.append(truths.optional(begin_s, end_s, "drift"))
    if "total" in shown and "fio" not in format_:  # the total may not have fallen at all
        falls = [replace(fall, required=False) for fall in falls]
    warmth = scene.temps["composite"]
    falls = [
        truths.explained(
            fall,
            known,
            float(warmth[int(fall.onset_s / scene.dt)]),
            scene.warning_c,
            reads=scene.reads,
        )
        for fall in [*falls, *scene.zones]
    ]
    falls.sort(key=lambda fall: fall.onset_s)
    return Truth(
        seed=seed,
        situation=situation,
        format=format_,
        files=(),
        start_unix_s=seen.start_unix_s,
        duration_s=seen.duration_s,
        interval_s=seen.interval_s,
        seen=tuple(sorted(known)),
        loaded=scene.loaded,
        flat=scene.loaded and not falls,
        answers=truths.answers(falls, known, loaded=scene.loaded),
        falls=tuple(falls),
    )


def draw(
    seed: int, format_: str = "", world: str = "usual"
) -> tuple[str, str, Observed, Generator]:
    """Draw a seed's situation, format and samples in a world; the format may be given."""
    drawn_from = WORLDS[world]
    rng = np.random.default_rng([seed, 20_260, *([1] if world == "lookalikes" else [])])
    situation = pick(rng, {name: weight for name, (weight, _) in drawn_from.items()})
    allowed = SUITABLE.get(situation, list(FORMATS))
    drawn = pick(rng, {name: FORMATS[name][0] for name in allowed})
    if situation == "interference" and rng.random() < 0.4:
        drawn = "fio-log+iostat"
    format_ = format_ or drawn
    scene = drawn_from[situation][1](rng, FORMATS[format_][2])
    interval, poll = spacing(rng, format_, len(scene.demand) * scene.dt, scene.dt)
    own = np.random.default_rng([seed, 20_261])  # so that situations are the same without it
    jitter = 0.0
    if scene.loaded and not scene.rotating and own.random() < ROUGH:
        scene.noise = measured_noise(
            own, reads=scene.reads, random=scene.random, capped=scene.noise.capped
        )
        jitter = JITTER if format_ == "hwinfo" else 0.0
    return situation, format_, observe(rng, scene, interval, poll, jitter), rng


def make(seed: int, folder: Path, format_: str = "", world: str = "usual") -> Truth:
    """Write a case's files and its truth into a folder, which is made; return the truth."""
    situation, format_, seen, rng = draw(seed, format_, world)
    folder.mkdir(parents=True, exist_ok=True)
    shown = set[str]()
    for write in FORMATS[format_][1]:
        shown |= write(seen, folder, rng)
    files = tuple(sorted(one.name for one in folder.iterdir() if one.name != "truth.json"))
    truth = replace(truth_of(seed, situation, format_, seen, shown), files=files)
    truth.write(folder)
    return truth
