"""Logs of a world that heatsoak's simulator did not make: readable, repeatable, and true."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from unittest.mock import patch

import numpy as np
import pytest
from command import json_here
from heatsoak_dev.elsewhere import DEVELOPMENT, FORMATS, HELD_OUT, WORLDS, draw, make, read_truth
from heatsoak_dev.elsewhere.case import truth_of
from heatsoak_dev.elsewhere.lookalikes import LAG_S, SENSORS
from heatsoak_dev.elsewhere.noise import Noise, measured_noise
from heatsoak_dev.elsewhere.observe import Observed, blur_s, observe, roughness
from heatsoak_dev.elsewhere.situations import flat
from heatsoak_dev.elsewhere.truth import Fall, Truth, visible
from hypothesis import given, settings
from hypothesis import strategies as st
from rest_long import rest_soak

#: Formats in which each writer writes once.
EACH_WRITER = (
    *("fio-log+smartctl-json", "fio-status+nvme-json", "iostat+hwmon", "sadf"),
    *("hwinfo", "table", "bare-table"),
)


@pytest.mark.parametrize(
    "name", [*EACH_WRITER, *rest_soak(sorted(set(FORMATS) - {*EACH_WRITER}), first=0)]
)
def test_each_format_is_read(name: str, tmp_path: Path) -> None:
    truth = make(1, tmp_path / "case", name)
    words = [str(tmp_path / "case" / one) for one in truth.files]
    recordings = json_here("analyze", *words, cwd=tmp_path)["recordings"]
    steps = [step for one in recordings for step in one["steps"]]
    assert sum(step["duration_s"] for step in steps) > 0.7 * truth.duration_s
    assert not any("not be read" in note for one in recordings for note in one["notes"])


def test_a_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for seed in (0, 7):
        made = [make(seed, tmp_path / place / str(seed)) for place in ("first", "second")]
        assert made[0] == made[1] == read_truth(tmp_path / "first" / str(seed))
        for name in (*made[0].files, "truth.json"):
            first, second = (tmp_path / place / str(seed) / name for place in ("first", "second"))
            assert first.read_bytes() == second.read_bytes()


def test_development_and_held_out_seeds_are_apart() -> None:
    assert not set(DEVELOPMENT) & set(HELD_OUT)


@settings(max_examples=8, deadline=None)
@given(st.sampled_from(range(400)), st.sampled_from(sorted(WORLDS)))
def test_a_fall_that_must_be_found_is_in_the_samples(seed: int, world: str) -> None:
    _, _, seen, _ = draw(seed, world=world)
    with TemporaryDirectory() as place:
        truth = make(seed, Path(place), world=world)
    total = seen.read + seen.write
    for fall in truth.falls:
        assert 0 <= fall.onset_s <= fall.end_s <= truth.duration_s
        assert fall.accepted
        if not fall.required:
            continue
        before = total[(seen.at_s <= fall.onset_s) & (seen.at_s > fall.onset_s - 60)]
        until = max(fall.end_s, fall.onset_s + 2 * seen.interval_s)
        during = total[(seen.at_s > fall.onset_s + seen.interval_s) & (seen.at_s <= until)]
        assert np.mean(during) < np.median(before[before > 0])  # a pause may be just before it


def test_poor_sensors_lag_step_hold_and_stand() -> None:
    warm = np.linspace(30.0, 80.0, 4000)
    lagging, stepped, seldom, standing = (
        SENSORS[name](warm, 0.25) for name in ("lags", "in steps", "seldom", "stands")
    )
    assert lagging[-1] == pytest.approx(80 - LAG_S * 50 / 1000, abs=0.1)
    assert set(stepped.tolist()) == set(range(30, 81, 5))
    assert len(set(seldom.tolist())) == 4000 * 0.25 // 30 + 1
    assert set(standing.tolist()) == {30.0}


@settings(max_examples=20, deadline=None)
@given(st.floats(0.01, 0.2), st.floats(50, 600), st.integers(0, 1000))
def test_waves_stay_within_their_amplitude(wave: float, wave_s: float, seed: int) -> None:
    noise = Noise(0, 1, 0, 1, 0, wave=wave, wave_s=wave_s)
    away = noise.factor(np.random.default_rng(seed), 6000, 1.0) - 1
    assert np.abs(away).max() <= wave + 1e-9
    assert np.abs(away).max() > 0.9 * wave


@pytest.mark.parametrize("up", [0.2, 1.0, 2.0])
def test_noise_goes_up_as_far_as_is_stated(up: float) -> None:
    noise = Noise(0.02, 0.3, 0, 1, 0, up=up)
    away = noise.factor(np.random.default_rng(1), 40_000, 1.0) - 1
    assert np.quantile(away, 0.98) / -np.quantile(away, 0.02) == pytest.approx(up, rel=0.1)
    assert np.sqrt(np.mean(away**2)) == pytest.approx(0.02, rel=0.05)


def load(seconds: float, **roughness: float) -> tuple[Observed, Truth]:
    """A load that holds its level but for what is given."""
    scene = flat(np.random.default_rng(5), logger=False)
    count = int(seconds / scene.dt)
    whole = np.full(count, 1000.0)
    scene.demand, scene.level, scene.cause = whole, whole.copy(), [""] * count
    for name in ("held", "cpu_pct", "queue", "busy_pct", "others"):
        setattr(scene, name, np.zeros(count))
    scene.temps = {name: np.full(count, 50.0) for name in ("composite", "sensor2")}
    scene.noise = Noise(0.01, 1, 0.005, 100, 0, **roughness)  # type: ignore[arg-type]
    seen = observe(np.random.default_rng(6), scene, 1.0, 5.0)
    return seen, truth_of(0, "flat", "table", seen, {"temps"})


def test_waves_that_come_back_are_no_falls() -> None:
    seen, truth = load(2000, wave=0.2, wave_s=120)
    total = seen.read + seen.write
    assert np.ptp(total) > 300
    assert truth.flat
    assert not truth.falls
    assert truth.answers == ("no",)


def test_a_wave_longer_than_the_log_may_be_told_as_a_fall_and_need_not() -> None:
    _, truth = load(600, wave=0.1, wave_s=900)
    assert [fall.required for fall in truth.falls] == [False]
    assert truth.answers == ("no",)


def test_a_fall_no_deeper_than_the_waves_need_not_be_found() -> None:
    fall = Fall(500, 1500, 20, False, "thermal", "step")
    for wave, required in ((0.02, True), (0.2, False)):
        seen, _ = load(2000, wave=wave, wave_s=120)
        rough = roughness(seen.scene, 1.0)
        assert visible(fall, 1.0, rough, (0, 2000)).required == required


def test_only_noise_that_hides_a_fall_blurs_its_onset() -> None:
    seen, _ = load(2000)
    assert blur_s(seen.scene, 1.0, 0.3) == 0
    seen.scene.noise = Noise(0.25, 1, 0.02, 30, 0)
    assert 5 < blur_s(seen.scene, 1.0, 0.5) < blur_s(seen.scene, 1.0, 0.3) < 60


@settings(max_examples=10, deadline=None)
@given(st.sampled_from(range(400)))
def test_real_roughness_leaves_the_situation_as_it_is(seed: int) -> None:
    drawn = []
    for share in (0.0, 1.0):
        with patch("heatsoak_dev.elsewhere.case.ROUGH", share):
            situation, format_, seen, _ = draw(seed)
        drawn.append((situation, format_, seen.scene.level.tolist(), seen.interval_s))
    assert drawn[0] == drawn[1]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.booleans())
def test_measured_roughness_is_possible(seed: int, reads: bool, random: bool) -> None:
    noise = measured_noise(np.random.default_rng(seed), reads=reads, random=random)
    factor = noise.factor(np.random.default_rng(seed), 4000, 0.5)
    assert (factor >= 0).all()
    assert 0.5 < np.median(factor) < 1.5


def test_rows_of_hwinfo_are_uneven() -> None:
    scene = flat(np.random.default_rng(5), logger=False)
    for jitter in (0.0, 0.02):
        seen = observe(np.random.default_rng(6), scene, 2.0, 5.0, jitter)
        apart = np.diff(seen.at_s)
        assert (apart > 0).all()
        assert (len(np.unique(np.round(apart, 3))) > 10) == (jitter > 0)


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    with patch.object(sys, "path", [str(Path(__file__).parents[1] / "benches"), *sys.path]):
        yield importlib.import_module("roughness")


def test_the_bench_measures_what_was_made(bench: ModuleType) -> None:
    noise = Noise(0.02, 2.0, 0, 1, 30, wave=0.05, wave_s=150, dip=0.4, dip_s=2.0)
    fine = 500 * noise.factor(np.random.default_rng(3), 4 * 14_400, 0.25)
    rate = fine.reshape(-1, 4).mean(axis=1)
    said = bench.measured(np.arange(1.0, len(rate) + 1), rate)
    assert said["noise_pct"] == pytest.approx(2, rel=0.15)
    assert said["memory_s"] == pytest.approx(2, rel=0.3)
    assert said["wave_pct"] == pytest.approx(5, rel=0.2)
    assert said["wave_s"] == pytest.approx(150, rel=0.25)
    assert said["dips_an_hour"] == pytest.approx(30, rel=0.35)
    assert said["dip_pct"] == pytest.approx(40, rel=0.25)
    assert said["missing_pct"] == said["zero_pct"] == 0


def test_the_bench_seldom_finds_a_wave_in_noise(bench: ModuleType) -> None:
    noise = Noise(0.02, 20.0, 0.01, 300, 0)
    factors = [noise.factor(np.random.default_rng(seed), 3000, 1.0) for seed in range(40)]
    assert sum(bench.wave(one, 1.0)[0] > 0 for one in factors) <= 5
