"""What the catalog knows of a drive's model is a hint for the judge, and names no cause."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command import done_here, json_here
from heatsoak.analysis.cause.weigh import table
from heatsoak.catalog import load_drive
from made_recording import remake
from numpy.typing import NDArray

Array = NDArray[np.float64]
KNOWN, UNKNOWN = "Samsung SSD 990 PRO 2TB", "Acme SSD 2TB"
CACHE_GB = 226.0
T_S: Array = np.arange(1.0, 301)
FULL, LOW = 6000.0, 1400.0


def write_log(path: Path, model: str, onset_s: float, temp_c: Array | None = None) -> None:
    """Write a logger's table of writes that fell at `onset_s`."""
    noise = 1 + 0.01 * np.random.default_rng(3).standard_normal(len(T_S))
    rates = np.where(onset_s >= T_S, FULL, LOW) * noise
    columns = {"time": T_S, "write_mb_s": rates} | ({} if temp_c is None else {"temp_c": temp_c})
    table = pl.DataFrame(columns).with_columns(pl.lit(model).alias("model"))
    table.write_csv(path / "log.csv", float_precision=1)


def judged(what: str, path: Path) -> dict[str, Any]:
    """The first episode that is found."""
    found: dict[str, Any] = json_here("analyze", what, cwd=path)["recordings"][0]["steps"][0][
        "episodes"
    ][0]
    return found


def episode(path: Path, model: str, onset_s: float, temp_c: Array | None = None) -> dict[str, Any]:
    write_log(path, model, onset_s, temp_c)
    return judged("log.csv", path)


def warming(onset_s: float, limit_c: float) -> Array:
    return np.minimum(40 + (limit_c - 40) * T_S / onset_s, limit_c)


def said_of_catalog(found: dict[str, Any]) -> list[str]:
    return [line for line in found["evidence"] if "catalog" in line]


def test_a_fall_where_the_cache_of_such_drives_is_full(tmp_path: Path) -> None:
    found = episode(tmp_path, KNOWN, CACHE_GB * 1e3 / FULL)
    (line,) = said_of_catalog(found)
    assert line.startswith("for write-cache: ")
    assert line.endswith("such drives holds 226 GB (catalog: samsung-990-pro-2tb)")
    assert found["cause"] == "unknown"


def test_a_sibling_has_a_cache_of_its_own_size(tmp_path: Path) -> None:
    found = episode(tmp_path, "Samsung SSD 990 PRO 4TB", 2 * CACHE_GB * 1e3 / FULL)
    (line,) = said_of_catalog(found)
    assert "452 GB" in line


@pytest.mark.parametrize(
    ("model", "factor"), [(UNKNOWN, 1.0), (KNOWN, 3.0), ("Samsung SSD 990 PRO", 0.5)]
)
def test_another_drive_or_amount_or_an_unknown_size_says_nothing(
    model: str, factor: float, tmp_path: Path
) -> None:
    assert said_of_catalog(episode(tmp_path, model, factor * CACHE_GB * 1e3 / FULL)) == []


def test_a_fall_at_the_temperature_where_such_drives_throttle(tmp_path: Path) -> None:
    limit_c = load_drive("samsung-990-pro-2tb").governor.begins.value
    (line,) = said_of_catalog(episode(tmp_path, KNOWN, 150, warming(150, limit_c)))
    assert line.startswith("for thermal: ")
    assert line.endswith("such drives throttle from 82 C (catalog: samsung-990-pro-2tb)")
    assert said_of_catalog(episode(tmp_path, UNKNOWN, 150, warming(150, limit_c))) == []


def test_a_fall_far_below_that_temperature_is_less_likely_heat(tmp_path: Path) -> None:
    known, unknown = (episode(tmp_path, model, 150, warming(150, 62)) for model in (KNOWN, UNKNOWN))
    assert len(said_of_catalog(known)) == 1
    assert known["likelihoods"]["thermal"] < unknown["likelihoods"]["thermal"]


def test_of_a_simulated_drive_the_judge_is_told_nothing(tmp_path: Path) -> None:
    write_log(tmp_path, KNOWN, CACHE_GB * 1e3 / FULL, warming(CACHE_GB * 1e3 / FULL, 82))
    done_here("import", "log.csv", "-o", "taken", cwd=tmp_path)
    (meta,) = tmp_path.rglob("recording.json")
    assert len(said_of_catalog(judged("taken", tmp_path))) == 2
    kept = json.loads(meta.read_text())
    remake(meta.parent, drive=kept["drive"] | {"simulated": True})
    assert said_of_catalog(judged("taken", tmp_path)) == []


@pytest.mark.parametrize("name", ["judgement", "weights"])
def test_a_hint_is_no_reason_to_name_a_cause(name: str) -> None:
    rules = table(name)
    hints = {pair for pair in rules.weights if pair[0].startswith("known-")}
    assert hints
    assert rules.named(rules.shares(hints), hints, has_temp=True) == ("unknown", 0.0)
    assert hints.isdisjoint(frozenset().union(*rules.shown.values()))
    for pair in hints:
        assert np.max(np.abs(rules.weights[pair])) <= np.log(2)
