"""``heatsoak drives --like``: which drive of the catalog is meant, and what is known of it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command import complaint, heatsoak_here
from heatsoak.catalog import (
    Drive,
    Likeness,
    drive_ids,
    like,
    load_drive,
    named_bytes,
    parse_drive,
)
from hypothesis import given
from hypothesis import strategies as st

DRIVES = [load_drive(name) for name in drive_ids()]


def liked(model: str, size_bytes: int | None = None) -> Likeness:
    found = like(model, size_bytes)
    assert found is not None
    return found


def cache_bytes(drive: Drive) -> float:
    assert drive.cache is not None
    return drive.cache.bytes.value


@given(
    st.sampled_from(DRIVES), st.booleans(), st.sampled_from([str, str.upper, str.lower, str.title])
)
def test_every_model_and_every_id_finds_its_own_drive(
    drive: Drive, is_sized: bool, spelt: Callable[[str], str]
) -> None:
    found = liked(spelt(drive.model), drive.user_bytes if is_sized else None)
    assert (found.kind, found.drive.id) == ("model", drive.id)
    by_id = liked(drive.id)
    assert (by_id.kind, by_id.drive.id) == ("model", drive.id)


@given(st.sampled_from(DRIVES), st.sampled_from(["Plus", "EVO", "QVO", "X", "varied"]))
def test_one_more_word_is_another_family(drive: Drive, word: str) -> None:
    found = like(f"{drive.model}, {word}")
    assert found is None or found.kind == "class"


@pytest.mark.parametrize(
    "model",
    [
        "Samsung SSD 970 EVO 1TB",
        "Samsung SSD 970 EVO Plus 1TB",
        "Samsung SSD 980 1TB",
        "Samsung SSD 990 EVO Plus 2TB",
        "WD_BLACK SN850 1TB",
        "WDS200T2X0E-00BCA0",
        "CT4000P3PSSD8",
        "CT2000T710SSD3",
        "Acme 990 PRO 1TB",
        "Gen4 NVMe",
        "1TB",
        "",
        f"Samsung SSD 990 PRO {'9' * 400}TB",
    ],
)
def test_near_misses_are_no_family(model: str) -> None:
    assert like(model) is None


@pytest.mark.parametrize(
    ("model", "drive_id", "size_bytes"),
    [
        ("Samsung SSD 990 PRO 4TB", "samsung-990-pro-2tb", 4000e9),
        ("SAMSUNG 990 Pro with Heatsink 4 TB", "samsung-990-pro-2tb", 4000e9),
        ("CT1000T700SSD3", "crucial-t700-2tb", 1000e9),
        ("Crucial CT1000T700SSD3", "crucial-t700-2tb", 1000e9),
        ("Crucial T700 1TB", "crucial-t700-2tb", 1000e9),
        ("WD_BLACK SN850X 4000GB", "wd-sn850x-2tb", 4000e9),
        ("sn850x 4TB", "wd-sn850x-2tb", 4000e9),
        ("WDC WDS500G3B0C-00AZL0", "wd-sn570-1tb", 500e9),
        ("WDS200T3B0C", "wd-sn570-1tb", 2000e9),
        ("KINGSTON SKC2500M8250G", "kingston-kc2500-1tb", 250e9),
        ("TEAM TM8FPK001T", "teamgroup-z44q-2tb", 1000e9),
    ],
)
def test_another_capacity_is_of_the_family(model: str, drive_id: str, size_bytes: float) -> None:
    found = liked(model)
    assert (found.kind, found.drive.id, found.size_bytes) == ("family", drive_id, size_bytes)


def test_what_a_drive_says_of_its_size_counts_where_its_name_has_none() -> None:
    assert liked("Sabrent Rocket Q").size_bytes is None
    assert liked("Sabrent Rocket Q", 10**12).kind == "model"
    assert liked("Sabrent Rocket Q", 4 * 10**12).kind == "family"


@pytest.mark.parametrize(
    ("model", "size_bytes"),
    [("EXAMPLE SSD 1TB", 1e12), ("Some 980 PRO 500 GB", 5e11), ("WDS500G3B0C", None), ("X", None)],
)
def test_a_model_may_tell_its_capacity_in_a_word(model: str, size_bytes: float | None) -> None:
    assert named_bytes(model) == size_bytes


def test_a_family_of_several_capacities_leaves_the_size_open(tmp_path: Path) -> None:
    assert liked("Samsung SSD 990 PRO").size_bytes is None
    assert liked("CT2000T700SSD3").size_bytes == load_drive("crucial-t700-2tb").user_bytes
    done = heatsoak_here("drives", "--like", "990 PRO", cwd=tmp_path)
    assert done.stdout.startswith("990 PRO: the catalog has its family, as samsung-990-pro-")


def test_a_dynamic_cache_grows_with_the_capacity() -> None:
    two, four = liked("Samsung SSD 990 PRO 2TB"), liked("Samsung SSD 990 PRO 4TB")
    assert two.cache_bytes == cache_bytes(two.drive)
    assert four.cache_bytes == pytest.approx(2 * cache_bytes(two.drive), rel=1e-3)


def test_words_give_the_class() -> None:
    found = liked("NoName Gen4 QLC 4TB")
    assert (found.kind, found.drive.id) == ("class", "pcie4-qlc-2tb")


def test_a_drives_file_may_have_other_names_of_it(small_drive_text: str) -> None:
    drive = parse_drive('also = ["ANOTHER 1TB"]\n' + small_drive_text, "own.toml")
    assert drive.also == ("ANOTHER 1TB",)
    assert "also" not in json.loads(drive.core_json())


def test_the_first_line_answers(tmp_path: Path) -> None:
    done = heatsoak_here("drives", "--like", "CT1000T700SSD3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "CT1000T700SSD3: the catalog has its 2 TB sibling, crucial-t700-2tb"
    assert lines[-1] == "To simulate it: heatsoak run quick --on sim:crucial-t700-2tb"
    known = " ".join(" ".join(lines).split())
    assert "throttles from 81 C states as warning 87 C states as critical 89 C" in known


def test_what_is_not_published_is_said_to_be_assumed(tmp_path: Path) -> None:
    done = heatsoak_here("drives", "--like", "SN850X 4TB", "--format", "json", cwd=tmp_path)
    row = json.loads(done.stdout)
    assert row["cache_bytes"] > cache_bytes(load_drive("wd-sn850x-2tb"))
    assert {"cache_bytes", "flash_mb_s"} <= set(row["assumed"])
    assert "warning_c" not in row["assumed"]


def test_a_drive_that_reports_another_temperature_than_it_throttles_by(tmp_path: Path) -> None:
    done = heatsoak_here("drives", "--like", "Samsung SSD 950 PRO 512GB", cwd=tmp_path)
    assert "throttles from    a temperature that it does not report" in done.stdout


def test_nothing_like_it_names_the_nearest(tmp_path: Path) -> None:
    said = complaint(heatsoak_here("drives", "--like", "Samsung SSD 970 EVO 1TB", cwd=tmp_path), 2)
    assert "the catalog has no drive like it (did you mean 'Samsung SSD 9" in said


def test_telling_and_restoring_are_two_commands(tmp_path: Path) -> None:
    complaint(heatsoak_here("drives", "--like", "x", "--restore", cwd=tmp_path), 2)
