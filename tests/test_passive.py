"""What a fit learns from logs of ordinary use: time constants, and what warms a drive's air."""

from collections.abc import Mapping
from pathlib import Path

import heatsoak
import numpy as np
import pytest
from heatsoak.errors import UsageError
from heatsoak.twin.twin import Twin
from numpy.typing import NDArray

Array = NDArray[np.float64]

pytestmark = pytest.mark.slow


def written(path: Path, columns: Mapping[str, Array]) -> Path:
    """Write a table of plain numbers, as a logger would; temperatures are in whole kelvins."""
    rounded = {n: np.round(v) if n.startswith("temp_c") else v for n, v in columns.items()}
    rows = zip(*rounded.values(), strict=True)
    lines = [",".join(f"{value:.6g}" for value in row) for row in rows]
    path.write_text("\n".join([",".join(columns), *lines]) + "\n")
    return path


def following(target_c: Array, tau_s: float, start_c: float) -> Array:
    """Return what follows `target_c`, a value each second, with one time constant."""
    now_c, found = start_c, []
    for aim_c in target_c.tolist():
        now_c += (aim_c - now_c) * -np.expm1(-1 / tau_s)
        found.append(now_c)
    return np.asarray(found)


def noise(count: int, seed: int) -> Array:
    return np.asarray(0.2 * np.random.default_rng(seed).standard_normal(count))


def beside_a_card(seed: int, share: float, tau_s: float) -> dict[str, Array]:
    """Return half an hour of an idle drive beside a graphics card that works now and then."""
    t_s = np.arange(1800.0)
    gpu_c = following(np.where((t_s // 300) % 2 == 1, 78.0, 38.0), 40.0, 38.0)
    air_c = following(23 + share * (gpu_c - 23), 60.0, 23 + share * 15)
    drive_c = following(air_c + 8, tau_s, float(air_c[0]) + 8)
    return {
        "time_s": t_s,
        "temp_c.gpu": gpu_c,
        "temp_c.composite": drive_c + noise(len(t_s), seed),
        "read_bw_mb_s": 0 * t_s,
    }


def time_constant_of(twin: Twin) -> float:
    found = twin.estimate("time_constant_s")
    assert found is not None
    assert found.low <= found.value <= found.high
    return found.value


def test_an_idle_drive_shows_what_a_graphics_card_does_to_its_air(tmp_path: Path) -> None:
    path = written(tmp_path / "idle.csv", beside_a_card(1, share=0.25, tau_s=150.0))
    twin = heatsoak.fit(path)
    share = next(p for p in twin.parameters if p.name == "gpu_share@here")
    assert share.value == pytest.approx(0.25, abs=0.03)
    assert time_constant_of(twin) == pytest.approx(150, rel=0.25)
    assert twin.answer.startswith("Never throttled: its limit is above ")
    said = [sentence for sentence in twin.told if sentence.startswith("The graphics card at 80 C")]
    warmer_k = round(share.value * (80 - twin.values()["air_c@here"]))
    assert said
    assert f"{warmer_k} K warmer" in said[0]
    assert any("It was never under load" in sentence for sentence in twin.told)
    assert any("capacity only show as a product" in sentence for sentence in twin.told)
    # nothing is proposed where it is not known what the drive can do
    assert twin.experiments == []


@pytest.mark.parametrize("tau_s", [40, 500])
def test_a_cool_down_alone_has_a_time_constant(tmp_path: Path, tau_s: float) -> None:
    t_s = np.arange(0.0, 6 * tau_s, 2.0)
    columns = {
        "time_s": t_s,
        "temp_c.composite": 27 + 38 * np.exp(-t_s / tau_s) + noise(len(t_s), 2),
    }
    twin = heatsoak.fit(written(tmp_path / "cooling.csv", columns))
    assert time_constant_of(twin) == pytest.approx(tau_s, rel=0.15)
    assert "time constant" in twin.answer


def test_heating_up_and_cooling_down_have_a_time_constant(tmp_path: Path) -> None:
    tau_s = 150.0
    t_s = np.arange(8.0 * tau_s)
    is_on = t_s < 4 * tau_s
    columns = {
        "time_s": t_s,
        "write_bw_mb_s": np.where(is_on, 1500.0, 0.0),
        "temp_c.composite": following(np.where(is_on, 62.0, 30.0), tau_s, 28.0)
        + noise(len(t_s), 3),
    }
    twin = heatsoak.fit(written(tmp_path / "load.csv", columns))
    assert time_constant_of(twin) == pytest.approx(tau_s, rel=0.1)


@pytest.mark.long
def test_a_measured_room_that_warms_is_not_the_drive(tmp_path: Path) -> None:
    t_s = np.arange(1800.0)
    is_on = (t_s // 300) % 2 == 1
    room_c = 22 + 8 * t_s / 1800

    def fitted(name: str, room: dict[str, Array]) -> Twin:
        drive_c = following(room_c + np.where(is_on, 33.0, 5.0), 90.0, 27.0)
        columns = {"time_s": t_s, "write_bw_mb_s": 1500.0 * is_on, **room}
        columns["temp_c.composite"] = drive_c + noise(len(t_s), 4)
        return heatsoak.fit(written(tmp_path / name, columns))

    known = fitted("known.csv", {"temp_c.ambient": room_c})
    unknown = fitted("unknown.csv", {})
    # without it, the slow warming passes for a slow part of the drive
    assert time_constant_of(known) == pytest.approx(90, rel=0.1)
    assert time_constant_of(unknown) > 1.5 * time_constant_of(known)
    assert known.values()["air_c@here"] == pytest.approx(26, abs=4)


def test_a_rise_without_any_cause_is_refused(tmp_path: Path) -> None:
    t_s = np.arange(600.0)
    columns = {"time_s": t_s, "temp_c.composite": 30 + t_s / 30}
    with pytest.raises(UsageError, match="has no load and no power, does not cool down"):
        heatsoak.fit(written(tmp_path / "rise.csv", columns))
