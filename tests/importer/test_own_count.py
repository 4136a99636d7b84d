"""What a drive counted itself is the answer where a log shows no load."""

from pathlib import Path

import pytest
from heatsoak.analysis import Answer, analyze
from heatsoak.importer import import_files

NVME = """Smart Log for NVME device:nvme0n1 namespace-id:ffffffff
critical_warning                        : {warning}
temperature                             : 44 C
data_units_written                      : 4,123
power_on_hours                          : 2101
Warning Temperature Time                : {minutes}
Critical Composite Temperature Time     : 0
Thermal Management T1 Trans Count       : {light}
Thermal Management T2 Trans Count       : {strong}
Thermal Management T1 Total Time        : {light_s}
Thermal Management T2 Total Time        : 0
"""
QUIET = {"warning": "0", "minutes": 0, "light": 0, "strong": 0, "light_s": 0}
ATA = """smartctl 7.2 2020-12-30 r5155 [x86_64-linux-5.10.0] (local build)
Device Model:     EXAMPLE SATA SSD
SMART overall-health self-assessment test result: FAILED!
  9 Power_On_Hours          0x0032   100   100   000    Old_age   Always       -       25811
194 Temperature_Celsius     0x0022   100   100   000    Old_age   Always       -       44
234 Thermal_Throttle        0x0032   100   100   000    Old_age   Always       -       0/17
"""
INTEL = """Additional Smart Log for NVME device:nvme0 namespace-id:ffffffff
key                               normalized raw
program_fail_count              : 100%       0
timed_workload_media_wear       : 100%       63.999%
thermal_throttle_status         : 100%       15%, cnt: 210
host_bytes_written              : 100%       sectors: 4712345
"""
JSON = """{"smartctl": {"version": [7, 3]}, "device": {"name": "/dev/nvme0", "protocol": "NVMe"}, \
"smart_status": {"passed": false}, "power_on_time": {"hours": 31022}, \
"nvme_smart_health_information_log": {"critical_warning": 4, "temperature": 47, \
"power_on_hours": 31022, "warning_temp_time": 0, "critical_comp_time": 0}}
"""
NVME_JSON = """{"critical_warning": {"value": 2, "temp_threshold": 1}, "temperature": 355, \
"avail_spare": 100, "power_on_hours": "990", "warning_temp_time": 180, "critical_comp_time": 7, \
"thm_temp1_trans_count": 0, "thm_temp1_total_time": 0}
"""


def answer(tmp_path: Path, text: str) -> Answer:
    file = tmp_path / "reading.txt"
    file.write_text(text)
    return analyze(import_files([file])).answer


@pytest.mark.parametrize(
    ("text", "throttles", "said"),
    [
        (
            NVME.format(**QUIET | {"light": 8126, "strong": 97, "light_s": 412331}),
            "yes",
            ["8,126 light and 97 strong transitions (412,331 s)", "in 2,101 h", "one reading"],
        ),
        (NVME.format(**QUIET), "cannot-tell", ["never throttled in 2,101 h, if it counts at all"]),
        (
            NVME.format(**QUIET | {"minutes": 600}),
            "cannot-tell",
            ["above its warning temperature for 10 h 00 min in 2,101 h"],
        ),
        (
            NVME.format(**QUIET | {"warning": "0x8", "light": 4294967295}),
            "cannot-tell",
            ["critical warning 0x08: it can only be read"],
        ),
        (ATA, "yes", ["its health is FAILED", "17 transitions in 25,811 h"]),
        (ATA.replace("0/17", "18/294"), "yes", ["by 18 % when it was read", "294 transitions"]),
        (ATA.replace("0/17", "180/294"), "yes", ["at some time", "294 transitions"]),
        (INTEL, "yes", ["by 15 % when it was read", "in all 210 transitions"]),
        (INTEL.replace("15%", "0%"), "yes", ["at some time", "210 transitions"]),
        (JSON, "cannot-tell", ["0x04", "FAILED", "never above its limits in 31,022 h"]),
        (NVME_JSON, "cannot-tell", ["0x02", "for 3 h 00 min", "for 7 min in 990 h"]),
    ],
)
def test_a_single_reading_is_answered_by_its_own_count(
    tmp_path: Path, text: str, throttles: str, said: list[str]
) -> None:
    found = answer(tmp_path, text)
    assert found.throttles == throttles
    for words in said:
        assert words in found.sentence


@pytest.mark.parametrize(
    ("text", "advised"),
    [
        (NVME.format(**QUIET | {"warning": "0x8"}), "copy what is on it"),
        (ATA, "copy what is on it"),
        (JSON, "copy what is on it"),
        (NVME_JSON, "cool it better"),
        (NVME.format(**QUIET), "to see it under a load"),
    ],
)
def test_a_drive_that_fails_is_to_be_saved_and_a_hot_one_cooled(
    tmp_path: Path, text: str, advised: str
) -> None:
    assert (answer(tmp_path, text).next or "").startswith(advised)


@pytest.mark.parametrize(
    ("stamps", "between"),
    [
        (("2026-03-01T10:00:00\n", "2026-03-01T10:20:00\n"), "between its readings (20 min)"),
        (("", ""), "between its readings, by its own count"),
    ],
)
def test_what_was_added_between_readings_is_told_with_the_time_where_it_is_known(
    tmp_path: Path, stamps: tuple[str, str], between: str
) -> None:
    first, second = stamps
    text = first + NVME.format(**QUIET | {"light": 10, "light_s": 1200})
    text += second + NVME.format(**QUIET | {"light": 31, "light_s": 1700})
    found = answer(tmp_path, text)
    assert found.throttles == "yes"
    assert f"{between}" in found.sentence
    assert "21 light transitions (500 s); in all 31 light transitions (1,700 s)" in found.sentence


@pytest.mark.parametrize(("mb_s", "throttles"), [(0.0, "not-loaded"), (500.0, "no")])
def test_what_a_drive_counted_before_a_log_is_no_answer_about_its_time(
    tmp_path: Path, mb_s: float, throttles: str
) -> None:
    counted = [f"{t},{mb_s + t % 3 * mb_s / 500},{40 + t / 60:.1f},4,30" for t in range(300)]
    head = "time_s,read_mb_s,temp_c,thm_temp1_trans_count,thm_temp1_total_time"
    found = answer(tmp_path, "\n".join([head, *counted, ""]))
    assert found.throttles == throttles
    assert found.because[-1] == (
        "by its own count it had throttled before: 4 light transitions (30 s); "
        "none of it between its readings (5 min)"
    )
