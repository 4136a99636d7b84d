"""Each thing that is looked at, on drops whose cause would show in it."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis.cause import Case, Finding, observe
from heatsoak.analysis.course import Course, StepLoad
from heatsoak.analysis.view import StepView
from heatsoak.protocol import Observed, WorkloadStep
from numpy.typing import NDArray

Array = NDArray[np.float64]
T_S: Array = np.arange(1, 2001) / 10
ONSET_S, FULL, LOW = 80.0, 2000.0, 1000.0
DROP = np.where(T_S <= ONSET_S, FULL, LOW)
STEADY = np.full(len(T_S), FULL)


def view(
    rates: Array = DROP,
    *,
    rw: str = "write",
    name: str = "w",
    start_s: float = 0.0,
    course: Course | None = None,
    limits: dict[str, float] | None = None,
    bs: str = "128k",
    **columns: Array,
) -> StepView:
    """Make a step at 10 Hz; further columns have one value for each sample."""
    step = WorkloadStep.model_validate({"name": name, "rw": rw, "bs": bs, "runtime": "200s"})
    direction = "read" if rw in ("read", "randread") else "write"
    t_s = T_S[: len(rates)]
    named = {key.replace("__", "."): values[: len(rates)] for key, values in columns.items()}
    samples = pl.DataFrame(
        {
            "t_s": start_s + t_s,
            "interval_s": np.full(len(t_s), 0.1),
            f"{direction}_bw_mb_s": rates,
            **named,
        }
    )
    return StepView(step, samples, start_s, limits or {}, course or Course({}, {}))


def seen(
    one: StepView, *others: StepView, siblings: list[StepView] | None = None, index: int = 0
) -> dict[str, str]:
    """Return what is seen about a step's drop, by what it is about."""
    drops = one.drops
    assert drops
    found = observe(Case(drops[index], one, list(others), siblings or [], index))
    return {finding.about: finding.seen for finding in found}


def warming(start_c: float, onset_c: float, late_c: float | None = None) -> Array:
    late = onset_c if late_c is None else late_c
    up = start_c + (onset_c - start_c) * T_S / ONSET_S
    fall = late + (onset_c - late) * np.exp(-(T_S - ONSET_S) / 10)
    return np.where(T_S <= ONSET_S, up, fall)


def test_counters_that_rise_in_the_drop() -> None:
    rising = np.where(T_S > ONSET_S + 1, 3.0, 2.0)
    assert seen(view(throttle_count__1=rising))["thermal-counters"] == "rose"


def test_counters_that_went_on_from_an_earlier_drop_or_came_late() -> None:
    nested = np.where(T_S <= 50, FULL, np.where(T_S <= 120, 1200.0, 300.0))
    second = seen(view(nested, throttle_time_s__1=np.maximum(T_S - 50, 0)), index=1)
    assert second["thermal-counters"] == "went-on"
    late = np.where(T_S > ONSET_S + 60, T_S, 0.0)
    assert seen(view(throttle_time_s__1=late))["thermal-counters"] == "later"


def test_counters_that_work_and_do_not_rise() -> None:
    assert seen(view(throttle_count__1=np.full(len(T_S), 7.0)))["thermal-counters"] == "silent"


def test_counters_that_are_zero_throughout_say_nothing() -> None:
    assert "thermal-counters" not in seen(view(throttle_count__1=np.zeros(len(T_S))))


def test_a_lower_power_state_under_load() -> None:
    state = np.where(T_S > ONSET_S, 1.0, 0.0)
    assert seen(view(power_state=state))["power-state"] == "lowered"


@pytest.mark.parametrize(("limit_c", "expected"), [(71.0, "at"), (90.0, "far-below"), (78.0, None)])
def test_the_limit_that_the_drive_states(limit_c: float, expected: str | None) -> None:
    step = view(temp_c__composite=warming(40, 70), limits={"warning_c": limit_c})
    assert seen(step).get("stated-limit") == expected


@pytest.mark.parametrize(
    ("onset_c", "expected"),
    [(78, "very-hot"), (70, "hot"), (62, "warm"), (56, "lukewarm"), (45, "cool")],
)
def test_how_warm_it_was_at_the_onset(onset_c: float, expected: str) -> None:
    assert seen(view(temp_c__composite=warming(35, onset_c)))["onset-temperature"] == expected


@pytest.mark.parametrize(
    ("temps", "expected"),
    [
        (warming(40, 70), "stopped"),
        (np.minimum(warming(40, 130, 130), 70.0), "held"),
        (warming(40, 70, 73), "stayed-up"),
        (warming(40, 70, 65), "cooled"),
        (warming(40, 70, 50), "cooled-far"),
        (warming(40, 50, 65), "rose-on"),
        (warming(40, 42), "flat"),
    ],
)
def test_the_course_of_the_temperature(temps: Array, expected: str) -> None:
    assert seen(view(temp_c__composite=temps))["temperature-course"] == expected


@pytest.mark.parametrize(
    ("before", "expected"), [(10.0, "rising"), (0.0, "level"), (-10.0, "falling")]
)
def test_what_the_temperature_did_up_to_the_onset(before: float, expected: str) -> None:
    temps = 60 + before * np.minimum(T_S, ONSET_S) / ONSET_S
    assert seen(view(temp_c__composite=temps))["temperature-bend"] == expected


def coupled(rate: Array, temps: Array) -> str:
    rates = np.where(T_S <= ONSET_S, FULL, FULL * rate)
    return seen(view(rates, temp_c__composite=temps))["rate-and-temperature"]


def test_what_the_rate_does_with_the_temperature() -> None:
    wave = np.sin(T_S / 12)
    swinging = np.where(T_S <= ONSET_S, 70.0, 70 + 4 * wave)
    half = np.full(len(T_S), 0.5)
    assert coupled(0.5 - 0.1 * wave, swinging) == "follows"
    assert coupled(half, swinging) == "regardless"
    assert coupled(half, warming(40, 70)) == "both-still"
    assert coupled(0.5 - 0.1 * wave, warming(40, 70)) == "rate-alone"
    assert coupled(0.5 + 0.1 * wave, swinging) == "together"
    assert coupled(0.6 - 0.001 * T_S, swinging) == "time"


def test_a_drive_that_was_hotter_at_full_speed_elsewhere() -> None:
    temps = np.minimum(60 + T_S / 5, 80.0)
    hot = view(STEADY, rw="read", name="r", start_s=500, temp_c__composite=temps)
    found = seen(view(temp_c__composite=warming(40, 65)), hot)
    assert found["full-speed-at"] == "hotter"
    assert found["reads-beside"] == "held-as-hot"


def test_no_full_speed_is_seen_where_everything_was_cooler() -> None:
    cool = view(STEADY, rw="read", name="r", start_s=500, temp_c__composite=np.full(len(T_S), 60.0))
    assert "full-speed-at" not in seen(view(temp_c__composite=warming(40, 65)), cool)


@pytest.mark.parametrize(("other_c", "expected"), [(71.0, "same"), (55.0, "apart")])
def test_the_temperatures_of_several_onsets(other_c: float, expected: str) -> None:
    later = np.where(T_S <= 120, FULL, LOW)
    temps = 40 + (other_c - 40) * np.minimum(T_S, 120) / 120
    other = view(later, name="w2", start_s=500, temp_c__composite=temps)
    assert seen(view(temp_c__composite=warming(40, 70)), other)["onset-temperatures"] == expected


@pytest.mark.parametrize(
    ("rw", "expected"),
    [
        ("read", "reads"),
        ("randread", "reads"),
        ("write", "sequential-writes"),
        ("randwrite", "random-writes"),
        ("randrw", "mixed"),
    ],
)
def test_the_load_itself(rw: str, expected: str) -> None:
    assert seen(view(rw=rw))["load"] == expected


@pytest.mark.parametrize(
    ("kib", "expected"), [(4, "small-writes"), (128, "large-writes"), (48, "writes")]
)
def test_how_large_writes_are_tells_the_load_where_nothing_else_does(
    kib: float, expected: str
) -> None:
    step = Observed.model_validate({"name": "w", "writes": True, "reads": False})
    samples = view(write_iops=DROP * 1e6 / (1024 * kib)).samples
    one = StepView(step, samples, 0.0, {}, Course({}, {}))
    assert seen(one)["load"] == expected


@pytest.mark.parametrize(
    ("low", "expected"),
    [(1800.0, "little"), (500.0, "much"), (200.0, "most"), (40.0, "nearly-all")],
)
def test_how_much_was_lost(low: float, expected: str) -> None:
    assert seen(view(np.where(T_S <= ONSET_S, FULL, low)))["depth"] == expected


def test_reads_that_fall_alike() -> None:
    read = view(rw="read", name="r", start_s=500)
    assert seen(view(), read)["reads-beside"] == "fell"
    assert seen(read, view())["both-ways"] == "fell"


def test_reads_that_hold() -> None:
    assert seen(view(), view(STEADY, rw="read", name="r"))["reads-beside"] == "held"


def test_a_write_that_falls_far_deeper_than_reads() -> None:
    deep = view(np.where(T_S <= ONSET_S, FULL, 100.0))
    assert seen(deep, view(rw="read", name="r"))["depth-beside-reads"] == "far-deeper"


def drive(size_gb: float, loads: tuple[StepLoad, ...] = (), **more: Any) -> Course:
    return Course({"kind": "block", "size_bytes": size_gb * 1e9}, {}, loads, **more)


@pytest.mark.parametrize(
    ("size_gb", "purged", "expected"),
    [
        (500.0, True, "less-than-the-drive"),
        (500.0, False, None),
        (150.0, True, "at-the-brim"),
        (80.0, True, "past-the-drive"),
        (100.0, False, "past-the-drive"),
    ],
)
def test_what_was_written_against_the_drives_size(
    size_gb: float, purged: bool, expected: str | None
) -> None:
    assert seen(view(course=drive(size_gb, begins_purged=purged))).get("written") == expected


def test_a_fill_before_counts_as_written() -> None:
    fill = StepLoad(Observed(name="fill"), -600.0, -100.0, 450.0)
    assert seen(view(course=drive(500, (fill,))))["written"] == "past-the-drive"
    purged = drive(500, (fill,), purges_s=(-50.0,))
    assert seen(view(course=purged))["written"] == "less-than-the-drive"


@pytest.mark.parametrize(
    ("rate", "onset_s", "expected"),
    [(0.5, 160.0, "bytes"), (0.5, 80.0, "time"), (1.0, 80.0, "both"), (1.0, 20.0, "neither")],
)
def test_whether_it_repeats_in_bytes_or_in_time(rate: float, onset_s: float, expected: str) -> None:
    other = view(rate * np.where(onset_s >= T_S, FULL, LOW), name="w2", start_s=500)
    assert seen(view(), other)["repeats-in"] == expected


def after(rest_s: float, start: float, start_c: float) -> StepView:
    """The same load again."""
    first = StepLoad(Observed(name="w"), 0.0, 200.0, 100.0)
    rates = np.where(T_S <= 30, start, LOW)
    return view(
        rates,
        name="again",
        start_s=200.0 + rest_s,
        course=Course({}, {}, (first,)),
        temp_c__composite=np.full(len(T_S), start_c),
    )


@pytest.mark.parametrize(
    ("rest_s", "start", "start_c", "expected"),
    [
        (60.0, FULL, 45.0, "back-cooler"),
        (10.0, FULL, 70.0, "back-as-hot"),
        (60.0, LOW, 45.0, "slow-though-cooler"),
        # a governor may not have let go yet
        (60.0, LOW, 62.0, "slow"),
        (10.0, LOW, 70.0, "slow"),
        (60.0, 1500.0, 60.0, "partly"),
    ],
)
def test_the_same_again_after_a_rest(
    rest_s: float, start: float, start_c: float, expected: str
) -> None:
    again = after(rest_s, start, start_c)
    assert seen(view(temp_c__composite=warming(40, 70)), again)["after-a-rest"] == expected


@pytest.mark.parametrize(("start", "expected"), [(FULL, "back"), (1500.0, "partly"), (LOW, "slow")])
def test_the_same_again_at_once(start: float, expected: str) -> None:
    found = seen(view(temp_c__composite=warming(40, 70)), after(0.0, start, 70.0))
    assert found["at-once"] == expected
    assert "after-a-rest" not in found


def test_a_step_that_started_slow_is_not_proof_of_full_speed() -> None:
    hot = np.full(len(T_S), 80.0)
    read = view(STEADY, rw="read", name="r", start_s=500, temp_c__composite=np.full(len(T_S), 50.0))
    slow = view(STEADY / 2, rw="read", name="r2", start_s=900, temp_c__composite=hot)
    found = seen(view(temp_c__composite=warming(40, 65)), read, slow)
    assert found["reads-beside"] == "slow-too"
    assert "full-speed-at" not in found


def test_whether_the_same_load_falls_again() -> None:
    assert seen(view(), view(name="w2", start_s=500))["again"] == "alike"
    assert seen(view(), view(STEADY, name="w2", start_s=500))["again"] == "not"
    assert "again" not in seen(view(), view(STEADY[:900], name="w2", start_s=500))
    assert "again" not in seen(view(), view(STEADY, rw="read", name="r", start_s=500))


def test_the_same_again_after_a_purge() -> None:
    course = Course({}, {}, (StepLoad(Observed(name="w"), 0.0, 200.0, 100.0),), purges_s=(250.0,))
    hot = np.full(len(T_S), 69.0)
    again = view(name="again", start_s=260.0, course=course, temp_c__composite=hot)
    found = seen(view(temp_c__composite=warming(40, 70)), again)
    assert found["after-a-purge"] == "back-as-hot"
    assert "after-a-rest" not in found


def sibling(rates: Array, heatsink: str) -> StepView:
    return view(rates, course=Course({}, {"heatsink": heatsink}))


def test_the_same_load_in_better_cooling() -> None:
    bare = sibling(DROP, "none")
    assert seen(bare, siblings=[sibling(STEADY, "finned")])["conditions"] == "moved"
    assert seen(bare, siblings=[sibling(DROP, "finned")])["conditions"] == "stayed"
    assert "conditions" not in seen(bare, siblings=[sibling(STEADY, "none")])


def test_the_same_again_is_in_no_other_conditions() -> None:
    first = view(DROP, course=Course({}, {"run": "1"}))
    assert "conditions" not in seen(first, siblings=[view(STEADY, course=Course({}, {"run": "2"}))])


def test_forms() -> None:
    assert seen(view())["shape"] == "sharp-step"
    assert seen(view())["end"] == "lasted"
    back = np.where((T_S > 80) & (T_S <= 120), LOW, FULL)
    assert seen(view(back))["end"] == "by-itself"
    low = (T_S > 40) & ((T_S - 40) % 20 < 10)
    assert seen(view(np.where(low, LOW, FULL)))["shape"] == "cycle"
    assert seen(view(FULL - 6 * T_S))["shape"] == "slide"


def test_a_rate_that_gets_restless() -> None:
    chance = np.random.default_rng(3).normal(0, 1, len(T_S))
    spread = np.where(T_S <= ONSET_S, 0.01, 0.1)
    assert seen(view(DROP * (1 + spread * chance)))["unrest"] == "wilder"
    assert seen(view(DROP * (1 + 0.02 * chance)))["unrest"] == "alike"


def test_power_that_falls_less_than_the_rate() -> None:
    assert seen(view(power_w=np.full(len(T_S), 6.0)))["power"] == "kept"
    assert seen(view(power_w=np.where(T_S <= ONSET_S, 6.0, 3.5)))["power"] == "fell"


@pytest.mark.parametrize(
    ("before", "during", "expected"),
    [(60.0, 99.0, "saturated"), (99.0, 99.0, "saturated-before-too"), (50.0, 40.0, "free")],
)
def test_the_cpu(before: float, during: float, expected: str) -> None:
    core = np.where(T_S <= ONSET_S, before, during)
    assert seen(view(cpu_core_pct=core, cpu_pct=core / 4))["cpu"] == expected


def test_time_that_the_hypervisor_took() -> None:
    assert seen(view(cpu_steal_pct=np.where(T_S <= ONSET_S, 1.0, 20.0)))["steal"] == "stolen"
    assert "steal" not in seen(view(cpu_steal_pct=np.full(len(T_S), 20.0)))


def test_what_others_moved_on_the_same_device() -> None:
    nothing = np.zeros(len(T_S))
    others = np.where(T_S <= ONSET_S, 0.0, 800.0)
    busy = view(device_read_mb_s=others, device_write_mb_s=DROP)
    assert seen(busy)["others"] == "busy"
    assert seen(view(device_read_mb_s=nothing, device_write_mb_s=DROP))["others"] == "quiet"


@pytest.mark.parametrize(
    ("before", "during", "expected"),
    [(3938.0, 1000.0, "retrained"), (1050.0, 1050.0, "at-its-ceiling"), (3938.0, 3938.0, "free")],
)
def test_the_pcie_link(before: float, during: float, expected: str) -> None:
    assert seen(view(link_mb_s=np.where(T_S <= ONSET_S, before, during)))["link"] == expected


def test_a_processor_at_its_own_limit() -> None:
    assert seen(view(temp_c__cpu=np.full(len(T_S), 98.0)))["host-heat"] == "at-its-limit"
    assert seen(view(temp_c__cpu=np.full(len(T_S), 70.0)))["host-heat"] == "below"


def test_every_finding_says_a_sentence() -> None:
    for finding in observe(Case((view().drops or [])[0], view())):
        assert isinstance(finding, Finding)
        assert len(finding.text) > 10
        assert not finding.text.endswith(".")
