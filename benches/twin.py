"""Twins against a truth that is known: random drives on the exact engine, fitted from their logs.

    benches/twin.py [--drives 60] [--held-out] [--tmt] [--jobs 2] [--keep DIR] [-o FILE]
    benches/twin.py --catalog

Drives are drawn with parameters unlike any shipped one, in a place of their own or in two, and run
through full load until they throttle, a cool-down, and a load of half the rate. What is logged is
what a person has: rates with scatter, one temperature in whole kelvins once a second that drifts a
little, and for half of the drives power. Some drives are not of the model's structure (a third
node, a governor that lags, a sensor on a heatsink); they stand apart.

With `--tmt` each drive is also run three times with thresholds that the host set, as `heatsoak fit
--next` proposes it: its firmware acts a little off them, by as much each time.

Seeds below 10000 are to develop on; `--held-out` takes others.

With `--catalog`, drives of the catalog are run by bundled protocols, and each twin, on the base of
another drive, is held to its own log load by load.
"""

import argparse
import json
import os
import pickle
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import heatsoak
import numpy as np
import polars as pl
from heatsoak._core import Drive as Core
from heatsoak.catalog import load_drive
from heatsoak.protocol import Pause, Protocol, WorkloadStep
from heatsoak.recording import Event, InMemoryRecording, RecordingMeta
from heatsoak.recording.columns import schema_of
from heatsoak.target.simulated import driven
from heatsoak.twin.case import Cooling, WorkloadCase
from heatsoak.twin.fitting import fit
from heatsoak.twin.model import shifted
from heatsoak.twin.own_log import LEVEL_X, ONSET_X
from heatsoak.twin.twin import DRAWS, Twin
from numpy.typing import NDArray

Array = NDArray[np.float64]
Spec = dict[str, Any]

HELD_OUT_FROM = 10_000
STRUCTURES = ("as the model", "third node", "lagging governor", "sensor on a heatsink")
#: Loads are simulated at this pace, and logged at 1 s.
FINE_S = 0.1
GIB = 1 << 30
#: How far a drive's firmware is off the threshold that it was given.
TMT_OFF_K = 2.0
#: Conditions that no log has: how much warmer the air, how many times the resistance, which load.
UNSEEN = {
    "air +8 K": (8.0, 1.0, 1.0),
    "70 % load, air +8 K": (8.0, 1.0, 0.7),
    "half load, air +15 K": (15.0, 1.0, 0.5),
    "resistance x 1.3": (0.0, 1.3, 1.0),
    "resistance x 0.85": (0.0, 0.85, 1.0),
}


@dataclass
class Truth:
    """A drive in its places, in the simulator's own units."""

    seed: int
    structure: str
    drive: Spec
    places: list[Spec]
    has_power: bool
    reads: bool
    full_s: float
    notes: dict[str, float] = field(default_factory=dict)


def draw(seed: int) -> Truth:
    """Return a drive that throttles in its places under full load, where drives do."""
    chance = np.random.default_rng([20, seed])
    while True:
        truth = _drawn(seed, chance)
        if _give_limit(truth, chance):
            return truth


def _drawn(seed: int, chance: np.random.Generator) -> Truth:
    structure = STRUCTURES[0] if chance.random() < 0.7 else str(chance.choice(STRUCTURES[1:]))
    of = str(chance.choice(["pcie4-tlc-1tb", "samsung-950-pro-512", "pcie5-tlc-2tb"]))
    drive: Spec = json.loads(load_drive(of).core_json())
    drive.pop("cache", None)
    user = 32 * GIB
    drive["capacity"] |= {"user_bytes": user, "raw_bytes": user + 8 * GIB, "reserve_bytes": 0}
    drive["nand"]["block_bytes"] = 256 << 20
    drive["collection"] |= {"policy": "greedy", "pacing": "victim", "idle_mb_s": 0.0}
    write_mb_s = float(chance.uniform(650, 1500))
    read_mb_s = write_mb_s * float(chance.uniform(1.0, 2.0))
    controller, nand = drive["controller"], drive["nand"]
    controller |= {"write_mb_s": write_mb_s, "read_mb_s": read_mb_s}
    # flash that is never what limits it
    room = 2.5 * read_mb_s / (nand["dies"] * nand["unit_bytes"] / nand["program_us"])
    nand["program_us"] /= room
    nand["channel_mb_s"] = max(nand["channel_mb_s"], 2 * read_mb_s / nand["channels"])
    nand["read_us"] = min(nand["read_us"], nand["program_us"] / 4)

    _draw_energy(drive, chance, read_mb_s, write_mb_s)
    thermal = drive["thermal"]
    for node in thermal["nodes"].values():
        node["j_per_k"] *= float(chance.lognormal(0, 0.35))
    for link in thermal["links"].values():
        link["k_per_w"] *= float(chance.lognormal(0, 0.35))
    places = [_place(chance)]
    if chance.random() < 0.3:
        places.append(_place(chance))
    lag_s = float(chance.uniform(0, 2))
    sensor_of = {"controller": float(chance.uniform(0, 1))}
    sensor_of["nand"] = float(chance.uniform(0, 1 - sensor_of["controller"]))
    sensor_of["board"] = 1.0 - sum(sensor_of.values())
    if structure == "third node":
        for place in places:
            place["nodes"]["adapter"] = {"j_per_k": float(chance.uniform(20, 80))}
            half = place["links"]["air"]["k_per_w"] / 2
            place["links"] = {
                "slot": {"between": ["board", "adapter"], "k_per_w": half},
                "air": {"between": ["adapter", "air"], "k_per_w": half},
            }
    elif structure == "lagging governor":
        lag_s = float(chance.uniform(5, 12))
    elif structure == "sensor on a heatsink":
        thermal["nodes"]["spreader"] = {"j_per_k": float(chance.uniform(5, 15))}
        thermal["links"]["spreader"] = {
            "between": ["controller", "spreader"], "k_per_w": float(chance.uniform(1, 3)),
        }  # fmt: skip
        sensor_of = {"spreader": 1.0}
    hidden_of = float(chance.uniform(0.6, 1.0))
    drive["sensors"] = {
        "composite": {
            "weights": sensor_of,
            "lag_s": float(chance.uniform(0.5, 8)),
            "offset_c": float(chance.uniform(-3, 3)),
            # whole kelvins come when it is logged, after its noise
            "step_c": 0.01,
        }
    }
    drive["governor"] = {
        "law": {"kind": "band", "engage_c": 250.0, "band_k": 1.0, "floor": 0.1},
        "weights": {"controller": hidden_of, "nand": 1 - hidden_of},
        "lag_s": lag_s,
        "counters": bool(chance.random() < 0.4),
    }
    return Truth(
        seed, structure, drive, places, bool(chance.random() < 0.5), bool(chance.random() < 0.4), 0
    )


def _draw_energy(
    drive: Spec, chance: np.random.Generator, read_mb_s: float, write_mb_s: float
) -> None:
    energy = drive["energy"]
    dynamic_w = float(chance.uniform(2.5, 8.0))
    static = float(chance.lognormal(0, 0.35))
    for key in ("idle_w", "active_w", "busy_w"):
        energy[key] *= static * float(chance.lognormal(0, 0.2))
    energy["leakage_w"] *= float(chance.lognormal(0, 0.4))
    # dynamic power at full speed, and its share of the flash, as drawn
    nand_share = float(chance.uniform(0.2, 0.45))
    for direction, mb_s in (("read", read_mb_s), ("write", write_mb_s)):
        per_page_uj = dynamic_w / (mb_s * 1e6 / 4096) * 1e6 * float(chance.lognormal(0, 0.1))
        energy[f"host_{direction}_uj"] = per_page_uj * (1 - nand_share)
        energy["read_uj" if direction == "read" else "program_uj"] = per_page_uj * nand_share
    drive["power_states"] = (
        []
        if chance.random() < 0.5
        else [
            {
                "state": 3, "power_w": float(chance.uniform(0.01, 0.3)), "after_s": 1.0,
                "entry_us": 2000.0, "exit_us": 3000.0,
            }
        ]
    )  # fmt: skip


def _place(chance: np.random.Generator) -> Spec:
    return {
        "air_c": float(chance.uniform(18, 38)),
        "nodes": {"board": {"j_per_k": float(chance.uniform(2, 25))}},
        "links": {
            "air": {"between": ["board", "air"], "k_per_w": float(chance.uniform(4, 14))},
        },
    }


def _give_limit(truth: Truth, chance: np.random.Generator) -> bool:
    """Set a limit that full load meets in each place, after a while, and a law at random.

    False where no limit that drives have, 62 to 92 C, would do.
    """
    ends = []
    for place in truth.places:
        core = Core(json.dumps(truth.drive), json.dumps(place), truth.seed)
        rest_c = _hidden(truth, core)
        _run(core, truth, "warm-up", 3600.0, 1.0, sample_s=100.0)
        ends.append((rest_c, _hidden(truth, core)))
    lowest_end = min(end for _, end in ends)
    highest_rest = max(rest for rest, _ in ends)
    span_k = lowest_end - highest_rest
    low_c, high_c = max(62.0, highest_rest + 0.5 * span_k), min(92.0, highest_rest + 0.9 * span_k)
    if low_c >= high_c or lowest_end > 160.0:
        return False
    limit_c = float(chance.uniform(low_c, high_c))
    kind = str(chance.choice(["band", "steps", "delay"]))
    law: Spec
    if kind == "band":
        law = {
            "kind": kind, "engage_c": limit_c, "band_k": float(chance.uniform(1, 6)), "floor": 0.1,
        }  # fmt: skip
    elif kind == "steps":
        back_k = float(chance.uniform(2, 4))
        light, heavy = float(chance.uniform(0.45, 0.7)), float(chance.uniform(0.15, 0.35))
        law = {
            "kind": kind,
            "dwell_s": 2.0,
            "levels": [
                {"enter_c": limit_c, "leave_c": limit_c - back_k, "share": light},
                {"enter_c": limit_c + 4, "leave_c": limit_c + 4 - back_k, "share": heavy},
            ],
        }
    else:
        law = {
            "kind": kind, "engage_c": limit_c, "release_c": limit_c - 4,
            "target_c": limit_c - 1, "gain_per_k": 0.01, "damping_s_per_k": 0.05, "floor": 0.1,
        }  # fmt: skip
    truth.drive["governor"]["law"] = law
    truth.notes["limit_c"] = limit_c
    # long enough to meet it everywhere, and to see it held
    onsets = [_onset_s(truth, truth.drive, place, 1.0) for place in truth.places]
    latest_s = max(onset if onset is not None else 1800.0 for onset, _ in onsets)
    truth.full_s = float(np.clip(1.6 * latest_s, 300, 2400))
    return True


def _hidden(truth: Truth, core: Core) -> float:
    told = core.truth()
    weights = truth.drive["governor"]["weights"]
    return float(sum(weight * told[f"{node}_c"] for node, weight in weights.items()))


def _step(truth: Truth, name: str, runtime_s: float, share: float) -> WorkloadStep:
    rate = {}
    if share < 1.0:
        kind = "read_mb_s" if truth.reads else "write_mb_s"
        rate = {"rate": int(share * truth.drive["controller"][kind] * 1e6)}
    return WorkloadStep.model_validate(
        {
            "name": name, "rw": "read" if truth.reads else "write", "bs": "1m", "iodepth": 8,
            "span": "16GiB", "runtime": f"{runtime_s:.0f}s", **rate,
        }
    )  # fmt: skip


def _run(
    core: Core, truth: Truth, name: str, runtime_s: float, share: float, sample_s: float = FINE_S
) -> dict[str, Array]:
    step = _step(truth, name, runtime_s, share)
    return next(driven(core, step, runtime_s + 10.0, sample_s))


def _filled(truth: Truth, core: Core) -> None:
    """Reads need something to read, and the drive to be cold again."""
    if truth.reads:
        step = WorkloadStep.model_validate(
            {"name": "fill", "rw": "write", "bs": "1m", "iodepth": 8, "span": "16GiB"}
        )
        for _ in driven(core, step, 60.0, 60.0):
            pass
        core.advance(7200.0, 600.0)


def _onset_s(
    truth: Truth, drive: Spec, place: Spec, share: float
) -> tuple[float | None, float | None]:
    """When it throttles from rest, and what its sensor shows then; None if not in an hour."""
    core = Core(json.dumps(drive), json.dumps(place), truth.seed)
    _filled(truth, core)
    step = _step(truth, "load", 3600.0, share)
    for _ in driven(core, step, 30.0, 30.0):
        told = core.truth()
        if np.isfinite(told["onset_s"]):
            return told["onset_s"], told["onset_sensor_c"]
    return None, None


def record(
    truth: Truth, index: int, tmt1_c: float | None = None
) -> tuple[InMemoryRecording, pl.DataFrame]:
    """Return the log of a drive in one of its places, and the hidden temperature that was.

    With a threshold `tmt1_c` it is a load from rest and no more.
    """
    chance = np.random.default_rng([21, truth.seed, index, round(tmt1_c or 0)])
    drive = truth.drive
    if tmt1_c is not None:
        firmware_k = np.random.default_rng([22, truth.seed]).normal(0.0, TMT_OFF_K)
        by_k = tmt1_c + firmware_k - truth.notes["limit_c"]
        drive = {**drive, "governor": shifted(drive["governor"], by_k)}
    core = Core(json.dumps(drive), json.dumps(truth.places[index]), truth.seed)
    _filled(truth, core)
    zero_s = core.t_s
    frames, events = [], []
    plan: list[tuple[str, float, float | None]] = [
        ("full", truth.full_s, 1.0), ("cool", 600.0, None), ("half", 400.0, 0.5),
    ]  # fmt: skip
    if tmt1_c is not None:
        plan = plan[:1]
    for number, (name, duration_s, share) in enumerate(plan):
        begins_s = core.t_s - zero_s
        if share is None:
            found = core.advance(duration_s, FINE_S)
        else:
            found = _run(core, truth, name, duration_s, share)
        kind = "pause" if share is None else "workload"
        begin = {"step_kind": kind, "index": number}
        events.append(Event(t_s=begins_s, kind="step-begin", step=name, data=begin))
        events.append(Event(t_s=core.t_s - zero_s, kind="step-end", step=name))
        frame = pl.DataFrame(found).fill_nan(None)
        step = pl.lit(None if share is None else name, dtype=pl.String).alias("step")
        frames.append(frame.with_columns((pl.col("t_s") - zero_s), step))
    samples, hidden = _logged(truth, pl.concat(frames, how="diagonal"), chance)
    steps = [
        _step(truth, name, duration_s, share)
        if share is not None
        else Pause.model_validate({"kind": "pause", "name": name, "duration": duration_s})
        for name, duration_s, share in plan
    ]
    protocol = Protocol(name="twin", title="twin", steps=tuple(steps))
    schema = schema_of(samples.columns)
    meta = RecordingMeta(
        status="finished",
        protocol=protocol,
        conditions={"slot": index} | ({} if tmt1_c is None else {"tmt1_c": tmt1_c}),
        drive={
            "kind": "log", "model": "unknown", "serial": f"s{truth.seed}",
            "size_bytes": 1_000_204_886_016,
        },
        columns={name: str(dtype()) for name, dtype in schema.items()},
        started_unix_s=None,
        duration_s=core.t_s - zero_s,
    )  # fmt: skip
    path = Path(f"drive-{truth.seed}-place-{index}-tmt1-{tmt1_c or 0:.0f}")
    return InMemoryRecording(path, meta, samples.select(*schema), events), hidden


def _logged(
    truth: Truth, fine: pl.DataFrame, chance: np.random.Generator
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What a person has of it: 1 Hz, scatter, whole kelvins, a sensor that drifts a little."""
    rates = ["read_bw_mb_s", "write_bw_mb_s", "read_iops", "write_iops", "power_w"]
    second = (pl.col("t_s") - 1e-6).floor().alias("second")
    grouped = fine.group_by(["step", second], maintain_order=True).agg(
        pl.col("t_s").max(),
        pl.col("interval_s").sum(),
        *(pl.col(name).mean() for name in rates if name in fine.columns),
        pl.col("^temp_c.*$").drop_nulls().last(),
        pl.col("^throttle_.*$").drop_nulls().last(),
    )
    count = grouped.height
    scatter = 1.0 + 0.012 * chance.standard_normal(count)
    busy = [name for name in rates[:4] if name in grouped.columns]
    weights = truth.drive["governor"]["weights"]
    hidden = fine.select(
        "t_s",
        sum(weight * pl.col(f"sim.{node}_c") for node, weight in weights.items()).alias("hidden_c"),
    ).drop_nulls()
    t_s = grouped["t_s"].to_numpy()
    read = fine.filter(pl.col("temp_c.composite").is_not_null())
    sensor_c = np.interp(t_s, read["t_s"].to_numpy(), read["temp_c.composite"].to_numpy())
    keep = np.exp(-1.0 / 400.0)
    drift = np.zeros(count)
    for i in range(1, count):
        drift[i] = keep * drift[i - 1] + 0.4 * np.sqrt(1 - keep**2) * chance.standard_normal()
    sensed = sensor_c + drift + 0.25 * chance.standard_normal(count)
    columns = [
        *(pl.Series(name, grouped[name].to_numpy() * scatter) for name in busy),
        pl.Series("temp_c.composite", np.round(sensed)),
    ]
    logged = grouped.drop("second").with_columns(columns).fill_nan(None)
    if truth.has_power:
        power_w = grouped["power_w"].to_numpy() * (1 + 0.02 * chance.standard_normal(count))
        logged = logged.with_columns(pl.Series("power_w", power_w).fill_nan(None))
    else:
        logged = logged.drop("power_w")
    return logged, hidden


@dataclass
class Score:
    """How far a twin was from its truth; `*_z` in 90 % half-widths, so that 1 is the edge."""

    seed: int
    structure: str
    has_power: bool
    places: int
    fit_s: float
    failed: str | None = None
    throttled: bool = False
    nodes: int = 0
    limit_off_k: float | None = None
    limit_in: bool | None = None
    resistance_off: float | None = None
    resistance_in: bool | None = None
    hidden_rms_k: float | None = None
    hidden_in: float | None = None
    onsets: dict[str, list[float]] = field(default_factory=dict)
    own_log: list[list[bool]] = field(default_factory=list)


@dataclass
class Case:
    """A drive, its logs with the hidden temperatures that were, and its onsets elsewhere.

    Attributes:
        stepped: logs in the first place with thresholds that the host set.
        sensor_c: what its sensor shows when it engages under full load in the first place.
        unseen_s: onsets in the conditions of :data:`UNSEEN`; None where it meets no limit.
    """

    truth: Truth
    logs: list[tuple[InMemoryRecording, pl.DataFrame]]
    stepped: list[InMemoryRecording]
    sensor_c: float | None
    unseen_s: dict[str, float | None]


def case_of(seed: int, keep: Path | None) -> Case:
    """Return the drive of a seed, simulated or as it was kept."""
    kept = None if keep is None else keep / f"{seed}.pickle"
    if kept is not None and kept.exists():
        with kept.open("rb") as file:
            known: Case = pickle.load(file)
        return known
    truth = draw(seed)
    logs = [record(truth, index) for index in range(len(truth.places))]
    core = Core(json.dumps(truth.drive), json.dumps(truth.places[0]), truth.seed)
    rest_c = _hidden(truth, core)
    way_k = truth.notes["limit_c"] - rest_c
    stepped = [record(truth, 0, float(round(rest_c + part * way_k)))[0] for part in (0.5, 0.7, 0.9)]
    _, sensor_c = _onset_s(truth, truth.drive, truth.places[0], 1.0)
    unseen = {}
    for title, (air_k, k_per_w_x, share) in UNSEEN.items():
        place = truth.places[0]
        links = {
            key: {**link, "k_per_w": link["k_per_w"] * k_per_w_x}
            for key, link in place["links"].items()
        }
        other = {**place, "air_c": place["air_c"] + air_k, "links": links}
        try:
            unseen[title], _ = _onset_s(truth, truth.drive, other, share)
        except ValueError:
            continue  # too hot at rest already
    case = Case(truth, logs, stepped, sensor_c, unseen)
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(pickle.dumps(case))
    return case


def score(seed: int, keep: Path | None = None, tmt: bool = False) -> Score:
    """Return how well the drive of a seed is found, with its thresholds stepped or not."""
    case = case_of(seed, keep)
    truth, logs, sensor_c = case.truth, case.logs, case.sensor_c
    began = time.process_time()
    result = Score(seed, truth.structure, truth.has_power, len(truth.places), 0.0)
    try:
        twin = fit([*(recording for recording, _ in logs), *(case.stepped if tmt else [])])
    except Exception as error:  # a bench goes on, and shows it
        result.failed = f"{type(error).__name__}: {error}"
        return result
    result.fit_s = time.process_time() - began
    result.throttled, result.nodes = twin.throttled, twin.nodes
    result.own_log = own_log_of(twin)
    place, name = truth.places[0], twin.places[0]
    limit = twin.estimate("limit_reported_c", name)
    if limit is not None and sensor_c is not None:
        result.limit_off_k = limit.value - sensor_c
        result.limit_in = limit.low <= sensor_c <= limit.high
    true_k_per_w = sum(link["k_per_w"] for link in place["links"].values())
    resistance = twin.estimate("air_k_per_w", name)
    assert resistance is not None
    result.resistance_off = resistance.value / true_k_per_w - 1
    result.resistance_in = resistance.low <= true_k_per_w <= resistance.high
    temps = twin.hidden_temp(logs[0][0])
    known = logs[0][1]
    of = [
        np.interp(known["t_s"].to_numpy(), temps["t_s"].to_numpy(), temps[column].to_numpy())
        for column in ("hidden_c", "low_c", "high_c")
    ]
    true_c = known["hidden_c"].to_numpy()
    result.hidden_rms_k = float(np.sqrt(np.mean((of[0] - true_c) ** 2)))
    result.hidden_in = float(np.mean((of[1] <= true_c) & (true_c <= of[2])))
    for title, true_s in case.unseen_s.items():
        air_k, k_per_w_x, share = UNSEEN[title]
        step = _step(truth, title, 3600.0, share)
        cooling = Cooling(warming_k=air_k, k_per_w_x=k_per_w_x)
        (onset_s,) = _predicted_s(twin, step, name, cooling, 1)
        draws = _predicted_s(twin, step, name, cooling, DRAWS)
        low_s, high_s = np.quantile(draws, [0.05, 0.95], method="nearest").tolist()
        never = float("inf")
        result.onsets[title] = [true_s if true_s is not None else never, onset_s, low_s, high_s]
    return result


def _predicted_s(
    twin: Twin, step: WorkloadStep, place: str, cooling: Cooling, draws: int
) -> list[float]:
    case = WorkloadCase.of(twin, step, 3600.0, enclosure=place, draws=draws)
    return [float("inf") if one.onset_s is None else one.onset_s for one in case.outcomes(cooling)]


def own_log_of(twin: Twin) -> list[list[bool]]:
    """Whether the twin predicts each load of its own log: yes or no, onset, level."""
    return [
        [
            (one.onset_s is None) == (one.twin_onset_s is None) or one.is_onset_right,
            one.is_onset_right,
            one.is_level_right,
        ]
        for one in twin.own_log
    ]


def own_logs(found: list[list[bool]]) -> str:
    """Return in how many loads of their own logs twins are right."""
    if not found:
        return "no load"
    either, onset, level = np.mean(found, axis=0)
    return (
        f"of {len(found)} loads, whether heat slowed it {either:.0%}, onset within "
        f"{ONSET_X:.0%} {onset:.0%}, level within {LEVEL_X:.0%} {level:.0%}"
    )


#: Drives of the catalog, each with a place, a protocol, and another drive as its twin's base.
CATALOG = (
    ("crucial-p1-1tb", "laptop", "why", "pcie3-qlc-1tb"),
    ("samsung-970-pro-512", "laptop", "quick", "samsung-950-pro-512"),
    ("wd-sn850x-2tb", "open-bench", "quick", "pcie4-tlc-1tb"),
    ("kingston-kc3000-2tb", "laptop", "why", "pcie4-tlc-1tb"),
    ("crucial-t700-2tb", "open-bench", "quick", "pcie5-tlc-2tb"),
    ("samsung-990-pro-2tb", "laptop", "non-stop", "pcie4-tlc-1tb"),
    ("adata-sx8200-pro-1tb", "laptop", "why", "pcie4-tlc-1tb"),
    ("samsung-950-pro-512", "open-bench", "quick", "samsung-sm951-ahci-512"),
    ("skhynix-p41-1tb", "beside-card", "non-stop", "pcie4-tlc-1tb"),
    ("wd-sn570-1tb", "fanless-mini-pc", "non-stop", "pcie4-tlc-1tb"),
    ("samsung-9100-pro-4tb", "beside-card", "why", "pcie5-tlc-2tb"),
    ("sabrent-rocket-q-1tb", "laptop", "non-stop", "pcie4-tlc-1tb"),
)


def of_catalog(case: tuple[str, str, str, str]) -> Twin:
    """Return the twin of a drive of the catalog, fitted to one run of a protocol."""
    drive, place, protocol, base = case
    with tempfile.TemporaryDirectory() as directory:
        recordings = heatsoak.run(
            protocol, f"sim:{drive}@{place}", output=Path(directory) / f"{drive}-{protocol}"
        )
        return fit(recordings, load_drive(base))


def catalog(jobs: int) -> None:
    """Print what twins of the catalog's drives make of their own logs, load by load."""
    with ProcessPoolExecutor(jobs) as pool:
        twins = list(pool.map(of_catalog, CATALOG))
    print("| run | load | slowed after, s | twin | MB/s then | twin | hottest, C | twin |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for (drive, place, protocol, _), twin in zip(CATALOG, twins, strict=True):
        for one in twin.own_log:
            levels = (pair and pair[0] for pair in (one.mb_s, one.twin_mb_s))
            numbers = (one.onset_s, one.twin_onset_s, *levels, one.hottest_c, one.twin_hottest_c)
            shown = ["-" if x is None else f"{x:,.0f}" for x in numbers]
            print("|", " | ".join([f"{drive}, {place}, {protocol}", one.step, *shown]), "|")
    print(own_logs([row for twin in twins for row in own_log_of(twin)]))


def summary(scores: list[Score]) -> str:
    """Return the figures of some drives in a few lines."""
    fitted = [one for one in scores if one.failed is None]
    lines = [f"{len(scores)} drives, {len(scores) - len(fitted)} could not be fitted"]
    if not fitted:
        return lines[0]

    def share(title: str, values: list[bool]) -> None:
        if values:
            lines.append(f"  {title}: {np.mean(values):.0%} of {len(values)}")

    limits = [one.limit_off_k for one in fitted if one.limit_off_k is not None]
    share("heat seen by the judge", [one.throttled for one in fitted])
    share("limit as reported within 2 K", [abs(off) <= 2 for off in limits])
    share("  in its 90 % interval", [one.limit_in for one in fitted if one.limit_in is not None])
    for title, has_power in (("power recorded", True), ("power unknown", False)):
        of = [one for one in fitted if one.has_power is has_power]
        offs = [abs(one.resistance_off) for one in of if one.resistance_off is not None]
        share(f"resistance within 10 %, {title}", [off <= 0.1 for off in offs])
        inside = [one.resistance_in for one in of if one.resistance_in is not None]
        share("  in its 90 % interval", inside)
    rms = [one.hidden_rms_k for one in fitted if one.hidden_rms_k is not None]
    if rms:
        lines.append(
            f"  hidden temperature: rms {np.median(rms):.1f} K in the median, "
            f"{np.quantile(rms, 0.9):.1f} K at the 90th percentile; within 3 K "
            f"{np.mean(np.asarray(rms) <= 3):.0%}; inside its band "
            f"{np.mean([one.hidden_in for one in fitted if one.hidden_in is not None]):.0%}"
        )
    titles = dict.fromkeys(title for one in fitted for title in one.onsets)
    everything: list[list[float]] = []
    for title in titles:
        rows = [one.onsets[title] for one in fitted if title in one.onsets]
        everything += rows
        lines.append(f"  onset, {title}: {_onsets(rows)}")
    lines.append(f"  onset, all of them: {_onsets(everything)}")
    known = [row for one in fitted if one.throttled for row in one.onsets.values()]
    if known:
        lines.append(f"  onset, where the judge saw the heat: {_onsets(known)}")
    lines.append(f"  own log: {own_logs([row for one in fitted for row in one.own_log])}")
    times = [one.fit_s for one in fitted]
    lines.append(f"  a fit took {np.median(times):.1f} s, at most {max(times):.1f} s")
    return "\n".join(lines)


def _onsets(rows: list[list[float]]) -> str:
    true, mid, low, high = np.asarray(rows).T
    both = np.isfinite(true) & np.isfinite(mid)
    agree = np.mean(np.isfinite(true) == np.isfinite(mid))
    inside = np.mean((low <= true) & (true <= high))
    if not both.any():
        return f"none; whether there is one is right in {agree:.0%}"
    off = np.abs(mid[both] / true[both] - 1)
    return (
        f"off by {np.median(off):.0%} in the median, {np.quantile(off, 0.9):.0%} at the 90th "
        f"percentile of {both.sum()}; in the interval {inside:.0%}; "
        f"whether there is one is right in {agree:.0%}"
    )


def main() -> None:
    """Fit and score drives, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--drives", type=int, default=60)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--catalog", action="store_true", help="drives of the catalog instead")
    parser.add_argument("--tmt", action="store_true", help="fit runs with thresholds as well")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--keep", type=Path, help="keep what was simulated here, and take it from here"
    )
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    if options.catalog:
        catalog(options.jobs)
        return
    first = options.first + (HELD_OUT_FROM if options.held_out else 0)
    seeds = range(first, first + options.drives)
    with ProcessPoolExecutor(options.jobs) as pool:
        scores = list(pool.map(partial(score, keep=options.keep, tmt=options.tmt), seeds))
    if options.output is not None:
        options.output.write_text(json.dumps([asdict(one) for one in scores], indent=1), "utf-8")
    own = [one for one in scores if one.structure == STRUCTURES[0]]
    print("drives of the model's structure:", summary(own))
    for structure in STRUCTURES[1:]:
        others = [one for one in scores if one.structure == structure]
        if others:
            print(f"{structure}:", summary(others))
    for one in scores:
        if one.failed is not None:
            print(f"seed {one.seed}: {one.failed}")


if __name__ == "__main__":
    main()
