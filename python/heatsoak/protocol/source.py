"""Protocols as a command wants them: by name or file, made smaller, changed with ``--set``."""

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from heatsoak import toml
from heatsoak.errors import UsageError, suggestion
from heatsoak.files import require_file
from heatsoak.protocol import conditions, model
from heatsoak.protocol.fio_job import parse_job_file
from heatsoak.protocol.steps import Copy, Pause, Replay, Rounds, Step, WorkloadStep
from heatsoak.protocol.workload import TO_BE_RUN, Workload, settable
from heatsoak.units import Size

_BUNDLED = files("heatsoak.protocol") / "bundled"


def bundled() -> list[str]:
    """Return the names of the protocols that come with heatsoak."""
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in _BUNDLED.iterdir()
        if entry.name.endswith(".toml")
    )


def load(name: str) -> model.Protocol:
    """Return the bundled protocol `name`, or the one in the TOML or fio job file `name`.

    Raises UsageError with file and key for anything that is wrong.
    """
    if name in bundled():
        return parse_toml((_BUNDLED / f"{name}.toml").read_text("utf-8"), f"{name}.toml")
    path = Path(name)
    if not path.exists():
        if path.suffix or len(path.parts) > 1:
            raise UsageError(f"{name}: no such file")
        raise UsageError(
            f"there is no protocol '{name}'{suggestion(name, bundled())}: "
            f"bundled are {', '.join(bundled())}; a file's path works too"
        )
    require_file(path)
    if path.suffix in (".fio", ".job", ".ini"):
        return parse_job_file(path)
    return parse_toml(toml.toml_text(name), name)


def parse_toml(text: str, name: str) -> model.Protocol:
    """Return the protocol in a TOML text; errors start with `name`."""
    return toml.validated(model.Protocol, toml.toml_tables(text, name), name, TO_BE_RUN)


#: No load gets shorter than this: the judge needs 4 s of samples (`analysis.falls`).
MIN_RUNTIME_S = 4.5
#: Rounds have many steps, and only their means are wanted.
MIN_ROUND_RUNTIME_S = 1.0
#: No pause gets shorter than this, unless it was.
MIN_PAUSE_S = 1.0
#: No span gets smaller than this many of the protocol's largest I/Os, so that what was filled is
#: still what is read, and no file smaller than this many bytes.
MIN_BLOCKS = 256
MIN_FILE_BYTES = 64 << 20


def scaled(protocol: model.Protocol, scale: float) -> model.Protocol:
    """Return `protocol` with every size in bytes, runtime and pause times `scale`, 0 to 1.

    So does a test file. Spans given as shares of the target stay such shares. What
    would become too small to be measured stops getting smaller. Windows of scores shrink with their
    steps.
    Raises UsageError for a scale that is not a share.
    """
    if not 0 < scale <= 1:
        raise UsageError(f"--scale {scale:g}: give a share above 0 and up to 1, such as 0.01")
    if scale == 1:
        return protocol
    fields = protocol.model_dump()
    blocks = (bs for step in protocol.steps for part in step.parts for bs in part.block_sizes)
    min_bytes = MIN_BLOCKS * max(blocks, default=0)
    fields["steps"] = [_step(step, scale, MIN_RUNTIME_S, min_bytes) for step in protocol.steps]
    share, min_file_bytes = protocol.file_size.percent, max(MIN_FILE_BYTES, min_bytes)
    fields["file_size"] = (
        _size(protocol.file_size, scale, min_file_bytes)
        if share is None
        else Size(percent=share * scale)
    )
    fields["scale"] = protocol.scale * scale
    for heat, scaled_heat in zip(protocol.heat, fields["heat"], strict=True):
        key = "at_most_s" if heat.until_steady else "warm_up"
        scaled_heat[key] = heat.longest_warm_up_s * scale
    for score in fields["scores"]:
        if score["last_s"] is not None:
            score["last_s"] = max(score["last_s"] * scale, MIN_RUNTIME_S / 2)
    said = _note(protocol)
    fields["notes"] = [note for note in protocol.notes if note != said]
    made = model.Protocol.model_validate(fields)
    return made.model_copy(update={"notes": [*made.notes, _note(made)]})


def _note(protocol: model.Protocol) -> str:
    return (
        f"scaled down to {protocol.scale:g} of its sizes and times: the numbers are not results "
        f"of {protocol.name}"
    )


def _step(step: Step, scale: float, min_s: float, min_bytes: int) -> dict[str, Any]:
    fields = step.model_dump()
    match step:
        case Rounds():
            # those that end by themselves take as many as they need: shorter ones are no steadier
            if step.until is None:
                # what rounding adds to a whole number is not another round
                fields["at_most"] = max(math.ceil(step.at_most * scale - 1e-9), 1)
            fields["steps"] = [
                _step(one, scale, MIN_ROUND_RUNTIME_S, min_bytes) for one in step.steps
            ]
        case WorkloadStep():
            fields |= _workload(step, scale, min_s, min_bytes)
            fields["beside"] = [
                {**beside.model_dump(), **_workload(beside, scale, min_s, min_bytes)}
                for beside in step.beside
            ]
        case Replay():
            fields["scale"] = step.scale * scale
        case Copy():
            for key in ("size_bytes", "at_most_bytes"):
                if fields[key] is not None:
                    fields[key] = _size(Size(bytes=fields[key]), scale, min_bytes).bytes
        case Pause():
            min_pause_s = min(step.duration_s, MIN_PAUSE_S)
            fields["duration_s"] = max(step.duration_s * scale, min_pause_s)
    if step.may_end_early:
        fields["end_after_drop_s"] = max(fields["end_after_drop_s"] * scale, MIN_RUNTIME_S)
    return fields


def _workload(workload: Workload, scale: float, min_s: float, min_bytes: int) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "span": _size(workload.span, scale, min_bytes),
        "offset": _size(workload.offset, scale, 0),
    }
    if workload.io_size is not None:
        fields["io_size"] = _size(workload.io_size, scale, min_bytes)
    if workload.runtime_s is not None:
        fields["runtime_s"] = max(workload.runtime_s * scale, min(workload.runtime_s, min_s))
    return fields


def _size(size: Size, scale: float, min_bytes: int) -> Size:
    if size.bytes is None or size.bytes <= min_bytes:
        return size
    whole = max(round(size.bytes * scale), min_bytes)
    return Size(bytes=whole - whole % 4096)


#: Keys of one kind of step, which no setting changes in all of them.
_OF_ONE_STEP = ("end_after_drop", "duration", "until_temp_c")
#: The kinds of steps that a workload's key changes without a step's name.
_CHANGED_BY_KEY = ("workload", "copy")


def apply_settings(protocol: model.Protocol, settings: Iterable[str]) -> model.Protocol:
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
            raise UsageError(f"--set {setting}: {toml.explain(error, model.Protocol)}") from error
    return protocol


def read_labels(settings: Iterable[str]) -> conditions.Conditions:
    """Return the conditions that ``KEY=VALUE`` words give; raises UsageError for other words."""
    labels: conditions.Conditions = {}
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


def _apply(protocol: model.Protocol, key: str, value: str) -> model.Protocol:
    if protocol.matrix is not None and key in protocol.matrix.axes:
        return _choose(protocol, protocol.matrix, key, value)
    if key == "file_size":
        return _rebuilt(protocol, {key: value})
    if key in settable(Workload):
        if protocol.copies and key not in settable(Copy):
            raise UsageError(
                f"--set {key}={value}: a copy has no '{key}': it has {', '.join(settable(Copy))}"
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
    if near := suggestion(key, (*settable(Workload), "file_size", *axes), likeness=0.8):
        raise _unknown(key, value, near)
    _check_label(key, value)
    return _labelled(protocol, key, value)


def _check_label(key: str, value: str) -> None:
    """Raise UsageError for a misspelt label of cooling, which would then say nothing of heat."""
    if key not in conditions.COOLING and (
        near := suggestion(key, conditions.COOLING, likeness=0.85)
    ):
        raise _unknown(key, value, near)


def _unknown(key: str, value: str, near: str) -> UsageError:
    return UsageError(
        f"--set {key}={value}: unknown key '{key}'{near}; "
        f"a label of that name is conditions.{key}={value}"
    )


def _labelled(protocol: model.Protocol, key: str, value: str) -> model.Protocol:
    return _rebuilt(protocol, {"conditions": {**protocol.conditions, key: _label(value)}})


def _choose(protocol: model.Protocol, matrix: model.Matrix, key: str, value: str) -> model.Protocol:
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


def _with_step(protocol: model.Protocol, name: str, key: str, value: str) -> model.Protocol:
    """Change the steps of that name, in which ``*`` matches any letters."""
    steps: list[Step] = []
    for step in protocol.steps:
        steps += [step, *(part for part in step.parts if part is not step)]
    named = [step for step in steps if fnmatchcase(step.name, name)]
    names = list(dict.fromkeys(step.name for step in steps))
    if not named:
        raise UsageError(
            f"--set {name}.{key}={value}: no step '{name}'{suggestion(name, names)}: "
            f"the steps are {', '.join(names)}"
        )
    keys = [known for step in named for known in settable(type(step))]
    if key not in keys:
        raise UsageError(
            f"--set {name}.{key}={value}: no key '{key}'{suggestion(key, keys)} in the "
            f"{named[0].kind} '{named[0].name}'"
        )
    return _changed(protocol, lambda step: step in named, key, value)


def _changed(
    protocol: model.Protocol, is_wanted: Callable[[Step], bool], key: str, value: str
) -> model.Protocol:
    """Set the key in all wanted steps that have it, those of rounds included."""

    def fields_of(step: Step) -> dict[str, Any]:
        fields = step.model_dump()
        if "steps" in fields:
            fields["steps"] = [fields_of(part) for part in step.parts]
        field = settable(type(step)).get(key)
        if field is not None and is_wanted(step):
            fields[field] = value
        return fields

    return _rebuilt(protocol, {"steps": [fields_of(step) for step in protocol.steps]})


def _rebuilt(protocol: model.Protocol, changes: dict[str, Any]) -> model.Protocol:
    return model.Protocol.model_validate({**protocol.model_dump(), **changes})


def _label(text: str) -> conditions.Label:
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        if math.isfinite(number := float(text)):
            return number
    return {"true": True, "false": False}.get(text.lower(), text)
