"""Bundles: recordings in one small file for others to judge, without what tells whose they are.

A bundle is JSON, packed with gzip. Only what is listed here gets into it, and it is read by the
same list: numbers, words of ours, and those texts of a user that a judgement is about, which are
the drive's model and firmware, the names of the protocol, its steps and scores, and labels. Names
of drive and host that stand in these, and paths, are left out. Rates are means over a second and
less, as :func:`_cells` says; temperatures and counters are as they were read.
"""

import gzip
import re
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import ValidationError
from pydantic_core import to_json

from heatsoak import catalog, identity, protocol
from heatsoak.errors import UsageError
from heatsoak.recording import columns, grid, meta, reader
from heatsoak.toml import explain
from heatsoak.words import counted

#: The first key of a bundle, with the version of its schema.
KEY, VERSION = "heatsoak_bundle", 1
START = f'{{"{KEY}":'.encode()
SUFFIX = ".heatsoak.json.gz"
LEFT_OUT = "left-out"

_Text = Callable[[str], str]

#: What is kept: of each key a number, yes or no (None), a text of this shape, or what is in it.
_ANY, _NUMBER, _WORD = r"(?s).+", None, r"[a-z0-9_-]{1,40}"
_TOOL = r"(?:fio-)?\d+(?:\.\d+){0,3}(?:(?:a|b|rc|\.dev)\d+)?"
_LIMITS = ("warning_c", "critical_c", "tmt1_c", "tmt2_c", "tmt_min_c", "tmt_max_c")
_EVENT: dict[str, Any] = {
    "t_s": _NUMBER,
    "kind": r"step-(?:begin|end|skipped)|heat-(?:begin|steady|not-steady|end)|warning",
    "step": _ANY,
    "data": {
        **dict.fromkeys(("index", "round", "was_done", "duration_s", "load_cpu_s", "rate_mb_s")),
        "step_kind": "workload|precondition|replay|copy|pause|purge|rounds|observed",
        "tmt_k": [_NUMBER],
        "touches": ["rate|unit|identity|time|temperature|recording"],
    },
}


@cache
def _meta() -> dict[str, Any]:
    """What is kept of `recording.json` beside its protocol, labels and columns."""
    drive, place = ("|".join(ids()) for ids in (catalog.drive_ids, catalog.enclosure_ids))
    firmware = {"firmware": _ANY}
    details = {"transport": "[a-z]{1,8}", "drive": drive, "enclosure": place, "wwid": _NUMBERED}
    details |= dict.fromkeys(("rotational", "logical_block_bytes"))
    health = dict.fromkeys((*meta.HEALTH, "estimated", "error_pct", "used_pct", "written_gb"))
    states = {"power_states": [dict.fromkeys(("state", "max_w"))], "power": "measured|reported"}
    return {
        "status": "running|finished|interrupted|failed",
        "duration_s": _NUMBER,
        "drive": {
            **firmware,
            **{"kind": "simulated|file|block|nbd", "model": _ANY},
            **dict.fromkeys(("size_bytes", "simulated")),
            "details": {
                **details,
                **firmware,
                "link": dict.fromkeys(("ceiling_mb_s", "max_ceiling_mb_s")),
            },
        },
        "tools": {"heatsoak": _TOOL, "fio": _TOOL},
        "load": {
            "is_divided": _NUMBER,
            "imported": {"format": _WORD, meta.IN_ORDER_ONLY: _NUMBER},
        },
        "sensors": [
            {
                **dict.fromkeys(("interval_s", "idle_interval_s", "of_drive")),
                "thresholds": dict.fromkeys(_LIMITS),
                "details": {**health, **states, **firmware},
            }
        ],
        "part_of_copy": {"id": "[0-9a-f-]{8,36}", "role": "source|destination"},
    }


#: Texts of a protocol, by their keys; what heatsoak's own protocol of its name says stays as well.
_TEXTS = frozenset({
    *("name", "kind", "rw", "until", "tracks", "steps", "only_after", "only_if_drop_in", "method"),
    *("spare", "metric", "statistic", "span", "offset", "io_size", "capacity", "file_size"),
    *("damaged", "beyond", "source", "warm_up"),
})  # fmt: skip
#: What there must be a text for.
_NEEDED = ("command", "trace", "definition")
_ONLY_TO_RUN = ("matrix", "fio")
#: Labels of drives that do not tell which one it is.
_OF_MODELS = ("drive", "firmware", "fw", "model", "vendor")
#: Keys of what a drive, a host or a file is called.
_NAMES = ("serial", "wwid", "path", "device", "mounted", "source", "host", "hostname", "user")
_LEAST_NAME = 4
_PATH = r"(?<![\w.])(?:~|[A-Za-z]:)?[\\/][^\s'\",;]+"
#: Tells the drives of one bundle apart, and nothing else.
_NUMBERED = r"\d+ of [0-9a-f]{32}"
#: How sensors and counters are called that say nothing of whose they are.
_SENSORS = re.compile(
    r"(?:(?:composite|drive|sensor|controller|nand|flash|airflow|cpu|gpu|case|neighbour|ambient"
    r"|chamber|package|core|id|tctl|warning|critical|shutdown|tmt)_?(?:\d{1,2})?(?:_|$))+"
)
_WHERE = re.compile(r"(?:cpu|gpu|case|neighbour|ambient|chamber)?")
#: A step has so many samples at least, where it was sampled so often.
_MIN_SAMPLES = 60
_DAY_S = 86_400.0
_DIGITS, _TIME_DIGITS = 6, 6


# --- what is kept --------------------------------------------------------------------------------


def _kept(value: Any, rules: Any, text: _Text) -> Any:
    """Return what is kept of a value; None for nothing."""
    if isinstance(rules, dict):
        told = value if isinstance(value, dict) else {}
        found = {key: _kept(told.get(key), rule, text) for key, rule in rules.items()}
        return {key: each for key, each in found.items() if each is not None}
    if isinstance(rules, list):
        every = value if isinstance(value, list) else []
        return [each for one in every if (each := _kept(one, rules[0], text)) is not None]
    if rules is None:
        return value if isinstance(value, int | float) else None
    return text(value) if isinstance(value, str) and re.fullmatch(rules, value) else None


def _protocol(value: Any, key: str, shipped: frozenset[str], text: _Text) -> Any:
    """Return a protocol's JSON without texts that may be about anything, and what only a run needs.

    `shipped` are the texts of heatsoak's own of its name.
    """
    if key in ("conditions", "when"):
        return _labels(value, text)
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k not in _ONLY_TO_RUN}
        return {k: _protocol(v, k, shipped, text) for k, v in kept.items()}
    if isinstance(value, list):
        return [each for one in value if (each := _protocol(one, key, shipped, text)) != ""]
    if not isinstance(value, str) or value in shipped:
        return value
    return text(value) if key in _TEXTS else LEFT_OUT if key in _NEEDED else ""


@cache
def _shipped(name: str) -> frozenset[str]:
    if name not in protocol.bundled():
        return frozenset()
    return frozenset(_texts_in(protocol.load(name).model_dump(mode="json")))


def _texts_in(value: Any, keys: Sequence[str] | None = None) -> Iterator[str]:
    """Yield the texts in a JSON value, or those under some keys."""
    if isinstance(value, dict):
        for key, each in value.items():
            is_asked = isinstance(each, dict | list) or keys is None or key in keys
            yield from _texts_in(each, keys) if is_asked else ()
    elif isinstance(value, list):
        for each in value:
            yield from _texts_in(each, keys)
    elif isinstance(value, str):
        yield value


def _labels(given: Mapping[str, Any], text: _Text) -> dict[str, Any]:
    return {
        text(key): text(value) if isinstance(value, str) else value
        for key, value in given.items()
        if protocol.kind_of_condition(key) != "identity" or key.lower() in _OF_MODELS
    }


def _without_names(told: Mapping[str, Any]) -> _Text:
    """Return what replaces, in a text, paths and all that a drive, host or file is called."""
    known = set(_texts_in([told.get(key) for key in ("drive", "host", "load")], _NAMES))
    known |= {re.split(r"[\\/]", name)[-1] for name in known if re.search(r"[\\/]", name)}
    names = sorted((name for name in known if len(name) >= _LEAST_NAME), key=len, reverse=True)
    pattern = re.compile("|".join([*map(re.escape, names), _PATH]), re.IGNORECASE)
    return lambda text: pattern.sub(LEFT_OUT, text)


def _column_names(names: Sequence[str]) -> dict[str, str]:
    """Return what the judged columns are called in a bundle."""
    found = {}
    for number, name in enumerate(columns.judged(names), 1):
        family, dot, sensor = name.partition(".")
        if sensor and not _SENSORS.fullmatch(sensor):
            where = _WHERE.match(sensor)
            sensor = f"{(where and where[0]) or 'sensor'}_{number}"
        found[name] = family + dot + sensor
    return found


def _kept_meta(told: dict[str, Any], text: _Text) -> dict[str, Any]:
    """Return the JSON of a `recording.json` as a bundle has it."""
    names = _column_names(list(told["columns"]))
    kept = _kept(told, _meta(), text)
    shipped = _shipped(told["protocol"]["name"])
    details = kept["drive"]["details"]
    if kept["drive"].get("simulated") and {"drive", "enclosure"} <= details.keys():
        kept["drive"]["path"] = f"sim:{details['drive']}@{details['enclosure']}"
    for number, (sensor, own) in enumerate(zip(kept["sensors"], told["sensors"], strict=True), 1):
        held = [names[column] for column in own["columns"] if column in names]
        sensor |= {"name": f"sensor {number}", "source": "by a sensor", "columns": held}
    if kept["part_of_copy"]:
        kept["part_of_copy"]["partner"] = ""
    else:
        del kept["part_of_copy"]
    return {
        **kept,
        "protocol": _protocol(told["protocol"], "", shipped, text),
        "conditions": _labels(told["conditions"], text),
        "columns": columns.types_of(names.values()),
        "started_unix_s": None,
    }


def _kept_events(events: Sequence[dict[str, Any]], text: _Text) -> list[dict[str, Any]]:
    """Return what a judgement reads of events: their texts may be about anything."""
    found: list[dict[str, Any]] = []
    for event in events:
        kept = _kept(event, _EVENT, text)
        touched = kept["data"]["touches"]
        if "kind" not in kept or (kept["kind"] == "warning" and not touched):
            continue
        for key in ("touches", "tmt_k"):
            if not kept["data"][key]:
                del kept["data"][key]
        if touched:
            kept["text"] = f"how its log was read leaves open: {', '.join(touched)}"
        elif event["text"] and kept["kind"] in ("step-end", "step-skipped"):
            kept["text"] = "ended for a reason that bundles leave out"
        found += [] if kept in found else [kept]
    return found


# --- samples -------------------------------------------------------------------------------------


def _cells(samples: pl.LazyFrame, width_s: float) -> pl.Expr:
    """Return which samples become one: those of `width_s`, counted from the start of their step.

    Of a short step, of less; and each remains where they are as far apart as that.
    """
    run = pl.col("step").rle_id()
    covered_s = pl.col("interval_s").fill_null(0.0)
    start_s = (pl.col("t_s") - covered_s).min().over(run)
    span_s = pl.col("t_s").max().over(run) - start_s
    usual_s = pl.col("interval_s").median().over(run)
    asked_s = pl.min_horizontal(pl.lit(width_s), span_s / _MIN_SAMPLES)
    cell_s = (asked_s / usual_s + 1e-6).floor() * usual_s
    middle_s = pl.col("t_s") - covered_s / 2 - start_s
    numbers = pl.when(cell_s > 1.5 * usual_s).then((middle_s / cell_s + 1e-6).floor())
    alone = pl.int_range(pl.len()).cast(pl.Float64)
    return pl.struct(run.alias("run"), numbers.fill_null(alone).alias("number"))


def _is_reading(name: str) -> bool:
    families = (columns.TEMPERATURES, columns.COUNTS, columns.TIMES)
    return name.startswith(families) or name == "critical_warning"


def _tables(recording: reader.Recording, text: _Text) -> dict[str, dict[str, list[Any]]]:
    """Return rates, and what was read of temperatures and counters, as columns of numbers."""
    names = _column_names(list(recording.meta.columns))
    samples = recording.samples([*names, "interval_s"]).lazy()
    readings = [name for name in names if _is_reading(name)]
    width_s = max(1.0, (recording.meta.duration_s or 0.0) // _DAY_S)
    rates = samples.drop(readings)
    measured = pl.any_horizontal(pl.exclude("t_s", "step").is_not_null())
    tables = {
        "rates": grid.binned(rates.filter(measured), _cells(rates, width_s)),
        "readings": samples.select("t_s", "step", *readings).filter(measured),
    }
    times = ("t_s", "interval_s")
    found = {}
    for table, lazy in tables.items():
        frame = lazy.with_columns(
            pl.col(pl.Float64).exclude(*times).round_sig_figs(_DIGITS),
            pl.col(*(name for name in times if name in lazy.collect_schema())).round(_TIME_DIGITS),
            pl.col("step").map_elements(text, return_dtype=pl.String),
        ).collect()
        found[table] = {
            names.get(column.name, column.name): column.to_list()
            for column in frame
            if column.null_count() < frame.height
        }
    return found


# --- bundles -------------------------------------------------------------------------------------


def bundle_of(recordings: Sequence[reader.Recording]) -> dict[str, Any]:
    """Return the JSON of a bundle."""
    drives = identity.numbered([recording.identity for recording in recordings])
    group = uuid.uuid4().hex
    logs = list(dict.fromkeys(recording.path for recording in recordings))
    held = []
    for recording, drive in zip(recordings, drives, strict=True):
        told = recording.meta.model_dump(mode="json")
        text = _without_names(told)
        about = _kept_meta(told, text)
        if max(drives) > 0:
            about["drive"]["details"]["wwid"] = f"{drive + 1} of {group}"
        events = [event.model_dump(mode="json") for event in recording.events]
        held.append(
            {
                "meta": about,
                "events": _kept_events(events, text),
                "log": logs.index(recording.path) + 1,
                "is_changed": recording.changes is not None,
                **_tables(recording, text),
            }
        )
    return {KEY: VERSION, "recordings": held}


def packed(bundle: dict[str, Any]) -> bytes:
    """Return a bundle as the bytes of its file."""
    return gzip.compress(to_json(bundle), mtime=0)


def contents(bundle: dict[str, Any]) -> list[str]:
    """Return a line for each kind of what is in a bundle, with every text of a user."""
    kinds: dict[str, dict[str, None]] = defaultdict(dict)
    for held in bundle["recordings"]:
        about, drive = held["meta"], held["meta"]["drive"]
        firmware = [each["details"].get("firmware") for each in (drive, *about["sensors"])]
        limits = [each["thresholds"] for each in about["sensors"]]
        labels = {**about["protocol"].get("conditions", {}), **about["conditions"]}
        scores = about["protocol"].get("scores", [])
        listed = {
            "drive": [drive.get("model"), drive.get("firmware"), *firmware],
            "limits": [f"{key} {value:g}" for each in limits for key, value in each.items()],
            "protocol": [about["protocol"]["name"]],
            "steps": [step["name"] for step in about["protocol"]["steps"]],
            "scores": [score["name"] for score in scores],
            "labels": [f"{key}={protocol.label_text(value)}" for key, value in labels.items()],
            "columns": [name for name in about["columns"] if name not in ("t_s", "step")],
        }
        for kind, texts in listed.items():
            kinds[kind] |= dict.fromkeys(filter(None, texts))
    lines = [f"{kind}: {', '.join(texts)}" for kind, texts in kinds.items() if texts]
    sizes = (len(held["rates"].get("t_s", [])) for held in bundle["recordings"])
    events = sum(len(held["events"]) for held in bundle["recordings"])
    lines.append(f"rows: {counted(sum(sizes), 'row')} of rates; {counted(events, 'event')}")
    return [*lines, "left out: serials, names of hosts and users, paths, commands, messages, date"]


def opened(value: Any, path: Path) -> list[reader.InMemoryRecording]:
    """Return the recordings of a bundle's JSON, read from `path`; raises UsageError for a bad one."""
    version = value.get(KEY) if isinstance(value, dict) else None
    if version != VERSION:
        raise UsageError(
            f"{path}: is a bundle of version {version}, and this heatsoak reads version {VERSION}: "
            "a newer heatsoak may read it"
        )
    try:
        every = value["recordings"]
        return [_opened(held, path / str(held["log"]) if every[1:] else path) for held in every]
    except ValidationError as error:
        why = explain(error, meta.RecordingMeta)
    except (KeyError, TypeError, ValueError, AttributeError, pl.exceptions.PolarsError) as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    raise UsageError(f"{path}: is a damaged bundle: {why}")


def _opened(held: Any, path: Path) -> reader.InMemoryRecording:
    told = meta.RecordingMeta.model_validate(held["meta"]).model_dump(mode="json")
    about = meta.RecordingMeta.model_validate(_kept_meta(told, str))
    schema = columns.schema_of(about.columns)
    frames = [
        pl.DataFrame(held[table], schema_overrides=schema).select(
            pl.col(name).cast(schema[name]) for name in held[table] if name in schema
        )
        for table in ("rates", "readings")
    ]
    frame = pl.concat(frames, how="diagonal")
    missing = [pl.lit(None, dtype=each).alias(n) for n, each in schema.items() if n not in frame]
    samples = reader.cleaned(frame.lazy().with_columns(missing), schema).sort("t_s")
    events = [meta.Event.model_validate(event) for event in held["events"]]
    changes = "it was changed after it was made" if held["is_changed"] else None
    return reader.InMemoryRecording(path, about, samples.collect(), events, changes)
