"""Series as monitoring systems hand them out: Prometheus' ranges, long tables, smartd's log."""

import json
from pathlib import Path

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Source, read

DATA = Path(__file__).parent / "data"
_ROWS = 40
#: MB/s in each second, and the bytes counted so far.
RATES = [2400 if row < 20 else 800 for row in range(_ROWS)]
COUNTED = [510_000_000_000 + 1_000_000 * sum(RATES[:row]) for row in range(_ROWS)]
TEMPS = [50 + row for row in range(_ROWS)]
BEGIN = 1_772_359_200


def read_text(text: str, name: str = "log") -> list[Log]:
    return read(Source.of_bytes(name, text.encode()))


def prometheus(*series: tuple[str, list[int], dict[str, str]]) -> str:
    result = [
        {
            "metric": ({"__name__": name} if name else {}) | labels,
            "values": [[BEGIN + row, str(value)] for row, value in enumerate(values)],
        }
        for name, values, labels in series
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


WRITTEN = "node_disk_written_bytes_total"
HOT = "node_hwmon_temp_celsius"


def test_prometheus_counters_and_temperatures_are_of_their_drives() -> None:
    halves = [count // 2 for count in COUNTED]
    logs = read_text(
        prometheus(
            (WRITTEN, COUNTED, {"device": "nvme0n1"}),
            (WRITTEN, halves, {"device": "sda"}),
            (HOT, TEMPS, {"chip": "nvme_nvme0", "sensor": "temp1"}),
            (HOT, [99] * _ROWS, {"chip": "nvme_nvme0", "sensor": "temp2"}),
            (HOT, [30] * _ROWS, {"chip": "thermal_zone0", "sensor": "temp1"}),
            ("node_network_receive_bytes_total", COUNTED, {"device": "eth0"}),
        )
    )
    first, second = logs
    assert (first.drive["path"], second.drive["path"]) == ("nvme0n1", "sda")
    assert first.samples["write_bw_mb_s"].to_list()[1:] == RATES[:-1]
    assert first.samples["temp_c.composite"].to_list() == TEMPS
    assert second.samples["write_bw_mb_s"][1] == RATES[0] / 2
    assert [name for name in second.samples.columns if name.startswith("temp_c")] == []


def test_drives_of_one_name_in_two_hosts_are_two() -> None:
    series = [(WRITTEN, COUNTED, {"device": "sda", "instance": host}) for host in ("a", "b")]
    assert [log.drive["path"] for log in read_text(prometheus(*series))] == ["a sda", "b sda"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (prometheus(("", RATES, {"device": "sda"})), "no names.*query the counter itself"),
        (prometheus(("up", RATES, {})), "no series of a drive"),
        ('{"status": "success", "data": {"resultType": "vector", "result": []}}', "query_range"),
    ],
)
def test_answers_that_tell_no_course_are_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_text(text)


GRAFANA = '"Series";"Time";"Value"\n' + "".join(
    f'"{WRITTEN}{{device=""nvme0n1""}}";"2026-11-20T10:00:{row:02}";"{COUNTED[row]}"\n'
    for row in range(_ROWS)
) + "".join(
    f'"{HOT}{{chip=""nvme_nvme0"",sensor=""temp1""}}";"2026-11-20T10:00:{row:02}";"{TEMPS[row]}"\n'
    for row in range(_ROWS)
)  # fmt: skip
FLUX = "#datatype,string,long,dateTime,double,string,string,string\n" + (
    ",result,table,_time,_value,_field,_measurement,name\n"
    + "".join(
        f",,0,2026-11-20T10:00:{row:02}Z,{COUNTED[row]},write_bytes,diskio,nvme0n1\n"
        f",,1,2026-11-20T10:00:{row:02}Z,{TEMPS[row]},temp_c,smart_device,nvme0\n"
        for row in range(_ROWS)
    )
)
PLAIN = "time,device,metric,value\n" + "".join(
    f"{row},nvme0n1,write_mb_s,{RATES[max(row - 1, 0)]}\n{row},nvme0n1,temp_c,{TEMPS[row]}\n"
    for row in range(_ROWS)
)


@pytest.mark.parametrize("text", [GRAFANA, FLUX, PLAIN], ids=["Grafana", "InfluxDB", "plain"])
def test_a_long_table_is_read_as_a_wide_one(text: str) -> None:
    (log,) = read_text(text)
    assert log.drive["path"] == "nvme0n1"
    assert log.samples["write_bw_mb_s"].to_list()[1:] == RATES[:-1]
    (temperature,) = (name for name in log.samples.columns if name.startswith("temp_c."))
    assert log.samples[temperature].to_list() == TEMPS


def test_netdatas_rows_newest_first_and_drawn_downward_are_read() -> None:
    rows = [[BEGIN + row, 0, -RATES[row] * 1000] for row in reversed(range(_ROWS))]
    (log,) = read_text(json.dumps({"labels": ["time", "reads", "writes"], "data": rows}))
    assert log.samples["write_bw_mb_s"].to_list() == pytest.approx([rate * 1.024 for rate in RATES])
    assert any(remark.doubt and "read as KiB/s" in remark.text for remark in log.remarks)


def test_smartds_attribute_log_tells_temperatures() -> None:
    (log,) = read(Source.of_path(DATA / "smartd" / "attrlog.SSD_X1-S0001.ata.csv"))
    assert log.drive == {"model": "SSD_X1", "serial": "S0001"}
    assert log.samples["temp_c.drive"].to_list() == [31 + row % 9 for row in range(60)]
    assert log.samples["t_s"][1] == 1800
    assert log.clock == "utc"
    scsi = "".join(
        f"2026-11-20 10:{row:02}:00;\tread-total-unc-errors;0;\ttemperature;{40 + row};\n"
        for row in range(9)
    )
    (log,) = read_text(scsi)
    assert log.samples["temp_c.drive"][8] == 48


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("indent", [None, 1])
def test_json_in_any_encoding_is_json(encoding: str, indent: int | None) -> None:
    rows = [{"ts": BEGIN + row, "write_bytes": COUNTED[row]} for row in range(_ROWS)]
    (log,) = read(Source.of_bytes("x", json.dumps(rows, indent=indent).encode(encoding)))
    assert log.samples["write_bw_mb_s"].to_list()[1:] == RATES[:-1]
