"""Thresholds that a host sets, in runs and fits; and the run that a fit proposes."""

import json
from contextlib import chdir
from pathlib import Path

import heatsoak
import pytest
from command import complaint, done_here, heatsoak_here
from heatsoak.protocol import Protocol, load
from heatsoak.recording import InMemoryRecording, Recording
from heatsoak.recording.columns import limits_c
from heatsoak.twin.twin import Twin
from made_once import made_once

DRIVE = "sim:pcie4-tlc-1tb"
READ = {"name": "full", "rw": "read", "bs": "128k", "iodepth": 32, "runtime": "4m"}
SOAK = Protocol.model_validate({"name": "soak", "steps": [READ]})
STEPS = Protocol.model_validate(
    {"name": "steps", "steps": [READ], "matrix": {"axes": {"tmt1_c": [60, 70]}}}
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The drive as it is, with two thresholds, and what was said of its twin and the next run."""

    def make(directory: Path) -> None:
        heatsoak.run(SOAK, DRIVE, output=directory / "soak")
        heatsoak.run(STEPS, DRIVE, output=directory / "steps")
        words = ("fit", "soak", "--next", "next.toml", "-o", "twin.toml")
        done = done_here(*words, cwd=directory)
        (directory / "said").write_text(done.stdout, "utf-8")

    return made_once(tmp_path_factory, "thresholds", make)


@pytest.fixture(scope="module")
def soak(runs: Path) -> Recording:
    return heatsoak.open(runs / "soak")


@pytest.fixture(scope="module")
def twin(runs: Path) -> Twin:
    return Twin.load(runs / "twin.toml")


def onset_c(recording: Recording) -> float:
    """Return what the sensor showed when the drive first fell."""
    step = heatsoak.analyze(recording).recordings[0].steps[0]
    temps = recording.samples(["t_s", "temp_c.composite"]).drop_nulls()
    after = temps.filter(temps["t_s"] >= step.episodes[0].onset_s)
    return float(after["temp_c.composite"][0])


@pytest.mark.long
def test_a_matrix_of_thresholds_is_a_run_for_each(runs: Path) -> None:
    steps = heatsoak.open_all(runs / "steps")
    assert [one.meta.conditions["tmt1_c"] for one in steps] == [60, 70]
    for recording in steps:
        threshold_c = float(recording.meta.conditions["tmt1_c"])
        assert onset_c(recording) == pytest.approx(threshold_c, abs=2)
        said = next(event for event in recording.events if "tmt_k" in event.data)
        assert said.data["tmt_k"][0] == round(threshold_c + 273.15)
        # what TMT1 and TMT2 may be set to is no limit
        stated = {"tmt1": threshold_c, "tmt2": 86, "critical": 100}
        assert limits_c(recording.meta.sensors) == stated


@pytest.mark.parametrize("drive", [DRIVE, "sim:samsung-990-pro-2tb@laptop"])
def test_the_option_sets_a_simulated_drive(tmp_path: Path, drive: str) -> None:
    (tmp_path / "soak.toml").write_text(
        'name = "soak"\n[[steps]]\nname = "full"\nrw = "read"\nbs = "128k"\niodepth = 32\n'
        'runtime = "2m"\n'
    )
    words = ("run", "soak.toml", "--on", drive, "--tmt1", "55", "-o", "out", "--format", "json")
    done_here(*words, cwd=tmp_path)
    assert onset_c(heatsoak.open(tmp_path / "out")) == pytest.approx(55, abs=2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--on", "sim:samsung-950-pro-512", "--tmt1", "70"), "takes no TMT1 and TMT2"),
        (("--on", DRIVE, "--tmt2", "50"), "TMT1 must be lower"),
        (("--on", DRIVE, "--tmt1", "0", "--tmt2", "0"), "cannot both be off"),
        (("--on", DRIVE, "--set", "tmt1_c=warm"), "tmt1_c = warm: is no temperature in C"),
    ],
)
def test_impossible_thresholds_are_refused(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = heatsoak_here("run", "quick", *words, "-o", "out", cwd=tmp_path)
    assert said in complaint(done, 2)
    assert not (tmp_path / "out").exists()


def test_a_copy_has_no_threshold(tmp_path: Path) -> None:
    words = ("run", "copy", "--on", DRIVE, "--to", "sim:samsung-950-pro-512")
    done = heatsoak_here(*words, "--set", "tmt1_c=60", "-o", "out", cwd=tmp_path)
    assert "tmt1_c: applies to one drive, but a copy has two" in complaint(done, 2)


@pytest.mark.long
def test_where_only_a_host_slowed_it_the_own_limit_is_open(runs: Path) -> None:
    found = heatsoak.fit(runs / "steps")
    assert found.answer.startswith("Throttled only where the host told it to: its own limit is")
    assert found.estimate("limit_reported_c") is None
    offset = next(p for p in found.parameters if p.name == "tmt_offset_k")
    assert offset.low < 0 < offset.high


@pytest.mark.long
def test_thresholds_tell_more_of_the_limit(runs: Path, soak: Recording, twin: Twin) -> None:
    both = heatsoak.fit(soak, heatsoak.open_all(runs / "steps"))

    def width_k(of: Twin) -> float:
        limit = next(p for p in of.parameters if p.name == "limit_c")
        return limit.high - limit.low

    assert width_k(both) < 0.85 * width_k(twin)
    true_c = 82  # the simulated drive's first level
    assert any(p.low <= true_c <= p.high for p in both.parameters if p.name == "limit_c")


def test_a_run_is_proposed_that_tells_most(runs: Path, twin: Twin) -> None:
    bits = [one.bits for one in twin.experiments]
    assert bits == sorted(bits, reverse=True)
    said = (runs / "said").read_text("utf-8")
    assert f"  next: {twin.experiments[0].answer}" in said
    assert "heatsoak run next.toml --on DRIVE" in said
    assert json.loads(twin.model_dump_json())["experiments"]
    assert load(str(runs / "next.toml")).steps


@pytest.mark.long
def test_the_proposed_run_brings_about_what_it_promised(
    runs: Path, soak: Recording, twin: Twin, tmp_path: Path
) -> None:
    made = heatsoak.run(runs / "next.toml", DRIVE, output=tmp_path / "more")
    after = heatsoak.fit(soak, made)

    def half_pct(of: Twin) -> float:
        found = of.estimate("air_k_per_w")
        assert found is not None
        return 50 * (found.high - found.low) / found.value

    brings = next(one for one in twin.experiments[0].brings if one.unit == "%")
    assert half_pct(twin) == pytest.approx(brings.now, rel=0.2)
    assert half_pct(after) < half_pct(twin)
    assert half_pct(after) == pytest.approx(brings.then, rel=0.5)


@pytest.mark.long
def test_power_is_proposed_where_it_is_what_lacks(soak: Recording) -> None:
    frame = soak.samples().drop("power_w")
    columns = {name: str(dtype) for name, dtype in frame.schema.items()}
    meta = soak.meta.model_copy(update={"columns": columns})
    found = heatsoak.fit(InMemoryRecording(Path("bare"), meta, frame, soak.events))
    assert found.experiments[0].has_power
    assert "with its power recorded" in found.experiments[0].answer


@pytest.mark.long
def test_a_twin_with_its_experiments_is_the_same_after_it_was_saved(runs: Path, twin: Twin) -> None:
    with chdir(runs):  # a twin names its recordings as they were given
        assert heatsoak.fit("soak") == twin
