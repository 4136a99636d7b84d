"""Scores and replays of groups against each other, and the tables that reviews print."""

from collections.abc import Sequence
from io import StringIO
from typing import Any

import numpy as np
import pytest
from heatsoak.comparison import Comparison, ComparisonRow, NotAlikeError, compare
from heatsoak.output import Console
from heatsoak.protocol import Protocol, load, scaled
from heatsoak.recording import InMemoryRecording
from heatsoak.report.comparison import print_comparison
from scored import recording_of

REPLAY = {"kind": "replay", "name": "full", "trace": "light"}
SCORES = [
    {"name": name, "metric": metric, "steps": ["full"], "definition": definition, **more}
    for name, metric, definition, more in [
        ("Data rate", "mb_s", "While busy.", {"while_busy": True}),
        ("Service time", "service_us", "From issue to completion.", {}),
        ("Over 10 ms", "over_10ms_pct", "Share of I/Os.", {}),
    ]
]


def held(
    protocol: Protocol, heatsink: str, by_step: dict[str, dict[str, Any]], name: str
) -> InMemoryRecording:
    return recording_of(protocol, by_step, conditions={"heatsink": heatsink}, name=name)


def trace(
    heatsink: str, mb_s: float, us: float, name: str = "traces", **changes: Any
) -> InMemoryRecording:
    steps = [{**REPLAY, **changes}]
    protocol = Protocol.model_validate({"name": name, "steps": steps, "scores": SCORES})
    # a slower drive takes longer for the same bytes
    columns = {
        "read_bw_mb_s": np.full(round(60_000 / mb_s), mb_s / 2),
        "read_iops": 1000.0,
        "read_lat_us": us,
        "busy_pct": 50.0,
        "read_over_10ms": us / 1000,
        "write_over_10ms": 0.0,
        "power_w": 2.0,
    }
    return held(protocol, heatsink, {"full": columns}, f"{name}-{heatsink}")


def rows_of(found: Comparison, step: str) -> dict[str, ComparisonRow]:
    return {row.metric: row for row in found.rows if row.step == step}


def shown(found: Comparison, width: int = 130) -> str:
    screen = StringIO()
    print_comparison(found, Console(file=screen, width=width))
    return screen.getvalue()


def test_worse_is_negative_for_rates_and_for_times_as_the_articles_print_it() -> None:
    found = compare(
        [trace("plextor", 471.53, 1323.6), trace("bare", 455.65, 1388.4)], "heatsink", "plextor"
    )
    rate = rows_of(found, "Data rate")["score_mb_s"]
    time = rows_of(found, "Service time")["score_service_us"]
    assert rate.baseline == pytest.approx(471.53)
    assert rate.value == pytest.approx(455.65)
    assert rate.better_by_pct == rate.delta_pct == pytest.approx(-3.4, abs=0.05)
    assert time.delta_pct == pytest.approx(4.9, abs=0.05)
    assert time.better_by_pct == pytest.approx(-4.9, abs=0.05)
    assert (rate.definition, rate.steps) == ("While busy.", ["full"])


def test_a_replay_is_measured_by_what_traces_are_measured_by() -> None:
    found = compare([trace("none", 400, 200), trace("fins", 500, 100)], "heatsink")
    rows = rows_of(found, "full")
    assert (rows["busy_mb_s"].baseline, rows["busy_mb_s"].value) == pytest.approx((400, 500))
    assert (rows["service_us"].baseline, rows["service_us"].value) == pytest.approx((200, 100))
    assert rows["over_10ms_pct"].value == pytest.approx(100 * 0.1 / 100)
    assert (rows["energy_j"].baseline, rows["energy_j"].value) == pytest.approx((30, 24))
    assert rows["duration_s"].value == pytest.approx(12)
    assert "latency_mean_us" not in rows


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"trace": "heavy"}, "trace is light and heavy"),
        ({"scale": 0.5}, "scale is 1.0 and 0.5"),
        ({"idle_limit": 0.5}, "idle_limit_s is 0.025 and 0.5"),
        ({"iodepth": 8}, "iodepth is 32 and 8"),
        ({"seed": 3}, "seed is 0 and 3"),
    ],
)
def test_replays_of_another_trace_are_not_alike(change: dict[str, Any], said: str) -> None:
    with pytest.raises(NotAlikeError, match=said):
        compare([trace("none", 400, 200), trace("fins", 400, 200, **change)], "heatsink")


def test_a_run_made_smaller_is_not_compared_with_a_whole_one() -> None:
    whole, small = trace("none", 400, 200), trace("fins", 400, 200)
    protocol = whole.meta.protocol
    assert isinstance(protocol, Protocol)
    smaller = protocol.model_copy(update={"scale": 0.5})
    made = InMemoryRecording(
        small.path,
        small.meta.model_copy(update={"protocol": smaller}),
        small.samples(),
        small.events,
    )
    with pytest.raises(
        NotAlikeError, match=r"one is at 100 % and one at 50 % of the protocol's sizes"
    ):
        compare([whole, made], "heatsink")


def test_three_traces_come_in_one_table_with_both_values_and_the_convention() -> None:
    runs = [
        trace(heatsink, rate * share, us / share, name=f"storage-bench-{name}")
        for name, rate, us in (("destroyer", 470, 1320), ("heavy", 800, 180), ("light", 1250, 69))
        for heatsink, share in (("fins", 1.0), ("none", 0.95))
    ]
    text = shown(compare(runs, "heatsink", "fins"))
    table = text[: text.index("full  replay of light")]
    assert "more MB/s, or fewer us" in table
    for name in ("destroyer", "heavy", "light"):
        assert table.count(f"storage-bench-{name}\n") + table.count(f"storage-bench-{name} ") >= 1
    (line,) = [x for x in table.splitlines() if x.startswith("Service time, us") and "1,320" in x]
    assert "1,389" in line
    assert "+5.3 %" in line
    assert "-5.3 %" in line
    assert "Service time: From issue to completion." in table


def mixed(heatsink: str, last: float, seed: int) -> InMemoryRecording:
    protocol = load("anandtech-mixed-random")
    rng = np.random.default_rng(seed)
    by_step = {}
    for name, level in zip((100, 80, 60, 40, 20, 0), (140, 155, 170, 200, 260, last), strict=True):
        both = level * rng.normal(1, 0.01, 1800)
        by_step[f"reads-{name}"] = {
            "read_bw_mb_s": both * name / 100,
            "write_bw_mb_s": both * (1 - name / 100),
            "read_iops": both * name / 0.4096,
            "write_iops": both * (100 - name) / 0.4096,
        }
    return held(protocol, heatsink, by_step, f"mixed-{heatsink}")


def test_a_mix_comes_step_by_step_with_its_score_below() -> None:
    found = compare([mixed("none", 320, 1), mixed("fins", 450, 2)], "heatsink")
    row = rows_of(found, "Mixed random I/O")["score_mb_s"]
    assert row.baseline == pytest.approx((140 + 155 + 170 + 200 + 260 + 320) / 6, rel=0.01)
    assert row.verdict == "one run"
    text = shown(found)
    table = text[text.index("step by step") :]
    lines = [line for line in table.splitlines() if line.startswith(("reads-", "mean (the score)"))]
    assert [line.split()[0] for line in lines[:7]] == [
        *(f"reads-{share}" for share in (100, 80, 60, 40, 20, 0)),
        "mean",
    ]
    assert "+40." in lines[5]


def hour(heatsink: str, level: float, scatter: float, seed: int) -> InMemoryRecording:
    protocol = load("anandtech-consistency")
    seconds = np.random.default_rng(seed).normal(level, scatter, 600)
    columns = {"write_iops": np.repeat(seconds, 10), "write_bw_mb_s": np.repeat(seconds, 10) / 244}
    return held(protocol, heatsink, {"random-write": columns}, f"hour-{heatsink}")


def test_consistency_is_compared_by_mean_deviation_and_ratio() -> None:
    found = compare([hour("none", 7878, 800, 1), hour("fins", 10873, 400, 2)], "heatsink")
    mean = rows_of(found, "Steady mean")["score_iops"]
    stdev = rows_of(found, "Steady deviation")["score_stdev_iops"]
    ratio = rows_of(found, "Consistency")["score_consistency"]
    assert (mean.baseline, mean.value) == pytest.approx((7878, 10873), rel=0.02)
    assert (stdev.baseline, stdev.value) == pytest.approx((800, 400), rel=0.1)
    assert ratio.value == pytest.approx((mean.value or 0) / (stdev.value or 1))
    assert (stdev.better, ratio.better) == ("lower", "higher")
    assert (stdev.better_by_pct or 0) > 0
    table = shown(found)
    assert all(f"{name}, " in table for name in ("Steady mean", "Steady deviation", "Consistency"))


def test_what_has_no_score_is_named_with_the_reason() -> None:
    runs: Sequence[InMemoryRecording] = [
        held(
            load("anandtech-consistency"),
            heatsink,
            {"random-write": {"write_iops": np.full(1000, 5e4)}},
            heatsink,
        )
        for heatsink in ("none", "fins")
    ]
    found = compare(runs, "heatsink")
    assert not any(row.definition for row in found.rows)
    assert any(
        "fins has no score 'Steady mean': 'random-write' took 100 s, but its last 400 s" in note
        for note in found.notes
    )


#: SNIA's rounds, of four loads instead of 49.
ROUNDS = Protocol.model_validate(
    {
        "name": "rounds",
        "scores": [
            {
                "name": "Random writes, 4 KiB",
                "metric": "iops",
                "steps": ["reads-0-4k"],
                "definition": "Mean of the IOPS over the five steady rounds.",
            }
        ],
        "steps": [
            {
                "kind": "rounds",
                "at_most": 25,
                "until": "steady",
                "tracks": "reads-0-4k",
                "steps": [
                    {
                        "name": "reads-{rwmixread}-{bs}",
                        "vary": {"rwmixread": [100, 0], "bs": ["128k", "4k"]},
                        "rw": "randrw",
                        "iodepth": 32,
                        "runtime": "1m",
                    }
                ],
            }
        ],
    }
)


def rounds(heatsink: str, level: float, protocol: Protocol, taken: int) -> InMemoryRecording:
    by_step = {
        f"reads-{share}-{size}/{number}": {
            "read_iops": np.full(10, level * share / 100),
            "write_iops": np.full(10, level * (1 - share / 100)),
            "read_bw_mb_s": np.full(10, level * share / 1e4),
            "write_bw_mb_s": np.full(10, level * (1 - share / 100) / 1e2),
        }
        for number in range(1, taken + 1)
        for share in (100, 0)
        for size in ("128k", "4k")
    }
    return held(protocol, heatsink, by_step, f"rounds-{heatsink}")


def test_rounds_are_compared_by_their_scores_however_many_it_took() -> None:
    protocol = scaled(ROUNDS, 0.5)
    found = compare(
        [rounds("none", 1000, protocol, 5), rounds("fins", 1500, protocol, 7)], "heatsink"
    )
    row = rows_of(found, "Random writes, 4 KiB")["score_iops"]
    assert (row.baseline, row.value) == pytest.approx((1000, 1500))
    assert all(row.definition is not None for row in found.rows)
    assert found.notes == []
    assert "Random writes, 4 KiB" in shown(found)


def test_rounds_of_other_steps_are_not_compared() -> None:
    other = scaled(ROUNDS, 0.4)
    with pytest.raises(NotAlikeError, match="their rounds have different steps"):
        compare([rounds("none", 1000, ROUNDS, 5), rounds("fins", 1500, other, 5)], "heatsink")
