"""``import heatsoak``: what the command line does, from Python."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import heatsoak
import numpy as np
import polars as pl
import pytest
import tiny
from command import heatsoak_here
from compared import falling, run, steady
from heatsoak import errors
from heatsoak.protocol import load

DOCUMENT = Path(__file__).parents[1] / "docs" / "python.md"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, small_drive_text: str) -> Path:
    """A directory with two recordings, a drive, a protocol and a log of fio's."""
    root = tmp_path_factory.mktemp("made")
    run({"heatsink": "none"}, falling(60, 0.5), seed=1).save(root / "r" / "bare")
    run({"heatsink": "big"}, steady(2000), seed=2).save(root / "r" / "cooled")
    (root / "small.toml").write_text(small_drive_text)
    (root / "tiny.toml").write_text(tiny.WRITE)
    chance = np.random.default_rng(1)
    lines = [
        f"{500 * number}, {kib_s}, 1, 131072, 0"
        for number, kib_s in enumerate(chance.normal(1e6, 1e4, 240).astype(int), 1)
    ]
    (root / "fio_bw.1.log").write_text("\n".join(lines) + "\n")
    return root


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to be in, with all of it."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_every_example_of_the_document_runs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = DOCUMENT.read_text("utf-8")
    (protocol,) = re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (here / "hold.toml").write_text(protocol)
    names: dict[str, object] = {}
    for code in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        exec(compile(code, str(DOCUMENT), "exec"), names)
    said = capsys.readouterr().out
    assert "none yes Heat throttles the drive" in said
    assert "pad no Did not throttle" in said
    assert re.search(r"^thermal after \d+ s, by \d+ %$", said, re.MULTILINE)
    assert re.search(r"^hold: \d+ -> \d+ MB/s, one run$", said, re.MULTILINE)
    assert "only simulated drives" in said


def test_importing_loads_nothing_that_takes_time() -> None:
    code = (
        "import sys, heatsoak\n"
        "slow = {'polars', 'numpy', 'scipy', 'pydantic', 'rich', 'typer', 'heatsoak.api'}\n"
        "assert not slow & sys.modules.keys(), slow & sys.modules.keys()\n"
        "assert {'open', 'run'} <= set(dir(heatsoak))\n"
        "heatsoak.analyze\n"
        "assert 'polars' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_all_names_are_there() -> None:
    assert all(getattr(heatsoak, name) is not None for name in heatsoak.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        heatsoak.nothing  # noqa: B018


def test_analyze_and_compare_find_what_the_command_line_prints(here: Path) -> None:
    printed = json.loads(heatsoak_here("analyze", "r", "--format", "json", cwd=here).stdout)
    opened = heatsoak.open_all("r")
    ways: list[list[Any]] = [["r"], [opened], [opened[0], Path("r/cooled")]]
    for given in ways:
        assert heatsoak.analyze(*given).model_dump(mode="json") == printed
    done = heatsoak_here("compare", "r", "--by", "heatsink", "--format", "json", cwd=here)
    found = heatsoak.compare("r/bare", "r/cooled", by="heatsink")
    assert [row.model_dump(mode="json") for row in found.rows] == json.loads(done.stdout)


@pytest.mark.usefixtures("here")
def test_a_recording_gives_its_samples_as_a_frame() -> None:
    recording = heatsoak.open("r/bare")
    assert recording.frame().height == 3000
    frame = recording.frame(["t_s", "read_bw_mb_s", "power_w"])
    assert frame.columns == ["t_s", "read_bw_mb_s", "power_w"]
    assert frame["power_w"].null_count() == frame.height
    assert isinstance(recording.frame().schema["t_s"], pl.Float64)


def test_a_run_makes_what_the_command_line_makes(here: Path) -> None:
    asked: dict[str, Any] = {"protocol": "tiny.toml", "on": "sim:small.toml@open-bench"}
    asked |= {"settings": {"heatsink": "none"}, "output": "made"}
    (made,) = heatsoak.run(**asked)
    words = ("tiny.toml", "--on", "sim:small.toml@open-bench", "--set", "heatsink=none")
    assert heatsoak_here("run", *words, "-o", "told", cwd=here).returncode == 0
    assert made.frame().equals(heatsoak.open("told").frame())
    assert made.meta.conditions == heatsoak.open("told").meta.conditions
    (again,) = heatsoak.run(resume=True, **asked)
    assert again.frame().equals(made.frame())


@pytest.mark.usefixtures("here")
def test_a_protocol_can_be_given_as_such_and_changed() -> None:
    protocol = load("tiny.toml")
    (made,) = heatsoak.run(protocol, on="sim:small.toml", settings={"runtime": "2s"})
    assert made.path.parent == Path("recordings")
    assert made.frame()["t_s"].max() == pytest.approx(2, abs=0.2)


@pytest.mark.usefixtures("here")
def test_a_copy_runs_between_two_simulated_drives() -> None:
    made = heatsoak.run(
        "copy", on="sim:small.toml", to="sim:small.toml@open-bench", scale=0.01, output="c"
    )
    assert [one.path.name for one in made] == ["source", "destination"]


def test_logs_are_read_without_writing_anything(here: Path) -> None:
    before = sorted(here.rglob("*"))
    (log,) = heatsoak.read_log("fio_bw.1.log", conditions={"heatsink": "none"})
    assert log.meta.conditions == {"heatsink": "none"}
    assert log.frame()["write_bw_mb_s"].mean() == pytest.approx(1024, rel=0.01)
    assert heatsoak.analyze(log).answer.throttles == "no"
    assert heatsoak.analyze("fio_bw.1.log").answer.throttles == "no"
    assert sorted(here.rglob("*")) == before


def test_a_frame_is_judged_as_the_recording_that_it_comes_from(here: Path) -> None:
    recording = heatsoak.open("r/bare")
    again = heatsoak.from_frame(
        recording.frame(),
        name="again",
        conditions=recording.meta.conditions,
        drive={"model": "a drive", "size_bytes": 10**12},
    )
    assert again.frame().equals(recording.frame())
    found, known = (heatsoak.analyze(one).recordings[0] for one in (again, recording))
    assert found.conditions == known.conditions
    assert found.answer.throttles == known.answer.throttles
    onsets = [[e.onset_s for step in one.steps for e in step.episodes] for one in (found, known)]
    assert onsets[0] == pytest.approx(onsets[1])
    assert again.save(here / "again").frame().equals(recording.frame())


def test_a_frame_needs_no_intervals_steps_or_order() -> None:
    t_s = np.arange(1.0, 401.0)
    rates = np.where((t_s > 60) & (t_s <= 330), 2000.0, 0.0) * (1 + 0.01 * np.sin(t_s))
    frame = pl.DataFrame({"t_s": t_s, "read_bw_mb_s": rates, "temp_c.composite": 40 + rates / 200})
    recording = heatsoak.from_frame(frame.sample(fraction=1.0, shuffle=True, seed=1))
    assert recording.frame()["t_s"].to_list() == t_s.tolist()
    assert recording.frame()["interval_s"].unique().to_list() == [1.0]
    (step,) = heatsoak.analyze(recording).recordings[0].steps
    assert step.mean_mb_s == pytest.approx(2000, rel=0.02)


@pytest.mark.parametrize(
    ("frame", "drive", "said"),
    [
        ({"t_s": [1], "read_mb_s": [1]}, {}, "column read_mb_s .*did you mean 'read_bw_mb_s'"),
        ({"t_s": [1], "temp": [1]}, {}, "column temp .*did you mean 'temp_c.composite'"),
        ({"power_w": [1]}, {}, "no column t_s"),
        ({"t_s": [1], "step": ["x"]}, {}, "nothing measured beside t_s"),
        ({"t_s": ["now"], "power_w": [1]}, {}, "column t_s is String: it has to be Float64"),
        ({"t_s": [1.0, None], "power_w": [1, 2]}, {}, "1 rows without a time"),
        ({"t_s": [1.8e9], "power_w": [1]}, {}, "count it from the recording's start"),
        ({"t_s": [], "power_w": []}, {}, "has no rows"),
        ({"t_s": [1], "power_w": [1]}, {"modl": "x"}, "did you mean 'model'"),
        ({"t_s": [1], "power_w": [1]}, {"size_bytes": "1TB"}, "size_bytes is '1TB'"),
    ],
)
def test_a_frame_with_something_wrong_is_one_line(
    frame: dict[str, list[object]], drive: dict[str, str | int], said: str
) -> None:
    with pytest.raises(errors.UsageError, match=said) as caught:
        heatsoak.from_frame(pl.DataFrame(frame), drive=drive)
    assert "\n" not in str(caught.value)


def test_a_real_drive_is_not_run_from_python(here: Path) -> None:
    before = sorted(here.rglob("*"))
    for place in ("/dev/sda", ".", "nbd+unix:///?socket=s", "small.toml"):
        with pytest.raises(errors.UsageError, match=r"only simulated drives.*heatsoak run"):
            heatsoak.run("tiny.toml", on=place)
        with pytest.raises(errors.UsageError, match="only simulated drives"):
            heatsoak.run("copy", on="sim:small.toml", to=place)
    assert sorted(here.rglob("*")) == before


def test_what_is_wrong_is_one_of_our_errors_on_one_line(here: Path) -> None:
    (here / "junk").write_bytes(b"\x00\x01\x02")
    calls: list[Callable[[], object]] = [
        lambda: heatsoak.open("missing"),
        lambda: heatsoak.open("r"),
        lambda: heatsoak.open("tiny.toml"),
        lambda: heatsoak.open("x" * 5000),
        lambda: heatsoak.open_all("missing"),
        lambda: heatsoak.read_log("missing"),
        lambda: heatsoak.read_log("junk"),
        lambda: heatsoak.read_log("fio_bw.1.log", columns={"": "x"}),
        lambda: heatsoak.from_frame({"t_s": [1.0]}),  # type: ignore[arg-type]
        lambda: heatsoak.predict("samsung-950-pro-512", "r"),
        lambda: heatsoak.advise("samsung-950-pro-512", "junk"),
        lambda: heatsoak.analyze(),
        lambda: heatsoak.analyze("missing"),
        lambda: heatsoak.compare("r", by="colour"),
        lambda: heatsoak.compare("r", by="heatsink", baseline="none", rank_by="beauty"),
        lambda: heatsoak.run("missing", on="sim:small.toml"),
        lambda: heatsoak.run("tiny.toml", on="sim:missing"),
        lambda: heatsoak.run("tiny.toml", on="sim:small.toml", settings={"write.bs": "?"}),
        lambda: heatsoak.run("tiny.toml", on="sim:small.toml", output="r"),
        lambda: heatsoak.run("tiny.toml", on="sim:small.toml", output="tiny.toml/x"),
        lambda: heatsoak.run("tiny.toml", on="sim:small.toml", scale=-1),
        lambda: heatsoak.run("tiny.toml", on="sim:small.toml", resume=True),
    ]
    for number, call in enumerate(calls):
        with pytest.raises(errors.HeatsoakError) as caught:
            call()
        assert str(caught.value), number
        assert "\n" not in str(caught.value), number
