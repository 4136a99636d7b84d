"""TKperf's results."""

import json
from typing import Any
from xml.etree import ElementTree

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Source, read


def result(tests: dict[str, Any], **changes: Any) -> bytes:
    """A file as TKperf writes it: JSON in each element."""
    root = ElementTree.Element("my-ssd")

    def put(parent: ElementTree.Element, tag: str, value: Any) -> None:
        ElementTree.SubElement(parent, tag).text = json.dumps(value)

    put(root, "testdate", "2021-04-26")
    put(root, "devinfo", ["/dev/sdb:\n", "\tModel Number:       EXAMPLE SSD\n", "\tSerial: 1\n"])
    put(root, "kernel", "5.4.0\n")
    put(root, "ioperfversion", "2.2")
    for tag, matrix in tests.items():
        test = ElementTree.SubElement(root, tag)
        fields = {"fioversion": "fio-3.16\n", "numjobs": 2, "iodepth": 16, "runtime": 30}
        for name, value in (fields | {"roundmat": matrix} | changes).items():
            put(test, name, value)
    return ElementTree.tostring(root)


def logs(data: bytes) -> list[Log]:
    return read(Source.of_bytes("result.xml", data))


def values(log: Log, column: str) -> list[Any]:
    return log.samples[column].to_list()


def texts(log: Log) -> str:
    return "\n".join(remark.text for remark in log.remarks)


def test_write_saturation_is_a_series_of_rounds() -> None:
    (log,) = logs(result({"writesat": [[80000, 70000], [[20.0, 5000.0, 400.0], [21, 6000, 450]]]}))
    assert log.label == "write saturation"
    assert values(log, "t_s") == [30.0, 60.0]
    assert values(log, "interval_s") == [30.0, 30.0]
    assert values(log, "write_iops") == [80000.0, 70000.0]
    assert values(log, "write_lat_us") == [400.0, 450.0]
    assert values(log, "write_lat_max_us") == [5000.0, 6000.0]
    (step,) = log.steps
    assert (step.rw, step.bs, step.iodepth, step.numjobs) == ("randwrite", 4096, 16, 2)
    assert log.drive == {"model": "EXAMPLE SSD", "serial": "1"}
    assert log.tools == {"tkperf": "2.2", "fio": "fio-3.16"}
    assert log.conditions == {"date": "2021-04-26", "kernel": "5.4.0"}
    assert log.clock == "none"


def test_iops_are_recognized_by_mix_and_block() -> None:
    turns = [[[1000 * row + block for block in range(8)] for row in range(7)] for _ in range(2)]
    (log,) = logs(result({"iops": turns}, reachstdystate=True, stdyrounds=[0, 1]))
    assert log.samples.height == 2 * 7 * 8
    assert len(log.steps) == 56
    four_k = log.samples.filter(log.samples["step"] == "randwrite 4k")
    assert four_k["write_iops"].to_list() == [6006.0, 6006.0]
    assert four_k["t_s"].to_list() == [55 * 30.0, 111 * 30.0]
    mixed = next(step for step in log.steps if step.name == "randrw 65/35 512")
    assert (mixed.rwmixread, mixed.bs) == (65, 512)
    assert "steady state in rounds 1 to 2" in texts(log)
    assert log.conditions["steady_state"] is True


def test_throughput_is_kib_and_alternates_between_reading_and_writing() -> None:
    matrix = [[[500_000, 400_000], [100_000, 90_000]]] * 5
    (log,) = logs(result({"tp": matrix}, reachstdystate=False))
    assert values(log, "read_bw_mb_s")[:3] == [512.0, None, pytest.approx(409.6)]
    assert values(log, "write_bw_mb_s")[:2] == [None, pytest.approx(102.4)]
    assert [step.name for step in log.steps][:3] == ["read 1024k", "write 1024k", "read 64k"]
    assert "KiB/s" in texts(log)
    assert "no steady state" in texts(log)


def test_latencies_are_means_and_maxima() -> None:
    matrix = [[[[1.0, 900.0, 100.0]] * 3] * 3]
    (log,) = logs(result({"lat": matrix}))
    first = log.samples.row(0, named=True)
    assert (first["read_lat_us"], first["read_lat_max_us"]) == (100.0, 900.0)
    mixed = log.samples.row(3, named=True)
    assert (mixed["lat_us"], mixed["step"]) == (100.0, "randrw 65/35 8k")


def test_each_test_is_a_run_of_its_own() -> None:
    data = result({"writesat": [[1], [[1, 2, 3]]], "tp": [[[5], [5]]]})
    assert [log.label for log in logs(data)] == ["write saturation", "throughput"]


def test_a_truncated_file_gives_the_tests_that_are_complete() -> None:
    data = result({"writesat": [[1], [[1, 2, 3]]], "tp": [[[5], [5]]]})
    (log,) = logs(data[:-40])
    assert log.label == "write saturation"
    assert "damaged or truncated" in texts(log)


def test_an_unstated_runtime_is_assumed_and_noted() -> None:
    (log,) = logs(result({"writesat": [[1], [[1, 2, 3]]]}, runtime=None))
    assert values(log, "interval_s") == [60.0]
    assert "taken as 60 s" in texts(log)


BOMB = (
    b'<!DOCTYPE a [<!ENTITY x "xxxxxxxxxx"><!ENTITY y "&x;&x;&x;&x;&x;&x;&x;&x;&x;">]>\n'
    b"<a><ioperfversion>&y;</ioperfversion><iops><roundmat>[1]</roundmat></iops></a>"
)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (BOMB, "declares entities"),
        (b"<a><ioperfversion>1</ioperfversion><iops><roundmat>", "is not valid XML"),
        (b"<a><iops><roundmat>[[[[</roundmat></iops></a>", "holds no rounds"),
        (b"<a><iops><roundmat>cos\nsystem\n(S'x'\n</roundmat></iops></a>", "holds no rounds"),
        (b"<a><iops><roundmat>[" + b"[" * 5000 + b"</roundmat></iops></a>", "holds no rounds"),
        (b"<roundmat>" + b"<a>" * 50, "nested deeper"),
        (b"<a><iops><roundmat>[1]</roundmat></iops>" + b" " * (9 << 20), "larger than 8 MiB"),
    ],
)
def test_what_is_not_a_result_is_one_clear_error(data: bytes, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        logs(data)
