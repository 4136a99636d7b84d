"""One full speed: the best level of the same load, in the same state of the cache."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command import done_here, heatsoak_here
from heatsoak.analysis import StepFindings, analyze
from made_recording import Array, held, judged, make_recording, sampled

READS: dict[str, Any] = {"rw": "read", "bs": "128k", "serial": "S1"}
HOT_C = np.round(np.minimum(74 + np.arange(600) / 20, 82))
COOL_C = np.round(35 + 8 * (1 - np.exp(-np.arange(600) / 120)))


def full(count: int, value: float) -> Array:
    return np.full(count, value)


def reads(rates: Array, temps_c: Any, step: str = "load", **how: Any) -> pl.DataFrame:
    """Reads of 300 s at 2 Hz."""
    column = how.pop("column", "read_bw_mb_s")
    return sampled(rates, step=step, sampling_s=0.5, column=column,
                   temp_c__composite=temps_c, **how)  # fmt: skip


def fallen(after_s: float, time_constant_s: float) -> Array:
    """1,000 MB/s, which fall to 300 at once or within some time."""
    since_s = np.maximum(np.arange(600) * 0.5 + 0.25 - after_s, 0)
    return np.where(since_s > 0, 300 + 700 * np.exp(-since_s / time_constant_s), 1000.0)


def slower_pct(step: StepFindings) -> float | None:
    """How much slower it was from its start on, where that is known."""
    return next((one.loss_pct for one in step.claims if one.loss_pct and one.onset_s is None), None)


def depth_pct(step: StepFindings) -> float | None:
    """What it lost, where it does not say that this is the least, or that it may start slow."""
    if not step.episodes:
        return slower_pct(step)
    (fell,) = step.episodes
    return None if fell.from_start else fell.depth_pct


COOL = reads(full(600, 1000.0), COOL_C, "cool", seed=7)


@pytest.mark.parametrize("after_s", [0, 0.5, 1, 2, 3, 4, 6, 10, 20])
@pytest.mark.parametrize(("time_constant_s", "truth_pct"), [(1e-3, 70), (15, 67)])
def test_a_fall_has_one_depth_after_however_long_where_its_full_speed_is_known(
    after_s: float, time_constant_s: float, truth_pct: float
) -> None:
    rates = fallen(after_s, time_constant_s)
    hot = reads(rates, HOT_C)
    later = reads(rates, HOT_C, start_s=1000.0)
    cool = held(COOL, **READS)
    one, other = held(hot, **READS), judged(pl.concat([COOL, later]), **READS)
    referred = analyze([one], references=[cool]).recordings[0]
    for found in (other, referred):
        assert depth_pct(found.steps[-1]) == pytest.approx(truth_pct, abs=3)
        assert found.answer.throttles in ("yes", "cannot-tell")
    # another recording beside it does not decide
    for found in (judged(hot, **READS), analyze([one, cool]).recordings[0]):
        (step,) = found.steps
        known_pct = depth_pct(step)
        is_open = any(claim.what == "hot" for claim in step.claims) or any(
            e.from_start for e in step.episodes
        )
        assert is_open if known_pct is None else known_pct == pytest.approx(truth_pct, abs=3)
        assert slower_pct(step) is None


def test_what_another_recording_did_is_told_beside_a_step_that_began_hot() -> None:
    slow = held(reads(full(600, 300.0), full(600, 62.0)), **READS)
    alone, beside = (analyze(some).recordings[0] for some in ([slow], [slow, held(COOL, **READS)]))
    assert alone.answer.throttles == beside.answer.throttles == "no"
    assert "; in another recording it did 999 MB/s" in beside.answer.sentence


def test_a_full_speed_has_an_interval_that_covers_it_and_narrows_with_time() -> None:
    ranges = []
    for count in (40, 600):
        made = [sampled(full(count, 800.0), sigma=0.05, seed=seed) for seed in range(60)]
        known = [judged(one).steps[0].full_mb_s for one in made]
        speeds = [one for one in known if one is not None]
        assert len(speeds) == 60
        assert sum(800 in one for one in speeds) >= 51
        ranges.append(np.mean([one.high - one.low for one in speeds]))
    assert ranges[1] < ranges[0] / 3


@pytest.mark.parametrize(("rest_s", "rw", "is_same"), [
    (10.0, "write", False), (400.0, "write", True), (10.0, "read", True),
    (400.0, "randwrite", False),
])  # fmt: skip
def test_a_level_counts_only_in_the_same_state_of_the_cache(
    rest_s: float, rw: str, is_same: bool
) -> None:
    column = "read_bw_mb_s" if rw == "read" else "write_bw_mb_s"
    rates = full(600, 1000.0)
    first = reads(rates, COOL_C, "first", column=column)
    later = reads(0.3 * rates, HOT_C, "later", column=column, start_s=300 + rest_s)
    found = judged(pl.concat([first, later]), rw=rw, bs="128k").steps[1]
    assert found.full_mb_s is not None
    assert found.full_mb_s.mid == pytest.approx(1000 if is_same else 300, rel=0.01)
    assert (slower_pct(found) is not None) == is_same


def test_a_reference_counts_whatever_had_been_written_before_it() -> None:
    fill, load = (
        reads(full(600, 1000.0), COOL_C, step, column="write_bw_mb_s", start_s=start_s)
        for step, start_s in (("fill", 0.0), ("load", 300.0))
    )
    both = held(pl.concat([fill, load]), rw={"fill": "randwrite", "load": "write"}, bs="128k")
    slow = held(reads(full(600, 300.0), HOT_C, column="write_bw_mb_s"), rw="write", bs="128k")
    (step,) = analyze([slow], references=[both]).recordings[0].steps
    assert slower_pct(step) == pytest.approx(70, abs=1)


@pytest.mark.parametrize("seen_again", [False, True])
def test_a_level_above_the_link_is_the_hosts_unless_a_cool_start_shows_it_again(
    seen_again: bool,
) -> None:
    link = {"ceiling_mb_s": 500.0, "max_ceiling_mb_s": 500.0}
    level = {"first": 1000.0, "again": 1000.0 if seen_again else 300.0, "later": 300.0}
    frames = [
        reads(full(600, rate), HOT_C if name == "later" else COOL_C, name, start_s=800.0 * at)
        for at, (name, rate) in enumerate(level.items())
    ]
    drive = {"model": "a drive", "details": {"link": link}}
    found = judged(pl.concat(frames), rw="read", bs="128k", drive=drive).steps[2]
    assert found.full_mb_s is not None
    assert found.full_mb_s.mid == pytest.approx(1000 if seen_again else 300, rel=0.01)


def test_a_reference_counts_by_its_option_and_what_is_none_is_refused(tmp_path: Path) -> None:
    slow = reads(full(600, 300.0), HOT_C)
    make_recording(tmp_path / "slow", slow, **READS)
    make_recording(tmp_path / "cool", COOL, **READS)
    make_recording(tmp_path / "writes", sampled(full(600, 900.0)))
    (tmp_path / "note.txt").write_text("nothing of a drive\n")
    done = heatsoak_here("analyze", "slow", "--reference", "cool", "--fail-on", "throttle",
                         cwd=tmp_path)  # fmt: skip
    assert done.returncode == 1
    assert "it ran 70 % below its full speed, 999 MB/s, from the start, at 74 C" in done.stdout
    for name, why in (
        ("writes", "writes: has no load of these recordings to refer to"),
        ("note.txt", "note.txt: is not in a format"),
        ("none", "none"),
    ):
        wrong = done_here("analyze", "slow", "--reference", name, cwd=tmp_path, code=2)
        assert why in wrong.stderr
        assert len(wrong.stderr.splitlines()) == 1
    # before hours of a test, not after it
    words = ("--on", "sim:samsung-970-pro-512", "--reference", "none", "-o", "o")
    assert heatsoak_here("run", "quick", *words, cwd=tmp_path).returncode == 2
    assert not (tmp_path / "o").exists()
