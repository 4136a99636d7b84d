"""Traces on the simulated drive, through the binding."""

import json
import math

import numpy as np
import pytest
from heatsoak._core import Drive, Trace
from heatsoak.catalog import load_drive, load_enclosure, load_trace
from heatsoak.protocol import Replay
from heatsoak.recording.columns import dtype_of
from heatsoak.target.traces import open_trace
from hypothesis import given, settings
from hypothesis import strategies as st

READ, WRITE, TRIM = 0, 1, 2


def drive() -> Drive:
    spec = load_drive("samsung-950-pro-512")
    return Drive(spec.core_json(), load_enclosure("open-bench").core_json())


def trace(
    at_s: list[float], op: list[int], offset: list[int], bytes: list[int], depth: int = 0
) -> Trace:
    return Trace.of(
        np.array([round(1e9 * at) for at in at_s], np.uint64),
        np.full(len(at_s), 2**64 - 1, np.uint64),
        np.array(op, np.uint8),
        np.array(offset, np.uint64),
        np.array(bytes, np.uint32),
        np.full(len(at_s), depth, np.uint16),
    )


def replay(core: Drive, sample_s: float = 0.1) -> dict[str, np.ndarray]:
    pieces = []
    while not core.done:
        pieces.append(core.advance(10.0, sample_s))
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in core.columns()}


def total(samples: dict[str, np.ndarray], name: str) -> float:
    return float(np.sum(samples[name] * samples["interval_s"]))


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(
    ios=st.lists(
        st.tuples(
            st.floats(0, 0.2),
            st.sampled_from([READ, WRITE, TRIM]),
            st.integers(0, 10**8),
            st.integers(1, 4000),
        ),
        max_size=40,
    ),
    idle_limit_s=st.sampled_from([0.0, 0.025, math.inf]),
    iodepth=st.sampled_from([1, 32]),
)
def test_all_of_a_trace_is_read_and_written(
    ios: list[tuple[float, int, int, int]], idle_limit_s: float, iodepth: int
) -> None:
    at_s = list(np.cumsum([gap for gap, *_ in ios]))
    op = [io[1] for io in ios]
    bytes = [512 * io[3] for io in ios]
    core = drive()
    core.begin_trace(trace(at_s, op, [512 * io[2] for io in ios], bytes), idle_limit_s, iodepth)
    samples = replay(core)
    assert all(dtype_of(name) for name in samples)
    for way, which in (("read", READ), ("write", WRITE)):
        moved = [size for size, one in zip(bytes, op, strict=True) if one == which]
        assert 1e6 * total(samples, f"{way}_bw_mb_s") == pytest.approx(sum(moved))
        assert total(samples, f"{way}_iops") == pytest.approx(len(moved))
    assert ((samples["busy_pct"] >= 0) & (samples["busy_pct"] <= 100)).all()
    waits_s = sum(min(gap, idle_limit_s) for gap, *_ in ios[1:])
    assert core.t_s >= waits_s - 1e-6


def test_a_trace_is_replayed_once_beside_workloads_and_ends_at_an_io_beyond_the_drive() -> None:
    core = drive()
    workloads = '[{"rw": "write", "bs": 4096, "iodepth": 1, "span_bytes": 4096, "io_bytes": 8192}]'
    once = trace([0, 0.01], [WRITE, READ], [0, 0], [4096, 512])
    with pytest.raises(ValueError, match="idle_limit_s is -1:"):
        core.begin_trace(once, -1.0)
    with pytest.raises(ValueError, match="iodepth is 0:"):
        core.begin_trace(once, 1.0, 0)
    core.begin_trace(once, 0.025, 4, workloads)
    samples = replay(core)
    assert total(samples, "write_iops") == pytest.approx(3)
    assert total(samples, "read_iops") == pytest.approx(1)
    with pytest.raises(ValueError, match="opened anew"):
        core.begin_trace(once)
    core = drive()
    at_the_end = [core.user_bytes - 512, core.user_bytes - 511]
    core.begin_trace(trace([0.0, 0.001], [WRITE, WRITE], at_the_end, [512, 512]))
    with pytest.raises(ValueError, match=r"^I/O 2 of the trace is of 512 bytes at"):
        core.advance(1.0, 0.1)
    assert core.done
    assert core.truth()["host_pages"] == 1


@pytest.mark.slow
def test_a_drive_is_not_copied_in_the_middle_of_a_replay() -> None:
    core = drive()
    core.begin_trace(trace([0.0, 1.0], [WRITE, WRITE], [0, 0], [512, 512]), math.inf)
    core.advance(0.5, 0.1)
    with pytest.raises(ValueError, match="cannot be copied in the middle of a replay"):
        core.copy()
    replay(core)
    assert core.copy().t_s == core.t_s


def test_columns_that_make_no_trace_are_named() -> None:
    with pytest.raises(ValueError, match=r"op\[1\] is 3: 0 is a read"):
        trace([0, 1], [0, 3], [0, 0], [512, 512])
    with pytest.raises(ValueError, match=r"at_ns\[1\] is 0: it has to be 1000000000 or more"):
        trace([1, 0], [0, 0], [0, 0], [512, 512])
    with pytest.raises(ValueError, match="bytes has 1 values, and at_ns 2"):
        trace([0, 1], [0, 0], [0, 0], [512])


@pytest.mark.parametrize("size_bytes", [10**9, 512 * 10**9])
def test_a_made_trace_keeps_to_its_span_or_to_a_smaller_target(size_bytes: int) -> None:
    step = Replay(kind="replay", name="light", trace="light", scale=0.01)
    span = json.loads(open_trace(step, size_bytes).statistics())["span"]
    asked = load_trace("light").span_bytes
    assert span["bytes"] == min(asked, size_bytes // 4096 * 4096)
