"""A logger's hour divided into what was loaded, and judged as steps."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis import analyze
from heatsoak.importer.frames import Array, build
from heatsoak.importer.log import Log
from heatsoak.importer.recordings import to_recording
from heatsoak.importer.stretches import with_stretches
from heatsoak.protocol import Observed


def logged(**columns: Array) -> Log:
    """What a logger wrote that looked every 2 s."""
    count = len(next(iter(columns.values())))
    t_s = 2.0 * np.arange(1, count + 1)
    return Log("logger", "log.csv", build({"t_s": t_s, "interval_s": t_s * 0 + 2, **columns}))


def level(*parts: tuple[float, int]) -> Array:
    """Stretches of a value, each so many samples long."""
    return np.concatenate([np.full(count, value) for value, count in parts])


def steps_of(log: Log) -> list[tuple[str, int]]:
    divided = with_stretches(log)
    counts = divided.samples.group_by("step", maintain_order=True).len()
    named = {name: count for name, count in counts.iter_rows() if name is not None}
    return [(step.name, named[step.name]) for step in divided.steps]


def test_idle_before_and_after_the_load_belongs_to_no_step() -> None:
    log = logged(write_bw_mb_s=level((0, 30), (500, 100), (0.2, 40)))
    assert steps_of(log) == [("writes", 100)]


def test_a_pause_divides_two_steps_and_a_short_stall_does_not() -> None:
    log = logged(write_bw_mb_s=level((500, 50), (0, 20), (500, 50), (0, 2), (500, 50)))
    assert steps_of(log) == [("writes 1", 50), ("writes 2", 102)]


def test_a_drive_that_is_busy_and_moves_nothing_is_stalled_and_not_idle() -> None:
    writes = level((500, 50), (0, 20), (500, 50))
    log = logged(write_bw_mb_s=writes, busy_pct=level((99, 120)))
    assert steps_of(log) == [("writes", 120)]


def test_reads_after_writes_are_a_step_of_their_own() -> None:
    log = logged(
        read_bw_mb_s=level((0, 60), (900, 60), (300, 60)),
        write_bw_mb_s=level((500, 60), (1, 60), (300, 60)),
    )
    assert steps_of(log) == [("writes 1", 60), ("reads 2", 60), ("load 3", 60)]


def test_samples_in_which_the_load_started_or_ended_are_left_out() -> None:
    log = logged(write_bw_mb_s=level((0, 30), (130, 1), (500, 100), (250, 1), (0, 40)))
    assert steps_of(log) == [("writes", 100)]


def test_the_end_of_a_load_is_not_an_episode_and_a_fall_within_it_is_one() -> None:
    writes = level((0, 30), (500, 60), (300, 60), (0, 60), (500, 60))
    temps = np.full(len(writes), 50.0)
    held = to_recording(with_stretches(logged(write_bw_mb_s=writes, **{"temp_c.a": temps})), {})
    first, second = analyze([held]).recordings[0].steps
    (episode,) = first.episodes
    assert episode.onset_s == pytest.approx(120, abs=3)
    assert episode.depth_pct == pytest.approx(40, abs=1)
    assert second.verdict == "steady"


def test_a_log_that_names_its_steps_keeps_them() -> None:
    log = logged(write_bw_mb_s=level((500, 20), (0, 40), (500, 20)))
    named = replace(
        log, samples=log.samples.with_columns(step=pl.lit("mine")), steps=(Observed(name="mine"),)
    )
    assert with_stretches(named).steps == named.steps


def test_what_a_load_wrote_itself_is_stalled_where_nothing_moves() -> None:
    log = logged(write_bw_mb_s=level((500, 20), (0, 40), (500, 20)))
    assert with_stretches(replace(log, format="fio-log")).steps == ()


@pytest.mark.parametrize("parts", [((0, 50),), ((500, 1),), ((500, 2), (0, 3), (400, 2))])
def test_a_log_with_hardly_anything_in_it_is_one_step(parts: tuple[tuple[float, int], ...]) -> None:
    assert len(with_stretches(logged(write_bw_mb_s=level(*parts))).steps) == 1


def test_a_short_disturbance_does_not_end_a_load() -> None:
    writes = level((500, 60), (480, 5), (500, 60))
    log = logged(write_bw_mb_s=writes, read_bw_mb_s=level((0, 60), (80, 5), (0, 60)))
    assert steps_of(log) == [("writes", 125)]
    longer = logged(
        write_bw_mb_s=level((500, 60), (480, 30), (500, 60)),
        read_bw_mb_s=level((0, 60), (200, 30), (0, 60)),
    )
    assert [count for _, count in steps_of(longer)] == [60, 30, 60]


def test_a_short_pause_before_the_other_direction_belongs_to_neither() -> None:
    log = logged(
        write_bw_mb_s=level((500, 100), (0, 3), (0, 50)),
        read_bw_mb_s=level((0, 100), (0, 3), (300, 50)),
    )
    assert [count for _, count in steps_of(log)] == [100, 50]


def test_background_activity_is_not_a_load_that_fell() -> None:
    writes = level((20, 30), (500, 100), (20, 30))
    log = logged(write_bw_mb_s=writes, busy_pct=level((2, 30), (100, 100), (2, 30)))
    assert steps_of(log) == [("writes", 100)]
    throttled = logged(write_bw_mb_s=writes, busy_pct=level((2, 30), (100, 130)))
    assert steps_of(throttled) == [("writes", 130)]


def test_an_even_trickle_after_a_load_is_what_has_come_of_it() -> None:
    log = logged(write_bw_mb_s=level((0, 20), (2000, 50), (4, 120)))
    assert steps_of(log) == [("writes", 170)]
    # it was there before, or comes in bursts: that is the system's own
    log = logged(write_bw_mb_s=level((4, 20), (2000, 50), (4, 120)))
    assert steps_of(log) == [("writes", 50)]
    bursts = np.where(np.arange(120) % 4 == 0, 16.0, 0.2)
    log = logged(write_bw_mb_s=np.concatenate([level((0, 20), (2000, 50)), bursts]))
    assert steps_of(log) == [("writes", 50)]


@pytest.mark.parametrize(("joined", "is_open"), [((300, 1250), True), ((1500, 1300), False)])
def test_less_that_is_moved_once_reads_join_writes_leaves_the_answer_open(
    joined: tuple[int, int], is_open: bool
) -> None:
    log = with_stretches(
        logged(
            read_bw_mb_s=level((20, 60), (joined[0], 120)),
            write_bw_mb_s=level((2800, 60), (joined[1], 120)),
        )
    )
    assert [step.name for step in log.steps] == ["writes 1", "load 2"]
    doubts = [one for one in log.remarks if "began to run together" in one.text]
    assert [one.touches for one in doubts] == [("rate",)] * is_open
