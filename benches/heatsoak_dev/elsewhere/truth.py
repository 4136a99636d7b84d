"""What is true of a case, and what somebody who has only its files could know of it."""

import json
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from heatsoak_dev.elsewhere.thermal import Array

SEEN_PCT = 5.0  # what is less, or shorter than SHORT_S and over again, need not be found
SHORT_S = 5.0
LOST = 0.02  # the onset is where this share of the level is lost, as in the glossary
TOGETHER_S = 300.0  # falls of one cause that are nearer are one, which comes and goes


@dataclass(frozen=True)
class Fall:
    """A stretch of lowered throughput. ``cause`` is the world's, ``accepted`` the judge's words.

    ``required`` is whether it must be found, ``known`` whether its cause could be. ``tolerance_s``
    is how far off an onset may be reported, ``again_s`` when it fell further or anew within.
    ``shape`` is step, slide, cycle, zone (anything may be found in it) or waves (only all of them).
    """

    onset_s: float
    end_s: float
    depth_pct: float
    recovered: bool
    cause: str
    shape: str
    ramp_s: float = 0.0
    began_before: bool = False
    required: bool = True
    known: bool = False
    accepted: tuple[str, ...] = ()
    tolerance_s: float = SHORT_S
    again_s: tuple[float, ...] = ()


@dataclass(frozen=True)
class Truth:
    """All that a case's ``truth.json`` says."""

    seed: int
    situation: str
    format: str
    files: tuple[str, ...]
    start_unix_s: float
    duration_s: float
    interval_s: float
    seen: tuple[str, ...]
    loaded: bool
    flat: bool
    answers: tuple[str, ...]
    falls: tuple[Fall, ...] = field(default=())

    def write(self, folder: Path) -> None:
        """Write ``truth.json``."""
        text = json.dumps(asdict(self), indent=1)
        (folder / "truth.json").write_text(text + "\n", "utf-8")


def read_truth(folder: Path) -> Truth:
    """Read ``truth.json`` of a case."""
    given = json.loads((folder / "truth.json").read_text("utf-8"))
    tuples = ("accepted", "again_s")
    falls = tuple(
        Fall(**one | {name: tuple(one[name]) for name in tuples}) for one in given["falls"]
    )
    lists = {name: tuple(given[name]) for name in ("files", "seen", "answers")}
    return Truth(**{**given, **lists, "falls": falls})


def stretches(flags: list[str]) -> list[tuple[int, int, str]]:
    """Return where the same word stands, without the empty one: begin, end, word."""
    edges = [0, *(i for i in range(1, len(flags)) if flags[i] != flags[i - 1]), len(flags)]
    return [(a, b, flags[a]) for a, b in pairwise(edges) if flags[a]]


def loads(demand: Array, dt: float) -> list[tuple[int, int]]:
    """Return where something was asked of the drive; pauses under 10 s divide nothing."""
    found: list[tuple[int, int]] = []
    for begin, end, _ in stretches(["load" if asked > 0 else "" for asked in demand.tolist()]):
        if found and (begin - found[-1][1]) * dt < 10:
            found[-1] = (found[-1][0], end)
        else:
            found.append((begin, end))
    return found


def falls_of(demand: Array, level: Array, cause: list[str], dt: float) -> list[Fall]:
    """Return the falls of a level under what was asked, both without noise."""
    found: list[Fall] = []
    for begin, end in loads(demand, dt):
        asked = np.maximum(demand[begin:end], 1e-9)
        loss = np.where(demand[begin:end] > 0, 1 - level[begin:end] / asked, 0.0)
        words = [word if lost > LOST else "" for word, lost in zip(cause[begin:end], loss)]  # noqa: B905
        joined: list[list[tuple[int, int, str]]] = []
        for one in stretches(words):
            last = joined[-1][-1] if joined else None
            if last and last[2] == one[2] and (one[0] - last[1]) * dt < TOGETHER_S:
                joined[-1].append(one)
            else:
                joined.append([one])
        for parts in joined:
            first, last_index = parts[0][0], parts[-1][1]
            lost = loss[first:last_index]
            before = float(loss[first - 1]) if first and words[first - 1] else 0.0
            found.append(
                Fall(
                    onset_s=(begin + first) * dt,
                    end_s=(begin + last_index) * dt,
                    depth_pct=100 * (float(lost.mean()) - before) / (1 - before),
                    recovered=begin + last_index < end
                    and not words[min(last_index, end - begin - 1)],
                    cause=parts[0][2],
                    shape="cycle" if len(parts) > 2 else "step",
                    ramp_s=ramp_of(lost, dt),
                    began_before=begin + first == 0,
                    again_s=further(lost, (begin + first) * dt, dt),
                )
            )
    return found


def further(lost: Array, zero_s: float, dt: float) -> tuple[float, ...]:
    """Return when a fall fell by another 5 points within 5 s; not more than a hundred times."""
    span = max(int(5 / dt), 1)
    more = (lost[span:] - lost[:-span] > 0.05).astype(int)
    edges = np.nonzero(np.diff(more, prepend=0) > 0)[0][:100]
    return tuple(zero_s + float(at) * dt for at in edges + span)


def ramp_of(lost: Array, dt: float) -> float:
    """Return how long a fall took to nine tenths of its depth; 0 if it was sharp."""
    soon = min(int(5 / dt), len(lost) - 1)
    minute = lost[: max(int(120 / dt), 1)]
    at_once = float(lost[: soon + 1].max())
    if at_once >= max(0.5 * float(np.quantile(minute, 0.9)), 0.08):
        return 0.0
    return float(np.argmax(lost >= 0.9 * lost.max())) * dt


def optional(begin_s: float, end_s: float, cause: str) -> Fall:
    """Return a stretch in which falls need not be found, and may be.

    Waves of cleaning about one level are no falls: an episode may tell of all of them, as of a
    cycle, but not of one.
    """
    shape = "waves" if cause == "cleaning" else "zone"
    return Fall(begin_s, end_s, 0.0, True, cause, shape, required=False)


def visible(
    fall: Fall,
    interval_s: float,
    roughness: float,
    load: tuple[float, float],
    blur_s: float = 0.0,
) -> Fall:
    """Say whether a fall must be found in samples this far apart and this rough, and how exactly.

    Of a slide, the onset is hidden until it stands out of the slow part of the noise; of any fall,
    for ``blur_s`` in the fast part.
    """
    far = max(SHORT_S, 3 * interval_s) + blur_s
    hidden = fall.depth_pct < max(SEEN_PCT, 300 * roughness)
    short = fall.end_s - fall.onset_s < max(SHORT_S, 4 * interval_s)
    early = fall.onset_s - load[0] < max(SHORT_S, 4 * interval_s)
    tolerance = far
    if fall.ramp_s > 10:
        hard_to_see_s = fall.ramp_s * min(200 * roughness / max(fall.depth_pct, 1.0), 0.5)
        tolerance = max(far, 0.1 * fall.ramp_s + 10, hard_to_see_s)
    needed = not (hidden or short or early or fall.began_before)
    return replace(
        fall,
        shape="slide" if fall.ramp_s > 10 and fall.shape == "step" else fall.shape,
        required=fall.required and needed,
        tolerance_s=tolerance,
    )


# what a cause of the world is called by the judge, and what else is no mistake if nothing tells it
NAMES = {
    "thermal": ("thermal",),
    "write-cache": ("write-cache", "spare-area"),
    "spare-area": ("spare-area", "write-cache", "sliding"),
    "zones": ("sliding",),
    "host-cpu": ("limited-by-host", "interference"),
    "host-queue": ("limited-by-host",),
    "link": ("limited-by-host", "interference"),
    "power-state": ("limited-by-host", "interference"),
    "steal": ("interference", "limited-by-host"),
    "uneven-load": ("limited-by-host", "interference", "sliding"),
    "interference": ("interference", "limited-by-host"),
    "cleaning": ("spare-area", "write-cache", "interference", "sliding"),
    "drift": ("spare-area", "write-cache", "interference", "limited-by-host", "sliding"),
    "patrol": ("interference", "limited-by-host", "spare-area"),
    "commits": ("interference", "limited-by-host", "spare-area"),
}


def explained(
    fall: Fall, seen: set[str], reading_c: float, warning_c: float, *, reads: bool
) -> Fall:
    """Say which causes are right for a fall, from what the files show.

    ``seen`` may hold temps, limit (what the drive states), hot (they came near a limit), spoilt
    (the sensor is stuck), counters, cpu, queue, total (of the device beside the load's own), order
    (random or sequential), again (the load came again after a pause). A single fall proves no heat
    where few drives throttle at that temperature, or where the log ends within a minute; nor does
    one of writes away from a stated limit, which a full cache explains as well.
    """
    cool = {"temps"} == {"temps", "hot", "spoilt"} & seen
    near = reading_c >= min(70.0, warning_c - 3) and fall.end_s - fall.onset_s >= 60
    at_limit = "limit" in seen and abs(reading_c - warning_c) <= 3
    no_cache = reads or at_limit or "again" in seen or len(fall.again_s) > 1
    heat = "counters" in seen or (
        "temps" in seen and (fall.shape == "cycle" or (near and no_cache))
    )
    known = {
        "thermal": heat and "spoilt" not in seen,
        "write-cache": "order" in seen and (cool or "again" in seen),
        "spare-area": "order" in seen and cool,
        "zones": cool,
        "host-cpu": "cpu" in seen,
        "host-queue": "queue" in seen,
        "steal": "steal" in seen,
        "interference": "total" in seen,
    }.get(fall.cause, False)
    accepted = NAMES[fall.cause][:1] if known else ("unknown", *NAMES[fall.cause])
    if fall.cause == "thermal" and not {"temps", "counters"} & seen:
        accepted = ("unknown",)
    return replace(fall, known=known, accepted=accepted)


def answers(falls: list[Fall], seen: set[str], *, loaded: bool) -> tuple[str, ...]:
    """Return which answers to "did it throttle" are fair."""
    if not loaded:
        return ("not-loaded",)
    hot = [fall for fall in falls if fall.cause == "thermal" and fall.depth_pct >= 1]
    if hot:
        if any(fall.known and (fall.required or "counters" in seen) for fall in hot):
            return ("yes",)
        fair = ("cannot-tell",) if any(fall.required for fall in hot) else ("cannot-tell", "no")
        return ("yes", *fair) if {"temps", "counters"} & seen else fair
    cool = {"temps"} == {"temps", "hot", "spoilt"} & seen
    return ("no",) if cool or all(fall.known for fall in falls) else ("no", "cannot-tell")
