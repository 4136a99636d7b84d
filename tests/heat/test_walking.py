"""A walk through places that only hands can change: its order, its questions, and how it ends."""

import json
import os
import signal
import stat
from itertools import pairwise, product
from pathlib import Path

import pytest
from at_terminal import at_terminal
from command import complaint, done_here, heatsoak_here, json_here
from compared import run as made
from compared import steady
from heatsoak.bench.by_hand import axes_by_hand, changed, walk, walked
from heatsoak.bench.plan import DrivePart, PlannedRun
from heatsoak.errors import RefusedError, ShutDownError, ToolError
from heatsoak.protocol import Conditions, apply_settings, load
from heatsoak.recording import Recording, find_recordings
from heatsoak.sensor import Roots
from heatsoak.target import Place, parse_place
from heatsoak.target.place import drive_at, found_again
from hypothesis import given
from hypothesis import strategies as st
from machine import Machine
from machine_tree import with_nvme
from needs import needs

PROTOCOL = """
name = "walk"
file_size = "16m"
[matrix]
by_hand = ["slot"]
[matrix.axes]
load = ["idle", "loaded"]
slot = ["top", "bottom"]
[[heat]]
source = "command"
command = "sleep 1000"
when = {load = "loaded"}
[[steps]]
name = "read"
rw = "read"
bs = "128k"
runtime = "0.3s"
"""
ENTER = "then press Enter (or type stop: the same command with --resume continues later): "


def moves(cells: list[Conditions], axes: list[str]) -> int:
    return sum(len(changed(after, before, axes)) for before, after in pairwise(cells))


def cells_of(shape: list[int]) -> list[Conditions]:
    names = [f"axis{n}" for n in range(len(shape))]
    return [
        dict(zip(names, each, strict=True)) for each in product(*(range(size) for size in shape))
    ]


@pytest.mark.slow
@given(st.data(), st.lists(st.integers(1, 4), min_size=1, max_size=4), st.booleans())
def test_a_walk_goes_to_every_cell_once_with_no_more_moves_than_as_given_and_fewest_for_all(
    data: st.DataObject, shape: list[int], takes_all: bool
) -> None:
    cells = cells_of(shape)
    if not takes_all:
        cells = data.draw(st.lists(st.sampled_from(cells), min_size=1, max_size=40, unique_by=str))
    axes = data.draw(st.lists(st.sampled_from(list(cells[0])), unique=True))
    order = walked(cells, axes)
    assert sorted(map(str, order)) == sorted(map(str, cells))
    assert moves(order, axes) <= moves(cells, axes)
    places = [tuple(cell[axis] for axis in axes) for cell in order]
    stays = [
        place for place, before in zip(places, [None, *places], strict=False) if place != before
    ]
    assert len(stays) == len(set(stays))  # never back to a place
    if takes_all:
        assert moves(order, axes) == len(stays) - 1


def test_pugets_seven_places_take_six_moves_and_heat_by_hand_is_one_more_to_ask_for() -> None:
    puget = load("puget")
    axes = axes_by_hand(puget)
    assert axes == ["slot", "gpus"]
    order = walked(puget.cells(), axes)
    assert moves(order, axes) == 6
    # one that is idle comes before the case is hot
    assert [cell["gpu_load"] for cell in order] == ["idle", "loaded"] * 7
    by_hand = apply_settings(puget, ["heat=by-hand", "slot=top"])
    assert axes_by_hand(by_hand) == ["slot", "gpus", "gpu_load"]
    assert axes_by_hand(apply_settings(puget, ["slot=top", "gpus=1"])) == []
    # what has changed is all at first
    before: Conditions = {"slot": "top", "gpus": 1, "load": "idle"}
    assert changed(before, None, ["slot", "gpus"]) == {"slot": "top", "gpus": 1}
    assert changed({**before, "gpus": 2, "load": "x"}, before, ["slot", "gpus"]) == {"gpus": 2}


@pytest.mark.parametrize(
    ("error", "count"), [(ShutDownError("hot"), 3), (ToolError("gone"), 2), (None, 3)]
)
def test_a_walk_continues_only_where_a_drive_shut_down(
    error: ToolError | None, count: int, tmp_path: Path
) -> None:
    place = parse_place(str(tmp_path))
    protocol = load("quick")
    parts = [DrivePart(place, protocol, {"slot": n}, writes=False) for n in range(3)]
    runs = [PlannedRun(str(n), (part,), ()) for n, part in enumerate(parts)]
    asked: list[Conditions] = []
    begun: list[str] = []
    whole = made({}, steady(2000)).save(tmp_path / "r")

    def make(run: PlannedRun) -> Recording:
        begun.append(run.name)
        if run.name == "1" and error is not None:
            raise error
        return whole

    results = walk(runs, ["slot"], asked.append, make)
    assert len(begun) == len(asked) == count
    assert results[1] is error or error is None
    assert (results[2] is None) == (count == 2)


# the command, at a terminal


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "walk.toml").write_text(PROTOCOL)
    (tmp_path / "place").mkdir()
    return tmp_path


WORDS = ("run", "walk.toml", "--on", "place", "-o", "out")


@pytest.mark.slow
@needs("fio")
def test_each_place_is_asked_for_once_and_a_stopped_walk_resumes_at_the_next(
    directory: Path,
) -> None:
    with at_terminal(*WORDS, cwd=directory) as terminal:
        assert terminal.read_until(ENTER).endswith("Set up: slot = top; ")
        terminal.type("what?")
        assert "'what?' is neither" in terminal.read_until(ENTER)
        terminal.type("")
        assert terminal.read_until(ENTER).endswith("Set up: slot = bottom; ")
        made = sorted(path.name for path in (directory / "out").iterdir())
        assert made == ["load-idle_slot-top", "load-loaded_slot-top"]
        terminal.type("Stop")
        assert terminal.end()[0] == 130
    assert "stopped; the recordings so far are in out" in " ".join(terminal.said.split())
    kept = {path: path.stat().st_mtime_ns for path in (directory / "out").rglob("*.parquet")}
    assert len(kept) == 2
    with at_terminal(*WORDS, "--resume", "--format", "json", cwd=directory) as terminal:
        assert terminal.read_until(ENTER).endswith("Set up: slot = bottom; ")
        terminal.type("")
        code, output = terminal.end()
    assert code == 0, terminal.said
    assert ENTER not in terminal.said
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    # whole by now: nobody has to be asked, and all four are judged
    again = json_here(*WORDS, "--resume", cwd=directory)["recordings"]
    for found in (json.loads(output)["recordings"], again):
        assert [(one["conditions"]["slot"], one["conditions"]["load"]) for one in found] == [
            *(("top", "idle"), ("top", "loaded"), ("bottom", "idle"), ("bottom", "loaded"))
        ]
    for recording in find_recordings(directory / "out"):
        assert recording.meta.status == "finished"
        kinds = [event.kind for event in recording.events]
        is_loaded = recording.meta.conditions["load"] == "loaded"
        assert kinds.count("heat-begin") == kinds.count("heat-end") == int(is_loaded)


@pytest.mark.slow
@needs("fio")
@pytest.mark.parametrize("way", ["the end of input", "Ctrl-C"])
def test_a_walk_that_ends_otherwise_keeps_what_there_is(way: str, directory: Path) -> None:
    with at_terminal(*WORDS, "--set", "load=idle", cwd=directory) as terminal:
        terminal.read_until(ENTER)
        terminal.type("")
        terminal.type("")  # an Enter too many answers no later question
        terminal.read_until(ENTER)
        if way == "Ctrl-C":
            terminal.process.send_signal(signal.SIGINT)
        else:
            os.write(terminal.master, b"\x04")
        assert terminal.end()[0] == 130
    assert "stopped; the recordings so far are in out" in " ".join(terminal.said.split())
    (recording,) = find_recordings(directory / "out")
    assert recording.meta.status == "finished"
    assert recording.meta.conditions["slot"] == "top"


@pytest.mark.slow
@needs("fio")
def test_a_person_is_asked_for_heat_before_the_first_step(directory: Path) -> None:
    heat = '[[heat]]\nsource = "person"\nload_pct = 80\n'
    text = 'name = "asked"\nfile_size = "16m"\n' + heat + PROTOCOL[PROTOCOL.index("[[steps]]") :]
    (directory / "walk.toml").write_text(text)
    line = complaint(heatsoak_here(*WORDS, cwd=directory), 2)
    assert "asked asks for person heat at 80 % here: there is no terminal to ask at" in line
    with at_terminal(*WORDS, cwd=directory) as terminal:
        assert "Switch on the heat, at 80 %; " in terminal.read_until(ENTER)
        assert not any(e.kind == "step-begin" for e in Recording.open(directory / "out").events)
        terminal.type("stop")
        assert terminal.end()[0] == 130
    assert Recording.open(directory / "out").meta.status == "interrupted"


@pytest.mark.slow
@needs("fio")
def test_nothing_is_recorded_before_the_first_answer_and_without_a_terminal_a_cell_is_named(
    directory: Path,
) -> None:
    with at_terminal(*WORDS, cwd=directory) as terminal:
        terminal.read_until(ENTER)
        terminal.type("stop")
        assert terminal.end()[0] == 130
    assert "heatsoak: stopped; nothing was recorded" in terminal.said
    line = complaint(heatsoak_here(*WORDS, cwd=directory), 2)
    assert "takes the drive through 2 places, which on a real machine have to be changed" in line
    assert line.endswith("such as --set load=idle --set slot=top")
    assert not (directory / "out").exists()
    done_here(*WORDS, "--set", "slot=top", cwd=directory)
    assert len(find_recordings(directory / "out")) == 2


def test_a_dry_run_lists_the_places_of_a_walk(directory: Path) -> None:
    words = (*WORDS[:4], "--dry-run")
    rows = json_here(*words, cwd=directory)
    assert [row["set_up"] for row in rows] == [{"slot": "top"}, {}, {"slot": "bottom"}, {}]
    assert [len(row["heat"]) for row in rows] == [0, 1, 0, 1]
    text = heatsoak_here(*words, cwd=directory).stdout
    assert [text.count(f"  slot = {slot}") for slot in ("top", "bottom")] == [1, 1]
    assert text.count("heat: command heat (sleep 1000)") == 1


# the drive after hands were at the machine


def machine_with(base: Path, *drives: tuple[int, str]) -> Roots:
    """A machine whose NVMe drives have these numbers and serials, with nodes that can be named."""
    base.mkdir()
    machine = Machine(base)
    for number, serial in drives:
        machine.nvme(number, f"0000:0{number + 1}:00.0", serial)
        node = machine.roots.dev / f"nvme{number}n1"
        try:
            os.mknod(node, stat.S_IFBLK | 0o600, os.makedev(259, number))
        except PermissionError:
            pytest.skip("nodes of devices take root")
    return machine.roots


def test_a_drive_is_followed_to_another_path_and_never_taken_for_another(tmp_path: Path) -> None:
    at_first = machine_with(tmp_path / "first", (0, "SER-A"), (1, "SER-B"))
    place = Place(str(at_first.dev / "nvme0n1"), "block")
    before = drive_at(place, at_first)
    assert before is not None
    assert before.serial == "SER-A"
    assert found_again(place, before, at_first) is place
    # the same name stands for the other one now
    swapped = machine_with(tmp_path / "swapped", (0, "SER-B"), (1, "SER-A"))
    there = Place(str(swapped.dev / "nvme0n1"), "block")
    assert found_again(there, before, swapped).text == str(swapped.dev / "nvme1n1")
    # and here nothing has the name
    moved = machine_with(tmp_path / "moved", (2, "SER-A"))
    gone = Place(str(moved.dev / "nvme0n1"), "block")
    assert found_again(gone, before, moved).text == str(moved.dev / "nvme2n1")
    other = machine_with(tmp_path / "other", (0, "SER-B"))
    here = Place(str(other.dev / "nvme0n1"), "block")
    with pytest.raises(
        RefusedError, match="SER-A that this started with is missing, but there is SER-B"
    ):
        found_again(here, before, other, appears_s=0)


def test_the_drive_behind_a_directory_has_to_be_the_same(tmp_path: Path) -> None:
    on = tmp_path / "place"
    on.mkdir()
    place = parse_place(str(on))
    first, other = (tmp_path / name for name in ("first", "other"))
    for machine, serial in ((first, "S1"), (other, "S2")):
        machine.mkdir()
        with_nvme(machine, serial=serial)
    roots_of = {
        name: Roots(sys=path / "sys", dev=path / "dev", proc=path / "proc")
        for name, path in (("first", first), ("other", other))
    }
    before = drive_at(place, roots_of["first"])
    assert before is not None
    assert before.serial == "S1"
    assert found_again(place, before, roots_of["first"]) == place
    with pytest.raises(
        RefusedError, match="the drive S1 that this started with is missing, but there is S2"
    ):
        found_again(place, before, roots_of["other"], appears_s=0)
    nothing = Roots(sys=tmp_path / "no", dev=tmp_path / "no", proc=tmp_path / "no")
    with pytest.raises(RefusedError, match="the drive S1 that this started with is missing: noth"):
        found_again(place, before, nothing, appears_s=0)
    assert found_again(place, None, nothing) == place
