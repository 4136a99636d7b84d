"""A simulated drive as an export: words that are wrong, its sensors, and a real fio on it."""

import json
import shlex
import shutil
import signal
import socket
import statistics
from pathlib import Path

import polars as pl
import pytest
from command import complaint, done_here, heatsoak_here, ran
from heatsoak import nbd
from heatsoak.catalog import load_drive, load_enclosure
from heatsoak.errors import UsageError
from heatsoak.nbd import Export, write_tree
from heatsoak.protocol import WorkloadStep
from heatsoak.recording import find_recordings
from heatsoak.sensor import drive_sensors
from heatsoak.sensor.sysfs import drive_in_tree
from heatsoak.target.fio import NbdTarget
from heatsoak.target.fio.nbd_client import Server, parse_uri
from hypothesis import given
from hypothesis import strategies as st
from needs import needs
from served_drive import served
from waiting import until

DRIVE = "samsung-950-pro-512"
HOT = "puget-top-2gpu-loaded"
KIB, MIB = 1 << 10, 1 << 20
#: A busy machine can still serve this much in requests of 128k, 32 in flight.
SPEED_MB_S = 60

PLUGIN = Path(nbd.__file__).with_name("heatsoak_nbd.so")

live = needs("nbdkit", "fio", str(PLUGIN))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nosuch"], "nosuch"),
        ([DRIVE, "--place", "puget-top"], "puget-top"),
        ([DRIVE, "--speed", "fast"], "'fast' is not a rate such as"),
        ([DRIVE, "--speed", "3GB"], "--speed of 3 GB/s: samsung-950-pro-512 in open-bench can be"),
        ([DRIVE, "--speed", "1k"], "can be served at 1 MB to 2.5 GB per second"),
        ([DRIVE, "--time-factor", "0.5"], "--time-factor 0.5: must be 1 (real time) to 1000"),
        ([DRIVE, "--time-factor", "nan"], "--time-factor nan: must be 1"),
    ],
)
def test_a_drive_that_cannot_be_served_gets_one_line(
    tmp_path: Path, words: list[str], says: str
) -> None:
    done = heatsoak_here("lab", "nbd", *words, "--socket", "s", cwd=tmp_path)
    assert says in complaint(done, 2)
    assert not list(tmp_path.iterdir())


def test_a_socket_that_cannot_be_made_or_a_program_that_is_missing_gets_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    for name, says in [
        ("file", "file: already exists: name another with --socket, or remove it"),
        ("link", "link: already exists"),
        ("no/socket", "there is no such directory to create the socket in"),
        ("s" * 108, "is too long: a socket's path has at most 107 bytes"),
    ]:
        done = heatsoak_here("lab", "nbd", DRIVE, "--socket", name, cwd=tmp_path)
        assert says in complaint(done, 2)
    assert (tmp_path / "file").read_text() == "mine"
    assert (tmp_path / "link").is_symlink()
    monkeypatch.setattr(nbd, "_PLUGIN", tmp_path / "heatsoak_nbd.so")
    for found, says in (
        ("/usr/bin/nbdkit", "nbdkit's plugin is missing"),
        (None, "nbdkit is not installed: apt-get install nbdkit"),
    ):
        monkeypatch.setattr(shutil, "which", lambda _, found=found, **__: found)
        done = heatsoak_here("lab", "nbd", DRIVE, "--socket", "s", cwd=tmp_path)
        assert says in complaint(done, 3)


@given(speed_mb_s=st.floats(1, 2500), time_factor=st.floats(1, 1000))
def test_a_host_gets_the_speed_that_was_asked_for(speed_mb_s: float, time_factor: float) -> None:
    drive, place = load_drive(DRIVE), load_enclosure("open-bench")
    export = Export(drive, place, speed_mb_s, time_factor)
    assert 0 < export.speed_share <= 1
    assert export.top_mb_s * export.speed_share * time_factor == pytest.approx(speed_mb_s)
    told = json.loads(export.plugin_config({}, None))
    assert told["speed_share"] == export.speed_share
    assert told["drive"] == json.loads(drive.core_json())


def test_a_link_that_is_slower_than_the_drive_is_what_is_slowed() -> None:
    place = load_enclosure("puget-bottom-1gpu-idle")
    slow = place.model_copy(update={"link_mb_s": load_drive(DRIVE).controller.write_mb_s})
    assert Export(load_drive(DRIVE), place).top_mb_s == 2500
    assert Export(load_drive(DRIVE), slow, 150).speed_share == pytest.approx(0.1)


def test_sensors_are_laid_out_as_the_kernel_has_them(tmp_path: Path) -> None:
    export = Export(load_drive("pcie4-tlc-1tb"), load_enclosure("open-bench"))
    inputs = write_tree(tmp_path / "drive", export)
    assert list(inputs) == ["composite", "sensor_1", "sensor_2"]
    for number, path in enumerate(inputs.values()):
        path.write_text(f"{40_850 + 1000 * number}\n")
    (sensor,) = drive_sensors(*drive_in_tree(tmp_path / "drive"))
    assert sensor.read() == {
        "temp_c.composite": 40.85,
        "temp_c.sensor1": 41.85,
        "temp_c.sensor2": 42.85,
    }
    assert sensor.info.thresholds == {"critical_c": 99.85}
    assert sensor.info.details["labels"]["temp_c.sensor1"] == "Sensor 1"
    assert sensor.info.details["parent"] == "nvme0"
    with pytest.raises(UsageError, match="already exists: name a new directory"):
        write_tree(tmp_path / "drive", export)
    # it states the limits that its drive does
    export = Export(load_drive("samsung-980-pro-1tb"), load_enclosure("open-bench"))
    for path in write_tree(tmp_path / "another", export).values():
        path.write_text("40850\n")
    (sensor,) = drive_sensors(*drive_in_tree(tmp_path / "another"))
    assert sensor.info.thresholds == {"warning_c": 81.85, "critical_c": 84.85}


def test_sensors_that_are_not_an_exports_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="this machine's own sensors"):
        drive_in_tree(Path("/"))
    with pytest.raises(UsageError, match="has no sensors"):
        drive_in_tree(tmp_path)
    (tmp_path / "sys" / "block").mkdir(parents=True)
    with pytest.raises(UsageError, match="has 0 drives instead of one"):
        drive_in_tree(tmp_path)
    for target in (f"sim:{DRIVE}", "."):
        done = heatsoak_here(
            "run", "quick", "--on", target, "--sensors", str(tmp_path), "-o", "r", cwd=tmp_path
        )
        assert "--sensors is for NBD exports" in complaint(done, 2)


def write(**given: object) -> WorkloadStep:
    fields = {"name": "load", "rw": "write", "bs": "128k", "iodepth": 32}
    return WorkloadStep.model_validate(fields | given)


@pytest.mark.slow
@live
def test_a_run_with_the_real_fio_heats_it_until_it_throttles_and_nothing_is_lost(
    tmp_path: Path,
) -> None:
    (tmp_path / "short.toml").write_text(
        'schema = 1\nname = "short"\n[[steps]]\nname = "load"\nrw = "write"\nbs = "128k"\n'
        'iodepth = 32\nruntime = "8s"\n'
    )
    words = ["--place", HOT, "--speed", f"{SPEED_MB_S}MB", "--time-factor", "5"]
    with served(tmp_path, DRIVE, *words) as drive:
        assert "it keeps no data: reads return zeros" in drive.greeting[0]
        (sensor,) = drive_sensors(*drive_in_tree(drive.sensors))
        cool_c = sensor.read()["temp_c.composite"]
        on = ("--on", drive.uri, "--sensors", "sensors")
        done_here("run", "short.toml", *on, "-o", "r", cwd=tmp_path)
        hot_c = sensor.read()["temp_c.composite"]
        code, errors = drive.end()
    assert (code, errors) == (0, "")
    assert not drive.socket.exists()
    (recording,) = find_recordings(tmp_path / "r")
    samples = recording.samples().filter(pl.col("interval_s").is_not_null())
    (written_bytes,) = (e.data["write_bytes"] for e in recording.events if "write_bytes" in e.data)
    ended = drive.ended()
    assert ended["written_bytes"] == 128 * KIB * ended["writes"] == written_bytes
    assert min(row["sim.permitted"] for row in drive.truth()) < 0.7
    assert hot_c > cool_c + 5
    rates = samples["write_bw_mb_s"].to_list()
    writes_mb_s = SPEED_MB_S * 1500 / 2500
    assert statistics.mean(rates[1:-1]) < 1.02 * writes_mb_s
    assert statistics.mean(rates[-6:-1]) < 0.75 * writes_mb_s
    (told,) = [one for one in recording.meta.sensors if one.name == "nvme"]
    assert told.source == "hwmon node of nvme0, driver nvme"
    temps_c = recording.samples(["temp_c.composite"])["temp_c.composite"].drop_nulls().to_list()
    assert max(temps_c) > temps_c[0] + 5


@pytest.mark.slow
@live
def test_a_purge_of_the_export_is_a_purge_of_the_drive(tmp_path: Path) -> None:
    words = ["--speed", "200MB", "--time-factor", "20"]
    with served(tmp_path, DRIVE, *words) as drive:
        with Server(drive.uri) as server, server.connect() as export:
            size_bytes = export.size_bytes
            assert not any(export.read(MIB, 4096))
        # as large a part of the drive as its speed is
        assert size_bytes == pytest.approx(512110190592 * 200 / 2500 / 20, rel=1e-3)
        target = NbdTarget(drive.uri)
        target.open(writes=True)
        list(target.run(write(io_size="20MiB", span="20MiB")))
        list(target.purge())
        target.close()
        assert drive.end(signal.SIGINT)[0] == 0
    ended = drive.ended()
    assert (ended["written_bytes"], ended["purges"]) == (20 * MIB, 1)
    assert ended["trimmed_bytes"] == size_bytes


@live
def test_a_drive_that_would_have_no_flash_left_gets_one_line(
    tmp_path: Path, small_drive: Path
) -> None:
    words = [
        "lab",
        "nbd",
        str(small_drive),
        "--socket",
        "s",
        "--speed",
        "1MB",
        "--sensors",
        "sensors",
    ]
    said = complaint(heatsoak_here(*words, cwd=tmp_path), 3)
    assert "nbdkit failed to start: " in said
    assert "nand.block_bytes" in said
    assert not list((tmp_path / "sensors").iterdir())
    assert not (tmp_path / "s").exists()


@live
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["speed=1"], "'speed' is no parameter: there is drive=FILE"),
        (["drive=nosuch.json"], "nosuch.json: No such file"),
        ([], "drive=FILE is missing"),
    ],
)
def test_the_plugin_alone_says_what_it_wants(tmp_path: Path, words: list[str], says: str) -> None:
    command = ["nbdkit", "-f", "-U", str(tmp_path / "s"), str(PLUGIN), *words]
    done = ran(*command, timeout=200)
    assert done.returncode == 1
    assert says in done.stderr


@pytest.mark.slow
@live
def test_the_printed_address_leads_to_the_socket_and_a_killed_server_leaves_nothing_serving(
    tmp_path: Path, small_drive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    directory = tmp_path / "a%20b&c+d#[1]"
    directory.mkdir()
    with served(directory, small_drive, "--speed", "200MB") as drive:
        (line,) = [line for line in drive.greeting if "heatsoak run" in line]
        words = shlex.split(line)
        address = parse_uri(words[words.index("--on") + 1])
        assert address.socket == str(drive.socket)
        assert answers(drive.socket)
        drive.end(signal.SIGKILL)
        assert until(lambda: not answers(drive.socket))
        assert not list(temporary.iterdir())
    done = heatsoak_here("lab", "nbd", DRIVE, "--socket", "socket", cwd=directory)
    assert "remove it if no server uses it any more" in complaint(done, 2)


def answers(at: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(at)) == 0
