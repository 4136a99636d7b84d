"""Tables as testers, reviewers and their scripts write them, beside what is true of each."""

from collections.abc import Callable
from datetime import datetime, timedelta

import numpy as np
import pytest
from heatsoak.analysis.sensors import sense
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Options, Source, read
from heatsoak.importer.recordings import to_recording

_ROWS, _ONSET = 120, 50
_BEGAN = datetime(2026, 11, 20, 14, 3, 17)
_WRITTEN = [0.0]
for _i in range(1, _ROWS + 1):
    _WRITTEN.append(_WRITTEN[-1] + (2000 if _i <= _ONSET else 900) + _i % 7)

#: A row's second, MB/s, degrees Celsius.
Row = Callable[[int, float, int], str]


def _at(second: int) -> datetime:
    return _BEGAN + timedelta(seconds=second)


def _rate(second: int) -> float:
    return _WRITTEN[second] - _WRITTEN[second - 1]


def _temp(second: int) -> int:
    return 40 + min(second, _ONSET) * 4 // 5


def _table(header: str, row: Row) -> str:
    rows = (row(i, _rate(i), _temp(i)) for i in range(1, _ROWS + 1))
    return "\n".join([header, *rows, ""])


def _comma(value: float) -> str:
    return f"{value:,.1f}".translate(str.maketrans(",.", ".,"))


def _read(text: str, encoding: str = "utf-8", **mapping: str) -> list[Log]:
    return read(Source.of_bytes("log.csv", text.encode(encoding)), Options(mapping=mapping))


_TABLES: list[tuple[str, Row]] = [
    (",timestamp,write_bw_mib,ssd_temp",
     lambda i, r, t: f"{i - 1},{_at(i):%Y-%m-%d %H:%M:%S.%f},{r / 1.048576},{t}"),
    ("Unnamed: 0,Write MB/s,Temp", lambda i, r, t: f"{i - 1},{r},{t}"),
    ("Sample,Write MB/s,Temp", lambda i, r, t: f"{i},{r},{t}"),
    ("Time,Write Speed (MB/s),NVMe Temp (°C)",
     lambda i, r, t: f"{_at(i).isoformat()}+01:00,{r},{t}"),
    ("timestamp_ms,writeMBps,driveTempC",
     lambda i, r, t: f"{1763647397000 + 1000 * i},{r},{t}"),
    ("elapsedMs,writeBandwidth,temperature", lambda i, r, t: f"{1000 * i},{r},{t}"),
    ("ELAPSED_SEC,WRITE_MBPS,DRIVE_TEMP_C", lambda i, r, t: f"{i},{r},{t}"),
    ("Minutes,Write MB/s,Temp °C", lambda i, r, t: f"{i / 60:.6f},{r},{t}"),
    ("Elapsed Time (mm:ss),Write (MB/s),SSD Temp(C)",
     lambda i, r, t: f"{i // 60:02d}:{i % 60:02d},{r},{t}"),
    ("time,write MB/s,temp",
     lambda i, r, t: f"{(i + 3580) // 60 % 60:02d}:{(i + 3580) % 60:02d}.0,{r},{t}"),
    ("t,write MB/s,temp", lambda i, r, t: f"T+{i}s,{r},{t}"),
    ("Time,Write,Temp", lambda i, r, t: f"{i // 60}m {i % 60}s,{r} MB/s,{t}°C"),
    ("elapsed,Write MB/s,Temp", lambda i, r, t: f"0 days 00:{i // 60:02d}:{i % 60:02d},{r},{t}"),
    ("time,Write MB/s,Temp", lambda i, r, t: f"{_at(i):%Y%m%d_%H%M%S},{r},{t}"),
    ("time,Write MB/s,Temp", lambda i, r, t: f"{_at(i):%Y%m%d%H%M%S},{r},{t}"),
    ("time,Write MB/s,Temp", lambda i, r, t: f"{_at(i):%Y-%m-%d-%H-%M-%S},{r},{t}"),
    ("Time;Write MB/s;Temp C",
     lambda i, r, t: f"{46346.5 + i / 86400:.9f}".replace(".", ",") + f";{r};{t}"),
    ("Zeit;Schreiben (MB/s);Temperatur (°C)",
     lambda i, r, t: f"{_at(i):%d.%m.%Y %H:%M:%S};{_comma(r)};{_comma(t)}"),
    ("Temps écoulé (s);Débit écriture (Mo/s);Température (°C)",
     lambda i, r, t: f"{i};{_comma(r).replace('.', chr(0x202F))};{t}"),
    ("Tiempo (s);Velocidad de escritura (MB/s);Temperatura del disco (°C)",
     lambda i, r, t: f"{i};{_comma(r)};{t}"),
    ("记录时间,写入速度(MB/s),温度(℃)", lambda i, r, t: f"{_at(i):%Y/%m/%d %H:%M:%S},{r},{t}"),
    ('"Timestamp","WriteBytesPersec","ReadBytesPersec","Temperature"',
     lambda i, r, t: f'"{_at(i):%d/%m/%Y %H:%M:%S}","{r * 1e6:.0f}","0","{t}"'),
    ("# time_s, write_mb_s, temp_c", lambda i, r, t: f"{i}, {r}, {t}"),
    ("Operator,J. Doe,\nDate,2026-11-20,\n,,\nElapsed (s),Seq Write (MB/s),Temp (C)",
     lambda i, r, t: f"{i},{r},{t}"),
    ("Time,Performance,,Thermal,\ns,Write MB/s,Write IOPS,Composite,Sensor 1",
     lambda i, r, t: f"{i},{r},{8 * r},{t},{t + 5}"),
    ("time_s,write_mb_s_mean,write_mb_s_min,write_mb_s_max,temp_c",
     lambda i, r, t: f"{i},{r},{r - 100},{r + 100},{t}"),
    ("time_s,write_mb_s,temperature", lambda i, r, t: f"{i},{r},{t + 273.15}"),
    ("time_s,write_mb_s,temp", lambda i, r, t: f"{i},{r},{1000 * t}"),
    ("time_s,host_writes_gb,temp_c", lambda i, _, t: f"{i},{1234 + _WRITTEN[i] / 1e3:.3f},{t}"),
    ("time_s,Total Host Writes [MiB],temp_c",
     lambda i, _, t: f"{i},{_WRITTEN[i] / 1.048576:.0f},{t}"),
    ("time_s,data_units_written,data_units_read,temperature",
     lambda i, _, t: f"{i},{9e6 + _WRITTEN[i] // 0.512:.0f},77,{t}"),
    ("time_s,write_mb,temp", lambda i, r, t: f"{i},{r},{t}"),
    ("temp_c,throttle limit," + ",".join(f"x{n}" for n in range(300)) + ",write_mb_s,timestamp",
     lambda i, r, t: f"{t},," + ",".join(str(i * n % 97) for n in range(300))
     + f",{r},{_at(i):%Y-%m-%d %H:%M:%S}"),
]  # fmt: skip


@pytest.mark.parametrize(("header", "row"), _TABLES, ids=[header[:50] for header, _ in _TABLES])
def test_a_testers_table_is_read_as_it_was_meant(header: str, row: Row) -> None:
    (log,) = _read(_table(header, row))
    assert log.end_s == pytest.approx(_ROWS, abs=1.01)
    rates = log.samples["write_bw_mb_s"].drop_nulls()
    assert rates[5:40].mean() == pytest.approx(2003, rel=0.01)
    assert rates[60:].mean() == pytest.approx(903, rel=0.01)
    temps = log.samples["temp_c.composite"].drop_nulls()
    assert (temps[0], temps[-1]) == (pytest.approx(40, abs=0.5), pytest.approx(80, abs=0.5))


@pytest.mark.parametrize(
    ("header", "off", "on"),
    [
        ("Throttle Status", "None", "Thermal"),
        ("Throttle Status", "None", "TMT1"),
        ("Throttle Status", "Not throttled", "Light throttling"),
        ("Throttle Status", "", "thermal"),
        ("Throttle Status", "n/a", "Heavy"),
        ("Throttle Status", "0x00", "0x02"),
        ("Throttle", "Level 0", "Level 2"),
        ("Throttle Level", "0", "2"),
        ("Throttle %", "0", "45"),
        ("Thermal Throttle (Y/N)", "N", "Y"),
        ("thermal_state", "normal", "critical"),
        ("isThrottled", "False", "True"),
        ("是否降频", "否", "是"),
    ],
)
def test_throttling_is_recognized_by_words_of_any_kind(header: str, off: str, on: str) -> None:
    (log,) = _read(
        _table(
            f"time_s,write_mb_s,{header}", lambda i, r, _: f"{i},{r},{on if i > _ONSET else off}"
        )
    )
    (column,) = (name for name in log.samples.columns if name.startswith("throttle_time_s."))
    assert log.samples[column][-1] == _ROWS - _ONSET


def test_numbers_that_only_rise_count_throttling_rather_than_being_a_state() -> None:
    (log,) = _read(
        _table("time_s,write_mb_s,throttle", lambda i, r, _: f"{i},{r},{7 + max(i - _ONSET, 0)}")
    )
    assert log.samples["throttle_count.throttling"][-1] == 7 + _ROWS - _ONSET


def test_a_word_that_never_changes_does_not_mean_throttling() -> None:
    (log,) = _read(_table("time_s,write_mb_s,throttling", lambda i, r, _: f"{i},{r},supported"))
    assert not any(name.startswith("throttle") for name in log.samples.columns)


@pytest.mark.parametrize("restarts", [True, False])
def test_a_column_that_says_how_runs_were_made_divides_and_labels_them(restarts: bool) -> None:
    lines = ["heatsink,time_s,firmware,write_mb_s"]
    for number, kind in enumerate(("none", "copper")):
        begin = 0 if restarts else number * _ROWS
        lines += [f"{kind},{begin + i},1.2b,{_rate(i)}" for i in range(1, _ROWS + 1)]
    first, second = _read("\n".join(lines))
    assert first.conditions["heatsink"] == "none"
    assert second.conditions["heatsink"] == "copper"
    assert first.drive == {"firmware": "1.2b"}
    assert first.samples.height == second.samples.height == _ROWS


@pytest.mark.parametrize("header", ["cycle", "Loop", "Test #", "Run Number", "Pass #", "Round"])
def test_stacked_runs_are_told_apart(header: str) -> None:
    lines = [f"{header},time_s,write_mb_s"]
    lines += [f"{run},{i},{_rate(i)}" for run in (1, 2, 3) for i in range(1, _ROWS + 1)]
    assert len(_read("\n".join(lines))) == 3


def test_counters_in_whole_units_are_taken_over_as_many_rows_as_it_takes() -> None:
    (log,) = _read(
        _table("time_s,GB Written,temp_c", lambda i, _, t: f"{i},{_WRITTEN[i] / 1e3:.0f},{t}")
    )
    rates = log.samples["write_bw_mb_s"].drop_nulls()
    assert len(rates) < _ROWS / 5
    assert np.abs(np.array(rates[:3]) - 2003).max() < 100


def test_columns_that_only_name_drives_are_their_temperatures() -> None:
    (log,) = _read(_table("time,nvme0,nvme1,cpu", lambda i, _, t: f"{i},{t},35,50"))
    assert log.samples["temp_c.nvme0"][-1] == 80
    assert "read as temperatures: 'nvme0', 'nvme1' and 'cpu'" in " ".join(
        r.text for r in log.remarks
    )


def test_rows_that_are_counted_are_said_to_be_taken_as_a_second_apart() -> None:
    (log,) = _read(_table("index,Write MB/s,Temp", lambda i, r, t: f"{i - 1},{r},{t}"))
    assert any(r.doubt and "'index' counts rows" in r.text for r in log.remarks)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_table("Zt,Durchs,Tmptr", lambda i, r, t: f"{i},{r},{t}"),
         "among Zt, Durchs and Tmptr: .*--map 'time=Zt,write_mb_s=Durchs,temp_c=Tmptr'"),
        ("Date,Product,Price\n" + "".join(f"2026-11-{d},SSD {d},{d}.99\n" for d in range(10, 29)),
         "no column of throughput, temperature or power among Date, Product and Price"),
        ("Date,Unit,Exchange Rate\n" + "".join(f"2026-11-{d},USD,1.{d}\n" for d in range(10, 29)),
         "no column of throughput"),
        ("Date,Station,Temperature\n" + "".join(f"2026-11-{d},Oslo,{d}.5\n" for d in range(10, 29)),
         "rows are 24 h apart"),
        ("Date,SSD,Write Speed (MB/s),Price\n"
         + "".join(f"2026-11-{d},S{d},{d}00,{d}.99\n" for d in range(10, 29)),
         "rows are 24 h apart"),
    ],
)  # fmt: skip
def test_what_is_not_a_log_is_refused_with_what_would_help(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        _read(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("objects", "counter", "device"),
    [
        ("Physikalischer Datenträger({})", "Bytes geschrieben/s", "1 D:"),
        ("Disque physique({})", "Écritures disque, octets/s", "1 D:"),
        ("物理磁盘({})", "磁盘写入字节数/秒", "1 D:"),
        ("PhysicalDisk({})", "Disk Write Bytes/sec", "1 D:"),
        ("LogicalDisk({})", "Disk Write Bytes/sec", "D:"),
    ],
)
def test_performance_monitors_counters_are_known_in_other_languages(
    objects: str, counter: str, device: str
) -> None:
    names = ("C:" if device == "D:" else "0 C:", device, "_Total")
    paths = [rf'"\\PC\{objects.format(name)}\{counter}"' for name in names]
    header = ",".join(['"(PDH-CSV 4.0) (X)(-60)"', *paths])
    (log,) = _read(
        _table(header, lambda i, r, _: f'"{_at(i):%m/%d/%Y %H:%M:%S}.123","0","{r}e6","{r}e6"')
    )
    assert log.drive == {"path": device}
    assert log.samples["write_bw_mb_s"][9] == _rate(10)


def test_a_step_in_which_nothing_was_moved_is_not_a_load() -> None:
    rows = [f"{i},idle,0,40" for i in range(1, 61)]
    rows += [f"{60 + i},burn,{_rate(i)},{_temp(i)}" for i in range(1, _ROWS + 1)]
    (log,) = _read("\n".join(["time_s,phase,write_mb_s,temp_c", *rows]))
    assert [step.name for step in log.steps] == ["burn"]
    assert log.samples["step"].null_count() == 60


def test_constant_surroundings_are_allowed_and_without_throughput_there_is_no_load() -> None:
    text = _table("time_s,temp_c,cpu_temp,ambient", lambda i, _, t: f"{i},{t},50,23.5")
    (log,) = _read(text)
    trust = {sensor.name: sensor for sensor in sense(to_recording(log, {})).trusts}
    assert trust["ambient"].trust == "unknown"
    assert trust["cpu"].why == "it reads 50 C all the time"
