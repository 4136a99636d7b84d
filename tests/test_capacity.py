"""Less than the whole drive, so that it has more spare area: shares, and what a drive hides."""

import dataclasses
import os
import re
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from shlex import quote

import polars as pl
import pytest
from command import complaint, heatsoak_here
from ended_inside import interrupted_by, killed_after
from guarded import Machine, drives_in, needs_loop
from heatsoak.bench.plan import AssumedSpeeds, plan
from heatsoak.errors import RefusedError, ToolError, UsageError
from heatsoak.protocol import Protocol, apply_settings, load
from heatsoak.recording import Recording
from heatsoak.sensor import Roots
from heatsoak.target import Note, hidden_sectors
from heatsoak.target.base import used_bytes
from heatsoak.target.fio import BlockTarget
from heatsoak.target.guard import Claim, claim
from heatsoak.target.hidden_sectors import hide, put_back, require
from heatsoak.target.simulated import SimulatedTarget
from heatsoak.tools import VARIABLE as TOOLS
from heatsoak.units import Size
from hypothesis import given
from hypothesis import strategies as st

MIB = 1 << 20
SIZE = 64 * MIB
SECTORS = SIZE // 512
USED = 48 * MIB


def protocol(capacity: str, **workload: object) -> Protocol:
    return Protocol.model_validate(
        {
            "name": "spare",
            "steps": [
                {"kind": "purge", "capacity": capacity},
                {"name": "w", "rw": "write", "bs": "1m", **workload},
            ],
        }
    )


# -- shares


@given(percent=st.floats(0, 100), whole=st.integers(MIB, 1 << 44))
def test_what_is_used_never_exceeds_what_was_asked_for(percent: float, whole: int) -> None:
    try:
        used = used_bytes(Size(percent=percent), whole)
    except UsageError:
        assert whole * percent / 100 < MIB
        return
    assert used <= max(whole * percent / 100, 1)
    assert used > whole * percent / 100 - MIB
    assert used == whole or used % MIB == 0


def test_a_plan_counts_only_what_is_used_after_the_purge() -> None:
    speeds = AssumedSpeeds(500, 500, 1e5, 1e5, "a test")
    steps = plan(protocol("75%").steps, SIZE, speeds).steps
    assert steps[1].written_bytes == pytest.approx(0.75 * SIZE)
    assert plan(protocol("100%").steps, SIZE, speeds).steps[1].written_bytes == pytest.approx(SIZE)


def test_a_setting_gives_any_purge_a_capacity() -> None:
    (step,) = [
        step
        for step in apply_settings(load("anandtech-consistency"), ["purge.capacity=75%"]).purges
        if step.name == "purge"
    ]
    assert step.capacity == Size(percent=75.0)


def test_a_wrong_capacity_is_one_line() -> None:
    for setting, said in (
        ("purge.capacity=120%", "is more than 100%"),
        ("purge.spare=hpa", "give one below 100%"),
        ("purge.spare=namespace", "unwritten"),
    ):
        with pytest.raises(UsageError, match=said):
            apply_settings(load("puget"), [setting])
    # nor does a copy take one
    steps = [{"kind": "purge", "capacity": "75%"}, {"kind": "copy", "size": "1m"}]
    with pytest.raises(ValueError, match="says in bytes how much it copies"):
        Protocol.model_validate({"name": "c", "steps": steps})


def test_a_simulated_drive_with_more_spare_area_moves_less_when_it_is_written_at_random(
    small_drive: Path,
) -> None:
    """That is what over-provisioning is for: a full drive has to make room before each write."""

    def steady_iops(capacity: str) -> float:
        target = SimulatedTarget(str(small_drive))
        asked = protocol(capacity)
        random = protocol(capacity, name="r", rw="randwrite", bs="4k", iodepth=32, runtime="40s")
        list(target.purge())
        if not asked.purges[0].takes_all:
            (note,) = target.use(asked.purges[0].capacity)
            assert isinstance(note, Note)
            assert note.data["capacity_bytes"] + note.data["spare_bytes"] == (
                target.identity.size_bytes
            )
        list(target.run(asked.workload_steps[0]))
        frames = [
            one for one in target.run(random.workload_steps[0]) if isinstance(one, pl.DataFrame)
        ]
        mean = pl.concat(frames).tail(50)["write_iops"].mean()
        assert isinstance(mean, float)
        return mean

    assert steady_iops("75%") > 2 * steady_iops("100%")


@pytest.mark.slow
@needs_loop
def test_nothing_beyond_the_capacity_is_written_and_the_recording_says_so(tmp_path: Path) -> None:
    text = (
        'name = "spare"\n[[steps]]\nkind = "purge"\ncapacity = "75%"\n'
        '[[steps]]\nname = "w"\nrw = "write"\nbs = "1m"\n'
        '[[steps]]\nname = "end"\nrw = "randwrite"\nbs = "64k"\noffset = "90%"\nio_size = "1m"\n'
    )
    (tmp_path / "spare.toml").write_text(text)
    with drives_in(tmp_path) as make:
        drive = make(size=SIZE)
        words = ("run", "spare.toml", "--on", str(drive.node), "--erase", drive.id, "-o", "r")
        done = heatsoak_here(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        image = drive.image.read_bytes()
    assert all(any(image[at : at + MIB]) for at in range(0, USED, MIB))
    assert not any(image[USED:])
    told = [e for e in Recording.open(tmp_path / "r").events if "capacity_bytes" in e.data]
    assert [event.data["capacity_bytes"] for event in told] == [USED]


@needs_loop
def test_a_purge_without_a_capacity_uses_the_whole_drive_again(tmp_path: Path) -> None:
    with drives_in(tmp_path) as make:
        drive = make(size=SIZE)
        target = BlockTarget(drive.node, drive.id)
        target.open(writes=True)
        try:
            list(target.use(Size(percent=75)))
            assert target.place().size_bytes == USED
            list(target.purge())
            assert target.place().size_bytes == SIZE
        finally:
            target.close()


# -- what a drive hides

HDPARM = """#!/bin/sh
cd {directory} || exit 1
echo "$*" >> log
shown=$(cat shown) native={native}
case "$*" in
    *-N[0-9]*)
        for word; do case $word in -N*) wanted=${{word#-N}} ;; esac; done
        if [ -e stubborn ]; then wanted=$shown; fi
        if [ -e once ]; then rm once; wanted=$shown; fi
        echo "$wanted" > shown ;;
    -N*)
        state=disabled
        [ "$shown" = "$native" ] || state=enabled
        echo " max sectors   = $shown/$native, {words} $state" ;;
esac
"""


@dataclasses.dataclass
class Sata:
    """A drive that hides and shows sectors when hdparm says so; its kernel sees it whole."""

    directory: Path
    claim: Claim
    state: Path

    @property
    def shown(self) -> int:
        return int((self.directory / "shown").read_text())

    def shows(self, sectors: int) -> None:
        (self.directory / "shown").write_text(f"{sectors}\n")

    def told(self) -> list[str]:
        lines = (self.directory / "log").read_text().splitlines()
        return [line for line in lines if re.search("-N[0-9]", line)]


MakeSata = Callable[..., Sata]


@pytest.fixture
def sata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeSata]:
    with drives_in(tmp_path) as make:
        claims: list[Claim] = []

        def made(words: str = "HPA is", serial: str | None = "S1") -> Sata:
            drive = make(size=SIZE)
            held = claim(drive.node, drive.id)
            claims.append(held)
            held.info = dataclasses.replace(held.info, transport="sata")
            # what is read again is the loop device: it keeps what it said of itself
            object.__setattr__(held, "recheck", lambda: None)
            held.info = dataclasses.replace(held.info, serial=serial)
            directory = tmp_path / "bin"
            directory.mkdir()
            tool = directory / "hdparm"
            tool.write_text(
                HDPARM.format(directory=quote(str(directory)), native=SECTORS, words=words)
            )
            tool.chmod(0o755)
            monkeypatch.setenv(TOOLS, str(directory))
            found = Sata(directory, held, tmp_path / "state")
            found.shows(SECTORS)
            return found

        yield made
        for held in claims:
            held.close()


@needs_loop
@pytest.mark.parametrize("others_come_between", [0, 1])
def test_a_drive_hides_what_is_beyond_and_shows_it_again(
    sata: MakeSata, others_come_between: int
) -> None:
    drive = sata()
    if others_come_between:  # the command is given again
        (drive.directory / "once").touch()
    hidden = hide(drive.claim, USED, state=drive.state)
    assert drive.shown == USED // 512
    assert hidden.is_held()
    assert len(list(drive.state.iterdir())) == 1
    hidden.put_back()
    hidden.put_back()
    assert drive.shown == SECTORS
    assert list(drive.state.iterdir()) == []
    assert len(drive.told()) == 2 + others_come_between
    assert not any("-Np" in line for line in drive.told())  # never one that outlasts a reset
    assert all(line.endswith(drive.claim.fd_path) for line in drive.told())


@needs_loop
def test_a_drive_that_does_not_do_as_told_is_noticed_and_left_as_it_was(sata: MakeSata) -> None:
    drive = sata()
    (drive.directory / "stubborn").touch()
    with pytest.raises(ToolError, match=f"was told to show {USED // 512} sectors, but shows"):
        hide(drive.claim, USED, state=drive.state)
    assert drive.shown == SECTORS
    assert list(drive.state.iterdir()) == []
    # what cannot be put back is said, and tried again
    (drive.directory / "stubborn").unlink()
    hidden = hide(drive.claim, USED, state=drive.state)
    (drive.directory / "stubborn").touch()
    with pytest.raises(ToolError, match=f"`heatsoak drives --restore` tries again .*-N{SECTORS} "):
        hidden.put_back()
    assert len(list(drive.state.iterdir())) == 1


@pytest.mark.slow
@needs_loop
def test_a_drive_that_shows_all_its_sectors_again_is_noticed(sata: MakeSata) -> None:
    drive = sata()
    hidden = hide(drive.claim, USED, state=drive.state)
    drive.shows(SECTORS)  # as Linux has it do after an error
    assert not hidden.is_held()
    hidden.put_back()
    assert len(drive.told()) == 1


@needs_loop
@pytest.mark.parametrize(
    ("words", "serial", "shown", "why"),
    [
        ("HPA is", "S1", SECTORS - 8, "already shows only 131064 of 131072 sectors"),
        ("HPA is", "S1", SECTORS + 8, "shows 131080 of 131072 sectors, which is impossible"),
        ("ACCESSIBLE MAX ADDRESS", "S1", SECTORS, "shows no host protected area"),
        ("HPA setting seems invalid", "S1", SECTORS, "shows no host protected area"),
        ("HPA is", None, SECTORS, "no serial"),
    ],
)
def test_a_drive_that_could_not_be_restored_or_is_in_doubt_gets_no_command(
    sata: MakeSata, words: str, serial: str | None, shown: int, why: str
) -> None:
    drive = sata(words, serial)
    drive.shows(shown)
    with pytest.raises(UsageError, match=why):
        hide(drive.claim, USED, state=drive.state)
    assert not (drive.directory / "log").exists() or drive.told() == []


@needs_loop
def test_nothing_is_hidden_on_another_kind_of_drive_or_once_it_is_another(sata: MakeSata) -> None:
    drive = sata()
    kinds = {
        kind: dataclasses.replace(drive.claim.info, transport=kind) for kind in ("nvme", "sata")
    }
    drive.claim.info = kinds["nvme"]
    with pytest.raises(
        UsageError, match=r"only SATA drives have .* this is on nvme; use 'unwritten'"
    ):
        require(drive.claim)

    def another() -> None:
        raise RefusedError("another drive")

    drive.claim.info = kinds["sata"]
    object.__setattr__(drive.claim, "recheck", another)
    with pytest.raises(RefusedError):
        hide(drive.claim, USED, state=drive.state)
    assert not (drive.directory / "log").exists()


@needs_loop
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_it_is_put_back_waits_until_it_is(
    sata: MakeSata, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = sata()
    hidden = hide(drive.claim, USED, state=drive.state)
    show = hidden_sectors.show

    def interrupted(*words: object) -> None:
        os.kill(os.getpid(), number)
        show(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(hidden_sectors, "show", interrupted)

    with interrupted_by(number):
        hidden.put_back()
    assert drive.shown == SECTORS
    assert list(drive.state.iterdir()) == []


@pytest.fixture
def hiding(sata: MakeSata, monkeypatch: pytest.MonkeyPatch) -> tuple[Sata, BlockTarget]:
    """Return a target that is open, and its drive, of which it has had 16 MiB hidden."""
    drive = sata()
    monkeypatch.setattr("heatsoak.target.fio.block.claim", lambda *_, **__: drive.claim)
    monkeypatch.setattr("heatsoak.target.hidden_sectors.hide", partial(hide, state=drive.state))
    target = BlockTarget(drive.claim.path, drive.claim.id)
    target.open(writes=True)
    list(target.use(Size(bytes=USED), "hpa"))
    assert drive.shown == USED // 512
    assert target.place().size_bytes == USED
    return drive, target


@needs_loop
@pytest.mark.parametrize("is_purged", [True, False])
def test_a_purge_is_of_the_whole_drive_and_a_target_that_is_closed_shows_all_again(
    hiding: tuple[Sata, BlockTarget], is_purged: bool
) -> None:
    drive, target = hiding
    if is_purged:
        assert [drive.shown for _ in target.purge("discard")][-1] == SECTORS
    target.close()
    target.close()
    assert drive.shown == SECTORS
    assert drive.claim.fd < 0


@needs_loop
def test_a_drive_that_stays_as_it_is_does_not_hide_what_ended_the_run(
    hiding: tuple[Sata, BlockTarget],
) -> None:
    drive, target = hiding
    (drive.directory / "stubborn").touch()

    def run() -> None:
        try:
            raise ToolError("the drive stalls")
        finally:
            target.close()

    with pytest.raises(
        ToolError, match=r"the drive stalls; .*`heatsoak drives --restore` tries again"
    ):
        run()
    assert drive.claim.fd < 0


@pytest.mark.slow
@needs_loop
def test_a_step_on_a_drive_that_shows_all_again_warns(hiding: tuple[Sata, BlockTarget]) -> None:
    drive, target = hiding
    drive.shows(SECTORS)
    step = protocol("75%", io_size="1m").workload_steps[0]
    notes = [batch for batch in target.run(step) if isinstance(batch, Note)]
    target.close()
    assert any("no longer hides what it was told to" in note.text for note in notes)


@pytest.mark.slow
@needs_loop
def test_what_came_beside_hidden_sectors_is_not_written_over(
    hiding: tuple[Sata, BlockTarget],
) -> None:
    drive, target = hiding
    step = protocol("75%", io_size="1m").workload_steps[0]
    list(target.run(step))
    os.pwrite(drive.claim.fd, b"somebody's data", USED - 4096)
    for writes in (target.run(step), target.purge("discard")):
        with pytest.raises(RefusedError, match="changed by somebody else"):
            list(writes)
    target.close()


def killed_run(drive: Sata) -> None:
    """Hide a part of a drive in a process that is killed meanwhile."""
    killed_after(lambda: hide(drive.claim, USED, state=drive.state))


def machine_of(drive: Sata, tmp_path: Path) -> Roots:
    """Return a machine on which the drive has its serial."""

    class Loop:
        number = drive.claim.info.number
        size_bytes = SIZE

    machine = Machine(tmp_path / "sys", Loop())  # type: ignore[arg-type]
    (machine.disk / "device" / "serial").write_text("S1\n")
    dev = tmp_path / "dev"
    dev.mkdir()
    (dev / "sdx").symlink_to(drive.claim.path)
    return Roots(sys=machine.base, dev=dev)


@needs_loop
@pytest.mark.parametrize(
    ("meanwhile", "said", "shown"),
    [
        ("nothing", f"shows all {SECTORS} sectors", SECTORS),
        ("changed", "left alone", 1000),
        (
            "away",
            "there are 0 such drives (by hand: hdparm --yes-i-know-what-i-am-doing -N",
            USED // 512,
        ),
    ],
)
def test_what_a_killed_run_has_left_hidden_is_shown_by_the_next_or_reported(
    sata: MakeSata, tmp_path: Path, meanwhile: str, said: str, shown: int
) -> None:
    drive = sata()
    killed_run(drive)
    assert drive.shown == USED // 512
    if meanwhile == "changed":
        drive.shows(shown)
    roots = Roots(sys=tmp_path / "no") if meanwhile == "away" else machine_of(drive, tmp_path)
    (note,) = put_back(roots, state=drive.state)
    assert said in note.text
    assert drive.shown == shown
    # what cannot be put back yet is reported again
    assert len(put_back(roots, state=drive.state)) == (meanwhile == "away")


@needs_loop
def test_a_run_that_lives_keeps_what_it_hides(sata: MakeSata, tmp_path: Path) -> None:
    drive = sata()
    hidden = hide(drive.claim, USED, state=drive.state)
    assert put_back(machine_of(drive, tmp_path), state=drive.state) == []
    assert drive.shown == USED // 512
    hidden.put_back()


@given(st.text(max_size=200))
def test_whatever_hdparm_says_is_sectors_or_an_error(text: str) -> None:
    for said in (text, f" max sectors   = {text}, HPA is enabled"):
        try:
            sectors = hidden_sectors.parse(said)
        except ValueError:
            continue
        assert 0 < sectors.shown <= sectors.native


@pytest.mark.slow
@needs_loop
def test_a_drive_that_hides_nothing_is_reported_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "spare.toml").write_text(
        'name = "spare"\n[[steps]]\nname = "w"\nrw = "write"\nio_size = "1m"\n'
        '[[steps]]\nkind = "purge"\ncapacity = "75%"\nspare = "hpa"\n'
    )
    with drives_in(tmp_path) as make:
        drive = make(size=SIZE)
        before = drive.sum()
        words = ("run", "spare.toml", "--on", str(drive.node), "--erase", drive.id, "-o", "r")
        assert "is on loop" in complaint(heatsoak_here(*words, cwd=tmp_path), 2)
        assert drive.sum() == before
    line = complaint(
        heatsoak_here("run", "spare.toml", "--on", str(tmp_path), "-o", "r", cwd=tmp_path), 2
    )
    assert "on whole SATA drives" in line
