"""Bundles: others find in one what I find in my recording, and nothing of whose it is."""

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import done_here, heatsoak_here
from heatsoak.analysis import analyze
from heatsoak.exporter import export
from heatsoak.importer import open_all
from heatsoak.protocol import Observation, Protocol
from heatsoak.recording import Event, RecordingMeta, bundle
from made_once import made_once
from made_recording import held, sampled

#: Commands of runs: one that throttles, one that fills its cache, a cool one, a limit that is
#: sought, and cells of a matrix.
RUNS = {
    "throttled": "quick --on sim:samsung-950-pro-512@puget-top-2gpu-loaded",
    "filled": "quick --on sim:samsung-960-evo-250@wings-px1",
    "cool": "quick --on sim:samsung-950-pro-512@wings-px1",
    "limit": "thermal-limit --on sim:samsung-950-pro-512@beside-card",
    "cells": "puget --on sim:samsung-950-pro-512 --scale 0.05 --set gpus=1 --set slot=top",
}
LOGS = Path(__file__).parent / "importer" / "data"
#: Of a sample and the first of the next.
ONSET_WITHIN_S = 1.0


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(directory: Path) -> None:
        for name, words in RUNS.items():
            done_here("run", *words.split(), "-o", name, cwd=directory)

    return made_once(tmp_path_factory, "bundled", make)


def require_as_found(given: Path, to: Path) -> None:
    export(open_all([given]), str(to))
    own, others = (analyze(open_all([path])) for path in (given, to))
    assert others.answer.throttles == own.answer.throttles
    for mine, its in zip(own.recordings, others.recordings, strict=True):
        sentences = [re.sub(r"[\d.,]+", "#", one.answer.sentence) for one in (mine, its)]
        assert sentences[0] == sentences[1]
        for step, same in zip(mine.steps, its.steps, strict=True):
            for key in ("what", "heat", "by"):
                assert getattr(step.claim, key) == getattr(same.claim, key), step.step
            here, there = step.claim.onset_s, same.claim.onset_s
            assert here == there or abs((here or 0) - (there or 0)) < ONSET_WITHIN_S


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_others_find_what_was_found_in_a_run(name: str, made: Path, tmp_path: Path) -> None:
    require_as_found(made / name, tmp_path / "x.heatsoak.json.gz")


@pytest.mark.parametrize(
    "name",
    ["fio/shared_bw.log", "hwinfo", "iostat/x.txt", "smartctl", "crystaldiskinfo"],
)
def test_others_find_what_was_found_in_a_log(name: str, tmp_path: Path) -> None:
    for number, path in enumerate(
        [p for p in (LOGS / name, *(LOGS / name).glob("*")) if p.is_file()]
    ):
        require_as_found(path, tmp_path / f"{number}.heatsoak.json.gz")


def test_an_hour_takes_less_than_100_kb_and_step_borders_stay(tmp_path: Path) -> None:
    rates = np.repeat([3000.0, 900.0], 18000)
    one = held(sampled(rates, sampling_s=0.1, temp_c__composite=70.0), rw="write")
    (written,) = export([one], str(tmp_path / "hour.heatsoak.json.gz"))
    assert (written.rows, written.bytes < 100_000) == (3600, True)
    (back,) = open_all([Path(written.path)])
    assert back.samples(["read_bw_mb_s", "t_s"])["t_s"].max() == 3600.0


# --- what is in it -------------------------------------------------------------------------------

#: Where a text of a user may stand in a bundle: what is to be told of a drive and a test.
_OF_ALL = {
    *("drive.model", "drive.firmware", "drive.details.firmware", "sensors.details.firmware"),
    *("conditions", "protocol.conditions", "protocol.name", "protocol.steps.name", "events.step"),
}
_OF_STEPS = ("name", "only_after", "only_if_drop_in")
DECIDED = {
    Observation: _OF_ALL,
    Protocol: _OF_ALL
    | {f"protocol.{key}" for key in ("heat.when", "scores.name", "scores.steps", "steps.tracks")}
    | {f"protocol.steps.{key}" for key in (*_OF_STEPS, *(f"steps.{key}" for key in _OF_STEPS))},
}
#: What a protocol checks to be a size, which any text stands for here.
SIZES = ("span", "offset", "io_size", "capacity", "file_size")
#: Keys of what may have any.
OPEN: dict[str, dict[str, Any]] = {
    "drive": {
        **dict.fromkeys(("path", "serial", "model", "firmware", "kind", "x")),
        "details": dict.fromkeys(("wwid", "device", "mounted", "firmware", "transport", "place")),
    },
    "details": dict.fromkeys(("firmware", "power", "labels", "parent")),
    "load": {"tool": None, "imported": dict.fromkeys(("source", "format"))},
    "tools": dict.fromkeys(("heatsoak", "fio")),
    "data": dict.fromkeys(("command", "settles", "step_kind", "touches")),
}


def texts(keys: Mapping[str, Any], path: str) -> dict[str, Any]:
    named = {key: (f"{path}.{key}".strip("."), below) for key, below in keys.items()}
    return {k: texts(below, at) if below else f"SECRET {at}" for k, (at, below) in named.items()}


def filled(schema: Mapping[str, Any], defs: Mapping[str, Any], path: str = "") -> Any:
    """What a JSON schema allows, with a secret for each text that may be any."""
    if "$ref" in schema:
        return filled(defs[schema["$ref"].rpartition("/")[2]], defs, path)
    if every := schema.get("oneOf") or schema.get("anyOf"):
        kinds = [filled(one, defs, path) for one in every if one.get("type") != "null"]
        return next((kind for kind in kinds if isinstance(kind, str)), kinds[0])
    if schema.get("type") == "array":
        every = schema["items"].get("oneOf", [schema["items"]])
        return [filled(one, defs, path) for one in every]
    if schema.get("type") == "object":
        told = {k: filled(v, defs, f"{path}.{k}") for k, v in schema.get("properties", {}).items()}
        return told or texts(OPEN.get(path.rpartition(".")[2], {"x": None}), path)
    is_free = schema.get("type") == "string" and not {"enum", "const"} & schema.keys()
    return f"SECRET {path}" if is_free else schema.get("const", schema.get("enum", [1])[0])


def secrets(value: Any, path: str = "") -> Iterator[str]:
    for key, each in value.items() if isinstance(value, dict) else ():
        yield from [path] if "SECRET" in key else []
        yield from secrets(each, f"{path}.{key}".strip("."))
    for each in value if isinstance(value, list) else ():
        yield from secrets(each, path)
    if isinstance(value, str) and "SECRET" in value:
        yield path.removesuffix(".x")


@pytest.mark.parametrize("kind", [Protocol, Observation])
def test_no_text_gets_into_a_bundle_but_those_that_somebody_decided_on(kind: type) -> None:
    told = []
    for model in (RecordingMeta, Event, kind):
        schema = model.model_json_schema(mode="serialization")
        told.append(filled(schema, schema.get("$defs", {})))
    whole, event, protocol = told
    whole |= {"columns": {"t_s": "Float64", "temp_c.SECRET": "Float64"}, "protocol": protocol}
    whole |= {"events": [event | {"kind": "step-end"}]}
    assert len(set(secrets(whole))) > 40
    found = {path for path in secrets(bundle.cleaned(whole, str)) if not path.endswith(SIZES)}
    assert found == DECIDED[kind]


def test_what_drive_host_and_files_are_called_is_in_no_byte_of_it(tmp_path: Path) -> None:
    hidden = ("S7KGNX0T", "erika", "/mnt/photos", "eui.0025", "bastion", "/dev/nvme7n1")
    serial, user, mount, wwid, host, device = hidden
    samples = sampled(
        np.full(90, 900.0), step=f"job of {serial} in {mount}/a b", temp_c__erika=40.0
    )
    one = held(
        samples,
        conditions={"host": host, "slot": "top", "note": f"on {device} by {user}"},
        drive={"model": f"A {serial}", "serial": serial, "path": f"{mount}/x", "firmware": "2B"}
        | {"details": {"wwid": wwid, "device": "nvme7n1", "mounted": device}},
        host={"hostname": host, "user": user},
        load={"tool": f"/home/{user}/fio", "imported": {"source": f"/home/{user}/x.log"}},
        reason=f"{user} pressed Ctrl-C",
    )
    one.events.append(Event(t_s=9, kind="warning", text=f"{mount} is full", data={"command": user}))
    export([one], str(to := tmp_path / "x.heatsoak.json.gz"))
    unpacked = gzip.decompress(to.read_bytes()).decode()
    assert [secret for secret in hidden if secret in unpacked] == []
    about = json.loads(unpacked)["recordings"][0]["meta"]
    assert about["conditions"] == {"slot": "top", "note": "on left-out by left-out"}
    (back,) = open_all([to])
    assert back.meta.drive["model"] == "A left-out"
    assert back.samples()["step"][0] == "job of left-out in left-out b"


def test_what_is_in_it_is_listed_before_it_is_written(made: Path, tmp_path: Path) -> None:
    done = done_here("export", str(made / "cool"), "-o", "x.heatsoak.json.gz", cwd=tmp_path)
    for told in ("drive model: Samsung SSD 950 PRO 512GB", "protocol name: quick", "left out: "):
        assert told in done.stderr
    # and nothing else is in one that was made of it
    again = done_here("export", "x.heatsoak.json.gz", "-o", "y.heatsoak.json.gz", cwd=tmp_path)
    assert again.stderr == done.stderr


# --- bad ones ------------------------------------------------------------------------------------


def test_a_bad_bundle_is_one_line(made: Path, tmp_path: Path) -> None:
    whole = tmp_path / "x.heatsoak.json.gz"
    export(open_all([made / "cool"]), str(whole))
    text = gzip.decompress(whole.read_bytes())
    packed = gzip.compress(text)
    bad = {
        "version 2": text.replace(b'bundle":1', b'bundle":2', 1),
        "not valid JSON": packed[: len(packed) // 2],
        "damaged bundle": text.replace(b'"t_s":[', b'"t_s":["x",'),
        "damaged": text.replace(b'"status":"finished"', b'"status":7'),
        "KeyError": text.replace(b'"columns":{', b'"columns":{"nothing":"Float64",'),
        "over 64 MiB": gzip.compress(text + b" " * (70 << 20)),
    }
    for said, data in bad.items():
        whole.write_bytes(data)
        done = heatsoak_here("analyze", str(whole), cwd=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert said in done.stderr
