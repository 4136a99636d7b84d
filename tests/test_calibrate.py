import math
import re
import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import pytest
from heatsoak.catalog import PugetCell, load_drive, parse_enclosures, published, roles
from heatsoak.errors import UsageError
from heatsoak_dev import calibration
from heatsoak_dev.calibration import (
    MAX_PARAMETERS,
    Calibration,
    bench,
    calibrate,
    check_calibration,
    holdout,
    leave_one_out,
    write,
    write_roles,
)
from heatsoak_dev.calibration.bench import Bench
from heatsoak_dev.calibration.figures import CalibrationRow, Figures, FitRole
from heatsoak_dev.calibration.fit import describe, lower
from heatsoak_dev.calibration.heatsinks import HeatsinkPairs
from heatsoak_dev.calibration.holdout import Guess, summary
from heatsoak_dev.calibration.matrix import DRIVE_FILE, PLACES_FILE, CellFigures
from heatsoak_dev.calibration.parameters import Tables
from typing_extensions import override


@pytest.fixture(scope="module")
def checked() -> Calibration:
    return check_calibration()


@pytest.fixture
def own_catalog(tmp_path: Path) -> Path:
    with as_file(files("heatsoak.catalog")) as root:
        for name in (DRIVE_FILE, PLACES_FILE):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            shutil.copy(root / name, tmp_path / name)
    return tmp_path


def edit(path: Path, pattern: str, replacement: str) -> None:
    text, count = re.subn(pattern, replacement, path.read_text("utf-8"))
    assert count > 0
    path.write_text(text, "utf-8")


def squared_error(result: Calibration) -> float:
    return float(np.sum([row.in_tolerances**2 for row in result.rows if row.role == "fitted"]))


@pytest.mark.slow
def test_the_catalog_reproduces_the_published_matrix_within_physical_bounds(
    checked: Calibration,
) -> None:
    assert len(checked.parameters) <= MAX_PARAMETERS
    assert checked.held("onset_s") == checked.held("depth_pct") == (14, 14)
    assert checked.held("temp_c") == (3, 3)
    assert checked.figures_fitted == 31
    # what is fitted here is what the catalog calls so
    assert all(roles().of(row.id) == "fitted" for row in checked.rows)
    assert roles().of("px1.power_below_w") == "predicted"
    for parameter in checked.parameters:
        low, high = parameter.bounds
        assert low <= parameter.value <= high, parameter.name
        assert low <= parameter.expect[0] <= high, parameter.name


@pytest.mark.soak
@pytest.mark.slow
def test_a_short_fit_improves_on_what_is_expected(own_catalog: Path) -> None:
    figures = CellFigures(own_catalog)
    before = describe(figures, figures.tables.expected(), 0)
    seen: list[float] = []
    after = calibrate(
        iterations=3, catalog_dir=own_catalog, progress=lambda part, _: seen.append(part)
    )
    assert squared_error(after) < squared_error(before) / 5
    assert after.held("onset_s")[0] > before.held("onset_s")[0]
    assert seen == sorted(seen)
    assert 0 <= seen[0] <= seen[-1] <= 1
    write(after.parameters, own_catalog)
    again = check_calibration(own_catalog).rows
    assert [row.simulated for row in again] == [row.simulated for row in after.rows]


@pytest.mark.soak
@pytest.mark.slow
def test_the_values_in_the_catalog_play_no_part_and_the_seed_decides(own_catalog: Path) -> None:
    first = calibrate(starts=2, iterations=1, seed=3, catalog_dir=own_catalog)
    edit(own_catalog / PLACES_FILE, r"(warming_k = \{ value = )[0-9.]+", r"\g<1>13")
    second = calibrate(starts=2, iterations=1, seed=3, catalog_dir=own_catalog)
    assert first.parameters == second.parameters
    assert first.as_dict()["rows"] == second.as_dict()["rows"]


@pytest.mark.parametrize(
    ("pattern", "cells"),
    [
        *(("puget.top.1gpu.idle", 1), ("puget.top.1gpu.idle.onset_s", 1)),
        *(("puget.*.2gpu.*", 6), ("puget.*.depth_pct", 14), ("puget.underside.*", 2)),
    ],
)
def test_cells_are_held_out_by_name_or_pattern(pattern: str, cells: int) -> None:
    figures = CellFigures(hold_out=[pattern])
    rows = figures.rows([parameter.value for parameter in figures.parameters])
    held_out = [row.id for row in rows if row.role == "held-out" and row.metric == "onset_s"]
    assert len(held_out) == cells
    fitted = sum(row.role == "fitted" for row in rows)
    assert len(figures.errors(figures.tables.expected())) == fitted


@pytest.mark.slow
def test_a_fit_does_not_see_what_is_held_out() -> None:
    found = calibrate(iterations=1, hold_out=["puget.*.2gpu.*"])
    assert found.figures_fitted == 31 - 12
    with pytest.raises(UsageError, match=r"did you mean 'puget\.top\.1gpu\.idle'"):
        calibrate(hold_out=["puget.top.1gpu.idel"])


@pytest.mark.slow
def test_writing_changes_nothing_but_the_fitted_numbers(
    checked: Calibration, own_catalog: Path
) -> None:
    before = [(own_catalog / name).read_text("utf-8") for name in (DRIVE_FILE, PLACES_FILE)]
    write(checked.parameters, own_catalog)
    after = [(own_catalog / name).read_text("utf-8") for name in (DRIVE_FILE, PLACES_FILE)]
    blank = re.compile(r"value = [^,]*, fitted")
    assert [blank.sub("", text) for text in before] == [blank.sub("", text) for text in after]
    assert check_calibration(own_catalog).rows == checked.rows


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "pattern", "replacement"),
    [
        (DRIVE_FILE, r"(host_read_uj = \{ value = )6\.6", r"\g<1>5.6"),
        (PLACES_FILE, r"(room_c = \{ value = )25", r"\g<1>30"),
        (PLACES_FILE, r"sheltered = true", "sheltered = false"),
    ],
)
def test_a_number_of_the_catalog_moves_the_figures(
    checked: Calibration, own_catalog: Path, file: str, pattern: str, replacement: str
) -> None:
    edit(own_catalog / file, pattern, replacement)
    both = zip(checked.rows, check_calibration(own_catalog).rows, strict=True)
    assert max(abs(one.simulated - other.simulated) for one, other in both) > 1


def test_a_fit_can_be_interrupted(own_catalog: Path) -> None:
    def stop(_part: float, _text: str) -> None:
        raise KeyboardInterrupt

    before = (own_catalog / PLACES_FILE).read_text("utf-8")
    with pytest.raises(KeyboardInterrupt):
        calibrate(catalog_dir=own_catalog, progress=stop)
    assert (own_catalog / PLACES_FILE).read_text("utf-8") == before


def test_more_fitted_numbers_than_allowed_are_refused(own_catalog: Path) -> None:
    fitted = "{ value = 5, fitted = true, bounds = [1, 20] }"
    edit(own_catalog / DRIVE_FILE, r"lag_s = .*", f"lag_s = {fitted}")
    edit(own_catalog / PLACES_FILE, r"(board_j_per_k|air_speed_m_s) = .*", rf"\1 = {fitted}")
    with pytest.raises(UsageError, match=f"{MAX_PARAMETERS} at most"):
        check_calibration(own_catalog)


@pytest.mark.slow
def test_a_directory_that_is_not_a_catalog_is_refused(checked: Calibration, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        check_calibration(tmp_path)
    with pytest.raises(UsageError, match="cannot be read"):
        write(checked.parameters, tmp_path)


# ---- the fit itself, on figures that are a line


LINE = """
[[unused]]
first = 1
[line]
slope = { value = 0, fitted = true, bounds = [-10, 10], expect = [1, 5] }
start = { value = 0, fitted = true, bounds = [-10, 10], expect = [0, 5] }
idle = { value = 0, fitted = true, bounds = [-10, 10], expect = [2, 0.5] }
"""


class Line(Figures):
    """Three figures on a line, and a number that none of them knows of."""

    def __init__(self, directory: Path) -> None:
        (directory / "line.toml").write_text(LINE, "utf-8")
        super().__init__("line", Tables(["line.toml"], ["*"], 3, directory))

    @override
    def rows(self, values: Sequence[float]) -> tuple[CalibrationRow, ...]:
        slope, start, _ = values
        return tuple(
            CalibrationRow(f"x{x}", "y", (y, y), (y - 0.1, y + 0.1), start + slope * x, "fitted")
            for x, y in ((0, 3), (1, 5), (2, 7))
        )


def test_a_fit_finds_a_line_and_says_what_it_cannot_know(tmp_path: Path) -> None:
    figures = Line(tmp_path)
    found = describe(figures, lower(figures), 0)
    slope, start, idle = found.parameters
    assert (slope.value, start.value) == pytest.approx((2, 3), abs=0.1)
    assert all(row.ok for row in found.rows)
    assert idle.value == pytest.approx(2, abs=0.01)  # what was expected, and as loosely
    assert idle.stderr == pytest.approx(0.5)
    # three points 0, 1, 2 with a deviation of 0.1: its square times 5/6 and 1/2
    assert start.stderr == pytest.approx(0.1 * math.sqrt(5 / 6), rel=0.01)
    assert slope.stderr == pytest.approx(0.1 * math.sqrt(1 / 2), rel=0.01)
    (loose,) = found.loose
    assert loose.information == pytest.approx(0, abs=1e-9)
    assert dict(loose.shares) == pytest.approx({"line.idle": 1})


def test_a_pattern_takes_the_first_that_fits(tmp_path: Path) -> None:
    (tmp_path / "line.toml").write_text(LINE, "utf-8")
    tables = Tables(["line.toml"], ["!line:line.idle", "*"], 3, tmp_path)
    assert [parameter.name for parameter in tables.parameters] == ["line.slope", "line.start"]


# ---- the baseline, and leaving out


def additive(onset_s: float) -> list[PugetCell]:
    """The published cells with figures that main effects explain wholly."""
    cells = []
    for cell in published().cells:
        effect = {"bottom": 0, "top": -1, "upright": 2, "underside": 1}[cell.slot]
        effect -= 2 * (cell.gpus == 2) + (cell.gpu_load == "loaded")
        onset, depth = onset_s * math.exp(effect / 5), 50.0 - 3 * effect
        ends = {"onset_s": (onset, onset), "depth_pct": (depth, depth)}
        cells.append(cell.model_copy(update=ends))
    return cells


def test_main_effects_are_exact_where_there_is_nothing_else() -> None:
    cells = additive(40)
    for cell in cells:
        others = [other for other in cells if other is not cell]
        assert holdout.predict(others, cell) == pytest.approx((cell.onset_s[0], cell.depth_pct[0]))


def test_a_summary_counts_and_averages() -> None:
    cell = published().cells[1]  # 30 s, 60 %
    found = summary([Guess(cell, 33, 60), Guess(cell, 20, 70)])
    assert found["onset_error_s"] == pytest.approx(6.5)
    assert found["onset_error_share"] == pytest.approx((0.1 + 1 / 3) / 2)
    assert found["depth_error_pct"] == pytest.approx(5)
    assert (found["near_onset"], found["near_depth"], found["near_both"]) == (1, 1, 1)
    assert (found["held_onset"], found["held_depth"], found["cells"]) == (1, 1, 2)


@pytest.mark.slow
def test_leaving_out_predicts_every_cell_from_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = published().cells
    few = (cells[0], cells[7])
    hidden: list[frozenset[str]] = []

    def watched(figures: CellFigures, **_: object) -> object:
        hidden.append(figures.hold_out)
        return figures.tables.expected()

    monkeypatch.setattr(calibration.holdout, "lower", watched)
    monkeypatch.setattr(
        calibration.matrix, "published", lambda: published().model_copy(update={"cells": few})
    )
    found = leave_one_out()
    assert hidden == [frozenset([cell.id]) for cell in few]
    assert [guess.cell for guess in found.model] == list(few)
    assert found.as_dict()["summary"]["model"]["cells"] == 2


# ---- slots that are like others


FAMILY = """
room_c = { value = 20, assumed = "a room" }
[slots.one]
air_coupling = { value = 1, assumed = "a slot" }
board_k_per_w = { value = 8, assumed = "a slot" }
board_j_per_k = { value = 3, assumed = "a slot" }
[slots.other]
like = "one"
sheltered = true
board_k_per_w = { value = 9, assumed = "a slot" }
[chassis.warm]
warming_k = { value = 10, assumed = "a case" }
resistance_factor = { value = 0.5, assumed = "a fan" }
[places.one]
slot = "one"
chassis = "warm"
[places.other]
slot = "other"
chassis = "warm"
"""


def test_a_slot_takes_what_it_does_not_give_from_the_one_it_is_like() -> None:
    places = parse_enclosures({"family": FAMILY})
    one, other = places["one"], places["other"]
    assert (one.air_c.value, other.air_c.value) == (30, 30)
    assert one.links["air"].k_per_w.value == 4
    assert other.links["air"].k_per_w.value == 9  # sheltered
    assert other.nodes["board"].j_per_k.value == 3


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'like = "one"',
            'like = "two"',
            "slots.other.like: there is no slot 'two': known are one, other",
        ),
        ('like = "one"', 'like = "other"', "like is circular: other -> other"),
        ('like = "one"\n', "", "slots.other.air_coupling is missing"),
    ],
)
def test_a_slot_like_an_unknown_one_is_one_line(old: str, new: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        parse_enclosures({"family": FAMILY.replace(old, new)})


# ---- the second stage, and what is said of both


def test_the_second_stage_fits_its_own_numbers_alone() -> None:
    figures = Bench()
    ids = {parameter.id for parameter in figures.parameters}
    assert ids.isdisjoint(parameter.id for parameter in CellFigures().parameters)
    assert "drives/samsung-950-pro-512:energy.move_uj" in ids
    assert len(ids) <= bench.MAX_PARAMETERS


def test_a_stage_is_given_what_those_before_have_found() -> None:
    die = next(p for p in CellFigures().parameters if p.name == "thermal.links.die.k_per_w")
    tables = Bench(given=[replace(die, value=5.0)]).tables.having(
        [parameter.value for parameter in Bench().parameters]
    )
    assert tables[DRIVE_FILE]["thermal"]["links"]["die"]["k_per_w"]["value"] == 5.0


@pytest.mark.soak
@pytest.mark.slow
def test_the_catalog_reproduces_the_bench() -> None:
    rows = check_calibration(stage="anandtech").rows
    assert {row.role for row in rows} == {"fitted"}
    assert [row.id for row in rows if not row.ok] == []


def test_pairs_of_coolings_are_as_published_and_no_bound_is_contradicted() -> None:
    figures = HeatsinkPairs()
    rows = figures.rows([parameter.value for parameter in figures.parameters])
    assert np.median([abs(row.error) for row in rows]) < 3
    assert max(abs(row.error) for row in rows) < 8
    assert all(row.ok for row in rows if row.published[0] < -273)


def test_roles_are_written_and_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "calibration.toml"
    path.write_text('# why\nfitted = ["puget.top.2gpu.idle", "other"]\nheld_out = []\n', "utf-8")
    of: dict[str, FitRole] = {
        "puget.top.1gpu.idle.onset_s": "fitted",
        "puget.top.2gpu.idle.onset_s": "held-out",
        "puget.reported_temp_onset_c.top": "fitted",
    }
    rows = [CalibrationRow(name, "", (1, 1), (0, 2), 1, role) for name, role in of.items()]
    write_roles(rows, tmp_path)
    text = path.read_text("utf-8")
    assert text.startswith("# why")
    assert tomllib.loads(text) == {
        "fitted": ["puget.top.1gpu.idle", "puget.reported_temp_onset_c", "other"],
        "held_out": ["puget.top.2gpu.idle"],
    }


def test_what_was_fitted_in_one_drive_is_the_same_in_its_siblings() -> None:
    found = load_drive("samsung-950-pro-512")
    for sibling in ("samsung-950-pro-256", "samsung-sm951-ahci-512", "samsung-sm951-nvme-256"):
        other = load_drive(sibling)
        assert other.thermal.links["die"].k_per_w.value == found.thermal.links["die"].k_per_w.value
