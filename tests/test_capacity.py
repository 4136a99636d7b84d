"""Less than the whole drive, so that it has more spare area."""

from pathlib import Path

import polars as pl
import pytest
from command import complaint, done_here, heatsoak_here
from guarded import drives_in, needs_loop
from heatsoak.bench.plan import AssumedSpeeds, plan
from heatsoak.errors import UsageError
from heatsoak.protocol import Protocol, apply_settings, load
from heatsoak.recording import Recording
from heatsoak.target import Note
from heatsoak.target.base import limited
from heatsoak.target.fio import BlockTarget
from heatsoak.target.simulated import SimulatedTarget
from heatsoak.units import Size
from hypothesis import given
from hypothesis import strategies as st

MIB = 1 << 20
SIZE = 64 * MIB
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
        used, _ = limited(Size(percent=percent), whole)
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
        ("purge.spare=hpa", "spare"),
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
        done_here(*words, cwd=tmp_path)
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


def test_what_a_sata_drive_hid_is_read_in_recordings_and_no_longer_run(tmp_path: Path) -> None:
    (tmp_path / "spare.toml").write_text(
        'name = "spare"\n[[steps]]\nname = "w"\nrw = "write"\nio_size = "1m"\n'
        '[[steps]]\nkind = "purge"\ncapacity = "75%"\nspare = "hpa"\n'
    )
    for place in (str(tmp_path), "sim:samsung-950-pro-512"):
        words = ("run", "spare.toml", "--on", place, "-o", "r")
        assert "spare = 'hpa' is no longer possible" in complaint(
            heatsoak_here(*words, cwd=tmp_path), 2
        )
    assert not (tmp_path / "r").exists()
