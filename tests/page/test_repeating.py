"""What the page gives to make a recording again does make it again."""

import tomllib

import pytest
from compared import run, steady
from heatsoak.protocol import Observation, Protocol, apply_settings, bundled, load
from heatsoak.protocol.source import parse_toml
from heatsoak.recording import RecordingMeta
from heatsoak.report.page.facts import command, protocol_toml


@pytest.mark.parametrize("name", bundled())
def test_a_protocol_reads_back_as_it_was(name: str) -> None:
    protocol = load(name)
    assert parse_toml(protocol_toml(protocol), "it") == protocol


def test_what_is_known_of_an_observed_load_is_toml_too() -> None:
    meta = run({}, steady(2000), imported=True).meta
    assert isinstance(meta.protocol, Observation)
    assert tomllib.loads(protocol_toml(meta.protocol))["name"] == "fio-log"


def meta_of(protocol: Protocol, **drive: object) -> RecordingMeta:
    return RecordingMeta(
        protocol=protocol,
        conditions={"slot": "top", "gpus": 2, "gpu_load": "loaded", "fan": True, "by": "A B"},
        drive=drive,
        columns={"t_s": "Float64"},
        started_unix_s=None,
    )


def test_a_changed_protocol_is_named_as_a_file_and_a_drive_by_its_serial() -> None:
    changed = apply_settings(load("puget"), ["runtime=60s"])
    told = command(meta_of(changed, kind="block", path="/dev/nvme0n1", serial="S1"))
    assert told is not None
    assert told.startswith("heatsoak run protocol.toml --on /dev/nvme0n1 ")
    assert told.endswith(" --erase S1")
