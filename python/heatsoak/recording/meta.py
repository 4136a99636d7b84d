"""`recording.json`, the lines of `events.jsonl`, and a recording's file names."""

import math
import re
from collections.abc import Collection
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import TypedDict

from heatsoak.protocol import Conditions, Observation, Protocol, Role
from heatsoak.toml import LateModel

META = "recording.json"
JOURNAL = "samples.jsonl"
PARQUET = "samples.parquet"
EVENTS = "events.jsonl"
RAW = "raw"
#: Disk space reserved during recording, for the final status when the disk is full.
RESERVE = "reserve"


Status = Literal["running", "finished", "interrupted", "failed"]
#: What was not read for certain: how a rate went over time, a rate's unit, which drive it is of,
#: times, or temperatures.
Touched = Literal["rate", "unit", "identity", "time", "temperature", "recording"]
#: All that reading may leave uncertain.
UNREAD: tuple[Touched, ...] = ("rate", "unit", "identity", "time", "temperature")


#: Maximum length of a recording, in s: three years.
LONGEST_S = 1e8
#: Larger integers are not exact in JSON, nor fit in a column.
_LARGEST = 2**63
_STRICT = ConfigDict(strict=True, allow_inf_nan=False)

Time = Annotated[float, Field(ge=-LONGEST_S, le=LONGEST_S)]
Duration = Annotated[float, Field(ge=0, le=LONGEST_S)]
_Text = str | None


class _Link(TypedDict, total=False):
    ceiling_mb_s: float | None
    max_ceiling_mb_s: float | None


class _DriveDetails(TypedDict, total=False):
    link: _Link | None


@with_config(_STRICT)
class _Drive(TypedDict, total=False):
    kind: _Text
    path: _Text
    model: _Text
    serial: _Text
    size_bytes: Annotated[int, Field(ge=0, lt=_LARGEST)] | None
    simulated: bool
    details: _DriveDetails


#: Of `load`'s ``imported``: nothing tells how far apart the samples of the log are.
IN_ORDER_ONLY = "is_in_order_only"
#: What a sensor's details say of a drive's health, as imported: hours of use, the bits of the
#: critical warning, 0 or 1, how far it throttles at that moment, in per cent or by its own levels,
#: its highest temperature so far, how often it was above its limit, and whether it counts at all.
HEALTH = ("power_on_h", "critical_warning", "failed", "throttled_pct", "throttled_level",
          "highest_c", "over_limit_count", "counts")  # fmt: skip


@with_config(_STRICT)
class _LoadDetails(TypedDict, total=False):
    imported: dict[str, Any]


class _PowerState(TypedDict, total=False):
    state: int
    max_w: float


@with_config(_STRICT)
class _SensorDetails(TypedDict, total=False):
    power: _Text
    power_states: list[_PowerState] | None
    error_pct: float | None


class _LatencyBins(TypedDict):
    upper_us: list[float]
    ios: list[Annotated[int, Field(ge=0, lt=_LARGEST)]]


@with_config(_STRICT)
class _EventData(TypedDict, total=False):
    index: int
    round: int | None
    step_kind: str
    was_done: bool
    duration_s: Duration
    load_cpu_s: float | None
    command: str | list[str]
    latency_bins: dict[str, _LatencyBins | None] | None
    touches: list[Touched]
    settles: str


def _holding(known: Any) -> AfterValidator:
    """Check the known keys of a document; everything else must just be plain JSON."""
    adapter = cache(lambda: TypeAdapter[Any](known))  # most commands read little of a recording

    def check(value: dict[str, Any]) -> dict[str, Any]:
        adapter().validate_python(value)
        _require_finite(value)
        return value

    return AfterValidator(check)


def _require_finite(value: Any) -> None:
    if isinstance(value, dict):
        for below in value.values():
            _require_finite(below)
    elif isinstance(value, list | tuple):
        for below in value:
            _require_finite(below)
    elif isinstance(value, int):
        if abs(value) >= 2 * _LARGEST:
            raise ValueError("a number is too large")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number is not finite")


class _Finite(LateModel):
    """Base of what is read from a file: our JSON never has infinite numbers."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class SensorMeta(_Finite):
    """A sensor of a recording.

    Attributes:
        interval_s: polling interval under load.
        idle_interval_s: polling interval in pauses, where polling would keep a drive from cooling.
        thresholds: limits that the device itself states, read once.
        of_drive: how likely what it tells of a drive is of this one; of a log that another tool
            took beside the load's, nothing may say whose it is.
    """

    name: str
    source: str
    columns: list[str]
    interval_s: float
    idle_interval_s: float | None = None
    thresholds: dict[str, float] = {}
    of_drive: float = Field(default=1.0, ge=0.0, le=1.0)
    details: Annotated[dict[str, Any], _holding(_SensorDetails)] = {}


class CopyPart(_Finite):
    """Marks a recording as one of the two drives of a copy.

    Attributes:
        id: the same for both.
        role: which of the two this is.
        partner: path of the other recording, relative to this one's directory.
        shared_disk: the disk that both are on, if it is the same.
    """

    id: str
    role: Role
    partner: str
    shared_disk: str | None = None


class Boot(_Finite):
    """A time on the clock of one boot of a machine, which nobody can set.

    Attributes:
        id: the kernel's boot id, different for each boot.
        clock_s: `CLOCK_BOOTTIME`, which continues while the machine sleeps.
    """

    id: str
    clock_s: float


class RecordingMeta(_Finite):
    """Everything in a recording except its samples and events.

    Attributes:
        status: ``running`` on disk without a writer means that it was cut off.
        protocol: as it was run, or what is known of a load that somebody else made.
        started_unix_s: wall clock at `t_s` = 0, to join it with other logs; None if an imported
            log does not have it.
        started_boot: the same moment by the machine's boot clock, if it has one.
        columns: the type of each sample column, in order; the schema of the journal.
        drive: the target's identity.
        tools: versions of the programs used.
        load: how the load was made, with the command lines.
        part_of_copy: which of a copy's two drives it is; None if it is not a copy.
        samples_sha256: of `samples.parquet`, in hexadecimal; None until it exists, and in
            recordings of older versions.
        events_sha256: of `events.jsonl`; likewise.
        meta_sha256: of `recording.json` with nothing in the place of this; likewise.
    """

    schema_version: Literal[1] = 1
    status: Status = "running"
    reason: str | None = None
    protocol: Protocol | Observation
    conditions: Conditions
    drive: Annotated[dict[str, Any], _holding(_Drive)]
    host: Annotated[dict[str, Any], _holding(dict[str, Any])] = {}
    tools: dict[str, str] = {}
    load: Annotated[dict[str, Any], _holding(_LoadDetails)] = {}
    sensors: list[SensorMeta] = []
    columns: dict[str, str] = Field(min_length=1)
    started_unix_s: float | None
    started_boot: Boot | None = None
    duration_s: Duration | None = None
    part_of_copy: CopyPart | None = None
    samples_sha256: str | None = None
    events_sha256: str | None = None
    meta_sha256: str | None = None

    @property
    def erase_name(self) -> str | None:
        """What ``--erase`` needs to write to its drive again; None where nothing is erased."""
        known = self.drive.get
        if known("kind") not in ("block", "nbd"):
            return None
        own = known("serial") or (known("details") or {}).get("wwid")
        return str(self.load.get("erased") or own or f"{known('path')}:{known('size_bytes')}")


class Event(_Finite):
    """The start or end of a step or of the case's heat, a warning, or a fault.

    Attributes:
        kind: ``step-begin``, ``step-end``, ``step-skipped``, ``heat-begin``, ``heat-steady``,
            ``heat-not-steady``, ``heat-end``, ``info``, ``warning`` or ``fault``.
        text: for a probe's ``step-begin``, why it is run; for ``step-skipped``, why it is not.
        data: for a step that was started or skipped, its `index` among the protocol's steps; for
            a ``warning`` of how a log was read, what it `touches`, and
            perhaps what `settles` it.
    """

    t_s: Time
    kind: str
    step: str | None = None
    text: str = ""
    data: Annotated[dict[str, Any], _holding(_EventData)] = {}


# --- what was recorded of a step that had to be repeated ------------------------------------------
# If `write` is interrupted, its samples and events are renamed to ``write~1``, and the repetition
# is recorded as `write`, so that a step's name always means one complete attempt.

ATTEMPT = re.compile(r"(?s)(.+)~([0-9]+)")


def attempt_name(step: str, number: int) -> str:
    """Return the name of attempt `number` at a step, if it was not the last."""
    return f"{step}~{number}"


def step_of_attempt(name: str, steps: Collection[str]) -> str | None:
    """Return the step among `steps` that `name` is an attempt at, or None."""
    if name in steps:
        return name
    match = ATTEMPT.fullmatch(name)
    return match[1] if match and match[1] in steps else None


def is_attempt(name: str) -> bool:
    """Whether a step's name is that of an attempt that was not the last."""
    return ATTEMPT.fullmatch(name) is not None
