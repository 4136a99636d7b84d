"""A copy from one simulated drive to another, as a user runs it."""

import shutil
import signal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command import complaint, done_here, heatsoak_here, json_here
from heatsoak.bench.copying import of_side
from heatsoak.protocol import ROLES, Copy, Role, load
from heatsoak.recording import Recording, find_recordings
from heatsoak.target import LoadResult
from heatsoak.target.simulated import SimulatedPair, SimulatedTarget
from hypothesis import given, settings
from hypothesis import strategies as st
from observed import begun
from started import started

WARM = "puget-underside-1gpu-loaded"
SMALL_COPY = """
schema = 1
name = "small"
steps = [{ kind = "copy", size = "200MB" }]
"""


def recordings_of(directory: Path) -> dict[Role, Recording]:
    """Return the recordings of a copy by their sides."""
    return {role: Recording.open(directory / role) for role in ROLES}


def moved(samples: pl.DataFrame, direction: str) -> pl.DataFrame:
    """Return the bytes that were moved up to each sample of a load."""
    rate = pl.col(f"{direction}_bw_mb_s") * pl.col("interval_s") * 1e6
    return samples.drop_nulls(f"{direction}_bw_mb_s").select("t_s", rate.cum_sum().alias("bytes"))


def run(tmp_path: Path, source: str, destination: str, *words: str) -> dict[str, Any]:
    on = ("run", "copy", "--on", source, "--to", destination, "-o", "r")
    found: dict[str, Any] = json_here(*on, *words, cwd=tmp_path)
    return found


def step_of(found: dict[str, Any], role: Role) -> dict[str, Any]:
    (recording,) = [one for one in found["recordings"] if one["conditions"]["role"] == role]
    (step,) = recording["steps"]
    assert step["step"] == "copy"
    return dict(step)


def deepest(step: dict[str, Any]) -> dict[str, Any]:
    return dict(max(step["episodes"], key=lambda episode: episode["depth_pct"]))


@pytest.mark.slow
def test_a_destination_in_a_warm_slot_throttles_and_holds_up_a_cool_source(tmp_path: Path) -> None:
    drive = "sim:samsung-950-pro-512"
    words = ("--set", "size=100GB")
    found = run(tmp_path, f"{drive}@open-bench", f"{drive}@{WARM}", *words)
    destination, source = deepest(step_of(found, "destination")), deepest(step_of(found, "source"))
    assert destination["cause"] == "thermal"
    assert source["cause"] == "limited-by-host"
    assert source["onset_s"] == pytest.approx(destination["onset_s"], abs=3)
    assert source["depth_pct"] == pytest.approx(destination["depth_pct"], abs=3)
    (said,) = [line for line in source["evidence"] if "the destination" in line]
    assert said.startswith("for limited-by-host: the destination fell at the same time, by ")
    assert "the cause is there (thermal)" in said
    assert any("waited for this drive" in line for line in destination["evidence"])
    ((copy,),) = [one["steps"] for one in found["copies"]]
    assert copy["bottleneck"] == "destination"
    assert copy["destination_pct"] > 90
    assert copy["source_pct"] < 5
    assert copy["bytes"] == pytest.approx(100e9, rel=1e-4)
    assert copy["mb_s"] == pytest.approx(copy["bytes"] / copy["duration_s"] / 1e6, rel=1e-6)
    assert copy["text"].startswith("the destination slowed the source down ")
    assert copy["text"].endswith("(thermal)")
    enclosures = [one["conditions"]["enclosure"] for one in found["recordings"]]
    assert enclosures == ["open-bench", WARM]
    scores = {score["name"]: score for score in found["recordings"][1]["scores"]}
    assert scores["Copying"]["value"] == pytest.approx(copy["mb_s"], rel=0.02)
    assert scores["Time to copy"]["value"] == pytest.approx(copy["duration_s"], rel=0.02)
    # the recordings say all of it again, years later and from elsewhere
    (tmp_path / "r").rename(tmp_path / "moved")
    shown = heatsoak_here("analyze", "moved", cwd=tmp_path).stdout
    assert copy["text"] in shown.replace("\n", " ")
    alone = json_here("analyze", "moved/source", cwd=tmp_path)
    assert alone["copies"] == []
    (recording,) = alone["recordings"]
    assert any("the destination's recording (../destination" in note for note in recording["notes"])
    # its own queue still says that less was asked of it, and nothing says by whom
    assert not any("the destination" in line for line in deepest(recording["steps"][0])["evidence"])


@pytest.mark.long
@pytest.mark.slow
def test_a_source_that_throttles_on_reads_holds_up_the_destination(tmp_path: Path) -> None:
    source = f"sim:samsung-950-pro-512@{WARM}"
    to = "sim:pcie4-tlc-1tb@controller-heatsink"
    found = run(tmp_path, source, to)
    assert deepest(step_of(found, "source"))["cause"] == "thermal"
    held_up = deepest(step_of(found, "destination"))
    assert held_up["cause"] == "limited-by-host"
    assert any("the source fell at the same time" in line for line in held_up["evidence"])
    ((copy,),) = [one["steps"] for one in found["copies"]]
    assert copy["bottleneck"] == "source"
    assert copy["source_pct"] > 90


@pytest.mark.slow
def test_a_steady_copy_says_who_waited_for_whom(tmp_path: Path, small_drive: Path) -> None:
    """Reads are faster than writes, and nothing gets warm in so short a time."""
    found = run(tmp_path, f"sim:{small_drive}", f"sim:{small_drive}", "--scale", "0.02")
    ((copy,),) = [one["steps"] for one in found["copies"]]
    assert copy["bottleneck"] == "destination"
    source = step_of(found, "source")
    assert source["verdict"] in ("steady", "unknown")
    assert source["episodes"] == []
    waited = f"it waited for the destination {copy['destination_pct']:.0f} % of the time"
    assert waited in source["claims"][0]["reasons"]
    recordings = recordings_of(tmp_path / "r")
    assert {r.meta.part_of_copy.role for r in recordings.values() if r.meta.part_of_copy} == set(
        ROLES
    )
    ids = {r.meta.part_of_copy.id for r in recordings.values() if r.meta.part_of_copy}
    assert len(ids) == 1
    # the source was written first, so that there is something to be read
    assert begun(recordings["source"]) == ["fill-source", "pause", "copy"]
    assert begun(recordings["destination"]) == ["pause", "copy"]
    assert recordings["source"].meta.protocol.workload_steps[0].name == "fill-source"


@pytest.mark.slow
@settings(max_examples=40)
@given(data=st.data())
def test_what_is_written_was_read_before_and_the_buffer_is_never_over_full(
    data: st.DataObject, small_drive: Path
) -> None:
    bs = data.draw(st.sampled_from([128 << 10, 1 << 20, 3 << 20]), "bs")
    size = data.draw(st.integers(1, 400 * (1 << 20) // bs), "blocks") * bs
    buffer_bytes = data.draw(st.integers(bs, 64 << 20), "buffer")
    iodepth = data.draw(st.integers(1, 32), "iodepth")
    step = Copy.model_validate(
        {"kind": "copy", "size": size, "bs": bs, "buffer": buffer_bytes, "iodepth": iodepth}
    )
    pair = SimulatedPair(*(SimulatedTarget(str(small_drive)) for _ in ROLES))
    frames: dict[Role, list[pl.DataFrame]] = {role: [] for role in ROLES}
    took: dict[Role, dict[str, Any]] = {}
    for number, batch in pair.copy(step):
        role = ROLES[number]
        if isinstance(batch, LoadResult):
            took[role] = batch.data["latency_bins"]
        else:
            assert isinstance(batch, pl.DataFrame)
            frames[role].append(batch)
    for role, direction in zip(ROLES, ("read", "write"), strict=True):
        assert sum(took[role][direction]["ios"]) * bs == size
    read = moved(pl.concat(frames["source"]), "read")
    written = moved(pl.concat(frames["destination"]), "write")
    for side in (read, written):
        assert side["bytes"][-1] == pytest.approx(size, abs=1)
    clocks = [target.clock.now_s() for target in pair.targets]
    assert clocks[0] == pytest.approx(clocks[1], abs=1e-5)
    both = read.join(written, on="t_s", suffix="_written")
    assert len(both) >= min(len(read), len(written)) - 1
    ahead = both["bytes"] - both["bytes_written"]
    assert (ahead >= -1).all()
    assert (ahead <= buffer_bytes + 1).all()


def test_a_purge_and_a_precondition_are_the_destinations_and_the_source_rests(
    tmp_path: Path, small_drive: Path
) -> None:
    (tmp_path / "mine.toml").write_text(
        'schema = 1\nname = "mine"\n[[steps]]\nkind = "purge"\n'
        '[[steps]]\nkind = "precondition"\nname = "fill"\nrw = "write"\nbs = "1m"\n'
        'iodepth = 8\nsize = "1GB"\n'
        '[[steps]]\nkind = "pause"\nduration = "1m"\nuntil_temp_c = 90\n'
        '[[steps]]\nkind = "copy"\nsize = "500MB"\n'
    )
    place = f"sim:{small_drive}"
    done_here("run", "mine.toml", "--on", place, "--to", place, "-o", "r", cwd=tmp_path)
    found = recordings_of(tmp_path / "r")
    steps = {role: begun(r) for role, r in found.items()}
    assert steps["source"] == ["fill-source", "pause", "copy"]
    assert steps["destination"] == ["purge", "fill", "pause", "copy"]
    for role, recording in found.items():
        begins = [e for e in recording.events if e.kind == "step-begin"]
        assert [e.data["index"] for e in begins] == list(range(len(steps[role])))
    rests = found["source"].samples(["t_s", "step", "interval_s", "power_w"])
    # the clocks go together: the copy begins at the same time on both drives
    start_s = {
        role: next(e.t_s for e in r.events if e.kind == "step-begin" and e.step == "copy")
        for role, r in found.items()
    }
    assert start_s["source"] == pytest.approx(start_s["destination"], abs=0.01)
    assert rests["interval_s"].sum() == pytest.approx(rests["t_s"][-1], abs=0.5)
    assert "pause" not in set(rests["step"].drop_nulls())


@pytest.mark.long
@pytest.mark.slow
def test_a_drive_that_shuts_down_ends_the_copy_and_both_recordings_are_kept(
    tmp_path: Path, small_hot_drive: Path
) -> None:
    steps = "".join(
        f'[[steps]]\nkind = "copy"\nname = "copy-{number}"\nsize = "7.5GB"\nbs = "4m"\n'
        for number in range(250)
    )
    (tmp_path / "hot.toml").write_text(f'schema = 1\nname = "hot"\n{steps}')
    hot = f"sim:{small_hot_drive}"
    words = ("run", "hot.toml", "--on", f"{hot}@board-heatsink", "--to", f"{hot}@laptop")
    done = heatsoak_here(*words, "-o", "r", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    last = done.stderr.splitlines()[-1]
    assert "shut itself down at " in last
    assert last.endswith("the recordings of both drives so far are in r")
    for recording in recordings_of(tmp_path / "r").values():
        assert recording.meta.status == "failed"
        assert len(recording.samples(["t_s"])) > 10
    done_here("analyze", "r", cwd=tmp_path)


@pytest.mark.slow
def test_an_interrupted_copy_keeps_both_recordings(tmp_path: Path) -> None:
    words = ["run", "copy", "--on", "sim:pcie4-tlc-1tb", "--to", "sim:pcie4-tlc-1tb", "-o", "r"]
    with started(tmp_path, *words) as run:
        # both are recorded by the time at which the source's first step begins
        run.wait_for_event("step-begin", below="source")
        run.end(130, by=signal.SIGINT)
    for recording in recordings_of(tmp_path / "r").values():
        assert recording.meta.status == "interrupted"
    done_here("analyze", "r", cwd=tmp_path)


def test_a_dry_run_reports_what_is_written_to_either_side_and_touches_nothing(
    tmp_path: Path,
) -> None:
    words = ("run", "copy", "--on", "sim:samsung-950-pro-512", "--to", "sim:intel-750-1200-u2")
    source, destination = json_here(*words, "--dry-run", cwd=tmp_path)
    assert [source["target"], destination["target"]] == [words[3], words[5]]
    # in place of a source's data, as much is written to it first
    for row in (source, destination):
        assert row["written_bytes"] == pytest.approx(200e9, rel=1e-4)
    copies = [row["steps"][-1] for row in (source, destination)]
    assert copies[0]["duration_s"] == pytest.approx(copies[1]["duration_s"])
    assert [step["workload"] for step in copies] == [
        "sequential read, 1m, QD8",
        "sequential write, 1m, QD8",
    ]
    assert list(tmp_path.iterdir()) == []
    # and it is listed with what it takes
    (row,) = [row for row in json_here("list", "protocols", cwd=tmp_path) if row["name"] == "copy"]
    assert row["writes"]
    assert row["written_bytes"] == pytest.approx(200e9, rel=1e-4)
    assert row["duration_s"] > 300


SIM = "sim:samsung-950-pro-512"


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("copy", "name the destination with --to"),
        (f"quick --to {SIM}", "quick does not copy: leave --to out"),
        ("copy --to .", "simulate both, or neither"),
        ("copy --to sim:nothing", "nothing"),
        ("copy --to nowhere", "there is no such target"),
        (f"copy --to {SIM} --set size=50%", "is a share"),
        (f"copy --to {SIM} --set size=1k", "less than one I/O"),
        (f"copy --to {SIM} --set size=1GB", "too short to be judged"),
        (f"copy --to {SIM} --set size=0.6TB", "copy.size=512GB"),
        (f"copy --to {SIM} --set copy.buffer=4k", "one I/O"),
        (f"copy --to {SIM} --set bs=5000", "4096"),
        (f"copy --to {SIM} --set copy.rate=5", "no key 'rate'"),
        (f"copy --to {SIM} --set runtime=9", "a copy has no 'runtime'"),
        (f"copy --to {SIM} --power-sensor x", "a copy has two"),
        (f"copy --to {SIM} -o .", "already exists"),
        (f"mixed.toml --to {SIM}", "a protocol that copies cannot have"),
        (f"probe.toml --to {SIM}", "under a condition"),
        (f"fill.toml --to {SIM}", "choose another name"),
        (f"typo.toml --to {SIM}", "did you mean 'buffer'"),
    ],
)
def test_what_cannot_be_copied_is_one_line(tmp_path: Path, words: str, what: str) -> None:
    begin = 'schema = 1\nname = "x"\n[[steps]]\nkind = "copy"\nsize = "1GB"\n'
    for name, more in {
        "mixed": '[[steps]]\nname = "w"\nrw = "write"\n',
        "probe": '[[steps]]\nkind = "pause"\nonly_after = "copy"\nduration = 1\n',
        "fill": 'name = "fill-source"\n',
        "typo": 'bufer = "1m"\n',
    }.items():
        (tmp_path / f"{name}.toml").write_text(begin + more)
    done = heatsoak_here("run", "--on", SIM, *words.split(), cwd=tmp_path)
    assert what in complaint(done, 2)


def test_each_side_has_its_part_of_the_protocol() -> None:
    protocol = load("copy")
    (copy,) = protocol.copies
    for fills in (False, True):
        source, destination = (of_side(protocol, role, fills=fills) for role in ROLES)
        assert source.writes is fills
        assert destination.writes
        for side, rw in ((source, "read"), (destination, "write")):
            step = side.workload_steps[-1]
            assert (step.name, step.rw) == ("copy", rw)
            assert side.file_size.bytes is not None
            assert side.file_size.bytes >= copy.amount_bytes
            assert type(side).model_validate(side.model_dump()) == side


@pytest.mark.slow
def test_a_recording_of_a_copy_is_found_with_all_others_below_a_directory(
    tmp_path: Path, small_drive: Path
) -> None:
    (tmp_path / "small.toml").write_text(SMALL_COPY)
    place = f"sim:{small_drive}"
    for name in ("one", "two"):
        done_here("run", "small.toml", "--on", place, "--to", place, "-o", name, cwd=tmp_path)
    shutil.rmtree(tmp_path / "two" / "source")
    assert len(find_recordings(tmp_path)) == 3
    found = json_here("analyze", ".", cwd=tmp_path)
    (copy,) = found["copies"]
    assert copy["source"].endswith("one/source")
    assert copy["destination"].endswith("one/destination")
