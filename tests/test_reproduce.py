"""``lab reproduce``: the table, and what it takes out of recordings whose truth is known."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command import complaint, heatsoak_here, json_here, ran
from heatsoak import catalog, protocol
from heatsoak.analysis import analyze
from heatsoak.analysis.judge import judge
from heatsoak.catalog import Figure, figure_ids, published
from heatsoak.catalog.specs import Band
from heatsoak.errors import RunInterrupted, UsageError
from heatsoak.protocol import Protocol
from heatsoak.recording import Event, InMemoryRecording, RecordingMeta, find_recordings
from heatsoak.recording.reader import Recording
from heatsoak.reproduce import PlannedRecording, ReproductionRow, jobs_of, questions, reproduce
from heatsoak.reproduce.measures import MEASURES, measured
from heatsoak.reproduce.runner import (
    FigureInput,
    FinishedRun,
    MeasuredFigure,
    NotMeasured,
    steps_of,
)

DRIVE = "samsung-950-pro-512"
DESTROYER = "storage-bench-destroyer"
CELL = "puget.top.2gpu.loaded"
#: A counted figure whose recording takes a fraction of a second.
CHEAP = "px1.capture_4k60_sustained"
KEYS = {
    *("schema_version", "id", "drive", "conditions", "metric", "published"),
    *("tolerance", "simulated", "ok", "counted", "role"),
}


def rows_of(*words: str, cwd: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json_here("lab", "reproduce", *words, cwd=cwd)
    return rows


@pytest.fixture(scope="session")
def small(small_drive_text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 8 GB that stands in for the 950 PRO: heat does not ask for the size."""
    path = tmp_path_factory.mktemp("small") / "small.toml"
    path.write_text(small_drive_text.replace("PRO 8GB", "PRO 512GB"), "utf-8")
    return path


@pytest.fixture(scope="module")
def drives(small: Path) -> dict[str, catalog.Drive]:
    return {DRIVE: catalog.load_drive(str(small))}


# ---- what is asked


def test_every_published_figure_is_a_row_once() -> None:
    asked = [question.id for question in questions()]
    assert asked == figure_ids()
    assert len(set(asked)) == len(asked)


def test_how_a_figure_is_measured_is_said_with_words_that_exist() -> None:
    assert all(figure.measured or not figure.counted for figure in published().figures)
    for figure in (*published().figures, *catalog.modern_figures()):
        how = figure.measured
        if how is None:
            continue
        assert how.by in MEASURES, figure.id
        assert set(how.at) <= set(how.steps), figure.id
        for name in how.protocols:
            whole = protocol.load(name)
            steps = {step.name for step in whole.workload_steps}
            assert set(how.scores) <= {score.name for score in whole.scores}, figure.id
            assert {how.only} <= steps | {""}, figure.id
            if len(how.protocols) == 1 or how.steps:
                assert set(how.steps) <= steps, figure.id


def test_recordings_are_shared_between_figures() -> None:
    asked = questions(prefix="puget.")
    jobs = jobs_of(asked)
    assert len(jobs) == len(set(jobs)) == 15  # 14 cells, and the SATA drive
    assert sum(len(question.jobs) for question in asked) > 28


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--only", "puget.tpo"), "starts with 'puget.tpo'"),
        (("--only", "px2"), "they start with puget, 850pro"),
        (("--drive", "samsung-950-pro-521"), "did you mean 'samsung-950-pro-512'?"),
        (("--drive", "nosuch.toml"), "nosuch.toml: there is no such file"),
        (("--drive", "other.toml"), "no drive of the catalog is a 'My own'"),
        (("--drive", "wrong.toml"), "wrong.toml: unknown key 'modell'"),
        (("-o", "full"), "full: already exists"),
        (("--min-figures", "many"), "Invalid value for '--min-figures'"),
        (("--min-figures", "-1"), "Invalid value for '--min-figures'"),
    ],
)
def test_a_wrong_word_or_file_is_one_line_and_exit_code_2(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    for name, key in (("other", "model"), ("wrong", "modell")):
        (tmp_path / f"{name}.toml").write_text(f"base = '{DRIVE}'\n{key} = 'My own'\n")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "something").touch()
    assert said in complaint(heatsoak_here("lab", "reproduce", *words, cwd=tmp_path), 2)


# ---- what comes out


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory, small: Path) -> Path:
    """Return where the recordings of a cell were kept, by the command."""
    directory = tmp_path_factory.mktemp("cell")
    rows_of("--drive", str(small), "--only", CELL, "-o", "kept", cwd=directory)
    return directory / "kept"


@pytest.mark.slow
def test_a_row_is_what_analyze_finds_in_the_recording_that_is_kept(cell: Path) -> None:
    rows = json.loads((cell / "reproduce.json").read_text("utf-8"))
    assert [row["id"] for row in rows] == [f"{CELL}.onset_s", f"{CELL}.depth_pct"]
    assert all(row.keys() - {"why"} == KEYS for row in rows)
    (recording,) = find_recordings(cell)
    assert recording.meta.conditions["enclosure"] == "puget-top-2gpu-loaded"
    episodes = [
        episode
        for step in analyze([recording]).recordings[0].steps
        if step.step.startswith("sequential")
        for episode in step.episodes
    ]
    onset, depth = rows
    assert onset["simulated"] == min(episode.onset_s for episode in episodes)
    assert depth["simulated"] == max(episode.depth_at_end_pct for episode in episodes)
    assert (onset["published"], onset["tolerance"]) == ([7, 7], 1.75)
    assert (depth["published"], depth["tolerance"]) == ([76, 76], 4)
    for row in rows:
        low, high = row["published"]
        is_within = low - row["tolerance"] <= row["simulated"] <= high + row["tolerance"]
        assert row["ok"] == is_within


@pytest.mark.long
def test_a_drive_file_stands_in_for_the_drive_of_its_model_and_gives_the_same_again(
    cell: Path, drives: dict[str, catalog.Drive]
) -> None:
    seen: list[float] = []
    asked = [*questions(prefix=CHEAP), *questions(DRIVE, f"{CELL}.")]
    again = reproduce(asked, drives=drives, progress=lambda done, _: seen.append(done))
    rows = json.loads((cell / "reproduce.json").read_text("utf-8"))
    assert rows == [json.loads(json.dumps(row.as_dict())) for row in again[1:]]
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1)


@pytest.mark.slow
def test_a_changed_number_of_the_drive_moves_its_rows(
    cell: Path, drives: dict[str, catalog.Drive]
) -> None:
    law = drives[DRIVE].governor.law
    assert isinstance(law, Band)
    engage_c = law.engage_c.model_copy(update={"value": law.engage_c.value - 6, "bounds": None})
    governor = drives[DRIVE].governor.model_copy(
        update={"law": law.model_copy(update={"engage_c": engage_c})}
    )
    changed = drives[DRIVE].model_copy(update={"governor": governor})
    after = reproduce(questions(DRIVE, f"{CELL}."), drives={DRIVE: changed})
    before = json.loads((cell / "reproduce.json").read_text("utf-8"))
    assert after[1].simulated is not None
    assert abs(after[1].simulated - before[1]["simulated"]) > 2


def test_too_few_rows_that_hold_are_exit_code_1_and_nothing_is_left(
    tmp_path: Path, small: Path
) -> None:
    for below, code in (("1", 0), ("2", 1)):
        words = ("--drive", str(small), "--only", CHEAP, "--min-figures", below)
        done = heatsoak_here("lab", "reproduce", *words, cwd=tmp_path)
        assert done.returncode == code, done.stderr
        assert "1 of 1 counted rows hold" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_measured_says_why(tmp_path: Path) -> None:
    (price,) = rows_of("--only", "px1.price_usd", cwd=tmp_path)
    assert (price["simulated"], price["ok"]) == (None, False)
    assert price["why"] == "no recording shows it"
    assert not price["counted"]


def test_what_cannot_be_run_is_an_answer(small_hot_drive: Path) -> None:
    (question,) = questions(prefix=f"{CELL}.onset_s")
    air_c = Figure(value=-500, assumed="to be refused")
    oven = catalog.load_enclosure("open-bench").model_copy(update={"air_c": air_c})
    hot = catalog.load_drive(str(small_hot_drive))
    job = PlannedRecording("puget", DRIVE, "open-bench")
    for asked, instead, why in (
        ({"jobs": (replace(job, drive="no-such"),)}, {}, "the catalog has no drive 'no-such'"),
        ({"jobs": (replace(job, place="the-moon"),)}, {}, "the catalog has no place 'the-moon'"),
        ({}, {"places": {"puget-top-2gpu-loaded": oven}}, "air_c"),
        ({}, {"drives": {DRIVE: hot}}, "shut itself down at"),
    ):
        (row,) = reproduce([replace(question, **asked)], **instead)  # type: ignore[arg-type]
        assert (row.simulated, row.ok) == (None, False)
        assert row.why is not None
        assert why in row.why
        assert "\n" not in row.why
        assert "recording" not in row.why


@pytest.mark.slow
def test_interrupted_it_keeps_what_it_recorded(tmp_path: Path) -> None:
    def stop(_done: float, _text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(RunInterrupted, match="the recordings so far are in"):
        reproduce(questions(prefix="puget.bottom"), tmp_path / "kept", progress=stop)
    states = {recording.meta.status for recording in find_recordings(tmp_path / "kept")}
    assert states <= {"finished", "interrupted"}


@pytest.mark.slow
def test_it_works_where_linux_only_modules_are_missing(tmp_path: Path, small: Path) -> None:
    hidden = "import sys, psutil; sys.modules['fcntl'] = sys.modules['termios'] = None; "
    words = ["heatsoak", "lab", "reproduce", "--drive", str(small), "--only", CHEAP]
    words += ["--format", "json"]
    code = hidden + f"from heatsoak.cli import main; sys.argv = {words}; main()"
    done = ran(sys.executable, "-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == 1


def test_only_a_step_is_run_with_what_precedes_it_since_the_last_purge() -> None:
    full, empty = (
        steps_of(PlannedRecording(DESTROYER, DRIVE, "open-bench", only))
        for only in ("full", "empty")
    )
    assert [step.name for step in full.steps] == ["purge", "fill", "full"]
    assert [step.name for step in empty.steps] == ["purge", "empty"]
    for part, only in ((full, "full"), (empty, "empty")):
        assert part.scores
        assert {score.steps for score in part.scores} == {(only,)}
    with pytest.raises(UsageError, match="has no step 'half'"):
        steps_of(PlannedRecording(DESTROYER, DRIVE, "open-bench", "half"))


@pytest.mark.slow
def test_a_storage_bench_gives_what_its_scores_give(
    tmp_path: Path, drives: dict[str, catalog.Drive]
) -> None:
    (question,) = questions(prefix="px1.storage_bench")
    there, here = (
        PlannedRecording("storage-bench-light", DRIVE, place, "full")
        for place in ("puget-top-2gpu-loaded", "puget-upright-2gpu-loaded")
    )
    rate, service = "Data rate, full", "Service time, full"
    assert question.measured is not None
    how = question.measured.model_copy(update={"scores": (rate, service)})
    light = replace(question, measured=how, jobs=(here,), against=(there,))
    (row,) = reproduce([light], tmp_path / "kept", drives=drives)
    kept = [Recording.open(tmp_path / "kept" / job.name) for job in (here, there)]
    cooled, bare = (
        {score.name: score.value or np.nan for score in found.scores}
        for found in analyze(kept).recordings
    )
    changes = [100 * (cooled[rate] / bare[rate] - 1), -100 * (cooled[service] / bare[service] - 1)]
    assert max(changes) > 0.1
    assert row.simulated == pytest.approx(max(changes, key=abs))


# ---- measures, on recordings whose truth is known


def made(
    values: Mapping[str, Any],
    *,
    rw: str = "randwrite",
    temps: Mapping[str, Any] | None = None,
    power: float | None = None,
    scores: Sequence[Mapping[str, Any]] = (),
    **conditions: Any,
) -> FinishedRun:
    """A judged recording of steps at 1 Hz, each given by its MB/s, at 4096 bytes an I/O."""
    steps, events, frames = [], [], []
    way = "read" if rw.endswith("read") else "write"
    start_s = 0.0
    for name, rates in values.items():
        steps.append({"name": name, "rw": rw, "bs": "4k", "runtime": len(rates), "rate": 10**9})
        events.append(Event(t_s=start_s, kind="step-begin", step=name))
        mb_s = np.asarray(rates, dtype=float)
        columns = {"interval_s": np.ones(len(mb_s)), f"{way}_bw_mb_s": mb_s}
        columns |= {
            "t_s": start_s + np.arange(1.0, len(mb_s) + 1),
            f"{way}_iops": mb_s * 1e6 / 4096,
        }
        if power is not None:
            columns["power_w"] = np.full(len(mb_s), power)
        if temps is not None:
            columns["temp_c.composite"] = np.asarray(temps[name], dtype=float)
        frames.append(pl.DataFrame(columns).with_columns(step=pl.lit(name)))
        start_s += len(mb_s) + 100.0
    samples = pl.concat(frames)
    meta = RecordingMeta(
        status="finished",
        protocol=Protocol.model_validate({"name": "made", "steps": steps, "scores": list(scores)}),
        conditions=conditions,
        drive={"model": "made up"},
        columns=dict.fromkeys(samples.columns, "x"),
        started_unix_s=0.0,
    )
    recording = InMemoryRecording(Path("made"), meta, samples, events)
    return FinishedRun(PlannedRecording("made", "drive", "here"), recording, judge(recording))


def measure(
    by: str,
    runs: list[FinishedRun],
    against: list[FinishedRun] | None = None,
    steps: tuple[str, ...] = ("load",),
    at: tuple[str, ...] = (),
    published: tuple[float, float] = (0, 0),
    scores: tuple[str, ...] = (),
) -> MeasuredFigure:
    return measured(by, FigureInput(runs, against or [], steps, at, published, scores))


def falling(onset_s: int, before: float = 1000.0, after: float = 400.0) -> Any:
    return np.where(np.arange(300) < onset_s, before, after)


def governed(onset_s: int) -> Any:
    """Falling as the board warms."""
    late_s = np.maximum(np.arange(300) - onset_s, 0)
    return 400 + 600 * np.exp(-late_s / 20)


def hot(temps: Mapping[str, Any]) -> FinishedRun:
    return made({"load": governed(100), "again": governed(100)}, rw="randread", temps=temps)


WARMING = np.minimum(40 + np.arange(300) * 0.4, 80)


def iops(values: Any) -> Any:
    return np.asarray(values) * 4096 / 1e6


def test_onset_bytes_and_level_are_those_of_the_step() -> None:
    run = made({"load": falling(100), "steady": np.full(300, 700.0)})
    assert measure("onset_s", [run]).value == pytest.approx(100, abs=1)
    assert measure("written_gb_at_onset", [run]).value == pytest.approx(100, abs=1)
    assert measure("peak_mb_s", [run], steps=("load", "steady")).value == pytest.approx(
        1000, rel=1e-4
    )
    assert measure("falls", [run]).value == 1
    assert measure("falls", [run], steps=("steady",)).value == 0
    assert measure("duration_min", [run]).value == pytest.approx(5)
    with pytest.raises(NotMeasured, match="nothing falls"):
        measure("onset_s", [run], steps=("steady",))
    with pytest.raises(NotMeasured, match="no step 'other'"):
        measure("onset_s", [run], steps=("other",))


def test_temperatures_are_those_that_the_drive_reported_in_the_step() -> None:
    found = hot({"load": WARMING, "again": np.full(300, 55.0)})
    assert measure("max_temp_c", [found]).value == 80
    assert measure("max_temp_c", [found], steps=("load", "again")).value == 80
    assert measure("steady_temp_c", [found]).value == 80
    assert measure("steady_temp_c", [found], steps=("again",)).value == 55
    assert measure("throttles", [found]).value == 1
    with pytest.raises(NotMeasured, match="no temperature was recorded in pauses"):
        measure("idle_temp_c", [found])
    unheated = made({"load": falling(110)})
    assert measure("throttles", [unheated]).value == 0
    with pytest.raises(NotMeasured, match="no temperature was recorded in 'load'"):
        measure("max_temp_c", [unheated])


def test_a_cliff_that_heat_made_is_none() -> None:
    cold = made({"load": falling(110)}, temps={"load": np.full(300, 40.0)})
    for by in ("cliff_s", "cliff_gb"):
        found = measure(by, [cold])
        assert found.value == pytest.approx(110, abs=1)
        assert found.why is None
    heated = hot({"load": WARMING, "again": WARMING})
    assert heated.step("load").verdict == "thermal"
    assert measure("cliff_s", [heated]).why == "it is judged to be heat"


def test_places_are_compared_with_as_many_cards_and_the_least_fitting_counts() -> None:
    def at(onset_s: int, after: float, gpus: int) -> FinishedRun:
        return made({"load": falling(onset_s, after=after)}, gpus=gpus, gpu_load="idle")

    upright = [at(120, 500, 1), at(110, 480, 2)]
    others = [at(100, 450, 1), at(70, 300, 2)]
    later = measure("onset_later_s", upright, others, published=(10, 30))
    assert later.value == pytest.approx(40, abs=2)
    ratio = measure("onset_ratio_x", upright, others, published=(1.5, 1.6))
    assert ratio.value == pytest.approx(1.2, abs=0.05)
    assert measure("level_gain_mb_s", upright, others).value == pytest.approx(180)
    assert measure("is_slower", [others[1]], [upright[0]]).value == 1
    assert measure("is_slower", [upright[0]], [others[1]]).value == 0
    with pytest.raises(NotMeasured, match="can be compared"):
        measure("onset_later_s", [upright[0]], [others[1]])


def test_a_slow_slot_is_its_hosts_limit_only_if_it_is_slow_and_does_not_fall() -> None:
    slow, fast, falls = (
        made({"load": rates}, rw="randread")
        for rates in (np.full(300, 500.0), np.full(300, 1000.0), falling(100))
    )
    assert measure("is_host_limit", [slow], [fast]) == MeasuredFigure(1.0)
    assert measure("is_host_limit", [fast], [fast]).value == 0
    assert measure("is_host_limit", [falls], [fast]).value == 0


def test_the_steady_state_is_that_of_the_last_400_seconds() -> None:
    flat = made({"load": iops([90_000.0] * 200 + [6000.0] * 400)})
    stutter = np.full(400, 6000.0)
    stutter[::20] = 2000.0
    uneven = made({"load": iops(np.r_[np.full(200, 9e4), stutter])})
    faster = made({"load": iops(np.tile([9000.0, 9100.0], 300))})
    assert measure("steady_mean_iops", [flat]).value == pytest.approx(6000)
    assert measure("steady_stdev_iops", [flat]).value == pytest.approx(0, abs=1e-6)
    assert measure("steady_mean_change_pct", [flat], [faster]).value == pytest.approx(
        100 * (6000 / 9050 - 1)
    )
    assert measure("is_one_level", [flat]).value == 1
    assert measure("is_one_level", [uneven]).value == 0
    assert measure("lower_level_iops", [uneven]).value == pytest.approx(2000)
    assert measure("upper_level_iops", [uneven]).value == pytest.approx(6000)
    with pytest.raises(NotMeasured, match="one level, 6,000 IOPS"):
        measure("lower_level_iops", [flat])
    assert measure("lows_above_highs", [faster], [uneven]).value == 1
    assert measure("lows_above_highs", [uneven], [flat]).value == 0


def test_consistencies_are_alike_within_a_factor_of_two() -> None:
    def spread(iops_off: float) -> FinishedRun:
        return made({"load": iops(np.tile([6000.0 - iops_off, 6000.0 + iops_off], 200))})

    assert measure("ratios_are_alike", [spread(100), spread(190)]).value == 1
    assert measure("ratios_are_alike", [spread(100), spread(210)]).value == 0
    found = measure("ratios_are_alike", [spread(100), spread(0)])
    assert found.value == 0
    assert found.why is not None


def test_gains_are_those_of_the_steps_means() -> None:
    def steps(**means: float) -> FinishedRun:
        return made({name: np.full(180, mean) for name, mean in means.items()})

    bare = steps(a=100, b=100, c=100)
    at_the_end = steps(a=101, b=100, c=175)
    everywhere = steps(a=120, b=110, c=175)
    names = ("a", "b", "c")

    def of(by: str, run: FinishedRun, at: tuple[str, ...] = ()) -> float:
        return measure(by, [run], [bare], names, at).value

    assert of("largest_gain_x", everywhere) == pytest.approx(1.75)
    assert of("score_gain_pct", at_the_end) == pytest.approx(100 * (376 / 300 - 1))
    assert of("score_is_above", at_the_end) == 1
    assert of("score_is_above", bare) == 0
    assert of("gain_is_there_alone", at_the_end, ("c",)) == 1
    assert of("gain_is_there_alone", everywhere, ("c",)) == 0
    assert of("gain_is_most_there", everywhere, ("a", "c")) == 1
    assert of("gain_is_most_there", everywhere, ("b", "c")) == 0
    assert measure("is_not_throttled", [bare], [at_the_end], ("a", "b")).value == 1
    throttled_throughout = measure("is_not_throttled", [bare], [everywhere], ("a", "b"))
    assert throttled_throughout.value == 0
    assert throttled_throughout.why is not None


def test_scores_that_get_worse_change_by_less_than_nothing() -> None:
    def scored(mb_s: float, length_s: int = 100) -> FinishedRun:
        scores = [
            {"name": name, "metric": metric, "steps": ["load"], "definition": "As made up."}
            for name, metric in (("Rate", "mb_s"), ("Time", "duration_s"), ("None", "service_us"))
        ]
        return made({"load": np.full(length_s, mb_s)}, scores=scores)

    here, there = scored(95, 110), scored(100, 100)

    def of(*names: str, published: tuple[float, float] = (0, 0)) -> float:
        return measure(
            "scores_change_pct", [here], [there], scores=names, published=published
        ).value

    assert of("Rate") == pytest.approx(-5)
    assert of("Time") == pytest.approx(-10)
    assert of("Rate", "Time") == pytest.approx(-10)
    assert of("Rate", "Time", published=(-12, -12)) == pytest.approx(-5)
    with pytest.raises(NotMeasured, match="no latencies"):
        of("None")
    with pytest.raises(NotMeasured, match="there is no score 'Other'"):
        of("Other")


def test_a_stream_is_kept_while_the_drive_is_never_a_second_behind() -> None:
    keeps = made({"load": np.full(300, 999.0)})
    assert measure("keeps_rate", [keeps]).value == 1
    stalls = made({"load": np.r_[np.full(200, 1000.0), 0.0, 0.0, np.full(98, 1000.0)]})
    found = measure("keeps_rate", [stalls])
    assert found.value == 0
    assert found.why == "the stream is up to 2 s ahead of the drive"


def test_power_is_the_greatest_of_any_second_of_any_recording() -> None:
    low, high = (made({"load": np.full(60, 1.0)}, power=watts) for watts in (5.0, 7.5))
    assert measure("most_power_w", [low, high]).value == pytest.approx(7.5)
    with pytest.raises(NotMeasured, match="no power was recorded"):
        measure("most_power_w", [made({"load": np.full(60, 1.0)})])


def test_a_cell_takes_the_earlier_onset_and_the_deeper_fall() -> None:
    run = made({"one": falling(50, after=600), "two": falling(80, after=300)})
    steps = ("one", "two")
    assert measure("cell_onset_s", [run], steps=steps).value == pytest.approx(50, abs=1)
    assert measure("cell_depth_pct", [run], steps=steps).value == pytest.approx(70, abs=1)
    with pytest.raises(UsageError):
        questions(prefix="nothing")


def test_a_row_for_json_has_why_only_where_there_is_one() -> None:
    row = ReproductionRow.model_validate(
        {
            **{"id": "x", "drive": None, "conditions": {}, "metric": "m", "published": (1.0, 1.0)},
            **{"tolerance": 0.0, "simulated": 1.0, "ok": True, "counted": True},
            "role": "predicted",
        }
    )
    assert row.as_dict().keys() == KEYS
    assert row.model_copy(update={"ok": False, "why": "so"}).as_dict().keys() == KEYS | {"why"}
