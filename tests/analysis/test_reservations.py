"""What was not read for certain stands against "does not throttle" and "was not loaded"."""

import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from heatsoak.analysis import RecordingFindings, analyze
from heatsoak.importer import Options, open_all
from hypothesis import example, given, settings
from hypothesis import strategies as st

STEADY = [(second, 500 + second % 3, 55) for second in range(240)]


def judged(directory: Path, text: str) -> RecordingFindings:
    path = directory / "log.csv"
    path.write_text(text)
    (found,) = analyze(open_all([path], Options())).recordings
    return found


def table(rows: Sequence[Sequence[float]], header: str = "time_s,write_mib_s,temp_c") -> str:
    text = io.StringIO(f"{header}\n")
    text.seek(0, io.SEEK_END)
    text.writelines(",".join(f"{value:g}" for value in row) + "\n" for row in rows)
    return text.getvalue()


@settings(max_examples=15, deadline=None)
@given(first=st.integers(20, 200), count=st.integers(12, 100))
def test_rows_that_are_missing_are_never_taken_for_steady_ones(
    tmp_path_factory: pytest.TempPathFactory, first: int, count: int
) -> None:
    kept = [row for row in STEADY if not first <= row[0] < min(first + count, 235)]
    found = judged(tmp_path_factory.mktemp("gap"), table(kept))
    assert found.answer.throttles == "cannot-tell"
    assert f"no rows from {first} to" in found.answer.sentence


def test_a_gap_in_a_log_of_ios_alone_is_one_too(tmp_path: Path) -> None:
    kept = [row for row in STEADY if not 100 <= row[0] < 120]
    found = judged(tmp_path, table(kept, "time_s,write_iops,temp_c"))
    assert found.answer.throttles == "cannot-tell"
    assert "no rows from 100 to 121 s" in found.answer.sentence


@pytest.mark.parametrize(
    ("text", "throttles", "touches"),
    [
        (table(STEADY), "no", []),
        # an order of dates or a few per cent of a unit turn nothing round
        (
            table(STEADY, "time,write_mb_s,temp_c").replace("time,write_mb_s", "time_s,Write MB/s"),
            "no",
            [],
        ),
        # two drives whose rows share their times
        (table([row for row in STEADY for _ in (0, 1)]), "cannot-tell", [["rate", "identity"]]),
        # MB or more: idle, or not; and how busy it was is not logged
        (
            table([(second, 12, 40) for second in range(240)], "time_s,write speed,temp_c"),
            "cannot-tell",
            [["unit"], ["rate"]],
        ),
    ],
)
def test_the_answer_is_no_surer_than_the_reading(
    tmp_path: Path, text: str, throttles: str, touches: list[list[str]]
) -> None:
    found = judged(tmp_path, text)
    assert [one.touches for one in found.reservations] == touches
    assert found.answer.throttles == throttles
    (verdict,) = {step.verdict for step in found.steps} or {"unknown"}
    assert verdict == ("steady" if throttles == "no" else "unknown")
    for one in found.reservations:
        assert one.text in found.notes


def test_a_drive_that_worked_in_bursts_was_not_idle(tmp_path: Path) -> None:
    rows = [(second, 900 if second % 16 < 6 else 0, 45) for second in range(80)]
    found = judged(tmp_path, table(rows))
    assert found.answer.throttles == "cannot-tell"
    assert "bursts of 6 s" in found.answer.sentence
    assert found.unloaded is not None
    assert found.unloaded.bursts_gb == pytest.approx(5 * 6 * 0.9 * 1.048576, rel=0.01)


@settings(max_examples=8, deadline=None)
@given(
    low=st.sampled_from([0.3, 0.07, 0.008]), reads=st.integers(0, 60), before_s=st.integers(20, 90)
)
@example(low=0.008, reads=60, before_s=20)
@example(low=0.3, reads=0, before_s=90)
def test_a_fall_is_one_however_the_share_of_other_traffic_rises(
    tmp_path_factory: pytest.TempPathFactory, low: float, reads: int, before_s: int
) -> None:
    high = 11_000
    rows = [
        (second, high * (1 if second < before_s else low), reads, 60 + min(second, before_s) / 4)
        for second in range(before_s + 90)
    ]
    header = "time_s,write_mib_s,read_mib_s,temp_c"
    found = judged(tmp_path_factory.mktemp("fall"), table(rows, header))
    (episode,) = [one for step in found.steps for one in step.episodes]
    assert episode.onset_s == pytest.approx(before_s, abs=3)
    assert episode.depth_pct == pytest.approx(100 * (1 - low), abs=3)
