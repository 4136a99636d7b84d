"""What another person needs to make a recording again: its protocol, and the command."""

import json
import shlex
from functools import lru_cache
from typing import Any

import tomlkit

from heatsoak.protocol import Observation, Protocol, bundled, load, scaled
from heatsoak.recording import RecordingMeta
from heatsoak.report.page.names import ENCLOSURE

#: What the command calls a protocol that does not come with heatsoak.
_FILE = "protocol.toml"


def protocol_toml(protocol: Protocol | Observation) -> str:
    """Return a protocol as ``heatsoak run`` takes it, or what is known of an observed load."""
    kinds = tuple(step.kind for step in protocol.steps) if isinstance(protocol, Protocol) else ()
    return _toml(protocol.model_dump_json(exclude_defaults=True, exclude_none=True), kinds)


@lru_cache(maxsize=64)
def _toml(text: str, kinds: tuple[str, ...]) -> str:
    """JSON as TOML; `kinds` are those of the steps, which a default leaves out."""
    fields = json.loads(text)
    if kinds:
        steps = zip(kinds, fields["steps"], strict=True)
        fields["steps"] = [{"kind": kind, **said} for kind, said in steps]
    return tomlkit.dumps(_tables_last(fields))


def command(meta: RecordingMeta) -> str | None:
    """Return the command that makes such a recording; None for a load that somebody else made."""
    protocol, place = meta.protocol, meta.drive.get("path")
    if isinstance(protocol, Observation) or not isinstance(place, str):
        return None
    name = protocol.name if _is_bundled(protocol) else _FILE
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


def _is_bundled(protocol: Protocol) -> bool:
    """Whether the protocol that comes with heatsoak under this name has the same steps."""
    known = _bundled(protocol.name, protocol.scale)
    return known is not None and (known.steps, known.file_size) == (
        protocol.steps,
        protocol.file_size,
    )


@lru_cache(maxsize=64)
def _bundled(name: str, scale: float) -> Protocol | None:
    return scaled(load(name), scale) if name in bundled() else None


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
