"""Twins: what a fit finds of drives whose truth is known, and what it says of poor recordings."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import heatsoak
import numpy as np
import polars as pl
import pytest
import tomlkit
from command import complaint, heatsoak_here
from heatsoak.catalog import load_drive, load_enclosure
from heatsoak.errors import UsageError
from heatsoak.protocol import Protocol
from heatsoak.recording import InMemoryRecording, Recording
from heatsoak.target.simulated import make_core
from heatsoak.twin import Twin, fit
from made_once import made_once
from numpy.typing import NDArray
from schema_check import complaints

DRIVE = "samsung-950-pro-512"
SENSOR = "temp_c.composite"
WRITE = {"rw": "write", "bs": "1m", "iodepth": 8, "span": "16GiB"}
HEAT_UP = Protocol.model_validate(
    {
        "name": "heat-up",
        "steps": [
            {"name": "full", "runtime": "5m", **WRITE},
            {"kind": "pause", "name": "cool", "duration": "5m"},
            {"name": "half", "runtime": "5m", "rate": "750m", **WRITE},
        ],
    }
)
SHORT = Protocol.model_validate(
    {
        "name": "short",
        "steps": [
            {"name": "full", "runtime": "80s", **WRITE},
            {"kind": "pause", "name": "cool", "duration": "2m"},
        ],
    }
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of the simulated 950 PRO: `bench` and `fan` throttle, `short` does not get there."""

    def make(directory: Path) -> None:
        for name, protocol, place in (
            ("bench", HEAT_UP, "open-bench"),
            ("fan", HEAT_UP, "fan-slow"),
            ("short", SHORT, "open-bench"),
        ):
            heatsoak.run(protocol, f"sim:{DRIVE}@{place}", output=directory / name)

    return made_once(tmp_path_factory, "twins", make)


@pytest.fixture(scope="module")
def bench(runs: Path) -> Recording:
    return heatsoak.open(runs / "bench")


@pytest.fixture(scope="module")
def twin(bench: Recording) -> Twin:
    return heatsoak.fit(bench)


def changed(
    recording: Recording,
    change: Callable[[pl.DataFrame], pl.DataFrame],
    *,
    name: str = "changed",
    serial: str | None = None,
) -> InMemoryRecording:
    """Return a recording with other samples, without what only a simulator knows."""
    samples = recording.samples()
    samples = change(samples.drop([c for c in samples.columns if c.startswith("sim.")]))
    columns = {column: str(dtype) for column, dtype in samples.schema.items()}
    drive = recording.meta.drive if serial is None else {**recording.meta.drive, "serial": serial}
    meta = recording.meta.model_copy(update={"columns": columns, "drive": drive})
    return InMemoryRecording(Path(name), meta, samples, recording.events)


def with_readings(change: Callable[[pl.Expr], pl.Expr]) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda samples: samples.with_columns(change(pl.col(SENSOR)))


def resistance_of(twin: Twin) -> tuple[float, float, float]:
    found = twin.estimate("air_k_per_w")
    assert found is not None
    return found.low, found.value, found.high


def limit_of(twin: Twin) -> tuple[float, float, float]:
    found = twin.estimate("limit_reported_c")
    assert found is not None
    return found.low, found.value, found.high


def test_a_fit_finds_the_limit_and_the_resistance_of_a_simulated_drive(twin: Twin) -> None:
    low, value, high = resistance_of(twin)
    assert value == pytest.approx(9, rel=0.1)
    assert low < value < high
    core = make_core(load_drive(DRIVE), load_enclosure("open-bench"))
    core.begin(json.dumps([{**_plain_write(core.user_bytes), "runtime_s": 400.0}]))
    core.advance(400.0, 10.0)
    assert limit_of(twin)[1] == pytest.approx(core.truth()["onset_sensor_c"], abs=2)
    assert twin.answer.startswith("Throttles at 7")


def _plain_write(user_bytes: int) -> dict[str, object]:
    return {
        **{"rw": "write", "bs": 1 << 20, "iodepth": 8, "numjobs": 1, "offset_bytes": 0},
        **{"span_bytes": min(16 << 30, user_bytes), "rwmixread": 50},
    }


def test_the_hidden_temperature_is_that_of_the_controller(bench: Recording, twin: Twin) -> None:
    known = bench.samples(["t_s", "sim.controller_c"]).drop_nulls()
    true_c, found = known["sim.controller_c"].to_numpy(), twin.hidden_temp(bench)

    def at(column: str) -> NDArray[np.float64]:
        t_s, known_t_s = found["t_s"].to_numpy(), known["t_s"].to_numpy()
        return np.asarray(np.interp(known_t_s, t_s, found[column].to_numpy()))

    assert np.sqrt(np.mean((at("hidden_c") - true_c) ** 2)) < 3.0
    assert np.mean((at("low_c") <= true_c) & (true_c <= at("high_c"))) > 0.85


def test_the_order_of_recordings_does_not_matter(runs: Path) -> None:
    both = [heatsoak.open(runs / name) for name in ("bench", "fan")]
    one, other = fit(both), fit(both[::-1])
    assert set(one.places) == set(other.places)
    for place in one.places:
        here, there = one.estimate("air_k_per_w", place), other.estimate("air_k_per_w", place)
        assert here is not None
        assert there is not None
        assert here.value == pytest.approx(there.value, rel=0.01)
    assert one.values()["limit_c"] == pytest.approx(other.values()["limit_c"], abs=0.3)


def test_moving_air_shows_as_less_resistance_of_its_place(runs: Path) -> None:
    found = fit([heatsoak.open(runs / name) for name in ("bench", "fan")])
    still, fan = (found.estimate("air_k_per_w", place) for place in found.places)
    assert still is not None
    assert fan is not None
    true = load_enclosure("fan-slow").links["air"]
    assert true.halved_at_m_s is not None
    speed = load_enclosure("fan-slow").air_speed_m_s
    assert speed is not None
    # 0.4 of it radiates: what convects is 2.67 times as much where the resistance is halved
    forced = ((1.6 / 0.6) ** 3 - 1) * (speed.value / true.halved_at_m_s.value) ** 1.5
    moved = 9 / (0.6 * (1 + forced) ** (1 / 3) + 0.4)
    assert fan.value < still.value
    assert fan.value == pytest.approx(moved, rel=0.12)


def test_warmer_by_the_same_everywhere_moves_air_and_limit_and_nothing_else(
    bench: Recording, twin: Twin
) -> None:
    warmer = fit([changed(bench, with_readings(lambda c: c + 5))])
    assert limit_of(warmer)[1] - limit_of(twin)[1] == pytest.approx(5, abs=0.7)
    assert resistance_of(warmer)[1] == pytest.approx(resistance_of(twin)[1], rel=0.03)


def test_noisier_readings_widen_the_intervals(bench: Recording) -> None:
    chance = np.random.default_rng(1)
    noise = chance.standard_normal(bench.samples(["t_s"]).height)

    def noisy(sd_k: float) -> Twin:
        return fit([changed(bench, with_readings(lambda c: c + pl.Series(noise * sd_k)))])

    quiet, loud = noisy(0.5), noisy(4.0)
    for interval in (limit_of, resistance_of):
        widths = [interval(found)[2] - interval(found)[0] for found in (quiet, loud)]
        assert widths[1] > widths[0]


def test_without_power_the_resistance_is_known_less_well(bench: Recording, twin: Twin) -> None:
    unpowered = fit([changed(bench, lambda samples: samples.drop("power_w"))])
    low, _, high = resistance_of(unpowered)
    assert high / low > resistance_of(twin)[2] / resistance_of(twin)[0]
    assert any("Power was not recorded" in sentence for sentence in unpowered.told)


def test_a_twin_is_the_same_after_it_was_saved(twin: Twin, tmp_path: Path) -> None:
    twin.save(tmp_path / "twin.toml")
    assert Twin.load(tmp_path / "twin.toml") == twin


def test_a_twin_can_be_simulated(twin: Twin) -> None:
    core = make_core(twin.drive(), twin.enclosure())
    core.begin(json.dumps([{**_plain_write(core.user_bytes), "runtime_s": 400.0}]))
    core.advance(400.0, 10.0)
    assert core.truth()["onset_s"] == pytest.approx(twin.recordings[0].onsets_s[0], rel=0.1)


def test_a_saved_twin_is_a_drive_and_its_places(twin: Twin, tmp_path: Path) -> None:
    path = tmp_path / "twin.toml"
    twin.save(path)
    assert load_drive(str(path)).core_json() == twin.drive().core_json()
    assert load_enclosure(f"{path}#{twin.places[0]}").core_json() == twin.enclosure().core_json()
    (tmp_path / "short.toml").write_text(
        'schema = 1\nname = "x"\n[[steps]]\nname = "w"\nrw = "write"\nbs = "1m"\n'
        'span = "1GiB"\nruntime = "3s"\n'
    )
    made = heatsoak.run(tmp_path / "short.toml", f"sim:{path}", output=tmp_path / "run")
    assert made[0].meta.drive["simulated"]
    with pytest.raises(UsageError, match="the twin has no place 'shelf': it has"):
        load_enclosure(f"{path}#shelf")


def test_a_drive_that_never_throttled_has_a_limit_above_what_was_seen(runs: Path) -> None:
    recording = heatsoak.open(runs / "short")
    found = fit([recording])
    top_c = np.nanmax(recording.samples([SENSOR])[SENSOR].to_numpy())
    assert found.answer.startswith(f"Never throttled: its limit is above {top_c:.0f} C")
    assert found.estimate("limit_reported_c") is None


def test_a_drive_that_did_not_rest_is_said_to_have_begun_warm(bench: Recording) -> None:
    def cut(samples: pl.DataFrame) -> pl.DataFrame:
        return samples.filter(pl.col("t_s") > 330)

    found = fit([changed(bench, cut, name="hot")])
    assert any(s.startswith("hot began") and "warmer" in s for s in found.told)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda samples: samples.drop(SENSOR), "has no temperatures of the drive"),
        (with_readings(lambda c: c * 0 + 41), "never moved from 41 C"),
        (lambda samples: samples.filter(pl.col("t_s") < 30), "is shorter than a minute"),
        (
            lambda samples: samples.filter(pl.col("t_s") < 140).select(
                "t_s", "step", "interval_s", SENSOR
            ),
            "has no load and no power",
        ),
    ],
)
def test_what_cannot_be_fitted_is_said_in_one_line(
    bench: Recording, change: Callable[[pl.DataFrame], pl.DataFrame], said: str
) -> None:
    with pytest.raises(UsageError, match=said) as raised:
        fit([changed(bench, change)])
    assert "\n" not in str(raised.value)


def test_two_drives_are_not_one_twin(bench: Recording) -> None:
    other = changed(bench, lambda samples: samples, name="other", serial="S2")
    with pytest.raises(UsageError, match="are of two drives"):
        fit([changed(bench, lambda samples: samples, serial="S1"), other])


def test_several_drives_of_one_log_are_not_one_twin(tmp_path: Path) -> None:
    rows = [f"{t},nvme{n}n1,{900 + 90 * n},{30 + n + t // 9}" for t in range(120) for n in range(3)]
    (tmp_path / "three.csv").write_text("\n".join(["time,device,read_mb_s,temp_c", *rows]) + "\n")
    said = complaint(heatsoak_here("fit", "three.csv", cwd=tmp_path), 2)
    assert "three.csv: is of 3 drives" in said
    assert "--device" in said
    assert "nvme1n1" in said


def test_a_directory_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    done = heatsoak_here("fit", "no-such-recording", "-o", "there", cwd=tmp_path)
    assert "there: is a directory" in complaint(done, 2)


def test_a_cool_down_in_the_middle_of_a_log_is_one(bench: Recording) -> None:
    # no warmer at its end than at its beginning, and nothing says what warmed it
    found = fit([changed(bench, lambda all_: all_.select("t_s", "step", "interval_s", SENSOR))])
    assert "time constant" in found.answer
    assert found.recordings[0].start_k > 10


def test_the_base_has_no_cache_that_the_log_disproves(runs: Path) -> None:
    base = load_drive("pcie3-tlc-1tb")
    assert base.cache is not None
    assert base.cache.bytes.value < 40e9
    found = fit([heatsoak.open(runs / "short")], base)
    own = found.drive().cache
    assert own is not None
    assert own.bytes.value == pytest.approx(120e9, rel=0.02)  # 1,500 MB/s for 80 s
    assert any("holds no more than the 120 GB" in sentence for sentence in found.told)
    predicted = heatsoak.predict(found, "write", duration_s=75)
    assert predicted.cliff is None or predicted.cliff.onset_s > 79


def test_full_speed_is_what_nothing_held_back(bench: Recording, twin: Twin) -> None:
    assert twin.full_load.write_mb_s == pytest.approx(1500, rel=0.02)
    held = changed(bench, lambda samples: samples.filter(pl.col("t_s").is_between(120, 600)))
    found = fit([held], load_drive(DRIVE))
    assert found.full_load.write_mb_s in (0.0, pytest.approx(1500, rel=0.02))


def test_a_limit_is_found_by_the_flash_that_a_drive_reports(tmp_path: Path) -> None:
    made = heatsoak.run("why", "sim:crucial-p1-1tb@laptop", output=tmp_path / "run")
    found = fit(made)
    assert limit_of(found)[1] == pytest.approx(63, abs=2)
    slowed = [one for one in found.own_log if one.onset_s is not None]
    assert {"write", "write-purged"} <= {one.step for one in slowed}
    assert all(one.is_onset_right for one in found.own_log)
    # what it moves after a pause is not predicted as well, and that is said
    assert next(one for one in found.own_log if one.step == "write").is_level_right
    missed = [one.step for one in found.own_log if not one.is_level_right]
    assert all(step in found.not_reproduced for step in missed)
    # from rest it throttles only in a warmer room, as the drive itself does
    predicted = heatsoak.predict(found, "write", warmer_k=10)
    assert predicted.throttles > 0.9


def test_how_far_a_governor_goes_is_taken_from_the_log(tmp_path: Path) -> None:
    (tmp_path / "trickle.toml").write_text(
        f'base = "{DRIVE}"\nmodel = "Trickle"\n[governor.law]\nkind = "steps"\n'
        'dwell_s = { value = 2, assumed = "-" }\n[[governor.law.levels]]\n'
        + "".join(
            f'{key} = {{ value = {value}, assumed = "-" }}\n'
            for key, value in (("enter_c", 80), ("leave_c", 70), ("share", 0.04))
        )
    )
    drive = f"sim:{tmp_path / 'trickle.toml'}@open-bench"
    found = fit(heatsoak.run(HEAT_UP, drive, output=tmp_path / "run"), load_drive(DRIVE))
    full = found.own_log[0]
    assert full.mb_s is not None
    assert full.twin_mb_s is not None
    assert full.mb_s[1] < 100
    assert full.twin_mb_s[1] < 100
    assert full.is_level_right


def test_a_twin_predicts_its_own_log(twin: Twin) -> None:
    assert [one.step for one in twin.own_log] == ["full"]
    assert twin.own_log[0].onset_s is not None
    assert list(twin.own_log[0].wrong()) == []
    assert twin.not_reproduced == ""


def _said_of(twin: Twin, tmp_path: Path, **changed: Any) -> Twin:
    own = [twin.own_log[0].model_copy(update=changed)]
    path = tmp_path / "changed.toml"
    twin.model_copy(update={"own_log": own}).save(path)
    return Twin.load(path)


def test_what_a_twin_does_not_reproduce_is_said_first(twin: Twin, tmp_path: Path) -> None:
    other = _said_of(twin, tmp_path, twin_onset_s=300.0)
    first = "The twin does not predict its own log: 'full' throttled after"
    assert heatsoak.predict(other, "write").answer.startswith(first)
    assert heatsoak.advise(other, "write").answer.startswith(first)


def test_nothing_is_predicted_by_a_twin_that_denies_its_own_log(twin: Twin, tmp_path: Path) -> None:
    _said_of(twin, tmp_path, twin_onset_s=None)
    for command in ("predict", "advise"):
        said = complaint(heatsoak_here(command, "changed.toml", cwd=tmp_path), 2)
        assert "the twin denies its own log: 'full' throttled after" in said


def test_the_command_answers_first_and_writes_the_twin(runs: Path, tmp_path: Path) -> None:
    done = heatsoak_here("fit", str(runs / "bench"), "-o", "twin.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = Twin.load(tmp_path / "twin.toml")
    assert done.stdout.splitlines()[0] == found.answer
    assert found.base == DRIVE


def test_the_json_is_as_its_schema_says(runs: Path, tmp_path: Path) -> None:
    done = heatsoak_here("fit", str(runs / "bench"), "--format", "json", cwd=tmp_path)
    schema = heatsoak_here("schema", "fit", cwd=tmp_path)
    assert complaints(json.loads(done.stdout), json.loads(schema.stdout)) == []


def test_a_twin_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "twin.toml").write_text("schema_version = 1\n")
    with pytest.raises(
        UsageError, match=r"twin.toml: is not a twin written by heatsoak fit: answer is missing"
    ):
        Twin.load(tmp_path / "twin.toml")


def test_an_unknown_base_is_named(runs: Path, tmp_path: Path) -> None:
    done = heatsoak_here("fit", str(runs / "bench"), "--base", "pcie4-tlc-3tb", cwd=tmp_path)
    assert "there is no simulated drive 'pcie4-tlc-3tb'" in complaint(done, 2)


def _set(*path: str | int, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(tables: dict[str, Any]) -> None:
        *above, last = path
        here: Any = tables
        for key in above:
            here = here[key]
        here[last] = to(here[last]) if callable(to) else to

    return change


COVARIANCE = ("uncertainty", "covariance")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (_set(*COVARIANCE, to=lambda rows: [rows[0][:-1], *rows[1:]]), "as many columns"),
        (_set(*COVARIANCE, to=[]), "as many columns"),
        (_set(*COVARIANCE, to=lambda rows: [row[:-1] for row in rows[:-1]]), "a row for each of"),
        (_set(*COVARIANCE, 0, 1, to=0.7), "must be symmetric"),
        (_set(*COVARIANCE, 0, 0, to=-1.0), "not positive definite"),
        (_set(*COVARIANCE, 0, 0, to=1e308), "with numbers of 900 at most"),
        (_set(*COVARIANCE, 0, 0, to=float("nan")), "finite number"),
        (_set("parameters", to=lambda rows: rows[1:]), "there is no 'die_k_per_w'"),
        (_set("parameters", 0, "name", to="die_k"), "there is no 'die_k_per_w'"),
        (_set("parameters", to=lambda rows: [*rows, rows[0]]), "is there twice"),
        (_set("parameters", to=lambda rows: [*rows, {**rows[0], "name": "x"}]), "has a 'x'"),
        (_set("parameters", 0, "value", to=1e6), "u, expected and spread make it"),
        (_set("parameters", 0, "u", to=1e6), "less than or equal to 30"),
        (_set("parameters", 0, "spread", to=0.0), "greater than 0"),
        (_set("recordings", to=[]), "at least 1 item"),
        (_set("base", to="pcie4-tlc-3tb"), "no simulated drive 'pcie4-tlc-3tb'"),
        (_set("rooms_c", to={"attic": 20.0}), "the place 'attic'"),
    ],
)
def test_a_twin_whose_numbers_do_not_go_together_is_refused(
    change: Callable[[dict[str, Any]], None], what: str, twin: Twin, tmp_path: Path
) -> None:
    tables = tomllib.loads(twin.to_toml())
    change(tables)
    (tmp_path / "twin.toml").write_text(tomlkit.dumps(tables), "utf-8")
    assert what in complaint(heatsoak_here("predict", "twin.toml", cwd=tmp_path), 2)
