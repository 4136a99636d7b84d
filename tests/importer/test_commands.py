"""``heatsoak import`` and ``analyze FILE``: what a person with logs meets."""

import json
from pathlib import Path

import numpy as np
import pytest
from command import complaint, done_here, heatsoak_here, json_here

NOON = 1_800_000_000


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """An hour of a drive that throttles at 600 s: throughput of one tool, warmth of another."""
    seconds = np.arange(1, 1201)
    rate = np.where(seconds <= 600, 2000, 900) + np.sin(seconds) * 5
    warm = np.minimum(84, 40 + 44 * seconds / 600)
    load = "".join(f"{NOON + s},{r:.2f}\n" for s, r in zip(seconds, rate, strict=True))
    (tmp_path / "load.csv").write_text("timestamp,write MB/s\n" + load)
    heat = "".join(f"{NOON + s},{c:.0f}\n" for s, c in zip(seconds[::2], warm[::2], strict=True))
    (tmp_path / "heat.csv").write_text("epoch,SSD temperature [°C]\n" + heat)
    return tmp_path


@pytest.mark.slow
def test_logs_of_the_same_hour_are_judged_together(logs: Path) -> None:
    (recording,) = json_here("analyze", "load.csv", "heat.csv", cwd=logs)["recordings"]
    (step,) = recording["steps"]
    (episode,) = step["episodes"]
    assert episode["onset_s"] == pytest.approx(600, abs=2)
    assert episode["depth_pct"] == pytest.approx(55, abs=1)
    assert episode["temp_c_at_onset"] == pytest.approx(84, abs=1)
    assert any("MB/s" in note for note in recording["notes"])
    assert any("clock" in note for note in recording["notes"])


@pytest.mark.slow
def test_imported_logs_are_recordings_with_labels(logs: Path) -> None:
    words = ("import", "load.csv", "heat.csv", "-o", "kept", "--set", "heatsink=none")
    (row,) = json_here(*words, cwd=logs)
    assert row["conditions"] == {"heatsink": "none"}
    assert any(name.startswith("temp_c.") for name in row["columns"])
    judged = heatsoak_here("analyze", "kept", "--format", "json", cwd=logs)
    here = heatsoak_here("analyze", "load.csv", "heat.csv", "--format", "json", cwd=logs)
    steps = [json.loads(each.stdout)["recordings"][0]["steps"] for each in (judged, here)]
    assert steps[0] == steps[1]


@pytest.mark.slow
def test_files_that_are_to_stay_apart_are_several_recordings(logs: Path) -> None:
    done_here("import", "load.csv", "heat.csv", "--separate", "-o", "two", cwd=logs)
    assert sorted(path.name[:1] for path in (logs / "two").iterdir()) == ["1", "2"]


@pytest.mark.slow
def test_a_directory_stands_for_its_logs_and_names_what_it_left_out(logs: Path) -> None:
    (logs / "photo.jpg").write_bytes(bytes(range(256)) * 9)
    done = done_here("analyze", ".", "--evidence", cwd=logs)
    assert "photo.jpg" in done.stdout


@pytest.mark.slow
def test_a_log_with_only_temperatures_says_what_it_shows(logs: Path) -> None:
    done = heatsoak_here("analyze", "heat.csv", "--format", "json", cwd=logs)
    (recording,) = json.loads(done.stdout)["recordings"]
    (step,) = recording["steps"]
    assert step["verdict"] == "unknown"
    assert step["claims"][-1]["text"] == "no throughput was logged"
    assert any("from 40 C to 84 C" in note for note in recording["notes"])


@pytest.mark.slow
def test_unknown_headers_take_a_mapping(logs: Path) -> None:
    table = (logs / "load.csv").read_text().replace("timestamp,write MB/s", "Messzeit,Wert")
    (logs / "mine.csv").write_text(table)
    assert "--map" in complaint(heatsoak_here("analyze", "mine.csv", cwd=logs), 2)
    words = ("analyze", "mine.csv", "--map", "time=Messzeit,write_mb_s=Wert", "--format", "json")
    (recording,) = json.loads(heatsoak_here(*words, cwd=logs).stdout)["recordings"]
    assert recording["steps"][0]["episodes"][0]["depth_pct"] == pytest.approx(55, abs=1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("analyze", "nowhere.csv"), "nowhere.csv: there is no such file"),
        (("import", "load.csv"), "'--output' / '-o'"),
        (("import", "load.csv", "-o", "."), "already exists"),
        (("analyze", "load.csv", "--map", "time"), "write COLUMN=HEADER"),
        (("analyze", "load.csv", "--map", "write_mb_s=Wirte"), "has no column 'Wirte'"),
        (("import", "load.csv", "-o", "x", "--set", "heatsink"), "write KEY=VALUE"),
    ],
)
def test_a_wrong_word_is_one_line(words: tuple[str, ...], said: str, logs: Path) -> None:
    assert said in complaint(heatsoak_here(*words, cwd=logs), 2)
