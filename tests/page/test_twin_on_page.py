"""A twin on the page: it shows what the twin itself says, and refuses what it knows nothing of."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from command import complaint, done_here, heatsoak_here
from heatsoak.errors import UsageError
from heatsoak.ranges import Range
from heatsoak.report.page.contract import CoolingMap, Page, TwinSection
from heatsoak.target.simulated import workloads_json
from heatsoak.twin.case import Cooling, LikelyDrive, cooled_place, core_of
from heatsoak.twin.named import step_of
from heatsoak.twin.predict import predict
from paged import page_of, series

if TYPE_CHECKING:
    from twinned import Twinned

pytest_plugins = ["twinned"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def section(twin_page: Page) -> TwinSection:
    assert twin_page.twin is not None
    return twin_page.twin


def test_the_temperatures_are_those_of_recording_and_twin(
    twinned: "Twinned", twin_page: Page, section: TwinSection
) -> None:
    bench = twinned.recording("bench")
    line = section.lines[0]
    expected = twinned.twin().hidden_temp(bench)
    for column, track in (
        ("reported_c", line.reported),
        ("hidden_c", line.hidden),
        ("low_c", line.low),
        ("high_c", line.high),
    ):
        t_s, values = series(twin_page, track)
        assert t_s == pytest.approx(expected["t_s"].to_list(), abs=0.001)
        assert values == pytest.approx(expected[column].to_list(), abs=0.051)
    read = bench.samples(["t_s", "temp_c.composite"]).drop_nulls()
    t_s, values = series(twin_page, line.measured)
    assert t_s == pytest.approx(read["t_s"].to_list(), abs=0.001)
    assert values == read["temp_c.composite"].to_list()
    assert line.measured.label == "composite"


def test_the_limit_and_the_onsets_are_those_of_the_fit(
    twinned: "Twinned", section: TwinSection
) -> None:
    twin = twinned.twin()
    (limit,) = [one for one in twin.parameters if one.name == "limit_c"]
    assert section.limit_c == limit.range.rounded(1)
    bench, fan = section.lines
    assert bench.onsets_s == pytest.approx(twin.recordings[0].onsets_s, abs=0.051)
    assert bench.onsets_s
    assert f"{bench.onsets_s[0]:.0f} s" in bench.summary
    assert fan.onsets_s == []
    assert "did not slow" in fan.summary


def test_a_map_says_what_predict_says(twinned: "Twinned", section: TwinSection) -> None:
    twin = twinned.twin()
    step, _ = step_of("write")
    for place, found in zip(twin.places, section.maps, strict=True):
        for warmer in (0, 3):
            cooling = Cooling(warming_k=found.air_c[found.own_air + warmer] - own_air_c(found))
            told = predict(twin, step, 600.0, enclosure=place, cooling=cooling)
            at = found.own_k_per_w * len(found.air_c) + found.own_air + warmer
            assert found.throttles[at] == told.throttles
            assert found.max_temp_c[at] == pytest.approx(told.max_reported_temp_c.mid, abs=0.051)
            assert (found.onset_s[at] is None) == (told.onset_s is None)
            if told.onset_s is not None:
                assert found.onset_s[at] == told.onset_s.rounded(0)
                for drawn, said, off in (
                    (found.depth_pct[at], told.depth_pct, 0.051),
                    (found.throttled_mb_s[at], told.throttled_mb_s, 0.51),
                ):
                    assert ends(drawn) == pytest.approx(ends(said), abs=off)


def ends(of: Range | None) -> list[float]:
    return [] if of is None else [of.low, of.mid, of.high]


def own_air_c(found: CoolingMap) -> float:
    return found.air_c[found.own_air]


def test_a_maps_onsets_are_those_of_the_twin_in_other_air_with_another_resistance(
    twinned: "Twinned", section: TwinSection
) -> None:
    # on the exact engine
    twin, found = twinned.twin(), section.maps[0]
    step, _ = step_of("write")
    own = LikelyDrive.middle(twin, twin.places[0])
    compared = 0
    for row, k_per_w in enumerate(found.k_per_w):
        for column, air_c in enumerate(found.air_c):
            at = row * len(found.air_c) + column
            onset_s = found.onset_s[at]
            if found.throttles[at] != 1 or onset_s is None or (row + column) % 3:
                continue
            cooling = Cooling(
                warming_k=air_c - own_air_c(found),
                k_per_w_x=k_per_w / found.k_per_w[found.own_k_per_w],
            )
            core = core_of(own.drive, cooled_place(own.place, cooling), [step])
            core.begin(workloads_json(step, core.user_bytes))
            core.advance(1.1 * onset_s.high + 1, 60)
            assert 0.95 * onset_s.low <= core.truth()["onset_s"] <= 1.05 * onset_s.high
            compared += 1
    assert compared > 5


def test_hotter_air_and_less_cooling_are_never_better(section: TwinSection) -> None:
    for found in section.maps:
        known = [np.nan if one is None else one for one in found.throttles]
        throttles = np.reshape(known, (len(found.k_per_w), len(found.air_c)))
        assert (np.diff(throttles, axis=0) >= 0).all()
        assert (np.diff(throttles, axis=1) >= 0).all()
        assert throttles.min() < 0.05
        assert throttles.max() > 0.95


def test_a_place_says_whether_it_throttled_there(section: TwinSection) -> None:
    bench, fan = section.maps
    assert (bench.recordings, bench.throttled) == (1, 1)
    assert (fan.recordings, fan.throttled) == (1, 0)
    assert bench.place != fan.place


def test_a_recording_made_elsewhere_is_left_out_with_the_reason(section: TwinSection) -> None:
    (left,) = section.left_out
    assert "a place that the twin was not fitted to" in left.text
    assert "fan fast" in left.text


def test_a_twin_that_never_throttled_has_no_map_and_no_limit(twinned: "Twinned") -> None:
    page = twinned.page(["cold"], "cold_twin")
    assert page.twin is not None
    assert page.twin.maps == []
    assert page.twin.limit_c is None
    assert page.twin.no_map is not None
    assert page.twin.no_map.startswith("Never throttled: its limit is above ")
    assert len(page.twin.lines) == 1


def test_the_command_writes_the_page(twinned: "Twinned", tmp_path: Path) -> None:
    words = ("cold", "--twin", str(twinned.path("cold_twin")), "-o", str(tmp_path / "x.html"))
    done_here("report", *words, cwd=twinned.directory)
    assert "So there is no map" in (tmp_path / "x.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("recording", "twin", "output", "said"),
    [
        ("bench", "gone.toml", "x.html", "gone.toml: there is no such file"),
        ("bench", "bench/recording.json", "x.html", "is not valid TOML"),
        ("bench", "", "x.png", "only a page shows a twin"),
        ("bench", "", "x.csv", "only a page shows a twin"),
        ("other", "", "x.html", "the twin is of another drive than other"),
        ("elsewhere", "", "x.html", "the twin follows no recording"),
    ],
)
def test_what_cannot_be_shown_is_one_line(
    twinned: "Twinned", tmp_path: Path, recording: str, twin: str, output: str, said: str
) -> None:
    words = (recording, "--twin", twin or str(twinned.path()), "-o", str(tmp_path / output))
    assert said in complaint(heatsoak_here("report", *words, cwd=twinned.directory), 2)
    assert list(tmp_path.iterdir()) == []


def test_twins_of_drives_with_other_serials_are_told_apart(twinned: "Twinned") -> None:
    one = twinned.recording("bench")
    for key, value in (("serial", "A1"), ("size_bytes", 5)):
        twin = twinned.twin().model_copy(update={key: value})
        drive = {**one.meta.drive, "serial": "B2"}
        one.meta.drive.update(drive)
        with pytest.raises(UsageError, match=f"another drive.*{value}"):
            page_of([one], twin=twin)


def test_a_fit_keeps_which_drive_it_is_of(twinned: "Twinned") -> None:
    drive = twinned.recording("bench").meta.drive
    twin = twinned.twin()
    assert (twin.model, twin.size_bytes) == (drive["model"], drive["size_bytes"])
