"""fio's JSON of a whole run, beside what a logger saw of it."""

import json

import numpy as np
import pytest
from heatsoak.importer import Log, Source, read
from heatsoak.importer.join import join

BEGIN = 1_700_000_000
MB = 10**6


def fio_json(*rates_mb_s: float, seconds: int = 60) -> list[Log]:
    """A run whose jobs wrote behind each other, as its last document alone tells it."""
    end_s = BEGIN + seconds * len(rates_mb_s)
    jobs = [
        {
            "jobname": f"job{number}",
            "groupid": number,
            "elapsed": 1 + seconds * len(rates_mb_s),
            "job options": {"rw": "write", "bs": "128k", "filename": "/dev/sdx"},
            "job_runtime": 1000 * seconds,
            "write": {
                "io_bytes": int(rate * MB * seconds),
                "total_ios": int(rate * MB * seconds) >> 17,
                "runtime": 1000 * seconds,
            },
        }
        for number, rate in enumerate(rates_mb_s)
    ]
    about = {"fio version": "fio-3.33", "timestamp": end_s, "timestamp_ms": 1000 * end_s}
    return read(Source.of_bytes("run.json", json.dumps({**about, "jobs": jobs}).encode()))


def logged(*stretches: tuple[float, int], begin: int | None = BEGIN) -> list[Log]:
    """A table with a row each second: so many MB/s written for so long."""
    noise = np.random.default_rng(1)
    rates = [rate for rate, seconds in stretches for _ in range(seconds)]
    rows = ["time_s,write_bw_mb_s" if begin is None else "epoch_s,write_bw_mb_s"]
    for second, rate in enumerate(rates, 1):
        rows.append(f"{(begin or 0) + second},{rate * (1 + noise.normal() / 100):.2f}")
    return read(Source.of_bytes("logger.csv", "\n".join(rows).encode()))


def spans(log: Log) -> dict[str, tuple[float, float]]:
    named = log.samples.drop_nulls("step").partition_by("step", as_dict=True, maintain_order=True)
    return {
        str(name): (float(frame["t_s"][0]), float(frame["t_s"][-1]))
        for (name,), frame in named.items()
    }


def test_what_a_logger_saw_is_judged_in_the_steps_of_the_summary() -> None:
    series = logged((0, 20), (500, 60), (200, 60), (0, 30), begin=BEGIN - 20)
    (log,) = join([*fio_json(500, 200), *series])
    assert [step.describe() for step in log.steps] == ["sequential write, 128k, QD1"] * 2
    assert spans(log)["job0"] == pytest.approx((21, 80), abs=1)
    assert spans(log)["job1"] == pytest.approx((81, 140), abs=1)
    assert log.drive == {"path": "/dev/sdx"}
    assert any("divided into the steps of run.json" in remark.text for remark in log.remarks)


@pytest.mark.parametrize(
    ("stretches", "begin"),
    [
        (((50, 60), (20, 60)), BEGIN),  # another drive's
        (((500, 120),), None),  # nothing to tell it by
        (((500, 60), (200, 60)), BEGIN + 9000),
    ],
)
def test_an_unrelated_series_stays_apart_and_that_is_noted(
    stretches: tuple[tuple[float, int], ...], begin: int | None
) -> None:
    logs = join([*fio_json(500, 200), *logged(*stretches, begin=begin)])
    assert len(logs) == 2
    assert all(log.format != "fio-json" or len(log.samples) == 2 for log in logs)
    assert any("logger.csv was kept apart" in r.text for log in logs for r in log.remarks)


def test_a_shift_that_was_asked_for_is_taken() -> None:
    series = logged((500, 60), (200, 60), begin=None)
    (log,) = join([*fio_json(500, 200), *series], shift_s=0.0)
    assert spans(log)["job1"] == pytest.approx((61, 120), abs=1)
