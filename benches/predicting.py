"""What `predict` says, against the exact engine and against what was published.

    benches/predicting.py [--only PART] [--drives 20] [--places 4] [--edges 24] [--twins 12]

Five parts:

- `catalog`: drives of the catalog in places under loads, beside exact simulations of the same
  drive, and of another of its model in another such room: ranges are meant for that one. Near the
  edge, where the air makes throttling uncertain, several others show whether probabilities hold.
- `runs`: drives of the catalog in places, beside what the judge says of runs of the same.
- `elsewhere`: twins of drives in one place, fitted on the base of another drive, in places and
  under loads that they were not fitted to.
- `published`: twins fitted to simulations of Puget's idle cells, in the loaded ones by their air
  alone; and to AnandTech's bare adapter, with the heatsink.
- `time`: of one prediction, with the unheated pass apart, beside that of the whole drive.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")

import heatsoak
import numpy as np
import polars as pl
from heatsoak.catalog import drive_ids, load_drive, load_enclosure, published
from heatsoak.errors import HeatsoakError
from heatsoak.protocol import Pause, Precondition, Protocol, WorkloadStep, load
from heatsoak.ranges import Range
from heatsoak.recording import Recording
from heatsoak.target import simulated
from heatsoak.twin.asked import DemandSeries, Slowed, behind, held_back
from heatsoak.twin.case import (
    Cooling,
    LikelyDrive,
    WorkloadCase,
    core_of,
    prepared,
    slowed_in,
    varied,
)
from heatsoak.twin.fitting import fit
from heatsoak.twin.predict import Prediction, predict
from heatsoak.words import range_text
from numpy.typing import NDArray

Array = NDArray[np.float64]
Spec = dict[str, Any]
Steps = Sequence[WorkloadStep | Pause]
Pair = tuple[Spec, Spec]
#: A drive, a place, a load, and a seed.
Job = tuple[str, str, str, int]

#: Drives of M.2 slots, and for each another one that its twins are based on.
OTHERS = {
    "samsung-950-pro-512": "samsung-sm951-nvme-256",
    "samsung-950-pro-256": "samsung-sm951-nvme-256",
    "samsung-sm951-nvme-256": "samsung-950-pro-512",
    "samsung-sm951-ahci-512": "samsung-950-pro-512",
    "pcie4-tlc-1tb": "pcie5-tlc-2tb",
    "pcie5-tlc-2tb": "pcie4-tlc-1tb",
}
PLACES = (
    "open-bench", "anandtech-bench", "wings-px1", "controller-heatsink", "stick-on-heatsink",
    "board-heatsink", "backplate-pad", "laptop", "plextor-adapter", "fan-slow",
    "puget-top-2gpu-idle", "puget-bottom-1gpu-loaded", "puget-underside-1gpu-idle",
    "puget-upright-2gpu-loaded",
)  # fmt: skip
LOADS = ("sequential write", "sequential read", "half-rate write", "random write, filled")
LONG_S, RANDOM_S = 600.0, 300.0
#: Earlier onsets are left out of relative errors: of a drive that is warm from being filled.
MIN_ONSET_S = 5.0
#: As `heatsoak predict` says of drives of a model: air in K, resistance, power, limit in K.
SPREADS = (2.0, 0.1, 0.05, 1.0)
#: Others of the same model, for the probability near the edge.
OTHERS_AT_EDGE = 4
#: In places not seen: the air's warming, the share of full load, a heatsink's K/W.
UNSEEN = {
    "as fitted": (0.0, 1.0, None),
    "air +8 K": (8.0, 1.0, None),
    "air -8 K": (-8.0, 1.0, None),
    "70 % load, air +8 K": (8.0, 0.7, None),
    "half load, air +15 K": (15.0, 0.5, None),
    "heatsink of 20 K/W": (0.0, 1.0, 20.0),
    "heatsink of 20 K/W, air +15 K": (15.0, 1.0, 20.0),
}


# ---- the exact engine


def step_of(name: str, rw: str, **more: object) -> WorkloadStep:
    """Return a load of the usual block size and depth."""
    bs = "4k" if rw.startswith("rand") else "128k"
    words = {"name": name, "rw": rw, "bs": bs, "iodepth": 32, **more}
    return WorkloadStep.model_validate(words)


def pause(duration: str) -> Pause:
    """Return a time at rest."""
    return Pause.model_validate({"kind": "pause", "name": f"rest {duration}", "duration": duration})


def exact(
    drive: Spec, place: Spec, before: Steps, step: WorkloadStep, case: WorkloadCase
) -> Slowed | None:
    """Simulate a load of `case`'s length; ValueError for what cannot be."""
    core = core_of(drive, place, (*before, step))
    for one in before:
        prepared(core, one)
    if core.stopped:
        raise ValueError("shuts itself down while it is prepared")
    run = next(simulated.driven(core, step, float(case.seconds), 1.0, lasts_s=float(case.seconds)))
    moved = np.nansum([run["read_bw_mb_s"], run["write_bw_mb_s"]], axis=0)[: case.seconds]
    # what a drive that shut itself down leaves out stays 0
    mb_s = np.append(moved, np.zeros(case.seconds - len(moved)))
    return slowed_in_run(case.asked, mb_s, core.truth()["onset_s"])


def slowed_in_run(load: DemandSeries, mb_s: Array, acts_s: float) -> Slowed | None:
    """Return how heat slowed a run of a load, whose governor first acted at `acts_s`, if at all.

    `mb_s` is what it moved in each second. What heat hardly takes is no fall.
    """
    if not acts_s < len(mb_s):  # never, or later
        return None
    missing = 1 - mb_s / load.free_mb_s(np.cumsum(mb_s))
    missing[: int(acts_s)] = 0.0
    begins, _ = held_back(behind(missing))
    return load.slowed(mb_s, max(acts_s, float(begins[0]))) if len(begins) else None


def another(drive: Spec, place: Spec, chance: np.random.Generator, *, air: bool = True) -> Pair:
    """Return another drive of the model in another such place."""
    air_k, resistance, power, limit_k = (spread * chance.standard_normal() for spread in SPREADS)
    other = varied(LikelyDrive(drive, place), air_k if air else 0.0, resistance, power, limit_k)
    return other.drive, other.place


def specs(drive: str, place: str) -> Pair:
    """Return a drive and a place of the catalog as the engine takes them."""
    return json.loads(load_drive(drive).core_json()), json.loads(load_enclosure(place).core_json())


# ---- drives of the catalog


@dataclass(frozen=True)
class ScoredPrediction:
    """A prediction, what truly happened, and what another drive of the model did."""

    what: str
    load: str
    said: Prediction
    true: Slowed | None
    others: list[Slowed | None]


def load_of(drive: str, name: str) -> tuple[Steps, WorkloadStep]:
    """Return what precedes a load, and the load."""
    if name == "random write, filled":
        fill = next(s for s in load("anandtech-consistency").steps if s.kind == "precondition")
        return [fill], step_of(name, "randwrite", runtime=f"{RANDOM_S:.0f}s")
    more: Spec = {"runtime": f"{LONG_S:.0f}s"}
    if name == "half-rate write":
        more["rate"] = int(0.5e6 * load_drive(drive).write_mb_s)
    return [], step_of(name, "read" if "read" in name else "write", **more)


def in_catalog(job: Job) -> ScoredPrediction | str:
    """Return a drive's prediction in a place, beside what it does there."""
    drive, place, name, seed = job
    what = f"{drive} in {place}"
    before, step = load_of(drive, name)
    assert step.runtime_s is not None
    try:
        asked = {"before": before, "enclosure": place}
        case = WorkloadCase.of(load_drive(drive), step, step.runtime_s, **asked)  # type: ignore[arg-type]
        found = predict(load_drive(drive), step, step.runtime_s, **asked)  # type: ignore[arg-type]
        own = specs(drive, place)
        other = another(*own, np.random.default_rng([22, seed]))
        true, others = (exact(*each, before, step, case) for each in (own, other))
    except (HeatsoakError, ValueError) as error:
        return f"{what}: {error}"
    return ScoredPrediction(what, name, found, true, [others])


def at_edge(job: Job) -> ScoredPrediction | str:
    """Return a prediction in air that makes throttling as likely as not."""
    drive, place, name, seed = job
    what, chance = f"{drive} in {place}", np.random.default_rng([23, seed])
    before, step = load_of(drive, name)
    assert step.runtime_s is not None
    try:
        asked = {"before": before, "enclosure": place}
        case = WorkloadCase.of(load_drive(drive), step, step.runtime_s, **asked)  # type: ignore[arg-type]
        ambient_c = _edge_c(case, float(chance.uniform(0.05, 0.95)))
        found = predict(
            load_drive(drive), step, step.runtime_s, cooling=Cooling(ambient_c), **asked  # type: ignore[arg-type]
        )  # fmt: skip
        drive_spec, place_spec = specs(drive, place)
        own = drive_spec, {**place_spec, "air_c": ambient_c}
        true = exact(*own, before, step, case)
        others = [
            exact(*another(*own, chance, air=False), before, step, case)
            for _ in range(OTHERS_AT_EDGE)
        ]
    except (HeatsoakError, ValueError) as error:
        return f"{what}: {error}"
    return ScoredPrediction(what, name, found, true, others)


def _edge_c(case: WorkloadCase, wanted: float) -> float:
    """The air in which a share of likely drives throttles."""
    low_c, high_c = -20.0, 75.0
    for _ in range(8):
        middle_c = (low_c + high_c) / 2
        try:
            hit = slowed_in(list(case.outcomes(Cooling(middle_c))))
        except HeatsoakError:
            hit = 1.0
        low_c, high_c = (middle_c, high_c) if hit < wanted else (low_c, middle_c)
    return (low_c + high_c) / 2


def catalog(options: argparse.Namespace, over: Callable[..., Iterable[Any]]) -> None:
    """Print how predictions for drives of the catalog hold."""
    chance = np.random.default_rng([24, options.first])
    jobs: list[Job] = []
    edges: list[Job] = []
    for drive in OTHERS:
        for name in LOADS:
            for place in chance.choice(PLACES, options.places, replace=False):
                jobs.append((drive, str(place), name, options.first + len(jobs)))
    small = [drive for drive in OTHERS if load_drive(drive).user_bytes < 600e9]
    for seed in range(options.first, options.first + options.edges):
        drive, place, name = (str(chance.choice(of)) for of in (small, PLACES, LOADS))
        edges.append((drive, place, name, seed))
    found = _kept(over(in_catalog, jobs))
    header = [
        "load", "cases", "throttle", "yes or no right", "onset off, median", "90th",
        "MB/s off, median", "90th", "exact onset, MB/s in range", "another's onset, MB/s in range",
    ]  # fmt: skip
    rows: list[list[Any]] = [header]
    for name in ("all", *LOADS):
        some = [one for one in found if name in ("all", one.load)]
        both = [one for one in some if one.said.onset_s and one.true]
        agree = np.mean([(one.said.throttles >= 0.5) == (one.true is not None) for one in some])
        onsets = [(one.said.onset_s.mid, one.true.onset_s) for one in both]
        levels = [(one.said.throttled_mb_s.mid, one.true.mb_s) for one in both]
        inside = _inside((one.said, one.true) for one in some)
        others = _inside((one.said, other) for one in some for other in one.others)
        count = sum(one.true is not None for one in some)
        row = [name, len(some), count, f"{agree:.0%}", *_off(onsets), *_off(levels)]
        rows.append([*row, inside, others])
    print(table(rows))
    if options.verbose:
        for one in found:
            print(f"  {one}")
    for one in found:
        if (one.said.throttles >= 0.5) != (one.true is not None):
            print(f"  no: {one.what}, {one.load}: {one.said.throttles:.0%}, exact {one.true}")
    print("\nProbability that it throttles, near the edge and elsewhere, and what others did:\n")
    found += _kept(over(at_edge, edges))
    bounds = (0.0, 0.05, 0.35, 0.65, 0.95, 1.01)
    rows = [["predicted", "drives", "predicted, mean", "throttled"]]
    for low, high in pairwise(bounds):
        some = [one for one in found if low <= one.said.throttles < high]
        hits = [other is not None for one in some for other in one.others]
        if hits:
            mean = np.average(
                [p.said.throttles for p in some], weights=[len(p.others) for p in some]
            )
            shown = f"{low:.0%} to {min(high, 1.0):.0%}"
            rows.append([shown, len(hits), f"{mean:.0%}", f"{np.mean(hits):.0%}"])
    print(table(rows))


def _kept(results: Iterable[Any]) -> list[Any]:
    kept = []
    for one in results:
        if isinstance(one, str):
            print(f"  left out: {one}")
        else:
            kept.append(one)
    return kept


def _inside(pairs: Iterable[tuple[Prediction, Slowed | None]]) -> str:
    """Shares of onsets and levels inside of their ranges, where both throttle."""
    hits: list[list[bool]] = [[], []]
    for found, true in pairs:
        if found.onset_s is None or found.throttled_mb_s is None or true is None:
            continue
        if true.onset_s >= MIN_ONSET_S:
            hits[0].append(true.onset_s in found.onset_s)
        hits[1].append(true.mb_s in found.throttled_mb_s)
    return ", ".join(f"{np.mean(hit):.0%}" if hit else "-" for hit in hits)


def _off(pairs: Sequence[Any]) -> list[str]:
    """Median and 90th percentile of relative errors."""
    known = [abs(found / true - 1) for found, true in pairs if true >= MIN_ONSET_S]
    if not known:
        return ["-", "-"]
    return [f"{value:.1%}" for value in np.quantile(known, [0.5, 0.9])]


# ---- runs


@dataclass(frozen=True)
class Ran:
    """A judged step of a run: what was predicted of it, and when it was slowed by heat, if at all.

    `own_s` was predicted of the drive itself. `onset_s` is by the run's rates from when its
    governor acted, `judged_s` by the judge.
    """

    what: str
    load: str
    said: Prediction
    own_s: float | None
    onset_s: float | None
    judged_s: float | None


def ran(job: tuple[str, str, str]) -> list[Ran] | str:
    """Run a load on a drive in a place, and predict each of its judged steps."""
    drive, place, name = job
    what = f"{drive} in {place}, {name}"
    write: Spec = {"rw": "write", "runtime": "10m"}
    loads: dict[str, Steps] = {
        "full write": [step_of("step", **write)],
        "60 % write": [step_of("step", rate=int(0.6e6 * load_drive(drive).write_mb_s), **write)],
        "full read": [
            Precondition.model_validate({"kind": "precondition", "name": "fill", "rw": "write"}),
            pause("2h"),
            step_of("step", "read", runtime="10m"),
        ],
    }
    try:
        protocol = (
            load(name)
            if name not in loads
            else Protocol(name="predicted", title="predicted", steps=tuple(loads[name]))
        )
        with tempfile.TemporaryDirectory() as directory:
            (recording,) = heatsoak.run(
                protocol, f"sim:{drive}@{place}", output=Path(directory) / "r"
            )
            samples = recording.samples()
            judged = heatsoak.analyze(recording).recordings[0].steps
        found = []
        for step in judged:
            at = next(i for i, one in enumerate(protocol.steps) if one.name == step.step)
            asked, before = protocol.steps[at], [s for s in protocol.steps[:at] if not s.is_probe]
            if asked.is_probe or not isinstance(asked, WorkloadStep):
                continue
            rows = samples.filter(pl.col("step") == step.step).sort("t_s")
            t_s = (rows["t_s"] - rows["interval_s"]).to_numpy()
            seconds = (t_s - t_s[0]).astype(int)
            mb = (rows["read_bw_mb_s"].fill_null(0) + rows["write_bw_mb_s"].fill_null(0)) * rows[
                "interval_s"
            ]
            length_s = min(int(seconds.max()), 600)
            mb_s: Array = np.bincount(seconds, mb.to_numpy())[:length_s].astype(np.float64)
            acts_s = next(iter(t_s[(rows["sim.permitted"] < 1 - 1e-6).to_numpy()] - t_s[0]), np.nan)
            own: Spec = {"before": before, "enclosure": place}
            case = WorkloadCase.of(load_drive(drive), asked, length_s, draws=1, **own)
            slowed = slowed_in_run(case.asked, mb_s, acts_s)
            hot = [one.onset_s for one in step.episodes if one.cause == "thermal"]
            found.append(
                Ran(
                    what,
                    name,
                    predict(load_drive(drive), asked, length_s, **own),
                    next(case.outcomes(Cooling())).onset_s,
                    None if slowed is None else slowed.onset_s,
                    min((one for one in hot if one < length_s), default=None),
                )
            )
    except (HeatsoakError, ValueError) as error:
        return f"{what}: {error}"
    return found


def runs(options: argparse.Namespace, over: Callable[..., Iterable[Any]]) -> None:
    """Print how predictions hold beside runs of the same."""
    chance = np.random.default_rng([27, options.first])
    names = ("full write", "full read", "60 % write", "quick", "capture-4k60")
    # larger ones take minutes to fill
    small = [one for one in drive_ids() if load_drive(one).user_bytes < 600e9]
    drives = chance.choice(small, min(options.drives, len(small)), replace=False)
    jobs = [
        (str(drive), str(place), name)
        for drive in drives
        for place in chance.choice(PLACES, 2, replace=False)
        for name in names
    ]
    found: list[Ran] = [one for some in _kept(over(ran, jobs)) for one in some]
    header = [
        "load", "steps", "throttle", "yes or no right", "by the judge", "onset off, median", "90th",
        "the drive itself: right", "onset off, median", "90th",
    ]  # fmt: skip
    rows: list[list[Any]] = [header]
    for name in ("all", *names):
        some = [one for one in found if name in ("all", one.load)]
        said = [one.said.throttles >= 0.5 for one in some]
        is_slowed = np.array([one.onset_s is not None for one in some])
        by_judge = np.array([one.judged_s is not None for one in some])
        own = np.array([one.own_s is not None for one in some])
        middles = [
            (one.said.onset_s.mid, one.onset_s) for one in some if one.said.onset_s and one.onset_s
        ]
        owns = [(one.own_s, one.onset_s) for one in some if one.own_s and one.onset_s]
        rows.append(
            [
                name,
                len(some),
                is_slowed.sum(),
                f"{np.mean(said == is_slowed):.0%}",
                f"{np.mean(said == by_judge):.0%}",
                *_off(middles),
                f"{np.mean(own == is_slowed):.0%}",
                *_off(owns),
            ]
        )
    print(table(rows))
    for one in found:
        is_right = (one.said.throttles >= 0.5) == (one.onset_s is not None)
        if options.verbose or not is_right:
            said_s = f"{one.said.throttles:.0%} {one.said.onset_s} {one.own_s}"
            what = f"{one.what}, {one.said.workload}"
            print(
                f"  {'' if is_right else 'no: '}{what}: {said_s}, run {one.onset_s} {one.judged_s}"
            )


# ---- twins elsewhere


def recorded(drive: str, place: str, steps: Steps, directory: Path) -> Recording:
    """Simulate a recording, as `heatsoak run` does."""
    protocol = Protocol(name="predicted", title="predicted", steps=tuple(steps))
    (found,) = heatsoak.run(protocol, f"sim:{drive}@{place}", output=directory / place)
    return found


def twin_elsewhere(
    seed: int,
) -> tuple[str, dict[str, tuple[float, Range | None, float]]] | str:
    """Return a twin's probabilities and onsets in conditions unseen, with the exact ones."""
    chance = np.random.default_rng([25, seed])
    drive, place = str(chance.choice(list(OTHERS))), str(chance.choice(PLACES))
    fast = load_drive(drive).read_mb_s
    span = {"span": "16GiB"}
    prepare: Steps = [
        step_of("fill", "write", **span), pause("1h"),
    ]  # fmt: skip
    full = step_of("full", "read", runtime="20m", **span)
    half = step_of("half", "read", runtime="6m", rate=int(0.5e6 * fast), **span)
    cool = pause("10m")
    what = f"{seed}: {drive} in {place}"
    try:
        with tempfile.TemporaryDirectory() as directory:
            recording = recorded(drive, place, [*prepare, full, cool, half], Path(directory))
            twin = fit([recording], load_drive(OTHERS[drive]))
        if not twin.throttled:
            return f"{what}: did not throttle"
        drive_spec, place_spec = specs(drive, place)
        case = WorkloadCase.of(load_drive(drive), full, 1200, before=prepare, enclosure=place)
        results = {}
        for title, (air_k, share, sink_k_per_w) in UNSEEN.items():
            more = {} if share == 1.0 else {"rate": int(share * 1e6 * fast)}
            step = step_of(title, "read", runtime="20m", **span, **more)
            cooling = Cooling(warming_k=air_k, heatsink=sink_k_per_w)
            links = dict(place_spec["links"])
            if sink_k_per_w is not None:
                links["heatsink"] = {"between": ["board", "air"], "k_per_w": sink_k_per_w}
            there = {**place_spec, "air_c": place_spec["air_c"] + air_k, "links": links}
            free = WorkloadCase.of(load_drive(drive), step, 1200, before=prepare, enclosure=place)
            true = exact(drive_spec, there, prepare, step, free if more else case)
            found = predict(twin, step, 1200, cooling=cooling)
            results[title] = (found.throttles, found.onset_s, true.onset_s if true else np.inf)
    except (HeatsoakError, ValueError) as error:
        return f"{what}: {error}"
    return what, results


def elsewhere(options: argparse.Namespace, over: Callable[..., Iterable[Any]]) -> None:
    """Print how twins predict places that they were not fitted to."""
    found = _kept(over(twin_elsewhere, range(options.first, options.first + options.twins)))
    print(f"{len(found)} twins, of {options.twins} drives in places\n")
    header = [
        "unseen",
        "cases",
        "throttle",
        "yes or no right",
        "onset off, median",
        "90th",
        "in range",
    ]
    rows: list[list[Any]] = [header]
    for title in ("all unseen", *UNSEEN):
        some = [
            (what, *value)
            for what, results in found
            for key, value in results.items()
            if title in (key, "all unseen") and (title == key or key != "as fitted")
        ]
        both = [(onset, true) for _, _, onset, true in some if onset and np.isfinite(true)]
        agree = np.mean([(p >= 0.5) == np.isfinite(true) for _, p, _, true in some])
        inside = np.mean([true in onset for onset, true in both]) if both else np.nan
        count = sum(np.isfinite(true) for *_, true in some)
        off = _off([(onset.mid, true) for onset, true in both])
        rows.append([title, len(some), count, f"{agree:.0%}", *off, f"{inside:.0%}"])
    print(table(rows))
    if options.verbose:
        for what, results in found:
            for title, (p, onset, true) in results.items():
                print(f"  {what}, {title}: {p:.0%} {onset}, exact {true:.1f}")


# ---- published figures

#: Of the same size: a twin has its base's capacity and caches.
BASE = "samsung-sm951-ahci-512"
SUBJECT = "samsung-950-pro-512"
#: The slot whose reported temperature is 97 % the air's, as the article found.
AIRY = "upright"
#: It is full after that, at full speed.
FILLED_S = 341.0


def puget(_: int = 0) -> list[list[Any]]:
    """Return the loaded cells: published, and predicted by idle cells in several ways."""
    protocol = load("puget")
    # the random workloads do not throttle first
    steps = [step for step in protocol.steps if not step.name.startswith("random")]
    loads = [one for one in steps if isinstance(one, WorkloadStep) and one.is_judged]
    sequential = protocol.model_copy(update={"steps": steps, "scores": []})
    cells, base = published().cells, load_drive(BASE)
    with tempfile.TemporaryDirectory() as directory:
        recordings = heatsoak.run(
            sequential,
            f"sim:{SUBJECT}",
            settings={"gpu_load": "idle"},
            output=Path(directory) / "r",
        )
        # reported temperatures are nearly the air's there, which no fit can use for the drive
        together = fit([one for one in recordings if one.meta.conditions["slot"] != AIRY], base)
        alone = {one.places[0]: one for one in (fit([each], base) for each in recordings)}
    rows = []
    for cell in cells:
        if cell.gpu_load == "idle":
            continue
        place = cell.enclosure.replace("loaded", "idle")
        idle = next(one for one in cells if one.enclosure == place)
        row = [cell.id.removeprefix("puget."), cell.onset_s, float(np.mean(idle.onset_s))]
        name = next(one for one in alone if f"gpus-{cell.gpus},slot-{cell.slot}" in one)
        there_c = load_enclosure(cell.enclosure).air_c.value
        warming_k = there_c - load_enclosure(place).air_c.value
        for twin in (together, alone[name]):
            for cooling in (Cooling(there_c), Cooling(warming_k=warming_k)):
                knows = name in twin.places
                row.append(_earliest(twin, loads, name, cooling) if knows else float("nan"))
        rows.append([*row, _earliest(load_drive(SUBJECT), loads, place, Cooling(there_c))])
    return rows


def _earliest(subject: Any, loads: Sequence[WorkloadStep], place: str, cooling: Cooling) -> float:
    """The onset of the first of the loads that throttles, as Puget's table has it.

    0 where the drive would be too hot at rest: a twin whose room nobody measured may think so.
    """
    try:
        found = [predict(subject, step, 300, enclosure=place, cooling=cooling) for step in loads]
    except HeatsoakError:
        return 0.0
    return min((one.onset_s.mid for one in found if one.onset_s), default=float("inf"))


def px1(_: int = 0) -> list[list[str]]:
    """Return the heatsink's gain, published and predicted by the bare adapter."""
    steps: list[WorkloadStep | Pause] = [
        step_of("fill", "write"), pause("20m"),
        step_of("half", "write", runtime="6m", rate=750_000_000),
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as directory:
        recording = recorded(SUBJECT, "anandtech-bench", steps, Path(directory))
        twin = fit([recording], load_drive(BASE))
    write = step_of("write", "write", runtime="18m")
    rows = [["", "published", *("twin of the bare drive", "the simulated drive itself")]]
    found = []
    for subject, place in ((twin, None), (load_drive(SUBJECT), "anandtech-bench")):
        bare = predict(subject, write, 1080, enclosure=place)
        sink = predict(subject, write, 1080, enclosure=place, cooling=Cooling(heatsink="wings-px1"))
        capture = step_of("capture", "write", runtime="340s", rate=1_492_992_000)
        held = predict(
            subject, capture, 340, enclosure=place, cooling=Cooling(heatsink="wings-px1"),
            holds_mb_s=1485,
        )  # fmt: skip
        found.append((bare, sink, held))
    lines: list[tuple[str, str, Callable[..., str]]] = [
        ("bare: full speed for, s", "200 to 280", lambda bare, *_: _ranged(bare.onset_s)),
        ("bare: becomes, MB/s", "about half", lambda bare, *_: _ranged(bare.throttled_mb_s)),
        ("with it: throttles while it is filled", "no", lambda _, sink, __: _filled(sink)),
        ("sustained, with it over without", "2", lambda bare, sink, _: _gain(bare, sink)),
        ("with it: 4K at 60 Hz until it is full", "yes", lambda _, __, held: f"{held.holds:.0%}"),
    ]  # fmt: skip
    rows += [[title, said, *(told(*one) for one in found)] for title, said, told in lines]
    return rows


def _ranged(of: Range | None) -> str:
    return "never" if of is None else range_text(of.rounded(0))


def _filled(found: Prediction) -> str:
    if found.onset_s is None or found.onset_s.mid > FILLED_S:
        return "no"
    return f"{found.throttles:.0%} likely, after {_ranged(found.onset_s)} s"


def _gain(bare: Prediction, sink: Prediction) -> str:
    if bare.throttled_mb_s is None:
        return "1"
    kept = sink.full_mb_s
    if sink.throttled_mb_s is not None and sink.throttles >= 0.5:
        kept = sink.throttled_mb_s.mid
    return f"{kept / bare.throttled_mb_s.mid:.2f}"


def against_published(_: argparse.Namespace, over: Callable[..., Iterable[Any]]) -> None:
    """Print predictions beside what was published."""
    (cells,) = over(puget, [0])
    names = (
        "as idle", "together, air", "together, warming", "alone, air", "alone, warming",
        "the simulated drive, air",
    )  # fmt: skip
    rows: list[list[Any]] = [["loaded cell", "published, s", *names]]
    for cell, (low, high), *onsets in cells:
        said = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        rows.append([cell, said, *(f"{one:.0f}" for one in onsets)])
    known = [row for row in cells if AIRY not in row[0]]
    middles = np.array([[np.mean(row[1])] for row in known])
    off = np.abs(np.array([row[2:] for row in known]) - middles)
    for what, values, form in (
        ("mean", (off / middles).mean(axis=0), "{:.0%}"),
        ("median", np.median(off / middles, axis=0), "{:.0%}"),
        ("mean, s", off.mean(axis=0), "{:.1f}"),
    ):
        shown = [form.format(one) for one in values]
        rows.append([f"off but for {AIRY}, {what}", "", *shown])
    print(table(rows))
    print()
    print(table(*over(px1, [0])))


# ---- time


def timed(job: tuple[str, str]) -> list[str]:
    """Return what a prediction takes, and how far its unheated pass is off a whole drive's."""
    drive, name = job
    before, step = load_of(drive, name)
    spent_s, gb, cliffs = [], [], []
    for part_for in (lambda *_: 1, simulated.part_for):
        with patch.object(simulated, "part_for", part_for):
            begin = time.process_time()
            case = WorkloadCase.of(load_drive(drive), step, step.runtime_s, before=before)
        spent_s.append(time.process_time() - begin)
        gb.append([case.asked.gb_by(30.0 * part) for part in range(1, case.seconds // 30 + 1)])
        cliffs.append(f"{case.cliff.onset_s:.1f}" if case.cliff else "-")
    begin = time.process_time()
    list(case.outcomes(Cooling()))
    spent_s.append(time.process_time() - begin)
    off = [np.abs(smaller / whole - 1).max() for whole, smaller in (np.array(gb), np.diff(gb))]
    shown = [f"{one:.2f}" for one in spent_s] + [f"{one:.1%}" for one in off]
    return [drive, name, *shown, *cliffs]


def times(options: argparse.Namespace, over: Callable[..., Iterable[Any]]) -> None:
    """Print what predictions take, the unheated pass apart."""
    header = [
        "drive", "load", "whole drive, s", "unheated pass, s", "heat and governor of 40, s",
        "GB off by then, most", "GB of 30 s off, most", "cliff of the whole drive, s", "cliff, s",
    ]  # fmt: skip
    jobs = [(drive, name) for drive in ("samsung-950-pro-512", "pcie4-tlc-1tb") for name in LOADS]
    measured = [drive for drive in drive_ids() if load_drive(drive).basis is None]
    jobs += [(drive, LOADS[0]) for drive in measured[:: max(len(measured) // options.drives, 1)]]
    print(table([header, *over(timed, jobs)]))


def table(rows: Sequence[Sequence[Any]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


PARTS: dict[str, Callable[..., None]] = {
    "catalog": catalog,
    "runs": runs,
    "elsewhere": elsewhere,
    "published": against_published,
    "time": times,
}


def main() -> None:
    """Print the parts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--drives", type=int, default=20, help="of the catalog, for runs")
    parser.add_argument("--places", type=int, default=4, help="for each drive and load")
    parser.add_argument("--edges", type=int, default=24)
    parser.add_argument("--twins", type=int, default=12)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.jobs) as pool:
        for name, part in PARTS.items():
            if options.only in (None, name):
                print(f"## {name}\n")
                part(options, pool.map)
                print()


if __name__ == "__main__":
    main()
