"""What a step comes to is one number, wherever it is read."""

import csv
from pathlib import Path

import pytest
from command import done_here, json_here
from compared import READ, falling, run, steady
from heatsoak import words
from heatsoak.analysis.judge import read_and_judge
from heatsoak.comparison import compare
from heatsoak.facts.table import level_mb_s, rows_of
from heatsoak.recording import find_recordings
from heatsoak.report.files import write_report
from paged import page_of


@pytest.mark.parametrize("step", ["read", "sequential-read"])
def test_all_show_the_same_of_a_step(tmp_path: Path, step: str) -> None:
    deepening = falling(90, 0.5)
    deepening[-900:] = 500.0
    steps = [{**READ, "name": step}]
    for seed, (sink, rates) in enumerate((("none", deepening), ("big", steady(2000)))):
        made = run(
            {"heatsink": sink}, {step: rates}, steps=steps, seed=seed, more={"power_w": 4.0 + seed}
        )
        made.save(tmp_path / sink)
    recordings = list(find_recordings(tmp_path))
    opened, found = read_and_judge(recordings)
    rows = [
        rows_of(view, judged)[step] for view, judged in zip(opened, found.recordings, strict=True)
    ]
    bare = next(row for row in rows if "onset_s" in row)
    cooled = next(row for row in rows if row is not bare)
    assert bare["onset_s"] == pytest.approx(90, abs=1)
    assert bare["depth_pct"] < bare["depth_at_end_pct"] - 5

    page = page_of(recordings)
    assert page.matrix is not None
    metrics = {metric.id: metric for metric in page.matrix.metrics}
    cells = {cell.conditions["heatsink"]: cell.values for cell in page.matrix.cells}
    # beside published figures stands the depth by which those were drawn
    is_published = step == "sequential-read"
    assert ("last 60 s" in metrics["depth_pct"].label) == is_published
    whole = {key: cells["none"][key].value for key in ("onset_s", "depth_pct")}
    depth = "depth_at_end_pct" if is_published else "depth_pct"
    assert whole == {"onset_s": bare["onset_s"], "depth_pct": bare[depth]}
    for key in ("onset_s", "depth_pct", "mean_mb_s"):
        assert cells["none"][f"w1.{key}"].value == bare[key]
    assert cells["big"]["w1.mean_mb_s"].value == cooled["mean_mb_s"]
    assert cells["big"]["w1.depth_pct"].value is None

    (chart,) = page.bars
    bars = {page.recordings[bar.recording].label: (bar.value, bar.power_w) for bar in chart.bars}
    assert list(bars.values()) == [(row["mean_mb_s"], row["power_mean_w"]) for row in rows]
    levels = [line.level_mb_s for line in page.workloads[0].lines]
    assert levels == [level_mb_s(row) for row in rows]

    write_report(recordings, found, tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="", encoding="utf-8") as file:
        table = {line["condition.heatsink"]: line for line in csv.DictReader(file)}
    same = ("mean_mb_s", "mean_iops", "power_mean_w", "energy_j", "duration_s")
    for sink, row in (("none", bare), ("big", cooled)):
        assert [float(table[sink][key]) for key in same] == [row[key] for key in same]
        assert float(table[sink]["start_temp_c"]) == row["temp_start_c"]
    of_episode = {"onset_s": "onset_s", "depth_pct": "depth_pct", "temp_c_at_onset": "onset_temp_c"}
    assert [float(table["none"][key]) for key in of_episode] == [
        bare[key] for key in of_episode.values()
    ]

    told = json_here("analyze", "none", "big", "--format", "json", cwd=tmp_path)["recordings"]
    judged = {one["conditions"]["heatsink"]: one["steps"][0] for one in told}
    same = ("mean_mb_s", "power_mean_w", "energy_j", "duration_s", "verdict")
    for sink, row in (("none", bare), ("big", cooled)):
        assert [judged[sink][key] for key in same] == [row[key] for key in same]
    said = done_here("analyze", "none", "big", cwd=tmp_path).stdout
    assert f"by {words.percent_text(bare['depth_pct'])}" in said
    assert words.duration_text(bare["onset_s"]) in said

    compared = compare(recordings, "heatsink", "none", findings=found).rows
    by_metric = {one.metric: one for one in compared}
    for key in ("mean_mb_s", "power_mean_w", "depth_pct", "depth_at_end_pct", "temp_max_c"):
        assert (by_metric[key].baseline, by_metric[key].value) == (bare[key], cooled[key])
