from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest
from heatsoak import protocol
from heatsoak._core import Drive as Core
from heatsoak.catalog import load_drive, load_enclosure, published
from heatsoak.errors import UsageError
from heatsoak.protocol import Pause, Purge, Workload, WorkloadStep
from heatsoak.recording.columns import dtype_of
from heatsoak.target import Batch, Target
from heatsoak.target.simulated import SimulatedTarget, make_core, workload_json

DRIVE = "samsung-950-pro-512"
HOT = "puget-top-2gpu-loaded"


def step(**keys: object) -> WorkloadStep:
    return WorkloadStep.model_validate({"name": "load", "bs": "128k", "iodepth": 32, **keys})


def collect(batches: Iterator[Batch]) -> pl.DataFrame:
    return pl.concat([batch for batch in batches if isinstance(batch, pl.DataFrame)])


def moved_bytes(samples: pl.DataFrame, direction: str) -> float:
    moved = samples[f"{direction}_bw_mb_s"] * samples["interval_s"]
    return float(np.sum(moved.to_numpy()) * 1e6)


@pytest.fixture
def target() -> SimulatedTarget:
    return SimulatedTarget(DRIVE)


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


def test_a_workload_ends_exactly_after_its_runtime(target: SimulatedTarget) -> None:
    samples = collect(target.run(step(rw="read", runtime="61.73s")))
    assert target.clock.now_s() == pytest.approx(61.73, abs=1e-12)
    assert samples["interval_s"].sum() == pytest.approx(61.73, abs=1e-9)
    assert samples["read_bw_mb_s"][0] == pytest.approx(2500)


def test_a_workload_moves_exactly_its_bytes(target: SimulatedTarget) -> None:
    samples = collect(target.run(step(rw="write", io_size="10GB")))
    assert moved_bytes(samples, "write") == pytest.approx(10e9, rel=1e-12)
    assert samples["read_bw_mb_s"].null_count() == len(samples)


def test_without_runtime_or_io_size_the_span_is_gone_over_once(target: SimulatedTarget) -> None:
    samples = collect(target.run(step(rw="write", size="1%", offset="50%")))
    assert moved_bytes(samples, "write") == pytest.approx(int(load_drive(DRIVE).user_bytes / 100))


def test_a_span_of_everything_begins_at_the_offset(target: SimulatedTarget) -> None:
    samples = collect(target.run(step(rw="write", offset="99%")))
    assert moved_bytes(samples, "write") < 0.011 * load_drive(DRIVE).user_bytes


def test_a_mix_reads_the_share_it_was_asked_to(target: SimulatedTarget) -> None:
    samples = collect(target.run(step(rw="randrw", rwmixread=70, bs="4k", runtime="5s")))
    reads, writes = samples["read_iops"].mean(), samples["write_iops"].mean()
    assert isinstance(reads, float)
    assert isinstance(writes, float)
    assert reads / (reads + writes) == pytest.approx(0.7)


def test_rates_are_sampled_at_10_hz_and_temperatures_at_1_hz(target: SimulatedTarget) -> None:
    samples = collect(target.run(step(rw="read", runtime="20s")))
    assert len(samples) == 200
    assert 20 <= samples["temp_c.composite"].count() <= 21
    assert not samples["temp_c.composite"].is_nan().any()


def test_idle_time_passes_without_load_and_cools(target: SimulatedTarget) -> None:
    loaded = collect(target.run(step(rw="read", runtime="200s")))
    idle = collect(target.idle(300))
    assert idle["interval_s"].sum() == pytest.approx(300)
    assert (idle["read_bw_mb_s"] == 0).all()
    assert (idle["power_w"] < 0.1).all()
    assert idle["sim.board_c"][-1] < loaded["sim.board_c"][-1] - 20
    assert list(target.idle(0)) == []


def test_closing_a_run_early_ends_the_load_at_once(target: SimulatedTarget) -> None:
    batches = target.run(step(rw="read", runtime="1h"))
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert (collect(target.idle(1))["read_bw_mb_s"] == 0).all()


def test_a_purge_takes_time_and_brings_random_writes_back(target: SimulatedTarget) -> None:
    collect(target.run(step(rw="write")))
    worn = collect(target.run(step(rw="randwrite", bs="4k", runtime="200s")))
    assert worn["sim.spare_gb"][-1] == 0
    assert worn["write_iops"][-1] <= 6000
    began_s = target.clock.now_s()
    assert (collect(target.purge())["write_bw_mb_s"] == 0).all()
    assert target.clock.now_s() - began_s == load_drive(DRIVE).capacity.purge_s.value
    collect(target.idle(600))
    fresh = collect(target.run(step(rw="randwrite", bs="4k", runtime="10s")))
    assert fresh["write_iops"][-1] == pytest.approx(110e3)


def test_the_random_write_cliff_sits_at_the_spare_area_in_bytes(target: SimulatedTarget) -> None:
    collect(target.run(step(rw="write")))
    collect(target.idle(600))
    samples = collect(target.run(step(rw="randwrite", bs="4k", runtime="200s")))
    fast = samples.filter(pl.col("sim.spare_gb") > 0)
    drive = load_drive(DRIVE)
    assert moved_bytes(fast, "write") == pytest.approx(drive.raw_bytes - drive.user_bytes, rel=0.01)


def test_a_hotter_place_throttles_sooner_and_deeper() -> None:
    onsets, ends = [], []
    for place in ("puget-upright-1gpu-idle", "puget-bottom-1gpu-loaded", HOT):
        target = SimulatedTarget(DRIVE, place)
        samples = collect(target.run(step(rw="read", runtime="300s")))
        onsets.append(target.truth()["onset_s"])
        ends.append(samples["read_bw_mb_s"][-1])
        limit_c = load_drive(DRIVE).governor.limit_c.value
        assert (samples["sim.controller_c"] <= limit_c + 1e-9).all()
    assert onsets == sorted(onsets, reverse=True)
    assert ends == sorted(ends, reverse=True)


def test_the_onset_is_where_throughput_leaves_its_first_level() -> None:
    target = SimulatedTarget(DRIVE, HOT)
    samples = collect(target.run(step(rw="read", runtime="60s")))
    left = samples.filter(pl.col("read_bw_mb_s") < 2499)["t_s"][0]
    assert left - 0.1 <= target.truth()["onset_s"] <= left + 0.05


def test_energy_is_conserved_through_a_whole_protocol() -> None:
    target = SimulatedTarget(DRIVE, HOT)
    collect(target.purge())
    collect(target.run(step(rw="write", io_size="100GB")))
    collect(target.idle(100))
    collect(target.run(step(rw="randrw", bs="4k", runtime="60s")))
    truth = target.truth()
    left = truth["energy_out_j"] + truth["energy_stored_j"]
    assert truth["energy_in_j"] == pytest.approx(left, rel=1e-9)


def test_the_same_drive_gives_the_same_samples() -> None:
    def record() -> pl.DataFrame:
        return collect(SimulatedTarget(DRIVE, HOT).run(step(rw="write", runtime="50s")))

    assert record().equals(record())


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"beside": [{"rw": "write", "runtime": "1s"}]}, "one workload at a time"),
        ({"fio": {"ioengine": "libaio"}}, "ioengine"),
        ({"size": "600GB"}, "span_bytes"),
        ({"bs": "128k", "size": "4k"}, "span_bytes"),
    ],
)
def test_what_cannot_be_simulated_is_said_in_one_line(
    target: SimulatedTarget, keys: dict[str, object], named: str
) -> None:
    with pytest.raises(UsageError, match=named) as caught:
        target.run(step(**{"rw": "read", "runtime": "1s", **keys}))
    assert str(caught.value).startswith("load: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('"idle_w": 0.07', '"idle_w": "warm"', "power.idle_w"),
        ('"idle_w"', '"idel_w"', "power.idel_w"),
        ('"user_bytes": 512110190592', '"user_bytes": 0', "capacity.user_bytes"),
        ('"seq_read_mb_s": 2500.0', '"seq_read_mb_s": -1', "service.seq_read_mb_s"),
        ('"limit_c": ', '"limit_c": 20, "on": true, "limit_c": ', "governor"),
    ],
)
def test_the_simulator_names_the_key_that_is_wrong(old: str, new: str, named: str) -> None:
    spec = load_drive(DRIVE).core_json()
    assert old in spec
    with pytest.raises(ValueError, match=named):
        Core(spec.replace(old, new), load_enclosure("open-bench").core_json())


def test_a_limit_below_the_air_is_refused() -> None:
    drive = load_drive(DRIVE)
    limit = drive.governor.limit_c.model_copy(update={"value": 24.0, "bounds": None})
    cold = drive.model_copy(
        update={"governor": drive.governor.model_copy(update={"limit_c": limit})}
    )
    with pytest.raises(UsageError, match=r"governor\.limit_c is 24"):
        SimulatedTarget(cold)


def test_bad_workloads_leave_the_drive_as_it_was() -> None:
    core = make_core(load_drive(DRIVE), load_enclosure("open-bench"))
    good = Workload.model_validate({"rw": "read", "bs": "4k", "runtime": "1s"})
    core.begin(workload_json(good, core.user_bytes))
    for bad in ("{}", "not JSON", '{"rw": "wrote"}'):
        with pytest.raises(ValueError, match="workload"):
            core.begin(bad)
    assert not core.done
    assert np.isclose(core.advance(10, 0.1)["interval_s"].sum(), 1.0)


def test_the_whole_matrix_runs_through() -> None:
    steps = protocol.load("puget").steps
    for cell in published().cells:
        target = SimulatedTarget(DRIVE, cell.enclosure)
        for each in steps:
            match each:
                case Purge():
                    collect(target.purge())
                case Pause():
                    collect(target.idle(each.duration_s))
                case WorkloadStep():
                    collect(target.run(each))
        assert target.clock.now_s() > 2700
