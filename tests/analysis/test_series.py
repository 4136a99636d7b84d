"""Series of rates from the rows of a recording."""

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis.falls import find_drops
from heatsoak.analysis.series import RateSeries, directions, iops, resampled, response, throughput
from hypothesis import given, settings
from hypothesis import strategies as st
from made_series import FULL, lost, of_parts


def frame(**columns: list[float | None]) -> pl.DataFrame:
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64), strict=False)


def test_bytes_come_before_ios_and_ios_before_latencies() -> None:
    rows = frame(
        t_s=[1.0, 2.0],
        interval_s=[1.0, 1.0],
        read_lat_us=[100.0, 200.0],
        write_lat_us=[300.0, None],
        read_iops=[5.0, 6.0],
        write_iops=[1.0, None],
        read_bw_mb_s=[None, None],
        write_bw_mb_s=[7.0, 8.0],
    )
    seen = throughput(rows, 0.0)
    assert (seen.unit, seen.values.tolist()) == ("mb_s", [7.0, 8.0])
    rows = rows.drop("read_bw_mb_s", "write_bw_mb_s")
    seen = throughput(rows, 0.0)
    assert (seen.unit, seen.values.tolist()) == ("iops", [6.0, 6.0])
    seen = throughput(rows.drop("read_iops", "write_iops"), 0.0)
    assert (seen.unit, seen.values.tolist()) == ("lat_us", [5000.0, 5000.0])


def test_slower_is_lower_where_only_latencies_were_logged() -> None:
    of = of_parts(lost(100, 0.6), sigma=0.03)
    lat_us = 80.0 * FULL / of.values
    rows = pl.DataFrame({"t_s": of.t_s, "interval_s": of.interval_s, "lat_us": lat_us})
    (drop,) = find_drops(throughput(rows, 0.0)) or []
    assert drop.onset_s == pytest.approx(100, abs=0.3)
    assert drop.before == pytest.approx(1e6 / 80, rel=0.02)
    assert drop.depth == pytest.approx(0.6, abs=0.01)


def test_reads_and_writes_are_given_apart() -> None:
    rows = frame(
        t_s=[1.0, 2.0, 3.0],
        interval_s=[1.0, 1.0, 1.0],
        read_bw_mb_s=[5.0, 0.0, 4.0],
        write_bw_mb_s=[1.0, 2.0, None],
    )
    apart = directions(rows, 0.0)
    assert {name: part.values.tolist() for name, part in apart.items()} == {
        "read": [5.0, 0.0, 4.0],
        "write": [1.0, 2.0],
    }
    only = directions(rows.with_columns(read_bw_mb_s=pl.lit(0.0)), 0.0)
    assert list(only) == ["write"]
    assert directions(rows.select("t_s"), 0.0) == {}


def test_rows_come_in_any_order_and_twice() -> None:
    rows = frame(
        t_s=[3.0, 1.0, None, 2.0, 2.0, 4.0, 5.0, float("inf")],
        read_iops=[30.0, 10.0, 1.0, 20.0, 22.0, float("nan"), float("inf"), 2.0],
        write_iops=[None, None, 1.0, 5.0, None, -3.0, None, 2.0],
    )
    seen = iops(rows, 0.0)
    assert seen.t_s.tolist() == [1.0, 2.0, 3.0]
    assert seen.values.tolist() == [10.0, 26.0, 30.0]
    assert seen.interval_s.tolist() == [1.0, 1.0, 1.0]


def test_the_interval_after_a_gap_is_not_as_long_as_the_gap() -> None:
    rows = frame(t_s=[1.0, 2.0, 3.0, 100.0, 101.0], iops=[5.0] * 5)
    assert iops(rows, 0.0).interval_s.max() <= 3


def test_a_sample_alone_has_a_mean_however_long_it_took() -> None:
    assert iops(frame(t_s=[4.0], iops=[5.0]), 4.0).mean(-np.inf, np.inf) == 5.0


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 50), st.floats(0.1, 5.0), st.floats(0.1, 20.0))
def test_resampling_keeps_what_was_moved(count: int, sampling_s: float, step_s: float) -> None:
    values = np.random.default_rng(count).uniform(1, 2, count)
    of = RateSeries(
        np.arange(1.0, count + 1) * sampling_s, np.full(count, sampling_s), values, "mb_s"
    )
    steps = int(of.duration_s // step_s)
    even = resampled(of, 0.0, steps * step_s, step_s)
    assert len(even) == steps
    moved = np.interp(steps * step_s, [0, *of.t_s], [0, *np.cumsum(values * sampling_s)])
    assert float(np.sum(even) * step_s) == pytest.approx(moved, rel=1e-9, abs=1e-9)


def test_what_is_read_each_hour_follows_its_load_at_once() -> None:
    load = np.array([0.0, 1.0, 3.0, 2.0, 5.0])
    explained, _, k_each = response(load, 30 + 2 * load, 3600.0)
    assert explained == pytest.approx(1)
    assert k_each == pytest.approx(2)
