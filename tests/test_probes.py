"""Probes: steps that are taken only where an earlier one fell, and what is recorded of them."""

import gc
import re
import threading
import time
import weakref
from io import StringIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from command import json_here
from heatsoak.analysis import analyze
from heatsoak.bench import probes
from heatsoak.bench.plan import typical_plan
from heatsoak.bench.progress import LiveView, PlainView, SessionView
from heatsoak.bench.recorder import Latest
from heatsoak.bench.session import plan_session
from heatsoak.cli.run import print_preview
from heatsoak.errors import RunInterrupted, ShutDownError
from heatsoak.output import Console
from heatsoak.protocol import Protocol, load
from heatsoak.protocol.source import parse_toml
from heatsoak.recording import Event, Recording
from heatsoak.target import parse_place
from heatsoak.target.fio import DirectoryTarget
from heatsoak.target.simulated import SimulatedTarget
from heatsoak.units import Size
from needs import needs
from observed import Watcher, begun, conducted

HOT = "puget-top-2gpu-loaded"
COOL = "u2-bay"

READS = """
schema = 1
name = "reads"
[[steps]]
name = "read"
rw = "read"
bs = "128k"
iodepth = 32
span = "4GiB"
runtime = "40s"
[[steps]]
kind = "pause"
only_if_drop_in = "read"
duration = "30s"
[[steps]]
name = "again"
only_if_drop_in = ["read"]
asks = "is it back?"
rw = "read"
bs = "128k"
iodepth = 32
span = "4GiB"
runtime = "10s"
[[steps]]
name = "last"
rw = "read"
bs = "128k"
span = "4GiB"
runtime = "5s"
"""

WRITES = """
schema = 1
name = "writes"
steps = [
  { name = "write", rw = "write", bs = "128k", iodepth = 32, runtime = "30s" },
  { name = "at-once", only_if_drop_in = "write", rw = "write", bs = "128k", iodepth = 32, \
runtime = "5s" },
  { kind = "purge", only_if_drop_in = "write" },
  { name = "purged", only_after = "purge", only_if_drop_in = "write", rw = "write", bs = "128k", \
iodepth = 32, io_size = "1GB" },
]
"""


def run(
    text: str, drive: Path, place: str, directory: Path, watcher: Watcher | None = None
) -> Recording:
    return conducted(text, SimulatedTarget(str(drive), place), directory, watcher)


def skipped(recording: Recording) -> dict[str | None, str]:
    return {e.step: e.text for e in recording.events if e.kind == "step-skipped"}


def begin_of(recording: Recording, name: str) -> Event:
    [event] = [e for e in recording.events if (e.kind, e.step) == ("step-begin", name)]
    return event


def length_s(recording: Recording) -> float:
    assert recording.meta.duration_s is not None
    return recording.meta.duration_s


def throttled_s(recording: Recording) -> float | None:
    """When the governor first took 1 % or more, by the simulator's own truth."""
    samples = recording.samples()
    first = samples.filter(samples["sim.permitted"] < 0.99)["t_s"].head(1).to_list()
    return first[0] if first else None


# ---- taken and skipped, with the simulator's truth


def test_probes_are_taken_where_the_governor_acts_and_left_out_where_nothing_falls(
    small_drive: Path, tmp_path: Path
) -> None:
    watchers = {HOT: Watcher(), COOL: Watcher()}
    target = SimulatedTarget(str(small_drive), COOL)
    hot = run(READS, small_drive, HOT, tmp_path / "hot", watchers[HOT])
    cool = conducted(READS, target, tmp_path / "cool", watchers[COOL])
    assert begun(hot) == ["read", "pause", "again", "last"]
    assert skipped(hot) == {}
    why = begin_of(hot, "again").text
    onset_s = float(why.rpartition("after ")[2].removesuffix(" s"))
    assert why.startswith("probe: 'read' fell by ")
    assert onset_s == pytest.approx(throttled_s(hot), abs=1.5)
    assert ("probe", "again", why.removeprefix("probe: ")) in watchers[HOT].told
    assert ("due", "again", "pause") in watchers[HOT].told
    samples = hot.samples()
    assert samples.filter(samples["step"] == "again").height >= 100

    assert throttled_s(cool) is None
    assert begun(cool) == ["read", "last"]
    assert skipped(cool) == dict.fromkeys(("pause", "again"), "nothing fell in 'read'")
    assert ("skip", "again", "nothing fell in 'read'") in watchers[COOL].told
    assert "due" not in [kind for kind, *_ in watchers[COOL].told]
    assert set(cool.samples()["step"].drop_nulls()) == {"read", "last"}
    assert target.clock.now_s() == pytest.approx(45, abs=0.1)
    [found] = analyze([cool]).recordings
    assert [step.step for step in found.steps] == ["read", "last"]

    for recording in (hot, cool):
        at = {
            e.data["index"]: e.step
            for e in recording.events
            if e.kind in ("step-begin", "step-skipped")
        }
        assert at == {0: "read", 1: "pause", 2: "again", 3: "last"}
        assert isinstance(recording.meta.protocol, Protocol)
        assert [step.name for step in recording.meta.protocol.steps] == list(at.values())


@pytest.mark.slow
def test_an_exhausted_cache_is_probed_and_a_purge_on_a_whole_drive_brings_it_back(
    cached_drive: Path, tmp_path: Path
) -> None:
    recording = run(WRITES, cached_drive, "board-heatsink", tmp_path / "r")
    samples = recording.samples()
    # the cache it was, and not heat
    assert throttled_s(recording) is None
    assert samples["sim.cached_gb"].max() > 2  # type: ignore[operator]
    assert begun(recording) == ["write", "at-once", "purge", "purged"]
    means = {
        name: samples.filter(samples["step"] == name)["write_bw_mb_s"].mean()
        for name in ("at-once", "purged")
    }
    assert means["purged"] > 2 * means["at-once"]  # type: ignore[operator]


def test_a_probe_of_a_step_that_was_left_out_or_is_too_short_to_be_judged_is_left_out(
    small_drive: Path, tmp_path: Path
) -> None:
    text = READS + 'only_if_drop_in = "again"\n[[steps]]\nkind = "pause"\nname = "after"\n'
    text += 'duration = 3\nonly_after = "again"\n'
    recording = run(text, small_drive, COOL, tmp_path / "r")
    assert begun(recording) == ["read"]
    assert skipped(recording)["last"] == "not run: 'again'"
    assert skipped(recording)["after"] == "'again' was not done"
    recording = run(READS.replace('"40s"', '"500ms"'), small_drive, HOT, tmp_path / "short")
    assert skipped(recording)["again"] == "too short to judge: 'read'"


@pytest.mark.slow
def test_one_of_several_steps_is_enough(small_drive: Path, tmp_path: Path) -> None:
    text = READS.replace('["read"]', '["first", "read"]').replace(
        '[[steps]]\nname = "read"',
        '[[steps]]\nname = "first"\nrw = "read"\nspan = "1GiB"\nruntime = "5s"\n'
        '[[steps]]\nname = "read"',
        1,
    )
    recording = run(text, small_drive, HOT, tmp_path / "hot")
    assert begin_of(recording, "again").text.startswith("probe: 'read' fell by")
    recording = run(text, small_drive, COOL, tmp_path / "cool")
    assert skipped(recording)["again"] == "nothing fell in 'first' or 'read'"


@pytest.mark.slow
def test_a_step_ends_once_it_was_down_for_long_enough(small_drive: Path, tmp_path: Path) -> None:
    text = READS.replace('runtime = "40s"', 'runtime = "30m"\nend_after_drop = "20s"', 1)
    recording = run(text, small_drive, HOT, tmp_path / "r")
    [end] = [e for e in recording.events if (e.kind, e.step) == ("step-end", "read")]
    assert end.text == "ended early: it was slowed for 20 s"
    onset_s = throttled_s(recording)
    assert onset_s is not None
    # the simulator gives 30 s at a time
    assert 19 <= end.data["duration_s"] - onset_s <= 20 + 30
    assert begun(recording) == ["read", "pause", "again", "last"]
    cool = run(
        READS.replace('runtime = "40s"', 'runtime = "90s"\nend_after_drop = "20s"', 1),
        small_drive,
        COOL,
        tmp_path / "cool",
    )
    [end] = [e for e in cool.events if (e.kind, e.step) == ("step-end", "read")]
    assert end.text == ""
    assert end.data["duration_s"] == pytest.approx(90, abs=0.1)


def test_each_cell_of_a_matrix_is_judged_on_its_own(small_drive: Path, tmp_path: Path) -> None:
    matrix = f'[matrix]\nenclosure = "{{place}}"\n[matrix.axes]\nplace = ["{HOT}", "{COOL}"]\n'
    session = plan_session(
        parse_place(f"sim:{small_drive}"), lambda: parse_toml(READS + matrix, "mine")
    )
    hot, cool = session.record(tmp_path / "r", workers=2)
    assert begun(hot) == ["read", "pause", "again", "last"]
    assert begun(cool) == ["read", "last"]


# ---- whatever happens meanwhile


def test_where_judging_fails_the_probe_is_run_and_a_note_says_so(
    small_drive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_samples: object) -> None:
        raise ZeroDivisionError("division by zero\nand more")

    monkeypatch.setattr(probes, "drops_of", broken)
    text = READS.replace('runtime = "40s"', 'runtime = "40s"\nend_after_drop = "5s"', 1)
    recording = run(text, small_drive, COOL, tmp_path / "r")
    assert recording.meta.status == "finished"
    assert begun(recording) == ["read", "pause", "again", "last"]
    assert begin_of(recording, "again").text == "probe: 'read' could not be judged"
    warned = [event.text for event in recording.events if event.kind == "warning"]
    assert warned == [
        "cannot tell whether it fell, so it runs to its end: division by zero",
        "'read' could not be judged, so its probes are run: division by zero",
    ]


def test_a_probe_that_is_interrupted_is_kept_as_far_as_it_came(
    small_drive: Path, tmp_path: Path
) -> None:
    with pytest.raises(RunInterrupted):
        run(READS, small_drive, HOT, tmp_path / "r", Watcher(stop_at="again"))
    recording = Recording.open(tmp_path / "r")
    assert recording.meta.status == "interrupted"
    assert begun(recording) == ["read", "pause", "again"]
    assert "again" in set(recording.samples()["step"])


@pytest.mark.slow
def test_a_drive_that_shuts_down_within_a_probe_ends_the_run_as_in_any_step(
    small_hot_drive: Path, tmp_path: Path
) -> None:
    text = READS.replace('runtime = "10s"', 'runtime = "10m"').replace('"30s"', '"1s"')
    with pytest.raises(ShutDownError):
        run(text.replace('"40s"', '"104s"'), small_hot_drive, "open-bench", tmp_path / "r")
    recording = Recording.open(tmp_path / "r")
    assert recording.meta.status == "failed"
    assert begun(recording)[-1] == "again"


def test_a_probe_that_is_too_short_to_judge_is_not_taken(small_drive: Path, tmp_path: Path) -> None:
    short = READS.replace('runtime = "10s"', 'runtime = "3s"')
    recording = run(short, small_drive, HOT, tmp_path / "r")
    assert skipped(recording) == {"again": "3 s are too short to judge"}
    assert begun(recording) == ["read", "pause", "last"]


def test_what_is_left_to_do_counts_the_probes_that_a_fall_has_made_due() -> None:
    plan = typical_plan(load("quick"))
    view = SessionView([plan], "quick").begin_run(plan, "")
    at = next(n for n, planned in enumerate(plan.steps) if planned.step.name == "write")
    view.on_step(at, plan.steps[at].step, 100.0)
    view.on_progress(100.0 + plan.steps[at].duration_s, Latest())
    probes_of_quick = [planned for planned in plan.steps[at:] if planned.step.is_probe]
    others_s = sum(p.duration_s for p in plan.steps[at + 1 :] if not p.step.is_probe)
    assert view.remaining_s() == pytest.approx(others_s)
    view.on_due({planned.step.name for planned in probes_of_quick})
    due_s = sum(planned.duration_s for planned in probes_of_quick)
    assert due_s > 30
    assert view.remaining_s() == pytest.approx(others_s + due_s)


# ---- the bundled ones


@pytest.mark.slow
def test_quick_asks_why_where_it_is_hot_and_only_there(small_drive: Path, tmp_path: Path) -> None:
    made = {}
    for place in (HOT, COOL):
        session = plan_session(parse_place(f"sim:{small_drive}@{place}"), lambda: load("quick"))
        [made[place]] = session.record(tmp_path / place)
    probes_of_quick = [step.name for step in load("quick").steps if step.is_probe]
    assert set(begun(made[HOT])) > set(probes_of_quick)
    assert set(skipped(made[COOL])) == set(probes_of_quick)
    assert length_s(made[COOL]) < 120 < length_s(made[HOT]) < 240
    # probes of what is hot begin hot
    warm = [
        note
        for note in analyze([made[HOT]]).recordings[0].notes
        if "warmer than the coolest" in note
    ]
    assert [note.split("'")[1] for note in warm] == ["write"]


@pytest.mark.slow
def test_why_stops_loading_when_it_has_seen_enough_and_takes_every_probe(
    small_drive: Path, tmp_path: Path
) -> None:
    session = plan_session(parse_place(f"sim:{small_drive}@{HOT}"), lambda: load("why"))
    [recording] = session.record(tmp_path / "r")
    assert skipped(recording) == {}
    lengths: dict[str | None, float] = {
        e.step: e.data["duration_s"] for e in recording.events if e.kind == "step-end"
    }
    assert lengths["write"] < 300
    [planned] = session.preview()
    assert length_s(recording) < planned.duration_s


# ---- plans, and what a person sees


def test_a_plan_counts_probes_as_at_most() -> None:
    plan = typical_plan(load("quick"))
    probes_of_quick = [step for step in plan.steps if step.step.is_probe]
    assert probes_of_quick
    assert plan.duration_s - plan.least(lambda step: step.duration_s) == pytest.approx(
        sum(step.duration_s for step in probes_of_quick)
    )
    assert plan.written_bytes > plan.least(lambda step: step.written_bytes) > 0


def test_a_dry_run_says_when_a_step_is_taken_and_counts_all_of_them(tmp_path: Path) -> None:
    words = ("run", "why", "--on", "sim:samsung-950-pro-512", "--dry-run")
    [row] = json_here(*words, cwd=tmp_path)
    by_name = {step["step"]: step for step in row["steps"]}
    assert by_name["write"]["condition"] is None
    assert by_name["write-purged"]["condition"] == "only if 'write' falls and after 'purge'"
    assert row["written_bytes"] == sum(step["written_bytes"] for step in row["steps"])
    always = [step for step in row["steps"] if step["condition"] is None]
    assert row["duration_without_probes_s"] == sum(step["duration_s"] for step in always)
    assert row["written_without_probes_bytes"] == sum(step["written_bytes"] for step in always)
    screen = StringIO()
    print_preview([row], Console(file=screen, width=120))
    assert "only if 'read' or 'write' fall" in screen.getvalue()
    assert "with all probes" in screen.getvalue()


def test_a_probe_that_is_left_out_was_never_in_the_time_to_go() -> None:
    plan = typical_plan(load("quick"))
    view = PlainView([plan], "quick")
    seen = view.begin_run(plan, "")
    shares, t_s = [view.share_done()], 0.0
    for index, step in enumerate(plan.steps):
        before_s = view.remaining_s()
        if step.step.is_probe:
            seen.on_skip(index, step.step, "nothing fell")
            assert view.remaining_s() == pytest.approx(before_s)
        else:
            seen.on_step(index, step.step, t_s)
            t_s += step.duration_s
            seen.on_progress(t_s, Latest())
        shares.append(view.share_done())
    assert all(later >= sooner - 1e-12 for sooner, later in pairwise(shares))
    assert shares[-1] == pytest.approx(1)


def test_the_time_to_go_follows_how_fast_a_number_of_bytes_is_really_moved() -> None:
    plan = typical_plan(load("write-once"))
    (fill,) = [step for step in plan.steps if step.moved_bytes and not step.is_bound]
    view = PlainView([plan], "write-once")
    seen = view.begin_run(plan, "")
    seen.on_step(plan.steps.index(fill), fill.step, 0.0)
    latest = Latest()
    # it is four times as slow as planned, and after the planned time a quarter is done
    latest.update({"write_bw_mb_s": fill.moved_bytes / 1e6 / fill.duration_s / 4})
    for share in (0.25, 0.5, 0.75, 1.0):
        seen.on_progress(share * fill.duration_s, latest)
    assert view.remaining_s() >= 3 * fill.duration_s - 1e-6
    assert view.share_done() == pytest.approx(0.25, abs=0.05)


def test_what_is_left_out_does_not_make_time_run_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = typical_plan(load("why"))
    now_s = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    view = PlainView([plan], "why")
    seen = view.begin_run(plan, "")
    t_s = 0.0
    for index, step in enumerate(plan.steps[:-1]):
        if step.step.is_probe:
            seen.on_skip(index, step.step, "nothing fell")
            continue
        seen.on_step(index, step.step, t_s)
        # a step may end long before its time
        t_s += step.duration_s / 10
        now_s += step.duration_s / 10
        seen.on_progress(t_s, Latest())
    seen.on_step(len(plan.steps) - 1, plan.steps[-1].step, t_s)
    assert view.eta_s() == pytest.approx(plan.steps[-1].duration_s)


def test_a_terminal_shows_why_a_probe_is_taken_in_one_line() -> None:
    plan = typical_plan(load("quick"))
    index, probe = next((n, s.step) for n, s in enumerate(plan.steps) if s.step.is_probe)
    screen = StringIO()
    console = Console(file=screen, force_terminal=True, width=100, color_system=None)
    view = LiveView([plan], "quick", console)
    seen = view.begin_run(plan, "")
    seen.on_step(index, probe, 0.0, "'read' fell by 60 % after 8 s")
    console.print(view._render())
    said = f"probe: 'read' fell by 60 % after 8 s: {probe.asks}"
    assert said in [line.strip() for line in screen.getvalue().splitlines()]
    seen.on_skip(index + 1, plan.steps[index + 1].step, "nothing fell in 'read'")
    screen.truncate(0)
    console.print(view._render())
    assert "probe:" not in screen.getvalue()


def test_plain_lines_say_what_is_taken_and_what_is_left_out(
    small_drive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place, said in (
        (HOT, "probe: 'read' fell by "),
        (COOL, "skipped again: nothing fell in 'read'"),
    ):
        target = parse_place(f"sim:{small_drive}@{place}")
        plan_session(target, lambda: parse_toml(READS, "mine")).record(tmp_path / place)
        lines = capsys.readouterr().err.splitlines()
        assert any(line.startswith(said) for line in lines)


# ---- a real disk

#: What falls here is the load itself: two workloads beside each other, of which one ends sooner.
REAL = """
schema = 1
name = "real"
steps = [
  { name = "load", rw = "write", bs = "64k", rate = "10m", runtime = "2m", end_after_drop = "3s", \
beside = [{ rw = "randwrite", bs = "64k", rate = "30m", runtime = "4500ms" }] },
  { name = "again", only_if_drop_in = "load", rw = "read", bs = "64k", rate = "10m", \
runtime = "4s" },
  { kind = "purge", only_if_drop_in = "load" },
  { name = "purged", only_after = "purge", rw = "write" },
]
"""


def on_disk(text: str, tmp_path: Path) -> Recording:
    place = tmp_path / "place"
    place.mkdir()
    target = DirectoryTarget(place, Size(bytes=64 << 20))
    try:
        notes = target.open(writes=True)
        return conducted(text, target, tmp_path / "r", notes=notes)
    finally:
        target.close()


@pytest.mark.long
@needs("fio")
def test_on_a_real_disk_a_step_ends_early_a_probe_is_taken_and_nothing_of_fio_is_left(
    tmp_path: Path,
) -> None:
    threads = threading.active_count()
    for attempt in "abc":
        (tmp_path / attempt).mkdir()
        recording = on_disk(REAL, tmp_path / attempt)
        assert list((tmp_path / attempt / "place").iterdir()) == []
        # where others leave the disk less than what falls away, nothing falls
        rates = recording.samples(["t_s", "write_bw_mb_s"]).drop_nulls()
        early = rates["write_bw_mb_s"].to_numpy()[rates["t_s"].to_numpy() < 4]
        if float(np.median(early)) > 30:
            break
    [end] = [e for e in recording.events if (e.kind, e.step) == ("step-end", "load")]
    assert end.text == "ended early: it was slowed for 3 s"
    assert end.data["duration_s"] < 120
    assert begun(recording) == ["load", "again"]
    told = re.fullmatch(
        r"probe: 'load' fell by (\d+) % after .*", begin_of(recording, "again").text
    )
    assert told is not None
    # 75 of what was asked; a disk that neighbours keep busy gives less of it before
    assert 10 < int(told[1]) < 80
    # a file cannot be purged for a probe
    assert skipped(recording) == {
        "purge": "a file cannot be purged for certain, only a whole drive can",
        "purged": "'purge' was not done",
    }
    assert "again" in set(recording.samples()["step"])
    assert threading.active_count() == threads


def test_a_target_is_let_go_as_soon_as_its_run_is_over(small_drive: Path, tmp_path: Path) -> None:
    text = 'name = "mine"\n[[steps]]\nname = "write"\nrw = "write"\nbs = "128k"\nio_size = "1GB"\n'
    gc.disable()
    try:
        target = SimulatedTarget(str(small_drive), COOL)
        conducted(text, target, tmp_path / "run")
        alive = weakref.ref(target)
        del target
        # a full drive's map is a gigabyte, in which the collector sees one small object
        assert alive() is None
    finally:
        gc.enable()
