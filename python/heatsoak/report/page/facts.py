"""What is known about a recording besides its samples, and how to repeat it."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import tomlkit

from heatsoak.analysis import RecordingFindings, SensorTrust
from heatsoak.analysis.names import Named
from heatsoak.catalog import enclosure_ids, load_enclosure
from heatsoak.protocol import Label, Observation, Protocol, bundled, label_text, load, scaled
from heatsoak.recording import Event, Recording, RecordingMeta, SensorMeta
from heatsoak.recording.bundle import SUFFIX
from heatsoak.report.findings import power_text
from heatsoak.report.page import contract
from heatsoak.report.steps import limit_of, sentence
from heatsoak.words import duration_text, number_text, plain, said, size_text, title_of

#: The file name in the command for a protocol that is not bundled.
_FILE = "protocol.toml"
_BUNDLE = ("heatsoak", "export", "--as", "bundle", "-o")


def protocol_toml(protocol: Protocol | Observation) -> str:
    """Return a protocol as ``heatsoak run`` reads it, or what is known about an observed load."""
    kinds = tuple(step.kind for step in protocol.steps) if isinstance(protocol, Protocol) else ()
    return _toml(protocol.model_dump_json(exclude_defaults=True, exclude_none=True), kinds)


@lru_cache(maxsize=64)
def _toml(text: str, kinds: tuple[str, ...]) -> str:
    """JSON as TOML; `kinds` are the kinds of the steps, which are left out if they are the
    default."""
    fields = json.loads(text)
    if kinds:
        steps = zip(kinds, fields["steps"], strict=True)
        fields["steps"] = [{"kind": kind, **said} for kind, said in steps]
    # TOML needs plain values before tables
    return tomlkit.dumps(dict(sorted(fields.items(), key=lambda field: _is_table(field[1]))))


def command(meta: RecordingMeta, events: Sequence[Event] = ()) -> str | None:
    """Return the command that makes such a recording; None for a load that somebody else made, and
    for one side of a copy."""
    protocol, place = meta.protocol, meta.drive.get("path")
    if isinstance(protocol, Observation) or meta.part_of_copy or not isinstance(place, str):
        return None
    name = protocol.name if _is_bundled(protocol) else _FILE
    place = _place(place, protocol)
    words = ["heatsoak", "run", name, "--on", place]
    if name != _FILE and protocol.scale != 1:
        words += ["--scale", f"{protocol.scale:g}"]
    implied = _implied(place)
    told = {key: value for key, value in meta.conditions.items() if implied.get(key) != value}
    words += [word for key in told for word in ("--set", f"{key}={label_text(told[key])}")]
    kelvins = next((event.data["tmt_k"] for event in events if "tmt_k" in event.data), ())
    for limit, kelvin in zip(("tmt1", "tmt2"), kelvins, strict=False):
        if f"{limit}_c" not in meta.conditions:
            words += [f"--{limit}", str(kelvin and kelvin - 273)]
    if protocol.writes and meta.erase_name is not None:
        words += ["--erase", meta.erase_name]
    return shlex.join(words)


def commands(events: list[Any]) -> list[str]:
    """Return the load generator's command lines, from the events."""
    lines = [event.data["command"] for event in events if "command" in event.data]
    return [line if isinstance(line, str) else shlex.join(map(str, line)) for line in lines]


def _is_bundled(protocol: Protocol) -> bool:
    """Whether the bundled protocol of this name has the same steps."""
    known = _bundled(protocol.name, protocol.scale)
    return known is not None and (known.steps, known.file_size) == (
        protocol.steps,
        protocol.file_size,
    )


@lru_cache(maxsize=64)
def _bundled(name: str, scale: float) -> Protocol | None:
    return scaled(load(name), scale) if name in bundled() else None


def _implied(place: str) -> Mapping[str, Label]:
    """The conditions that a simulated place of the catalog stands for."""
    enclosure = place.partition("@")[2]
    return load_enclosure(enclosure).labels if enclosure in enclosure_ids() else {}


def _place(place: str, protocol: Protocol) -> str:
    """The target; for a simulated one without the place, which the conditions name."""
    names_place = protocol.matrix is not None and protocol.matrix.enclosure is not None
    return place.partition("@")[0] if place.startswith("sim:") and names_place else place


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and isinstance(value[0], dict)
    )


_MAX_EVENTS = 2000
_MAX_TEXT = 2000


def page_recording(
    named: Named, findings: RecordingFindings, style: contract.LineStyle
) -> contract.PageRecording:
    """Return a recording with everything that the page says about it."""
    recording = named.recording
    meta = recording.meta
    return contract.PageRecording(
        label=named.label,
        style=style,
        status=meta.status,
        reason=meta.reason,
        started_unix_s=meta.started_unix_s,
        duration_s=meta.duration_s,
        findings=findings,
        sentences=[
            f"{title_of(step.step)}: {sentence(step) or step.verdict}."
            for step in findings.steps
            if step.rounds is None
        ]
        + [f"{title_of(rounds.name)}: {rounds.text}." for rounds in findings.rounds],
        drive=list(_drive(meta.drive)),
        host=list(_flat(meta.host)),
        tools=list(_tools(meta.tools, meta.load)),
        sensors=list(_sensors(recording, findings)),
        events=list(_events(recording)),
        limit=limit_of(meta),
        command=command(meta, recording.events),
        bundle=shlex.join([*_BUNDLE, f"{said(recording.path.stem)}{SUFFIX}", recording.path_text]),
        protocol=protocol_toml(meta.protocol),
        commands=commands(recording.events),
    )


def _drive(drive: Mapping[str, Any]) -> Iterator[contract.NamedValue]:
    for key, value in drive.items():
        if key == "size_bytes":
            if value:
                yield contract.NamedValue(name="size", text=size_text(value))
        elif key == "details":
            yield from _flat(value, drive)
        else:
            yield from _flat({key: value})


def _flat(
    facts: Mapping[str, Any], said: Mapping[str, Any] | None = None
) -> Iterator[contract.NamedValue]:
    """Each value with the name of its key; unknown values and those already in `said` are left
    out."""
    for key, value in facts.items():
        if value in (None, "", [], {}) or (said is not None and said.get(key) == value):
            continue
        if isinstance(value, dict):
            for fact in _flat(value):
                yield contract.NamedValue(name=f"{plain(key)} {fact.name}", text=fact.text)
        elif key.endswith("_bytes") and isinstance(value, int | float):
            yield contract.NamedValue(name=plain(key.removesuffix("_bytes")), text=size_text(value))
        else:
            yield contract.NamedValue(name=plain(key), text=_text(value))


def _tools(tools: Mapping[str, str], load: Mapping[str, Any]) -> Iterator[contract.NamedValue]:
    yield from _flat(tools)
    tool = {"load": f"{load['tool']} {load.get('version', '')}".strip()} if "tool" in load else {}
    rest = {key: value for key, value in load.items() if not isinstance(value, dict)}
    yield from _flat(tool | {k: v for k, v in rest.items() if k not in ("tool", "version")})


def _sensors(recording: Recording, findings: RecordingFindings) -> Iterator[contract.NamedValue]:
    trust = {sensor.name: sensor for sensor in findings.sensors}
    for sensor in recording.meta.sensors:
        yield contract.NamedValue(name=sensor.name, text=_sensor(sensor))
    for column in recording.meta.columns:
        if column.startswith("temp_c."):
            name = column.removeprefix("temp_c.")
            yield contract.NamedValue(name=name, text=_trust(trust.get(name)))
    power_words = power_text(findings)
    if power_words is not None:
        yield contract.NamedValue(name="power", text=power_words.removeprefix("power: "))


def _sensor(sensor: SensorMeta) -> str:
    parts = [f"{sensor.source}, read every {number_text(sensor.interval_s)} s"]
    if sensor.idle_interval_s is not None:
        parts.append(f"every {number_text(sensor.idle_interval_s)} s in pauses")
    parts += [f"{plain(name)} {number_text(value)}" for name, value in sensor.thresholds.items()]
    return "; ".join(parts)


def _trust(sensor: SensorTrust | None) -> str:
    if sensor is None:
        return "temperature; never read"
    verdict = {"good": "trusted", "poor": "not trusted"}.get(sensor.trust, "trust unknown")
    return f"temperature; {verdict}: {sensor.why}" if sensor.why else f"temperature; {verdict}"


def _events(recording: Recording) -> Iterator[contract.EventLine]:
    for event in recording.events[:_MAX_EVENTS]:
        parts = [event.step or "", event.text]
        if event.kind == "step-end" and "duration_s" in event.data:
            parts.append(f"after {duration_text(event.data['duration_s'])}")
        text = ": ".join(part for part in parts if part)
        yield contract.EventLine(t_s=event.t_s, kind=event.kind, text=text[:_MAX_TEXT])


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_text(one) for one in value)
    return number_text(value, 6) if isinstance(value, float) else str(value)
