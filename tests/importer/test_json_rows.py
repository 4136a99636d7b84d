"""Tables of JSON objects, and what is refused for what it is."""

import json
from pathlib import Path

import pytest
from heatsoak.analysis import analyze
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Source, import_files, read

ROWS = [
    {"ts": 1741983067 + second, "write_mb_s": 500.0 + second % 3, "temp_c": 40 + second // 10}
    for second in range(60)
]


def read_text(text: str, name: str = "log.json") -> list[Log]:
    return read(Source.of_bytes(name, text.encode()))


@pytest.mark.parametrize(
    "text",
    [
        "".join(json.dumps(row) + "\n" for row in ROWS),
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2),
        json.dumps({"host": "a", "samples": ROWS}, indent=1),
    ],
    ids=["a line each", "an array", "an indented array", "a list in an object"],
)
def test_rows_are_read_however_the_objects_are_put_together(text: str) -> None:
    (log,) = read_text(text)
    assert log.samples["write_bw_mb_s"].to_list() == [row["write_mb_s"] for row in ROWS]
    assert log.samples["temp_c.composite"].to_list() == [row["temp_c"] for row in ROWS]
    assert log.clock == "utc"


def test_objects_in_objects_are_columns_with_both_names() -> None:
    rows = [{"t": row, "disk": {"read_mb_s": 900}, "nvme": {"temp_c": 50}} for row in range(30)]
    (log,) = read_text(json.dumps(rows))
    assert set(log.samples["read_bw_mb_s"]) == {900}
    assert any(name.startswith("temp_c.") for name in log.samples.columns)


def test_a_key_that_only_some_rows_have_is_missing_in_the_others() -> None:
    rows = [dict(row) for row in ROWS]
    for row in rows[1::2]:
        del row["temp_c"]
    (log,) = read_text(json.dumps(rows))
    assert log.samples["temp_c.composite"].null_count() == 30
    assert log.samples["write_bw_mb_s"].null_count() == 0


@pytest.mark.parametrize(
    "text",
    ['[{"name": "a"}, {"name": "b"}]', "[1, 2, 3]", '{"a": [1, 2]}', '[{"a": 1'],
)
def test_json_that_is_not_a_table_of_rates_is_not_a_log(text: str) -> None:
    with pytest.raises(UsageError):
        read_text(text)


def test_prose_is_not_a_table() -> None:
    text = "Dear all,\nthe drive, as I said, has 2, 3, or 4 lanes.\nRegards,\nme, the owner\n"
    with pytest.raises(UsageError, match="not in a format that can be imported"):
        read_text(text * 3, "letter.txt")


def test_a_drive_that_moved_nothing_is_not_called_steady(tmp_path: Path) -> None:
    log = tmp_path / "idle.csv"
    log.write_text("time_s,write MB/s\n" + "".join(f"{second},0\n" for second in range(120)))
    (recording,) = analyze(import_files([log])).recordings
    assert recording.steps == []
    assert recording.answer.throttles == "not-loaded"
