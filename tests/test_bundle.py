"""Bundles: others find in one what I find in my recording, and nothing of whose it is."""

import gzip
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

#: One that throttles, one that fills its cache, a cool one, a limit that is sought, and cells.
RUNS = {
    "throttled": "quick --on sim:samsung-950-pro-512@puget-top-2gpu-loaded",
    "filled": "quick --on sim:samsung-960-evo-250@wings-px1",
    "cool": "quick --on sim:samsung-950-pro-512@wings-px1",
    "limit": "thermal-limit --on sim:samsung-950-pro-512@beside-card",
    "cells": "puget --on sim:samsung-950-pro-512 --scale 0.05 --set gpus=1 --set slot=top",
}
LOGS = Path(__file__).parent / "importer" / "data"
TO = "x.heatsoak.json.gz"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(directory: Path) -> None:
        for name, words in RUNS.items():
            done_here("run", *words.split(), "-o", name, cwd=directory)

    return made_once(tmp_path_factory, "bundled", make)


def require_as_found(given: Path, to: Path) -> None:
    """Claims and first lines are the same, with numbers that differ as means of 1 s do."""
    export(open_all([given]), str(to), force=True)
    own, others = (analyze(open_all([path])) for path in (given, to))
    for mine, its in zip(own.recordings, others.recordings, strict=True):
        sentences = (re.sub(r"[\d.,]+", "#", one.answer.sentence) for one in (mine, its))
        assert len(set(sentences)) == 1
        for claim, same in ((s.claim, t.claim) for s, t in zip(mine.steps, its.steps, strict=True)):
            assert (claim.what, claim.heat, claim.by) == (same.what, same.heat, same.by)
            assert claim.onset_s == pytest.approx(same.onset_s, abs=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_others_find_what_was_found_in_a_run(name: str, made: Path, tmp_path: Path) -> None:
    require_as_found(made / name, tmp_path / TO)


@pytest.mark.parametrize("tool", ["fio", "hwinfo", "smartctl", "lm_sensors", "crystaldiskinfo"])
def test_others_find_what_was_found_in_a_log(tool: str, tmp_path: Path) -> None:
    for path in (path for path in (LOGS / tool).glob("*.[ltc]*") if path.is_file()):
        require_as_found(path, tmp_path / TO)


def test_an_hour_takes_less_than_100_kb_and_ends_where_it_did(tmp_path: Path) -> None:
    rates = np.repeat([3000.0, 900.0], 18000)
    one = held(sampled(rates, sampling_s=0.1, temp_c__composite=70.0))
    (written,) = export([one], str(tmp_path / TO))
    assert (written.rows, written.bytes < 100_000) == (3600, True)
    assert open_all([tmp_path / TO])[0].samples(["t_s"])["t_s"].max() == 3600.0


# --- what is in it -------------------------------------------------------------------------------

#: Where a text of a user may stand in a bundle: what is to be told of a drive and its test.
DECIDED = {
    *("drive.model", "drive.firmware", "drive.details.firmware", "sensors.details.firmware"),
    *("conditions", "protocol.conditions", "protocol.name", "protocol.steps.name", "events.step"),
}
NAMED = ("name", "only_after", "only_if_drop_in")
OF_PROTOCOL = {
    *("protocol.heat.when", "protocol.scores.name", "protocol.scores.steps"),
    *(
        "protocol.steps.tracks",
        *(f"protocol.steps{at}.{k}" for k in NAMED for at in ("", ".steps")),
    ),
}
#: What is checked to be a size, which any text stands for here.
SIZES = ("span", "offset", "io_size", "capacity", "file_size")
#: Keys of objects that may have any.
OPEN = {
    "drive": ("path", "serial", "model", "firmware", "kind"),
    "details": ("wwid", "device", "mounted", "firmware", "transport", "power", "parent"),
    "load": ("tool", "erased"),
    "imported": ("source", "format"),
    "tools": ("heatsoak", "fio"),
    "data": ("command", "settles", "step_kind", "touches"),
}
BELOW = {"drive": "details", "load": "imported"}


def filled(schema: Mapping[str, Any], defs: Mapping[str, Any], path: str = "") -> Any:
    """What a JSON schema allows, with a secret for each text that may be any."""
    key = path.rpartition(".")[2]
    if "$ref" in schema:
        return filled(defs[schema["$ref"].rpartition("/")[2]], defs, path)
    if every := schema.get("anyOf"):
        kinds = [filled(one, defs, path) for one in every if one.get("type") != "null"]
        return next((kind for kind in kinds if isinstance(kind, str)), kinds[0])
    if schema.get("type") == "array":
        every = schema["items"].get("oneOf", [schema["items"]])
        return [filled(one, defs, path) for one in every]
    if schema.get("type") == "object" and "properties" in schema:
        return {k: filled(v, defs, f"{path}.{k}") for k, v in schema["properties"].items()}
    if schema.get("type") == "object":
        below = {BELOW[key]: filled(schema, defs, f"{path}.{BELOW[key]}")} if key in BELOW else {}
        return below | {k: f"SECRET {path}.{k}" for k in (*OPEN.get(key, ()), "x")}
    is_free = schema.get("type") == "string" and not {"enum", "const"} & schema.keys()
    return f"SECRET {path}" if is_free else schema.get("const", schema.get("enum", [1])[0])


def secrets(value: Any, path: str = "") -> Iterator[str]:
    """Yield where texts still are secrets."""
    for key, each in value.items() if isinstance(value, dict) else ():
        yield from secrets(each, f"{path}.{key}".strip("."))
    for each in value if isinstance(value, list) else ():
        yield from secrets(each, path)
    if isinstance(value, str) and "SECRET" in value and not path.endswith(SIZES):
        yield path.removesuffix(".x")


@pytest.mark.parametrize("kind", [Protocol, Observation])
def test_no_text_gets_into_a_bundle_but_those_that_somebody_decided_on(
    kind: type[Protocol | Observation],
) -> None:
    models = (RecordingMeta, Event, kind)
    schemas = [model.model_json_schema(mode="serialization") for model in models]
    whole, event, protocol = (filled(schema, schema.get("$defs", {})) for schema in schemas)
    event["kind"] = "step-end"
    whole |= {"columns": {"t_s": "Float64"}, "protocol": protocol, "events": [event]}
    assert len(set(secrets(whole))) > 40
    kept = set(secrets(bundle.cleaned(whole, lambda _, text: text)))
    assert kept == (DECIDED | OF_PROTOCOL if kind is Protocol else DECIDED)


def test_what_drive_host_and_files_are_called_is_in_no_byte_of_it(tmp_path: Path) -> None:
    hidden = ("S7KGNX0T", "erika", "/mnt/photos", "eui.0025", "bastion", "/dev/nvme7n1")
    serial, user, mount, wwid, host, device = hidden
    one = held(
        sampled(np.full(90, 900.0), step=f"job of {serial} in {mount}/a b", temp_c__erika=40.0),
        conditions={"host": host, "slot": "top", "note": f"on {device} by {user}"},
        drive={"model": f"A {serial}", "serial": serial, "path": f"{mount}/x"}
        | {"details": {"wwid": wwid, "device": "nvme7n1", "mounted": device}},
        host={"hostname": host, "user": user},
        load={"tool": f"/home/{user}/fio", "imported": {"source": f"/home/{user}/x.log"}},
        reason=f"{user} pressed Ctrl-C",
    )
    one.events.append(Event(t_s=9, kind="warning", text=f"{mount} is full", data={"command": user}))
    export([one], str(tmp_path / TO))
    unpacked = gzip.decompress((tmp_path / TO).read_bytes()).decode()
    assert [secret for secret in hidden if secret in unpacked] == []
    (back,) = open_all([tmp_path / TO])
    assert back.meta.conditions == {"slot": "top", "note": "on left-out by left-out"}
    assert back.samples()["step"][0] == "job of left-out in left-out b"


def test_what_is_in_it_is_listed_before_it_is_written(made: Path, tmp_path: Path) -> None:
    done = done_here("export", str(made / "cool"), "-o", TO, cwd=tmp_path)
    for told in ("drive model: Samsung SSD 950 PRO 512GB", "protocol name: quick", "left out: "):
        assert told in done.stderr
    again = done_here("export", TO, "-o", "y.heatsoak.json.gz", cwd=tmp_path)
    assert again.stderr == done.stderr


def test_a_bad_bundle_is_one_line(made: Path, tmp_path: Path) -> None:
    export(open_all([made / "cool"]), str(tmp_path / TO))
    text = gzip.decompress((tmp_path / TO).read_bytes())
    bad = {
        "version 2": text.replace(b'bundle":1', b'bundle":2', 1),
        "not valid JSON": gzip.compress(text)[: len(text) // 20],
        "damaged bundle": text.replace(b'"t_s":[', b'"t_s":["x",'),
        "damaged": text.replace(b'"status":"finished"', b'"status":7'),
        "KeyError": text.replace(b'"columns":{', b'"columns":{"nothing":"Float64",'),
        "over 64 MiB": gzip.compress(text + b" " * (70 << 20)),
    }
    for said, data in bad.items():
        (tmp_path / TO).write_bytes(data)
        done = heatsoak_here("analyze", TO, cwd=tmp_path)
        assert (done.returncode, done.stderr.count("\n"), said in done.stderr) == (2, 1, True)
