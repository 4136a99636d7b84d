"""Twins: what a fit finds of drives whose truth is known, and what it says of poor recordings."""

import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import heatsoak
import numpy as np
import polars as pl
import pytest
import tomlkit
from command import complaint, heatsoak_here
from heatsoak.catalog import load_drive, load_enclosure
from heatsoak.errors import UsageError
from heatsoak.recording import InMemoryRecording, Recording
from heatsoak.target.simulated import make_core
from heatsoak.twin.fitting import fit, read_all
from heatsoak.twin.likelihood import estimate_noise
from heatsoak.twin.problem import Problem
from heatsoak.twin.twin import Twin
from numpy.typing import NDArray
from schema_check import complaints

if TYPE_CHECKING:
    from twinned import Twinned

DRIVE = "samsung-950-pro-512"
SENSOR = "temp_c.composite"

pytest_plugins = ["twinned"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bench(twinned: "Twinned") -> Recording:
    return twinned.recording("bench")


@pytest.fixture(scope="module")
def twin(twinned: "Twinned") -> Twin:
    return twinned.twin()


def changed(
    recording: Recording,
    change: Callable[[pl.DataFrame], pl.DataFrame] = lambda samples: samples,
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


def resistance_of(twin: Twin, place: str | None = None) -> tuple[float, float, float]:
    found = twin.estimate("air_k_per_w", place)
    assert found is not None
    return found.low, found.value, found.high


def limit_of(twin: Twin) -> tuple[float, float, float]:
    found = twin.estimate("limit_reported_c")
    assert found is not None
    return found.low, found.value, found.high


# ---- what a fit finds


def test_a_fit_finds_the_limit_and_the_resistance_of_a_simulated_drive(twin: Twin) -> None:
    low, value, high = resistance_of(twin)
    assert value == pytest.approx(9, rel=0.1)
    assert low < value < high
    core = make_core(load_drive(DRIVE), load_enclosure("open-bench"))
    full = {"rw": "write", "bs": 1 << 17, "iodepth": 32, "numjobs": 1, "offset_bytes": 0}
    more = {"span_bytes": min(16 << 30, core.user_bytes), "rwmixread": 50, "runtime_s": 400.0}
    core.begin(json.dumps([full | more]))
    core.advance(400.0, 10.0)
    assert limit_of(twin)[1] == pytest.approx(core.truth()["onset_sensor_c"], abs=2)
    assert twin.answer.startswith("Throttles at 7")
    assert twin.full_load.write_mb_s == pytest.approx(1500, rel=0.02)


def test_the_hidden_temperature_is_that_of_the_controller(bench: Recording, twin: Twin) -> None:
    known = bench.samples(["t_s", "sim.controller_c"]).drop_nulls()
    true_c, found = known["sim.controller_c"].to_numpy(), twin.hidden_temp(bench)

    def at(column: str) -> NDArray[np.float64]:
        t_s, known_t_s = found["t_s"].to_numpy(), known["t_s"].to_numpy()
        return np.asarray(np.interp(known_t_s, t_s, found[column].to_numpy()))

    assert np.sqrt(np.mean((at("hidden_c") - true_c) ** 2)) < 3.0
    assert np.mean((at("low_c") <= true_c) & (true_c <= at("high_c"))) > 0.85


def test_moving_air_shows_as_less_resistance_of_its_place(twin: Twin) -> None:
    still, fan = (resistance_of(twin, place)[1] for place in twin.places)
    true = load_enclosure("fan-slow").links["air"]
    assert true.halved_at_m_s is not None
    speed = load_enclosure("fan-slow").air_speed_m_s
    assert speed is not None
    # 0.4 of it radiates: what convects is 2.67 times as much where the resistance is halved
    forced = ((1.6 / 0.6) ** 3 - 1) * (speed.value / true.halved_at_m_s.value) ** 1.5
    moved = 9 / (0.6 * (1 + forced) ** (1 / 3) + 0.4)
    assert fan < still
    assert fan == pytest.approx(moved, rel=0.12)


def test_a_drive_that_never_throttled_has_a_limit_above_what_was_seen(twinned: "Twinned") -> None:
    found = twinned.twin("cold_twin")
    top_c = np.nanmax(twinned.recording("cold").samples([SENSOR])[SENSOR].to_numpy())
    assert found.answer.startswith(f"Never throttled: its limit is above {top_c:.0f} C")
    assert found.estimate("limit_reported_c") is None


def test_the_base_has_no_cache_that_the_log_disproves(twinned: "Twinned") -> None:
    found = twinned.twin("cold_twin")
    base = load_drive(found.base)
    assert base.cache is not None
    assert base.cache.bytes.value < 40e9
    own = found.drive().cache
    assert own is not None
    assert own.bytes.value == pytest.approx(120e9, rel=0.02)  # 1,500 MB/s for 80 s
    assert any("holds no more than the 120 GB" in sentence for sentence in found.told)
    predicted = heatsoak.predict(found, "write", duration_s=75)
    assert predicted.cliff is None or predicted.cliff.onset_s > 79


def test_a_drive_that_was_held_back_throughout_is_said_to_have_begun_warm(bench: Recording) -> None:
    def cut(samples: pl.DataFrame) -> pl.DataFrame:
        return samples.filter(pl.col("t_s") > 150).drop("power_w")

    found = fit([changed(bench, cut, name="hot")], load_drive(DRIVE))
    assert any(s.startswith("hot began") and "warmer" in s for s in found.told)
    assert any("Power was not recorded" in sentence for sentence in found.told)
    assert found.full_load.write_mb_s == 0


def test_a_cool_down_in_the_middle_of_a_log_is_one(twinned: "Twinned") -> None:
    # no warmer at its end than at its beginning, and nothing says what warmed it
    columns = ("t_s", "step", "interval_s", SENSOR)
    found = fit([changed(twinned.recording("cold"), lambda samples: samples.select(columns))])
    assert "time constant" in found.answer
    assert found.recordings[0].start_k > 10


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
    assert predicted.throttles > 0.5


def test_how_far_a_governor_goes_is_taken_from_the_log(twinned: "Twinned", tmp_path: Path) -> None:
    (tmp_path / "trickle.toml").write_text(
        f'base = "{DRIVE}"\nmodel = "Trickle"\n[governor.law]\nkind = "steps"\n'
        'dwell_s = { value = 2, assumed = "-" }\n[[governor.law.levels]]\n'
        + "".join(
            f'{key} = {{ value = {value}, assumed = "-" }}\n'
            for key, value in (("enter_c", 80), ("leave_c", 70), ("share", 0.04))
        )
    )
    drive = f"sim:{tmp_path / 'trickle.toml'}@open-bench"
    made = heatsoak.run(twinned.heat_up("4m"), drive, output=tmp_path / "run")
    full = fit(made, load_drive(DRIVE)).own_log[0]
    assert full.mb_s is not None
    assert full.twin_mb_s is not None
    assert full.mb_s[1] < 100
    assert full.twin_mb_s[1] < 100
    assert full.is_level_right


# ---- the likelihood, at the parameters that a fit found


def problem_of(twin: Twin, *recordings: Recording) -> tuple[Problem, NDArray[np.float64]]:
    """Return what recordings say, beside the twin's noise, and the twin's parameters of it."""
    problem = Problem(twin.own_base, twin.nodes, read_all(recordings))
    problem.set_noise(twin.noise)
    known = {one.name: one.u for one in twin.parameters}
    return problem, np.asarray([known[one.name] for one in problem.parameters])


def off(problem: Problem, u: NDArray[np.float64]) -> float:
    """Return -2 ln(likelihood), but for what all parameters have in common."""
    residuals = problem.residuals(u)
    return float(residuals @ residuals)


@pytest.fixture(scope="module")
def both(twinned: "Twinned", twin: Twin) -> tuple[Problem, NDArray[np.float64]]:
    return problem_of(twin, twinned.recording("bench"), twinned.recording("fan"))


def test_no_other_values_are_likelier(both: tuple[Problem, NDArray[np.float64]]) -> None:
    problem, u = both
    least = off(problem, u)
    for moved in np.concatenate([np.eye(len(u)), -np.eye(len(u))]) * 0.2:
        assert off(problem, u + moved) > least - 0.02
    # neither is steeper than the other along anything
    slope = problem.jacobian(u).T @ problem.residuals(u)
    assert np.abs(slope).max() < 0.3


def test_the_order_of_recordings_does_not_matter(
    twinned: "Twinned", twin: Twin, both: tuple[Problem, NDArray[np.float64]]
) -> None:
    renamed = {"start_k@0": "start_k@1", "start_k@1": "start_k@0"}
    known = {renamed.get(one.name, one.name): one.u for one in twin.parameters}
    other = Problem(
        twin.own_base, 2, read_all([twinned.recording("fan"), twinned.recording("bench")])
    )
    other.set_noise(twin.noise)
    u = np.asarray([known[one.name] for one in other.parameters])
    assert off(other, u) == pytest.approx(off(*both), rel=1e-9)


def test_warmer_by_the_same_everywhere_moves_air_and_limit_and_nothing_else(
    bench: Recording, twin: Twin
) -> None:
    was = off(*problem_of(twin, bench))
    problem, u = problem_of(twin, changed(bench, with_readings(lambda c: c + 5)))
    unmoved, priors = off(problem, u), u @ u
    for number, one in enumerate(problem.parameters):
        if one.name in ("limit_c", f"air_c@{twin.places[0]}"):
            u[number] += 5 / one.prior.spread
    # leakage alone knows of it
    assert off(problem, u) - u @ u + priors - was < 0.05 * (unmoved - was)


def variances(problem: Problem, u: NDArray[np.float64]) -> dict[str, float]:
    """Return how far off each parameter may be, in spreads of what is expected, squared."""
    slope = problem.jacobian(u)
    found = np.diag(np.linalg.inv(slope.T @ slope))
    return {one.name: float(at) for one, at in zip(problem.parameters, found, strict=True)}


def test_noisier_readings_tell_less(bench: Recording, twin: Twin) -> None:
    noise = np.random.default_rng(1).standard_normal(bench.samples(["t_s"]).height)

    def noisy(sd_k: float) -> InMemoryRecording:
        return changed(bench, with_readings(lambda c: c + pl.Series(noise * sd_k)))

    found, known = [], []
    for sd_k in (0.5, 4.0):
        problem, u = problem_of(twin, noisy(sd_k))
        found.append(estimate_noise(problem.measured, problem.off_k(u), twin.noise))
        problem.set_noise(found[-1])
        known.append(variances(problem, u))
    assert found[1].own_k > 2 * found[0].own_k
    for name in ("limit_c", f"k_per_w@{twin.places[0]}"):
        assert known[1][name] > known[0][name]


def test_without_power_the_resistance_is_known_less_well(bench: Recording, twin: Twin) -> None:
    unpowered = changed(bench, lambda samples: samples.drop("power_w"))
    with_it, without = (variances(*problem_of(twin, one)) for one in (bench, unpowered))
    resistance = f"k_per_w@{twin.places[0]}"
    assert without[resistance] > 1.5 * with_it[resistance]


@pytest.mark.soak
def test_a_fit_to_warmer_recordings_in_another_order_finds_the_same(
    twinned: "Twinned", twin: Twin, seed: int
) -> None:
    by_k = np.random.default_rng(seed).uniform(3, 7)
    warmer = [twinned.recording(name) for name in ("fan", "bench")]
    found = fit([changed(one, with_readings(lambda c: c + by_k)) for one in warmer])
    assert set(found.places) == set(twin.places)
    for place in twin.places:
        known = resistance_of(twin, place)[1]
        assert resistance_of(found, place)[1] == pytest.approx(known, rel=0.03)
    assert found.values()["limit_c"] - twin.values()["limit_c"] == pytest.approx(by_k, abs=0.7)


# ---- its file


def test_a_twin_is_the_same_after_it_was_saved(twin: Twin, tmp_path: Path) -> None:
    twin.save(tmp_path / "twin.toml")
    assert Twin.load(tmp_path / "twin.toml") == twin


def test_a_saved_twin_is_a_drive_and_its_places_which_can_be_simulated(
    twinned: "Twinned", twin: Twin, tmp_path: Path
) -> None:
    path = twinned.path()
    assert load_drive(str(path)).core_json() == twin.drive().core_json()
    for place in twin.places:
        saved = load_enclosure(f"{path}#{place}").core_json()
        assert saved == twin.enclosure(place).core_json()
    made = heatsoak.run(twinned.heat_up("3s"), f"sim:{path}", output=tmp_path / "run")
    assert made[0].meta.drive["simulated"]
    with pytest.raises(UsageError, match="the twin has no place 'shelf': it has"):
        load_enclosure(f"{path}#shelf")


# ---- what cannot be fitted


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


def test_two_drives_are_not_one_twin(bench: Recording, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="are of two drives"):
        fit([changed(bench, serial="S1"), changed(bench, name="other", serial="S2")])
    rows = [f"{t},nvme{n}n1,{900 + 90 * n},{30 + n + t // 9}" for t in range(120) for n in range(3)]
    (tmp_path / "three.csv").write_text("\n".join(["time,device,read_mb_s,temp_c", *rows]) + "\n")
    said = complaint(heatsoak_here("fit", "three.csv", cwd=tmp_path), 2)
    for what in ("three.csv: is of 3 drives", "--device", "nvme1n1"):
        assert what in said


def test_a_copied_recording_is_the_same_run(bench: Recording, tmp_path: Path) -> None:
    copied = Recording.open(shutil.copytree(bench.path, tmp_path / "copy"))
    other = changed(bench, lambda samples: samples.head(-1), name="other")
    measured = read_all([bench, copied, other, bench])
    assert [one.path for one in measured] == [bench.path_text, "other"]


def test_a_directory_or_an_unknown_base_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for words, said in (
        (("-o", "there"), "there: is a directory"),
        (("--base", "pcie4-tlc-3tb"), "there is no simulated drive 'pcie4-tlc-3tb'"),
    ):
        assert said in complaint(heatsoak_here("fit", "no-such-recording", *words, cwd=tmp_path), 2)


# ---- its own log


def test_a_twin_predicts_its_own_log(twin: Twin) -> None:
    assert [one.step for one in twin.own_log] == ["full", "full"]
    assert twin.own_log[0].onset_s is not None
    assert [what for one in twin.own_log for what in one.wrong()] == []
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
    assert heatsoak.advise(other, "write", duration_s=30).answer.startswith(first)


def test_nothing_is_predicted_by_a_twin_that_denies_its_own_log(twin: Twin, tmp_path: Path) -> None:
    _said_of(twin, tmp_path, twin_onset_s=None)
    for more in ((), ("--cooling",)):
        said = complaint(heatsoak_here("predict", "changed.toml", *more, cwd=tmp_path), 2)
        assert "the twin denies its own log: 'full' throttled after" in said


# ---- the command


def test_the_command_answers_first_and_writes_the_twin(twinned: "Twinned", twin: Twin) -> None:
    said = twinned.path().with_name("said").read_text()
    assert said.splitlines()[0] == twin.answer
    assert twin.base == DRIVE


def test_the_json_is_as_its_schema_says(twinned: "Twinned", tmp_path: Path) -> None:
    said = json.loads(twinned.path("cold_twin").with_name("said").read_text())
    schema = heatsoak_here("lab", "schema", "fit", cwd=tmp_path)
    assert complaints(said, json.loads(schema.stdout)) == []
    assert said["base"] == "pcie3-tlc-1tb"


def test_a_twin_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "twin.toml").write_text("schema_version = 1\n")
    with pytest.raises(
        UsageError, match=r"twin.toml: is not a twin written by heatsoak fit: answer is missing"
    ):
        Twin.load(tmp_path / "twin.toml")


def _set(*path: str | int, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(tables: dict[str, Any]) -> None:
        *above, last = path
        here: Any = tables
        for key in above:
            here = here[key]
        here[last] = to(here[last]) if callable(to) else to

    return change


DRAWS = ("uncertainty", "draws")


def _covariance(*path: int, to: Any) -> Callable[[dict[str, Any]], None]:
    """As files have it that were written before draws were kept."""

    def change(tables: dict[str, Any]) -> None:
        tables["uncertainty"] = {"covariance": np.eye(len(tables["parameters"])).tolist()}
        _set("uncertainty", "covariance", *path, to=to)(tables)

    return change


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (_set(*DRAWS, to=lambda rows: [rows[0][:-1], *rows[1:]]), "as many numbers in each"),
        (_set(*DRAWS, to=[]), "there must be draws"),
        (_set(*DRAWS, to=lambda rows: [row[:-1] for row in rows]), "a number for each of"),
        (_set(*DRAWS, 0, 0, to=1e308), "numbers from -30 to 30"),
        (_set(*DRAWS, 0, 0, to=float("nan")), "finite number"),
        (_covariance(to=lambda rows: [row[:-1] for row in rows[:-1]]), "a number for each of"),
        (_covariance(to=lambda rows: rows[:-1]), "is of no distribution"),
        (_covariance(0, 0, to=-1.0), "is of no distribution"),
        (_covariance(0, 0, to=1e308), "or their squares"),
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
