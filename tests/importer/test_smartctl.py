"""smartctl of NVMe, ATA and SCSI drives."""

import json
from pathlib import Path
from typing import Any

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Source, read

DATA = Path(__file__).parent / "data" / "smartctl"


def one(text: str) -> Log:
    (log,) = read(Source.of_bytes("smartctl.log", text.encode()))
    return log


def values(log: Log, column: str) -> list[Any]:
    return log.samples[column].to_list()


def texts(log: Log) -> str:
    return "\n".join(remark.text for remark in log.remarks)


def nvme_json(index: int) -> dict[str, Any]:
    return {
        "json_format_version": [1, 0],
        "smartctl": {"version": [7, 4], "exit_status": 0},
        "local_time": {"time_t": 1717502400 + 10 * index, "asctime": "Tue Jun  4 12:00:00 2024"},
        "device": {"name": "/dev/nvme0", "type": "nvme", "protocol": "NVMe"},
        "model_name": "EXAMPLE NVME 1TB",
        "serial_number": "EX1",
        "user_capacity": {"blocks": 2, "bytes": 1000204886016},
        "nvme_composite_temperature_threshold": {"warning": 84, "critical": 87},
        "nvme_smart_health_information_log": {
            "critical_warning": 0,
            "temperature": 40 + index,
            "available_spare_threshold": 10,
            "data_units_read": 5000,
            "data_units_written": 1_000_000 + 10_000 * index,
            "host_reads": 7,
            "host_writes": 8_000_000 + 40_000 * index,
            "warning_temp_time": 2,
            "temperature_sensors": [40 + index, None, 51],
            "thermal_mgmt_temperature_1_transition_count": 3,
            "thermal_mgmt_temperature_1_total_time": 12,
        },
        "temperature": {"current": 40 + index},
    }


def test_json_of_an_nvme_drive_has_its_own_clock() -> None:
    log = one("".join(json.dumps(nvme_json(n), indent=2) + "\n" for n in range(3)))
    assert (log.clock, log.start_unix_s) == ("utc", 1717502400.0)
    assert values(log, "t_s") == [0.0, 10.0, 20.0]
    assert values(log, "temp_c.composite") == [40.0, 41.0, 42.0]
    assert values(log, "temp_c.sensor3") == [51.0] * 3
    assert "temp_c.sensor2" not in log.samples.columns
    assert values(log, "write_bw_mb_s") == [None, 512.0, 512.0]
    assert values(log, "write_iops") == [None, 4000.0, 4000.0]
    assert values(log, "throttle_time_s.warning") == [120.0] * 3
    assert values(log, "throttle_count.tmt1") == [3.0] * 3
    assert log.sensors[0].thresholds == {"warning_c": 84.0, "critical_c": 87.0}
    assert log.tools == {"smartctl": "7.4"}
    assert log.drive == {
        "path": "/dev/nvme0",
        "model": "EXAMPLE NVME 1TB",
        "serial": "EX1",
        "size_bytes": 1000204886016,
    }


def test_text_with_the_separators_of_another_locale_is_a_series() -> None:
    (log,) = read(Source.of_path(DATA / "nvme-loop-de.txt"))
    assert log.clock == "local"
    assert values(log, "t_s") == [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]
    assert values(log, "temp_c.composite") == [40.0, 43.0, 46.0, 49.0, 52.0, 55.0]
    assert values(log, "write_bw_mb_s")[1:] == [pytest.approx(9765 * 0.512 / 5)] * 5
    assert values(log, "throttle_count.tmt1") == [5.0] * 6
    assert log.sensors[0].thresholds == {"warning_c": 84.0, "critical_c": 87.0}
    assert log.drive["size_bytes"] == 1000204886016
    (step,) = log.steps
    assert (step.reads, step.writes) == (False, True)


def test_the_history_that_an_ata_drive_keeps_is_a_series() -> None:
    (log,) = read(Source.of_path(DATA / "ata-x-history.txt"))
    assert log.clock == "local"
    assert log.start_unix_s == 1717501200.0  # 11:40, the first that is known
    assert values(log, "t_s")[:7] == [0.0, 600.0, 1200.0, 1800.0, 2400.0, 3000.0, 3600.0]
    assert values(log, "temp_c.drive") == [31.0] * 5 + [38.0, 44.0, 44.0] + [39.0] * 5 + [36.0]
    assert log.end_s == 140 * 60.0
    assert log.drive["serial"] == "EX987654"
    assert log.sensors[0].thresholds == {"warning_c": 70.0, "critical_c": 75.0}
    assert "own history" in texts(log)


def test_the_history_in_json_ends_with_the_reading() -> None:
    document = {
        "smartctl": {"version": [7, 4]},
        "local_time": {"time_t": 1717502400},
        "temperature": {"current": 36},
        "ata_sct_temperature_history": {
            "logging_interval_minutes": 10,
            "table": [None, 31, 44, None, 36],
        },
    }
    log = one(json.dumps(document))
    assert values(log, "temp_c.drive") == [31.0, 44.0, 36.0]
    assert values(log, "t_s") == [0.0, 600.0, 1800.0]
    assert log.start_unix_s == 1717502400.0 - 1800.0


def ata_row(number: int, name: str, raw: str) -> str:
    return f"{number:3} {name:24}0x0022   036   055   000    Old_age   Always       -       {raw}\n"


@pytest.mark.parametrize("raw", ["36", "36 (Min/Max 20/55)", "36 (0 18 0 0 0)"])
def test_attributes_give_an_ata_drives_temperature(raw: str) -> None:
    text = "".join(
        f"2024-06-04 12:0{n}:00\nsmartctl 6.6 2016-05-31 r4324 [x86_64] (local build)\n\n"
        + ata_row(190, "Airflow_Temperature_Cel", "30")
        + ata_row(194, "Temperature_Celsius", raw)
        + ata_row(231, "SSD_Life_Left", "99")
        for n in range(2)
    )
    log = one(text)
    assert values(log, "temp_c.drive") == [36.0, 36.0]
    assert values(log, "temp_c.airflow") == [30.0, 30.0]
    assert values(log, "t_s") == [0.0, 60.0]


def test_attributes_alone_behind_dates_are_a_series() -> None:
    text = "".join(
        f"2024-06-04 12:0{n}:00\n" + ata_row(194, "Temperature_Celsius", str(36 + n))
        for n in range(3)
    )
    assert values(one(text), "temp_c.drive") == [36.0, 37.0, 38.0]


@pytest.mark.parametrize(
    ("name", "raw_step", "rate", "said"),
    [
        ("Total_LBAs_Written", 2_000_000, 102.4, "sectors of 512 bytes"),
        ("Host_Writes_32MiB", 31, 31 * 2**25 / 1e7, ""),
    ],
)
def test_what_an_ata_drive_has_written_gives_a_rate(
    name: str, raw_step: int, rate: float, said: str
) -> None:
    text = "".join(
        f"17175024{10 * n:02d}\nsmartctl 7.2 2020-12-30 r5155 [x86_64] (local build)\n"
        + ata_row(194, "Temperature_Celsius", "36")
        + ata_row(241, name, str(10**9 + n * raw_step))
        for n in range(3)
    )
    log = one(text)
    assert values(log, "write_bw_mb_s")[1:] == [pytest.approx(rate)] * 2
    assert said in texts(log)


def test_device_statistics_are_taken_before_attributes() -> None:
    text = "".join(
        f"17175024{10 * n:02d}\nsmartctl 7.2 2020-12-30 r5155 [x86_64] (local build)\n"
        + ata_row(241, "Host_Writes_32MiB", "77")
        + f"0x01  0x018  6     {10**9 + n * 2_000_000}  ---  Logical Sectors Written\n"
        + f"0x01  0x020  6     {10**6 + n * 1000}  ---  Number of Write Commands\n"
        for n in range(3)
    )
    log = one(text)
    assert values(log, "write_bw_mb_s") == [None, 102.4, 102.4]
    assert values(log, "write_iops") == [None, 100.0, 100.0]


def test_a_scsi_drive_states_temperature_limit_and_gigabytes() -> None:
    text = "".join(
        f"17175024{10 * n:02d}\nsmartctl 7.2 2020-12-30 r5155 [x86_64] (local build)\n"
        "Product:              ST4000NM0043\n"
        f"Current Drive Temperature:     {34 + n} C\n"
        "Drive Trip Temperature:        68 C\n"
        f"read:   1234567890   0   0   1234567890   0   {100 + n}.500   0\n"
        "write:         0   0   0         0   0   77.000   0\n"
        "verify: 1234567890   0   0   1234567890   0   99.000   0\n"
        for n in range(3)
    )
    log = one(text)
    assert values(log, "temp_c.drive") == [34.0, 35.0, 36.0]
    assert values(log, "read_bw_mb_s") == [None, 100.0, 100.0]
    assert log.sensors[0].thresholds == {"critical_c": 68.0}
    assert log.drive["model"] == "ST4000NM0043"


def test_several_drives_in_one_file_are_told_apart_by_serial() -> None:
    one_drive = (DATA / "nvme-loop-de.txt").read_text()
    logs = read(
        Source.of_bytes("x", (one_drive + one_drive.replace("EX0123456789", "EX2")).encode())
    )
    assert [log.label for log in logs] == ["EX0123456789", "EX2"]
    assert [log.samples.height for log in logs] == [6, 6]


def test_a_sleeping_drive_has_no_readings() -> None:
    text = (
        "smartctl 7.2 2020-12-30 r5155 [x86_64] (local build)\nDevice is in STANDBY mode, exit(2)\n"
    )
    with pytest.raises(UsageError, match="holds no reading of a drive's temperature"):
        one(text)
