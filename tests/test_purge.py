"""Purging through a claim: what is chosen, what is sent, and what is believed afterwards."""

import dataclasses
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from shlex import quote

import loop_drive
import nvme_controller
import pytest
from command import done_here, heatsoak_here
from heatsoak.bench import places
from heatsoak.bench.places import wait_for_sanitize
from heatsoak.errors import RefusedError, ToolError, UsageError
from heatsoak.protocol import PurgeMethod
from heatsoak.target import Batch, Note, Place
from heatsoak.target.device import describe_device
from heatsoak.target.guard import HeldDrive, claim
from heatsoak.target.purge import ata, nvme, purge, require, sanitizing
from heatsoak.tools import VARIABLE
from hypothesis import given
from hypothesis import strategies as st
from machine_tree import with_nvme
from nvme_controller import FORMAT, INVALID_OPCODE, SANITIZE, Controller, answering

pytestmark = pytest.mark.slow
SIZE = 32 << 20
Take = Callable[[str], HeldDrive]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    return tmp_path / "drive.img"


@pytest.fixture
def claimed(image: Path) -> Iterator[Take]:
    """Return what claims a drive full of data that says it is on `transport`."""
    with loop_drive.attached(image, SIZE) as node:
        claims: list[HeldDrive] = []

        def take(transport: str) -> HeldDrive:
            made = claim(node, f"{node}:{SIZE}:NOT-EMPTY")
            claims.append(made)
            made.info = dataclasses.replace(made.info, transport=transport)
            image.write_bytes(os.urandom(SIZE))
            return made

        yield take
        for made in claims:
            made.close()


def purged(held: HeldDrive, method: PurgeMethod, drive: Controller) -> list[Note]:
    with answering(drive.ioctl):
        return notes(purge(held, method))


def notes(batches: Iterable[Batch]) -> list[Note]:
    return [batch for batch in batches if isinstance(batch, Note)]


def test_a_format_is_chosen_where_it_is_offered_and_keeps_the_layout(
    claimed: Take, image: Path
) -> None:
    drive = Controller(image)
    warned, told = purged(claimed("nvme"), "auto", drive)
    assert drive.done == [FORMAT]
    assert "cannot be stopped" in warned.text
    assert (told.level, told.data["method"]) == ("info", "format")
    assert told.data["samples_held_data"] == told.data["samples_zeros"] == told.data["samples"]
    assert drive.format_dword is not None
    # format 17 as 1 and upper bits 01, metadata inline, protection 1 in the first bytes, SES 1
    assert drive.format_dword == 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 12


@pytest.mark.parametrize("method", ["format", "sanitize"])
def test_what_would_erase_another_namespace_is_never_sent(
    claimed: Take, image: Path, method: PurgeMethod
) -> None:
    drive = Controller(image, formats_all=True, others=(2, 7))
    held = claimed("nvme")
    for ask in (lambda: require(held, method), lambda: purged(held, method, drive)):
        with (
            answering(drive.ioctl),
            pytest.raises(UsageError, match=r"namespaces 2 and 7 as well.*it supports discard"),
        ):
            ask()
    (told,) = purged(held, "auto", drive)
    assert told.data["method"] == "discard"
    assert drive.done == []


def test_a_namespace_that_comes_between_choice_and_command_stops_the_command(
    claimed: Take, image: Path
) -> None:
    class Grows(Controller):
        looks = 0

        def ioctl(self, fd: int, request: int, command: bytearray) -> int:
            is_look = request == 0xC0484E41 and command[0] == 0x06 and command[40] == 0x10
            self.looks += is_look
            self.others = (2,) if self.looks > 1 else ()
            return super().ioctl(fd, request, command)

    drive = Grows(image, formats_all=True)
    with pytest.raises(ToolError, match="namespace 2 as well"):
        purged(claimed("nvme"), "format", drive)
    assert drive.done == []


def test_a_sanitize_is_followed_to_its_end_and_one_that_fails_says_so(
    claimed: Take, image: Path
) -> None:
    drive = Controller(image, formats=False)
    held = claimed("nvme")
    begun, told = purged(held, "auto", drive)
    assert drive.done == [SANITIZE]
    assert "continues even after Ctrl-C" in begun.text
    assert told.data["method"] == "sanitize"
    assert told.data["samples_kept"] == 0
    with pytest.raises(ToolError, match="sanitize failed"):
        purged(held, "sanitize", Controller(image, sanitize_status=3, polls=0))


def test_where_the_drive_declines_or_keeps_its_data_auto_continues_and_a_method_says_so(
    claimed: Take, image: Path
) -> None:
    held = claimed("nvme")
    told = purged(held, "format", Controller(image, forgets=False))[-1]
    assert told.level == "warning"
    assert "still read what they held" in told.text
    assert told.data["samples_kept"] == told.data["samples"]
    drive = Controller(image, declines={FORMAT: INVALID_OPCODE}, polls=0)
    with pytest.raises(ToolError, match="rejected the format"):
        purged(held, "format", drive)
    assert purged(held, "auto", drive)[-1].data["method"] == "sanitize"


def test_a_format_is_waited_for_even_by_whoever_stops_the_run(claimed: Take, image: Path) -> None:
    drive = Controller(image, may_end=threading.Event())
    assert drive.may_end is not None
    running = purge(claimed("nvme"), "format")
    with answering(drive.ioctl):
        while not drive.started.is_set():
            next(running)
        threading.Timer(0.3, drive.may_end.set).start()
        running.close()  # type: ignore[attr-defined]
    assert drive.done == [FORMAT]


def test_nothing_is_sent_without_a_claim_that_holds(claimed: Take, image: Path) -> None:
    drive = Controller(image)
    held = claimed("nvme")
    running = purge(held, "format")
    held.close()
    with answering(drive.ioctl), pytest.raises(RefusedError, match="no longer claimed"):
        list(running)
    other = claimed("nvme")
    os.truncate(image, SIZE // 2)
    assert loop_drive.losetup("-c", other.path).returncode == 0
    with pytest.raises(RefusedError, match="when it was examined"):
        purged(other, "format", drive)
    assert drive.done == []


def test_a_drive_on_another_bus_is_asked_no_nvme_command(claimed: Take, image: Path) -> None:
    held = claimed("usb")
    with answering(nvme_controller.unreachable):
        with pytest.raises(UsageError, match="on NVMe drives, but this is on usb"):
            list(purge(held, "format"))
        (told,) = notes(purge(held, "auto"))
    assert told.data["method"] == "discard"
    assert not any(image.read_bytes())


# -- a sanitize of an earlier run


def test_a_sanitize_that_goes_on_is_seen_until_it_ends_where_the_drive_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "LOOK_S", 0)
    roots, drive = with_nvme(tmp_path), Controller(polls=3)
    place = Place(str(tmp_path), "block")
    told: list[str] = []
    with answering(drive.ioctl):
        wait_for_sanitize(place, told.append, roots)
        assert told == []
        drive.begin_sanitize()
        wait_for_sanitize(place, told.append, roots)
        assert len(told) == 1
        assert "50 % done" in told[0]
        info = describe_device("nvme0n1", roots)
        assert sanitizing(info, roots) is None
    # one that cannot is not asked how far it is
    drive = Controller(sanitizes=0, declines={0x02: 0x4002})
    with answering(drive.ioctl):
        assert sanitizing(info, roots) is None


@given(st.binary(min_size=32, max_size=512))
def test_any_sanitize_log_is_read(page: bytes) -> None:
    state = nvme.parse(page)
    assert 0 <= state.done_pct < 100
    assert state.is_running or state.done_pct == 0


# -- ATA

HDPARM = """#!/bin/sh
echo "$*" >> {log}
for last; do :; done
case "$*" in
    *--Istdout*) echo; echo "$last:"; cat {words} ;;
    -N*) echo; echo "$last:"; {shows} ;;
    *--security-erase*) {erase} ;;
    *--security-set-pass*) {lock} ;;
    *--security-disable*) : ;;
esac
"""


def words(status: int, minutes: int = 2, *, has_hpa: bool = False) -> str:
    values = [0] * 256
    values[128], values[89], values[82] = status, minutes // 2, has_hpa << 10
    lines = (values[at : at + 8] for at in range(0, 256, 8))
    return "".join(" ".join(f"{word:04x}" for word in line) + "\n" for line in lines)


def hdparm(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    erase: str = "exit 5",
    shows: str | None = None,
) -> Callable[[], list[str]]:
    """Put a program in place that answers as hdparm does; return what tells what it was told."""
    monkeypatch.setenv(VARIABLE, str(directory))
    answers, log, program = (directory / name for name in ("words", "log", "hdparm"))
    answers.write_text(words(status, has_hpa=shows is not None))
    log.write_text("")
    # of a drive that cannot hide sectors it may not even be able to tell
    shown = "exit 5" if shows is None else f"echo ' {shows}'"
    given = {"log": quote(str(log)), "words": quote(str(answers)), "erase": erase, "lock": ":"}
    program.write_text(HDPARM.format(**given, shows=shown))
    program.chmod(0o755)

    def told() -> list[str]:
        lines = log.read_text().splitlines()
        return [line for line in lines if not line.startswith(("--Istdout", "-N "))]

    return told


def test_a_secure_erase_sets_a_password_erases_and_looks_and_takes_it_off_where_that_fails(
    claimed: Take, image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zeroes = f"/bin/dd if=/dev/zero of={quote(str(image))} bs=1M count=32"
    told = hdparm(tmp_path, monkeypatch, status=0x21, erase=zeroes)
    held = claimed("sata")
    way = ata.way(held)
    assert way.why_not is None
    assert "stays locked until" in notes(way.run(held))[0].text
    assert [line.split()[2] for line in told()] == ["--security-set-pass", "--security-erase"]
    assert all(line.endswith(held.fd_path) for line in told())
    assert not any(image.read_bytes())
    told = hdparm(tmp_path, monkeypatch, status=0x21)
    with pytest.raises(ToolError, match="exit code 5"):
        list(ata.way(held).run(held))
    assert "--security-disable" in told()[-1]


def test_a_drive_whose_security_or_hidden_sectors_do_not_permit_it_gets_no_command(
    claimed: Take, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = claimed("sata")
    no_hpa = "shows no host protected area"
    for status, shows, why in (
        (0x00, None, "does not support"),
        (0x29, None, "frozen.*suspend"),
        (0x23, None, "already has a password"),
        (0x11, None, "no more passwords"),
        (0x21, "max sectors   = 65536/65536, HPA is disabled", None),
        (0x21, "max sectors   = 65536/70000, HPA is enabled", "hides 4464 sectors.*erased as well"),
        (0x21, "max sectors   = 0/1, HPA setting seems invalid (buggy?)", no_hpa),
        (0x21, "", no_hpa),
    ):
        told = hdparm(tmp_path, monkeypatch, status, shows=shows)
        found = ata.way(held).why_not
        assert (found is None) == (why is None), shows
        assert why is None or re.search(why, str(found))
        assert told() == []


@given(st.text(alphabet="0123456789abcdef \n:/", max_size=400))
def test_what_is_no_identify_data_is_an_error_that_says_so(text: str) -> None:
    with pytest.raises(ToolError, match="256"):
        ata.identify_words(text)


# -- protocols


def test_a_method_that_the_drive_does_not_offer_is_reported_before_anything_is_written(
    image: Path, tmp_path: Path
) -> None:
    path = tmp_path / "purged.toml"
    path.write_text(
        'name = "purged"\n[[steps]]\nname = "w"\nrw = "write"\nio_size = "1m"\n'
        '[[steps]]\nkind = "purge"\nmethod = "secure-erase"\n'
    )
    with loop_drive.attached(image, SIZE) as node:
        words = ("run", str(path), "--on", str(node), "--erase", f"{node}:{SIZE}", "-o", "r")
        done = heatsoak_here(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert "on SATA drives" in done.stderr
    assert "it supports discard" in done.stderr
    assert not any(image.read_bytes())
    assert not (tmp_path / "r").exists()


def test_what_is_not_a_drive_is_purged_in_the_one_way_that_it_has(tmp_path: Path) -> None:
    path = tmp_path / "purged.toml"
    path.write_text(
        'name = "purged"\n[[steps]]\nkind = "purge"\nmethod = "format"\n'
        '[[steps]]\nname = "r"\nrw = "read"\nruntime = 1\n'
    )
    done = done_here("run", str(path), "--on", str(tmp_path), "-o", "r", cwd=tmp_path, code=2)
    assert "method 'format'" in done.stderr
