"""fio's status stream: cut anywhere, it says the same; whatever it says, only our errors come."""

import itertools
import json
from typing import Any

import pytest
from heatsoak.errors import ToolError
from heatsoak.fio import Differencer, FioStatus, coarse_bins, percentiles
from heatsoak.target.fio.process import Splitter
from hypothesis import given
from hypothesis import strategies as st


def direction(count: int, size: int, runtime_ms: int, bins: dict[int, int]) -> dict[str, Any]:
    timed = sum(bins.values())
    mean = sum(ns * ios for ns, ios in bins.items()) / timed if timed else 0.0
    return {
        "io_bytes": size,
        "total_ios": count,
        "runtime": runtime_ms,
        "lat_ns": {"mean": mean, "N": timed, "bins": {str(ns): n for ns, n in bins.items()}},
    }


def document(at_ms: int, *jobs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    unused = direction(0, 0, 0, {})
    return {
        "timestamp_ms": at_ms,
        "jobs": [
            {"error": 0, "usr_cpu": 1.0, "sys_cpu": 2.0, "read": unused, "write": unused, **job}
            for job in jobs
        ],
    }


def printed(*documents: dict[str, Any], between: str = "\n") -> bytes:
    return between.join(json.dumps(one, indent=2) for one in documents).encode() + b"\n"


def in_pieces(stream: bytes, cuts: list[int]) -> list[dict[str, Any]]:
    splitter = Splitter()
    places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    found = [
        one for start, end in itertools.pairwise(places) for one in splitter.feed(stream[start:end])
    ]
    splitter.finish()
    return found


THREE = [
    document(1000, {"read": direction(10, 40960, 100, {500: 6, 900: 4})}),
    document(1250, {"read": direction(30, 122880, 350, {500: 20, 900: 10})}),
    document(1500, {"read": direction(70, 286720, 600, {500: 55, 900: 15})}),
]


@given(cuts=st.lists(st.integers(min_value=0), max_size=40))
def test_a_stream_reads_the_same_however_it_is_split(cuts: list[int]) -> None:
    stream = b"fio: terminating on signal 15\n" + printed(*THREE, between="\nfio: text\n")
    assert in_pieces(stream, cuts) == THREE


@pytest.mark.slow
@given(pieces=st.lists(st.binary(max_size=200), max_size=10), good=st.booleans())
def test_garbage_raises_nothing_but_our_error(pieces: list[bytes], good: bool) -> None:
    message = ""
    splitter = Splitter(largest_bytes=1000)
    differencer = Differencer(1, reads=True, writes=False)
    try:
        for piece in [printed(THREE[0]) if good else b"", *pieces, b"\n}"]:
            for found in splitter.feed(piece):
                differencer.row(FioStatus.of(found))
        splitter.finish()
    except ToolError as error:
        message = str(error)
    assert "\n" not in message


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@pytest.mark.slow
@given(data=st.data())
def test_a_document_with_any_value_replaced_raises_nothing_but_our_error(data: Any) -> None:
    broken = json.loads(json.dumps(THREE[1]))
    places: list[tuple[Any, Any]] = []

    def collect(node: Any) -> None:
        for key in node if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], dict | list):
                collect(node[key])

    collect(broken)
    node, key = data.draw(st.sampled_from(places))
    node[key] = data.draw(VALUES)
    message = ""
    differencer = Differencer(1, reads=True, writes=False)
    try:
        for one in (THREE[0], broken, THREE[2]):
            differencer.row(FioStatus.of(one))
    except ToolError as error:
        message = str(error)
    assert "\n" not in message


@given(
    steps=st.lists(
        st.tuples(st.integers(0, 10_000), st.integers(0, 1000), st.integers(-50, 1000)),
        min_size=1,
        max_size=20,
    )
)
def test_rates_times_intervals_add_up_to_what_fio_counted(
    steps: list[tuple[int, int, int]],
) -> None:
    differencer = Differencer(1, reads=True, writes=False)
    ios = runtime = 0
    clock = 1_000_000
    total_mb = total_ios = 0.0
    for more, runtime_ms, wall_ms in steps:
        ios, runtime, clock = ios + more, runtime + runtime_ms, clock + wall_ms
        status = FioStatus.of(document(clock, {"read": direction(ios, ios * 4096, runtime, {})}))
        row = differencer.row(status)
        if row is not None:
            assert row["interval_s"] is not None
            assert row["interval_s"] > 0
            total_mb += (row["read_bw_mb_s"] or 0) * row["interval_s"]
            total_ios += (row["read_iops"] or 0) * row["interval_s"]
    assert total_mb == pytest.approx(ios * 4096 / 1e6)
    assert total_ios == pytest.approx(ios)


def test_a_row_holds_what_happened_between_two_documents() -> None:
    differencer = Differencer(8, reads=True, writes=False)
    rows = [differencer.row(FioStatus.of(one)) for one in THREE]
    unused = ("bw_mb_s", "iops", "lat_us", "lat_p50_us", "lat_p99_us", "over_10ms", "over_100ms")
    assert rows[2] == {
        "interval_s": 0.25,
        "read_bw_mb_s": pytest.approx(163840 / 0.25 / 1e6),
        "read_iops": pytest.approx(160),
        "read_lat_us": pytest.approx((35 * 0.5 + 5 * 0.9) / 40),
        "read_lat_p50_us": 0.5,
        "read_lat_p99_us": 0.9,
        "read_over_10ms": 0,
        "read_over_100ms": 0,
        **{f"write_{name}": None for name in unused},
        "queue": 8,
    }


def test_slow_i_o_is_counted_by_interval_and_only_where_there_are_bins() -> None:
    bins = [{500: 10}, {500: 20, 11_000_000: 3}, {500: 20, 11_000_000: 4, 101_000_000: 2}]
    totals = [sum(one.values()) for one in bins]
    documents = [
        document(1000 * at, {"write": direction(ios, 4096 * ios, 1000 * at, one)})
        for at, (ios, one) in enumerate(zip(totals, bins, strict=True), 1)
    ]
    differencer = Differencer(8, reads=False, writes=True)
    rows = [differencer.row(FioStatus.of(one)) for one in documents]
    over = [(row["write_over_10ms"], row["write_over_100ms"]) for row in rows if row is not None]
    assert over == [(0, 0), (3, 0), (3, 2)]
    bare = document(1000, {"write": direction(9, 4096 * 9, 1000, {})})
    row = Differencer(8, reads=False, writes=True).row(FioStatus.of(bare))
    assert row is not None
    assert row["write_over_10ms"] is None


def test_jobs_side_by_side_are_added_up_and_what_is_no_number_is_read() -> None:
    both = document(
        1000,
        {"read": direction(10, 40960, 100, {500: 10})},
        {"read": direction(10, 40960, 80, {700: 10}), "write": direction(5, 512, 50, {900: 5})},
    )
    status = FioStatus.of(both)
    assert (status.read.bytes, status.read.ios, status.runtime_ms) == (81920, 20, 100)
    assert status.read.bins == {"500": 10, "700": 10}
    assert status.write.bytes == 512
    text = printed(THREE[0]).replace(b'"usr_cpu": 1.0', b'"usr_cpu": -nan')
    [found] = Splitter().feed(text)
    assert FioStatus.of(found).read.ios == 10


def test_a_direction_that_stands_still_has_zeros_one_out_of_use_nulls_and_none_falls() -> None:
    differencer = Differencer(1, reads=True, writes=False)
    row = differencer.row(FioStatus.of(document(1000, {"read": direction(0, 0, 250, {})})))
    assert row is not None
    assert row["read_bw_mb_s"] == 0
    assert row["read_lat_us"] is None
    assert row["write_bw_mb_s"] is None
    differencer.row(FioStatus.of(THREE[2]))
    with pytest.raises(ToolError, match="went backwards"):
        differencer.row(FioStatus.of(THREE[1] | {"timestamp_ms": 2000}))


def test_percentiles_are_those_of_the_interval_alone() -> None:
    before = {"100": 1000}
    after = {"100": 1000, "5000": 98, "90000": 2}
    assert percentiles(before, after, (0.5, 0.99)) == [5.0, 90.0]
    assert percentiles(after, after, (0.5,)) == [None]
    with pytest.raises(ToolError, match="not counts"):
        coarse_bins({"100": "many"})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("stream", "complaint"),
    [
        (b"\x00\xff" * 600_000, "is not JSON"),
        (b'{"jobs": [\n' * 200, "over 1000 bytes"),
        (b"{]\n}", "not valid JSON"),
        (b"\n}\n", "unbalanced"),
        (printed(THREE[0])[:-20], "in the middle"),
    ],
)
def test_what_is_not_a_stream_is_one_clear_error(stream: bytes, complaint: str) -> None:
    splitter = Splitter(largest_bytes=1000 if b"jobs" in stream[:10] else 1 << 20)
    with pytest.raises(ToolError, match=complaint):  # noqa: PT012 -- either may raise it
        list(splitter.feed(stream))
        splitter.finish()


@given(st.dictionaries(st.integers(0, 10**11).map(str), st.integers(1, 10**9), max_size=60))
def test_coarse_bins_hold_each_latency_where_it_belongs(bins: dict[str, int]) -> None:
    upper_us, ios = coarse_bins(bins)
    assert sum(ios) == sum(bins.values())
    for low_us, high_us, count in zip(upper_us, upper_us[1:], ios[1:], strict=False):
        inside = [c for ns, c in bins.items() if low_us <= max(int(ns), 1) / 1000 < high_us]
        assert count == sum(inside)
        assert high_us / low_us < 1.13
    assert ios[:1] in ([], [0])
    assert ios[-1:] != [0]


@pytest.mark.parametrize("year", [1931, 2311])
def test_a_machine_whose_clock_is_set_to_another_century_is_measured(year: int) -> None:
    begin_ms = (year - 1970) * 365 * 86_400_000
    differencer = Differencer(begin_ms, reads=True, writes=False)
    used = direction(10, 40960, 250, {500: 10})
    differencer.row(FioStatus.of(document(begin_ms, {"read": direction(0, 0, 0, {})})))
    row = differencer.row(FioStatus.of(document(begin_ms + 250, {"read": used})))
    assert row is not None
    assert row["interval_s"] == 0.25
