"""heatsoak on /dev/nvme0n1 of a virtual machine: a real driver, an emulated drive."""

import hashlib
import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from heatsoak.analysis import analyze
from heatsoak.recording import Recording
from virtual_machine import Command, Machine, Result, booted

# a single cut has to be seen through the noise of an emulated machine on a busy one
FULL_MB_S, CUT_MB_S, CUT_AFTER_S, LENGTH_S = 60.0, 20.0, 30.0, 75
START_S = 900.0  # ends what hangs; a busy host takes minutes
PYTHON_PATH = Path(__file__).parent.parent / "python"

LOADED = f"""
name = "loaded"
[[steps]]
name = "write"
rw = "write"
bs = "128k"
iodepth = 4
runtime = {LENGTH_S}
"""

PURGED = """
name = "purged"
[[steps]]
name = "fill"
rw = "write"
bs = "1m"
size = "64m"
[[steps]]
kind = "purge"
name = "wipe"
method = "{method}"
"""


pytestmark = pytest.mark.timeout(3600)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Return a machine with four NVMe drives, the last one with a second namespace."""
    with booted(tmp_path_factory.mktemp("vm"), drives=4) as machine:
        yield machine


def heatsoak(machine: Machine, *words: object) -> Command:
    line = shlex.join([sys.executable, "-X", "faulthandler", "-m", "heatsoak", *map(str, words)])
    return machine.start(
        f"export PYTHONPATH={shlex.quote(str(PYTHON_PATH))} HOME=/tmp\ncd /tmp\n{line}\n"
    )


def protocol(machine: Machine, name: str, text: str) -> Path:
    path = machine.share / f"{name}.toml"
    path.write_text(text)
    return path


def purge(machine: Machine, drive: int, method: str) -> tuple[Result, Path]:
    path = protocol(machine, f"purge-{drive}-{method}", PURGED.format(method=method))
    out = machine.share / path.stem
    words = ("run", path, "--on", f"/dev/nvme{drive}n1", "--erase", f"VM{drive}", "-o", out)
    return heatsoak(machine, *words).wait(START_S), out


def digest(image: Path) -> str:
    with image.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def newest_s(recording: Path) -> float:
    """Return the time of the last sample of the load in a recording that grows."""
    journal = recording / "samples.jsonl"
    lines = journal.read_text().splitlines()[:-1] if journal.exists() else []
    rows = (json.loads(line) for line in reversed(lines))
    return next((float(row["t_s"]) for row in rows if row.get("write_bw_mb_s")), 0.0)


def loaded_for(machine: Machine, drive: int, out: Path, load_s: float) -> Command:
    """Return a run on a drive, once it has been loaded for some time."""
    path = protocol(machine, f"loaded-{drive}", LOADED)
    machine.limit(drive, FULL_MB_S)
    words = ("run", path, "--on", f"/dev/nvme{drive}n1", "--erase", f"VM{drive}", "-o", out)
    run = heatsoak(machine, *words)
    machine.wait_for(lambda: newest_s(out) >= load_s or run.has_ended, START_S + load_s, "the load")
    assert not run.has_ended, run.wait(0).err
    return run


@pytest.fixture(scope="module")
def cut(machine: Machine) -> tuple[Path, float]:
    """Return a recording of a drive whose speed was cut meanwhile, and when that was, in s."""
    out = machine.share / "cut"
    run = loaded_for(machine, 0, out, CUT_AFTER_S)
    cut_s = newest_s(out)
    machine.limit(0, CUT_MB_S)
    result = run.wait(START_S + LENGTH_S)
    assert result.code == 0, result.err
    return out, cut_s


def test_a_cut_is_seen_when_it_was_and_not_taken_for_heat(cut: tuple[Path, float]) -> None:
    out, cut_s = cut
    recording = Recording.open(out)
    assert recording.meta.status == "finished"
    samples = recording.samples(["t_s", "step", "write_bw_mb_s"]).drop_nulls()
    assert samples["t_s"].to_list()[-1] > LENGTH_S - 5
    (step,) = analyze([recording]).recordings[0].steps
    episode = step.episodes[0]
    start_s = next(event.t_s for event in recording.events if event.kind == "step-begin")
    assert episode.onset_s == pytest.approx(cut_s - start_s, abs=4)
    assert episode.depth_pct == pytest.approx(100 * (1 - CUT_MB_S / FULL_MB_S), abs=10)
    assert "thermal" not in (step.verdict, episode.cause)


def test_the_drives_own_data_are_in_the_recording(
    machine: Machine, cut: tuple[Path, float]
) -> None:
    recording = Recording.open(cut[0])
    assert recording.meta.drive["serial"] == "VM0"
    (sensor,) = [sensor for sensor in recording.meta.sensors if sensor.name == "nvme"]
    told = machine.run("nvme id-ctrl /dev/nvme0 -o json; nvme smart-log /dev/nvme0 -o json")
    identity, health = documents(told.out)
    assert sensor.thresholds["warning_c"] == pytest.approx(identity["wctemp"] - 273.15)
    assert sensor.thresholds["critical_c"] == pytest.approx(identity["cctemp"] - 273.15)
    assert sensor.details["host_thermal_management"] is bool(identity["hctma"] & 1)
    temps = recording.samples(["temp_c.composite"])["temp_c.composite"].drop_nulls()
    assert len(temps) > LENGTH_S / 2
    assert set(temps) == {round(health["temperature"] - 273.15, 2)}


def test_how_it_is_with_each_drive_is_told_of_real_ones(machine: Machine) -> None:
    result = heatsoak(machine, "list", "drives", "--health", "--format", "json").wait(START_S)
    rows = {row["serial"]: row for row in json.loads(result.out)}
    assert {f"VM{drive}" for drive in range(4)} <= set(rows)
    (health,) = documents(machine.run("nvme smart-log /dev/nvme0 -o json").out)
    row = rows["VM0"]
    assert row["temp_c"] == pytest.approx(health["temperature"] - 273.15, abs=1)
    assert (row["state"] == "alarm") is bool(health["critical_warning"])
    assert result.code == 0, result.err


def test_a_watch_ends_when_a_load_of_somebody_else_falls(machine: Machine) -> None:
    machine.limit(3, FULL_MB_S)
    write = "dd if=/dev/zero of=/dev/nvme3n1 bs=128k oflag=direct"
    load = machine.start(f"until [ -e /tmp/enough ]; do {write}; done")
    out = machine.share / "watched"
    watch = heatsoak(machine, "watch", "/dev/nvme3n1", "--until", "fall", "-o", out)
    machine.wait_for(lambda: newest_s(out) >= CUT_AFTER_S or watch.has_ended, START_S, "the load")
    assert not watch.has_ended, watch.wait(0).err
    machine.limit(3, CUT_MB_S)
    result = watch.wait(START_S)
    machine.run("touch /tmp/enough")
    load.wait(START_S)
    assert result.code == 1, result.err
    assert "fell by" in result.out
    assert Recording.open(out).meta.status == "finished"


def documents(text: str) -> list[dict[str, Any]]:
    decoder, found, at = json.JSONDecoder(), [], 0
    while (at := text.find("{", at)) >= 0:
        document, at = decoder.raw_decode(text, at)
        found.append(document)
    return found


def test_a_drive_with_a_file_system_is_refused_and_left_as_it_was(machine: Machine) -> None:
    made = machine.run("mkfs.ext4 -q /dev/nvme1n1 && sync")
    assert made.code == 0, made.err
    before = digest(machine.images[1])
    path = protocol(machine, "refused", LOADED)
    words = ("run", path, "--on", "/dev/nvme1n1", "--erase", "VM1", "-o", "/tmp/refused")
    result = heatsoak(machine, *words).wait(START_S)
    assert result.code == 4
    assert "ext4" in result.err
    assert digest(machine.images[1]) == before


@pytest.mark.parametrize(("method", "used"), [("auto", "format"), ("discard", "discard")])
def test_a_purged_drive_reads_zeros_and_the_recording_says_how(
    machine: Machine, method: str, used: str
) -> None:
    result, out = purge(machine, 2, method)
    assert result.code == 0, result.err
    (note,) = [e for e in Recording.open(out).events if e.data.get("method")]
    assert note.data["method"] == used
    assert note.data["samples_held_data"] > 0
    assert note.data["samples_kept"] == 0
    assert note.data["samples_zeros"] == note.data["samples"]
    assert not any(machine.images[2].read_bytes())


def test_a_format_of_one_namespace_leaves_the_other_alone(machine: Machine) -> None:
    content = os.urandom(1 << 20)
    source = machine.share / "content"
    source.write_bytes(content)
    kept = machine.run(f"dd if={source} of=/dev/nvme3n2 bs=1M oflag=direct")
    assert kept.code == 0, kept.err
    # both namespaces have the drive's serial: only their world-wide names tell them apart
    wwid = machine.run("cat /sys/block/nvme3n1/wwid").out.strip()
    path = protocol(machine, "one-of-two", PURGED.format(method="format"))
    out = machine.share / "one-of-two"
    words = ("run", path, "--on", "/dev/nvme3n1", "--erase", wwid, "-o", out)
    result = heatsoak(machine, *words).wait(START_S)
    assert result.code == 0, result.err
    assert not any(machine.images[3].read_bytes())
    with machine.second.open("rb") as file:
        assert file.read(len(content)) == content


def test_what_a_drive_does_not_offer_is_said_before_anything_is_written(machine: Machine) -> None:
    before = digest(machine.images[2])
    result, out = purge(machine, 2, "sanitize")
    assert result.code == 2
    assert "it supports discard, format" in result.err
    assert not out.exists()
    path = protocol(machine, "hctm", LOADED)
    words = ("run", path, "--on", "/dev/nvme2n1", "--erase", "VM2", "--tmt1", 70)
    result = heatsoak(machine, *words, "-o", "/tmp/hctm").wait(START_S)
    assert result.code == 2
    assert "HCTM" in result.err
    assert digest(machine.images[2]) == before


def test_a_drive_that_is_pulled_ends_the_run_and_leaves_what_was_recorded(
    machine: Machine,
) -> None:
    out = machine.share / "pulled"
    run = loaded_for(machine, 2, out, load_s=8)
    pulled_s = newest_s(out)
    machine.pull(2)
    result = run.wait(START_S)
    assert result.code == 3
    assert "the drive is gone" in result.err
    assert str(out) in result.err
    recording = Recording.open(out)
    assert recording.meta.status == "failed"
    samples = recording.samples(["t_s", "write_bw_mb_s"]).drop_nulls()
    assert samples["t_s"].to_list()[-1] > pulled_s - 2
