"""``--set KEY=VALUE``: choose cells of a matrix, change workloads, label conditions."""

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any

from pydantic import ValidationError

from heatsoak.errors import UsageError, suggestion
from heatsoak.protocol.conditions import COOLING, Conditions, Label
from heatsoak.protocol.model import Matrix, Protocol
from heatsoak.protocol.rounds import Step
from heatsoak.protocol.steps import WORKLOAD_KEYS, Copy
from heatsoak.toml import explain

#: Keys of one kind of step, which no setting changes in all of them.
_OF_ONE_STEP = ("end_after_drop", "duration", "until_temp_c")
_PROTOCOL_KEYS = ("file_size",)
#: The kinds of steps that a workload's key changes without a step's name.
_CHANGED_BY_KEY = ("workload", "copy")


def apply_settings(protocol: Protocol, settings: Iterable[str]) -> Protocol:
    """Return `protocol` with each ``KEY=VALUE`` applied.

    A KEY that is an axis of the matrix keeps only the cells with that value. A workload's key
    (``runtime``, ``bs``...) changes every judged step, probes among them; ``STEP.KEY`` the
    steps of that name, in which ``*`` matches any letters; ``file_size`` the test file. Any
    other KEY labels the conditions, as ``conditions.KEY`` always does.
    Raises UsageError for what cannot be applied.
    """
    for setting in map(_as_text, settings):
        key, sign, value = setting.partition("=")
        key, value = key.strip(), value.strip()
        if not (sign and key and value):
            raise UsageError(f"--set {setting}: write KEY=VALUE, such as runtime=60s or slot=top")
        try:
            protocol = _apply(protocol, key, value)
        except ValidationError as error:
            raise UsageError(f"--set {setting}: {explain(error, Protocol)}") from error
    return protocol


def read_labels(settings: Iterable[str]) -> Conditions:
    """Return the conditions that ``KEY=VALUE`` words give; raises UsageError for other words."""
    labels: Conditions = {}
    for setting in map(_as_text, settings):
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--set {setting}: write KEY=VALUE, such as slot=top")
        key = key.strip()
        if not key.startswith("conditions."):
            _check_label(key, value)
        labels[key.removeprefix("conditions.")] = _label(value)
    return labels


def _as_text(setting: str) -> str:
    """The setting as UTF-8, which Python has not decoded where the locale is another."""
    try:
        return setting.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:
        raise UsageError(f"--set {setting}: is not UTF-8, as labels have to be") from None


def _apply(protocol: Protocol, key: str, value: str) -> Protocol:
    if protocol.matrix is not None and key in protocol.matrix.axes:
        return _choose(protocol, protocol.matrix, key, value)
    if key in _PROTOCOL_KEYS:
        return _rebuilt(protocol, {key: value})
    if key in WORKLOAD_KEYS:
        if protocol.copies and key not in Copy.settable:
            raise UsageError(
                f"--set {key}={value}: a copy has no '{key}': it has {', '.join(Copy.settable)}"
            )
        return _changed(protocol, lambda step: step.kind in _CHANGED_BY_KEY, key, value)
    if key.startswith("conditions."):
        return _labelled(protocol, key.removeprefix("conditions."), value)
    step, dot, field = key.rpartition(".")
    if dot:
        return _with_step(protocol, step, field, value)
    if key in _OF_ONE_STEP:
        raise UsageError(
            f"--set {key}={value}: '{key}' belongs to one step: write STEP.{key}={value}; "
            f"a label of that name is conditions.{key}={value}"
        )
    axes = [] if protocol.matrix is None else list(protocol.matrix.axes)
    # a label may resemble a key, and a misspelt key should not become one
    if near := suggestion(key, (*WORKLOAD_KEYS, *_PROTOCOL_KEYS, *axes), likeness=0.8):
        raise _unknown(key, value, near)
    _check_label(key, value)
    return _labelled(protocol, key, value)


def _check_label(key: str, value: str) -> None:
    """Raise UsageError for a misspelt label of cooling, which would then say nothing of heat."""
    if key not in COOLING and (near := suggestion(key, COOLING, likeness=0.85)):
        raise _unknown(key, value, near)


def _unknown(key: str, value: str, near: str) -> UsageError:
    return UsageError(
        f"--set {key}={value}: unknown key '{key}'{near}; "
        f"a label of that name is conditions.{key}={value}"
    )


def _labelled(protocol: Protocol, key: str, value: str) -> Protocol:
    return _rebuilt(protocol, {"conditions": {**protocol.conditions, key: _label(value)}})


def _choose(protocol: Protocol, matrix: Matrix, key: str, value: str) -> Protocol:
    matching = [label for label in matrix.axes[key] if str(label).lower() == value.lower()]
    if not matching:
        known = [str(label) for label in matrix.axes[key]]
        raise UsageError(
            f"--set {key}={value}: {key} is one of {', '.join(known)}{suggestion(value, known)}"
        )
    chosen = matrix.model_copy(update={"axes": {**matrix.axes, key: matching}})
    if not chosen.cells():
        raise UsageError(f"--set {key}={value}: no cell of the matrix is left")
    return protocol.model_copy(update={"matrix": chosen})


def _with_step(protocol: Protocol, name: str, key: str, value: str) -> Protocol:
    """Change the steps of that name, in which ``*`` matches any letters."""
    steps = [one for step in protocol.steps for one in _with_parts(step)]
    named = [step for step in steps if fnmatchcase(step.name, name)]
    names = list(dict.fromkeys(step.name for step in steps))
    if not named:
        raise UsageError(
            f"--set {name}.{key}={value}: no step '{name}'{suggestion(name, names)}: "
            f"the steps are {', '.join(names)}"
        )
    keys = [known for step in named for known in step.settable]
    if key not in keys:
        raise UsageError(
            f"--set {name}.{key}={value}: no key '{key}'{suggestion(key, keys)} in the "
            f"{named[0].kind} '{named[0].name}'"
        )
    return _changed(protocol, lambda step: step in named, key, value)


def _with_parts(step: Step) -> list[Step]:
    return [step, *(part for part in step.parts if part is not step)]


def _changed(
    protocol: Protocol, is_wanted: Callable[[Step], bool], key: str, value: str
) -> Protocol:
    """Set the key in all wanted steps that have it, those of rounds included."""

    def fields_of(step: Step) -> dict[str, Any]:
        fields = step.model_dump()
        if "steps" in fields:
            fields["steps"] = [fields_of(part) for part in step.parts]
        if is_wanted(step) and key in step.settable:
            fields[step.settable[key]] = value
        return fields

    return _rebuilt(protocol, {"steps": [fields_of(step) for step in protocol.steps]})


def _rebuilt(protocol: Protocol, changes: dict[str, Any]) -> Protocol:
    return Protocol.model_validate({**protocol.model_dump(), **changes})


def _label(text: str) -> Label:
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        if math.isfinite(number := float(text)):
            return number
    return {"true": True, "false": False}.get(text.lower(), text)
