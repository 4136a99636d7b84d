"""Power of steps from recordings alone, and who it is said to come from."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command import heatsoak_here
from heatsoak.analysis import RecordingFindings
from heatsoak.recording import SensorMeta
from hypothesis import given, settings
from hypothesis import strategies as st
from made_recording import judged

STATES = [
    {"state": 0, "operational": True, "max_w": 7.6},
    {"state": 1, "operational": True, "max_w": 4.3},
    {"state": 2, "operational": False},
]


def found(
    sensors: list[SensorMeta] = [],  # noqa: B006 -- never changed
    drive: dict[str, Any] | None = None,
    every_s: float = 1.0,
    watts: float = 5.0,
    from_s: float = 0.0,
    **columns: Any,
) -> RecordingFindings:
    """A minute of writes at 100 MB/s, with power read now and then."""
    t_s = np.arange(0.25, 60.01, 0.25)
    read_at = np.arange(from_s + every_s, 60.01, every_s)
    rows = pl.DataFrame({"t_s": t_s, "step": "write", "interval_s": 0.25, "write_bw_mb_s": 100.0})
    readings = pl.DataFrame({"t_s": read_at, "step": "write"})
    if watts > 0:
        readings = readings.with_columns(power_w=pl.lit(watts))
    readings = readings.with_columns(**{name: pl.lit(value) for name, value in columns.items()})
    samples = pl.concat([rows, readings], how="diagonal").sort("t_s")
    return judged(samples, sensors=sensors, drive=drive or {"model": "a drive"})


def sensor(name: str, *columns: str, **details: Any) -> SensorMeta:
    return SensorMeta(
        name=name, source=f"the {name}", columns=list(columns), interval_s=1, details=details
    )


@settings(max_examples=15, deadline=None)
@given(st.floats(0.3, 4.0), st.floats(0.05, 30.0))
def test_a_constant_power_is_its_mean_and_energy_is_that_for_the_steps_time(
    every_s: float, watts: float
) -> None:
    (step,) = found(every_s=every_s, watts=watts).steps
    assert step.power_mean_w == pytest.approx(watts)
    assert step.energy_j == pytest.approx(watts * step.duration_s)


def test_power_that_was_read_for_half_a_step_is_not_reported_for_it() -> None:
    (step,) = found(from_s=30.0).steps
    assert step.power_mean_w is None
    assert step.energy_j is None


@pytest.mark.parametrize(
    ("sensors", "drive", "source", "words"),
    [
        ([sensor("hwmon-power", "power_w", power="measured")], None, "measured", "the hwmon-power"),
        (
            [sensor("nvme", "power_w", power="reported", estimated=True, error_pct=10)],
            *(None, "reported", "the nvme (estimated by the drive, at most 10 % off"),
        ),
        ([], {"kind": "simulated", "model": "x"}, "modelled", "simulated drive"),
        ([], None, "logged", "in the recording"),
    ],
)
def test_it_is_said_whether_power_was_measured_reported_modelled_or_only_logged(
    sensors: list[SensorMeta], drive: dict[str, Any] | None, source: str, words: str
) -> None:
    power = found(sensors, drive).power
    assert power is not None
    assert power.source == source
    assert words in power.text


def test_a_rating_bounds_the_states_that_were_seen_and_is_not_a_measurement() -> None:
    sensors = [
        sensor("nvme", "temp_c.composite", power_states=STATES),
        sensor("nvme-power-state", "power_state"),
    ]
    of = found(sensors, watts=0, power_state=1)
    assert of.power is not None
    assert of.power.source is None
    assert (of.power.rated_max_w, of.power.rated_states) == (4.3, [1])
    assert (of.steps[0].power_mean_w, of.steps[0].energy_j) == (None, None)


def test_a_state_that_was_never_asked_may_have_been_any() -> None:
    power = found([sensor("nvme", power_states=STATES)], watts=0).power
    assert power is not None
    assert (power.rated_max_w, power.rated_states) == (7.6, [0, 1])


def test_nothing_is_said_of_power_where_nothing_is_known() -> None:
    assert found(watts=0).power is None


def test_a_simulated_run_prints_watts_joules_and_that_they_are_modelled(tmp_path: Path) -> None:
    words = ("run", "quick", "--scale", "0.1", "--on", "sim:samsung-950-pro-512", "--evidence")
    done = heatsoak_here(*words, cwd=tmp_path)
    assert "power: modelled by the simulated drive" in done.stdout
    heading = next(line.split() for line in done.stdout.splitlines() if line.startswith("Step"))
    assert {"W", "J"} <= set(heading)
