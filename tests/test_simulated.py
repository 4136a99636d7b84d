import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from heatsoak._core import Drive as Core
from heatsoak.catalog import load_drive, load_enclosure
from heatsoak.catalog.specs import Band
from heatsoak.errors import ShutDownError, UsageError
from heatsoak.protocol import WorkloadStep
from heatsoak.recording.columns import dtype_of
from heatsoak.target import Batch, LoadResult, Target
from heatsoak.target.simulated import SimulatedTarget, make_core, workloads_json

DRIVE = "samsung-950-pro-512"
HOT = "puget-top-2gpu-loaded"
#: Milliseconds more than the runtime, at most, until the last I/O came back.
LAST_IO_S = 0.01


def step(**keys: object) -> WorkloadStep:
    return WorkloadStep.model_validate({"name": "load", "bs": "128k", "iodepth": 32, **keys})


def collect(batches: Iterator[Batch]) -> pl.DataFrame:
    return pl.concat([batch for batch in batches if isinstance(batch, pl.DataFrame)])


def mean(values: pl.Series) -> float:
    found = values.mean()
    assert isinstance(found, float)
    return found


def moved_bytes(samples: pl.DataFrame, direction: str) -> float:
    moved = samples[f"{direction}_bw_mb_s"] * samples["interval_s"]
    return float(np.sum(moved.to_numpy()) * 1e6)


@pytest.fixture
def target() -> SimulatedTarget:
    return SimulatedTarget(DRIVE)


@pytest.fixture
def small(small_drive: Path) -> SimulatedTarget:
    return SimulatedTarget(str(small_drive))


@pytest.mark.slow
def test_a_load_ends_with_how_long_each_of_its_i_os_took(target: SimulatedTarget) -> None:
    batches = list(target.run(step(rw="randrw", rwmixread=70, bs="4k", iodepth=4, runtime="2s")))
    samples = collect(iter(batches))
    [outcome] = [batch for batch in batches if isinstance(batch, LoadResult)]
    for direction in ("read", "write"):
        bins = outcome.data["latency_bins"][direction]
        done = samples[f"{direction}_iops"] * samples["interval_s"]
        assert sum(bins["ios"]) == pytest.approx(done.sum())
        within = np.cumsum(bins["ios"]) / sum(bins["ios"])
        median_us = np.interp(0.5, within, bins["upper_us"])
        assert median_us == pytest.approx(samples[f"{direction}_lat_p50_us"].median(), rel=0.15)
        times_us = [samples[f"{direction}_lat_{name}_us"] for name in ("p50", "p99", "p999", "max")]
        assert all((less <= more).all() for less, more in pairwise(times_us))
        assert (samples[f"{direction}_lat_us"] <= times_us[-1]).all()
    assert not [batch for batch in target.idle(1) if isinstance(batch, LoadResult)]


@pytest.mark.slow
def test_it_is_a_target_whose_columns_a_recording_can_hold(target: SimulatedTarget) -> None:
    as_target: Target = target
    assert as_target.open(writes=True) == []
    assert as_target.identity.simulated
    assert as_target.identity.path == f"sim:{DRIVE}@open-bench"
    samples = collect(target.run(step(rw="read", runtime="2s")))
    assert samples.columns == target.columns()
    for name, dtype in samples.schema.items():
        assert dtype == dtype_of(name)
    target.close()
    target.close()


def test_a_workload_ends_when_the_last_io_of_its_runtime_is_back(target: SimulatedTarget) -> None:
    samples = collect(target.run(step(rw="read", runtime="61.73s")))
    assert 61.73 <= target.clock.now_s() <= 61.73 + LAST_IO_S
    assert samples["interval_s"].sum() == pytest.approx(target.clock.now_s(), abs=1e-9)
    # the first I/Os wait for the drive to wake up
    assert samples["read_bw_mb_s"][1] == pytest.approx(2500, rel=1e-3)


@pytest.mark.parametrize(
    ("keys", "bytes_"),
    [
        ({"io_size": "10GB"}, 10e9),
        # once over what is asked for, and no further than the end
        ({"size": "1%", "offset": "50%"}, 5121101905),
        ({"offset": "99%"}, 5121101906),
    ],
)
def test_a_workload_moves_exactly_its_bytes(
    target: SimulatedTarget, keys: dict[str, object], bytes_: float
) -> None:
    samples = collect(target.run(step(rw="write", **keys)))
    assert moved_bytes(samples, "write") == pytest.approx(bytes_, abs=4096)
    assert samples["read_bw_mb_s"].null_count() == len(samples)


@pytest.mark.slow
def test_a_mix_reads_the_share_it_was_asked_to(target: SimulatedTarget) -> None:
    samples = collect(target.run(step(rw="randrw", rwmixread=70, bs="4k", runtime="5s")))
    reads, writes = moved_bytes(samples, "read"), moved_bytes(samples, "write")
    ios = (reads + writes) / 4096
    # each I/O is drawn by itself: five standard deviations
    assert abs(reads / (reads + writes) - 0.7) < 5 * (0.7 * 0.3 / ios) ** 0.5


def test_rates_are_sampled_at_10_hz_and_temperatures_at_1_hz(target: SimulatedTarget) -> None:
    samples = collect(target.run(step(rw="read", runtime="20s")))
    assert len(samples) == 200
    assert 20 <= samples["temp_c.composite"].count() <= 21
    assert not samples["temp_c.composite"].is_nan().any()


@pytest.mark.slow
def test_idle_time_passes_without_load_and_cools(target: SimulatedTarget) -> None:
    loaded = collect(target.run(step(rw="read", runtime="200s")))
    idle = collect(target.idle(300))
    assert idle["interval_s"].sum() == pytest.approx(300)
    assert (idle["read_bw_mb_s"] == 0).all()
    # awake at first, then the power states that its maker lists
    assert (idle["power_w"][:5] < 0.7).all()
    assert (idle["power_w"][30:] < 0.1).all()
    assert idle["power_state"].unique(maintain_order=True).to_list() == [0, 3, 4]
    assert idle["sim.board_c"][-1] < loaded["sim.board_c"][-1] - 20
    assert list(target.idle(0)) == []


def test_closing_a_run_early_ends_the_load_at_once(target: SimulatedTarget) -> None:
    batches = target.run(step(rw="read", runtime="1h"))
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert (collect(target.idle(1))["read_bw_mb_s"] == 0).all()


def test_a_purge_takes_time_and_brings_random_writes_back(small: SimulatedTarget) -> None:
    random = step(rw="randwrite", bs="4k", runtime="10s")
    collect(small.run(step(rw="write")))
    worn = collect(small.run(random))
    assert worn["sim.spare_gb"][-1] < 0.05 * worn["sim.spare_gb"][0]
    assert worn["write_iops"][-1] < 0.1 * worn["write_iops"][1]
    began_s = small.clock.now_s()
    assert (collect(small.purge())["write_bw_mb_s"] == 0).all()
    assert small.clock.now_s() - began_s == pytest.approx(load_drive(DRIVE).capacity.purge_s.value)
    collect(small.idle(600))
    assert collect(small.run(random))["write_iops"][-1] == pytest.approx(110e3, rel=1e-3)


@pytest.mark.slow
def test_a_hotter_place_throttles_sooner_and_deeper() -> None:
    onsets, ends = [], []
    for place in ("puget-upright-1gpu-idle", "puget-bottom-1gpu-loaded", HOT):
        target = SimulatedTarget(DRIVE, place)
        samples = collect(target.run(step(rw="read", runtime="300s")))
        onsets.append(target.core.truth()["onset_s"])
        ends.append(samples["read_bw_mb_s"][-1])
        law = load_drive(DRIVE).governor.law
        assert isinstance(law, Band)
        most_c = law.engage_c.value + law.band_k.value
        assert samples["sim.controller_c"].max() <= most_c  # type: ignore[operator]
    assert onsets == sorted(onsets, reverse=True)
    assert ends == sorted(ends, reverse=True)


def test_the_onset_is_where_throughput_leaves_its_first_level() -> None:
    target = SimulatedTarget(DRIVE, HOT)
    samples = collect(target.run(step(rw="read", runtime="60s")))
    # the first sample has the drive's waking up
    left = samples[1:].filter(pl.col("read_bw_mb_s") < 2497)["t_s"][0]
    assert left - 0.1 <= target.core.truth()["onset_s"] <= left + 0.05


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"beside": [{"rw": "write", "runtime": "1s", "size": "600GB"}]}, "span_bytes"),
        ({"fio": {"ioengine": "libaio"}}, "ioengine"),
        ({"size": "600GB"}, "span_bytes"),
    ],
)
def test_what_cannot_be_simulated_is_said_in_one_line(
    target: SimulatedTarget, keys: dict[str, object], named: str
) -> None:
    with pytest.raises(UsageError, match=named) as caught:
        target.run(step(**{"rw": "read", "runtime": "1s", **keys}))
    assert str(caught.value).startswith("load: ")
    assert "\n" not in str(caught.value)


def test_the_simulator_names_the_key_that_is_wrong() -> None:
    drive, spec = load_drive(DRIVE), load_drive(DRIVE).core_json()
    for old, new, named in (
        ('"idle_w": 0.4', '"idle_w": "warm"', "energy.idle_w"),
        ('"idle_w"', '"idel_w"', "energy.idel_w"),
        ('"user_bytes": 512110190592', '"user_bytes": 0', "capacity.user_bytes"),
        ('"engage_c": ', '"engaged": 1, "engage_c": ', "governor"),
    ):
        assert old in spec
        with pytest.raises(ValueError, match=named):
            Core(spec.replace(old, new, 1), load_enclosure("open-bench").core_json())
    # a limit below the air, in the user's words
    law = drive.governor.law
    assert isinstance(law, Band)
    cold = law.engage_c.model_copy(update={"value": 24.0, "bounds": None})
    governor = {"law": law.model_copy(update={"engage_c": cold})}
    changed = drive.model_copy(update={"governor": drive.governor.model_copy(update=governor)})
    with pytest.raises(UsageError, match=r"governor\.law\.engage_c is 24"):
        SimulatedTarget(changed)


def test_bad_workloads_leave_the_drive_as_it_was() -> None:
    core = make_core(load_drive(DRIVE), load_enclosure("open-bench"))
    core.begin(workloads_json(step(rw="read", bs="4k", runtime="1s"), core.user_bytes))
    for bad in ("[{}]", "not JSON", '[{"rw": "wrote"}]', '{"rw": "read"}'):
        with pytest.raises(ValueError, match="workload"):
            core.begin(bad)
    assert not core.done
    assert core.advance(10, 0.1)["interval_s"].sum() == pytest.approx(1.0, abs=LAST_IO_S)


def test_workloads_run_side_by_side_until_the_last_ends(small: SimulatedTarget) -> None:
    def run(**keys: object) -> pl.DataFrame:
        target = SimulatedTarget(small._drive)
        collect(target.run(step(name="fill", rw="write")))
        return collect(target.run(step(rw="randread", bs="4k", runtime="3s", **keys)))

    alone = run()
    writing = {"rw": "write", "bs": "128k", "iodepth": 32, "runtime": "6s"}
    both = run(beside=[writing])
    assert alone["write_bw_mb_s"].null_count() == len(alone)
    assert both["interval_s"].sum() == pytest.approx(6, abs=LAST_IO_S)
    together, after = both[5:29], both[35:59]
    assert (together["read_iops"] > 0).all()
    assert (together["write_bw_mb_s"] > 0).all()
    assert (after["read_iops"] == 0).all()
    assert after["read_lat_us"].null_count() == len(after)
    # they share the drive
    assert mean(together["read_iops"]) < mean(alone["read_iops"])
    assert mean(together["write_bw_mb_s"]) <= mean(after["write_bw_mb_s"])


def test_the_rate_limit_of_a_parallel_workload_holds(small: SimulatedTarget) -> None:
    slow = {"rw": "randwrite", "bs": "4k", "iodepth": 1, "runtime": "5s", "rate": 10**7}
    samples = collect(small.run(step(rw="randread", bs="4k", runtime="5s", beside=[slow])))
    assert mean(samples["write_bw_mb_s"][5:]) == pytest.approx(10, rel=0.02)


@pytest.mark.slow
def test_a_drive_that_is_too_hot_shuts_down() -> None:
    target = SimulatedTarget("pcie5-tlc-2tb", "open-bench")
    batches = target.run(step(rw="read", runtime="300s"))
    seen: list[pl.DataFrame] = []
    with pytest.raises(ShutDownError, match="shut itself down at") as caught:
        seen.extend(batch for batch in batches if isinstance(batch, pl.DataFrame))
    assert "\n" not in str(caught.value)
    samples = pl.concat(seen)
    assert samples["read_bw_mb_s"][10] > 12000
    shutdown_c = load_drive("pcie5-tlc-2tb").governor.shutdown_c
    assert shutdown_c is not None
    assert samples["sim.controller_c"].max() == pytest.approx(shutdown_c.value, abs=1)
    # it does so for good
    with pytest.raises(ShutDownError):
        collect(target.run(step(rw="read", runtime="10s")))


@pytest.mark.slow
def test_seeds_differ_and_chance_is_all_that_does(small: SimulatedTarget) -> None:
    def record(seed: int) -> pl.DataFrame:
        target = SimulatedTarget(small._drive, seed=seed)
        collect(target.run(step(rw="write")))
        return collect(target.run(step(rw="randwrite", bs="4k", runtime="5s")))

    assert record(1).equals(record(1))
    assert not record(1).equals(record(2))


def test_what_it_was_made_of_is_in_the_recording(small: SimulatedTarget) -> None:
    told = json.loads(json.dumps(small.describe()))
    assert told["drive"] == json.loads(small._drive.core_json())
    assert told["enclosure"]["air_c"] == 25
