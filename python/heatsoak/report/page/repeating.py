"""What another person needs to make a recording again: its protocol, and the command."""

import shlex
from typing import Any

import tomlkit

from heatsoak.errors import UsageError
from heatsoak.protocol import Observation, Protocol, apply_settings, bundled, load, scaled
from heatsoak.recording import RecordingMeta
from heatsoak.report.page.names import ENCLOSURE

#: What the command calls a protocol that does not come with heatsoak.
_FILE = "protocol.toml"


def protocol_toml(protocol: Protocol | Observation) -> str:
    """Return a protocol as ``heatsoak run`` takes it, or what is known of an observed load."""
    fields = protocol.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    if isinstance(protocol, Protocol):
        fields["steps"] = [
            {"kind": step.kind, **fields}
            for step, fields in zip(protocol.steps, fields["steps"], strict=True)
        ]
    return tomlkit.dumps(_tables_last(fields))


def command(meta: RecordingMeta) -> str | None:
    """Return the command that makes such a recording; None for a load that somebody else made."""
    protocol, place = meta.protocol, meta.drive.get("path")
    if isinstance(protocol, Observation) or not isinstance(place, str):
        return None
    name = protocol.name if _is_bundled(protocol, meta) else _FILE
    place = _place(place, protocol)
    words = ["heatsoak", "run", name, "--on", place]
    if name != _FILE and protocol.scale != 1:
        words += ["--scale", f"{protocol.scale:g}"]
    for key, value in meta.conditions.items():
        if key == ENCLOSURE and place.endswith(f"@{value}"):
            continue
        words += ["--set", f"{key}={str(value).lower() if isinstance(value, bool) else value}"]
    if meta.drive.get("kind") == "block" and protocol.writes:
        words += ["--erase", str(meta.drive.get("serial") or "ID")]
    return shlex.join(words)


def commands(events: list[Any]) -> list[str]:
    """Return the load generator's command lines, as events tell them."""
    lines = [event.data["command"] for event in events if "command" in event.data]
    return [line if isinstance(line, str) else shlex.join(map(str, line)) for line in lines]


def _is_bundled(protocol: Protocol, meta: RecordingMeta) -> bool:
    """Whether the protocol that comes with heatsoak under this name has the same steps."""
    if protocol.name not in bundled():
        return False
    try:
        known = scaled(load(protocol.name), protocol.scale)
        axes = {} if known.matrix is None else known.matrix.axes
        cell = [f"{key}={value}" for key, value in meta.conditions.items() if key in axes]
        known = apply_settings(known, cell)
    except UsageError:
        return False
    return known.steps == protocol.steps and known.file_size == protocol.file_size


def _place(place: str, protocol: Protocol) -> str:
    """The target; of a simulated one without the place that the conditions name."""
    names_place = protocol.matrix is not None and protocol.matrix.enclosure is not None
    return place.partition("@")[0] if place.startswith("sim:") and names_place else place


def _tables_last(fields: dict[str, Any]) -> dict[str, Any]:
    """TOML wants what is no table first."""
    plain = {key: value for key, value in fields.items() if not _is_table(value)}
    return plain | {key: value for key, value in fields.items() if _is_table(value)}


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and isinstance(value[0], dict)
    )
