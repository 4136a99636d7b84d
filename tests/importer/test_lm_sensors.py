"""lm-sensors' output, as people keep it: text or JSON, with the time between readings."""

import json
from typing import Any

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Options, Source, read

OTHERS = "coretemp-isa-0000\nAdapter: ISA adapter\nPackage id 0:  +45.0°C  (high = +80.0°C)\n"


def logs(text: str, **said: Any) -> list[Log]:
    return read(Source.of_bytes("sensors.log", text.encode()), Options(**said))


def text_of(index: int, drive: int = 1) -> str:
    return (
        f"nvme-pci-0{drive}00\n"
        "Adapter: PCI adapter\n"
        f"Composite:    +{40 + index}.9°C  (low  =  -0.1°C, high = +76.8°C)\n"
        "                       (crit = +79.8°C)\n"
        f"Sensor 1:     +{50 + index}.9°C  (low  = -273.1°C, high = +65261.8°C)\n\n"
    )


def document_of(index: int) -> dict[str, Any]:
    return {
        "coretemp-isa-0000": {"Adapter": "ISA adapter", "Core 0": {"temp2_input": 44.0}},
        "nvme-pci-0100": {
            "Adapter": "PCI adapter",
            "Composite": {"temp1_input": 40.85 + index, "temp1_max": 76.85, "temp1_crit": 79.85},
            "Sensor 1": {"temp2_input": 50.85 + index},
        },
    }


def test_text_with_times_between_is_a_series_of_the_drives_temperatures() -> None:
    (log,) = logs("".join(f"{1_700_000_000 + 5 * i}\n{text_of(i)}{OTHERS}\n" for i in range(6)))
    assert (log.clock, log.start_unix_s) == ("utc", 1_700_000_000)
    assert log.samples["t_s"].to_list() == [0, 5, 10, 15, 20, 25]
    assert log.samples["temp_c.composite"].to_list() == [40.9 + i for i in range(6)]
    assert log.samples["temp_c.sensor1"].to_list() == [50.9 + i for i in range(6)]
    assert [name for name in log.samples.columns if name.startswith("temp_c.")] == [
        "temp_c.composite",
        "temp_c.sensor1",
    ]
    (sensor,) = log.sensors
    assert sensor.thresholds == {"warning_c": 76.8, "critical_c": 79.8}


@pytest.mark.parametrize("stamp", ["Sun Nov 22 20:11:{:02d} 2026", "17000000{:02d}"])
def test_times_right_behind_a_chips_lines_are_read(stamp: str) -> None:
    (log,) = logs("".join(f"{stamp.format(10 + i)}\n{text_of(i)}{OTHERS}" for i in range(6)))
    assert log.samples["t_s"].to_list() == [0, 1, 2, 3, 4, 5]


def test_json_has_the_same_content() -> None:
    text = "".join(f"{1_700_000_000 + i}\n{json.dumps(document_of(i), indent=2)}\n" for i in (0, 1))
    (log,) = logs(text)
    assert log.start_unix_s == 1_700_000_000
    assert log.samples["temp_c.composite"].to_list() == [40.85, 41.85]
    assert log.sensors[0].thresholds == {"warning_c": 76.85, "critical_c": 79.85}


def test_several_drives_become_a_log_each() -> None:
    text = "".join(f"20:11:{i:02d}\n{text_of(i)}{text_of(i + 7, drive=2)}" for i in range(4))
    one, two = logs(text)
    assert one.samples["temp_c.composite"].to_list() == [40.9, 41.9, 42.9, 43.9]
    assert two.samples["temp_c.composite"].to_list() == [47.9, 48.9, 49.9, 50.9]
    assert one.samples["t_s"].to_list() == two.samples["t_s"].to_list() == [0, 1, 2, 3]


def test_without_times_readings_are_taken_as_a_second_apart_with_a_doubt() -> None:
    (log,) = logs("".join(map(text_of, range(5))))
    assert log.samples["t_s"].to_list() == [0, 1, 2, 3, 4]
    assert any("no times" in remark.text for remark in log.remarks if remark.doubt)


def test_sata_drives_are_read_by_drivetemp() -> None:
    text = "drivetemp-scsi-0-0\nAdapter: SCSI adapter\ntemp1:        +33.0°C  (low  =  +0.0°C)\n\n"
    (log,) = logs(f"1700000000\n{text}1700000001\n{text}")
    assert log.samples["temp_c.drive"].to_list() == [33, 33]


@pytest.mark.parametrize(
    "text", [OTHERS, json.dumps({"coretemp-isa-0000": {"Core 0": {"temp2_input": 44.0}}})]
)
def test_output_without_a_drive_is_refused_with_what_would_be_right(text: str) -> None:
    with pytest.raises(UsageError, match="modprobe drivetemp"):
        logs(text)
