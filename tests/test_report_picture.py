"""Pictures of several runs: what is written in them can be read, and lines told apart."""

import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from compared import READ, Array, falling, run, steady
from heatsoak.recording import Recording
from heatsoak.report.picture import draw
from paged import page_of

#: About how wide a letter of a label is, in the picture's points.
LETTER = 4.0


def texts(recordings: Sequence[Recording], path: Path) -> list[tuple[str, float, float]]:
    """What is written in a picture of them, and where it begins."""
    with (path / "x.svg").open("wb") as file:
        draw(page_of(recordings), file, "svg")
    found = re.findall(
        r"<!-- (.*?) -->\s*<g[^>]*?transform=\"translate\(([\d.]+) ([\d.]+)\)",
        (path / "x.svg").read_text("utf-8"),
        re.DOTALL,
    )
    return [(text, float(x), float(y)) for text, x, y in found]


def twice(first_s: float, second_s: float) -> Array:
    t_s = np.arange(1, 3001) / 10
    return 2000 * np.where(t_s <= first_s, 1.0, np.where(t_s <= second_s, 0.6, 0.3))


@pytest.mark.parametrize("onset_s", [20, 60, 250])
def test_labels_of_falls_at_the_same_time_do_not_cover_each_other(
    onset_s: float, tmp_path: Path
) -> None:
    recordings = [
        run({"heatsink": sink}, twice(onset_s + seed, onset_s + 20 + seed), seed=seed)
        for seed, sink in enumerate(["none", "a heatsink with a long name", "fins"])
    ]
    labels = [(t, x, y) for t, x, y in texts(recordings, tmp_path) if " % after " in t]
    assert len(labels) >= 3
    for (text, x, y), (other, other_x, other_y) in combinations(labels, 2):
        left, right = sorted([(x, text), (other_x, other)])
        apart = abs(y - other_y) > 8 or left[0] + LETTER * len(left[1]) < right[0]
        assert apart, (text, other)


def test_runs_of_the_same_are_two_rows_of_the_legend(tmp_path: Path) -> None:
    recordings = [
        run({"heatsink": "none"}, falling(60.0 + 20 * n, 0.5), seed=n, name=f"run-{n}")
        for n in range(2)
    ]
    written = [text for text, _, _ in texts(recordings, tmp_path)]
    assert "no heatsink, run 1" in written
    assert "no heatsink, run 2" in written


def test_a_long_title_is_not_cut_and_long_names_keep_their_ends(tmp_path: Path) -> None:
    model = "Samsung SSD 950 PRO with a name of sixty letters, 512 GB, -0000"
    recordings = [
        run({"note": f"{'x' * 80} rev {n}"}, steady(1000.0 + n), seed=n, drive={"model": model})
        for n in range(2)
    ]
    written = [text for text, _, _ in texts(recordings, tmp_path)]
    assert "-0000: x" in " ".join(written)
    assert sum(text.startswith("note ") and text.endswith("rev 1") for text in written) == 1


def test_a_picture_says_that_it_shows_only_some_of_many_charts(tmp_path: Path) -> None:
    steps = [{**READ, "name": f"step-{n}"} for n in range(14)]
    rates = {str(step["name"]): steady(1000.0, 30) for step in steps}
    written = [text for text, _, _ in texts([run({}, rates, steps=steps)], tmp_path)]
    assert [text for text in written if text.endswith("; 12 of 14 charts")]


def test_a_test_of_consistency_is_each_second_and_its_end(tmp_path: Path) -> None:
    step = {**READ, "name": "r", "rw": "randread", "bs": "4k", "runtime": "10m"}
    rates = np.repeat(steady(100.0), 2)
    written = [text for text, _, _ in texts([run({}, {"r": rates}, steps=[step])], tmp_path)]
    assert "R  (IOPS of each second)" in written
    assert "R  (IOPS of each second, the last 400 s)" in written
    assert any(text.startswith("R  (random read") for text in written)
    assert "temperature, C" in written


def test_steps_of_mixed_loads_are_one_curve_and_no_charts_of_their_own(tmp_path: Path) -> None:
    kinds = {100: {"rw": "randread"}, 0: {"rw": "randwrite"}}
    steps = [
        {**READ, "name": f"r{s}", "bs": "4k", **kinds.get(s, {"rw": "randrw", "rwmixread": s})}
        for s in (100, 50, 0)
    ]
    rates = {str(step["name"]): steady(500.0, 30) for step in steps}
    written = [text for text, _, _ in texts([run({}, rates, steps=steps)], tmp_path)]
    assert any(text.startswith("Reads and writes mixed: random, 4k") for text in written)
    assert "share of reads, %" in written
    assert not any(text.startswith("seconds from") for text in written)


def test_recordings_that_are_compared_are_drawn_with_their_differences(tmp_path: Path) -> None:
    recordings = [
        run({"heatsink": sink}, falling(onset_s, 0.5), seed=seed)
        for seed, (sink, onset_s) in enumerate([("none", 60), ("large", 150)])
    ]
    written = [text for text, _, _ in texts(recordings, tmp_path)]
    assert "Difference from heatsink none" in written
    assert "Mean" in written
    assert any(text.startswith("Read  (sequential read") for text in written)
