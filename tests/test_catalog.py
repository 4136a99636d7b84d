import json
import tomllib
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from heatsoak import catalog
from heatsoak._core import Drive as Core
from heatsoak._core import Lumped
from heatsoak.catalog.families import family_of
from heatsoak.catalog.left_out import fitted_numbers
from heatsoak.catalog.loader import own_tables
from heatsoak.errors import UsageError
from heatsoak.protocol import WorkloadStep
from heatsoak.target.simulated import SimulatedTarget, make_core

DRIVE = "samsung-950-pro-512"
ROOT = files("heatsoak.catalog")
SLOTS = {"bottom": (1, 2), "top": (1, 2), "upright": (1, 2), "underside": (1,)}


DRIVE_TEXT = (ROOT / "drives" / f"{DRIVE}.toml").read_text("utf-8")


def bare_numbers(table: Any, path: str = "") -> Iterator[str]:
    """Every number that stands without a provenance, but for labels and numbers of states."""
    if isinstance(table, dict):
        if "value" in table:
            if sum(key in table for key in ("source", "fitted", "assumed")) != 1:
                yield path
            return
        for key, value in table.items():
            if key not in ("conditions", "state"):
                yield from bare_numbers(value, f"{path}.{key}")
    elif isinstance(table, list):
        for entry in table:
            yield from bare_numbers(entry, path)
    elif isinstance(table, int | float) and not isinstance(table, bool):
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


def test_every_drive_and_place_is_there_under_its_id() -> None:
    drives, places = (
        {entry.name.removesuffix(".toml") for entry in (ROOT / folder).iterdir()}
        for folder in ("drives", "enclosures")
    )
    assert drives <= set(catalog.drive_ids())
    assert places - {"puget"} <= set(catalog.enclosure_ids())
    for drive_id in catalog.drive_ids():
        drive = catalog.load_drive(drive_id)
        assert drive.id == drive_id
        assert drive.enclosure in catalog.enclosure_ids()
    for place_id in catalog.enclosure_ids():
        place = catalog.load_enclosure(place_id)
        assert place.id == place_id
        assert place.description
        assert place.conditions


def test_published_figures_have_articles_and_drives_and_roles_have_figures() -> None:
    figures, roles = catalog.published(), catalog.roles()
    for figure in figures.figures:
        assert set(figure.drives) <= set(catalog.drive_ids())
    articles = {cell.article for cell in figures.cells} | {one.article for one in figures.figures}
    assert articles <= set(figures.articles)
    ids = catalog.figure_ids()
    for known in (*roles.fitted, *roles.held_out):
        assert any(name == known or name.startswith(f"{known}.") for name in ids)
    assert len(figures.cells) == 14
    counted = [figure for figure in figures.figures if figure.counted]
    assert len(counted) + 2 * len(figures.cells) == 73
    assert all(figure.measured is not None for figure in counted)
    assert len(ids) == len(set(ids))
    assert figures.figure("850pro.randwrite_cliff_gb").range == (37, 37)
    with pytest.raises(KeyError):
        figures.figure("nothing")


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(n, marks=pytest.mark.soak) for n in range(1, 6))]
)
def test_every_drive_works_in_every_place(part: int) -> None:
    places = [catalog.load_enclosure(name) for name in catalog.enclosure_ids()]
    for number, drive in enumerate(map(catalog.load_drive, catalog.drive_ids())):
        own = catalog.load_enclosure(drive.enclosure)
        for place in (own, *places[(number + part) % 6 :: 6]):
            # heat, governor and every number, without tables of gigabytes for each place
            Lumped(drive.core_json(), place.core_json())
        if drive.base is None and part == 0:
            assert make_core(drive, own).user_bytes == drive.user_bytes


@pytest.mark.parametrize("drive_id", catalog.drive_ids())
def test_a_drives_parts_are_as_fast_as_it_is_rated(drive_id: str) -> None:
    drive = catalog.load_drive(drive_id)
    nand, controller = drive.nand, drive.controller
    channels_mb_s = nand.channels.value * nand.channel_mb_s.value
    unit_bytes, program_us = nand.unit_bytes.value, nand.program_us.value
    if drive.cache is not None:
        unit_bytes, program_us = unit_bytes / drive.cache.bits.value, drive.cache.program_us.value
    program_mb_s = nand.dies.value * unit_bytes / program_us
    read_iops = min(
        1e6 / controller.read_command_us.value, nand.dies.value / nand.read_us.value * 1e6
    )
    assert min(controller.read_mb_s.value, channels_mb_s) == pytest.approx(
        drive.read_mb_s, rel=0.03
    )
    write_mb_s = min(controller.write_mb_s.value, channels_mb_s, program_mb_s)
    assert write_mb_s == pytest.approx(drive.write_mb_s, rel=0.03)
    assert read_iops == pytest.approx(drive.read_iops, rel=0.03)
    # the 850 PRO's is fitted to what an article saw
    write_iops = 1e6 / controller.write_command_us.value
    assert write_iops == pytest.approx(drive.write_iops, rel=0.1)


@pytest.mark.parametrize("drive_id", catalog.drive_ids())
def test_a_drives_flash_is_cut_into_blocks_that_fit(drive_id: str) -> None:
    drive = catalog.load_drive(drive_id)
    block = int(drive.nand.block_bytes.value)
    reserve = drive.capacity.reserve_bytes
    usable = drive.raw_bytes - (int(reserve.value) if reserve else 0)
    assert block & (block - 1) == 0
    assert usable // block >= 1000
    assert usable - drive.user_bytes > 10 * block
    assert drive.nand.channels.value <= drive.nand.dies.value
    assert drive.nand.unit_bytes.value % 4096 == 0


@pytest.mark.parametrize(
    ("drive_id", "spare_gb"),
    [
        ("samsung-950-pro-512", 37.6),
        ("samsung-950-pro-256", 18.8),
        ("samsung-sm951-ahci-512", 37.6),
        ("samsung-sm951-nvme-256", 18.8),
        ("samsung-850-pro-512", 37.6),
        # what an article saw written, and a few blocks that collection keeps
        ("intel-750-1200-u2", 121.5),
    ],
)
def test_spare_area_is_what_articles_saw_used_up(drive_id: str, spare_gb: float) -> None:
    capacity = catalog.load_drive(drive_id).capacity
    reserve = capacity.reserve_bytes.value if capacity.reserve_bytes else 0
    spare = capacity.raw_bytes.value - reserve - capacity.user_bytes.value
    assert spare / 1e9 == pytest.approx(spare_gb, abs=0.2)


def full_load_w(drive: catalog.Drive, *, reads: bool) -> float:
    """Power at full sequential speed with a controller of 70 C."""
    energy, controller = drive.energy, drive.controller
    doublings = (70 - 25) / energy.leakage_doubling_k.value
    fixed = energy.idle_w.value + energy.active_w.value + energy.leakage_w.value * 2**doublings
    pages = (drive.read_mb_s if reads else drive.write_mb_s) * 1e6 / 4096
    command_us = (controller.read_command_us if reads else controller.write_command_us).value
    command_uj = (energy.read_command_uj if reads else energy.write_command_uj).value
    page_uj = (
        energy.host_read_uj.value + energy.read_uj.value
        if reads
        else energy.host_write_uj.value + energy.program_uj.value + energy.erase_uj.value
    )
    commands = pages / 32
    busy = commands * command_us * 1e-6
    return fixed + busy * energy.busy_w.value + (commands * command_uj + pages * page_uj) * 1e-6


@pytest.mark.parametrize(
    ("drive_id", "least_w", "most_w"),
    [
        ("samsung-950-pro-512", 5.7, 7.3),  # 5.7 W on average, 7.0 W at most, and leakage
        ("samsung-950-pro-256", 4.9, 6.6),  # 5.1 W on average, 6.4 W at most
        ("samsung-sm951-ahci-512", 5, 9),  # power state 0 of the NVMe one: 9.0 W at most
        ("samsung-sm951-nvme-256", 5, 9),
        ("samsung-850-pro-512", 1.5, 3.5),
        ("intel-750-1200-u2", 10, 25),  # 22 W active, a class of 25 W
        ("pcie4-tlc-1tb", 6, 8.5),
        ("pcie5-tlc-2tb", 8, 14),
    ],
)
def test_a_drive_draws_what_its_maker_states(drive_id: str, least_w: float, most_w: float) -> None:
    drive = catalog.load_drive(drive_id)
    for reads in (True, False):
        assert least_w < full_load_w(drive, reads=reads) < most_w


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
    path.write_text(DRIVE_TEXT.replace("value = 2500", "value = 3500"), "utf-8")
    drive = catalog.load_drive(str(path))
    assert drive.id == str(path)
    assert drive.read_mb_s == 3500
    place = tmp_path / "desk.toml"
    place.write_text((ROOT / "enclosures" / "open-bench.toml").read_text("utf-8"), "utf-8")
    assert catalog.load_enclosure(str(place)).air_c.value == 25


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
    with pytest.raises(UsageError, match="several enclosures"):
        catalog.load_enclosure(str(path))


def own(path: Path, text: str) -> str:
    path.write_text(text, "utf-8")
    return str(path)


def test_a_place_on_top_of_another_takes_its_numbers_and_has_its_own(tmp_path: Path) -> None:
    bench, cooled = (catalog.load_enclosure(name) for name in ("anandtech-bench", "wings-px1"))
    dark = catalog.load_enclosure("wings-px1-leds-off")
    assert cooled.air_c == bench.air_c
    assert bench.links.items() <= cooled.links.items()
    assert {"adapter", "heatsink"} == set(cooled.nodes)
    assert cooled.conditions == {"place": "anandtech-bench", "heatsink": "wings-px1"}
    assert dark.links == cooled.links
    assert (cooled.heat_w["heatsink"].value, dark.heat_w["heatsink"].value) == (2, 0)

    desk = own(
        tmp_path / "desk.toml",
        'base = "puget-top-2gpu-loaded"\nair_c = { value = 30, assumed = "a window" }\n',
    )
    windy = own(
        tmp_path / "windy.toml",
        'base = "desk.toml"\nair_speed_m_s = { value = 1, assumed = "a fan" }\n'
        'links.air.k_per_w = { value = 8, source = "measured" }\n',
    )
    place = catalog.load_enclosure(windy)
    assert place.id == windy
    assert place.air_c == catalog.load_enclosure(desk).air_c
    assert place.links["air"].between == ("board", "air")
    assert place.links["air"].k_per_w == catalog.Figure(value=8, source="measured")
    assert place.conditions["slot"] == "top"


OVER_A_CLASS = """
base = "pcie4-tlc-1tb"
model = "Mine"
enclosure = "open-bench"
[rated]
seq_read_mb_s = { value = 6000, source = "data sheet" }
seq_write_mb_s = { value = 4000, source = "data sheet" }
rand_read_iops = { value = 500000, source = "data sheet" }
rand_write_iops = { value = 800000, source = "data sheet" }
write_w = { value = 6, source = "data sheet" }
[capacity]
user_bytes = { value = 2000398934016, source = "data sheet" }
"""


def test_a_drive_is_its_data_sheet_over_its_class(tmp_path: Path) -> None:
    drive = catalog.load_drive(own(tmp_path / "mine.toml", OVER_A_CLASS))
    base = catalog.load_drive("pcie4-tlc-1tb")
    larger = drive.user_bytes / base.user_bytes
    assert drive.raw_bytes == pytest.approx(larger * base.raw_bytes, rel=1e-6)
    assert drive.nand.dies.value == 2 * base.nand.dies.value
    assert drive.cache
    assert base.cache
    assert drive.cache.bytes.value == pytest.approx(larger * base.cache.bytes.value, rel=1e-6)
    assert drive.controller.read_mb_s.value == 6000
    assert drive.controller.write_command_us.value == pytest.approx(1.25)
    assert (drive.thermal, drive.governor) == (base.thermal, base.governor)
    assert drive.controller.write_mb_s.assumed

    target = SimulatedTarget(drive, "fan-fast")
    step = WorkloadStep(name="write", rw="write", bs="128k", iodepth=32, runtime_s=60)
    frames = [frame for frame in target.run(step) if isinstance(frame, pl.DataFrame)]
    power_w = pl.concat(frames)["power_w"].drop_nulls().tail(100).mean()
    assert power_w == pytest.approx(6, rel=0.05)


def test_a_drive_may_have_no_cache_and_another_limit_than_its_class(tmp_path: Path) -> None:
    text = OVER_A_CLASS.replace("pcie4-tlc-1tb", "pcie4-tlc-2tb").replace(
        'enclosure = "open-bench"', 'enclosure = "open-bench"\ncache = "none"'
    )
    text += "[governor.law]\nengage_c = { value = 70, source = 'data sheet' }\n"
    drive, base = catalog.load_drive(own(tmp_path / "mine.toml", text)), "pcie4-tlc-2tb"
    assert drive.cache is None
    flash_mb_s = drive.nand.dies.value * drive.nand.unit_bytes.value / drive.nand.program_us.value
    assert flash_mb_s == pytest.approx(drive.write_mb_s)
    law = catalog.load_drive(base).governor.law
    assert law.kind == "band"
    assert drive.governor.law == law.model_copy(update={"engage_c": drive.governor.begins})
    assert drive.governor.begins.value == 70


@pytest.mark.parametrize("drive_id", ["wd-sn850x-2tb", "crucial-t700-2tb"])
def test_a_drive_left_out_has_what_was_expected_of_it(drive_id: str) -> None:
    fitted = list(fitted_numbers(own_tables(drive_id)))
    assert fitted
    drive, predicted = catalog.load_drive(drive_id), catalog.left_out(drive_id)
    assert predicted.rated.seq_read_mb_s == drive.rated.seq_read_mb_s
    for number in fitted:
        here: Any = predicted
        for key in number.path:
            here = getattr(here, key)
        assert not here.fitted
        low, high = number.bounds
        assert low <= here.value <= high


def test_places_of_a_catalog_may_not_go_round_in_a_circle() -> None:
    with pytest.raises(UsageError, match=r"one: base: is circular: one -> two -> one"):
        catalog.parse_enclosures({"one": 'base = "two"', "two": 'base = "one"'})
    with pytest.raises(UsageError, match=r"one: base: there is no place 'three'"):
        catalog.parse_enclosures({"one": 'base = "three"'})


# ---- what is refused


OVER_A_DRIVE = f"base = '{DRIVE}'\nmodel = 'x'\n# more\n"


def refused(load: Callable[[str], object], path: Path, text: str) -> str:
    """Return what is said of a file of such a text."""
    with pytest.raises(UsageError) as caught:
        load(own(path, text))
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


#: Files that are wrong where a part of them is another.
TEXTS = {"own": DRIVE_TEXT, "class": OVER_A_CLASS, "over": OVER_A_DRIVE}


@pytest.mark.parametrize(
    ("text", "old", "new", "named"),
    [
        ("own", "idle_w =", "idel_w =", "'idel_w' in energy (did you mean 'idle_w'?)"),
        ("own", "[energy]", "[energie]", "unknown key 'energie' (did you mean 'energy'?)"),
        ("own", "value = 2500", "value = nan", "rated.seq_read_mb_s.value"),
        ("own", "value = 2500", "value = '2500'", "rated.seq_read_mb_s.value"),
        ("own", "{ value = 32", "{ value = 32.5", "nand.dies is 32.5: it must be a whole"),
        ("own", 'pacing = "victim"', 'pacing = "fair"', "collection.pacing"),
        ("own", "{ value = 400,", "400 # {", "endurance_tb: a number needs its provenance"),
        ("own", "fitted = true", "value2 = true", "unknown key 'value2'"),
        ("own", "bounds = [77, 82]", "bounds = [90, 91]", "engage_c"),
        ("own", "[energy]", "[energy", "not valid TOML"),
        ("own", "[energy]", f"x = {'[' * 5000}\n[energy]", "nested too deeply"),
        ("own", "value = 2500", f"value = {'9' * 5000}", "has a number or date that is none"),
        ("own", "value = 2500", "value = 0", "seq_read_mb_s: must be more than 0 (is 0)"),
        ("own", "value = 2500", "value = -1", "seq_read_mb_s: must be more than 0 (is -1)"),
        ("own", "512110190592", "9" * 30, "capacity.user_bytes is 1e+30"),
        ("own", "entry_us = { value = 500", "entry_us = { value = 1e12", "60,000,000 us at most"),
        ("class", "pcie4-tlc-1tb", "pcie4-tlc-1bt", "no drive 'pcie4-tlc-1bt' (did you"),
        ("class", '"pcie4-tlc-1tb"', "3", "base: must be the id of a drive (is 3)"),
        ("class", "pcie4-tlc-1tb", "mine.toml", "base: is circular: "),
        ("class", "{ value = 6,", "{ value = 0.1,", "is 0.1 W, but at rest and warm it draws"),
        ("class", "[capacity]", "[capacities]", "unknown key 'capacities'"),
        ("over", "# more", "[rated]\nread_w = 5", "a number needs its provenance"),
        ("over", "# more", "rated.read_w = { value = '5', assumed = 'x' }", "rated.read_w.value"),
        ("over", "# more", "energy = 5\n[rated.read_w]\nvalue = 5\nassumed = 'x'", "energy"),
        ("over", "# more", "capacity = 5", "capacity"),
        ("over", "# more", "[rated]\nseq_read_mb_s = { value = 0, assumed = 'x' }", "must be more"),
    ],
)
def test_a_bad_drive_is_answered_with_its_file_and_key(
    tmp_path: Path, text: str, old: str, new: str, named: str
) -> None:
    assert old in TEXTS[text]
    changed = TEXTS[text].replace(old, new, 1)
    assert named in refused(catalog.load_drive, tmp_path / "mine.toml", changed)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            'base = "open-bensh"',
            "base: there is no place 'open-bensh' (did you mean 'open-bench'?)",
        ),
        ('base = "nowhere.toml"', "base: there is no place 'nowhere.toml'"),
        ("base = 3", "base: must be the id of an enclosure (is 3)"),
        ('base = "mine.toml"', "base: is circular: "),
        ('base = "open-bench"\n[links.air]\nk_per_w = 3', "links.air.k_per_w: a number needs"),
        ('base = "open-bench"\nbases = 3', "unknown key 'bases'"),
        (
            'base = "puget-top-2gpu-loaded"\nair_speed_m_s = { value = 2, assumed = "a fan" }',
            "air_speed_m_s: no way to the air of 'puget-top-2gpu-loaded' answers to moving air",
        ),
    ],
)
def test_a_bad_place_is_answered_with_its_file_and_key(
    tmp_path: Path, text: str, named: str
) -> None:
    assert named in refused(catalog.load_enclosure, tmp_path / "mine.toml", text)


def test_drives_throttle_where_others_of_their_controller_do() -> None:
    of_no_family = 0
    for drive in map(catalog.load_drive, catalog.drive_ids()):
        family = family_of(drive.family, drive.model, *drive.also)
        of_no_family += drive.basis != "class" and not family.controller
        warning = drive.limits and drive.limits.wctemp_c
        if drive.basis == "data sheet":
            begins = family.starts(warning.value if warning else None) or {"value": None}
            assert begins["value"] in (None, drive.governor.begins.value), drive.id
    assert of_no_family == 69


def test_a_drive_names_its_controllers_family() -> None:
    named = {"kingston-nv2-1tb": "phison-e21t", "samsung-pm983-960": "samsung-phoenix"}
    named |= {"skhynix-pc711-512": "skhynix-p31", "wd-sn8100-2tb": "smi-sm2508-wd"}
    for drive_id, family in named.items():
        drive = catalog.load_drive(drive_id)
        assert family_of(drive.family, drive.model, *drive.also) is family_of(family), drive_id


def test_what_a_file_gives_comes_before_its_family(tmp_path: Path) -> None:
    path, weights = tmp_path / "mine.toml", "weights = { nand = { value = 1, assumed = 'x' } }\n"
    text = "base = 'wd-sn770-1tb'\nmodel = 'SN770'\nenclosure = 'open-bench'\n"
    path.write_text(f"{text}[governor]\n{weights}[sensors.composite]\n{weights}")
    drive = catalog.load_drive(str(path))
    assert drive.governor.begins == catalog.load_drive("wd-sn770-1tb").governor.begins
    for seeing in (drive.governor, drive.sensors["composite"]):
        assert [*seeing.weights, *seeing.hottest] == ["nand"]
    path.write_text(f"{text}family = 'phison-e21'\n")
    with pytest.raises(UsageError, match="did you mean 'phison-e21t'"):
        catalog.load_drive(str(path))


def test_a_drive_draws_its_rated_power_also_where_its_class_draws_more() -> None:
    frugal = catalog.load_drive("wd-sn8100-2tb")
    core = Core(frugal.core_json(), catalog.load_enclosure("open-bench").core_json(), 0)
    load = {"bs": 131072, "iodepth": 64, "span_bytes": 1 << 34, "runtime_s": 2.0}
    for rw, rated in (("write", frugal.rated.write_w), ("read", frugal.rated.read_w)):
        core.begin(json.dumps([load | {"rw": rw}]))
        assert core.advance(2.0, 1.0)["power_w"][-1] == pytest.approx(rated.value, rel=0.1)  # type: ignore[union-attr]
        core.end()
