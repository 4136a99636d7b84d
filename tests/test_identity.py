"""Which drive something is of: one rule for logs, recordings, histories, racks and twins."""

import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from command import heatsoak_here
from compared import falling, run, steady
from heatsoak.history import History, history, update
from heatsoak.identity import DriveIdentity, Sameness, node_in, node_of, numbered
from heatsoak.recording import Recording, without_copies

OF = DriveIdentity.of


@pytest.mark.parametrize(
    ("here", "there", "sameness"),
    [
        ({"path": "/dev/nvme1"}, {"path": "nvme1n1"}, "same"),
        ({"path": "/dev/nvme1n1p2"}, {"path": "/dev/nvme1n2"}, "same"),
        ({"path": "/dev/nvme1"}, {"path": "/dev/nvme11n1"}, "another"),
        ({"path": "/dev/sda1"}, {"path": "sda"}, "same"),
        ({"path": "/dev/sda"}, {"path": "/dev/sdaa"}, "another"),
        ({"path": "/dev/sda"}, {"path": "/dev/nvme0"}, "another"),
        ({"path": "a sda"}, {"path": "b sda"}, "another"),
        ({"path": "a sda"}, {"path": "/dev/sda"}, "same"),
        ({"path": "disk 0"}, {"path": "0 C: D:"}, "same"),
        ({"path": "disk 0"}, {"path": "1 E:"}, "another"),
        ({"path": "disk 0"}, {"path": "/dev/sda"}, "open"),
        ({"path": "/dev/md0"}, {"path": "/dev/sda"}, "open"),
        ({"path": "/dev/disk/by-id/nvme-EXAMPLE_2TB_QX7731"}, {"serial": "QX7731"}, "same"),
        ({"serial": "A1"}, {"serial": "A1", "path": "/dev/sda"}, "same"),
        ({"serial": "A1", "path": "/dev/sda"}, {"serial": "A1", "path": "/dev/sdb"}, "same"),
        ({"serial": "A1", "path": "/dev/sda"}, {"serial": "B2", "path": "/dev/sda"}, "another"),
        ({"serial": "A1", "size_bytes": 10**12}, {"serial": "A1", "size_bytes": 4e12}, "another"),
        ({"serial": "A1", "model": "X 980"}, {"serial": "A1", "model": "980"}, "same"),
        ({"serial": "A1", "model": "X 980"}, {"serial": "A1", "model": "Y 7"}, "another"),
        ({"serial": "XXXXXXXX"}, {"serial": "XXXXXXXX"}, "open"),
        ({"details": {"wwid": "eui.1"}}, {"details": {"wwid": "eui.1"}}, "same"),
        ({"details": {"wwid": "eui.1"}}, {"details": {"wwid": "eui.2"}}, "another"),
        ({"path": "/dev/sda", "model": "X"}, {"path": "/dev/sda", "model": "Y"}, "another"),
        ({"model": "X"}, {"model": "X"}, "open"),
        ({}, {"serial": "A1"}, "open"),
        ({"model": "x", "simulated": True}, {"model": "x", "simulated": True}, "same"),
        ({"model": "x", "simulated": True}, {"model": "x", "serial": "A1"}, "another"),
    ],
)
def test_two_are_of_one_drive_of_two_or_that_is_open(
    here: dict[str, object], there: dict[str, object], sameness: Sameness
) -> None:
    assert OF(here).compared(OF(there)) == sameness
    assert OF(there).compared(OF(here)) == sameness
    assert (OF(here).contradicted_by(OF(there)) is not None) == (sameness == "another")


def test_limits_tell_drives_apart_that_have_no_number() -> None:
    one, other = OF({}, {"warning_c": 77.0}), OF({}, {"warning_c": 73.0})
    assert one.compared(other) == "another"
    assert one.compared(OF({}, {"warning_c": 76.85})) == "open"  # kelvins, converted otherwise
    assert replace(one, serial="A1").compared(replace(other, serial="A1")) == "same"


def test_names_of_nodes_count_within_one_boot() -> None:
    one, other = OF({"path": "/dev/sda"}, machine="a"), OF({"path": "/dev/sda"}, machine="b")
    assert one.compared(other) == "open"
    assert one.compared(replace(OF({"path": "/dev/sdb"}), machine="b")) == "open"
    assert one.compared(replace(OF({"path": "/dev/sdb"}), machine="a")) == "another"


@pytest.mark.parametrize("name", ["nvme1-smart", "smart_nvme1n1", "log of nvme1", "NVME1"])
def test_a_files_name_names_a_drive(name: str) -> None:
    assert node_in(name) == node_of("/dev/nvme1")


@pytest.mark.parametrize("name", ["nvme-smart", "nvme0-and-nvme1", "heat", "sdcard", "hdd"])
def test_a_files_name_names_none_or_several(name: str) -> None:
    assert node_in(name) is None


@pytest.mark.parametrize("seed", range(200))
def test_drives_of_a_machine_are_never_taken_for_each_other(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(2, 8)
    model = [rng.choice(("EXAMPLE 1TB", "Tallis N7", "Ardent S3 2TB")) for _ in range(count)]
    nodes = rng.sample([f"nvme{n}n1" for n in range(12)] + [f"sd{c}" for c in "abcdefgh"], count)
    serials = [f"S{rng.randrange(10**9):09d}" for _ in range(count)]

    def seen(number: int) -> DriveIdentity:
        """What one of many tools tells of it: by its node, its serial, or both."""
        name = nodes[number]
        names = [
            name,
            f"/dev/{name}",
            name.removesuffix("n1"),
            f"{name}p1" if "n1" in name else name,
        ]
        tells = rng.choice(("node", "serial", "both"))
        drive = {"path": rng.choice(names)} if tells != "serial" else {}
        if tells != "node":
            drive |= {"serial": serials[number]}
        if rng.random() < 0.5:
            drive |= {"model": model[number]}
        return OF(drive)

    for _ in range(20):
        one, other = rng.sample(range(count), 2)
        assert seen(one).compared(seen(other)) != "same"
        assert seen(one).compared(seen(one)) != "another"
    whole = [OF({"path": nodes[n], "serial": serials[n], "model": model[n]}) for n in range(count)]
    again = [OF({"serial": serials[n]}) for n in range(count)]
    assert numbered([*whole, *again]) == [*range(count), *range(count)]


# --- the same run --------------------------------------------------------------------------------


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Two recordings, and a copy of the first."""
    run({"heatsink": "none"}, falling(60, 0.5), seed=1).save(tmp_path / "r" / "bare")
    run({"heatsink": "big"}, steady(2000), seed=2).save(tmp_path / "r" / "cooled")
    shutil.copytree(tmp_path / "r" / "bare", tmp_path / "r" / "copy")
    return tmp_path


def test_a_copy_is_the_same_run_and_another_run_is_not(copied: Path) -> None:
    every = [Recording.open(copied / "r" / name) for name in ("bare", "copy", "cooled", "bare")]
    kept, (said,) = without_copies(every)
    assert [one.path.name for one in kept] == ["bare", "cooled"]
    assert "copy is a copy of" in said
    assert "bare is given twice" in said
    assert without_copies([every[0], every[2]]) == ([every[0], every[2]], [])


@pytest.mark.parametrize("words", [["compare", "--by", "heatsink"], ["analyze"]])
def test_a_copy_counts_once_and_it_is_said_in_a_line(copied: Path, words: list[str]) -> None:
    command, *options = words
    alone = heatsoak_here(command, "r/bare", "r/cooled", *options, cwd=copied)
    both = heatsoak_here(command, "r/bare", "r/copy", "r/cooled", *options, cwd=copied)
    assert both.returncode == alone.returncode
    (line,) = [line for line in both.stderr.splitlines() if "copy" in line]
    assert line.endswith("the same run counts once: r/copy is a copy of r/bare")
    shown = both.stdout.splitlines()
    assert [line for line in shown if "heatsoak " not in line] == [
        line for line in alone.stdout.splitlines() if "heatsoak " not in line
    ]


def test_a_history_counts_a_copy_once(copied: Path) -> None:
    def found(name: str) -> History:
        index = copied / f"{name}.parquet"
        update(copied / "r", index, lambda *_: None, lambda _: None)
        return history(index)

    both = found("with")
    shutil.rmtree(copied / "r" / "copy")
    alone = found("without")
    assert (both.left_out.copies, alone.left_out.copies) == (1, 0)
    assert both.left_out.model_copy(update={"copies": 0}) == alone.left_out
    assert both.series == alone.series


def test_a_rack_report_counts_a_copy_once(copied: Path) -> None:
    done = heatsoak_here("rack", "report", "r", "--format", "json", cwd=copied)
    assert "copy is a copy of r/bare" in done.stderr
    assert "r/copy" not in done.stdout
