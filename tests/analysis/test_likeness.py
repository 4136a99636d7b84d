"""Which steps may be held against each other, through what compares them."""

from pathlib import Path
from typing import Any

import pytest
from command import json_here
from compared import READ, run, steady
from heatsoak.analysis import analyze, likeness
from heatsoak.comparison import compare
from heatsoak.recording import InMemoryRecording


def with_heatsinks(first: Any, second: Any, **more: Any) -> list[InMemoryRecording]:
    """Two recordings of a drive, bare and with a heatsink, with what is given of each."""
    return [
        run({"heatsink": heatsink}, **{"seed": seed, **more, **given})
        for seed, (heatsink, given) in enumerate((("none", first), ("big", second)))
    ]


def limited(limit: str | None, temp_c: float) -> dict[str, Any]:
    """A read that a protocol limits, or not; the drive does what it is asked."""
    rate = 1000.0 if limit is None else 200.0
    steps = [{**READ, **({"rate": limit} if limit else {})}]
    return {"rates": steady(rate), "steps": steps, "temp_c": temp_c}


def test_a_load_that_was_limited_is_not_the_same_load() -> None:
    recordings = with_heatsinks(limited("200m", temp_c=60.0), limited(None, temp_c=40.0))
    for findings in analyze(recordings).recordings:
        assert findings.answer.throttles != "yes"
        assert "times as fast" not in findings.answer.sentence


def logged(mb_s: float, length_s: float) -> dict[str, Any]:
    """A log of a write after another load."""
    rates = {"before": steady(mb_s)[: int(10 * length_s)], "write": steady(900)}
    return {"rates": rates, "more": {"write_bw_mb_s": mb_s}}


@pytest.mark.parametrize(
    ("mb_s", "length_s", "is_like"),
    [
        (2000, 300, True),
        (1200, 300, True),  # the same load for as long
        (4000, 150, True),  # as much written
        (2000, 150, False),
    ],
)
def test_logs_are_compared_after_the_same_loads_or_as_much_written(
    mb_s: float, length_s: float, is_like: bool
) -> None:
    recordings = with_heatsinks(logged(2000, 300), logged(mb_s, length_s), imported=True)
    found = compare(recordings, "heatsink", anyway=True)
    said = [line for line in found.caveats if "had been written before it in 'write'" in line]
    assert bool(said) != is_like
    if not is_like:
        assert "600 GB and 300 GB had been written" in said[0]


def test_a_log_with_many_headers_costs_by_its_runs_and_not_by_their_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []
    alike = likeness.alike

    def counted(one: object, other: object) -> bool:
        compared.append(one)
        return alike(one, other)

    monkeypatch.setattr(likeness, "alike", counted)
    runs = 40
    one = "time_s,write_bw_mb_s,temp_c\n" + "".join(f"{t},1000,40\n" for t in range(10))
    (tmp_path / "log.csv").write_text(one * runs)
    found = json_here("analyze", "log.csv", cwd=tmp_path)
    assert len(found["recordings"]) == runs
    assert len(compared) < 2 * runs
