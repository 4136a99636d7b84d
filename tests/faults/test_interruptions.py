"""The machine sleeps, its clock is set, or heatsoak is held up."""

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from heatsoak.bench.interruptions import Clocks, Interruptions, boot_now, passed_since
from heatsoak.protocol import Observation, Observed
from heatsoak.recording import Boot, RecordingMeta
from heatsoak.target import Note
from hypothesis import given
from hypothesis import strategies as st

BEGIN = Clocks(1000.0, 5000.0, 1.7e9)


def after(clocks: Clocks, waited_s: float, slept_s: float = 0.0, set_s: float = 0.0) -> Clocks:
    return Clocks(
        clocks.awake_s + waited_s,
        clocks.all_s + waited_s + slept_s,
        clocks.wall_s + waited_s + slept_s + set_s,
    )


def seen(*readings: Clocks) -> list[Note]:
    left = iter(readings)
    watch = Interruptions(lambda: next(left))
    return [one for _ in readings for one in watch.look()]


@pytest.mark.parametrize(
    ("changes", "said", "data"),
    [
        ({"slept_s": 3600}, "the machine slept for 60 min", {"slept_s": 3600}),
        ({"set_s": 3600}, "the machine's clock was set forward by 3,600 s", {"clock_set_s": 3600}),
        ({"set_s": -5}, "the machine's clock was set back by 5 s", {"clock_set_s": -5}),
        ({"waited_s": 8}, "heatsoak was paused for 8 s", {"stood_still_s": 8}),
    ],
)
def test_each_can_be_told_from_the_others(
    changes: dict[str, float], said: str, data: dict[str, float]
) -> None:
    (one,) = seen(BEGIN, after(BEGIN, **{"waited_s": 0.25, **changes}))
    assert one.text.startswith(said)
    assert one.data == data


def test_a_process_that_is_held_up_between_two_clocks_has_seen_no_sleep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s, delays_s = [1000.0], [0.0, 2.0]

    def of_boot(_clock: int) -> float:
        now_s[0] += delays_s.pop(0) if delays_s else 0.0
        return now_s[0]

    clocks = SimpleNamespace(
        monotonic=lambda: now_s[0],
        clock_gettime=of_boot,
        time=lambda: 1.7e9 + now_s[0],
        CLOCK_BOOTTIME=7,
    )
    monkeypatch.setattr("heatsoak.bench.interruptions.time", clocks)
    monkeypatch.setattr("heatsoak.system.time", clocks)
    watch = Interruptions()
    assert list(watch.look()) == []
    assert list(watch.look()) == []
    assert delays_s == []


def test_all_at_once_are_three_and_each_is_reported_once() -> None:
    then = after(BEGIN, 60, slept_s=600, set_s=-86400)
    found = seen(BEGIN, then, after(then, 0.2), after(then, 0.4))
    assert [list(one.data) for one in found] == [["slept_s"], ["clock_set_s"], ["stood_still_s"]]
    # a machine without a clock that runs in its sleep still reports the rest
    begin = replace(BEGIN, all_s=BEGIN.awake_s)
    (told,) = seen(begin, replace(after(begin, 0.2), wall_s=begin.wall_s + 3600))
    assert list(told.data) == ["clock_set_s"]


@given(st.lists(st.floats(0.0, 2.5), min_size=1, max_size=50), st.floats(-0.05, 0.05))
def test_time_that_passes_is_nothing_whatever_ntp_does_to_the_rate(
    waits_s: list[float], slewed: float
) -> None:
    readings = [BEGIN]
    for waited_s in waits_s:
        readings.append(after(readings[-1], waited_s, set_s=slewed * waited_s))
    assert seen(*readings) == []


@given(st.floats(1, 1e6), st.floats(-1e9, 1e9).filter(lambda by_s: abs(by_s) > 1))
def test_the_message_says_how_long_it_was(slept_s: float, set_s: float) -> None:
    slept, clock = seen(BEGIN, after(BEGIN, 0.2, slept_s, set_s))
    assert slept.data["slept_s"] == pytest.approx(slept_s, abs=0.01)
    assert clock.data["clock_set_s"] == pytest.approx(set_s, abs=0.01)


def begun(unix_s: float | None, boot: Boot | None) -> RecordingMeta:
    return RecordingMeta(
        protocol=Observation(name="o", steps=[Observed(name="a")]),
        conditions={},
        drive={},
        columns={"t_s": "Float64"},
        started_unix_s=unix_s,
        started_boot=boot,
    )


OTHER_BOOT = Boot(id="another", clock_s=1e9)


def test_after_another_boot_an_impossible_wall_clock_proves_nothing() -> None:
    now_s = time.time()
    for unix_s in (None, 0.0, 86400.0, now_s + 3600, now_s - 1e8):
        assert passed_since(begun(unix_s, OTHER_BOOT)) is None
        assert passed_since(begun(unix_s, None)) is None


def test_in_one_boot_the_wall_clock_does_not_matter_and_after_another_it_counts() -> None:
    boot = boot_now(ago_s=50.0)
    if boot is None:
        pytest.skip("this machine's kernel does not number its boots")
    for unix_s in (None, 0.0, time.time() + 1e6):
        assert passed_since(begun(unix_s, boot)) == pytest.approx(50, abs=20)
    assert passed_since(begun(time.time() - 50, OTHER_BOOT)) == pytest.approx(50, abs=20)
