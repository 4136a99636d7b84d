"""Bundles: recordings in one small file for others to judge, without what tells whose they are.

A bundle is JSON, packed with gzip. Only what is listed here gets into it, and is read of it:
numbers, words of ours, and those texts of a user that a judgement is about, which are the drive's
model and firmware, the names of the protocol, its steps and scores, and labels. What drive, host
and files are called is replaced in these, and so are paths. Rates are means over a second, in short
steps over less; temperatures and counters are as they were read.
"""

import gzip
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from pydantic_core import from_json, to_json

from heatsoak import identity, protocol
from heatsoak.errors import UsageError
from heatsoak.recording import columns, grid, meta, reader

SUFFIX = ".heatsoak.json.gz"
#: The first key of a bundle, with the version of its schema, and how it begins.
KEY, VERSION = "heatsoak_bundle", 1
START = f'{{"{KEY}":'.encode()
#: Stands for a text that is needed, and for what something is called within one.
LEFT_OUT = "left-out"
#: Texts of users, of any shape.
_FREE = r"(?s).+"
#: What is kept of `recording.json` and events: texts of a shape by their paths.
_SHAPES = {
    **dict.fromkeys(("drive.model", "drive.firmware", "drive.details.firmware"), _FREE),
    **dict.fromkeys(("sensors.details.firmware", "events.step"), _FREE),
    **dict.fromkeys(("drive.details.drive", "drive.details.enclosure"), r"[a-z0-9-]{1,60}"),
    "drive.path": r"sim:[a-z0-9-]{1,60}@[a-z0-9-]{1,60}",
    "drive.kind": "simulated|file|block|nbd",
    "drive.details.transport": "nvme|sata|scsi|usb|virtio|nbd|mmc",
    "drive.details.wwid": r"\d+ of [0-9a-f]{32}",  # of this bundle, and of nothing else
    "status": "running|finished|interrupted|failed",
    "tools.heatsoak": r"\d+(?:\.\d+)*(?:\.?[a-z]+\d+)?",
    "sensors.details.power": "measured|reported",
    "part_of_copy.id": "[0-9a-f-]{8,36}",
    "part_of_copy.role": "source|destination",
    "events.kind": "step-(?:begin|end|skipped)|heat-(?:begin|steady|not-steady|end)|warning",
    "events.data.step_kind": "workload|precondition|replay|copy|pause|purge|rounds",
    "events.data.touches": "rate|unit|identity|time|temperature|recording",
}
#: Where numbers stay, and keys below which nothing does.
_NUMBERS = ("duration_s", "drive.", "sensors.", "events.", "protocol.", "load.is", "load.imported.")
_NOTHING = ("matrix", "fio", "latency_bins", "temps_c")
#: Of a protocol, texts of these keys: names, what has words of ours, and what has to be something.
_NAMES = ("name", "steps", "tracks", "only_after", "only_if_drop_in")
_WORDS = (
    *("kind", "rw", "until", "method", "spare", "metric", "statistic", "span", "offset"),
    *("io_size", "capacity", "file_size", "damaged", "beyond", "source", "warm_up"),
)
_NEEDED = ("command", "trace", "definition")
#: Labels of drives that do not tell which one it is.
_OF_MODELS = ("drive", "firmware", "fw", "model", "vendor")
#: A path, and the keys of what drive, host and files are called.
_PATH = r"(?<![\w.])(?:~|[A-Za-z]:)?[\\/][^\s'\",;]+"
_CALLED = rb'"(?:serial|wwid|path|device|mounted|source|host|hostname|user)":("(?:[^"\\]|\\.)+")'
_LEAST_LETTERS = 4
#: A step has so many samples at least, where it was sampled so often; over a day there are fewer.
_MIN_SAMPLES = 300
_DAY_S = 86_400.0

#: Returns a text as it is kept, of that path.
Text = Callable[[str, str], str]


def _kept(value: Any, path: str, text: Text) -> Any:
    """Return what is kept of a JSON value; None for nothing."""
    key, in_protocol = path.rpartition(".")[2], path.startswith("protocol")
    if isinstance(value, dict) and key in ("conditions", "when"):
        of = {name: protocol.kind_of_condition(name) for name in value}
        told = {k: v for k, v in value.items() if of[k] != "identity" or k in _OF_MODELS}
        told = {text(path, k): (text(path, protocol.label_text(v)), v) for k, v in told.items()}
        return {k: said if isinstance(v, str) else v for k, (said, v) in told.items()}
    if isinstance(value, dict):
        below = {k: v for k, v in value.items() if k not in _NOTHING}
        every = {k: _kept(v, f"{path}.{k}".strip("."), text) for k, v in below.items()}
        return {k: v for k, v in every.items() if v is not None} or None
    if isinstance(value, list):
        return [each for v in value if (each := _kept(v, path, text)) is not None]
    if isinstance(value, int | float):
        return value if path.startswith(_NUMBERS) else None
    if in_protocol and key in (*_WORDS, *_NEEDED):
        return LEFT_OUT if value and key in _NEEDED else value
    shape = _FREE if in_protocol and key in _NAMES else _SHAPES.get(path)
    return text(path, value) if value and shape and re.fullmatch(shape, value) else None


def _without_names(told: Mapping[str, Any], kept: dict[str, dict[str, None]]) -> Text:
    """Return what replaces, in a text, paths and all that a drive, host or file is called.

    What it returns is noted in `kept`.
    """
    called = re.findall(_CALLED, to_json([told["drive"], told["host"], told["load"]]))
    names = {name for each in called if not (name := str(from_json(each))).startswith("sim:")}
    names |= {re.split(r"[\\/]", name)[-1] for name in names if re.search(r"[\\/]", name)}
    long = sorted((name for name in names if len(name) >= _LEAST_LETTERS), key=len, reverse=True)
    pattern = re.compile("|".join([*map(re.escape, long), _PATH]), re.IGNORECASE)

    def text(path: str, value: str) -> str:
        kept.setdefault(path, {})[found := pattern.sub(LEFT_OUT, value)] = None
        return found

    return text


def cleaned(told: dict[str, Any], text: Text) -> dict[str, Any]:
    """Return the JSON of `recording.json`, with its events, as a bundle has it."""
    names = {
        name: text("columns", name) for name in columns.judged([*told["columns"], "interval_s"])
    }
    if len(set(names.values())) < len(names):
        raise UsageError(
            "columns would have one name without names of drives and files: rename them"
        )
    kept = {"drive": {}, **_kept(told, "", text)}
    for number, (sensor, own) in enumerate(zip(kept["sensors"], told["sensors"], strict=True), 1):
        held = [names[column] for column in own["columns"] if column in names]
        sensor |= {"name": f"sensor {number}", "source": "by a sensor", "columns": held}
    if "part_of_copy" in kept:
        kept["part_of_copy"]["partner"] = ""
    events = []
    for event, own in zip(kept["events"], told["events"], strict=True):
        if touched := event.get("data", {}).get("touches"):
            event["text"] = f"how its log was read leaves open: {', '.join(touched)}"
        elif own["text"] and event.get("kind") in ("step-end", "step-skipped"):
            event["text"] = "ended for a reason that bundles leave out"
        if (touched or event.get("kind", "warning") != "warning") and event not in events:
            events.append(event)
    about = {"columns": columns.types_of(names.values()), "started_unix_s": None}
    return {**kept, **about, "events": events}


def _cells(width_s: float) -> pl.Expr:
    """Return which samples become one: those of `width_s`, counted from the start of their step.

    Of a short step, of less; and each remains where they are as far apart as that.
    """
    run, covered_s = pl.col("step").rle_id(), pl.col("interval_s").fill_null(0.0)
    start_s = (pl.col("t_s") - covered_s).min().over(run)
    asked_s = pl.min_horizontal(width_s, (pl.col("t_s").max().over(run) - start_s) / _MIN_SAMPLES)
    usual_s = pl.col("interval_s").median().over(run)
    cell_s = (asked_s / usual_s + 1e-6).floor() * usual_s
    number = ((pl.col("t_s") - covered_s / 2 - start_s) / cell_s + 1e-6).floor()
    alone = pl.int_range(pl.len()).cast(pl.Float64)
    is_wide = (cell_s > 1.5 * usual_s).fill_null(value=False)
    return pl.struct(run.alias("run"), pl.when(is_wide).then(number).otherwise(alone))


def _tables(recording: reader.Recording, text: Text) -> dict[str, Any]:
    """Return rates, and what was read of temperatures and counters, as columns of numbers."""
    names = columns.judged([*recording.meta.columns, "interval_s"])
    samples = recording.samples(names).lazy()
    families = (columns.TEMPERATURES, columns.COUNTS, columns.TIMES, "critical_warning")
    readings = [name for name in names if name.startswith(families)]
    measured = pl.any_horizontal(pl.lit(value=False), pl.exclude("t_s", "step").is_not_null())
    rates = samples.drop(readings).filter(measured)
    width_s = max(1.0, (recording.meta.duration_s or 0.0) // _DAY_S)
    tables = {
        "rates": grid.binned(rates, _cells(width_s)),
        "readings": samples.select("t_s", "step", *readings).filter(measured),
    }
    exact = pl.col("^(t|interval)_s$").round(6)
    rounded = pl.col(pl.Float64).exclude("^(t|interval)_s$").round_sig_figs(6)
    steps = pl.col("step").map_elements(partial(text, "events.step"), return_dtype=pl.String)
    renamed = partial(text, "columns")
    frames = {name: each.with_columns(exact, rounded, steps) for name, each in tables.items()}
    frames = {name: each.rename(renamed) for name, each in frames.items()}
    return {name: each.collect().to_dict(as_series=False) for name, each in frames.items()}


def bundle_of(recordings: Sequence[reader.Recording]) -> tuple[dict[str, Any], list[str]]:
    """Return the JSON of a bundle, and what is in it in lines: all texts, and what is left out."""
    drives = identity.numbered([each.identity for each in recordings])
    logs = list(dict.fromkeys(each.path for each in recordings))
    group, held = uuid.uuid4().hex, []
    kept: dict[str, dict[str, None]] = {}
    for recording, drive in zip(recordings, drives, strict=True):
        events = [event.model_dump(mode="json") for event in recording.events]
        told = {**recording.meta.model_dump(mode="json"), "events": events}
        text = _without_names(told, kept)
        about = cleaned(told, text)
        if max(drives) > 0:  # which drives there are tells, and not which they are
            about["drive"].setdefault("details", {})["wwid"] = f"{drive + 1} of {group}"
        of = {"log": logs.index(recording.path) + 1, "is_changed": recording.changes is not None}
        held.append({"meta": about, **of, **_tables(recording, text)})
    lines = [f"{path.replace('.', ' ')}: {', '.join(texts)}" for path, texts in kept.items()]
    lines += ["numbers: of columns, drive, sensors, events and protocol"]
    lines += ["left out: serials, names of hosts and users, paths, commands, messages, the date"]
    return {KEY: VERSION, "recordings": held}, lines


def packed(bundle: dict[str, Any]) -> bytes:
    """Return a bundle as the bytes of its file."""
    return gzip.compress(to_json(bundle), mtime=0)


def opened(value: Any, path: Path) -> list[reader.InMemoryRecording]:
    """Return the recordings of a bundle's JSON, from `path`; UsageError for a bad one."""
    version = value.get(KEY) if isinstance(value, dict) else None
    if version != VERSION:
        raise UsageError(
            f"{path}: is a bundle of version {version}, and this heatsoak reads version {VERSION}: "
            "a newer one may read it"
        )
    try:
        every = value["recordings"]
        return [
            _opened(held, path / f"recording {held['log']}" if every[1:] else path)
            for held in every
        ]
    except (LookupError, TypeError, ValueError, AttributeError, pl.exceptions.PolarsError) as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise UsageError(f"{path}: is a damaged bundle: {why}") from error


def _opened(held: Any, path: Path) -> reader.InMemoryRecording:
    events = [meta.Event.model_validate(event) for event in held["meta"]["events"]]
    about = meta.RecordingMeta.model_validate(held["meta"])
    told = {**about.model_dump(mode="json"), "events": []}
    # what somebody wrote into it by hand is left out too
    about = meta.RecordingMeta.model_validate(cleaned(told, lambda _, value: value))
    schema = columns.schema_of(about.columns)
    frames = [
        pl.DataFrame(held[table], schema={name: schema[name] for name in held[table]})
        for table in ("rates", "readings")
    ]
    missing = pl.DataFrame(schema=schema)
    samples = reader.cleaned(pl.concat([missing, *frames], how="diagonal").lazy(), schema)
    changes = "it was changed after it was made" if held["is_changed"] else None
    return reader.InMemoryRecording(path, about, samples.sort("t_s").collect(), events, changes)
