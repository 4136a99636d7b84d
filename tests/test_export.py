"""Recordings out again: what is written is what was recorded, in the words of others."""

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command import done_here, heatsoak_here, json_here
from heatsoak.errors import UsageError
from heatsoak.exporter import ExportFormat, export
from heatsoak.output import from_spreadsheet, printable
from heatsoak.protocol import Observation, Observed, Protocol
from heatsoak.recording import Recording
from heatsoak.recording.columns import FAMILIES, FIXED, schema_of
from heatsoak.recording.meta import META, PARQUET
from hypothesis import given, settings
from hypothesis import strategies as st
from made_recording import held, make_recording
from prometheus_client.openmetrics.parser import text_string_to_metric_families

STEPS = [
    {"name": "fill", "kind": "precondition", "rw": "write", "bs": "128k", "iodepth": 32},
    {"name": "write", "rw": "write", "bs": "128k", "iodepth": 32},
    {"kind": "pause", "duration": 10},
    {"name": "write, again", "rw": "write", "bs": "128k", "iodepth": 32},
    {"name": "mix", "rw": "randrw", "rwmixread": 70, "bs": "4k", "iodepth": 4, "numjobs": 2},
]
#: A row for each tenth of a second: two of each step, and a reading in the pause.
SAMPLES = pl.DataFrame(
    {
        "t_s": [0.1, 0.2, 10.1, 10.2, 15.0, 20.1, 20.2, 30.1, 30.2],
        "step": ["fill"] * 2 + ["write"] * 2 + [None] + ["write, again"] * 2 + ["mix"] * 2,
        "interval_s": [0.1] * 4 + [None] + [0.1] * 4,
        "read_bw_mb_s": [None] * 7 + [4.096, 8.192],
        "write_bw_mb_s": [131.072, 131.072, 131.072, 262.144, None, 1 / 3, 1e-7, 4.096, 4.096],
        "read_iops": [None] * 7 + [1000.0, 2000.0],
        "write_iops": [1000.0, 1000.0, 1000.0, 2000.0, None, 3.0, 0.0, 1000.0, 1000.0],
        "write_lat_us": [85.3, 85.3, 85.3, 170.6, None, 1e4, 0.1 + 0.2, 85.3, 85.3],
        "write_lat_max_us": [100.0, 100.0, 200.0, 400.0, None, 1e4, 1e4, 85.3, 85.3],
        "power_state": [0, 0, 0, 0, 3, 0, 0, 0, 0],
        "temp_c.composite": [40.0, None, 41.0, None, 39.5, None, 40.0, None, 40.0],
        "throttle_count.t1": [0.0, None, 1.0, None, 1.0, None, 2.0, None, 2.0],
        "sim.nand_c": [50.0] * 9,
    }
)

Make = Callable[..., Recording]


def told(**changes: Any) -> dict[str, Any]:
    """The facts of the recordings here, but for what is given."""
    facts: dict[str, Any] = {
        "protocol": Protocol.model_validate({"name": "three", "steps": STEPS}),
        "conditions": {"slot": "top", "gpus": 2, "loaded": True},
        "drive": {"model": 'A "drive" \\ of mine', "serial": "S1"},
        "started_unix_s": 1_700_000_000.25,
    }
    return facts | changes


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def make_one(name: str = "one", samples: pl.DataFrame = SAMPLES, **changes: Any) -> Recording:
        return make_recording(tmp_path / "recordings" / name, samples, **told(**changes))

    return make_one


def test_a_csv_file_has_the_columns_of_a_recording_and_the_very_same_numbers(
    make: Make, tmp_path: Path
) -> None:
    (written,) = export([make()], str(tmp_path / "one.csv"))
    data = (tmp_path / "one.csv").read_bytes()
    assert written.path == str(tmp_path / "one.csv")
    assert (written.recording, written.rows, written.bytes) == ("one", 9, len(data))
    expected = SAMPLES.drop("sim.nand_c")
    schema = dict(expected.schema)
    assert pl.read_csv(tmp_path / "one.csv", schema=schema).equals(expected)
    header, first = data.decode().splitlines()[:2]
    assert header.startswith("t_s,step,interval_s,read_bw_mb_s,write_bw_mb_s,")
    assert first == "0.1,fill,0.1,,131.072,,1000.0,85.3,100.0,0,40.0,0.0"


@pytest.mark.slow
@given(
    values=st.lists(st.floats() | st.none(), min_size=1, max_size=20),
    step=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
)
@settings(deadline=None, max_examples=60)
def test_any_number_and_any_name_comes_back_from_csv(
    values: list[float | None], step: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    samples = pl.DataFrame(
        {"t_s": [float(i) for i in range(len(values))], "step": step, "power_w": values},
        schema={"t_s": pl.Float64, "step": pl.String, "power_w": pl.Float64},
    )
    path = tmp_path_factory.mktemp("any") / "x.csv"
    export([held(samples, **told())], str(path))
    back = pl.read_csv(path, schema=dict(samples.schema))
    finite = pl.when(pl.col("power_w").is_finite()).then("power_w")
    assert {from_spreadsheet(text) for text in back["step"]} == {printable(step)}
    assert back.drop("step").equals(samples.select("t_s", finite.alias("power_w")))
    with path.open(newline="", encoding="utf-8") as file:
        assert len(list(csv.reader(file))) == len(values) + 1


def test_what_only_a_simulator_knows_is_exported_when_asked_for(make: Make, tmp_path: Path) -> None:
    export([make()], str(tmp_path / "all.csv"), truth=True)
    assert "sim.nand_c" in pl.read_csv(tmp_path / "all.csv").columns


def test_a_parquet_file_says_what_was_recorded(make: Make, tmp_path: Path) -> None:
    recording = make()
    export([recording], str(tmp_path / "one.parquet"))
    assert pl.read_parquet(tmp_path / "one.parquet").equals(SAMPLES.drop("sim.nand_c"))
    told = pl.read_parquet_metadata(tmp_path / "one.parquet")
    assert told["heatsoak.protocol"] == "three"
    assert float(told["heatsoak.started_unix_s"]) == 1_700_000_000.25
    assert json.loads(told["heatsoak.conditions"]) == recording.meta.conditions
    assert json.loads(told["heatsoak.drive"])["serial"] == "S1"
    assert told["heatsoak.schema_version"] == "1"


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_several_recordings_become_one_long_table_with_their_conditions(
    make: Make, tmp_path: Path, suffix: str
) -> None:
    other = SAMPLES.select("t_s", "step", "temp_c.composite").rename({"temp_c.composite": "queue"})
    top = make("top")
    low = make("low", other, conditions={"slot": 3, "queue": "long", "loaded": False})
    (written,) = export([top, low], str(tmp_path / f"all.{suffix}"))
    assert (written.recording, written.rows) == (None, 18)
    path = tmp_path / f"all.{suffix}"
    table = pl.read_csv(path) if suffix == "csv" else pl.read_parquet(path)
    names = ["recording", "slot", "gpus", "loaded", "condition.queue", "t_s", "step"]
    assert table.columns[: len(names)] == names
    assert table.filter(recording="top")["slot"].unique().to_list() == ["top"]
    assert table.filter(recording="low").select("slot", "gpus", "loaded", "condition.queue").rows()[
        0
    ] == ("3", None, False, "long")
    assert table.filter(recording="low")["queue"].equals(other["queue"])
    assert table.filter(recording="low")["write_iops"].null_count() == 9


def test_a_directory_gets_a_file_for_each_recording_under_a_name_of_its_own(
    make: Make, tmp_path: Path
) -> None:
    names = ["a/run", "b/run", "b/RUN", "..hidden", "x y", "x_y", "💾"]
    recordings = [make(name) for name in names]
    written = export(recordings, str(tmp_path / "out"), ExportFormat.CSV)
    files = [Path(file.path) for file in written]
    assert all(file.parent == tmp_path / "out" and file.is_file() for file in files)
    assert [file.name for file in files] == [
        "a-run.csv",
        "b-run.csv",
        "b-RUN-2.csv",
        "hidden.csv",
        "x_y.csv",
        "x_y-2.csv",
        "unnamed.csv",
    ]


@pytest.mark.slow
@given(parts=st.lists(st.text(min_size=1, max_size=300), min_size=1, max_size=4))
@settings(deadline=None)
def test_no_name_of_a_recording_leaves_the_directory(parts: list[str]) -> None:
    from heatsoak.exporter.names import file_name

    name = file_name("/".join(parts))
    assert Path(name).name == name
    assert name not in ("", ".", "..")
    assert len(name.encode()) <= 150


@pytest.mark.parametrize("name", [META, PARQUET])
def test_a_recordings_own_files_are_never_written_over(make: Make, name: str) -> None:
    recording = make()
    before = (recording.path / name).read_bytes()
    with pytest.raises(UsageError, match="is part of a recording"):
        export([recording], str(recording.path / name), ExportFormat.PARQUET, force=True)
    assert (recording.path / name).read_bytes() == before


def test_what_cannot_be_written_to_is_one_line(make: Make) -> None:
    with pytest.raises(UsageError, match="not a regular file"):
        export([make()], "/dev/null", ExportFormat.CSV, force=True)
    with pytest.raises(UsageError, match=r"x\.csv: cannot be written: "):
        export([make("two")], "/proc/x.csv")


def test_a_damaged_recording_is_named_as_such(make: Make, tmp_path: Path) -> None:
    recording = make()
    (recording.path / PARQUET).write_bytes(b"PAR1 and then nothing")
    for is_asked, said in ((False, "was changed after it was made: samples"), (True, "is damaged")):
        opened = Recording.open(recording.path, damaged=is_asked)
        with pytest.raises(UsageError, match=said):
            export([opened], str(tmp_path / "x.csv"))


def parsed(text: str) -> dict[str, Any]:
    families = text_string_to_metric_families(text)
    return {family.name: family for family in families}


def test_openmetrics_has_base_units_labels_and_rising_times(make: Make, tmp_path: Path) -> None:
    (written,) = export([make()], str(tmp_path / "one.om"), ExportFormat.OPENMETRICS)
    families = parsed((tmp_path / "one.om").read_text("utf-8"))
    assert written.rows == sum(len(family.samples) for family in families.values())
    write = families["heatsoak_write_bytes_per_second"]
    assert (write.type, write.unit) == ("gauge", "bytes_per_second")
    first = write.samples[0]
    assert first.value == 131_072_000
    assert float(first.timestamp) == 1_700_000_000.35
    assert first.labels == {
        "recording": "one",
        "model": 'A "drive" \\ of mine',
        "serial": "S1",
        "slot": "top",
        "gpus": "2",
        "loaded": "true",
        "step": "fill",
    }
    latency = families["heatsoak_write_latency_seconds"]
    assert latency.samples[0].value == 8.53e-05
    temperature = families["heatsoak_temperature_celsius"]
    assert {sample.labels["sensor"] for sample in temperature.samples} == {"composite"}
    assert [s.value for s in temperature.samples if "step" not in s.labels] == [39.5]
    throttled = families["heatsoak_throttle_transitions"]
    assert throttled.type == "counter"
    assert throttled.samples[-1].name == "heatsoak_throttle_transitions_total"
    assert not [name for name in families if "simulator" in name]


def test_openmetrics_holds_every_quantity_that_a_recording_can_have(
    make: Make, tmp_path: Path
) -> None:
    columns = [*FIXED, *(f"{family}one" for family in FAMILIES)]
    values = {name: [1] for name in columns} | {"t_s": [1], "step": ["fill"]}
    frame = pl.DataFrame(values, schema=schema_of(columns))
    (written,) = export(
        [make(samples=frame)], str(tmp_path / "all.om"), ExportFormat.OPENMETRICS, truth=True
    )
    families = parsed((tmp_path / "all.om").read_text("utf-8"))
    assert written.rows == len(columns) - len({"t_s", "step"})
    [energy] = families["heatsoak_energy_joules"].samples
    assert (energy.name, energy.value) == ("heatsoak_energy_joules_total", 3600.0)


def test_openmetrics_of_several_recordings_keeps_families_together(
    make: Make, tmp_path: Path
) -> None:
    export([make("a"), make("b")], str(tmp_path / "two.om"), ExportFormat.OPENMETRICS, truth=True)
    text = (tmp_path / "two.om").read_text("utf-8")
    heads = [line for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(heads) == len(set(heads)) == len(parsed(text))
    assert "heatsoak_simulator_truth" in parsed(text)


@pytest.mark.slow
@given(
    conditions=st.dictionaries(
        st.text(max_size=8) | st.sampled_from(["step", "slot", "__x", "a-b", "a_b", "a.b", "9"]),
        st.text(max_size=8) | st.integers() | st.booleans(),
        max_size=6,
    )
)
@settings(deadline=None, max_examples=40)
def test_any_condition_becomes_a_label_that_the_parser_takes(
    conditions: dict[str, str | int | bool], tmp_path_factory: pytest.TempPathFactory
) -> None:
    samples = SAMPLES.select("t_s", "step", "power_state")
    path = tmp_path_factory.mktemp("labels") / "x.om"
    export([held(samples, **told(conditions=conditions))], str(path), ExportFormat.OPENMETRICS)
    (family,) = parsed(path.read_bytes().decode()).values()
    own = {"recording", "model", "serial", "step"}
    texts = sorted(
        printable(str(v).lower() if isinstance(v, bool) else str(v)) for v in conditions.values()
    )
    for sample in family.samples:
        assert sorted(v for k, v in sample.labels.items() if k not in own) == texts
        assert not any(name.startswith("__") for name in sample.labels)


def test_openmetrics_without_a_wall_clock_says_why_not(make: Make, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no wall clock: export it as csv or parquet"):
        export([make(started_unix_s=None)], str(tmp_path / "x"), ExportFormat.OPENMETRICS)
    assert not (tmp_path / "x").exists()


def lines_of(path: Path) -> list[tuple[int, ...]]:
    return [tuple(int(word) for word in line.split(", ")) for line in path.read_text().splitlines()]


@pytest.mark.slow
def test_fio_plot_gets_logs_as_fio_writes_them_in_the_directories_of_bench_fio(
    make: Make, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    written = export([make()], str(out), ExportFormat.FIO_PLOT)
    assert sorted(
        str(Path(file.path).relative_to(out)) for file in written if "json" in file.path
    ) == [
        "128k-fill/write-32-1.json",
        "128k-write_again/write-32-1.json",
        "128k/write-32-1.json",
        "randrw70/4k/randrw-4-2.json",
    ]
    stem = "write-iodepth-32-numjobs-1"
    # fio's units: ms from the step's begin, KiB/s, I/Os a second, ns
    assert lines_of(out / f"128k/{stem}_bw.1.log") == [
        (100, 128000, 1, 0, 0),
        (200, 256000, 1, 0, 0),
    ]
    assert lines_of(out / f"128k/{stem}_iops.1.log") == [(100, 1000, 1, 0, 0), (200, 2000, 1, 0, 0)]
    assert lines_of(out / f"128k/{stem}_lat.1.log") == [
        (100, 85300, 1, 0, 0),
        (200, 170600, 1, 0, 0),
    ]
    mix = lines_of(out / "randrw70/4k/randrw-iodepth-4-numjobs-2_bw.1.log")
    assert mix == [
        (100, 4000, 0, 0, 0),
        (100, 4000, 1, 0, 0),
        (200, 8000, 0, 0, 0),
        (200, 4000, 1, 0, 0),
    ]
    job = json.loads((out / "128k/write-32-1.json").read_text())["jobs"][0]
    assert job["job options"]["bs"] == "128k"
    assert job["write"]["bw"] == 192000
    assert job["write"]["iops"] == 1500
    assert job["write"]["runtime"] == 200
    assert job["write"]["total_ios"] == 300
    assert job["write"]["io_bytes"] == 300 * 131072
    assert job["write"]["lat_ns"]["mean"] == pytest.approx((85300 + 2 * 170600) / 3)
    assert job["write"]["lat_ns"]["max"] == 400_000
    assert job["read"]["iops"] == 0


def test_a_slow_log_is_cut_in_pieces_that_fio_plot_does_not_misread(
    make: Make, tmp_path: Path
) -> None:
    # fio-plot takes logs of more than a second a line for floppy disks, and draws them wrong
    count = 200
    times = [5 + 2.003 * i for i in range(1, count + 1)]
    samples = pl.DataFrame({"t_s": times, "write_bw_mb_s": 1.024, "step": "w", "interval_s": 2.003})
    load = Observation(name="hwinfo", steps=[Observed(name="w", reads=False)])
    out = tmp_path / "out"
    written = export([make(samples=samples, protocol=load)], str(out), ExportFormat.FIO_PLOT)
    log, document = (Path(file.path) for file in written)
    lines = lines_of(log)
    assert log.name == "write-iodepth-1-numjobs-1_bw.1.log"
    assert {line[1] for line in lines} == {1000}
    steps = [b[0] - a[0] for a, b in pairwise(lines)]
    assert max(steps) <= 1000
    assert lines[-1][0] == round(2003 * count)
    notes = json.loads(document.read_text())["heatsoak"]["assumed"]
    assert written[1].notes == tuple(notes)
    assert "iodepth not known: written as 1" in notes
    assert "access pattern not known: written as write" in notes


def test_rates_of_one_block_size_give_each_other(make: Make, tmp_path: Path) -> None:
    samples = pl.DataFrame(
        {"t_s": [1.0, 2.0], "step": "r", "interval_s": 1.0, "iops": [10.0, 20.0]}
    )
    load = Observation(name="x", steps=[Observed(name="r", rw="randread", bs=4096, iodepth=8)])
    export([make(samples=samples, protocol=load)], str(tmp_path / "o"), ExportFormat.FIO_PLOT)
    stem = tmp_path / "o" / "4k" / "randread-iodepth-8-numjobs-1"
    assert lines_of(Path(f"{stem}_bw.1.log")) == [(1000, 40, 0, 0, 0), (2000, 80, 0, 0, 0)]


def test_a_recording_without_rates_is_nothing_for_fio_plot(make: Make, tmp_path: Path) -> None:
    samples = SAMPLES.select("t_s", "step", "temp_c.composite")
    with pytest.raises(UsageError, match="no step has rates"):
        export([make(samples=samples)], str(tmp_path / "o"), ExportFormat.FIO_PLOT)


@pytest.mark.slow
def test_fio_plots_own_reader_takes_what_was_exported(make: Make, tmp_path: Path) -> None:
    getdata = pytest.importorskip("fio_plot.fiolib.getdata")
    defaults = pytest.importorskip("fio_plot.fiolib.defaultsettings").get_default_settings()
    out = tmp_path / "out"
    export([make()], str(out), ExportFormat.FIO_PLOT)
    asked = {
        **defaults,
        "input_directory": [str(out / "128k")],
        "rw": "write",
        "iodepth": [32],
        "numjobs": [1],
        "type": ["bw", "iops", "lat"],
    }
    logs = {item["type"]: item["data"][0]["write"] for item in getdata.get_log_data(asked)}
    assert logs["bw"] == [(100, 128000), (200, 256000)]
    assert logs["lat"] == [(100, 85300), (200, 170600)]
    (row,) = getdata.get_json_data(asked)[0]["data"]
    assert (row["bw"], row["iops"], row["bs"]) == (192000, 1500, "128k")


def test_the_command_says_what_it_wrote(make: Make, tmp_path: Path) -> None:
    make("a")
    make("b")
    (file,) = json_here("export", "recordings", "-o", "all.csv", cwd=tmp_path)
    assert file["path"] == "all.csv"
    assert file["rows"] == 18
    each = heatsoak_here("export", "recordings", "-o", "each/", "--as", "parquet", cwd=tmp_path)
    assert [line.partition(":")[0] for line in each.stdout.splitlines()] == [
        "each/a.parquet",
        "each/b.parquet",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "openmetrics"])
def test_standard_output_has_the_samples_and_nothing_else_for_as_long_as_it_is_read(
    make: Make, tmp_path: Path, kind: str
) -> None:
    rows = pl.DataFrame({"t_s": [0.1 * i for i in range(1, 30_001)], "step": "write"})
    truth = pl.lit(1.0).alias("sim.permitted")
    recording = make("a", rows.with_columns(truth, power_w=pl.col("t_s")))
    words = [sys.executable, "-m", "heatsoak", "export", "recordings/a", "-o", "-", "--as", kind]
    export([recording], str(tmp_path / "x.y"), ExportFormat(kind))
    with (tmp_path / "said").open("wb") as output:
        subprocess.run(words, cwd=tmp_path, stdout=output, check=True, timeout=200)
    assert (tmp_path / "said").read_bytes() == (tmp_path / "x.y").read_bytes()
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()  # a reader that goes away is not an error
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-o", "x.prom"), "-o x.prom: the suffix does not say the format: add --as csv, parquet"),
        (("-o", "-"), "-o -: the suffix does not say the format"),
        (("-o", "-", "--as", "parquet"), "parquet cannot go to standard output"),
        (("-o", "-", "--as", "fio-plot"), "fio-plot cannot go to standard output"),
        (("-o", "-", "--as", "csv", "--format", "json"), "cannot both use standard output"),
        (("-o", "x.csv", "--as", "xlsx"), "Invalid value for '--as'"),
        ((), "Missing option '--output'"),
    ],
)
def test_a_wrong_word_is_one_line_and_exit_code_2(
    make: Make, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    make("a")
    done = done_here("export", "recordings", *words, cwd=tmp_path, code=2)
    assert said in done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("kind", ["csv", "openmetrics"])
def test_a_file_holds_nothing_that_controls_a_terminal(
    make: Make, tmp_path: Path, kind: str
) -> None:
    make("a", conditions={"slot": "\x1b[31mtop\x07"})
    make("b", conditions={"slot": "\x1b]0;x\x9b"})
    done_here("export", "recordings", "-o", "out.txt", "--as", kind, cwd=tmp_path)
    text = (tmp_path / "out.txt").read_text("utf-8")
    assert "x1b[31mtop" in text
    assert all(line.isprintable() for line in text.splitlines())
