"""Any delimited table with a header."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Options, Source, read

DATA = Path(__file__).parent / "data" / "plain"


def _read(text: str | bytes, **mapping: str) -> list[Log]:
    data = text if isinstance(text, bytes) else text.encode()
    return read(Source.of_bytes("log.csv", data), Options(mapping=mapping))


def _said(log: Log, *, doubt: bool) -> str:
    return " ".join(remark.text for remark in log.remarks if remark.doubt == doubt)


def _rows(template: str, count: int = 20) -> str:
    return "".join(template.format(i=i, s=f"{i:02d}") + "\n" for i in range(count))


#: A table's header and rows; some of its values (column, row, value); what is said of it.
TABLES: dict[str, tuple[str, list[tuple[str, int, float]], str]] = {
    "a rate and a temperature": ("time_s,Write MB/s,temp_c\n" + _rows("{i},5{s},4{s}"),
        [("t_s", 2, 3), ("write_bw_mb_s", 3, 503)], "MB/s is read as 10^6"),
    "the first row ends the first interval": ("time_s,write MiB/s\n" + _rows("{i}.5,5{s}"),
        [("t_s", 0, 0.5), ("write_bw_mb_s", 0, 524.288)], "MiB/s converted to MB/s"),
    "small letters": ("time_s,bw_mib\n" + _rows("{i}.5,5{s}"), [("bw_mb_s", 0, 524.288)],
        "MiB/s converted to MB/s"),
    "decimal commas": ("Zeit;Schreibrate [MB/s];Temperatur\n" + _rows("10:00:{s};1.5{s},25;40,5"),
        [("write_bw_mb_s", 1, 1501.25), ("temp_c.composite", 1, 40.5)], ""),
    "thousands": ("time,write B/s\n" + _rows('{i},"1,2{s},000"'), [("write_bw_mb_s", 0, 1.2)], ""),
    "decimals or thousands": ("time;write MiB/s\n" + _rows("{i};1,5{s}"),
        [("write_bw_mb_s", 0, 1.572864)], "read as the decimal mark"),
    "thousands or decimals": ("time,write MiB/s\n" + _rows('{i},"1,5{s}"'),
        [("write_bw_mb_s", 0, 1572.864)], "separator of thousands"),
    "lines above": ("My logger 1.0\nDrive: X, 2 TB\nInterval,1000\n\ntime_s,write MiB/s\n"
        + _rows("{i},500"), [("t_s", 19, 20)], ""),
    "a row of units": ("time,write,temp\n[ms],[MiB/s],[°F]\n" + _rows("{i}000,500,104"),
        [("t_s", 1, 2), ("temp_c.composite", 0, 40)], ""),
    "units in the cells": ("time,temp,speed\n" + _rows("{i},45 °C,1.2 GB/s", 3)
        + "3,45 °C,800 MB/s\n", [("bw_mb_s", 2, 1200), ("bw_mb_s", 3, 800)], ""),
    "milliseconds": ("time,write MiB/s\n" + _rows("{i}000,500"), [("t_s", 19, 20)],
        "read as milliseconds"),
    "MB/s by size": ("time_s,write speed\n" + _rows("{i},500"), [("write_bw_mb_s", 0, 500)],
        "is read as MB/s"),
    "KiB/s by size": ("time_s,write speed\n" + _rows("{i},488281.25"),
        [("write_bw_mb_s", 0, 500)], "is read as KiB/s"),
    "bytes by size": ("time_s,write speed\n" + _rows("{i},500000000"),
        [("write_bw_mb_s", 0, 500)], "is read as bytes a second"),
    "a header in the middle": ("time_s,write MiB/s\n" + _rows("{i},500", 9)
        + "time_s,write MiB/s\n9,500\n10,500\n", [("t_s", 10, 11)], ""),
    "a count of rows": ("iteration,time_s,write MiB/s\n" + _rows("{i},{i},500"), [("t_s", 19, 20)],
        "counts rows"),
    "a row a direction": ("time_s,op,MiB/s,temp\n" + _rows("{i},read,1,40\n{i},write,2,40", 9),
        [("read_bw_mb_s", 8, 1.048576), ("write_bw_mb_s", 8, 2.097152),
         ("temp_c.composite", 8, 40)], ""),
    "a row a device": ("time_s,device,write MiB/s,temp\n"
        + _rows("{i},nvme0,0,40\n{i},nvme1,500,41", 9), [("temp_c.composite", 0, 41)],
        "left out: nvme0"),
    "many columns": ("time_s,write MiB/s," + ",".join(f"x{i}" for i in range(300)) + "\n"
        + _rows("{i},500" + ",1" * 300), [("t_s", 19, 20)], "300 other columns are not needed"),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_read_in_recordings_columns_and_units(name: str) -> None:
    table, values, said = TABLES[name]
    (log,) = _read(table)
    for column, row, value in values:
        assert log.samples[column][row] == pytest.approx(value)
    assert said in " ".join(remark.text for remark in log.remarks)


@pytest.mark.parametrize(
    ("table", "start_unix_s"),
    [
        ("Date,Time,Temp\n" + _rows("2026-11-21,10:00:{s},40"), 1795255200),
        ("wall_time,elapsed_s,write MiB/s\n" + _rows("2026-11-21 10:00:{s},{i}.5,500"),
         1795255199.5),
    ],
)  # fmt: skip
def test_two_columns_of_times_are_one_clock(table: str, start_unix_s: float) -> None:
    (log,) = _read(table)
    assert (log.clock, log.start_unix_s) == ("local", start_unix_s)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", "   "])
def test_cells_are_parted_by_what_parts_them(delimiter: str) -> None:
    table = "time,write MiB/s,temp\n" + _rows("{i},5{s},4{s}")
    (log,) = _read(table.replace(",", delimiter))
    assert log.samples["temp_c.composite"][1] == 401
    assert log.samples["write_bw_mb_s"][1] == pytest.approx(501 * 1.048576)


def test_a_state_becomes_counters() -> None:
    words = ["Nein"] * 5 + ["Ja"] * 3 + ["Nein"] * 4 + ["Ja"] * 2
    rows = "".join(f"{i + 1},500,{word}\n" for i, word in enumerate(words))
    (log,) = _read("time_s,write MiB/s,gedrosselt\n" + rows)
    assert log.samples["throttle_count.throttling"][-1] == 2
    assert log.samples["throttle_time_s.throttling"][-1] == 5


def test_runs_are_recognized_by_a_column() -> None:
    rows = "".join(f"{run},{i + 1},500\n" for run in ("case", "open") for i in range(8))
    first, second = _read("Run #,time_s,write MiB/s\n" + rows)
    assert [first.label, second.label] == ["case", "open"]
    assert second.conditions == {"run": "open"}
    assert second.samples["t_s"][0] == 1


def test_runs_are_recognized_by_time_that_jumps_back() -> None:
    part = "time_s,write MiB/s\n" + _rows("{i},500")
    first, second = _read(part + part)
    assert [first.label, second.label] == ["1", "2"]
    assert second.samples.height == 20


@pytest.mark.parametrize(
    "times",
    [
        [f"2026-01-01 10:00:{at:02}" for at in range(59, -1, -1)],
        [f"2026-01-01 10:00:{at // 2:02}" for at in range(119, -1, -1)],
        [f"10:00:{at:02}" for at in range(59, -1, -1)],
        list(range(60, 0, -1)),
        [17 * at % 61 for at in range(1, 61)],
    ],
    ids=["newest-first", "twice-a-second", "without-a-date", "counted-down", "shuffled"],
)
def test_a_table_in_another_order_than_that_of_time_is_sorted(times: list[object]) -> None:
    ordered = sorted(times, key=lambda at: (len(str(at)), str(at)))
    rows = "".join(f"{at},{100 + ordered.index(at)}\n" for at in times)
    (log,) = _read("time,write MB/s\n" + rows)
    rates = log.samples["write_bw_mb_s"].to_list()
    assert log.samples["t_s"].is_sorted()
    assert (rates, len(rates)) == (sorted(rates), len(set(times)))
    assert "sorted" in _said(log, doubt=False)


def test_steps_say_what_they_did() -> None:
    rows = _rows("{i},randwrite 4k QD32,0,500", 9) + "".join(
        f"{i},seqread 128k QD8,900,0\n" for i in range(9, 18)
    )
    (log,) = _read("time_s,phase,read MiB/s,write MiB/s\n" + rows)
    write, read_step = log.steps
    assert (write.rw, write.bs, write.iodepth, write.reads) == ("randwrite", 4096, 32, False)
    assert (read_step.rw, read_step.writes) == ("read", False)
    assert log.samples["step"].to_list() == [write.name] * 9 + [read_step.name] * 9


def test_an_own_export_is_read_as_it_is() -> None:
    (log,) = _read(
        "t_s,step,interval_s,write_bw_mb_s,write_lat_p99_us,temp_c.sensor1,throttle_count.t1\n"
        "0.25,a,0.25,500,80,40,0\n0.5,a,0.25,400,90,41,1\n1.25,b,0.25,300,,42,1\n"
    )
    assert log.samples["t_s"].to_list() == [0.25, 0.5, 1.25]
    assert log.samples["interval_s"].to_list() == [0.25] * 3
    assert [step.name for step in log.steps] == ["a", "b"]
    assert not _said(log, doubt=True)


def test_a_mapping_names_columns_by_header_or_number() -> None:
    table = "Zeitmarke,foo,bar\n" + _rows("{i},500,40")
    (log,) = _read(table, time="zeitmarke", write_mib_s="2", temp_c="bar")
    assert log.samples["write_bw_mb_s"][0] == pytest.approx(524.288)
    (log,) = _read(_rows("{i},500,40"), time_ms="1", write_mb_s="2", temp_c="3")
    assert log.samples["t_s"][-1] == pytest.approx(0.02)
    (log,) = _read("foo,bar\n" + _rows("500,40"), interval_s="0.5", write_mb_s="foo")
    assert log.samples["t_s"][-1] == 10


@pytest.mark.parametrize(
    ("table", "mapping", "message"),
    [
        ("1,2\n2,3\n", {}, "has no header.*--map time=1"),
        (
            "usr,sys,idl,wai,hiq,siq\n1,2,3,4,5,6\n2,3,4,5,6,7\n",
            {},
            "no column of times among usr, .*--map time=COLUMN,",
        ),
        ("a,b\n1,2\n2,3\n", {}, "no column of times among a and b.*--map 'time=a,write_mb_s=b'"),
        (
            "time,b\n1,2\n2,3\n",
            {},
            "no column of throughput, temperature or power among time and b.*--map 'write_mb_s=b'",
        ),
        ("time,wrte\n1,2\n", {"write_mb_s": "write"}, r"did you mean 'wrte'.*it has time and wrte"),
        ("time,w\n1,2\n", {"write_mb_s": "7"}, "has no column 7.*it has 2"),
        ("time,w\n1,2\n", {"wriet_mb_s": "1"}, "is not a quantity.*did you mean 'write_mb_s'"),
        ("time,write MB/s\n", {}, "holds no row"),
        ("time,write MB/s\nabc,1\nabc,2\n", {}, "holds no row"),
        ("Dear all,\nplease find attached\n", {}, "not in a format"),
        ("", {}, "is empty"),
    ],
)
def test_what_is_missing_is_said_in_one_line(
    table: str, mapping: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        _read(table, **mapping)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_read_is_counted() -> None:
    table = "time_s,write MiB/s,temp\n" + _rows("{i},500,40", 9)
    (log,) = _read(table + "garbage\nmore\n9,500\n10,500,41\n11,50")
    said = _said(log, doubt=True)
    assert "2 lines could not be read, the first is line 11" in said
    assert "line 13 is truncated" in said
    assert "line 15, the last, is truncated" in said
    assert log.samples.height == 11


def test_a_meaningless_header_in_the_middle_loses_only_what_is_below_it() -> None:
    table = "time_s,write MiB/s\n" + _rows("{i},500", 9) + "time_s,xyz\n9,1\n10,2\n"
    (log,) = _read(table)
    assert log.samples.height == 9
    assert "2 lines could not be read, the first is line 12" in _said(log, doubt=True)


def test_a_header_that_changes_in_the_middle_keeps_the_steps() -> None:
    begun = "time,write_mb_s,step\n"
    rows = [f"2024-05-01 12:00:{second:02},{second},fill\n" for second in range(30)]
    changed = "time,write_mb_s,temp_c\n"
    more = [f"2024-05-01 12:00:{second:02},{second},40\n" for second in (33, 31, 30, 32, 34, 35)]

    (log,) = _read(begun + "".join(rows) + changed + "".join(more))

    steps = log.samples["step"].to_list()
    assert steps == ["fill"] * 30 + [None] * 6
    assert log.samples["write_bw_mb_s"].to_list() == list(range(36))


def test_libre_hardware_monitors_log_is_read() -> None:
    (log,) = read(Source.of_path(DATA / "libre-hardware-monitor.csv"))
    assert log.drive == {"path": "nvme0"}
    assert log.samples["write_bw_mb_s"][0] == 900
    assert log.samples["temp_c.composite"][0] == 40
    assert log.samples["temp_c.cpu"][0] == 55
    assert log.start_unix_s == pytest.approx(1772618400 - 1)
    assert not _said(log, doubt=True)


def test_performance_monitors_log_is_read() -> None:
    (log,) = read(Source.of_path(DATA / "perfmon.csv"))
    assert log.drive == {"path": "0 C:"}
    row = log.samples.row(5, named=True)
    assert row["write_bw_mb_s"] == pytest.approx(499.999995)
    assert row["write_lat_us"] == pytest.approx(5000)
    assert (row["busy_pct"], row["write_iops"], row["cpu_pct"]) == (95, 1000, 10)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_encodings_are_seen(encoding: str) -> None:
    table = "Zeit;Schreibrate [MB/s];Gerät-Temperatur [°C]\n" + _rows("10:00:{s};500;40")
    (log,) = _read(table.encode(encoding))
    assert log.samples.columns[-1].startswith("temp_c.")
    assert log.samples["write_bw_mb_s"][0] == 500


@pytest.mark.slow
def test_many_rows_are_read_as_few_are() -> None:
    header = "time_s,write MiB/s,temp [C],throttled\n"
    rows = [f"{i}.5,{i % 700}.25,{40 + i % 9},{'Yes' if i % 7 else 'No'}\n" for i in range(150_000)]
    rows[70_000] = "what is this?\n"
    rows[80_000] = '"80000.5","1,024.5",41,Yes\n'
    rows[90_000] = "90000.5,,41,\n"

    (log,) = _read(header + "".join(rows))
    few = _read(header + "".join(rows[89_000:91_000]))[0].samples

    assert "line 70002" in _said(log, doubt=True)
    assert log.samples.height == 149_999
    assert log.samples["write_bw_mb_s"][79_999] == pytest.approx(1024.5 * 1.048576)
    some = log.samples[88_999:90_999]
    for column in ("write_bw_mb_s", "temp_c.composite"):
        assert some[column].to_list() == few[column].to_list()
    assert some["write_bw_mb_s"].null_count() == 1
    assert log.samples["throttle_time_s.throttling"][-1] > 100_000


def test_a_header_that_comes_again_above_other_units_has_columns_of_its_own() -> None:
    header = "Time,Disk 1 Write Speed,Disk 2 Read Speed,Disk 2 Write Speed\n"
    rows = "".join(f"9:00:{second:02d},1500.0,0,5.0\n" for second in range(20))
    text = header + ",MB/s,%,MB/s\n" + rows + "Time,Disk 1 W\n" + header
    (log, *_) = read(Source.of_bytes("x.csv", text.encode()))
    assert log.samples["write_bw_mb_s"].max() == 1500.0


def test_a_complaint_about_endless_headers_stays_one_short_line() -> None:
    header = ",".join(["time_s", *("x" * 5000 + str(number) for number in range(8))])
    text = "\n".join([header, *(f"{row}" + ",1" * 8 for row in range(5))])
    with pytest.raises(UsageError) as raised:
        read(Source.of_bytes("x.csv", text.encode()), Options())
    assert "has no column of throughput, temperature or power" in str(raised.value)
    assert len(str(raised.value)) < 1500


def _monitors(*columns: tuple[str, str, str]) -> str:
    """A Libre or Open Hardware Monitor log; `{i}` in a value is the second."""
    paths, names, values = zip(*columns, strict=True)
    rows = [
        ",".join([f"03/04/2026 10:{i // 60:02}:{i % 60:02}", *(v.format(i=i) for v in values)])
        for i in range(600)
    ]
    return "\n".join([f",{','.join(paths)}", f"Time,{','.join(names)}", *rows]) + "\n"


def test_a_monitors_board_and_network_are_no_drives() -> None:
    (log,) = _read(
        _monitors(
            ("/hdd/0/temperature/0", "Temperature", "40"),
            ("/lpc/nct6791d/temperature/1", "Temperature #1", "71"),
            ("/nic/{{A}}/load/1", "Network Utilization", "NaN"),
        )
    )
    assert [name for name in log.samples.columns if name.startswith("temp_c.")] == [
        "temp_c.composite"
    ]
    assert log.conditions == {}


def test_a_monitors_counter_is_one_drives_and_of_gib() -> None:
    (log,) = _read(
        _monitors(
            ("/hdd/0/temperature/0", "Temperature", "40"),
            ("/hdd/0/data/0", "Total Bytes Written", "{i}.5"),
            ("/hdd/1/temperature/0", "Temperature", "30"),
        )
    )
    assert log.drive == {"path": "hdd0"}
    assert log.samples["write_bw_mb_s"][200:500].median() == pytest.approx(1073.7, rel=0.01)


def test_shares_and_rates_without_a_name_are_no_temperatures() -> None:
    table = "time,[CPU]Idle%,[CPU]Proc/sec\n" + "".join(f"{i},50,40\n" for i in range(1, 60))
    with pytest.raises(UsageError, match="no column of throughput, temperature or power"):
        _read(table)


def test_sensors_may_be_numbered_with_a_sign() -> None:
    (log,) = _read("time_s,Temperature #2 [°C]\n" + "".join(f"{i},40\n" for i in range(1, 60)))
    assert "temp_c.sensor2" in log.samples.columns


def test_dstats_columns_without_its_other_lines_are_of_bytes() -> None:
    rows = "".join(f"{i},3,0,1703116.8\n" for i in range(1, 60))
    (log,) = _read(f'"time","usr","read","writ"\n{rows}')
    assert log.samples["write_bw_mb_s"][9] == pytest.approx(1.7031168)


def test_rows_that_all_carry_one_time_are_even_intervals_apart() -> None:
    table = "Timestamp,wMB/s\n" + _rows("2026-11-05 23:50:46.5,5{s}")
    (log,) = _read(table)
    assert log.samples["t_s"].to_list() == list(range(1, 21))
    assert "its 20 rows all carry the same time: taken as 1 s apart" in _said(log, doubt=True)
    (log,) = _read(table, interval_s="5")
    assert log.end_s == 100


def test_rows_of_one_time_are_counted_where_only_the_first_is_read() -> None:
    (log,) = _read("time,write MiB/s\n" + _rows("{i},500") + _rows("{i},500")[-7:])
    assert "1 of 21 rows have the time of another one" in _said(log, doubt=True)


def test_columns_whose_cells_are_letters_are_not_measured() -> None:
    (log,) = _read("time,write MiB/s,r,s\n" + _rows("{i},5{s},r,s"))
    assert log.samples.columns == ["t_s", "interval_s", "write_bw_mb_s"]
    assert log.samples["t_s"][4] == 5
    assert log.conditions == {}
    assert "left out, since their cells are not numbers: 'r'" in _said(log, doubt=False)


def test_of_two_columns_of_one_meaning_the_one_that_is_not_0_throughout_is_read() -> None:
    (log,) = _read("time,write MiB/s,host write MiB/s\n" + _rows("{i},0,5{s}"))
    assert log.samples["write_bw_mb_s"][0] == pytest.approx(500 * 1.048576)


def test_writes_per_s_beside_iops_are_bytes() -> None:
    (log,) = _read("time,wIOPS,w_per_s\n" + _rows("{i},84,440401{s}.0"))
    assert log.samples["write_iops"][0] == 84
    assert log.samples["write_bw_mb_s"][0] == pytest.approx(44.0401)
    (log,) = _read("time,w_per_s\n" + _rows("{i},84"))
    assert log.samples["write_iops"][0] == 84


def test_a_rate_of_neither_reads_nor_writes_is_not_added_to_them() -> None:
    (log,) = _read("time,rate,writeMibs,readMibs,writes\n" + _rows("{i},200000,5{s},0,128"))
    assert "bw_mb_s" not in log.samples.columns
    assert log.samples["write_bw_mb_s"][0] == pytest.approx(500 * 1.048576)
    assert log.samples["write_iops"][0] == 128


def test_a_processors_idle_share_is_no_temperature() -> None:
    with pytest.raises(UsageError, match="no column of throughput, temperature or power"):
        _read("time,cpu_usr,cpu_idl\n" + _rows("{i},2,9{i}", 9))


def test_dstats_columns_in_one_line_of_headers_are_of_disks() -> None:
    header = "time,cpu_idl,io_total_writ,io_sdh_writ,dsk_total_writ,dsk_sdh_writ\n"
    (log,) = _read(header + _rows("24-02 13:31:{s},98,9,20,4000000,2000000"))
    assert log.drive == {"path": "sdh"}
    assert log.samples["write_bw_mb_s"][3] == 2
    assert log.samples["write_iops"][3] == 20


def test_collectls_plot_format_is_read() -> None:
    above = f"{'#' * 60}\n# Collectl:   V4.3.1-1  HiRes: 1  Options: -sd -P\n{'#' * 60}\n"
    header = "#Date Time [CPU]Totl% [DSK]ReadTot [DSK]WriteTot [DSK]ReadKBTot [DSK]WriteKBTot\n"
    (log,) = _read(above + header + _rows("20260105 10:11:{s} 3 0 4000 0 5120{s}"))
    assert log.clock == "local"
    assert log.samples["write_iops"][0] == 4000
    assert log.samples["write_bw_mb_s"][0] == pytest.approx(512000 * 1.024e-3)
    assert log.samples["cpu_pct"][0] == 3


def test_collectls_details_are_of_each_drive() -> None:
    drive = "[DSK:{0}]Name [DSK:{0}]RKBytes [DSK:{0}]WKBytes"
    header = f"#Date Time {drive.format('sda')} {drive.format('nvme0n1')}\n"
    (log,) = _read(header + _rows("20260105 10:11:{s} sda 0 0 nvme0n1 0 5120{s}"))
    assert log.drive == {"path": "nvme0n1"}
    assert log.conditions == {}


def test_a_long_text_and_the_files_own_name_are_no_conditions() -> None:
    row = "{i},500,log.csv," + "x" * 101 + ",copper"
    (log,) = _read("time,write MiB/s,file,notes,heatsink\n" + _rows(row))
    assert log.conditions == {"heatsink": "copper"}


def test_a_counter_that_was_read_again_after_days_gives_no_rate() -> None:
    rows = "".join(f"{t},{1000 * i}\n" for i, t in enumerate([*range(20), *range(90000, 90020)]))
    (log,) = _read("time_s,Host Writes [MB]\n" + rows)
    assert log.samples["write_bw_mb_s"].count() == 38
    assert log.samples["write_bw_mb_s"].min() == 1000


def test_a_dump_of_several_files_is_read_file_by_file() -> None:
    table = ["time,write MiB/s", *_rows("{i},5{s}").splitlines()]
    dump = [f"{name}/log.csv:{line}\n" for name in ("a", "b") for line in table]
    logs = _read("".join(dump))
    assert [log.source for log in logs] == ["log.csv (a/log.csv)", "log.csv (b/log.csv)"]
    assert [log.samples.height for log in logs] == [20, 20]


# --- counters with holes, and what a name alone does not tell ---

_LOADED = [2500 if row < 50 else 900 for row in range(120)]
_MOVED = np.cumsum(_LOADED)


def _held(every: int) -> list[int]:
    return [int(_MOVED[row - row % every]) for row in range(120)]


@pytest.mark.parametrize(
    "written",
    [
        [str(moved) for moved in _MOVED],
        ["" if row % 4 == 3 else str(_MOVED[row]) for row in range(120)],
        ["" if row * 7 % 10 < 4 else str(_MOVED[row]) for row in range(120)],
        [str(moved) for moved in _held(2)],
        [str(moved) for moved in _held(5)],
        [str(_MOVED[row - (row * 7 % 10 in (1, 2, 3))]) for row in range(120)],
        [str(moved // 1000 * 1000) for moved in _MOVED],
    ],
    ids=["whole", "nulls", "nulls at odd times", "each 2nd", "each 5th", "at odd times", "coarse"],
)
def test_a_counter_with_holes_beside_one_that_stands_still_keeps_its_rates(
    written: list[str],
) -> None:
    rows = "".join(f"{row},812000,{moved}\n" for row, moved in enumerate(written))
    (log,) = _read(f"time_s,read [MB],written [MB]\n{rows}")
    told = log.samples.filter(pl.col("write_bw_mb_s").is_not_null())
    before = told.filter(pl.col("t_s") < 45)["write_bw_mb_s"].to_numpy()
    after = told.filter(pl.col("t_s") > 60)["write_bw_mb_s"].to_numpy()
    assert before.mean() == pytest.approx(2500, rel=0.02)
    assert after.mean() == pytest.approx(900, rel=0.02)
    assert min(before.min(), after.min()) > 0
    moved = (told["write_bw_mb_s"] * told["interval_s"]).sum()
    assert moved == pytest.approx(_MOVED[-1] - _MOVED[0], rel=0.03)


def test_a_counter_of_work_in_bursts_keeps_its_pauses() -> None:
    rates = [2500 if row // 6 % 3 == 0 else 0 for row in range(120)]
    rows = "".join(f"{row},{moved}\n" for row, moved in enumerate(np.cumsum(rates)))
    (log,) = _read(f"time_s,written [MB]\n{rows}")
    assert log.samples["write_bw_mb_s"].to_list()[1:] == rates[1:]


@pytest.mark.parametrize(
    ("header", "row", "column", "value"),
    [
        ("write MB/s,iops_in_progress", "500,3", "queue", 3),
        ("write MB/s,ios in flight", "500,3", "queue", 3),
        ("write MB/s,writes", "500,900", "write_iops", 900),
        ("writes", "500", "write_bw_mb_s", 500),
        ("write KiB/s", "-500000", "write_bw_mb_s", 512),
        ("disk.dev.write_bytes-sda", "500000", "write_bw_mb_s", 512),
        ('"disk.dev.write_bytes[""sda""]"', "500000", "write_bw_mb_s", 512),
        ("disk.dev.write-sda", "900", "write_iops", 900),
    ],
)
def test_a_quantity_is_more_than_a_name(header: str, row: str, column: str, value: float) -> None:
    (log,) = _read(f"time_s,{header}\n" + _rows("{i}," + row))
    assert log.samples[column][5] == pytest.approx(value)


def test_a_rate_that_only_grows_is_a_counter() -> None:
    rows = "".join(f"{row},{900_000_000 + row * 500_000}\n" for row in range(40))
    (log,) = _read(f"time_s,writes\n{rows}")
    assert log.samples["write_bw_mb_s"][5] == pytest.approx(512)
    assert "only grows" in _said(log, doubt=True)


def test_what_no_drive_can_do_is_not_judged() -> None:
    (log,) = _read("time_s,write MB/s,temp_c\n" + _rows("{i},539308,40"))
    assert "write_bw_mb_s" not in log.samples.columns
    assert "no drive can do: its unit is another, or it is of several drives" in _said(
        log, doubt=True
    )
    rows = "".join(f"{i},{9e9 if i == 30 else 500}\n" for i in range(60))
    (log,) = _read(f"time_s,write MB/s\n{rows}")
    assert log.samples["write_bw_mb_s"].null_count() == 1
    with pytest.raises(UsageError, match=r"no drive can do: --map 'write_b_s=b' may be meant"):
        _read("time_s,b\n" + _rows("{i},495251584"), write_mb_s="b")


@pytest.mark.parametrize(
    ("table", "advice"),
    [
        ('"(PDH-CSV 4.0) (UTC)(0)","\\\\H\\Memory\\Available MBytes"\n'
         '"03/01/2026 10:00:00.4","6768"\n"03/01/2026 10:00:15.4","6769"\n', "Write Bytes/sec"),
        ("time,used MB,cpu %\n1,400,3\n2,401,4\n", "a log of the drive has one in MB/s"),
        ("time,x,y\n1,400,0\n2,410,0\n", "--map 'write_mb_s=x'"),
        ("time,x\n1,495251584\n2,365531000\n", "--map 'write_b_s=x'"),
        ("8 sda 7 9\n8 sda 7 9\n8 sda 7 9\n", "--map time=NUMBER"),
    ],
)  # fmt: skip
def test_advice_takes_no_column_that_cannot_be_meant(table: str, advice: str) -> None:
    with pytest.raises(UsageError) as refusal:
        _read(table)
    assert advice in str(refusal.value)
    assert str(refusal.value).count("=") == advice.count("=")


RESULTS = [
    "file,op,bw_mib_s\na.json,read,30\nb.json,write,28\nc.json,read,41\nd.json,write,40\n",
    "bs,iodepth,MB/s\n4k,1,50\n4k,32,900\n128k,1,1500\n128k,32,3000\n",
    "#,name,read MB/s\n"
    + "".join(f"{row},drive {chr(97 + row)},{500 + row}\n" for row in range(14)),
]


@pytest.mark.parametrize("table", RESULTS)
@pytest.mark.parametrize("mapping", [{}, {"interval_s": "60"}])
def test_the_results_of_tests_are_no_course_in_time(table: str, mapping: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="the result of another test in each row") as refusal:
        _read(table, **mapping)
    assert "interval_s" not in str(refusal.value)


def test_means_of_reading_and_of_writing_are_passes_of_their_own() -> None:
    rows = "".join(f"{30 * row},2500,0.4,6400,0.2\n" for row in range(15))
    (log,) = _read(f"time_s,write_mb_s,write_time_s,read_mb_s,read_time_s\n{rows}")
    assert len(log.steps) == 30
    moved = log.samples["write_bw_mb_s"] + log.samples["read_bw_mb_s"]
    assert sorted(set(moved)) == [2500, 6400]
    assert [step.writes for step in log.steps[:2]] == [True, False]


def test_what_was_moved_per_second_is_no_time_of_a_pass() -> None:
    rows = "\n".join(f"2026-03-01,15:33:{i:02},80,9,{40e6 + i},{5e6 + i}" for i in range(20))
    (log,) = _read(f"date,time,wIOPS,rIOPS,w_per_s,r_per_s\n{rows}")
    assert "step" not in log.samples.columns
    assert log.samples["write_bw_mb_s"].to_list() == pytest.approx([40] * 20, abs=0.1)


@pytest.mark.parametrize(("other_mb_s", "other_c"), [(1250, 50), (2800, 83), (0, 30)])
def test_rows_of_several_drives_at_each_time_are_not_taken_for_one(
    other_mb_s: int, other_c: int
) -> None:
    rows = "".join(
        f"{at},{2800 + 40 * (at % 3)},{50 + at // 20}\n{at},{other_mb_s},{other_c}\n"
        for at in range(1, 61)
    )
    with pytest.raises(UsageError, match=r"60 of 120 rows .* as if of several drives"):
        _read("time_s,write MB/s,temp_c\n" + rows)


@pytest.mark.parametrize(
    ("drive", "mb_s", "doubt"),
    [
        ("interface,SATA 6Gb/s", 1800, "more than SATA carries (600)"),
        ("model,Samsung SSD 870 EVO 1TB", 1800, "more than SATA carries (600)"),
        ("model,ST16000NM001G-2KK103", 1900, "more than a hard disk moves (600)"),
        ("interface,PCIe 4.0 x4", 1800, ""),
        ("model,Samsung SSD 980 PRO 1TB", 6800, ""),
        ("model,Samsung SSD 9100 PRO 2TB", 24_000, "more than four lanes of PCIe 5.0 carry"),
    ],
)
def test_more_than_such_a_drive_moves_is_not_taken_as_it_stands(
    drive: str, mb_s: int, doubt: str
) -> None:
    label, _, value = drive.partition(",")
    (log,) = _read(f"time_s,{label},write MB/s\n" + _rows(f"{{i}},{value},{mb_s}"))
    doubts = [one for one in log.remarks if ", more than " in one.text]
    assert [one.touches for one in doubts] == [("rate", "unit")] * bool(doubt)
    assert all(doubt in one.text for one in doubts)
