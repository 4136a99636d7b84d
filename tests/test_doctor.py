"""What `heatsoak doctor` says is here and missing, on machines with and without."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command import complaint, heatsoak_here, json_here, ran
from heatsoak.doctor.facts import ROWS
from machine import Machine
from needs import needs, needs_root
from other_user import as_other_user

#: The namespace of all processes, which most containers have not.
EVERYTHING = "pid:[4026531836]"
ROOT = f"CapEff:\t{(1 << 40) - 1:016x}"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine without any drive, whose root may do everything."""
    made = Machine(tmp_path / "machine")
    made.write(made.roots.proc / "self", status=ROOT)
    (made.roots.proc / "2" / "ns").mkdir(parents=True)
    (made.roots.proc / "2" / "ns" / "pid").symlink_to(EVERYTHING)
    monkeypatch.setattr("heatsoak.cli.overview.Roots", lambda: made.roots)
    return made


@pytest.fixture
def without_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No program of the table is installed, in none of the places that are searched."""
    monkeypatch.setattr("heatsoak.tools.LOCAL", ())
    monkeypatch.setattr("heatsoak.tools.SYSTEM", (str(tmp_path / "none"),))
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    monkeypatch.delenv("HEATSOAK_TOOLS", raising=False)


def checkup(cwd: Path, *words: str) -> Any:
    return json_here("doctor", *words, cwd=cwd)


def fact(document: Any, name: str) -> Any:
    return next(row for row in document["facts"] if row["name"] == name)


@pytest.mark.usefixtures("machine", "without_programs")
def test_without_fio_the_first_line_says_what_works_and_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = heatsoak_here("doctor", cwd=tmp_path)
    first, *others = done.stdout.splitlines()
    assert first == (
        "fio is missing: only simulated drives and logs work here: apt-get install fio"
    )
    last = next(line for line in others if line.startswith("  apt-get install fio "))
    assert {"stress-ng", "nbdkit", "util-linux"} <= set(last.split())
    document = checkup(tmp_path)
    assert document["ready_for"] == "simulated"
    assert fact(document, "fio")["get"] == "apt-get install fio"
    # missing Python packages are named themselves, and in one command
    monkeypatch.setattr("heatsoak.doctor.facts.find_spec", lambda _: None)
    packages = "ocptv distributed"
    assert f"pip install {packages}" in checkup(tmp_path)["get_all"]


@needs_root
@needs("fio")
def test_with_a_drive_that_can_be_opened_drives_can_be_tested(
    tmp_path: Path, machine: Machine
) -> None:
    assert checkup(tmp_path)["ready_for"] == "directories"
    machine.nvme(0, "0000:01:00.0", "S1")
    for node in ("nvme0", "nvme0n1"):
        (machine.roots.dev / node).touch()
    document = checkup(tmp_path)
    assert (document["ready_for"], document["sentence"]) == ("drives", "Ready to test drives here.")
    assert fact(document, "NVMe health log")["state"] == "ok"
    # without the right to send admin commands, as in a container
    machine.write(machine.roots.proc / "self", status="CapEff:\t00000000a80425fb")
    document = checkup(tmp_path)
    assert document["ready_for"] == "directories"
    assert fact(document, "NVMe health log")["state"] == "missing"
    # nor to see who else uses a drive
    view = machine.roots.proc / "2" / "ns" / "pid"
    view.unlink()
    view.symlink_to("pid:[4026532207]")
    found = fact(checkup(tmp_path), "rights")
    assert (found["state"], found["found"]) == (
        "limited",
        "root, but not allowed to see who else uses a drive",
    )


@needs_root
def test_a_container_is_to_be_given_a_spare_drive_never_one_in_use(
    tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("container", "docker")
    machine.write(machine.roots.proc / "2", mountinfo="")
    machine.write(machine.roots.proc, swaps="Filename Type Size Used Priority")
    _, disk = machine.nvme(0, "0000:01:00.0", "S1")
    machine.write(disk / f"{disk.name}p1", partition="1")
    assert "--device" not in json.dumps(checkup(tmp_path))
    machine.nvme(1, "0000:02:00.0", "S2")
    node = machine.roots.dev / "nvme1n1"
    assert f"docker run --device {node} IMAGE" in checkup(tmp_path)["get_all"]


def test_what_is_of_no_use_here_is_not_called_missing(tmp_path: Path, machine: Machine) -> None:
    names = ("drivetemp", "NVMe health log", "graphics cards", "gpu-burn")
    assert {fact(checkup(tmp_path), name)["state"] for name in names} <= {"unneeded", "ok"}
    device = machine.sata("a", 1, "S2")
    found = fact(checkup(tmp_path), "drivetemp")
    assert (found["state"], found["get"]) == ("missing", "modprobe drivetemp")
    machine.hwmon(0, device, "drivetemp", temp1_input=30000)
    assert fact(checkup(tmp_path), "drivetemp")["state"] == "ok"
    machine.write(
        machine.roots.sys / "bus/pci/devices/01", vendor="0x10de", **{"class": "0x030000"}
    )
    assert fact(checkup(tmp_path), "graphics cards")["state"] in ("missing", "ok")


def test_without_sys_or_linux_it_says_what_works(
    tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots = replace(machine.roots, sys=tmp_path / "none", proc=tmp_path / "none")
    monkeypatch.setattr("heatsoak.cli.overview.Roots", lambda: roots)
    found = fact(checkup(tmp_path), "drives")
    assert found["state"] == "missing"
    assert "is it mounted" in found["found"]
    monkeypatch.setattr("heatsoak.doctor.machine.IS_LINUX", False)
    document = checkup(tmp_path)
    assert document["ready_for"] == "simulated"
    assert document["sentence"].startswith("Real drives need Linux")
    assert {row["name"] for row in document["facts"]} == {
        row.name for row in ROWS if not row.needs_linux
    }


@pytest.mark.usefixtures("machine")
def test_a_directory_of_programs_that_others_can_change_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEATSOAK_TOOLS", "relative")
    if os.geteuid() == 0:
        document = checkup(tmp_path)
        assert document["sentence"].startswith("HEATSOAK_TOOLS: relative must be")
        assert fact(document, "util-linux")["state"] == "missing"
    else:
        assert checkup(tmp_path)["facts"]


@needs("fio")
@pytest.mark.usefixtures("machine")
def test_a_target_comes_first(tmp_path: Path) -> None:
    document = checkup(tmp_path, "--on", ".")
    assert document["sentence"] == ".: can be tested"
    assert document["facts"][0]["about"] == "target"
    simulated = checkup(tmp_path, "--on", "sim:samsung-950-pro-512")
    assert "needs nothing of this machine" in simulated["sentence"]
    done = heatsoak_here("doctor", "--on", "nowhere", cwd=tmp_path)
    assert "nowhere: there is no such target" in complaint(done, 2)


@pytest.mark.usefixtures("machine")
def test_nothing_is_left_behind_and_no_lock_directory_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEATSOAK_LOCKS", str(tmp_path / "locks"))
    before = sorted(tmp_path.rglob("*"))
    assert fact(checkup(tmp_path), "locks")["found"] == str(tmp_path / "locks")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.slow
def test_an_ordinary_user_is_told_what_root_could_do() -> None:
    line = as_other_user(sys.executable, "-m", "heatsoak", "doctor", "--format", "json")
    done = ran(*line, cwd="/")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["ready_for"] != "drives"
    rights = fact(document, "rights")
    assert (rights["state"], rights["get"]) == ("limited", "sudo heatsoak ...")
