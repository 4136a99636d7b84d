"""Labelled recordings: the same each time, like any other, and labelled by what truly happened."""

import importlib.util
import json
import pickle
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from command import complaint, heatsoak, heatsoak_here
from heatsoak.analysis import Episode, Findings, RecordingFindings, StepFindings, analyze
from heatsoak.analysis.series import Array
from heatsoak.protocol import WorkloadStep
from heatsoak.recording import Recording, find_recordings
from heatsoak.recording.columns import dtype_of
from heatsoak_dev.corpus import (
    DEVELOPMENT,
    HELD_OUT,
    LabelledCase,
    TrueEpisode,
    loads,
    make,
    recordings,
)
from heatsoak_dev.corpus.loads import Like
from heatsoak_dev.corpus.machine import NoiselessStep
from heatsoak_dev.corpus.scenario import Frame, Scenario, load, noiseless_step_of
from heatsoak_dev.corpus.truth import episodes, gates_of, is_at
from hypothesis import given
from hypothesis import strategies as st
from made_once import made_once

#: The simulated time is short, so that a drive of a few GB is enough.
FRAME = Frame(duration_s=150.0, sampling_s=0.1, scale=5.0, grid_s=0.1)
VERDICTS = {
    "steady",
    "thermal",
    "spare-area",
    "write-cache",
    "limited-by-host",
    "interference",
    "sliding",
}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[LabelledCase]:
    """Some cases, which one process of the run makes for all."""

    def make_all(directory: Path) -> None:
        made = [make(DEVELOPMENT[number]) for number in (0, 3, 5, 8, 9)]
        (directory / "cases").write_bytes(pickle.dumps(made))

    place = made_once(tmp_path_factory, "labelled-cases", make_all)
    found: list[LabelledCase] = pickle.loads((place / "cases").read_bytes())
    return found


@pytest.fixture(scope="module")
def labelled(cases: list[LabelledCase]) -> LabelledCase:
    return cases[0]


@pytest.mark.long
@pytest.mark.slow
def test_a_seed_gives_the_same_case_each_time(cases: list[LabelledCase]) -> None:
    again = make(3)
    first = cases[1]
    assert (again.truth, again.grey, again.verdicts) == (first.truth, first.grey, first.verdicts)
    assert again.choices == first.choices
    for one, other in zip(first.recordings, again.recordings, strict=True):
        assert one.samples().equals(other.samples())
        assert one.meta == other.meta
        assert one.events == other.events


def test_no_seed_is_both_for_development_and_held_out() -> None:
    assert not set(DEVELOPMENT) & set(HELD_OUT)
    # nor is one half of a pair
    assert all(len(seeds) % 2 == 0 and seeds[0] % 2 == 0 for seeds in (DEVELOPMENT, HELD_OUT))


@pytest.mark.slow
def test_a_recording_looks_like_any_other_and_nothing_reveals_its_label(
    cases: list[LabelledCase],
) -> None:
    for recording in (recording for case in cases for recording in case.recordings):
        assert not [name for name in recording.meta.columns if name.startswith("sim.")]
        # what its drive was made to show is not in its words either
        words = recording.meta.model_dump_json()
        assert not [name for name in VERDICTS - {"steady"} if name in words]
        samples = recording.samples()
        assert samples["t_s"].is_sorted()
        for name, dtype in samples.schema.items():
            assert dtype == dtype_of(name)
        steps = {step.name for step in recording.meta.protocol.workload_steps}
        assert set(samples["step"].drop_nulls().unique()) == steps
        begins = [event.t_s for event in recording.events if event.kind == "step-begin"]
        ends = [event.t_s for event in recording.events if event.kind == "step-end"]
        assert begins[1:] == pytest.approx(ends[:-1])


@pytest.mark.slow
def test_every_judged_step_has_a_verdict_and_its_rate_before_noise(
    cases: list[LabelledCase],
) -> None:
    for case in cases:
        judged = {
            (number, step.step)
            for number, recording in enumerate(analyze(case.recordings).recordings)
            for step in recording.steps
        }
        assert set(case.verdicts) == set(case.noise_free) == judged
        for (number, step), verdict in case.verdicts.items():
            here = [one for one in case.truth if (one.recording, one.step) == (number, step)]
            lost = {one.cause: one.depth_pct * (one.end_s - one.onset_s) for one in here}
            worst = [max(lost, key=lambda cause: lost[cause])] if here else []
            assert verdict in (worst or ("steady", "limited-by-host"))
            free = case.noise_free[number, step]
            for one in here:
                onset = round(one.onset_s / free.grid_s)
                before = free.mb_s[max(0, onset - round(1 / free.grid_s)) : onset].mean()
                assert free.mb_s[onset] < before


@pytest.mark.slow
def test_a_pair_matches_in_all_but_its_cause(cases: list[LabelledCase]) -> None:
    one, other = cases[3:]
    assert (one.choices.pair, other.choices.pair) == (9, 8)
    (hot,), (full,) = one.truth, other.truth
    assert hot.cause == "thermal"
    assert full.cause in ("spare-area", "write-cache")
    assert full.onset_s == pytest.approx(hot.onset_s, abs=max(2.0, 0.05 * hot.onset_s))
    assert full.depth_pct == pytest.approx(hot.depth_pct, abs=5)
    assert one.choices.sampling_s == other.choices.sampling_s
    assert one.choices.duration_s == other.choices.duration_s


def course_and_truth(scenario: Scenario) -> tuple[NoiselessStep, list[TrueEpisode]]:
    (take,) = scenario.takes
    (step,) = take.steps
    assert isinstance(step, WorkloadStep)
    course = noiseless_step_of(take, FRAME, step)
    gates = gates_of(course, take.setup.cache_gb)
    return course, episodes(course.rate_mb_s, course, gates, 0, FRAME.sampling_s)


def around(course: NoiselessStep, onset_s: float) -> tuple[slice, slice]:
    """The ten seconds before an onset, and the five after it."""
    onset = round(onset_s / course.grid_s)
    return slice(onset - 100, onset - 10), slice(onset + 10, onset + 60)


@pytest.mark.slow
def test_a_full_cache_is_where_the_write_cache_episode_starts() -> None:
    wanted = Like(onset_s=60.0, depth=0.5)
    scenario = loads.write_cache(np.random.default_rng(1), FRAME, wanted)
    course, (episode,) = course_and_truth(scenario)
    assert episode.cause == "write-cache"
    assert episode.onset_s == pytest.approx(60, abs=2)
    assert episode.depth_pct == pytest.approx(50, abs=3)
    before, after = around(course, episode.onset_s)
    cache_gb = scenario.takes[0].setup.cache_gb
    assert cache_gb is not None
    assert course.cached_gb[before].max() < cache_gb
    assert course.cached_gb[after].min() >= 0.99 * cache_gb
    assert course.permitted.min() > 0.999


def test_pages_are_moved_from_where_the_spare_area_episode_starts() -> None:
    wanted = Like(onset_s=70.0, depth=0.6)
    scenario = loads.spare_area(np.random.default_rng(2), FRAME, wanted)
    course, (episode,) = course_and_truth(scenario)
    assert episode.cause == "spare-area"
    assert episode.onset_s == pytest.approx(70, abs=4)
    before, after = around(course, episode.onset_s)
    assert course.moved[before].max() == 0
    assert course.moved[after].mean() > 0.1
    assert course.spare_gb[after].max() < course.spare_gb[before].min()
    assert course.permitted.min() > 0.999


def test_the_governor_acts_from_where_the_thermal_episode_starts() -> None:
    course, found = course_and_truth(loads.thermal(np.random.default_rng(1), FRAME))
    assert {episode.cause for episode in found} == {"thermal"}
    before, after = around(course, found[0].onset_s)
    assert course.permitted[before].min() > 0.999
    assert course.permitted[after].mean() < 0.99
    assert course.moved.max() == 0


@pytest.mark.slow
def test_what_the_host_holds_back_lets_the_drive_cool() -> None:
    scenario = loads.limited_by_host(np.random.default_rng(4), FRAME)
    (take,) = scenario.takes
    (step,) = take.steps
    assert isinstance(step, WorkloadStep)
    held = noiseless_step_of(take, FRAME, step)
    free = noiseless_step_of(replace(take, paces={}), FRAME, step)
    end = round(take.held[0].end_s / FRAME.grid_s) - 1
    assert held.rate_mb_s[end] < 0.9 * free.rate_mb_s[end]
    assert held.controller_c[end] < free.controller_c[end]


def test_a_narrow_link_is_told_from_a_slow_drive() -> None:
    scenario = loads.narrow_link(np.random.default_rng(5), FRAME)
    course, found = course_and_truth(scenario)
    stated = scenario.takes[0].link_mb_s
    assert stated is not None
    assert found == []
    assert is_at(course, stated)
    assert not is_at(course, 2 * stated)


def level_course(rate: Array, **state: Array) -> NoiselessStep:
    """A course of a write whose state is that of an idle drive, unless it is given."""
    zero, one = np.zeros(len(rate)), np.ones(len(rate))
    names = ["read_mb_s", "read_lat_us", "write_lat_us", "read_lat_p99_us", "write_lat_p99_us"]
    names += ["spare_gb", "cached_gb", "moved", "controller_c", "nand_c", "board_c", "power_w"]
    arrays = {**dict.fromkeys(names, zero), "permitted": one, "write_mb_s": rate, **state}
    return NoiselessStep(load("write", "write", 4096, 0.1 * len(rate)), 0.0, 0.1, **arrays)


def levels(*pairs: tuple[float, float]) -> Array:
    """Levels at 10 Hz: how long, and how high."""
    return np.concatenate([np.full(round(10 * length_s), value) for length_s, value in pairs])


def truth_of(
    rate: Array, gates: Mapping[str, Sequence[tuple[float, float]]], **state: Array
) -> list[TrueEpisode]:
    """The episodes of a rate at 10 Hz, of causes that act in stretches of it."""
    t_s = np.arange(len(rate)) / 10
    opened = {
        cause: np.any([(start_s <= t_s) & (t_s < end_s) for start_s, end_s in each], axis=0)
        for cause, each in gates.items()
    }
    return episodes(rate, level_course(rate, **state), opened, 0, 0.1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pairs", "gates", "expected"),
    [
        # depth is that of the last minute against what was before
        (
            [(60, 100), (100, 20), (60, 60)],
            {"spare-area": [(60, 220)]},
            [("spare-area", 60, 220, 40, False)],
        ),
        # a cause on top of another ends it, and falls from the level that it left
        (
            [(60, 100), (60, 80), (60, 30)],
            {"thermal": [(60, 180)], "write-cache": [(120, 180)]},
            [("thermal", 60, 120, 20, False), ("write-cache", 120, 180, 62.5, False)],
        ),
        # an episode ends where the rate is back
        (
            [(60, 100), (30, 50), (60, 100)],
            {"interference": [(60, 90)]},
            [("interference", 60, 90, 50, True)],
        ),
        # what takes nothing, or was low from the start, is none
        ([(120, 100)], {"thermal": [(60, 120)]}, []),
        ([(120, 30)], {"spare-area": [(0, 120)]}, []),
    ],
)
def test_an_episode_is_what_a_cause_takes(
    pairs: list[tuple[float, float]],
    gates: dict[str, list[tuple[float, float]]],
    expected: list[tuple[str, float, float, float, bool]],
) -> None:
    told = truth_of(levels(*pairs), gates)
    assert [(one.cause, one.onset_s, one.end_s, one.recovered) for one in told] == [
        (cause, onset_s, end_s, is_back) for cause, onset_s, end_s, _, is_back in expected
    ]
    assert [one.depth_pct for one in told] == pytest.approx([depth for *_, depth, _ in expected])


def test_an_episode_starts_where_two_percent_are_lost() -> None:
    # falls by one percent a second from 50 s on
    rate = np.concatenate([np.full(500, 100.0), 100 - np.arange(1, 301) / 10, np.full(800, 70.0)])
    (episode,) = truth_of(rate, {"sliding": [(50, 160)]})
    assert episode.onset_s == pytest.approx(52, abs=0.6)
    assert (episode.end_s, episode.recovered, episode.shape) == (160, False, "slide")
    assert episode.fall_s == pytest.approx(25, abs=1.5)
    # a fifth of a percent each second, though it swings
    swing = np.where(np.arange(3000) % 3 == 0, 0.97, 1.0)
    slide = np.interp(np.arange(3000) / 10, [0, 100, 300], [100.0, 100.0, 60.0])
    (episode,) = truth_of(slide * swing, {"spare-area": [(80, 300)]})
    assert episode.onset_s == pytest.approx(110, abs=3)


def test_what_swings_while_a_cache_is_nearly_full_has_not_fallen_yet() -> None:
    # between two levels of a governor, two seconds at each; the cache's gate opens at 180 s
    is_low = np.arange(3000) % 40 >= 20
    rate = np.where(is_low, 94.0, 100.0) * levels((60, 1.2), (150, 1), (90, 0.8))
    permitted = np.where(np.arange(len(rate)) < 600, 1.0, 0.8)
    _, on_top = truth_of(
        rate, {"thermal": [(60, 300)], "write-cache": [(180, 300)]}, permitted=permitted
    )
    assert (on_top.cause, on_top.shape) == ("write-cache", "step")
    assert on_top.onset_s == pytest.approx(210, abs=0.3)


def lows(first_s: float, count: int) -> list[tuple[float, float]]:
    """Eight seconds of each twenty."""
    return [(first_s + 20 * number, first_s + 8 + 20 * number) for number in range(count)]


def test_a_governor_that_swings_makes_one_cycle() -> None:
    rate = levels((60, 100), *[(8, 40), (12, 100)] * 5)
    permitted = np.where(rate < 100, 0.4, 1.0)
    (episode,) = truth_of(rate, {"thermal": lows(60, 5)}, permitted=permitted)
    assert (episode.shape, episode.onset_s, episode.end_s) == ("cycle", 60, 160)


@pytest.mark.parametrize(
    "others", [[(105, 0.6)], [(25, 0.6), (20, 0.35), (20, 0.55), (20, 0.3), (20, 0.6)]]
)
def test_a_cycle_that_continues_under_another_cause_does_not_fall_a_third_time(
    others: list[tuple[float, float]],
) -> None:
    share = levels((60, 1), *[(8, 0.4), (12, 1)] * 10)
    rate = 100 * share * levels((155, 1), *others)
    cycle, on_top = truth_of(
        rate, {"thermal": lows(60, 10), "interference": [(155, 260)]}, permitted=share
    )
    assert (cycle.cause, cycle.shape, cycle.end_s) == ("thermal", "cycle", 155)
    # one that swings while the other lasts is over when the step is
    assert (on_top.cause, on_top.onset_s, on_top.end_s) == ("interference", 155, 260)
    assert not on_top.recovered


def test_heat_that_had_not_swung_before_falls_on_top_of_another_cause() -> None:
    rate = levels((60, 100), (60, 60), *[(8, 20), (12, 60)] * 4)
    permitted = np.where(rate < 60, 0.3, 1.0)
    first, second = truth_of(
        rate, {"thermal": lows(120, 4), "write-cache": [(60, 200)]}, permitted=permitted
    )
    assert (first.cause, second.cause, second.onset_s) == ("write-cache", "thermal", 120)


@given(
    sigma=st.floats(0.01, 0.08), correlation=st.floats(0.6, 0.95), seed=st.integers(0, 2**32 - 1)
)
def test_noise_has_the_spread_and_the_correlation_that_were_drawn(
    sigma: float, correlation: float, seed: int
) -> None:
    values = recordings.autoregressive(40_000, sigma, correlation, np.random.default_rng(seed))
    assert np.std(values) == pytest.approx(sigma, rel=0.15)
    assert np.corrcoef(values[1:], values[:-1])[0, 1] == pytest.approx(correlation, abs=0.04)


def test_coarse_samples_are_means_of_fine_ones() -> None:
    assert recordings.averaged(np.arange(10.0), 5) == pytest.approx([2, 7])
    assert recordings.averaged(np.arange(8.0), 5) == pytest.approx([2, 6])


@pytest.mark.slow
def test_the_command_writes_recordings_with_the_truth_beside_them(
    cases: list[LabelledCase], tmp_path: Path
) -> None:
    done = heatsoak("corpus", "-o", "c", "--count", "1", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (row,), case = json.loads(done.stdout), cases[0]
    assert row["seed"] == 0
    truth = json.loads((tmp_path / row["path"] / "truth.json").read_text("utf-8"))
    found = find_recordings(tmp_path / row["path"])
    assert len(found) == row["recordings"] == len(truth["recordings"])
    for one, recording in zip(truth["recordings"], found, strict=True):
        assert recording.path == tmp_path / row["path"] / one["path"]
        assert isinstance(recording, Recording)
        assert {step["step"] for step in one["steps"]} == {step for _, step in case.verdicts}
    episodes = [e for one in truth["recordings"] for s in one["steps"] for e in s["episodes"]]
    assert [e["onset_s"] for e in episodes] == [e.onset_s for e in case.truth]
    assert found[0].samples().equals(case.recordings[0].samples())


def test_the_command_leaves_existing_files_alone_and_has_so_many_cases(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("text")
    for words, said in ((("-o", "."), "is not empty"), (("-o", "c", "--count", "10001"), "10000")):
        assert said in complaint(heatsoak_here("corpus", *words, cwd=tmp_path), 2)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.fixture(scope="module")
def scoring() -> ModuleType:
    file = Path(__file__).parents[1] / "benches" / "scoring.py"
    spec = importlib.util.spec_from_file_location("scoring", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["scoring"] = module
    spec.loader.exec_module(module)
    return module


def found(onset_s: float, end_s: float, **more: object) -> Episode:
    facts = {
        "depth_pct": 50, "cause": "thermal", "confidence": 0.9, "evidence": [],
        "oscillates": False, "period_s": None, "recovered": False,
        "written_gb_at_onset": None, "temp_c_at_onset": None,
    }  # fmt: skip
    return Episode.model_validate({**facts, "onset_s": onset_s, "end_s": end_s, **more})


def true(onset_s: float, end_s: float, **more: object) -> TrueEpisode:
    one = TrueEpisode(0, "write", onset_s, end_s, 50.0, "thermal", "step", 1.0, False)
    return replace(one, **more)  # type: ignore[arg-type]


def findings_of(*episodes: Episode) -> Findings:
    step = StepFindings(
        step="write", workload="", duration_s=600, mean_mb_s=1, start_temp_c=None,
        verdict="steady", episodes=list(episodes), consistency=None,
    )  # fmt: skip
    one = RecordingFindings(path="", drive={}, conditions={}, steps=[step], sensors=[], notes=[])
    return Findings(recordings=[one])


@pytest.mark.parametrize(
    ("truth", "found_there", "matched", "errors_s", "missed", "extra", "false"),
    [
        ([true(100, 600)], [found(101, 600)], [100], [1], [], 0, 0),
        # one found episode answers for one true one
        ([true(100, 105), true(106, 600)], [found(105, 600)], [106], [-1], [100], 0, 0),
        ([true(100, 600)], [found(150, 600)], [], [], [100], 1, 0),
        ([], [found(150, 600)], [], [], [], 0, 1),
        # falls that were taken for a cycle are not missed
        (
            [true(100 + 50 * n, 120 + 50 * n, recovered=True) for n in range(4)],
            [found(100, 270, oscillates=True, period_s=50)],
            *([100, 150, 200, 250], [0, None, None, None], [], 0, 0),
        ),
    ],
)
def test_findings_are_held_against_the_truth(
    scoring: ModuleType,
    labelled: LabelledCase,
    truth: list[TrueEpisode],
    found_there: list[Episode],
    matched: list[float],
    errors_s: list[float | None],
    missed: list[float],
    extra: int,
    false: int,
) -> None:
    score = scoring.score(case_of(labelled, truth), findings_of(*found_there))
    assert [match.true.onset_s for match in score.matches] == matched
    assert [match.onset_error_s for match in score.matches] == errors_s
    assert [one.onset_s for one in score.missed] == missed
    assert (len(score.extra), len(score.false)) == (extra, false)
    assert truth or score.steady_s == 600


def case_of(
    case: LabelledCase, truth: list[TrueEpisode], grey: tuple[TrueEpisode, ...] = ()
) -> LabelledCase:
    choices = replace(case.choices, sampling_s=0.1)
    return replace(
        case, truth=truth, grey=list(grey), verdicts={(0, "write"): "steady"}, choices=choices
    )


def test_what_is_grey_is_neither_missed_nor_false(
    scoring: ModuleType, labelled: LabelledCase
) -> None:
    case = case_of(labelled, [], grey=(true(100, 600, depth_pct=7.0),))
    for findings in (findings_of(), findings_of(found(100, 600))):
        score = scoring.score(case, findings)
        assert (score.matches, score.missed, score.extra, score.false) == ([], [], [], [])
        assert score.steady_s == 0
