"""``heatsoak list drives``: which drive of the catalog is meant, and what is known of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import complaint, done_here, heatsoak_here, json_here
from heatsoak.catalog import Drive, Likeness, drive_ids, like, load_drive, named_bytes
from heatsoak.target.place import parse_place
from hypothesis import given
from hypothesis import strategies as st

DATA = Path(__file__).parent / "importer" / "data"
DRIVES = [load_drive(name) for name in drive_ids()]


def liked(model: str, size_bytes: int | None = None) -> Likeness:
    found = like(model, size_bytes)
    assert found is not None
    return found


def row_of(model: str, cwd: Path) -> dict[str, Any]:
    """Return what the command says of a model, as JSON."""
    found: dict[str, Any] = json_here("list", "drives", "--like", model, cwd=cwd)
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
    assert found is None or found.kind == "class" or found.drive.id != drive.id


@pytest.mark.parametrize(
    "model",
    [
        "Samsung SSD 970 QVO 1TB",
        "Samsung SSD 970 EVO Plus2 1TB",
        "Acme 990 PRO 1TB",
        "Kingston 990 PRO 1TB",
        "WD Blue SN590",
        "WD_BLACK SN850P 1TB",
        "CT500T720SSD8",
        "Sabrent Rocket XTRM4",
        "Sabrent Rocket Gen4",
        "HP SSD EX910 1TB",
        "Kingston Fury Renegade G6 1TB",
        "ADATA LEGEND 850 LITE",
        "SP001TBP34A70M28",
        "Gen4 NVMe",
        "1TB",
        "",
        "Toaster",
        f"Samsung SSD 990 PRO {'9' * 400}TB",
        f"Samsung {'1000' * 5000}",
    ],
)
def test_near_misses_are_no_drive(model: str) -> None:
    found = like(model)
    assert found is None or found.kind == "class"


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


def test_a_size_is_that_of_the_name_then_of_the_drive_else_open(tmp_path: Path) -> None:
    assert liked("Sabrent Rocket Q").size_bytes is None
    assert liked("Sabrent Rocket Q", 10**12).kind == "model"
    assert liked("Sabrent Rocket Q", 4 * 10**12).kind == "family"
    assert liked("Samsung SSD 990 PRO").size_bytes is None
    assert liked("CT2000T700SSD3").size_bytes == load_drive("crucial-t700-2tb").user_bytes
    done = heatsoak_here("list", "drives", "--like", "990 PRO", cwd=tmp_path)
    assert done.stdout.startswith("990 PRO: the catalog has its family, as samsung-990-pro-")


@pytest.mark.parametrize(
    ("model", "size_bytes"),
    [("EXAMPLE SSD 1TB", 1e12), ("Some 980 PRO 500 GB", 5e11), ("WDS500G3B0C", None), ("X", None)],
)
def test_a_model_may_tell_its_capacity_in_a_word(model: str, size_bytes: float | None) -> None:
    assert named_bytes(model) == size_bytes


def test_a_dynamic_cache_grows_with_the_capacity() -> None:
    two, four = liked("Samsung SSD 990 PRO 2TB"), liked("Samsung SSD 990 PRO 4TB")
    assert two.cache_bytes == cache_bytes(two.drive)
    assert four.cache_bytes == pytest.approx(2 * cache_bytes(two.drive), rel=1e-3)


@pytest.mark.parametrize(
    ("model", "drive_id", "guessed"),
    [
        ("NoName Gen4 QLC 4TB", "pcie4-qlc-2tb", ()),
        ("PCIe 3.0 QLC without DRAM 512GB", "pcie3-qlc-dramless-1tb", ()),
        ("Acme PCIe 5.0 2TB", "pcie5-tlc-2tb", ("TLC",)),
        ("WD Blue SN590 1TB", "pcie4-tlc-1tb", ("PCIe 4.0", "TLC")),
    ],
)
def test_words_give_the_class(model: str, drive_id: str, guessed: tuple[str, ...]) -> None:
    found = liked(model)
    assert (found.kind, found.drive.id, found.guessed) == ("class", drive_id, guessed)


def test_what_people_own_is_found_by_what_it_is_called() -> None:
    for line in Path(__file__).with_name("owned_drives.txt").read_text().splitlines():
        name, _, family = map(str.strip, line.partition("="))
        if name:
            assert liked(name).drive.id.startswith(family), line
            assert liked(name).kind != "class", line


def test_every_makers_word_is_known() -> None:
    makers = {name.partition("-")[0] for name in drive_ids() if not name.startswith("pcie")}
    assert {like(f"{maker} x") is not None for maker in makers} == {True}


def test_a_listing_of_a_drive_tells_its_model_and_its_own_limits(tmp_path: Path) -> None:
    listing = (DATA / "smartctl" / "nvme-loop-de.txt").read_text("utf-8")
    (tmp_path / "drive.txt").write_text(listing.replace("EXAMPLE NVME 1TB", "WD Blue SN550 1TB"))
    row = row_of("drive.txt", tmp_path)
    assert (row["id"], row["warning_c"], row["critical_c"]) == ("wd-sn550-1tb", 84, 87)
    assert (row["throttles_from_c"], row["tells_more"]) == (84, None)
    assert "warning_c" not in row["assumed"]


def test_a_log_of_an_unknown_drive_gets_its_class_by_its_rates(tmp_path: Path) -> None:
    rows = "\n".join(f"{t},Acme X 1TB,6800,0,{40 + t}" for t in range(60))
    (tmp_path / "log.csv").write_text(f"time_s,model,read_mb_s,write_mb_s,temp_c\n{rows}\n")
    done = heatsoak_here("list", "drives", "--like", "log.csv", cwd=tmp_path)
    told = "Acme X 1TB: the catalog has only its class, pcie4-tlc-1tb (TLC by guess)"
    assert done.stdout.startswith(told), done.stdout


def test_a_drives_file_may_have_other_names_of_it(tmp_path: Path, small_drive_text: str) -> None:
    (tmp_path / "own.toml").write_text('also = ["ANOTHER 1TB"]\n' + small_drive_text)
    drive = load_drive(str(tmp_path / "own.toml"))
    assert drive.also == ("ANOTHER 1TB",)
    assert "also" not in json.loads(drive.core_json())


def test_the_first_line_answers(tmp_path: Path) -> None:
    done = done_here("list", "drives", "--like", "CT1000T700SSD3", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert lines[0] == "CT1000T700SSD3: the catalog has its 2 TB sibling, crucial-t700-2tb"
    assert lines[-1] == "To simulate it: heatsoak run quick --on sim:crucial-t700-2tb"
    known = " ".join(" ".join(lines).split())
    assert "throttles from 81 C states as warning 87 C states as critical 89 C" in known


def test_what_is_not_published_or_measured_is_said_to_be_assumed(tmp_path: Path) -> None:
    row = row_of("SN550", tmp_path)
    assert row["basis"] == "data sheet"
    assert {"throttles_from_c", "warning_c", "cache_bytes", "flash_mb_s"} <= set(row["assumed"])
    assert "smartctl -a" in row["tells_more"]
    row = row_of("SN850X 4TB", tmp_path)
    assert row["cache_bytes"] > cache_bytes(load_drive("wd-sn850x-2tb"))
    assert {"cache_bytes", "flash_mb_s"} <= set(row["assumed"])
    assert "warning_c" not in row["assumed"]


def test_a_drive_that_reports_another_temperature_than_it_throttles_by(tmp_path: Path) -> None:
    done = heatsoak_here("list", "drives", "--like", "Samsung SSD 950 PRO 512GB", cwd=tmp_path)
    assert "throttles from    a temperature that it does not report" in done.stdout


def test_a_drive_is_named_by_its_model_wherever_by_its_id(tmp_path: Path) -> None:
    for called, drive_id in (
        ("WD_BLACK SN850X 2000GB", "wd-sn850x-2tb"),
        ("KINGSTON SNV2S1000G", "kingston-nv2-1tb"),
        ("sk hynix platinum p41 1tb", "skhynix-p41-1tb"),
        ("WD Blue SN570 1TB", "wd-sn570-1tb"),
    ):
        assert load_drive(called) == load_drive(drive_id)
        place = parse_place(f"sim:{called}@laptop")
        assert (place.text, place.drive) == (f"sim:{drive_id}@laptop", drive_id)
    said = [
        heatsoak_here("predict", name, "--for", "1s", cwd=tmp_path).stdout
        for name in (called, drive_id)
    ]
    assert said[0] == said[1] != ""


@pytest.mark.parametrize(
    ("called", "said"),
    [
        ("SK hynix Platinum P41", "drive called '{}' (did you mean 'skhynix-p41-"),
        ("970 EVO Plus 2TB", "drive of that capacity called '{}' (did you mean 'sam"),
        ("Gen4 QLC 2TB", "there is no simulated drive '{}'"),
    ],
)
def test_another_capacity_or_class_is_not_taken_for_it(
    tmp_path: Path, called: str, said: str
) -> None:
    for words in (("predict", called), ("run", "quick", "--on", f"sim:{called}")):
        assert said.format(called) in complaint(heatsoak_here(*words, cwd=tmp_path), 2)


def test_a_file_comes_before_a_model_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "WD Blue SN570 1TB").write_text("base = 'samsung-950-pro-512'\nmodel = 'mine'\n")
    assert load_drive(str(tmp_path / "WD Blue SN570 1TB")).model == "mine"
    words = ("predict", "WD Blue SN570 1TB", "--for", "1s", "--format", "json")
    assert json.loads(heatsoak_here(*words, cwd=tmp_path).stdout)["drive"] == "mine"


def test_nothing_like_it_says_what_would_be(tmp_path: Path) -> None:
    said = complaint(heatsoak_here("list", "drives", "--like", "samsun-990-pro", cwd=tmp_path), 2)
    assert "the catalog has no drive like it (did you mean 'samsung-990-pro-" in said
    assert "say it, as in 'Gen4 QLC 2TB', or give a file with its smartctl -a" in said
    # nor are telling and restoring one command
    complaint(heatsoak_here("list", "drives", "--like", "x", "--restore", cwd=tmp_path), 2)
    complaint(heatsoak_here("list", "drives", "--known", "--restore", cwd=tmp_path), 2)


def test_all_known_drives_are_listed_by_what_is_known_of_them(tmp_path: Path) -> None:
    done = heatsoak_here("list", "drives", "--known", cwd=tmp_path)
    measured, _, rest = done.stdout.partition("classes, what such drives have in common")
    classes, _, sheets = rest.partition("data sheets on figures of a class, not measured")
    assert "sim:samsung-990-pro-2tb" in measured
    assert "sim:pcie4-qlc-2tb" in classes
    assert "sim:samsung-970-evo-plus-1tb" in sheets
    usual = heatsoak_here("list", "drives", cwd=tmp_path).stdout
    assert "sim:samsung-970-evo-plus-1tb" not in usual
    assert "heatsoak list drives --known lists" in usual
