"""A comparison's headline is about the difference, and a faster drive is not worse for it."""

from typing import Any

import numpy as np
import pytest
from compared import READ, Array, falling, noise, run, steady
from heatsoak.analysis import analyze
from heatsoak.comparison import Comparison, ComparisonRow, compare
from heatsoak.protocol import Label
from heatsoak.recording import InMemoryRecording, Recording

WRITE = {**READ, "name": "write", "rw": "randwrite", "bs": "4k"}


def writes(sink: str, rates: Array, seed: int = 0, **drive: str) -> InMemoryRecording:
    """Random writes at these MB/s."""
    how: dict[str, Any] = {"steps": [WRITE], "way": "write", "sigma": 0.004}
    return run({"heatsink": sink}, {"write": rates}, seed=seed, drive=drive, **how)


def filled(level: float, capacity_mb: float = 24_000) -> Array:
    """The rates of a drive that is fast until it has taken this much."""
    return falling(capacity_mb / level, 30.0 / level, level)


def found(*recordings: Recording, by: str = "heatsink", pool: bool = False) -> Comparison:
    return compare(recordings, by, pool_models=pool, findings=analyze(recordings))


def row(comparison: Comparison, metric: str, group: Label = "fins") -> ComparisonRow:
    (one,) = [r for r in comparison.rows if r.metric == metric and r.group == group]
    return one


@pytest.mark.parametrize("runs", [1, 3])
def test_who_fills_the_spare_area_sooner_because_it_is_faster_is_not_worse(runs: int) -> None:
    bare = [writes("none", filled(200), seed) for seed in range(runs)]
    cooled = [writes("fins", filled(400), 10 + seed) for seed in range(runs)]
    comparison = found(*bare, *cooled)
    onset, depth = row(comparison, "onset_s"), row(comparison, "depth_pct")
    assert onset.baseline == pytest.approx(120, abs=2)
    assert onset.value == pytest.approx(60, abs=2)
    assert row(comparison, "onset_gb").value == pytest.approx(24, rel=0.02)
    for each in (onset, depth):
        assert each.better is None
        assert each.better_by_pct is None
        assert each.verdict not in ("better", "worse")
    assert onset.why_neither is not None
    assert "only because it is faster" in onset.why_neither
    (headline,) = comparison.headlines
    assert headline.tone == "better"
    assert headline.text.endswith("; it falls sooner, but only because it is faster.")
    assert headline.details[0] == "It falls after 60 s, not 2 min; both times after 24 GB."


def test_who_can_take_less_until_it_falls_is_worse() -> None:
    recordings = [
        writes(sink, filled(300, size_mb), 10 * number + seed)
        for number, (sink, size_mb) in enumerate([("none", 48_000), ("fins", 24_000)])
        for seed in range(3)
    ]
    comparison = found(*recordings)
    onset = row(comparison, "onset_s")
    assert (onset.verdict, onset.better, onset.why_neither) == ("worse", "higher", None)
    (headline,) = comparison.headlines
    assert headline.tone in ("worse", "mixed")
    assert "only because" not in headline.text


def test_the_headline_says_how_much_faster_and_that_nothing_throttles() -> None:
    hot = run({"heatsink": "none"}, falling(60, 0.5), seed=1, temp_c=60.0)
    cool = run({"heatsink": "fins"}, steady(2000), seed=2, temp_c=57.0)
    (headline,) = found(hot, cool).headlines
    assert headline.text.startswith("With heatsink fins, one run each: sequential reads 6")
    assert " % faster" in headline.text
    assert "no throttling" in headline.text
    assert headline.tone == "better"
    (back,) = compare([hot, cool], "heatsink", "fins", findings=analyze([hot, cool])).headlines
    assert "sequential reads 40 % slower" in back.text
    assert "it throttled" in back.text
    assert back.tone == "worse"


def test_a_step_that_held_no_speed_is_not_said_never_to_fall() -> None:
    wandering = 2000 * (1 + noise(3000, 7, correlation=0.998, sigma=0.12))
    hot, open_ = (
        run({"heatsink": sink}, rates, seed=7, temp_c=60)
        for sink, rates in (("none", falling(60, 0.5)), ("fins", wandering))
    )
    judged = analyze([hot, open_])
    assert [one.answer.throttles for one in judged.recordings] == ["yes", "cannot-tell"]
    for baseline, said in (
        ("none", "it may have throttled (without heatsink it throttled)."),
        ("fins", "it throttled (with heatsink fins it may have throttled)."),
    ):
        comparison = compare([hot, open_], "heatsink", baseline, findings=judged)
        assert not {"onset_s", "onset_gb", "depth_pct"} & {one.metric for one in comparison.rows}
        (headline,) = comparison.headlines
        assert headline.text.endswith(said)
        assert "falls" not in " ".join(headline.details)


def test_names_of_files_keep_their_case_and_one_run_each_is_said() -> None:
    logs = [
        run({}, steady(rate), seed=seed, name=name)
        for seed, (name, rate) in enumerate([("bare", 2000), ("finned", 2100)])
    ]
    (headline,) = found(*logs, by="file").headlines
    assert headline.text.startswith("finned rather than bare, one run each: sequential reads ")


def test_what_was_not_run_alike_is_said_first() -> None:
    recordings = [
        run({"heatsink": sink}, steady(2000)[:count], seed=seed)
        for seed, (sink, count) in enumerate([("none", 3000), ("fins", 1500), ("tower", 3000)])
    ]
    comparison = compare(recordings, "heatsink", anyway=True, findings=analyze(recordings))
    texts = [comparison.summary.text, *(one.text for one in comparison.headlines)]
    assert all(text.startswith("Not run alike. ") for text in texts), texts


def test_a_group_with_a_step_that_was_not_judged_is_not_said_not_to_throttle() -> None:
    steps = [READ, {**READ, "name": "short"}]
    recordings = [
        run(
            {"heatsink": sink},
            {"read": steady(2000), "short": steady(2000)[:20]},
            steps=steps,
            seed=seed,
            temp_c=None,
        )
        for seed, sink in enumerate(("none", "fins"))
    ]
    assert [one.answer.throttles for one in analyze(recordings).recordings] == ["no", "no"]
    (headline,) = found(*recordings).headlines
    assert "both may have throttled" in headline.text


def test_what_does_not_differ_is_said_too() -> None:
    recordings = [run({"heatsink": sink}, steady(2000), seed=2) for sink in ("none", "fins")]
    (headline,) = found(*recordings).headlines
    assert headline.tone == "alike"
    assert "no faster or slower" in headline.text


def heatsinks(changes: dict[str, float], runs: int = 3, by: str = "heatsink") -> Comparison:
    """Reads with each heatsink, faster or slower by so many percent."""
    return found(
        *(
            run({by: name}, steady(1000 + 10 * pct), seed=20 * number + seed)
            for number, (name, pct) in enumerate(changes.items())
            for seed in range(runs)
        ),
        by=by,
    )


@pytest.mark.parametrize(
    ("changes", "said", "tone"),
    [
        (
            {"none": 0, "A": 38, "B": 20, "C": 25},
            "Of 4 heatsinks, A is fastest, 38 % above no heatsink; B and C lie between.",
            "better",
        ),
        (
            {"none": 0, "A": 38, "B": 36, "C": -25, "D": 0},
            "Of 5 heatsinks, A and B are fastest, 36 to 38 % above no heatsink; C is slowest, 25 % "
            "below no heatsink; no difference is shown for D.",
            "mixed",
        ),
        (
            {"none": 0, "A": 0, "B": -20},
            "Of 3 heatsinks, no heatsink and A are fastest; B is slowest, 20 % below no heatsink.",
            "worse",
        ),
        ({"none": 0, "A": 0, "B": 0}, "Between 3 heatsinks no difference is shown.", "alike"),
    ],
)
def test_of_three_groups_and_more_the_range_is_said(
    changes: dict[str, float], said: str, tone: str
) -> None:
    comparison = heatsinks(changes)
    assert (comparison.summary.text, comparison.summary.tone) == (said, tone)
    assert {each.summary for each in comparison.rows} == {said}


def test_of_three_groups_the_one_that_heat_slows_is_named() -> None:
    hot = run({"heatsink": "none"}, falling(60, 0.5), seed=1)
    cool = [
        run({"heatsink": sink}, steady(2000), seed=seed, temp_c=20.0)
        for seed, sink in enumerate(("fins", "tower"), 2)
    ]
    summary = found(hot, *cool).summary
    assert summary.text.endswith("; heat slows the drive without heatsink.")
    assert summary.tone == "mixed"


def test_of_two_groups_the_headline_is_the_summary() -> None:
    comparison = heatsinks({"none": 0, "A": 38})
    assert comparison.summary.text == comparison.headlines[0].text


def test_of_many_groups_some_are_counted() -> None:
    many = {"none": 0.0} | {f"sink-{number}": 10.0 * number for number in range(1, 10)}
    assert heatsinks(many, 1).summary.text.endswith(
        "; sink-1, sink-2, sink-3 and 5 more lie between."
    )


def test_many_steps_are_counted() -> None:
    steps = [{**READ, "name": f"step-{number}"} for number in range(12)]
    recordings = [
        run(
            {"heatsink": sink},
            {str(step["name"]): steady(1000 * share) for step in steps},
            steps=steps,
            seed=seed,
        )
        for seed, (sink, share) in enumerate([("none", 1.0), ("fins", 1.2)])
    ]
    (headline,) = found(*recordings).headlines
    assert "faster in 12 of 12 steps, by" in headline.text
    assert len(headline.text) < 300


def test_drive_models_are_compared_by_themselves_unless_asked() -> None:
    recordings = [
        writes(sink, np.asarray(steady(level * share)), seed, model=model)
        for seed, (model, level, sink, share) in enumerate(
            [
                ("A", 100, "none", 1.0),
                ("A", 100, "fins", 1.0),
                ("B", 900, "none", 1.0),
                ("B", 900, "fins", 2.0),
            ]
        )
    ]
    apart = found(*recordings)
    means = [r for r in apart.rows if r.metric == "mean_mb_s"]
    assert [(r.model, r.pooled) for r in means] == [("A", False), ("B", False)]
    assert [n for n in apart.notes if "2 drive models are compared separately" in n]
    together = found(*recordings, pool=True)
    pooled = [r for r in together.rows if r.metric == "mean_mb_s" and r.pooled]
    assert [r.pairs for r in pooled] == [2]
    assert not [n for n in together.notes if "drive models" in n]
