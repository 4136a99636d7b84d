"""Counts in vendors' log pages, with a program in nvme-cli's place."""

import json
from pathlib import Path
from typing import Any

import pytest
from heatsoak.recording.columns import dtype_of
from heatsoak.sensor import Roots
from heatsoak.sensor.nvme import VendorLogSensor
from heatsoak.tools import VARIABLE
from hypothesis import given
from hypothesis import strategies as st
from machine_tree import with_nvme

OCP = {"Percent free blocks": 90, "Number of Thermal throttling events": 7}
OCP_NEWER = {"thermal_throttling_events": 7, "current_throttling_status": 1}
INTEL = {
    "Intel Smart log": "nvme0",
    "Device stats": {"thermal_throttle_status": {"normalized": 100, "raw": {"pct": 0, "cnt": 7}}},
}


@pytest.fixture
def roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Roots:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "bin"))
    return with_nvme(tmp_path)


def sensor_of(roots: Roots, answers: dict[str, Any], vendor: str = "0x144d") -> Any:
    """Return the sensor of a drive whose nvme-cli gives `answers` by plugin, and fails else."""
    controller = (roots.sys / "class" / "nvme" / "nvme0").resolve()
    if not (controller / "device").exists():
        (controller / "device").mkdir()
    (controller / "device" / "vendor").write_text(f"{vendor}\n")
    tools = roots.sys.parent / "bin"
    for name, answer in answers.items():
        text = answer if isinstance(answer, str) else json.dumps(answer, indent=1)
        (tools / f"{name}.json").write_text(text)
    tool = tools / "nvme"
    tool.write_text(f'#!/bin/sh\nexec cat "{tools}/$1.json"\n')
    tool.chmod(0o755)
    return VendorLogSensor.find(controller / "nvme0n1", roots)


@pytest.mark.parametrize("answer", [OCP, OCP_NEWER, "Some remark\n" + json.dumps(OCP)])
def test_an_ocp_drive_counts_how_often_it_throttled(roots: Roots, answer: Any) -> None:
    sensor = sensor_of(roots, {"ocp": answer})
    assert sensor.info.columns == ("throttle_count.ocp",)
    assert dtype_of("throttle_count.ocp")
    assert sensor.read() == {"throttle_count.ocp": 7.0}


def test_only_a_drive_of_intels_is_asked_for_intels_page(roots: Roots) -> None:
    assert sensor_of(roots, {"intel": INTEL}) is None
    sensor = sensor_of(roots, {"intel": INTEL}, vendor="0x8086")
    assert sensor.read() == {"throttle_count.intel": 7.0}


@pytest.mark.parametrize("answer", [{}, {"thermal_throttling_events": "many"}, "no JSON", "[1]"])
def test_a_drive_without_such_a_page_has_no_such_sensor(roots: Roots, answer: Any) -> None:
    assert sensor_of(roots, {}) is None
    assert sensor_of(roots, {"ocp": answer}) is None


def test_a_reading_that_fails_is_left_out_and_says_why(roots: Roots) -> None:
    sensor = sensor_of(roots, {"ocp": OCP})
    (roots.sys.parent / "bin" / "ocp.json").unlink()
    assert sensor.read() == {}
    assert "nvme-cli" in sensor.last_error


@pytest.mark.slow
@given(
    st.text(max_size=200)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=10),
        lambda inner: st.dictionaries(st.sampled_from([*OCP, *OCP_NEWER]), inner, max_size=3),
    ).map(json.dumps)
)
def test_whatever_nvme_cli_prints_is_a_count_or_an_error_that_says_so(text: str) -> None:
    from heatsoak.sensor.nvme import ocp_count, parse

    try:
        count = parse(text, ocp_count)
    except ValueError:
        return
    assert count >= 0
