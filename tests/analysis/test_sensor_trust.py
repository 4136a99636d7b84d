"""Trust in temperatures whose flaws, or whose onsets of throttling, are known."""

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis import SensorTrust
from heatsoak.analysis.findings import Claim, What
from heatsoak.analysis.sensors import judge_sensors_together, sense
from heatsoak.recording import Recording
from hypothesis import given, settings
from hypothesis import strategies as st
from made_recording import Array, held

#: Load from 60 s to 360 s, and again from 480 s to 780 s, in 900 s.
T_S: Array = np.arange(1.0, 901)
FIRST, SECOND = (T_S > 60) & (T_S <= 360), (T_S > 480) & (T_S <= 780)


def warmed(
    low_c: float, high_c: float, *, lag_s: float = 0.0, time_constant_s: float = 60
) -> Array:
    """A temperature that follows the load, through a heat capacity and a sensor's lag."""
    target = np.where(FIRST | SECOND, high_c, low_c)
    body = np.full(len(T_S), float(low_c))
    sensor = body.copy()
    follows = -np.expm1(-1 / lag_s) if lag_s else 1.0
    for index in range(1, len(T_S)):
        step = (target[index] - body[index - 1]) * -np.expm1(-1 / time_constant_s)
        body[index] = body[index - 1] + step
        sensor[index] = sensor[index - 1] + follows * (body[index] - sensor[index - 1])
    return sensor


SOUND = np.round(warmed(35, 70))


def trusts_of(recording: Recording) -> list[SensorTrust]:
    return sense(recording).trusts


def together(recordings: Sequence[Recording], falls: list[list[Claim]]) -> list[list[SensorTrust]]:
    return judge_sensors_together([sense(recording) for recording in recordings], falls)


def made(temps: dict[str, Array], **how: Any) -> Recording:
    """Temperatures each second beside two steps of writes."""
    step = np.where(FIRST, "first", np.where(SECOND, "second", ""))
    rate = np.where(FIRST | SECOND, 1500.0, np.nan)
    frame = pl.DataFrame({"t_s": T_S, "step": step}).with_columns(
        pl.col("step").replace("", None),
        pl.Series("interval_s", np.where(np.isnan(rate), np.nan, 1.0)).fill_nan(None),
        pl.Series("write_bw_mb_s", rate).fill_nan(None),
        *(
            pl.Series(f"temp_c.{name}", np.asarray(values, dtype=float)).fill_nan(None)
            for name, values in temps.items()
        ),
    )
    return held(frame, **how)


def judged(values: Array) -> SensorTrust:
    (trust,) = trusts_of(made({"composite": values}))
    return trust


def idle(**temps: Array) -> dict[str, SensorTrust]:
    """Trust in temperatures beside which nothing moves."""
    columns = {f"temp_c.{name}": values for name, values in temps.items()}
    frame = pl.DataFrame({"t_s": T_S, "step": "idle", **columns})
    return {trust.name: trust for trust in trusts_of(held(frame))}


def with_some(values: Array, odd: float, count: int) -> Array:
    spoilt = values.copy()
    spoilt[np.linspace(50, 850, count).astype(int)] = odd
    return spoilt


# ---- one recording


def test_a_sound_sensor_is_neither_trusted_nor_distrusted_from_one_recording() -> None:
    trust = judged(SOUND)
    assert trust.trust == "unknown"
    assert "ranged from 35 to 70 C" in trust.why
    assert trust.step_c == 1
    assert (trust.onsets, trust.spread_at_onset_k, trust.same_as) == (0, None, None)


def clipped(values: Array, from_s: int, to_s: int) -> Array:
    """Values that stand still in between."""
    return np.asarray(np.where((from_s < T_S) & (to_s >= T_S), values[from_s], values))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (np.full(900, 39.85), "313 K is a placeholder"),
        (np.full(900, 40.0), "313 K is a placeholder"),
        (np.zeros(900), "nothing was measured"),
        (np.full(900, 127.0), "largest signed byte"),
        (np.full(900, 273.15), "0 C in kelvins"),
        (np.full(900, -273.15), "a missing sensor"),
        (np.full(900, 65261.85), "a missing sensor"),
        (np.full(900, 55.0), "it reads 55 C all the time, under load too"),
        (clipped(SOUND, 200, 900), "it stayed at 67 C from"),
        (clipped(SOUND, 200, 700), "while the load started or stopped"),
        (SOUND + 273.15, "kelvins, 35 to 70 C"),
        (SOUND * 1.8 + 32 + 20, "in Fahrenheit"),
        (SOUND * 10, "tenths of a degree, 35 to 70 C"),
        (SOUND * 1000, "thousandths of a degree, 35 to 70 C"),
        (with_some(SOUND, -1.0, 30), "30 of 900 readings are -1 or similar: an error code"),
        (with_some(SOUND, 255.0, 30), "an unset byte"),
        (with_some(SOUND, 65262.0, 30), "a missing sensor"),
        (np.where(SOUND + 60 > 127, SOUND + 60 - 256, SOUND + 60), "a byte overflows"),
        (np.where(SOUND > 60, -SOUND, SOUND), "its sign flips"),
        (SOUND - 90, "is impossible for a drive"),
        (with_some(SOUND, 95.0, 12), "it jumps from"),
        (np.where((T_S > 400) & (T_S < 450) & (T_S % 4 < 2), SOUND + 45, SOUND), "it jumps from"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_readings_that_no_sensor_can_have_taken_are_not_trusted(values: Array, why: str) -> None:
    trust = judged(values)
    assert trust.trust == "poor"
    assert why in trust.why


@pytest.mark.parametrize(
    "values",
    [
        SOUND,
        np.minimum(SOUND, 60.0),  # held by a governor
        warmed(35, 70),
        warmed(31, 32),
        np.round(warmed(35, 65, time_constant_s=3)),  # a die
        np.round(warmed(-5, 25)),  # in the cold
        np.round(warmed(60, 105)),
        np.round(warmed(35, 50, time_constant_s=500)),
        np.where(T_S % 10 == 1, SOUND, np.nan),  # each ten seconds
    ],
    ids=["whole", "held", "fine", "flat", "die", "cold", "hot", "slow", "rare"],
)
def test_what_sensors_do_is_not_distrusted(values: Array) -> None:
    assert judged(values).trust == "unknown"


def test_a_sensor_that_a_governor_holds_still_is_not_distrusted() -> None:
    t_s = np.arange(1.0, 301)
    warming, level = np.minimum(30 + t_s / 4, 74.0), np.full(300, 74.0)
    frame = pl.DataFrame(
        {
            "t_s": np.concatenate([t_s, 1000 + t_s]),
            "step": ["fill"] * 300 + ["r"] * 300,
            "interval_s": 1.0,
            "write_bw_mb_s": 500.0,
            "temp_c.composite": np.concatenate([warming, level]),
        }
    )
    whole = held(frame, preconditions=["fill"])
    assert [trust.trust for trust in trusts_of(whole)] == ["unknown"]
    late = held(frame.filter(pl.col("step") == "r"))
    assert [trust.trust for trust in trusts_of(late)] == ["poor"]


def test_a_sensor_that_a_trickle_does_not_move_is_not_frozen() -> None:
    # a full load, little of it after 250 s, then none
    rate = np.where(T_S <= 250, 3000.0, np.where(T_S <= 600, 100.0, 0.0))
    heat = np.zeros(len(T_S))
    for index in range(1, len(T_S)):
        heat[index] = heat[index - 1] + (rate[index] - heat[index - 1]) / 60
    temps = np.round(40 + 0.01 * heat)
    frame = pl.DataFrame({"t_s": T_S, "step": "w", "interval_s": 1.0, "write_bw_mb_s": rate})
    whole = held(frame.with_columns(pl.Series("temp_c.composite", temps)))
    assert [trust.trust for trust in trusts_of(whole)] == ["unknown"]
    stopped = np.where(T_S <= 60, temps, temps[60])
    frozen = held(frame.with_columns(pl.Series("temp_c.composite", stopped)))
    assert [trust.trust for trust in trusts_of(frozen)] == ["poor"]


def test_a_rare_error_code_is_said_and_the_rest_is_judged() -> None:
    trust = judged(with_some(SOUND, -1.0, 3))
    assert trust.trust == "unknown"
    assert "ranged from 35 to 70 C" in trust.why
    assert "3 of 900 readings are -1" in trust.why


def test_a_sensor_that_stands_still_while_another_moves_is_frozen() -> None:
    slow = np.interp(T_S, [0, 900], [30, 60])
    frozen = np.where(T_S > 70, 50.0, 30 + np.minimum(T_S, 20))
    trusts = idle(sensor1=slow, sensor2=frozen)
    assert trusts["sensor1"].trust == "unknown"
    assert "while 'sensor1' moved by" in trusts["sensor2"].why


def test_a_sensor_that_a_load_reaches_later_was_not_frozen() -> None:
    # the controller jumps as a load begins, just before the flash does
    ahead = np.where(T_S > 895, 80.0, 60.0) + 0.01 * (T_S % 2)
    rested = np.where(T_S > 898, 61.0, np.where(T_S < 20, 40.0, 50.0))
    assert idle(sensor1=ahead, composite=rested)["composite"].trust == "unknown"


def test_two_sensors_that_never_differ_are_one() -> None:
    temps = {"composite": SOUND, "sensor1": SOUND, "sensor2": SOUND + (T_S > 500)}
    composite, one, two = trusts_of(made(temps))
    assert (composite.same_as, one.same_as, two.same_as) == (None, "composite", None)
    assert "always reads the same as 'composite'" in one.why


def test_the_hosts_sensors_are_only_asked_whether_they_move() -> None:
    cpu = np.where(T_S % 100 < 2, 95.0, 45.0)
    temps = {"cpu": cpu, "gpu0": np.full(900, 40.0), "ambient": np.full(900, 22.0)}
    trusts = {t.name: t for t in trusts_of(made(temps))}
    assert {name: t.trust for name, t in trusts.items()} == {
        "cpu": "unknown",
        "gpu0": "poor",
        "ambient": "unknown",
    }
    assert "throttling" not in trusts["cpu"].why


@pytest.mark.parametrize(
    ("values", "step_c"),
    [(SOUND, 1.0), (np.round(SOUND / 3) * 3, 3.0), (np.round(warmed(35, 70), 1), 0.1)],
)
def test_the_step_of_rounding_is_found(values: Array, step_c: float) -> None:
    assert judged(values).step_c == pytest.approx(step_c)


def test_how_often_a_sensor_is_renewed_is_found() -> None:
    every_30_s = warmed(35, 70)[(np.arange(900) // 30) * 30]
    assert judged(every_30_s).renewed_s == pytest.approx(30)
    assert judged(warmed(35, 70)).renewed_s == pytest.approx(1)


@pytest.mark.parametrize("rounded", [False, True])
def test_a_sensors_lag_shows_when_the_load_comes_and_goes(rounded: bool) -> None:
    lags = []
    for lag_s in (0.0, 10.0, 30.0):
        values = warmed(35, 75, lag_s=lag_s)
        lag = judged(np.round(values) if rounded else values).lag_s
        assert lag is not None
        lags.append(lag)
    assert lags[0] <= 3
    # the slope of two first-order lags in a row peaks at ln(60 / lag) 60 lag / (60 - lag)
    assert lags[1:] == pytest.approx([21.5, 41.6], abs=6)


def test_without_a_load_there_is_no_lag() -> None:
    assert idle(composite=SOUND)["composite"].lag_s is None


# ---- several recordings


def case(name: str, at_onset_c: float, onset_s: float, serial: str = "x") -> Recording:
    """A place in which a sensor is at a temperature when the first step has run for a while."""
    per_s, values = (at_onset_c - 25) / onset_s, np.full(len(T_S), 25.0)
    for index in range(1, len(T_S)):
        before_c = values[index - 1]
        warmer_c = min(before_c + per_s, at_onset_c + 3)
        cooler_c = 25 + (before_c - 25) * 0.97
        values[index] = warmer_c if (FIRST | SECOND)[index] else cooler_c
    return made({"composite": np.round(values)}, conditions={"slot": name}, serial=serial)


TIMES_S = [15.0, 30.0, 55.0, 65.0]


def began(
    recordings: list[Recording], what: What = "throttled", times_s: Sequence[float] = TIMES_S
) -> list[list[Claim]]:
    """An onset in the first step of each recording."""
    return [
        [Claim(what=what, step="first", onset_s=onset_s)]
        for _, onset_s in zip(recordings, times_s, strict=False)
    ]


def places(
    at_c: Sequence[float], times_s: Sequence[float], serials: str = "x", names: str = ""
) -> list[Recording]:
    """A place for each onset, of one drive and with a name of its own if nothing else is said."""
    every = zip(at_c, times_s, cycle(serials), names or "abcdef", strict=False)
    return [case(name, one_c, one_s, serial) for one_c, one_s, serial, name in every]


@pytest.mark.parametrize(
    ("at_c", "times_s", "more", "trust", "onsets", "spread_k", "why"),
    [
        ([70, 70, 70, 26], TIMES_S, {}, "poor", 4, (43, 45), "26 to 70 C in 4 conditions"),
        ([70, 71, 70, 71], TIMES_S, {}, "good", 4, (0, 2), "in 4 conditions"),
        ([62, 70, 62, 70], TIMES_S, {}, "unknown", 4, (0, 10), ""),
        ([70], [30.0], {}, "unknown", 1, None, "one onset"),
        # repeats of one condition are no conditions
        ([70, 70], [30.0] * 2, {"names": "aa"}, "unknown", 2, None, ""),
        # the same time from the same start is no proof
        ([70, 70, 70], [30.0] * 3, {}, "unknown", 3, (0, 2), "similar time"),
        # onsets of other causes say nothing of a temperature
        ([70, 26], [30.0] * 2, {"what": "slow"}, "unknown", 0, None, ""),
        # two drives are held apart
        ([70, 50, 70, 50], TIMES_S, {"serials": "ab"}, "good", 2, (0, 2), ""),
    ],
)
def test_a_sensor_is_trusted_where_it_reads_the_same_at_every_onset(
    at_c: list[float],
    times_s: list[float],
    more: dict[str, Any],
    trust: str,
    onsets: int,
    spread_k: tuple[float, float] | None,
    why: str,
) -> None:
    what = more.pop("what", "throttled")
    recordings = places(at_c, times_s, **more)
    for (found,) in together(recordings, began(recordings, what, times_s)):
        assert (found.trust, found.onsets) == (trust, onsets)
        assert why in found.why
        if spread_k is None:
            assert found.spread_at_onset_k is None
        else:
            assert found.spread_at_onset_k is not None
            assert spread_k[0] <= found.spread_at_onset_k <= spread_k[1]


def test_a_temperature_that_is_higher_where_nothing_throttles_explains_nothing() -> None:
    slow = places([60, 60], TIMES_S)
    hot = case("hot", 80.0, 50.0)
    onsets = [*began(slow), []]
    (trust,) = together([*slow, hot], onsets)[-1]
    assert trust.trust == "poor"
    assert "in 'first', which did not throttle" in trust.why
    elsewhere = case("elsewhere", 80.0, 50.0, serial="another drive")
    (trust,) = together([*slow, elsewhere], onsets)[0]
    assert trust.trust == "good"


def test_a_flaw_in_one_recording_is_not_held_against_the_others() -> None:
    flawed = made({"composite": np.full(900, 40.0)}, conditions={"slot": "x"}, serial="x")
    recordings = [*places([70, 70, 70], TIMES_S), flawed]
    found = together(recordings, began(recordings))
    assert [trust.trust for (trust,) in found] == ["good"] * 3 + ["poor"]


# ---- bounds


@pytest.mark.slow
@given(
    st.lists(
        st.floats(allow_nan=True, allow_infinity=False, width=32)
        | st.sampled_from([40.0, -1, 255]),
        min_size=1,
        max_size=70,
    ),
    st.booleans(),
)
@settings(max_examples=25, deadline=None)
@pytest.mark.filterwarnings("error")
def test_any_readings_have_an_answer(values: list[float], has_load: bool) -> None:
    t_s = np.cumsum(np.resize([1.0, 0.1, 30.0, 1e-9], len(values)))
    frame = pl.DataFrame({"t_s": t_s, "step": "s", "temp_c.composite": np.array(values)})
    if has_load:
        frame = frame.with_columns(interval_s=pl.lit(0.1), write_bw_mb_s=pl.lit(5.0))
    recording = held(frame)
    trusts = trusts_of(recording)
    assert len(trusts) == int(any(np.isfinite(values)))
    (found,) = together([recording], [[Claim(what="throttled", step="s", onset_s=1.0)]])
    assert all(trust.trust != "good" for trust in found)
