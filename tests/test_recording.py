import json
import math
import os
import random
import time
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from heatsoak.bench.resume import reopen
from heatsoak.errors import UsageError
from heatsoak.protocol import Protocol
from heatsoak.recording import Event, Recording, RecordingMeta, RecordingWriter, find_recordings
from heatsoak.recording.meta import EVENTS, JOURNAL, META, PARQUET
from hypothesis import given, settings
from hypothesis import strategies as st
from made_recording import remake

COLUMNS = {"t_s": "Float64", "step": "String", "read_bw_mb_s": "Float64", "temp_c.nand": "Float64"}


def meta() -> RecordingMeta:
    protocol = Protocol.model_validate({"name": "x", "steps": [{"name": "a", "rw": "read"}]})
    return RecordingMeta(
        protocol=protocol,
        conditions={"slot": "top"},
        drive={"model": "a drive"},
        columns=COLUMNS,
        started_unix_s=time.time(),
    )


def frame(first: int, count: int) -> pl.DataFrame:
    times = [0.1 * index for index in range(first, first + count)]
    return pl.DataFrame({"t_s": times, "step": ["a"] * count, "read_bw_mb_s": times})


def test_a_recording_reads_back_as_it_was_written_while_it_runs_and_after(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path / "r", meta()) as writer:
        writer.append(frame(0, 3))
        writer.append_row({"t_s": 0.15, "step": "a", "temp_c.nand": 40.5})
        writer.event(Event(t_s=0, kind="step-begin", step="a"))
        running = Recording.open(tmp_path / "r")
        assert running.was_cut
        before = running.samples()
        writer.finish("finished", 0.3)
    recording = Recording.open(tmp_path / "r")
    assert recording.meta.status == "finished"
    assert recording.samples().equals(before)
    assert before.rows() == [
        (0.0, "a", 0.0, None),
        (0.1, "a", 0.1, None),
        (0.15, "a", None, 40.5),
        (0.2, "a", 0.2, None),
    ]
    assert [event.kind for event in recording.events] == ["step-begin"]
    assert not (tmp_path / "r" / JOURNAL).exists()
    # only the columns asked for are read, and unknown ones are null
    assert recording.samples(["t_s", "power_w"]).rows()[:2] == [(0.0, None), (0.1, None)]


@pytest.mark.slow
@given(cut=st.integers(min_value=0, max_value=20_000))
@settings(max_examples=50, deadline=None)
def test_a_journal_truncated_anywhere_reads_up_to_its_last_complete_line(
    cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("cut") / "r"
    writer = RecordingWriter(directory, meta())
    writer.append(frame(0, 200))
    writer.close()
    journal = directory / JOURNAL
    data = journal.read_bytes()[:cut]
    journal.write_bytes(data)
    samples = Recording.open(directory).samples()
    lines = [line for line in data.splitlines(keepends=True) if line.endswith(b"\n")]
    assert len(samples) == sum(b'"t_s"' in line for line in lines)
    assert {name: str(dtype) for name, dtype in samples.schema.items()} == COLUMNS


def test_lines_that_power_loss_left_damaged_are_skipped(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "r", meta())
    writer.append(frame(0, 2))
    writer.close()
    with (tmp_path / "r" / JOURNAL).open("ab") as file:
        file.write(b"\0" * 40 + b'\n{"t_s": 0.7, "step": "a"}\n[1]\n{"t_s": "x"}\n{"t_s": 0.8,')
    assert Recording.open(tmp_path / "r").samples()["t_s"].to_list() == [0.0, 0.1, 0.7]


def test_nothing_is_written_over_what_is_there_nor_into_columns_that_were_not_announced(
    tmp_path: Path,
) -> None:
    (tmp_path / "precious").write_text("x")
    with pytest.raises(UsageError, match="not empty"):
        RecordingWriter(tmp_path, meta())
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]
    with (
        RecordingWriter(tmp_path / "r", meta()) as writer,
        pytest.raises(KeyError, match="power_w"),
    ):
        writer.append(pl.DataFrame({"t_s": [0.0], "power_w": [1.0]}))


def repeat_steps(meta: Path) -> None:
    document = json.loads(meta.read_text())
    document["protocol"]["steps"] *= 2
    meta.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda d: (d / META).write_text("{"), "invalid JSON"),
        (lambda d: (d / META).write_bytes(b"\xff\0"), "JSON"),
        (lambda d: (d / META).write_text(json.dumps({"schema_version": 9})), "schema_version"),
        (lambda d: repeat_steps(d / META), r"recording\.json: protocol: two steps are named 'a'"),
        (lambda d: (d / PARQUET).unlink(), "has no samples"),
        (lambda d: (d / PARQUET).write_bytes(b"PAR1 no more"), "was changed after it was made"),
    ],
)
def test_a_broken_recording_is_one_line_that_names_the_file(
    tmp_path: Path, damage: object, said: str
) -> None:
    damage(finished(tmp_path / "r").path)  # type: ignore[operator]
    with pytest.raises(UsageError, match=said) as caught:
        find_recordings(tmp_path)[0].samples()
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_place_without_recordings_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no recording in it"):
        find_recordings(tmp_path)
    with pytest.raises(UsageError, match="no such file"):
        find_recordings(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="is not a recording"):
        find_recordings(tmp_path / "file")


def test_a_reading_from_just_before_a_step_goes_with_the_attempt_that_it_was_kept_for(
    tmp_path: Path,
) -> None:
    writer = RecordingWriter(tmp_path / "r", meta())
    writer.append_row({"t_s": 0.9, "step": "a", "temp_c.nand": 40.0})
    writer.event(Event(t_s=1.0, kind="step-begin", step="a"))
    writer.append_row({"t_s": 1.1, "step": "a", "temp_c.nand": 40.0})
    writer.close()
    reopened = reopen(Recording.open(tmp_path / "r"), 0)[0]
    assert reopened.samples(["step"])["step"].to_list() == ["a~1", "a~1"]


def test_an_end_that_is_interrupted_again_is_still_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    writer = RecordingWriter(tmp_path / "r", meta())
    writer.append_row({"t_s": 0.5})
    monkeypatch.setattr("heatsoak.recording.writer.journal_to_parquet", interrupted)
    writer.finish("interrupted", 1.0, "stopped by the user")
    recording = Recording.open(tmp_path / "r")
    assert recording.meta.status == "interrupted"
    assert recording.samples(["t_s"])["t_s"].to_list() == [0.5]


def finished(path: Path, count: int = 50) -> Recording:
    with RecordingWriter(path, meta()) as writer:
        writer.append(frame(0, count))
        writer.event(Event(t_s=0, kind="step-begin", step="a"))
        writer.event(Event(t_s=5, kind="step-end", step="a"))
        writer.finish("finished", 5)
    return Recording.open(path)


@pytest.mark.parametrize("what", ["bytes", "cut", "empty", "metadata", "text"])
def test_damaged_parquet_is_one_line_whatever_polars_makes_of_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], what: str
) -> None:
    parquet = finished(tmp_path / "r").path / PARQUET
    whole = parquet.read_bytes()
    chance = random.Random(1)
    for _ in range(10 if what in ("bytes", "metadata") else 1):
        data = bytearray(whole)
        if what in ("bytes", "metadata"):
            footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
            for _ in range(5):
                at = chance.randrange(*((4, footer) if what == "bytes" else (footer, len(data))))
                data[at] ^= 1 << chance.randrange(8)
        parquet.write_bytes({"cut": whole[:900], "empty": b"", "text": b"[" * 999}.get(what, data))
        with suppress(UsageError):  # what can be read all the same is
            Recording.open(tmp_path / "r", damaged=True).samples()
    assert capfd.readouterr().err == ""  # not what Rust says when it panics, either


def test_damaged_parquet_is_read_where_it_has_the_columns(tmp_path: Path) -> None:
    parquet = finished(tmp_path / "r").path / PARQUET
    given = pl.read_parquet(parquet)
    rate = pl.col("read_bw_mb_s")
    odd = pl.when(pl.col("t_s") < 1).then(math.nan).when(pl.col("t_s") < 2).then(math.inf)
    given.with_columns(odd.otherwise(rate).alias("read_bw_mb_s")).write_parquet(parquet)
    read = Recording.open(tmp_path / "r", damaged=True).samples()
    assert read["read_bw_mb_s"].null_count() == 20
    assert read["read_bw_mb_s"].drop_nulls().is_finite().all()
    for other, told in (
        (given.drop("temp_c.nand"), "the column temp_c.nand, which"),
        (given.with_columns(pl.lit("x").alias("t_s")), "the column t_s is String"),
    ):
        other.write_parquet(parquet)
        with pytest.raises(UsageError, match=told):
            Recording.open(tmp_path / "r", damaged=True).samples()


@pytest.mark.parametrize(
    "line",
    [
        *(b"[" * 100_000, b'{"t_s":1e309}', b'{"t_s":"x"}', b'{"t_s":true}', b'{"t_s":NaN}'),
        *(b'{"t_s":' + b"9" * 400 + b"}", b'{"t_s":1e300,"step":"a"}', b"\xff", b"x" * 999_999),
    ],
)  # fmt: skip
def test_a_line_that_no_writer_writes_is_left_out(tmp_path: Path, line: bytes) -> None:
    recording = finished(tmp_path / "r")
    recording.samples().write_ndjson(recording.path / JOURNAL)
    (recording.path / PARQUET).unlink()
    for name in (JOURNAL, EVENTS):
        with (recording.path / name).open("ab") as file:
            file.write(line + b"\n" + b'{"t_s":5.5,"kind":"info","step":"a"}\n')
    again = remake(tmp_path / "r", status="running")
    assert again.samples().height == 51
    assert [event.t_s for event in again.events] == [0, 5, 5.5]


@pytest.mark.parametrize(
    ("where", "value"),
    [
        *[("t_s", value) for value in ("1e309", '"x"', "null", "NaN", "[]")],
        *[("kind", value) for value in ("1", "null")],
        ("data", '{"index":"x"}'),
        ("data", '{"duration_s":-1}'),
        ("data", '{"latency_bins":{"read":{"upper_us":[[]],"ios":["x"]}}}'),
        ("data", "[]"),
    ],
)
def test_an_event_with_something_else_than_its_kind_has_is_left_out(
    tmp_path: Path, where: str, value: str
) -> None:
    recording = finished(tmp_path / "r")
    fields = {"t_s": "6", "kind": '"step-end"', "step": '"a"', where: value}
    line = "{" + ",".join(f'"{key}":{text}' for key, text in fields.items()) + "}\n"
    with (recording.path / EVENTS).open("a") as file:
        file.write(line)
    assert len(remake(tmp_path / "r").events) == 2


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("drive", '{"size_bytes":{}}'),
        ("drive", '{"details":{"link":"x"}}'),
        ("drive", '{"details":{"temps":[NaN]}}'),
        ("duration_s", "1e309"),
        ("duration_s", "1e300"),
        ("started_unix_s", "NaN"),
        ("columns", '{"step":"String"}'),
        ("load", '{"imported":1}'),
        ("host", "9" * 400),
    ],
)
def test_a_description_that_cannot_be_is_one_line(tmp_path: Path, key: str, value: str) -> None:
    file = finished(tmp_path / "r").path / META
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: "@"}).replace('"@"', value))
    with pytest.raises(UsageError, match=rf"recording\.json: {key}"):
        Recording.open(tmp_path / "r")


@pytest.mark.parametrize("name", [META, EVENTS, PARQUET])
def test_what_is_not_a_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    file = finished(tmp_path / "r").path / name
    for what, make in (
        ("pipe", os.mkfifo),
        ("broken link", lambda path: path.symlink_to(path.name)),
        ("directory", os.mkdir),
    ):
        file.unlink(missing_ok=True)
        make(file)
        with pytest.raises(UsageError, match=f"{name}: is a {what}"):
            Recording.open(tmp_path / "r")
