import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from heatsoak import catalog
from heatsoak.errors import UsageError
from heatsoak.target.simulated import make_core

DRIVE = "samsung-950-pro-512"
ROOT = files("heatsoak.catalog")
SLOTS = {"bottom": (1, 2), "top": (1, 2), "upright": (1, 2), "underside": (1,)}


def drive_text() -> str:
    return (ROOT / "drives" / f"{DRIVE}.toml").read_text("utf-8")


def bare_numbers(table: Any, path: str = "") -> Iterator[str]:
    """Every number that stands without a provenance, but for labels."""
    if isinstance(table, dict):
        if "value" in table:
            if sum(key in table for key in ("source", "fitted", "assumed")) != 1:
                yield path
            return
        for key, value in table.items():
            if key != "conditions":
                yield from bare_numbers(value, f"{path}.{key}")
    elif isinstance(table, int | float):
        yield path


def test_every_number_says_where_it_comes_from() -> None:
    for folder in ("drives", "enclosures"):
        for entry in (ROOT / folder).iterdir():
            if entry.name.endswith(".toml"):
                assert list(bare_numbers(tomllib.loads(entry.read_text("utf-8")))) == []


def test_the_places_of_the_puget_matrix_are_there() -> None:
    expected = {
        f"puget-{slot}-{gpus}gpu-{load}"
        for slot, counts in SLOTS.items()
        for gpus in counts
        for load in ("idle", "loaded")
    }
    ids = set(catalog.enclosure_ids())
    assert len(expected) == 14
    assert expected | {"open-bench"} <= ids
    assert {cell.enclosure for cell in catalog.published().cells} == expected


def test_every_drive_works_in_every_place() -> None:
    for drive_id in catalog.drive_ids():
        drive = catalog.load_drive(drive_id)
        assert drive.id == drive_id
        assert drive.enclosure in catalog.enclosure_ids()
        for place_id in catalog.enclosure_ids():
            place = catalog.load_enclosure(place_id)
            assert place.id == place_id
            assert make_core(drive, place).user_bytes == drive.user_bytes


def test_a_loaded_chassis_is_warmer_in_every_slot() -> None:
    for slot, counts in SLOTS.items():
        for gpus in counts:
            idle, loaded = (
                catalog.load_enclosure(f"puget-{slot}-{gpus}gpu-{load}")
                for load in ("idle", "loaded")
            )
            assert idle.air_c.value < loaded.air_c.value


def test_the_drive_carries_its_rated_figures() -> None:
    drive = catalog.load_drive(DRIVE)
    assert drive.model == "Samsung SSD 950 PRO 512GB"
    assert drive.user_bytes == 512_110_190_592
    assert drive.raw_bytes - drive.user_bytes == pytest.approx(37.6e9, rel=0.01)
    assert drive.endurance_bytes == 400e12
    assert (drive.read_mb_s, drive.write_mb_s) == (2500, 1500)


def test_all_published_figures_are_there_with_their_articles() -> None:
    figures = catalog.published()
    assert len(figures.cells) == 14
    counted = [figure for figure in figures.figures if figure.counted]
    assert len(counted) + 2 * len(figures.cells) == 73
    without_traces = [figure for figure in counted if figure.needs != "traces"]
    assert len(without_traces) + 2 * len(figures.cells) == 66
    ids = [figure.id for figure in figures.figures]
    assert len(ids) == len(set(ids))
    assert figures.figure("850pro.randwrite_cliff_gb").range == (37, 37)
    with pytest.raises(KeyError):
        figures.figure("nothing")


def test_a_tolerance_is_added_to_each_end_and_never_more_than_a_quarter() -> None:
    wide = catalog.puget_cell("bottom", 1, "idle")
    assert wide is not None
    assert wide.onset_limits_s == (47, 63)
    assert wide.onset_holds(47)
    assert not wide.onset_holds(46.9)
    assert wide.depth_holds(44)
    assert not wide.depth_holds(44.1)
    soon = catalog.puget_cell("top", 2, "loaded")
    assert soon is not None
    assert soon.onset_limits_s == (5.25, 8.75)
    assert catalog.puget_cell("underside", 2, "idle") is None


@pytest.mark.parametrize(
    ("load", "wrong", "meant"),
    [
        (catalog.load_drive, "samsung-950-pro-521", DRIVE),
        (catalog.load_enclosure, "puget-top-2gpu-laoded", "puget-top-2gpu-loaded"),
    ],
)
def test_an_unknown_id_is_answered_with_the_nearest(load: Any, wrong: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"did you mean '{meant}'"):
        load(wrong)


def test_a_file_of_ones_own_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(drive_text().replace("value = 2500", "value = 3500"), "utf-8")
    drive = catalog.load_drive(str(path))
    assert drive.id == str(path)
    assert drive.read_mb_s == 3500
    place = tmp_path / "desk.toml"
    place.write_text((ROOT / "enclosures" / "open-bench.toml").read_text("utf-8"), "utf-8")
    assert catalog.load_enclosure(str(place)).air_c.value == 25


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("idle_w =", "idel_w =", "unknown key 'idel_w' in power (did you mean 'idle_w'?)"),
        ("[sensor]", "[sensro]", "unknown key 'sensro' (did you mean 'sensor'?)"),
        ("value = 2500", "value = nan", "service.seq_read_mb_s.value"),
        ("value = 2500", "value = '2500'", "service.seq_read_mb_s.value"),
        ("{ value = 400,", "400 # {", "endurance_tb: a number needs its provenance"),
        ("fitted = true", "value2 = true", "unknown key 'value2'"),
        ("bounds = [78, 82]", "bounds = [90, 91]", "governor.limit_c"),
        ("[power]", "[power", "not valid TOML"),
    ],
)
def test_a_bad_file_is_answered_with_its_name_and_key(
    tmp_path: Path, old: str, new: str, named: str
) -> None:
    path = tmp_path / "mine.toml"
    assert old in drive_text()
    path.write_text(drive_text().replace(old, new, 1), "utf-8")
    with pytest.raises(UsageError) as caught:
        catalog.load_drive(str(path))
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert named in message
    assert "\n" not in message


def test_a_file_that_cannot_be_read_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        catalog.load_drive(str(tmp_path / "nothing.toml"))
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="UTF-8"):
        catalog.load_enclosure(str(binary))
    with pytest.raises(UsageError, match="cannot be read"):
        catalog.load_drive(str(tmp_path) + "/../" + tmp_path.name + "/binary.toml/x.toml")


def test_a_file_of_many_places_is_not_one_place(tmp_path: Path) -> None:
    path = tmp_path / "many.toml"
    path.write_text((ROOT / "enclosures" / "puget.toml").read_text("utf-8"), "utf-8")
    with pytest.raises(UsageError, match="many places"):
        catalog.load_enclosure(str(path))
