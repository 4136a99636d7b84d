"""Comparisons of recordings whose difference is known."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from compared import DURATION_S, READ, Array, falling, run, steady
from heatsoak.analysis import analyze
from heatsoak.comparison import Comparison, ComparisonRow, NotAlikeError, compare
from heatsoak.errors import UsageError
from heatsoak.facts.effects import adjusted
from heatsoak.recording import InMemoryRecording
from hypothesis import given
from hypothesis import strategies as st


def row(
    comparison: Comparison, metric: str, group: Any = "big", step: str = "read"
) -> ComparisonRow:
    """The row over all strata."""
    return next(
        each
        for each in comparison.rows
        if (each.metric, each.group, each.step) == (metric, group, step)
    )


def groups(of: Mapping[str, Sequence[Array]], by: str = "heatsink") -> list[InMemoryRecording]:
    """A recording of each of the rates of each group."""
    each = [(group, rates) for group, of_group in of.items() for rates in of_group]
    return [run({by: group}, rates, seed=seed) for seed, (group, rates) in enumerate(each)]


def between(none: Array, big: Array) -> Comparison:
    return compare(groups({"none": [none], "big": [big]}), "heatsink")


def refusal(recordings: Sequence[InMemoryRecording], by: str = "heatsink") -> str:
    """What is said of the one difference for which recordings are not compared."""
    with pytest.raises(NotAlikeError) as error:
        compare(recordings, by)
    (line,) = error.value.differences
    return line


def interval(row: ComparisonRow) -> tuple[float, float]:
    low, high = row.ci95_pct
    assert low is not None
    assert high is not None
    return low, high


def test_a_difference_that_is_there_is_shown_with_its_size() -> None:
    levels = {"none": (1000, 1010, 990), "big": (1100, 1108, 1092)}
    found = compare(groups({name: [*map(steady, of)] for name, of in levels.items()}), "heatsink")
    mean = row(found, "mean_mb_s")
    assert mean.baseline == pytest.approx(1000, rel=0.01)
    assert mean.delta_pct == pytest.approx(10, abs=1)
    assert mean.delta_pct == pytest.approx(100 * (mean.value - mean.baseline) / mean.baseline)  # type: ignore[operator]
    low, high = interval(mean)
    assert 0 < low < 10 < high < 20
    assert (mean.verdict, mean.interval_of, mean.runs) == ("better", "runs", 3)
    assert found.baseline == "none"


def test_one_run_each_gives_the_number_and_calls_nothing_better() -> None:
    found = between(steady(1000), steady(1500))
    mean = row(found, "mean_mb_s")
    assert mean.delta_pct == pytest.approx(50, abs=2)
    assert (mean.ci95_pct, mean.interval_of, mean.p) == ((None, None), None, None)
    assert {each.verdict for each in found.rows} <= {"one run", "no difference shown"}


def test_a_third_group_changes_nothing_of_what_is_said_of_two() -> None:
    levels = {"none": (1000, 1040, 985), "big": (1100, 1150, 1080), "huge": (900, 1900, 1300)}
    recordings = groups({name: [*map(steady, of)] for name, of in levels.items()})
    alone, beside = (
        row(compare(of, "heatsink"), "mean_mb_s") for of in (recordings[:6], recordings)
    )
    assert alone.ci95_pct == beside.ci95_pct
    turned = row(compare(recordings[5::-1], "heatsink"), "mean_mb_s")
    assert turned.ci95_pct == pytest.approx(alone.ci95_pct)


@pytest.mark.parametrize("runs", [1, 2])
def test_a_condition_that_was_tried_on_many_drives_has_an_interval_of_drives(runs: int) -> None:
    own = np.random.default_rng(1).normal(0, 0.03, (2, 8))
    recordings = [
        run({"heatsink": sink}, steady(1000 * gain * np.exp(own[number, drive])),
            seed=100 * number + 10 * drive + repeat,
            drive={"model": "a", "serial": f"{sink}{drive}"})
        for number, (sink, gain) in enumerate([("none", 1.0), ("big", 1.2)])
        for drive in range(8)
        for repeat in range(runs)
    ]  # fmt: skip
    found = compare(recordings, "heatsink")
    mean = row(found, "mean_mb_s")
    assert (mean.runs, mean.interval_of, mean.verdict) == (8 * runs, "drives", "better")
    low, high = interval(mean)
    assert 10 < low < 20 < high < 30
    assert any("different drives" in note for note in found.notes)


@pytest.mark.parametrize(("count", "most"), [(4, 1), pytest.param(20, 3, marks=pytest.mark.long)])
def test_no_difference_is_shown_between_runs_of_the_same(count: int, most: int) -> None:
    shown = 0
    for seed in range(count):
        levels = np.random.default_rng(seed).normal(1000, 10, 6)
        same = {"none": [*map(steady, levels[:3])], "big": [*map(steady, levels[3:])]}
        end = row(compare(groups(same), "heatsink"), "end_mb_s")
        shown += end.verdict not in ("no difference shown", "negligible")
    # one in twenty is what 95 % intervals are expected to show
    assert shown <= most


def test_a_metric_that_is_better_low_is_worse_where_it_is_higher() -> None:
    found = between(falling(60, 0.9), falling(120, 0.5))
    depth = row(found, "depth_pct")
    assert depth.baseline == pytest.approx(10, abs=2)
    assert depth.value == pytest.approx(50, abs=2)
    assert depth.delta == pytest.approx(40, abs=3)
    twice = {"none": [falling(60, 0.9)] * 2, "big": [falling(120, 0.5)] * 2}
    assert row(compare(groups(twice), "heatsink"), "depth_pct").verdict == "worse"
    onset = row(found, "onset_s")
    assert onset.delta_pct == pytest.approx(100, abs=5)
    assert (onset.ci95_pct, onset.verdict) == ((None, None), "one run")


def test_several_runs_are_compared_by_how_they_differ_and_not_by_their_own_noise() -> None:
    levels = {"none": (1000, 1080, 920), "big": (1030, 1110, 950)}
    recordings = groups({group: [*map(steady, each)] for group, each in levels.items()})
    mean = row(compare(recordings, "heatsink"), "mean_mb_s")
    assert (mean.runs, mean.baseline_runs, mean.interval_of) == (3, 3, "runs")
    assert mean.delta_pct == pytest.approx(3, abs=1)
    low, high = interval(mean)
    # 8 % between runs
    assert low < -10
    assert high > 15
    assert mean.verdict == "no difference shown"


def test_runs_that_hardly_differ_show_a_difference_and_give_the_onset_an_interval() -> None:
    onsets = {
        "none": [(50, 0.5), (53, 0.5), (51, 0.51)],
        "big": [(100, 0.8), (104, 0.8), (101, 0.79)],
    }
    recordings = groups({group: [falling(*one) for one in each] for group, each in onsets.items()})
    onset = row(compare(recordings, "heatsink"), "onset_s")
    assert onset.interval_of == "runs"
    assert onset.delta_pct == pytest.approx(98, abs=6)
    assert onset.verdict == "better"
    low, high = interval(onset)
    assert 75 < low < 98 < high < 125


def test_a_group_that_was_run_once_takes_its_spread_from_the_others() -> None:
    levels = (1000, 1050, 950, 1020)
    recordings = groups({"none": [*map(steady, levels)], "big": [steady(1030)]})
    mean = row(compare(recordings, "heatsink"), "mean_mb_s")
    assert (mean.interval_of, mean.runs, mean.baseline_runs) == ("runs", 1, 4)
    assert mean.verdict == "no difference shown"


def test_a_step_that_never_fell_has_no_onset_that_could_be_taken_for_a_number() -> None:
    twice = {"none": [falling(60, 0.5)] * 2, "big": [steady(2000)] * 2}
    found = compare(groups(twice), "heatsink")
    onset = row(found, "onset_s")
    assert onset.value is None
    assert onset.value_at_least == pytest.approx(DURATION_S)
    assert onset.delta_pct is None
    assert onset.verdict == "better"
    depth = row(found, "depth_pct")
    assert depth.value == 0
    assert depth.delta == pytest.approx(-50, abs=2)
    assert depth.verdict == "better"


def test_two_that_never_fell_show_no_difference_and_a_depth_of_0_has_no_percentage() -> None:
    found = between(steady(2000), steady(2000))
    onset, depth = row(found, "onset_s"), row(found, "depth_pct")
    assert (onset.value, onset.baseline, onset.verdict) == (None, None, "no difference shown")
    assert (depth.value, depth.baseline, depth.delta_pct) == (0, 0, None)
    assert depth.verdict == "no difference shown"


def test_one_of_several_that_never_fell_leaves_a_least_value() -> None:
    ones = {"none": [falling(50, 0.5), falling(55, 0.5)], "big": [falling(100, 0.5), steady(2000)]}
    recordings = groups(ones)
    onset = row(compare(recordings, "heatsink"), "onset_s")
    assert onset.value is None
    assert onset.value_at_least == pytest.approx((100 + DURATION_S) / 2, abs=2)
    assert onset.baseline == pytest.approx(52.5, abs=2)


STRATA = {("idle", 1): 1000.0, ("idle", 2): 800.0, ("loaded", 1): 600.0, ("loaded", 2): 400.0}


def matrix(gains: Mapping[str, float], left_out: Sequence[tuple[str, str, int]] = ()) -> list[Any]:
    """Slots under loads and with cards; each slot is faster by its gain wherever it is."""
    return [
        run({"slot": slot, "load": load, "gpus": gpus}, steady(level * gain), seed=10 * i + j)
        for i, (slot, gain) in enumerate(gains.items())
        for j, ((load, gpus), level) in enumerate(STRATA.items())
        if (slot, load, gpus) not in left_out
    ]


def test_equal_other_conditions_are_paired_and_combined() -> None:
    found = compare(matrix({"bottom": 1.0, "top": 1.2}), "slot")
    pooled, *single = [r for r in found.rows if r.metric == "mean_mb_s"]
    assert pooled.pooled
    assert (pooled.pairs, pooled.runs, pooled.interval_of) == (4, 4, "conditions")
    assert pooled.baseline == pytest.approx(700, rel=0.01)
    assert pooled.delta_pct == pytest.approx(20, abs=1)
    assert pooled.verdict == "better"
    assert pooled.pairs_higher == 4
    assert [(r.other_conditions["load"], r.other_conditions["gpus"]) for r in single] == [*STRATA]
    assert all(r.verdict == "one run" and r.pairs == 1 and not r.pooled for r in single)
    assert "load" not in pooled.other_conditions


def test_a_change_that_differs_between_conditions_is_not_shown_as_one() -> None:
    recordings = [
        run({"slot": slot, "gpus": gpus}, steady(level), seed=seed)
        for seed, (slot, gpus, level) in enumerate(
            [("a", 1, 1000), ("b", 1, 1010), ("a", 2, 1000), ("b", 2, 1900), ("a", 3, 1000),
             ("b", 3, 900)]
        )
    ]  # fmt: skip
    pooled, *single = [r for r in compare(recordings, "slot").rows if r.metric == "mean_mb_s"]
    assert pooled.verdict == "no difference shown"
    assert {r.verdict for r in single} == {"one run"}


def test_what_has_no_pair_is_named_and_left_out() -> None:
    recordings = matrix({"bottom": 1.0, "top": 1.2}, left_out=[("bottom", "idle", 2)])
    found = compare(recordings, "slot")
    assert row(found, "mean_mb_s", "top").pairs == 3
    (note,) = [n for n in found.notes if n.startswith("not paired")]
    assert "top-idle-2" in note
    assert "gpus 2" in note


def test_groups_are_ranked_and_those_not_told_apart_share_a_rank() -> None:
    gains = {"bottom": 1.0, "top": 1.005, "upright": 1.5}
    found = compare(matrix(gains), "slot")
    first, second, third = found.ranking
    assert (first.group, first.rank, first.ranks) == ("upright", 1, (1, 1))
    assert first.best_share == pytest.approx(1, abs=0.01)
    assert {second.group, third.group} == {"bottom", "top"}
    assert second.rank == third.rank == 2
    assert second.ranks == (2, 3)
    assert second.not_told_apart_from == [third.group]
    end = row(found, "end_mb_s", "upright")
    assert (end.rank, end.baseline_rank) == (1, 2)


def test_ranks_are_over_conditions_that_all_groups_have() -> None:
    gains = {"bottom": 1.0, "top": 1.2, "underside": 1.4}
    found = compare(
        matrix(gains, left_out=[("underside", "idle", 2), ("underside", "loaded", 2)]), "slot"
    )
    assert {each.pairs for each in found.ranking} == {2}
    assert [each.group for each in found.ranking] == ["underside", "top", "bottom"]
    assert any("2 of 4" in note for note in found.notes)


def test_what_is_ranked_by_can_be_chosen() -> None:
    rates = {"a": [falling(100, 0.7)], "b": [falling(100, 0.5, level=4000.0)]}
    recordings = groups(rates, "slot")
    assert compare(recordings, "slot").ranking[0].group == "b"
    assert compare(recordings, "slot", rank_by="depth_pct").ranking[0].group == "a"
    with pytest.raises(UsageError, match="depth_pct"):
        compare(recordings, "slot", rank_by="depth")


def test_many_groups_are_held_to_more_than_one() -> None:
    found = adjusted([0.04, None, 0.001, 0.02])
    assert found == [0.04, None, pytest.approx(0.003), pytest.approx(0.03)]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_no_p_is_made_smaller_and_their_order_stays(p_values: list[float]) -> None:
    found = [p for p in adjusted(p_values) if p is not None]
    assert all(new >= old for new, old in zip(found, p_values, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert np.all(np.diff(np.array(found)[order]) >= 0)


def two(**second: Any) -> list[InMemoryRecording]:
    """Two recordings that differ in the heatsink, the second also in what is given."""
    rates = second.pop("rates", steady(1000))
    return [
        run({"heatsink": "none"}, steady(1000), seed=1),
        run({"heatsink": "big"}, rates, seed=2, **second),
    ]


def step(**changes: Any) -> list[dict[str, Any]]:
    return [{**READ, **changes}]


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"steps": step(rw="randread")}, "rw is read and randread"),
        ({"steps": step(bs="4k")}, "bs is 128k and 4k"),
        ({"steps": step(iodepth=1)}, "iodepth is 32 and 1"),
        ({"steps": step(numjobs=4)}, "numjobs is 1 and 4"),
        ({"steps": step(span="16GiB")}, "span is 100% of 1 TB and 17.2 GB"),
        ({"steps": step(rw="rw", rwmixread=70)}, "rwmixread is not set and 70"),
        ({"steps": step(rate="100m")}, "rate is not set and 104857600"),
        ({"steps": step(runtime="100s"), "rates": steady(1000)[:1000]}, "it took 300 s and 100 s"),
        ({"rates": steady(1000)[:2000]}, "it took 300 s and 200 s"),
        ({"steps": [{"kind": "purge"}, READ]}, "only the second was purged beforehand"),
        (
            {"steps": [{"kind": "precondition", "name": "fill", "rw": "write"}, READ]},
            "only the second was preconditioned beforehand",
        ),
        ({"drive": {"model": "another"}}, "drive is a drive and another"),
        ({"drive": {"serial": "S2"}}, "drive is a drive and a drive S2"),
        ({"drive": {"simulated": True}}, "drive is a drive and a drive (simulated)"),
        ({"imported": True}, "one was recorded here and one imported"),
        ({"status": "failed", "reason": "it was too hot"}, "failed in 'read': it was too hot"),
        ({"status": "running"}, "'read' was cut short, or is still running"),
    ],
)  # fmt: skip
def test_what_was_not_run_alike_is_refused_and_can_be_compared_anyway(
    second: dict[str, Any], said: str
) -> None:
    recordings = two(**second)
    line = refusal(recordings)
    assert line.startswith("none-1 and big-2: ")
    assert said in line
    found = compare(recordings, "heatsink", anyway=True)
    assert any(said in caveat for caveat in found.caveats)
    assert found.rows
    assert all(any(said in caveat for caveat in each.caveats) for each in found.rows)


def test_a_pause_before_that_differs_is_named() -> None:
    def pauses(length: str) -> list[dict[str, Any]]:
        return [{"kind": "pause", "duration": length}, READ]

    recordings = [
        run({"heatsink": "none"}, steady(1000), steps=pauses("5m")),
        run({"heatsink": "big"}, steady(1000), steps=pauses("30s")),
    ]
    assert "a pause of 5 min and a pause of 30 s" in refusal(recordings)


def test_only_the_steps_that_were_alike_are_compared_and_the_others_named() -> None:
    write = {**READ, "name": "write", "rw": "write"}
    shallow = {**write, "iodepth": 1}
    rates = {"read": steady(1000), "write": steady(500)}
    recordings = [
        run({"heatsink": "none"}, rates, steps=[READ, write], seed=1),
        run({"heatsink": "big"}, rates, steps=[READ, shallow], seed=2),
    ]
    found = compare(recordings, "heatsink")
    assert {each.step for each in found.rows} == {"read"}
    (note,) = [n for n in found.notes if n.startswith("not compared")]
    assert "iodepth is 32 and 1 in 'write'" in note


def test_the_complete_steps_of_an_interrupted_run_are_compared() -> None:
    write = {**READ, "name": "write", "rw": "write"}
    rates = {"read": steady(1000), "write": steady(500)}
    recordings = [
        run({"heatsink": group}, rates, steps=[READ, write], seed=seed, status=status)
        for seed, (group, status) in enumerate([("none", "finished"), ("big", "interrupted")])
    ]
    found = compare(recordings, "heatsink")
    assert {each.step for each in found.rows} == {"read"}
    assert any("interrupted in 'write'" in note for note in found.notes)


def test_a_place_that_is_warm_at_rest_is_no_warm_start_but_one_that_was_cooling_is() -> None:
    steps: list[dict[str, Any]] = [{"kind": "pause", "duration": "5m"}, READ]

    def pair(rest_c: Sequence[float]) -> list[InMemoryRecording]:
        return [
            run({"heatsink": "none"}, steady(1000), steps=steps, temp_c=50, rest_c=rest_c),
            run({"heatsink": "big"}, steady(1000), steps=steps, temp_c=38, rest_c=(38, 38)),
        ]

    assert compare(pair((50, 50, 50)), "heatsink").rows
    assert "still cooling" in refusal(pair((58, 54, 50)))


@pytest.mark.parametrize("by", ["ambient_c", "heatsink", "fan", "chassis", "slot", "place"])
def test_a_warm_start_is_no_difference_where_what_cools_the_drive_is_compared(by: str) -> None:
    recordings = [run({by: c}, steady(1000), temp_c=c + 15.0, seed=c) for c in (20, 35)]
    assert row(compare(recordings, by), "mean_mb_s", 35).baseline_group == 20


@pytest.mark.parametrize("by", ["firmware", "variant", "queue"])
def test_a_warm_start_is_a_difference_where_anything_else_is_compared(by: str) -> None:
    recordings = [run({by: c}, steady(1000), temp_c=c + 15.0, seed=c) for c in (20, 35)]
    assert "it started at 35 C and at 50 C" in refusal(recordings, by)


def test_another_condition_that_always_differs_too_is_refused_but_an_enclosure_goes_along() -> None:
    confounded = [
        run({"heatsink": "none", "ambient_c": 22}, steady(1000), seed=1),
        run({"heatsink": "big", "ambient_c": 30}, steady(1100), seed=2),
    ]
    assert "ambient_c is 22 and 30" in refusal(confounded)
    placed = [
        run({"heatsink": "none", "enclosure": "open-bench"}, steady(1000), seed=1),
        run({"heatsink": "big", "enclosure": "wings-px1"}, steady(1100), seed=2),
    ]
    for by, group in (("heatsink", "big"), ("enclosure", "wings-px1")):
        found = compare(placed, by)
        assert row(found, "mean_mb_s", group).delta_pct == pytest.approx(10, abs=2)
        assert any("differs along with" in note for note in found.notes)


def test_drives_are_compared_by_drive_and_by_model() -> None:
    recordings = [
        run({}, steady(level + repeat), name=f"{model}{repeat}", temp_c=30.0, seed=level + repeat,
            drive={"model": model, "serial": serial})
        for model, serial, level in (("A", "1", 1000), ("B", "2", 1500))
        for repeat in range(2)
    ]  # fmt: skip
    for by, baseline, group in (("model", "A", "B"), ("drive", "A 1", "B 2")):
        mean = row(compare(recordings, by), "mean_mb_s", group)
        assert (mean.baseline_group, mean.interval_of, mean.verdict) == (baseline, "runs", "better")
        assert mean.delta_pct == pytest.approx(50, abs=2)


def test_a_model_of_which_too_few_drives_were_tried_is_not_said_to_have_one_run() -> None:
    recordings = [
        run({}, steady(level), name=serial, seed=level, drive={"model": model, "serial": serial})
        for model, serial, level in (("A", "1", 1000), ("A", "2", 1010), ("B", "3", 1500))
    ]
    found = compare(recordings, "model", "A")
    assert row(found, "mean_mb_s", "B").verdict == "not tested"
    assert found.summary.text.startswith("B rather than A, on too few drives to tell chance: ")


def test_the_same_step_of_two_protocols_is_compared_by_protocol() -> None:
    recordings = [
        run({}, steady(1000), protocol="cold", name="a"),
        run({}, steady(900), protocol="hot", name="b", seed=1, steps=[{"kind": "purge"}, READ]),
    ]
    assert row(
        compare(recordings, "protocol", "cold"), "mean_mb_s", "hot"
    ).delta_pct == pytest.approx(-10, abs=1)


def test_numbers_of_repetitions_are_no_conditions() -> None:
    recordings = [
        run({"heatsink": group, "run": number}, steady(1000), seed=seed)
        for seed, (group, number) in enumerate([("none", 1), ("none", 2), ("big", 3), ("big", 4)])
    ]
    mean = row(compare(recordings, "heatsink"), "mean_mb_s")
    assert (mean.runs, mean.pairs, mean.interval_of) == (2, 1, "runs")


def test_power_latency_and_the_hottest_reading_are_compared_where_they_were_logged() -> None:
    recordings = [
        run({"heatsink": group}, steady(level), seed=seed, temp_c=temp_c,
            more={"power_w": watts, "read_lat_us": 100 * watts, "read_lat_p99_us": 300 * watts})
        for seed, (group, level, watts, temp_c) in enumerate(
            [("none", 1000.0, 5.0, 42.0), ("big", 1000.0, 4.0, 40.0)])
    ]  # fmt: skip
    found = compare(recordings, "heatsink")
    assert row(found, "power_mean_w").delta_pct == pytest.approx(-20)
    assert row(found, "efficiency_mb_per_j").delta_pct == pytest.approx(25, abs=2)
    assert row(found, "efficiency_mb_per_j").better == "higher"
    assert row(found, "latency_mean_us").value == pytest.approx(400)
    assert row(found, "read_latency_p99_us").delta_pct == pytest.approx(-20)
    assert row(found, "temp_start_c").delta == pytest.approx(-2)
    assert row(found, "temp_max_c").value == pytest.approx(60, abs=0.5)


def test_an_hours_steadiness_is_compared_over_its_last_400_s() -> None:
    recordings = [
        run({"heatsink": group}, {"read": np.full(6000, 1000.0)}, seed=seed, sigma=sigma,
            steps=step(runtime="600s"))
        for seed, (group, sigma) in enumerate([("none", 0.1), ("big", 0.01)])
    ]  # fmt: skip
    found = compare(recordings, "heatsink")
    assert row(found, "consistency_ratio").delta_pct == pytest.approx(900, abs=350)
    assert row(found, "consistency_mean_iops").value == pytest.approx(1000 / 0.131072, rel=0.02)


def test_the_same_recordings_give_the_same_numbers() -> None:
    assert compare(two(), "heatsink") == compare(two(), "heatsink")


def test_logs_of_one_load_each_are_compared_whatever_their_files_are_called() -> None:
    recordings = [
        run({"heatsink": "none"}, {"bare": steady(1000)}, seed=1, imported=True),
        run({"heatsink": "big"}, {"cooled": steady(1100)}, seed=2, imported=True),
    ]
    mean = row(compare(recordings, "heatsink"), "mean_mb_s", step="load")
    assert mean.delta_pct == pytest.approx(10, abs=1)


@pytest.mark.parametrize(
    ("count", "by", "baseline", "said"),
    [
        (2, "heatsinks", None, r"did you mean 'heatsink'.*drive, file, heatsink, model"),
        (2, "heatsink", "bare", "there are none, big"),
        (1, "heatsink", None, "all recordings have heatsink 'none'"),
    ],
)
def test_what_cannot_be_compared_names_what_there_is(
    count: int, by: str, baseline: str | None, said: str
) -> None:
    with pytest.raises(UsageError, match=said) as error:
        compare(two()[:count], by, baseline)
    assert "\n" not in str(error.value)


def test_a_step_that_began_after_the_recordings_were_judged_is_left_out() -> None:
    steps = (READ, {**READ, "name": "later"})
    rates = {"read": steady(1000), "later": steady(1000)}
    recordings = [run({"heatsink": group}, rates, steps=steps) for group in ("none", "big")]
    judged = analyze(recordings)
    judged.recordings[1].steps.pop()
    found = compare(recordings, "heatsink", findings=judged)
    assert {each.step for each in found.rows} == {"read"}


def test_a_recording_without_the_condition_is_left_out_and_named() -> None:
    found = compare([*two(), run({}, steady(1000), name="plain")], "heatsink")
    assert any("plain" in note for note in found.notes)


def test_the_baseline_is_none_or_the_first_and_the_choice_is_stated() -> None:
    assert compare(two()[::-1], "heatsink").baseline == "none"
    slots = [run({"slot": s}, steady(1000), seed=i) for i, s in enumerate(("top", "bottom"))]
    found = compare(slots, "slot")
    assert found.baseline == "top"
    assert any("the first one given" in note for note in found.notes)
    assert compare(slots, "slot", "BOTTOM").baseline == "bottom"


@pytest.mark.parametrize(
    "values",
    [np.zeros(3000), np.array([1000.0]), np.full(20, 1000.0)],
    ids=["idle", "one", "short"],
)
def test_a_step_that_did_nothing_or_has_hardly_a_sample_is_compared_as_far_as_it_goes(
    values: Array,
) -> None:
    recordings = [
        run({"heatsink": group}, values, seed=seed, imported=True)
        for seed, group in enumerate(("none", "big"))
    ]
    mean = row(compare(recordings, "heatsink"), "mean_mb_s")
    assert mean.value == pytest.approx(float(values.mean()), rel=0.05)
    assert mean.verdict in ("no difference shown", "one run")


def test_a_fall_to_nothing_is_compared() -> None:
    stopped = steady(1000) * (np.arange(len(steady(1000))) < 600)
    recordings = [run({"sink": "none"}, stopped), run({"sink": "big"}, steady(1000), seed=2)]
    depth = row(compare(recordings, "sink", "big"), "depth_pct", group="none")
    assert depth.value == pytest.approx(100)


def test_a_temperature_that_the_judge_does_not_trust_is_not_compared() -> None:
    stuck = {"temp_c.composite": 40.0}
    recordings = [
        run({"heatsink": sink}, steady(1000), name=sink, temp_c=None, more=stuck)
        for sink in ("none", "big")
    ]
    metrics = {row.metric for row in compare(recordings, "heatsink").rows}
    assert "mean_mb_s" in metrics
    assert not metrics & {"temp_start_c", "temp_max_c"}
