"""A user's own workload, from a trace or a recording: whether heat matters to it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import heatsoak
import numpy as np
import polars as pl
import pytest
from command import complaint, done_here, heatsoak_here, json_here
from heatsoak._core import Lumped, Trace
from heatsoak.catalog import load_drive, load_enclosure
from heatsoak.protocol import Protocol, WorkloadStep
from heatsoak.twin.case import Cooling
from heatsoak.twin.demand import Demand, demand_of
from heatsoak.twin.predict import predict
from hypothesis import given, settings
from hypothesis import strategies as st
from schema_check import complaints

DRIVE, HOT = "samsung-950-pro-512", "puget-top-2gpu-idle"
WRITE_MB_S = 1500.0


def asking(mb_s: list[float] | np.ndarray, **more: Any) -> Demand:
    """Writes of so many MB in each second."""
    write = np.asarray(mb_s, dtype=float)
    nothing = np.zeros(len(write))
    return Demand("use.log", nothing, write, nothing, write * 1e6 / 131_072, **more)


def trace_of(path: Path, mb_s: list[float], block: int = 1_048_576) -> Path:
    """A trace in fio's format that writes so much in each second, spread over it."""
    at_ns = np.concatenate(
        [
            (second + np.arange(count := round(mb * 1e6 / block)) / max(count, 1)) * 1e9
            for second, mb in enumerate(mb_s)
        ]
    ).astype(np.uint64)
    count = len(at_ns)
    trace = Trace.of(
        at_ns,
        np.full(count, 2**64 - 1, np.uint64),
        np.ones(count, np.uint8),
        np.arange(count, dtype=np.uint64) * block,
        np.full(count, block, np.uint32),
        np.zeros(count, np.uint16),
    )
    trace.write(path, "iolog-v3")
    return path


def watched(t_s: np.ndarray, mb_s: np.ndarray, temp_c: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame({"t_s": t_s, "read_bw_mb_s": mb_s, "temp_c.composite": temp_c})


def test_what_heat_permits_is_never_delayed_and_idle_time_stays_idle() -> None:
    drive = load_drive(DRIVE)
    now_and_then = np.where(np.arange(3600) % 600 < 5, WRITE_MB_S, 0.0)
    found = predict(drive, asking(now_and_then), 3600, enclosure=HOT)
    assert found.throttles == 0
    assert found.onset_s is None
    assert found.held is not None
    assert found.held.held_s is None
    assert found.held.gb == pytest.approx(now_and_then.sum() / 1e3)
    assert found.answer.startswith("Heat does not slow what use.log does in 60 min: ")
    # idle in between, it is cooler than what asks for as much at a time
    together = np.concatenate([np.full(30, WRITE_MB_S), np.zeros(3570)])
    assert (
        predict(drive, asking(together), 3600, enclosure=HOT).hidden_temp_c.mid
        > found.hidden_temp_c.mid + 5
    )


def test_a_demand_of_full_speed_begins_to_throttle_when_the_load_itself_does() -> None:
    drive = load_drive(DRIVE)
    words = {"name": "write", "rw": "write", "bs": "128k", "iodepth": 32, "runtime": "5m"}
    load = predict(drive, WorkloadStep.model_validate(words), 300, enclosure=HOT)
    demand = predict(drive, asking(np.full(300, load.full_mb_s)), 300, enclosure=HOT)
    assert load.onset_s is not None
    assert demand.onset_s is not None
    assert demand.throttles == load.throttles == 1
    assert demand.onset_s.mid == pytest.approx(load.onset_s.mid, abs=3)
    # what is not moved waits
    assert demand.held is not None
    assert demand.held.waiting_gb is not None
    assert load.throttled_mb_s is not None
    left_mb_s = load.full_mb_s - load.throttled_mb_s.mid
    waited_s = 300 - demand.onset_s.mid
    assert demand.held.waiting_gb.mid == pytest.approx(left_mb_s * waited_s / 1e3, rel=0.2)


def test_what_never_comes_is_late_as_well() -> None:
    found = predict(load_drive(DRIVE), asking(np.full(1200, WRITE_MB_S)), 1200, enclosure=HOT)
    assert found.held is not None
    assert found.held.late_pct is not None
    assert found.onset_s is not None
    assert found.held.late_pct.mid == pytest.approx(100 * (1 - found.onset_s.mid / 1200), abs=0.5)
    assert found.held.times is not None
    assert found.held.times.low == found.held.times.high == 1


def test_hotter_air_never_throttles_less_and_half_the_demand_never_more() -> None:
    drive = load_drive(DRIVE)
    bursts = np.where(np.arange(1800) % 300 < 90, WRITE_MB_S, 0.0)
    found = [
        predict(drive, asking(bursts), 1800, enclosure=HOT, cooling=Cooling(warming_k=k))
        for k in (-15, -8, -4, 0, 4, 8)
    ]
    likely = [one.throttles for one in found]
    assert likely == sorted(likely)
    assert likely[0] < likely[-1]
    held = [one.held.held_s.mid for one in found if one.held and one.held.held_s]
    assert held == sorted(held)
    half = predict(drive, asking(bursts / 2), 1800, enclosure=HOT)
    assert half.throttles < found[3].throttles


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 40.0, 700.0, 1500.0, 2500.0]), st.integers(1, 90)),
        min_size=1,
        max_size=8,
    )
)
def test_what_was_moved_and_what_waits_is_what_was_asked_for(
    parts: list[tuple[float, int]],
) -> None:
    asked = np.concatenate([np.full(count, mb_s) for mb_s, count in parts])
    lumped = Lumped(load_drive(DRIVE).core_json(), load_enclosure(HOT).core_json())
    served = lumped.serve(
        np.ones(len(asked)),
        mb_s=asked,
        full_share=asked / WRITE_MB_S,
        least_share=0 * asked,
        work={"host_write_pages": asked * 1e6 / 4096, "write_commands": asked * 1e6 / 131_072},
        air_k=np.zeros(0),
        seconds=len(asked),
    )
    np.testing.assert_allclose(
        np.cumsum(served["mb_s"]) + served["waiting_mb"], np.cumsum(asked), atol=1e-6
    )
    assert (served["late_s"] >= 0).all()
    # heat can only hold back what is served while the governor acts
    late = np.diff(served["late_s"], prepend=0.0) > 1e-9
    assert (served["governed_c"][late] > served["begins_c"] - 3).all()


def test_a_trace_is_read_second_by_second(tmp_path: Path) -> None:
    rates = [100.0, 0.0, 0.0, 50.0, *[0.0] * 10, 230.0]
    demand = demand_of(trace_of(tmp_path / "t.log", rates))
    np.testing.assert_allclose(demand.write_mb_s, rates, atol=1.1)
    assert demand.read_mb_s.sum() == 0
    assert demand.write_iops[0] == 95
    assert not demand.is_recorded
    assert demand.describe() == "t.log, 15 s: 0 GB read, 0.38 GB written"
    assert demand.first(14).seconds == 14


def test_a_packed_trace_of_a_shape_is_a_workload(tmp_path: Path) -> None:
    made = ("lab", "trace", "light", "--scale", "0.02", "-o", "light.log.gz")
    done_here(*made, cwd=tmp_path)
    found = json_here("predict", DRIVE, "--workload", "light.log.gz", cwd=tmp_path)
    counted = json_here("lab", "trace", "light.log.gz", cwd=tmp_path)
    gb = (counted["read_bytes"] + counted["write_bytes"]) / 1e9
    assert found["held"]["gb"] == pytest.approx(gb, abs=0.001)
    assert found["duration_s"] == pytest.approx(counted["time"]["duration_s"], abs=1)
    assert found["throttles"] == 0


def test_the_command_line_answers_for_a_trace(tmp_path: Path) -> None:
    trace_of(tmp_path / "hot.log", [WRITE_MB_S] * 120 + [0.0] * 240)
    words = (DRIVE, "--place", HOT, "--workload", "hot.log")
    found = json_here("predict", *words, cwd=tmp_path)
    schema = json.loads(done_here("lab", "schema", "predict", cwd=tmp_path).stdout)
    assert complaints(found, schema) == []
    assert found["throttles"] == 1
    assert found["held"]["held_s"][1] > 5
    assert found["held"]["recorded_held_s"] == 0
    assert 0 < found["held"]["late_pct"][1] <= 100
    text = heatsoak_here("predict", *words, cwd=tmp_path).stdout
    assert text.splitlines()[0] == found["answer"]
    assert found["answer"].startswith("Heat slows what hot.log does in ")
    done_here("predict", *words, "--min-probability", "0.5", cwd=tmp_path, code=1)
    # its beginning is too short to warm anything
    short = json_here("predict", *words, "--for", "12s", cwd=tmp_path)
    assert (short["duration_s"], short["throttles"]) == (12, 0)


@pytest.mark.slow
def test_advice_for_a_trace_says_whether_heat_matters_and_what_is_enough(tmp_path: Path) -> None:
    path = trace_of(tmp_path / "hot.log", [WRITE_MB_S] * 120 + [0.0] * 240)
    words = (DRIVE, "--place", HOT, "--workload", "hot.log")
    found = json_here("predict", "--cooling", *words, cwd=tmp_path)
    schema = json.loads(done_here("lab", "schema", "advise", cwd=tmp_path).stdout)
    assert complaints(found, schema) == []
    assert found["matters"] == "yes"
    assert found["answer"].startswith("Keeps its speed for ")
    sink = found["heatsink_k_per_w"]
    enough, less = (
        heatsoak.predict(DRIVE, path, enclosure=HOT, heatsink=k_per_w).throttles
        for k_per_w in (0.98 * sink, 1.3 * sink)
    )
    assert enough <= 0.1 < less
    held = [offer["held_s"] for offer in found["offers"]]
    assert min(held) < found["held_s"]
    assert heatsoak.advise(DRIVE, path, enclosure=HOT).model_dump(mode="json") == found
    cool = heatsoak_here(
        "predict", "--cooling", DRIVE, "--workload", "hot.log", cwd=tmp_path
    ).stdout
    assert cool.startswith("Needs no more cooling: heat does not slow what hot.log does (hottest ")
    trace_of(tmp_path / "calm.log", [100.0, *[0.0] * 60] * 5)
    calm = heatsoak_here(
        "predict", "--cooling", DRIVE, "--workload", "calm.log", cwd=tmp_path
    ).stdout
    assert calm.startswith("Needs no more cooling: heat does not slow what calm.log does (hottest ")


@pytest.mark.slow
def test_a_recording_that_heat_held_back_asks_for_more_than_it_shows(tmp_path: Path) -> None:
    step = {"name": "read", "rw": "read", "bs": "128k", "iodepth": 32, "runtime": "3m"}
    protocol = Protocol.model_validate({"name": "hold", "steps": [step]})
    heatsoak.run(protocol, on=f"sim:{DRIVE}@{HOT}", output=tmp_path / "hot")
    words = (DRIVE, "--place", HOT, "--workload", "hot")
    found = json_here("predict", *words, cwd=tmp_path)
    onset_s = heatsoak.analyze(tmp_path / "hot").recordings[0].steps[0].episodes[0].onset_s
    assert found["held"]["recorded_held_s"] == pytest.approx(180 - onset_s, abs=5)
    assert found["answer"].endswith(
        "Heat held the recorded drive back, too: it may have been asked for more."
    )
    assert any("the least that was asked of it" in text for text in found["assumed"])


def test_a_recording_at_one_rate_shows_all_that_was_asked_for() -> None:
    t_s = np.arange(1.0, 601.0)
    rates = 300 * (1 + 0.005 * np.sin(t_s * 1.7))
    recording = heatsoak.from_frame(watched(t_s, rates, 40 + 0 * t_s))
    calm = heatsoak.predict(DRIVE, recording, enclosure=HOT)
    assert calm.held is not None
    assert calm.held.gb == pytest.approx(180, rel=0.01)
    assert calm.held.recorded_held_s == 0
    assert "asked for more" not in calm.answer


def test_a_drive_can_do_what_it_was_seen_to_do_and_another_need_not() -> None:
    # more at a time than either is rated at
    asked = asking(np.full(60, 2 * WRITE_MB_S), is_recorded=True)
    own = predict(load_drive(DRIVE), asked, 60, enclosure="wings-px1")
    other = predict(load_drive(DRIVE), replace(asked, model="a faster one"), 60)
    assert own.throttles == 0
    assert "it asks for what was moved when it was recorded" in own.assumed
    assert "it asks for what was moved when it was recorded, of a faster one" in other.assumed


def test_what_is_no_workload_is_one_line(tmp_path: Path) -> None:
    trace_of(tmp_path / "short.log", [10.0] * 3)
    for name, later in (("trims", "trim"), ("long", "write")):
        lines = [f"{1_000_000 * second} f {later} 0 4096\n" for second in range(20, 40)]
        text = "fio version 3 iolog\n0 f add\n0 f open\n0 f trim 0 4096\n" + "".join(lines)
        (tmp_path / f"{name}.log").write_text(text)
    (tmp_path / "order.log").write_text(
        "fio version 2 iolog\nf add\nf open\nf write 0 4096\nf write 4096 4096\n"
    )
    (tmp_path / "torn.log").write_text(
        "fio version 3 iolog\n0 f add\n0 f open\n0 f write 0 4096\n1000000 f wri\n2 f\n"
    )
    (tmp_path / "prose.txt").write_text("All drives are warm.\nSome are hot.\n")
    t_s = np.arange(1.0, 121.0)
    temps = pl.DataFrame({"t_s": t_s, "temp_c.composite": 40 + t_s / 10})
    heatsoak.from_frame(temps).save(tmp_path / "hot")
    idle = heatsoak.from_frame(watched(t_s, 0 * t_s, 40 + 0 * t_s))
    idle.save(tmp_path / "idle")
    for name in ("one", "two"):
        idle.save(tmp_path / "both" / name)
    for words, said in (
        (["short.log"], "short.log: takes 3 s, and heat does not show in less"),
        (["trims.log"], "trims.log: has no reads or writes"),
        (["order.log"], "order.log: tells the order of its I/O but no times"),
        (["torn.log"], "torn.log: line "),
        (["hot"], "hot: has no throughput, which says what was asked"),
        (["idle"], "idle: has no reads or writes"),
        (["both"], "both: has 2 recordings in it, and one is a workload"),
        (["prose.txt"], "prose.txt: cannot be read as a load: as a trace, line 1"),
        (["."], "and one is a workload: name one"),
        (["long.log", "--holds", "1GB/s"], "so none can be held"),
        (["long.log", "--for", "5s"], "its first 5 s: has no reads or writes"),
        (["long.log", "--for", "0s"], "'0s' is less than 1 s"),
        (["gone.log"], "gone.log: is no load"),
    ):
        done = heatsoak_here("predict", DRIVE, "--workload", *words, cwd=tmp_path)
        assert said in complaint(done, 2), words
