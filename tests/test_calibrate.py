import re
import shutil
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import pytest
from heatsoak.errors import UsageError
from heatsoak.twin.calibrate import (
    DRIVE_FILE,
    MOST_PARAMETERS,
    PLACES_FILE,
    Calibration,
    calibrate,
    check,
    write,
)


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


def spoil(directory: Path) -> None:
    """Put every fitted number in the middle of its bounds, rounded."""
    found = check(directory)
    for parameter in found.parameters:
        object.__setattr__(parameter, "value", round(sum(parameter.bounds) / 2, 3))
    write(found, directory)


def squared_error(result: Calibration) -> float:
    fitted = [row for row in result.rows if row.role == "fitted"]
    return float(np.sum([(row.error / (row.limits[1] - row.limits[0])) ** 2 for row in fitted]))


def test_the_catalog_reproduces_the_published_matrix() -> None:
    found = check()
    assert len(found.parameters) <= MOST_PARAMETERS
    onsets, depths, temperatures = (
        found.held(metric) for metric in ("onset_s", "depth_pct", "temp_c")
    )
    assert onsets[1] == depths[1] == 14
    assert temperatures == (3, 3)
    assert onsets[0] >= 10
    assert depths[0] >= 10


def test_fitted_numbers_stay_within_their_physical_bounds() -> None:
    for parameter in check().parameters:
        low, high = parameter.bounds
        assert low <= parameter.value <= high, parameter.name


@pytest.mark.slow
def test_a_short_fit_improves_on_the_middle_of_the_bounds(own_catalog: Path) -> None:
    spoil(own_catalog)
    before = check(own_catalog)
    seen: list[float] = []
    after = calibrate(
        starts=1, iterations=6, catalog_dir=own_catalog, progress=lambda part, _: seen.append(part)
    )
    assert squared_error(after) < squared_error(before) / 5
    assert after.held("onset_s")[0] > before.held("onset_s")[0]
    assert seen == sorted(seen)
    assert 0 <= seen[0] <= seen[-1] <= 1
    write(after, own_catalog)
    assert [row.simulated for row in check(own_catalog).rows] == [
        row.simulated for row in after.rows
    ]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_fit(own_catalog: Path) -> None:
    first, second = (
        calibrate(starts=2, iterations=2, seed=3, catalog_dir=own_catalog) for _ in range(2)
    )
    assert first.parameters == second.parameters
    assert first.as_dict()["rows"] == second.as_dict()["rows"]


@pytest.mark.slow
def test_cells_held_out_are_said_to_be() -> None:
    cell = "puget.top.1gpu.idle"
    found = calibrate(starts=1, iterations=1, hold_out=[cell])
    held_out = {row.id for row in found.rows if row.role == "held-out"}
    assert {f"{cell}.onset_s", f"{cell}.depth_pct"} <= held_out
    assert found.figures_fitted == len(found.rows) - len(held_out)
    with pytest.raises(UsageError, match=r"did you mean 'puget\.top\.1gpu\.idle'"):
        calibrate(hold_out=["puget.top.1gpu.idel"])


def test_writing_changes_nothing_but_the_fitted_numbers(own_catalog: Path) -> None:
    before = [(own_catalog / name).read_text("utf-8") for name in (DRIVE_FILE, PLACES_FILE)]
    found = check(own_catalog)
    write(found, own_catalog)
    after = [(own_catalog / name).read_text("utf-8") for name in (DRIVE_FILE, PLACES_FILE)]
    blank = re.compile(r"value = [^,]*, fitted")
    assert [blank.sub("", text) for text in before] == [blank.sub("", text) for text in after]
    assert check(own_catalog).rows == found.rows


@pytest.mark.parametrize(
    ("file", "pattern", "replacement"),
    [
        (DRIVE_FILE, r"(seq_read_w = \{ value = )7\.0", r"\g<1>6.0"),
        (PLACES_FILE, r"(room_c = \{ value = )25", r"\g<1>30"),
    ],
)
def test_a_number_of_the_catalog_moves_the_figures(
    own_catalog: Path, file: str, pattern: str, replacement: str
) -> None:
    before = check(own_catalog)
    edit(own_catalog / file, pattern, replacement)
    after = check(own_catalog)
    moved = [
        abs(one.simulated - other.simulated)
        for one, other in zip(before.rows, after.rows, strict=True)
    ]
    assert max(moved) > 1


def test_a_fit_can_be_interrupted(own_catalog: Path) -> None:
    def stop(_part: float, _text: str) -> None:
        raise KeyboardInterrupt

    before = (own_catalog / PLACES_FILE).read_text("utf-8")
    with pytest.raises(KeyboardInterrupt):
        calibrate(catalog_dir=own_catalog, progress=stop)
    assert (own_catalog / PLACES_FILE).read_text("utf-8") == before


def test_more_fitted_numbers_than_allowed_are_refused(own_catalog: Path) -> None:
    edit(
        own_catalog / PLACES_FILE,
        r"room_c = .*",
        "room_c = { value = 25, fitted = true, bounds = [20, 30] }",
    )
    edit(
        own_catalog / DRIVE_FILE,
        r"lag_s = .*",
        "lag_s = { value = 5, fitted = true, bounds = [1, 20] }",
    )
    with pytest.raises(UsageError, match="24 at most"):
        check(own_catalog)


def test_a_directory_that_is_no_catalog_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        check(tmp_path)
    with pytest.raises(UsageError, match="cannot be read"):
        write(check(), tmp_path)
