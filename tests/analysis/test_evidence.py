"""Each thing that is looked at, on drops whose cause would show in it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from heatsoak.analysis.cause import Case, Finding, observe
from heatsoak.analysis.course import Course, StepLoad
from heatsoak.analysis.view import StepView
from heatsoak.protocol import Observed
from viewed import Array, step_view
from warmth import governed, warmed

T_S: Array = np.arange(1, 2001) / 10
ONSET_S, FULL, LOW = 80.0, 2000.0, 1000.0
AFTER = T_S > ONSET_S
DROP = np.where(AFTER, LOW, FULL)
STEADY = np.full(len(T_S), FULL)

#: A step at 10 Hz; further columns have one value for each sample.
view = partial(step_view, T_S)
fallen = partial(view, DROP)


def seen(
    one: StepView, *others: StepView, siblings: list[StepView] | None = None, index: int = 0
) -> dict[str, str]:
    """Return what is seen about a step's drop, by what it is about."""
    drop = one.drops[index] if one.drops else one.oscillation_from_start
    assert drop is not None
    found = observe(Case(drop, one, list(others), siblings or [], index))
    return {finding.about: finding.seen for finding in found}


def level(value: float) -> Array:
    return np.full(len(T_S), value)


def changing(before: float, during: float) -> Array:
    return np.where(AFTER, during, before)


def warming(start_c: float, onset_c: float, late_c: float | None = None) -> Array:
    late = onset_c if late_c is None else late_c
    up = start_c + (onset_c - start_c) * T_S / ONSET_S
    return np.where(AFTER, late + (onset_c - late) * np.exp(-(T_S - ONSET_S) / 10), up)


def hot(temps: Array, rates: Array = DROP, **more: Any) -> StepView:
    return view(rates, temp_c__composite=temps, **more)


def reads(rates: Array = STEADY, **more: Any) -> StepView:
    return view(rates, "read", name="r", **{"start_s": 500.0, **more})


def drive(size_gb: float, *loads: StepLoad, **more: Any) -> StepView:
    course = Course({"kind": "block", "size_bytes": size_gb * 1e9}, {}, loads, **more)
    return fallen(course=course)


FILL = StepLoad(Observed(name="fill"), -600.0, -100.0, 450.0)
WAVE = np.sin(T_S / 12)
WARM = changing(70.0, 0.0) + AFTER * (70 + 4 * WAVE)
NOISE = np.random.default_rng(3).normal(0, 1, len(T_S))
TWICE = np.where(((T_S > 40) & (T_S <= 80)) | (T_S > 130), LOW, FULL)
#: Back at the level that it began with; and a fall after which it is faster than before.
RISEN = np.select([T_S <= 40, T_S <= 60, T_S <= 130], [1500.0, 500.0, FULL], 1500.0)
SCATTER = 1 + 0.15 * np.random.default_rng(7).standard_normal(len(T_S))
FASTER_AFTER = np.select([T_S <= 60, T_S <= 100], [FULL, LOW], 1.25 * FULL)
NESTED = np.select([T_S <= 50, T_S <= 120], [FULL, 1200.0], 300.0)


def coupled(share: Array, temps: Array) -> dict[str, str]:
    return seen(hot(temps, np.where(AFTER, FULL * share, FULL)))


def later(other_c: float) -> StepView:
    """The same load, which falls after 120 s at another temperature."""
    temps = 40 + (other_c - 40) * np.minimum(T_S, 120) / 120
    return hot(temps, np.where(T_S <= 120, FULL, LOW), name="w2", start_s=500.0)


def of_size(kib: float) -> StepView:
    """Writes of which a log has only the rates, in bytes and I/Os."""
    step = Observed.model_validate({"name": "w", "writes": True, "reads": False})
    return fallen(step=step, write_iops=DROP * 1e6 / (1024 * kib))


def once_more(rate: float, onset_s: float) -> StepView:
    return view(rate * np.where(onset_s >= T_S, FULL, LOW), name="w2", start_s=500.0)


def again(rest_s: float, start: float, start_c: float, **more: Any) -> dict[str, str]:
    """What is seen where the same load follows after a rest, and starts at some rate."""
    first = StepLoad(Observed(name="w"), 0.0, 200.0, 100.0)
    second = hot(
        level(start_c), np.where(T_S <= 30, start, LOW),
        name="again", start_s=200.0 + rest_s, course=Course({}, {}, (first,), **more),
    )  # fmt: skip
    return seen(hot(warming(40, 70)), second)


def beside(rates: Array, condition: str, one: str, other: str) -> dict[str, str]:
    """What is seen beside the same load in other conditions."""
    sibling = view(rates, course=Course({}, {condition: other}))
    return seen(fallen(course=Course({}, {condition: one})), siblings=[sibling])


def cooled(later_c: float) -> dict[str, str]:
    """What is seen of a fall at 70 C beside one after 120 s with better cooling."""
    course = Course({}, {"heatsink": "finned"})
    temps = 40 + (later_c - 40) * np.minimum(T_S, 120) / 120
    better = hot(temps, np.where(T_S <= 120, FULL, LOW), course=course)
    bare = hot(warming(40, 70), course=Course({}, {"heatsink": "none"}))
    return seen(bare, siblings=[better])


#: The subject, the reason in words, what has to be seen (None: nothing), and where.
Row = tuple[str, str, str | None, Callable[[], dict[str, str]]]
TABLE: list[Row] = [
    ("thermal-counters", "they rise in the drop", "rose",
     lambda: seen(fallen(throttle_count__1=np.where(T_S > ONSET_S + 1, 3.0, 2.0)))),
    ("thermal-counters", "they rose in an earlier drop too", "went-on",
     lambda: seen(view(NESTED, throttle_time_s__1=np.maximum(T_S - 50, 0)), index=1)),
    ("thermal-counters", "they come late", "later",
     lambda: seen(fallen(throttle_time_s__1=np.where(T_S > ONSET_S + 60, T_S, 0.0)))),
    *(("thermal-counters", f"they time {timed_s} s of 120 s", expected,
       lambda timed_s=timed_s: seen(fallen(throttle_time_s__1=np.clip(T_S - ONSET_S, 0, timed_s))))
      for timed_s, expected in [(10, "stopped"), (60, "rose")]),
    ("thermal-counters", "they work and do not rise", "silent",
     lambda: seen(fallen(throttle_count__1=level(7.0)))),
    ("thermal-counters", "they are zero throughout", None,
     lambda: seen(fallen(throttle_count__1=level(0.0)))),
    ("power-state", "a lower one under load", "lowered",
     lambda: seen(fallen(power_state=changing(0.0, 1.0)))),
    *(("stated-limit", f"it is {limit_c} C, at 70 C", expected,
       lambda limit_c=limit_c: seen(hot(warming(40, 70), limits={"warning": limit_c})))
      for limit_c, expected in [(71.0, "at"), (90.0, "far-below"), (78.0, None)]),
    *(("onset-temperature", f"it is {onset_c} C", expected,
       lambda onset_c=onset_c: seen(hot(warming(35, onset_c))))
      for onset_c, expected in [(78, "very-hot"), (70, "hot"), (62, "warm"), (56, "lukewarm"),
                                (50, "cool"), (42, "cold")]),
    *(("temperature-course", expected, expected, lambda temps=temps: seen(hot(temps)))
      for temps, expected in [
          (warming(40, 70), "stopped"),
          (np.minimum(warming(40, 130, 130), 70.0), "held"),
          (warming(40, 70, 73), "stayed-up"),
          (warming(40, 70, 65), "cooled"),
          (warming(40, 70, 50), "cooled-far"),
          (warming(40, 50, 65), "rose-on"),
          (warming(40, 42, 46), "flat")]),
    *(("temperature-bend", f"it changes by {by_k} K up to the onset", expected,
       lambda by_k=by_k: seen(hot(60 + by_k * np.minimum(T_S, ONSET_S) / ONSET_S + 6 * AFTER)))
      for by_k, expected in [(10.0, "rising"), (0.0, "level"), (-10.0, "falling")]),
    *(("rate-and-temperature", expected, expected,
       lambda share=share, temps=temps: coupled(share, temps))
      for share, temps, expected in [
          (0.5 - 0.1 * WAVE, WARM, "follows"),
          (level(0.5), WARM, "regardless"),
          (level(0.5), warming(40, 70), "both-still"),
          (0.5 - 0.1 * WAVE, warming(40, 70), "rate-alone"),
          (0.5 + 0.1 * WAVE, WARM, "together"),
          (0.6 - 0.001 * T_S, WARM, "time"),
          # while it falls, it cools: that is no part of how it is then
          (np.interp(T_S, [80, 100], [1, 0.5]), 70 - (T_S - 80) / 6, "regardless")]),
    *((about, "reads held full speed while hotter", expected,
       lambda: seen(hot(warming(40, 65)),
                    reads(temp_c__composite=np.minimum(60 + T_S / 5, 80.0))))
      for about, expected in [("full-speed-at", "hotter"), ("reads-beside", "held-as-hot")]),
    ("full-speed-at", "everything was cooler", None,
     lambda: seen(hot(warming(40, 65)), reads(temp_c__composite=level(60.0)))),
    # a step that started slow is no proof of full speed
    *((about, "hotter reads started slow", expected,
       lambda: seen(hot(warming(40, 65)), reads(temp_c__composite=level(50.0)),
                    view(STEADY / 2, "read", name="r2", start_s=900.0,
                         temp_c__composite=level(80.0))))
      for about, expected in [("full-speed-at", None), ("reads-beside", "slow-too")]),
    *(("onset-temperatures", f"70 C here, {other_c} C there", expected,
       lambda other_c=other_c: seen(hot(warming(40, 70)), later(other_c)))
      for other_c, expected in [(71.0, "same"), (55.0, "apart")]),
    *(("load", rw, expected, lambda rw=rw: seen(fallen(rw=rw)))
      for rw, expected in [("read", "reads"), ("randread", "reads"), ("write", "sequential-writes"),
                           ("randwrite", "random-writes"), ("randrw", "mixed")]),
    *(("load", f"writes of {kib} KiB in an unknown order", expected,
       lambda kib=kib: seen(of_size(kib)))
      for kib, expected in [(4, "small-writes"), (128, "large-writes"), (48, "writes")]),
    *(("depth", f"to {low:.0f} of 2000 MB/s", expected,
       lambda low=low: seen(view(changing(FULL, low))))
      for low, expected in [(1800.0, "little"), (500.0, "much"), (200.0, "most"),
                            (40.0, "nearly-all")]),
    ("reads-beside", "they fall alike", "fell", lambda: seen(fallen(), reads(DROP))),
    ("reads-beside", "they fall alike, much hotter", None,
     lambda: seen(hot(warming(40, 70)), reads(DROP, temp_c__composite=warming(50, 80)))),
    ("both-ways", "writes fall beside reads", "fell", lambda: seen(reads(DROP), fallen())),
    ("reads-beside", "they hold", "held", lambda: seen(fallen(), reads(start_s=0.0))),
    *(("reads-beside", f"writes fall to {low:.0f}, reads began at 88 % of their speed", expected,
       lambda low=low: seen(view(changing(FULL, low)), reads(),
                            view(0.88 * STEADY, "read", name="r2", start_s=900.0)))
      for low, expected in [(1700.0, "slow-too"), (400.0, "held")]),
    ("depth-beside-reads", "writes fall much further", "far-deeper",
     lambda: seen(view(changing(FULL, 100.0)), reads(DROP, start_s=0.0))),
    *(("written", f"to {size_gb:.0f} GB, {'purged' if purged else 'not purged'} before", expected,
       lambda size_gb=size_gb, purged=purged: seen(drive(size_gb, begins_purged=purged)))
      for size_gb, purged, expected in [
          (500.0, True, "less-than-the-drive"), (500.0, False, None), (150.0, True, "at-the-brim"),
          (80.0, True, "past-the-drive"), (100.0, False, "past-the-drive")]),
    *(("cache", f"of a drive of {size_gb:.0f} GB", expected,
       lambda size_gb=size_gb: seen(drive(size_gb)))
      for size_gb, expected in [(500.0, None), (150.0, "too-small")]),
    ("written", "a fill before counts", "past-the-drive", lambda: seen(drive(500, FILL))),
    ("written", "what was purged does not", "less-than-the-drive",
     lambda: seen(drive(500, FILL, purges_s=(-50.0,)))),
    *(("repeats-in", expected, expected,
       lambda rate=rate, onset_s=onset_s: seen(fallen(), once_more(rate, onset_s)))
      for rate, onset_s, expected in [(0.5, 160.0, "bytes"), (0.5, 80.0, "time"),
                                      (1.0, 80.0, "both"), (1.0, 20.0, "neither")]),
    ("repeats-in", "both, of a hotter drive", "at-any-temperature",
     lambda: seen(hot(warming(40, 60)),
                  hot(warming(66, 76), name="w2", start_s=500.0))),
    *(("after-a-rest", f"of {rest_s} s, it starts at {start:.0f} MB/s and {start_c} C", expected,
       lambda now=(rest_s, start, start_c): again(*now))
      for rest_s, start, start_c, expected in [
          (60.0, FULL, 45.0, "back-cooler"),
          (10.0, FULL, 70.0, "back-as-hot"),
          (60.0, LOW, 45.0, "slow-though-cooler"),
          # a governor may not have let go yet
          (60.0, LOW, 62.0, "slow"),
          (10.0, LOW, 70.0, "slow"),
          (60.0, 1500.0, 60.0, "partly"),
          (0.0, FULL, 70.0, None)]),
    *(("at-once", f"it starts at {start:.0f} MB/s", expected,
       lambda start=start: again(0.0, start, 70.0))
      for start, expected in [(FULL, "back"), (1500.0, "partly"), (LOW, "slow")]),
    *((about, "it is purged before it runs again", expected,
       lambda: again(60.0, FULL, 69.0, purges_s=(250.0,)))
      for about, expected in [("after-a-purge", "back-as-hot"), ("after-a-rest", None)]),
    *(("again", why, expected, lambda other=other: seen(fallen(), other()))
      for why, expected, other in [
          ("it falls alike", "alike", lambda: fallen(name="w2", start_s=500.0)),
          ("it does not fall", "not", lambda: view(STEADY, name="w2", start_s=500.0)),
          ("it was too short", None, lambda: view(STEADY[:900], name="w2", start_s=500.0)),
          ("reads are another load", None, reads)]),
    ("again", "the step fell as far at 50 C before", "when-cooler",
     lambda: seen(hot(40 + 0.2 * T_S, TWICE), index=1)),
    ("again", "the step fell further at 50 C before", "another-when-cooler",
     lambda: seen(hot(40 + 0.2 * T_S, np.where(T_S <= 100, TWICE - 0.4 * (FULL - TWICE), TWICE)),
                  index=1)),
    ("again", "the step fell as far as hot before", None,
     lambda: seen(hot(np.full(len(T_S), 70.0), TWICE), index=1)),
    *(("ratio", why, expected, lambda rates=rates: seen(view(rates)))
      for why, expected, rates in [
          ("half is left, evenly", "halved", DROP),
          ("half is left, as evenly as before", "halved", DROP * SCATTER),
          ("half is left, less evenly", None, np.where(AFTER, LOW * SCATTER, FULL)),
          ("a third is left", None, np.where(AFTER, FULL / 3, FULL))]),
    ("when-cooler", "it was no faster below 55 C", "as-slow",
     lambda: seen(hot(40 + 20 * np.minimum(T_S, 100) / 100, RISEN), index=1)),
    ("when-cooler", "it was faster then", None, lambda: seen(hot(warming(40, 70)))),
    *(("when-cooler", f"it ran at that rate from {begin_c} C to {end_c} C before", expected,
       lambda begin_c=begin_c, end_c=end_c: seen(hot(
           np.where(T_S <= 25, begin_c + (end_c - begin_c) * T_S / 25, warming(50, 70)),
           np.where(T_S <= 25, LOW, DROP))))
      for begin_c, end_c, expected in [(40, 50, "as-slow"), (60, 50, None), (68, 70, None)]),
    *(("end", f"at {late_c} C, a quarter faster than before", expected,
       lambda late_c=late_c: seen(hot(np.where(T_S > 95, late_c, 60.0), FASTER_AFTER)))
      for late_c, expected in [(61.0, "faster-than-before"), (50.0, "by-itself")]),
    *(("conditions", f"a finned heatsink, with which it falls later at {later_c} C", expected,
       lambda later_c=later_c: cooled(later_c))
      for later_c, expected in [(70.0, "moved"), (50.0, None)]),
    *(("conditions", f"{condition} {one} and {other}, {why}", expected,
       lambda now=(rates, condition, one, other): beside(*now))
      for rates, condition, one, other, why, expected in [
          (STEADY, "heatsink", "none", "finned", "steady", "moved"),
          (DROP, "heatsink", "none", "finned", "fell too", "stayed"),
          (STEADY, "heatsink", "none", "none", "steady", None),
          (STEADY, "run", "1", "2", "steady", None)]),
    ("shape", "at once", "sharp-step", lambda: seen(fallen())),
    ("shape", "regular lows", "cycle",
     lambda: seen(view(np.where((T_S > 40) & ((T_S - 40) % 20 < 10), LOW, FULL)))),
    ("shape", "little by little", "slide", lambda: seen(view(FULL - 6 * T_S))),
    ("end", "none", "lasted", lambda: seen(fallen())),
    ("end", "it comes back", "by-itself",
     lambda: seen(view(np.where(AFTER & (T_S <= 120), LOW, FULL)))),
    *(("unrest", f"scatter of {share} after 0.01 or as much", expected,
       lambda spread=spread: seen(view(DROP * (1 + spread * NOISE))))
      for share, spread, expected in [(0.1, changing(0.01, 0.1), "wilder"),
                                      (0.02, level(0.02), "alike")]),
    ("power", "as much as before", "kept", lambda: seen(fallen(power_w=level(6.0)))),
    ("power", "less than before", "fell", lambda: seen(fallen(power_w=changing(6.0, 3.5)))),
    *(("cpu", f"a core at {before} and {during} %", expected,
       lambda now=(before, during): seen(
           fallen(cpu_core_pct=changing(*now), cpu_pct=changing(*now) / 4)))
      for before, during, expected in [(60.0, 99.0, "saturated"), (50.0, 40.0, "free"),
                                       (99.0, 99.0, "saturated-before-too")]),
    ("steal", "the hypervisor takes more", "stolen",
     lambda: seen(fallen(cpu_steal_pct=changing(1.0, 20.0)))),
    ("steal", "it took as much before", None, lambda: seen(fallen(cpu_steal_pct=level(20.0)))),
    *(("others", f"they move {during} MB/s", expected,
       lambda during=during: seen(
           fallen(device_read_mb_s=changing(0.0, during), device_write_mb_s=DROP)))
      for during, expected in [(800.0, "busy"), (0.0, "quiet")]),
    *(("other-drives", what, expected,
       lambda rates=rates: seen(fallen(other_drives_mb_s=rates)))
      for what, rates, expected in [("more from the fall on", changing(100.0, 900.0), "busier"),
                                    ("as much as before", level(900.0), None),
                                    ("up and down", 500 * (1 + NOISE) + changing(0, 300), None)]),
    *(("link", f"of {before} and {during} MB/s", expected,
       lambda now=(before, during): seen(fallen(link_mb_s=changing(*now))))
      for before, during, expected in [(3938.0, 1000.0, "retrained"), (3938.0, 3938.0, "free"),
                                       (1050.0, 1050.0, "at-its-ceiling")]),
    *(("host-heat", f"a processor at {cpu_c} C", expected,
       lambda cpu_c=cpu_c: seen(fallen(temp_c__cpu=level(cpu_c))))
      for cpu_c, expected in [(98.0, "at-its-limit"), (70.0, "below")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("about", "expected", "look"),
    [pytest.param(row[0], *row[2:], id=f"{row[0]}: {row[1]}") for row in TABLE],
)
def test_it_is_seen(about: str, expected: str | None, look: Callable[[], dict[str, str]]) -> None:
    assert look().get(about) == expected


def test_every_finding_says_a_sentence() -> None:
    for finding in observe(Case((fallen().drops or [])[0], fallen())):
        assert isinstance(finding, Finding)
        assert len(finding.text) > 10
        assert not finding.text.endswith(".")


# ---- whether a rate that comes and goes does so with the drive's temperature

SECONDS = np.arange(1.0, 901)


#: A drive that falls at its limit and is let go once it has cooled.
GOVERNED = governed(900, "steps", 76, 36, 9, 70, 1)
AT_6_W = warmed(np.full(900, 6.0), 36, 6, 70)
EACH_MINUTE = np.where((SECONDS > 301) & ((SECONDS - 301) % 60 < 30), 0.3, 1.0)
BURSTS = np.where((SECONDS - 1) % 100 < 60, 1.0, 0.3)
PASSING = np.where((SECONDS > 401) & (SECONDS < 501), 0.6, 1.0)
BRIEF = np.where((SECONDS > 401) & (SECONDS < 415), 0.1, 1.0)


@pytest.mark.parametrize(
    ("shares", "temps", "about", "expected"),
    [
        pytest.param(*GOVERNED, "swings", "at-one-temperature", id="a governor's"),
        pytest.param(EACH_MINUTE, AT_6_W, "swings", "without-heat", id="it knows nothing of them"),
        # as long as the first: no governor's, which takes its time to get hot
        pytest.param(
            BURSTS, warmed(1 + 5 * BURSTS, 36, 6, 70), "swings", None, id="bursts of one length"
        ),
        pytest.param(GOVERNED[0], np.full(900, np.nan), "swings", None, id="no temperatures"),
        # a governor lets go of what has cooled
        pytest.param(PASSING, AT_6_W, "let-go", "as-hot", id="back as hot"),
        pytest.param(
            PASSING, warmed(1 + 5 * PASSING, 36, 6, 70), "let-go", "cooler", id="back cooler"
        ),
        pytest.param(
            BRIEF, warmed(1 + 5 * BRIEF, 36, 6, 70), "let-go", "cooler", id="soon back cooler"
        ),
        pytest.param(BRIEF, AT_6_W, "let-go", None, id="soon back, and no sensor is as quick"),
        pytest.param(
            PASSING,
            np.where(SECONDS < 440, AT_6_W, np.nan),
            "let-go",
            None,
            id="not read when back",
        ),
    ],
)
def test_what_comes_and_goes_is_held_against_the_temperature(
    shares: Array, temps: Array, about: str, expected: str | None
) -> None:
    rates = 2000 * shares * (1 + np.random.default_rng(5).normal(0, 0.01, 900))
    found = seen(step_view(SECONDS, rates, "read", temp_c__composite=temps))
    assert found.get(about) == expected


def test_a_temperature_that_does_not_move_is_no_evidence_of_warmth() -> None:
    still, moving = seen(hot(level(76.0))), seen(hot(warming(50, 76)))
    assert moving["onset-temperature"] == "very-hot"
    assert not {"onset-temperature", "temperature-course", "temperature-bend"} & set(still)


def test_a_fall_that_takes_long_is_as_hot_as_it_becomes() -> None:
    slope = FULL * np.interp(T_S, [80, 180], [1.0, 0.5])
    warm = hot(np.interp(T_S, [0, 80, 180], [40.0, 52.0, 80.0]), slope)
    assert seen(warm)["onset-temperature"] == "hot"
