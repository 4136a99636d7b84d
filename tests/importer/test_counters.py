"""What drives tell of themselves by tools that have a form each: lm-sensors, PowerShell, smartd."""

import json
from collections.abc import Callable

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Source, read

Form = Callable[[int], str]
OTHERS = "coretemp-isa-0000\nAdapter: ISA adapter\nPackage id 0:  +45.0°C  (high = +80.0°C)\n"
RAW = "{}:\n  temp{}_input: {}\n  temp{}_max: 76.850\n  temp{}_crit: 79.850\n"


def logs(text: str, name: str = "x.log") -> list[Log]:
    return read(Source.of_bytes(name, text.encode()))


def chip(index: int, drive: int = 1) -> str:
    return (
        f"nvme-pci-0{drive}00\n"
        "Adapter: PCI adapter\n"
        f"Composite:    +{40 + index}.9°C  (low  =  -0.1°C, high = +76.8°C)\n"
        "                       (crit = +79.8°C)\n"
        f"Sensor 1:     +{50 + index}.9°C  (low  = -273.1°C, high = +65261.8°C)\n\n"
    )


def raw_chip(index: int) -> str:
    """As `sensors -u` has it."""
    return (
        "nvme-pci-0100\nAdapter: PCI adapter\n"
        + RAW.format("Composite", 1, f"{40.9 + index:.3f}", 1, 1)
        + f"Sensor 1:\n  temp2_input: {50.9 + index:.3f}\n  temp2_max: 65261.850\n\n"
    )


def document(index: int) -> str:
    """As `sensors -j` has it."""
    return json.dumps(
        {
            "coretemp-isa-0000": {"Adapter": "ISA adapter", "Core 0": {"temp2_input": 44.0}},
            "nvme-pci-0100": {
                "Adapter": "PCI adapter",
                "Composite": {"temp1_input": 40.9 + index, "temp1_max": 76.8, "temp1_crit": 79.8},
                "Sensor 1": {"temp2_input": 50.9 + index},
            },
        },
        indent=2,
    )


@pytest.mark.parametrize("stamp", ["17000000{:02}", "Sun Nov 22 20:11:{:02} 2026"])
@pytest.mark.parametrize("form", [chip, raw_chip, document])
def test_of_lm_sensors_chips_the_drives_are_read(form: Form, stamp: str) -> None:
    others = "" if form is document else OTHERS
    (log,) = logs("".join(f"{stamp.format(5 * i)}\n{form(i)}{others}\n" for i in range(6)))
    assert log.samples["t_s"].to_list() == [0, 5, 10, 15, 20, 25]
    assert log.samples["temp_c.composite"].to_list() == pytest.approx([40.9 + i for i in range(6)])
    assert log.samples["temp_c.sensor1"].to_list() == pytest.approx([50.9 + i for i in range(6)])
    assert {name for name in log.samples.columns if name.startswith("temp_c.")} == {
        "temp_c.composite",
        "temp_c.sensor1",
    }
    assert log.sensors[0].thresholds == pytest.approx(
        {"warning_c": 76.8, "critical_c": 79.8}, abs=0.06
    )


def test_several_drives_become_a_log_each() -> None:
    one, two = logs("".join(f"20:11:{i:02d}\n{chip(i)}{chip(i + 7, 2)}" for i in range(4)))
    assert one.samples["temp_c.composite"].to_list() == [40.9, 41.9, 42.9, 43.9]
    assert two.samples["temp_c.composite"].to_list() == [47.9, 48.9, 49.9, 50.9]
    assert one.samples["t_s"].to_list() == two.samples["t_s"].to_list() == [0, 1, 2, 3]


def test_sata_drives_are_read_by_drivetemp() -> None:
    text = "drivetemp-scsi-0-0\nAdapter: SCSI adapter\ntemp1:        +33.0°C  (low  =  +0.0°C)\n\n"
    (log,) = logs(f"1700000000\n{text}1700000001\n{text}")
    assert log.samples["temp_c.drive"].to_list() == [33, 33]


WINDOWS = "DeviceId Temperature ReadErrorsUncorrected Wear PowerOnHours\n"
RULE = "-------- ----------- --------------------- ---- ------------\n"


def table(index: int) -> str:
    """As Format-Table has it: of a drive that tells no temperature, all but the number."""
    row = f"0        {41 + index:<11} 0                     1    2300\n"
    return f"\n{WINDOWS}{RULE}{row}1                                     0\n\n"


def right_table(index: int) -> str:
    """Of what a script selected: numbers stand at the right, names may be wider than their rule."""
    return (
        "\nDeviceId FriendlyName         Temperature PowerOnHours\n"
        "-------- ------------         ----------- ------------\n"
        f"0        EXAMPLE NVME 1000 GB          {41 + index}         2300\n\n"
    )


def listed(index: int) -> str:
    return (
        "\nObjectId        : {1}\\\\PC\\root/Microsoft/Windows/Storage\\SPACES_StorageReliability\n"
        '                  er.ObjectId="{9e:RC:{a9}"\n'
        f"DeviceId        : 0\nPowerOnHours    : 2300\nTemperature     : {41 + index}\n"
        "TemperatureMax  : 0\nReadLatencyMax  :\nWear            : 1\n\n"
    )


def as_json(index: int) -> str:
    told = {"DeviceId": "0", "Temperature": 41 + index, "PowerOnHours": 2300, "Wear": 1}
    return json.dumps(told, indent=4) + "\n"


@pytest.mark.parametrize("form", [table, right_table, listed, as_json])
@pytest.mark.parametrize(
    "stamp", ["Wednesday, March 4, 2026 10:00:{:02} AM", "2026-03-04T10:00:{:02}"]
)
def test_powershell_s_counters_are_a_series(form: Form, stamp: str) -> None:
    (log,) = logs("".join(f"{stamp.format(5 * i)}\n{form(i)}" for i in range(4)))
    assert log.samples["t_s"].to_list() == [0, 5, 10, 15]
    assert log.samples["temp_c.drive"].to_list() == [41, 42, 43, 44]
    assert log.drive["path"] == "disk 0"
    assert log.sensors[0].details["power_on_h"] == 2300
    assert log.sensors[0].thresholds == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (OTHERS, "modprobe drivetemp"),
        (
            json.dumps({"coretemp-isa-0000": {"Core 0": {"temp2_input": 44.0}}}),
            "modprobe drivetemp",
        ),
        (f"{WINDOWS}{RULE}0                                          0\n", "tells no temperature"),
        ("2026-11-20 00:00:07;\t1;100;0;\t9;99;2000;\n", "tells no temperature"),
    ],
)
def test_output_that_tells_nothing_is_refused_with_what_would_be_right(
    text: str, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        logs(text)


def test_what_a_drive_warns_of_is_a_reading_without_any_number() -> None:
    (log,) = logs('{"smartctl": {"version": [7, 4]}, "smart_status": {"passed": false}}')
    assert log.sensors[0].details == {"failed": 1}
    with pytest.raises(UsageError, match="holds no reading"):
        logs('{"smartctl": {"version": [7, 4]}, "smart_status": {"passed": true}}')


def test_smartd_s_file_names_its_drive_and_its_low_bytes_are_celsius() -> None:
    rows = "".join(
        f"2026-11-20 0{i}:00:07;\t190;69;{85902295040 + 31 + i};\t194;69;{41 + i};\n"
        for i in range(3)
    )
    (log,) = logs(rows, "attrlog.SSD_X1-S0001.ata.csv")
    assert log.samples["temp_c.drive"].to_list() == [41, 42, 43]
    assert log.samples["temp_c.airflow"].to_list() == [31, 32, 33]
    assert (log.clock, log.drive) == ("utc", {"model": "SSD_X1", "serial": "S0001"})


def test_a_counter_that_some_readings_lack_keeps_its_rate() -> None:
    text = "".join(
        f"{1_700_000_000 + i}\nSmart Log for NVME device:nvme0n1\ntemperature : 41 C\n"
        + ("" if i in (3, 4) else f"data_units_written : {1_000_000 + 1000 * i}\n")
        for i in range(8)
    )
    (log,) = logs(text)
    moved = (log.samples["write_bw_mb_s"] * log.samples["interval_s"]).sum()
    assert moved == pytest.approx(7 * 512)
