"""Causes by what the others would not show, on recordings that are drawn."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis import analyze
from heatsoak.analysis.findings import Episode
from made_recording import make_recording
from numpy.typing import NDArray

Array = NDArray[np.float64]
Drawn = dict[str, Any]
COUNT, ONSET_S = 600, 200
T_S: Array = np.arange(1.0, COUNT + 1)


def noise(sigma: float = 0.008, count: int = COUNT) -> Array:
    shocks = np.random.default_rng(4).standard_normal(count + 9) * sigma
    return np.asarray(1 + np.convolve(shocks, 0.6 ** np.arange(10), "valid"))


def fallen(before: float, during: float, onset_s: float = ONSET_S) -> Array:
    return np.where(onset_s >= T_S, before, during) * noise()


def warming(start_c: float, onset_c: float, after_c: float, onset_s: float = ONSET_S) -> Array:
    """Rises to `onset_c` at the onset in a straight line, and then approaches `after_c`."""
    later = after_c + (onset_c - after_c) * np.exp(-(T_S - onset_s) / 60)
    return np.asarray(
        np.round(np.where(onset_s >= T_S, start_c + (onset_c - start_c) * T_S / onset_s, later))
    )


def held(start_c: float, at_c: float, onset_s: float = ONSET_S) -> Array:
    return warming(start_c, at_c, at_c, onset_s)


NO_COUNT = {"throttle_count.tmt1": 0.0, "throttle_count.tmt2": 0.0, "throttle_time_s.tmt1": 0.0}
WARNS_AT_85 = {"warning_c": 85.0, "critical_c": 95.0}


def link_halved_at_68() -> Drawn:
    return {
        "rates": fallen(6900, 3400),
        "rw": "read",
        "temp_c.composite": held(40, 68),
        "limits_c": {"warning_c": 86.0},
    }


def faults_of_a_host(at_c: float, rw: str) -> Drawn:
    return {
        "rates": fallen(3000, 1800),
        "rw": rw,
        "temp_c.composite": warming(42, at_c, at_c + 1),
        "limits_c": WARNS_AT_85,
        **NO_COUNT,
    }


def hot_beside_the_composite(limits: Mapping[str, float]) -> Drawn:
    return {
        "rates": fallen(3000, 1000),
        "rw": "write",
        "temp_c.composite": warming(46, 50, 50),
        "temp_c.sensor2": held(50, 90),
        "limits_c": limits,
    }


def governed_at_its_limit() -> Drawn:
    return {
        "rates": fallen(3000, 1300),
        "rw": "read",
        "temp_c.composite": held(40, 84),
        "limits_c": WARNS_AT_85,
    }


def governed_and_counted() -> Drawn:
    counts = np.clip(T_S - ONSET_S, 0, None)
    return {
        "rates": fallen(3000, 1300),
        "rw": "write",
        "temp_c.composite": held(40, 76),
        "throttle_time_s.tmt1": counts,
        "throttle_count.tmt1": (counts > 0).astype(float),
    }


def cut_in_steps() -> Drawn:
    """A governor lowers the rate again and again while the drive stays at one temperature."""
    cut = 1 - 0.12 * np.clip((T_S - ONSET_S) // 40 + 1, 0, 5)
    return {
        "rates": 3000 * cut * noise(),
        "rw": "read",
        "temp_c.composite": held(40, 79),
        "queue": np.full(COUNT, 32.0),
    }


def fewer_asked_for(rw: str = "read") -> Drawn:
    rates = fallen(3000, 1500)
    return {
        "rates": rates,
        "rw": rw,
        "temp_c.composite": held(40, 78),
        f"{rw}_iops": rates * 1e6 / 131072,
        f"{rw}_lat_us": 800 * noise(0.01)[::-1],
    }


def without_temperatures(rw: str, during: float = 100.0) -> Drawn:
    return {"rates": fallen(2000, during), "rw": rw}


def changed_on_top() -> Drawn:
    """It asked for less and then for still less, at one temperature."""
    rates = np.select([T_S <= 100, T_S <= 350], [3000.0, 2000.0], 1200.0) * noise()
    return {"rates": rates, "rw": "read", "temp_c.composite": warming(40, 55, 60, 100)}


def behind_a_known_cache() -> Drawn:
    onset_s = 42e3 / 500
    return {
        "rates": fallen(500, 82, onset_s),
        "rw": "write",
        "drive": {"model": "Samsung SSD 870 QVO 1TB"},
        "temp_c.composite": warming(30, 36, 38, onset_s),
    }


def on_usb_2() -> Drawn:
    return {
        "rates": fallen(430, 40),
        "rw": "read",
        "temp_c.composite": warming(36, 45, 42),
    }


def busy_core() -> Drawn:
    return {
        "rates": fallen(3000, 1800),
        "rw": "read",
        "temp_c.composite": warming(42, 72, 72),
        "cpu_core_pct": np.where(ONSET_S >= T_S, 60.0, 99.0),
    }


HOST = {"limited-by-host", "unknown"}
ANY_BUT_HEAT = HOST | {"interference", "write-cache", "spare-area"}

SITUATIONS: list[tuple[str, Callable[[], Drawn], set[str]]] = [
    ("a link halved at 68 C, limit 86", link_halved_at_68, HOST),
    *(
        (f"a host's fault at {at_c} C, {rw}", partial(faults_of_a_host, at_c, rw), ANY_BUT_HEAT)
        for at_c in (63, 67, 72)
        for rw in ("read", "write")
    ),
    ("sensor 2 at 90 C", partial(hot_beside_the_composite, {}), {"thermal"}),
    (
        "sensor 2 at 90 C, the composite's limit far away",
        partial(hot_beside_the_composite, WARNS_AT_85),
        {"thermal"},
    ),
    ("held at its limit", governed_at_its_limit, {"thermal"}),
    ("counted", governed_and_counted, {"thermal"}),
    ("cut in steps", cut_in_steps, {"thermal"}),
    ("the queue fell, the latency stayed", fewer_asked_for, {"limited-by-host"}),
    ("the queue of writes fell", partial(fewer_asked_for, "write"), {"limited-by-host"}),
    ("less asked for, twice", changed_on_top, HOST),
    ("a cache that is known", behind_a_known_cache, {"write-cache"}),
    ("the rate of USB 2", on_usb_2, HOST),
    ("a core at 99 %", busy_core, {"limited-by-host"}),
]


def drawn(path: Path, situation: Drawn) -> list[Episode]:
    given = dict(situation)
    rates, rw = given.pop("rates"), given.pop("rw")
    known = {key: given.pop(key) for key in ("limits_c", "drive") if key in given}
    samples = pl.DataFrame(
        {
            "t_s": T_S,
            "step": ["load"] * COUNT,
            "interval_s": np.ones(COUNT),
            f"{rw}_bw_mb_s": rates,
            **{name: np.broadcast_to(values, COUNT) for name, values in given.items()},
        }
    )
    recording = make_recording(path / "drawn", samples, rw=rw, bs="128k", **known)
    return analyze([recording]).recordings[0].steps[0].episodes


@pytest.mark.parametrize(
    ("make", "fair"), [s[1:] for s in SITUATIONS], ids=[s[0] for s in SITUATIONS]
)
def test_a_cause_is_named_for_what_the_others_would_not_show(
    make: Callable[[], Drawn], fair: set[str], tmp_path: Path
) -> None:
    episodes = drawn(tmp_path, make())
    assert episodes
    assert {one.cause for one in episodes} <= fair, [one.evidence for one in episodes]


@pytest.mark.parametrize("rw", ["read", "write"])
@pytest.mark.parametrize("during", [100.0, 1400.0])
def test_without_a_temperature_heat_is_as_likely_as_in_other_such_logs(
    rw: str, during: float, tmp_path: Path
) -> None:
    (one,) = drawn(tmp_path, without_temperatures(rw, during))
    assert one.cause != "thermal"
    assert one.likelihoods["thermal"] <= 0.25
    assert any("nothing tells how warm it was" in line for line in one.evidence)


def test_a_sensor_is_not_stuck_since_a_quicker_one_moved_when_the_next_load_began(
    tmp_path: Path,
) -> None:
    """The composite is still where it settled while the part that works is warm already."""
    t_s = np.arange(1.0, 901.0)
    composite = np.select([t_s <= 60, t_s < 560], [40 + t_s / 6, 50.0], 50 + (t_s - 560) / 20)
    part = np.select([t_s <= 60, t_s < 540], [50 + t_s / 6, 60.0], 75.0)
    samples = pl.DataFrame(
        {
            "t_s": t_s,
            "step": np.where(t_s < 540, "one", "two"),
            "interval_s": np.ones(900),
            "read_bw_mb_s": np.where(t_s < 540, 1500.0, 3000.0) * noise(count=900),
            "temp_c.composite": np.round(np.minimum(composite, 62)),
            "temp_c.sensor2": part + np.where(t_s % 7 < 3, 0.0, 1.0),
        }
    )
    recording = make_recording(tmp_path / "drawn", samples, rw="read", bs="128k")
    trust = {one.name: one.trust for one in analyze([recording]).recordings[0].sensors}
    assert trust["composite"] != "poor"
