"""Whether a recording that was begun is of the run that is to go on with it."""

from dataclasses import asdict
from typing import Any

from heatsoak.errors import UsageError
from heatsoak.protocol import Conditions, Protocol
from heatsoak.recording import Recording
from heatsoak.target import Identity


def require_same_run(
    recording: Recording,
    protocol: Protocol,
    conditions: Conditions,
    identity: Identity,
) -> None:
    """Raise UsageError unless it is of the same drive, protocol and conditions."""
    meta = recording.meta
    anew = "; repeat the command as it was, or name a new directory with -o"
    then, now = _drive(meta.drive), _drive(asdict(identity))
    if then != now:
        raise UsageError(f"{recording.path}: was begun on {then}, and this is {now}{anew}")
    if meta.protocol != protocol:
        key = _difference(meta.protocol.model_dump(), protocol.model_dump())
        raise UsageError(f"{recording.path}: was begun with another {key}{anew}")
    if meta.conditions != conditions:
        raise UsageError(f"{recording.path}: was begun in other conditions{anew}")


def _drive(drive: dict[str, Any]) -> str:
    """What tells a drive from others; a place on it too, where it is not loaded as a whole."""
    serial, kind = drive.get("serial"), drive.get("kind")
    if kind == "file":
        return f"the file system at {drive.get('details', {}).get('directory', drive.get('path'))}"
    return f"the drive {serial}" if serial else f"{drive.get('path')}"


def _difference(then: Any, now: Any, path: str = "protocol") -> str:
    """Where two protocols differ: ``"protocol: steps.2.runtime_s was 60.0 and is 30.0"``."""
    if isinstance(then, dict) and isinstance(now, dict):
        pairs = [(str(key), then.get(key), now.get(key)) for key in {**then, **now}]
    elif isinstance(then, list | tuple) and isinstance(now, list | tuple) and len(then) == len(now):
        pairs = [(str(number), *pair) for number, pair in enumerate(zip(then, now, strict=True), 1)]
    else:
        where = path.removeprefix("protocol.")
        return f"protocol: {where} was {_short(then)} and is {_short(now)}"
    return next(_difference(a, b, f"{path}.{key}") for key, a, b in pairs if a != b)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
