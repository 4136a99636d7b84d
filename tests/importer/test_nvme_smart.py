"""nvme-cli's smart-log in the forms that people keep it in."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Options, Source, read

DATA = Path(__file__).parent / "data" / "nvme_smart"


def logs(text: str | bytes, **said: Any) -> list[Log]:
    data = text if isinstance(text, bytes) else text.encode()
    return read(Source.of_bytes("smart.log", data), Options(**said))


def one(text: str | bytes, **said: Any) -> Log:
    (log,) = logs(text, **said)
    return log


def values(log: Log, column: str) -> list[Any]:
    return log.samples[column].to_list()


def doubts(log: Log) -> str:
    return "\n".join(remark.text for remark in log.remarks if remark.doubt)


def text_of(index: int, temperature: str = "{c} C", drive: int = 0) -> str:
    """What nvme-cli 1.x prints; each reading is 1 K warmer and has 1000 data units more."""
    words = temperature.format(c=40 + index, k=313 + index, f=104 + 2 * index)
    return (
        f"Smart Log for NVME device:nvme{drive}n1 namespace-id:ffffffff\n"
        "critical_warning                    : 0\n"
        f"temperature                         : {words}\n"
        "available_spare                     : 100%\n"
        "data_units_read                     : 5,000\n"
        f"data_units_written                  : {1_000_000 + 1000 * index:,}\n"
        "host_read_commands                  : 77\n"
        f"host_write_commands                 : {8_000_000 + 4000 * index:,}\n"
        "Warning Temperature Time            : 2\n"
        "Temperature Sensor 1                : 0 C\n"
        "Thermal Management T1 Trans Count   : 3\n"
        "Thermal Management T1 Total Time    : 12\n"
    )


def json_of(index: int) -> dict[str, Any]:
    return {
        "critical_warning": 0,
        "temperature": 313 + index,
        "avail_spare": 100,
        "data_units_read": 5000,
        "data_units_written": 1_000_000 + 1000 * index,
        "host_read_commands": 77.0,
        "host_write_commands": str(8_000_000 + 4000 * index),
        "temperature_sensor_1": 0,
        "temperature_sensor_2": 320,
        "thm_temp1_trans_count": 3,
        "thm_temp1_total_time": 12,
        "warning_temp_time": 2,
    }


def check_series(log: Log, spacing_s: float) -> None:
    """Three readings, as `text_of` and `json_of` make them."""
    assert values(log, "t_s") == [0.0, spacing_s, 2 * spacing_s]
    assert values(log, "temp_c.composite") == [40.0, 41.0, 42.0]
    assert values(log, "write_bw_mb_s") == [None, *[pytest.approx(512.0 / spacing_s)] * 2]
    assert values(log, "write_iops") == [None, *[pytest.approx(4000.0 / spacing_s)] * 2]
    assert values(log, "interval_s") == [spacing_s] * 3
    assert values(log, "throttle_time_s.warning") == [120.0] * 3
    assert values(log, "throttle_count.tmt1") == [3.0] * 3
    assert values(log, "throttle_time_s.tmt1") == [12.0] * 3
    assert "temp_c.sensor1" not in log.samples.columns
    (step,) = log.steps
    assert (step.reads, step.writes) == (False, True)


@pytest.mark.parametrize(
    "temperature",
    ["{c} C", "{c}°C ({k} Kelvin)", "{c} °C ({k} K)", "{c} °C ({k} K, {f} °F)", "{f} °F ({k} K)"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
def test_temperatures_of_every_version_are_read_in_celsius(temperature: str, encoding: str) -> None:
    text = "".join(f"2024-06-04 12:00:{10 * n:02d}\n{text_of(n, temperature)}" for n in range(3))
    check_series(one(text.replace("\n", "\r\n").encode(encoding)), 10.0)


@pytest.mark.parametrize(
    ("stamp", "clock", "begin"),
    [
        ("Tue Jun  4 12:00:{s:02d} UTC 2024\n", "utc", 1717502400.0),
        ("--- 2024-06-04T12:00:{s:02d}+02:00 ---\n", "utc", 1717495200.0),
        ("17175024{s:02d}\n", "utc", 1717502400.0),
        ("time: 12:00:{s:02d}\n", "none", None),
        ("\x1b[H\x1b[2JEvery 2.0s: nvme smart-log /dev/nvme0   box: Tue Jun  4 12:00:{s:02d} 2024\n"
         "\n", "local", 1717502400.0),
    ],
)  # fmt: skip
def test_the_time_between_readings_is_their_time(
    stamp: str, clock: str, begin: float | None
) -> None:
    log = one("".join(stamp.format(s=2 * n) + text_of(n) for n in range(3)))
    check_series(log, 2.0)
    assert (log.clock, log.start_unix_s) == (clock, begin)
    assert log.drive == {"path": "/dev/nvme0n1"}


def test_a_time_after_each_reading_belongs_to_that_reading() -> None:
    check_series(one("".join(f"{text_of(n)}17175024{2 * n:02d}\n" for n in range(3))), 2.0)


def test_a_time_before_every_line_is_read() -> None:
    lines = [
        f"[2024-06-04 12:00:{2 * n:02d}] {line}\n"
        for n in range(3)
        for line in text_of(n).splitlines()
    ]
    check_series(one("".join(lines)), 2.0)


def test_lone_temperatures_behind_dates_are_a_series() -> None:
    text = "".join(f"12:00:{n:02d} temperature : {40 + n} C\n" for n in range(3))
    assert values(one(text), "temp_c.composite") == [40.0, 41.0, 42.0]


def test_without_times_readings_have_an_order_and_no_rate_is_made() -> None:
    log = one("".join(text_of(n) for n in range(3)))
    assert values(log, "t_s") == [0.0, 1.0, 2.0]
    assert log.clock == "none"
    assert "no times" in doubts(log)
    assert log.is_in_order_only
    assert not log.has_rates
    assert log.steps == ()


def test_without_times_the_users_interval_makes_rates() -> None:
    log = one("".join(text_of(n) for n in range(3)), mapping={"interval_s": "5"})
    check_series(log, 5.0)
    assert "no times" not in doubts(log)


@pytest.mark.parametrize("word", ["0", "-1", "nan", "five", "1e9"])
def test_an_impossible_interval_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="give the seconds between two re"):
        logs(text_of(0) + text_of(1), mapping={"interval_s": word})


def test_a_lone_reading_is_one_sample() -> None:
    log = one(text_of(0))
    assert log.samples.height == 1
    assert doubts(log) == ""


@pytest.mark.parametrize("indent", [None, 2])
def test_json_behind_dates_is_a_series(indent: int | None) -> None:
    text = "".join(
        f"Tue Jun  4 12:00:{2 * n:02d} UTC 2024\n{json.dumps(json_of(n), indent=indent)}\n"
        for n in range(3)
    )
    log = one(text)
    check_series(log, 2.0)
    assert values(log, "temp_c.sensor2") == [47.0] * 3
    assert any("subtracting 273" in remark.text for remark in log.remarks)


@pytest.mark.parametrize(
    "text",
    [
        "".join(json.dumps({"ts": 1717502400 + 2 * n} | json_of(n)) + "\n" for n in range(3)),
        "".join(
            json.dumps({"time": f"2024-06-04T12:00:{2 * n:02d}Z", "smart": json_of(n)}) + "\n"
            for n in range(3)
        ),
        json.dumps([{"timestamp_ms": 1717502400000 + 2000 * n} | json_of(n) for n in range(3)]),
        json.dumps({f"2024-06-04T12:00:{2 * n:02d}Z": json_of(n) for n in range(3)}, indent=1),
        "".join(f"{1717502400 + 2 * n} {json.dumps(json_of(n))}\n" for n in range(3)),
        "".join(json.dumps(json_of(n)) + f"\n{1717502400 + 2 * n}\n" for n in range(3)),
    ],
)
def test_times_that_a_script_put_around_json_are_found(text: str) -> None:
    log = one(text)
    check_series(log, 2.0)
    assert (log.clock, log.start_unix_s) == ("utc", 1717502400.0)


def test_identity_and_limits_in_the_same_file_are_the_drives() -> None:
    log = one((DATA / "loop-2.x.txt").read_bytes())
    assert log.drive == {
        "path": "/dev/nvme0n1",
        "model": "EXAMPLE NVME 1TB",
        "serial": "EX0123456789",
        "firmware": "1.02",
        "size_bytes": 1000204886016,
    }
    (sensor,) = log.sensors
    assert sensor.interval_s == 2.0
    assert sensor.thresholds == {
        "warning_c": 84.0,
        "critical_c": 87.0,
        "tmt_min_c": 45.0,
        "tmt_max_c": 83.0,
        "tmt1_c": 66.0,
        "tmt2_c": 79.0,
    }
    assert values(log, "write_bw_mb_s")[1] == pytest.approx(5860 * 0.512 / 2)
    assert values(log, "throttle_count.tmt1")[-1] == 5.0


def test_text_and_json_of_the_same_drive_say_the_same() -> None:
    text, data = (one((DATA / name).read_bytes()) for name in ("loop-2.x.txt", "series-json.jsonl"))
    for column in ("t_s", "write_bw_mb_s", "write_iops", "throttle_time_s.tmt1"):
        assert values(text, column) == values(data, column)


def test_id_ctrl_and_list_as_json_describe_the_drive() -> None:
    listed = {"Devices": [{"DevicePath": "/dev/nvme0n1", "SerialNumber": "S1", "PhysicalSize": 9}]}
    identity = {"mn": "MODEL   ", "sn": " S1", "fr": "1", "wctemp": 353, "cctemp": 0}
    named = {"device": "/dev/nvme0"} | json_of(0)
    log = one("\n".join(json.dumps(part) for part in (listed, identity, named)))
    assert log.drive["model"] == "MODEL"
    assert log.drive["size_bytes"] == 9
    assert log.sensors[0].thresholds == {"warning_c": 80.0}


def test_drives_read_in_turn_are_logs_of_their_own_with_the_time_before_them() -> None:
    text = "".join(
        f"2024-06-04 12:00:{2 * n:02d}\n{text_of(n)}{text_of(n, drive=1)}" for n in range(3)
    )
    for log, path in zip(logs(text), ("/dev/nvme0n1", "/dev/nvme1n1"), strict=True):
        check_series(log, 2.0)
        assert log.label == log.drive["path"] == path
    assert one(text, device="nvme1").drive == {"path": "/dev/nvme1n1"}
    with pytest.raises(UsageError, match="has no drive 'sda': it has /dev/nvme0n1"):
        logs(text, device="sda")


def test_a_clock_that_jumps_back_starts_another_run() -> None:
    stamps = [0, 2, 4, 1, 3, 5]
    text = "".join(f"2024-06-04 12:0{s}:00\n{text_of(n)}" for n, s in enumerate(stamps))
    first, second = logs(text)
    assert (first.label, second.label) == ("run 1", "run 2")
    assert second.start_unix_s == 1717502460.0
    assert values(second, "t_s") == [0.0, 120.0, 240.0]


def test_whole_seconds_of_a_loop_that_drifts_are_evened_out() -> None:
    times = [int(1.04 * n) for n in range(60)]
    log = one("".join(f"{1717502400 + t}\n{text_of(n)}" for n, t in enumerate(times)))
    rates = values(log, "write_bw_mb_s")[1:]
    assert max(rates) - min(rates) < 1.0
    assert any("whole seconds" in remark.text for remark in log.remarks)


def test_counters_that_move_only_now_and_then_give_means_over_that_time() -> None:
    text = "".join(f"{1717502400 + n}\n{text_of(n - n % 5)}" for n in range(30))
    log = one(text)
    rates = values(log, "write_bw_mb_s")
    assert [rate for rate in rates if rate is not None] == [pytest.approx(512.0)] * 5
    assert rates[10] == pytest.approx(512.0)
    assert values(log, "interval_s")[10] == 5.0
    assert "only every 5 s" in doubts(log)


def test_counters_that_hardly_move_give_no_throughput() -> None:
    text = "".join(
        f"{1717502400 + n}\n{text_of(0).replace('1,000,000', f'1,000,00{n}')}" for n in range(4)
    )
    log = one(text)
    assert "write_bw_mb_s" not in log.samples.columns
    assert "too coarse for a throughput" in doubts(log)


def test_means_over_minutes_are_said_to_be_such() -> None:
    text = "".join(f"2024-06-04 12:{5 * n:02d}:00\n{text_of(n)}" for n in range(3))
    assert "means over 300 s" in doubts(one(text))


def test_a_truncated_file_keeps_what_is_complete() -> None:
    text = "".join(f"17175024{2 * n:02d}\n{text_of(n)}" for n in range(3))
    cut = text[: text.rindex("temperature") + 40]
    log = one(cut)
    assert values(log, "temp_c.composite") == [40.0, 41.0]
    text = "".join(json.dumps(json_of(n), indent=2) + "\n" for n in range(3))
    log = one(text[:-100])
    assert values(log, "temp_c.composite") == [40.0, 41.0]
    assert "left out" in doubts(log)


def test_json_damaged_in_its_midst_is_read_up_to_there() -> None:
    lines = [json.dumps({"ts": 1717502400 + n} | json_of(n)) for n in range(5)]
    lines[3] = lines[3].replace(":", ";")
    log = one("\n".join(lines))
    assert log.samples.height == 3
    assert "line 4" in doubts(log)
    assert "left out" in doubts(log)


def test_values_that_no_drive_has_are_missing() -> None:
    text = text_of(0).replace(": 40 C", ": 4294967023 C").replace("5,000", "9" * 60)
    log = one(text + text_of(1))
    assert values(log, "temp_c.composite") == [None, 41.0]
    huge = json_of(0) | {"data_units_written": 10**300, "thm_temp1_trans_count": float("inf")}
    assert one(json.dumps(huge)).samples.height == 1


def test_times_in_no_order_are_refused() -> None:
    text = "".join(f"{1717500000 + 10 * (n % 2)}\ntemperature : 38 C\n" for n in range(4000))
    with pytest.raises(UsageError, match="a clock that goes back 1999 times"):
        logs(text)


def test_readings_whose_newest_is_first_are_one_run() -> None:
    text = "".join(f"{1717500000 - 10 * n}\ntemperature : {70 - n} C\n" for n in range(20))
    (log,) = logs(text)
    assert log.samples["t_s"].to_list() == [10.0 * n for n in range(20)]
    assert log.samples["temp_c.composite"].to_list() == [51.0 + n for n in range(20)]
    assert any("they were sorted" in remark.text for remark in log.remarks)


def page_of(kelvin: int) -> bytes:
    page = bytearray(512)
    struct.pack_into("<BH", page, 0, 0, kelvin)
    page[3:5] = 100, 10
    struct.pack_into("<I", page, 192, 2)
    struct.pack_into("<H", page, 200, 320)
    struct.pack_into("<4I", page, 216, 3, 0, 12, 0)
    return bytes(page)


def dump(page: bytes, line: str, group: int) -> str:
    return "".join(
        line.format(at=at, hex=page[at : at + 16].hex(" ", group)) for at in range(0, 512, 16)
    )


@pytest.mark.parametrize(
    "data",
    [
        page_of(311),
        dump(page_of(311), "{at:08x}  {hex}  |................|\n", 1).encode(),
        dump(page_of(311), "{at:08x}: {hex}  ................\n", 2).encode(),
        b"Device:nvme0 log-id:2 namespace-id:0xffffffff\n       0  1  2  3  4  5  6  7\n"
        + dump(page_of(311), '{at:04x}: {hex} "................"\n', 1).encode(),
    ],
)
def test_the_page_itself_is_read_raw_or_dumped(data: bytes) -> None:
    log = one(data)
    assert values(log, "temp_c.composite") == [38.0]
    assert values(log, "temp_c.sensor1") == [47.0]
    assert values(log, "throttle_time_s.warning") == [120.0]
    assert values(log, "throttle_count.tmt1") == [3.0]
    assert values(log, "throttle_time_s.tmt1") == [12.0]


def test_pages_behind_each_other_are_a_series() -> None:
    log = one(page_of(311) + page_of(312) + bytes(512), mapping={"interval_s": "2"})
    assert values(log, "temp_c.composite") == [38.0, 39.0]
    assert "1 pages are not health logs" in doubts(log)


def test_nvmecontrol_of_freebsd_is_read() -> None:
    log = one(
        "SMART/Health Information Log\n============================\n"
        "Critical Warning State:         0x00\n"
        "Temperature:                    309 K, 35.85 C, 96.53 F\n"
        "Data units (512,000 byte) read: 61417\n"
        "Warning Temp Composite Time:    1\n"
        "Temperature 1 Transition Count: 2\n"
        "Total Time For Temperature 1:   5\n"
    )
    assert values(log, "temp_c.composite") == [35.85]
    assert values(log, "throttle_count.tmt1") == [2.0]
    assert values(log, "throttle_time_s.warning") == [60.0]
