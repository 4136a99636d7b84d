"""Logs of very many samples."""

import numpy as np
import pytest
from heatsoak.importer import recordings
from heatsoak.importer.frames import build
from heatsoak.importer.log import Log
from heatsoak.importer.recordings import thinned


def fine(count: int = 100_000) -> Log:
    t_s = np.arange(1, count + 1) / 1000
    columns = {
        "t_s": t_s,
        "interval_s": np.full(count, 0.001),
        "write_bw_mb_s": np.where(t_s <= 50, 2000.0, 800.0) + np.tile([100.0, -100.0], count // 2),
        "write_lat_max_us": np.where(np.arange(count) % 1000 == 7, 900.0, 10.0),
        "throttle_count.tmt1": np.floor(t_s / 10),
        "temp_c.composite": np.where(np.arange(count) % 500 == 0, t_s, np.nan),
        "step": ["a"] * (count // 4) + ["b"] * (count - count // 4),
    }
    return Log("x", "x.csv", build(columns))


def test_very_many_samples_become_means_that_keep_what_was_moved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recordings, "MAX_SAMPLES", 10_000)
    log = fine()
    thin = thinned(log)
    assert 1000 <= thin.samples.height <= 1010
    for each in (log, thin):
        assert each.samples["interval_s"].sum() == pytest.approx(100)
        moved_mb = (each.samples["write_bw_mb_s"] * each.samples["interval_s"]).sum()
        assert moved_mb == pytest.approx(50 * 2000 + 50 * 800)
    assert thin.samples["write_lat_max_us"].max() == 900
    assert thin.samples["throttle_count.tmt1"].to_list()[-1] == 10
    assert thin.samples["temp_c.composite"].count() == pytest.approx(200, abs=1)
    assert thin.samples.schema == log.samples.schema
    assert thin.samples["t_s"].is_sorted()
    assert thin.samples["step"].n_unique() == 2
    assert "means of 0.1 s" in thin.remarks[-1].text


def test_a_day_at_ten_a_second_stays_as_it_is() -> None:
    log = fine(1000)
    assert thinned(log) is log
