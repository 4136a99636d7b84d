"""`recording.json`, the lines of `events.jsonl`, and the names of a recording's files."""

import math
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import TypedDict

from heatsoak.protocol import Conditions, Observation, Protocol, Role

META = "recording.json"
JOURNAL = "samples.jsonl"
PARQUET = "samples.parquet"
EVENTS = "events.jsonl"
RAW = "raw"
#: Room that is kept while it is written, for what has to be said once the disk is full.
RESERVE = "reserve"
#: What follows a file's name while it is written, before it is put in its place.
PARTIAL = ".partial"


Status = Literal["running", "finished", "interrupted", "failed"]


#: No recording lasts longer, in s: three years.
LONGEST_S = 1e8
#: Integers beyond are exact neither in JSON nor as a column.
_LARGEST = 2**63
_STRICT = ConfigDict(strict=True, allow_inf_nan=False)

Time = Annotated[float, Field(ge=-LONGEST_S, le=LONGEST_S)]
Duration = Annotated[float, Field(ge=0, le=LONGEST_S)]
_Text = str | None


@with_config(_STRICT)
class _Link(TypedDict, total=False):
    ceiling_mb_s: float | None
    max_ceiling_mb_s: float | None


@with_config(_STRICT)
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


@with_config(_STRICT)
class _Load(TypedDict, total=False):
    imported: dict[str, Any]


@with_config(_STRICT)
class _PowerState(TypedDict, total=False):
    state: int
    max_w: float


@with_config(_STRICT)
class _SensorDetails(TypedDict, total=False):
    power: _Text
    power_states: list[_PowerState] | None
    error_pct: float | None


@with_config(_STRICT)
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


def _holding(known: Any) -> AfterValidator:
    """Check what is read of a document; all else in it need only be plain JSON."""
    adapter = TypeAdapter(known)

    def check(value: dict[str, Any]) -> dict[str, Any]:
        adapter.validate_python(value)
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


class _Finite(BaseModel):
    """What is read from a file: JSON of ours never holds an infinite number."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class SensorMeta(_Finite):
    """A sensor as it was read.

    Attributes:
        interval_s: how often it was polled under load.
        idle_interval_s: how often in pauses, where polling would keep a drive from cooling.
        thresholds: limits the device itself states, read once.
    """

    name: str
    source: str
    columns: list[str]
    interval_s: float
    idle_interval_s: float | None = None
    thresholds: dict[str, float] = {}
    details: Annotated[dict[str, Any], _holding(_SensorDetails)] = {}


class CopyPart(_Finite):
    """That a recording is of one of two drives in a copy.

    Attributes:
        id: the same for both.
        role: which of the two.
        partner: where the other's recording was made, as seen from this one's directory.
        shared_disk: the disk that both are on, where that is one.
    """

    id: str
    role: Role
    partner: str
    shared_disk: str | None = None


class Boot(_Finite):
    """A time on the clock of one boot of a machine, which nobody can set.

    Attributes:
        id: the kernel's, another one after each boot.
        clock_s: `CLOCK_BOOTTIME`, which goes on while the machine sleeps.
    """

    id: str
    clock_s: float


class RecordingMeta(_Finite):
    """Everything of a recording but its samples and events.

    Attributes:
        status: ``running`` on disk with nobody writing means that it was cut.
        protocol: as it was run, or what is known of a load that somebody else made.
        started_unix_s: wall clock at `t_s` = 0, for joining with other logs; None where a log
            that was imported does not tell.
        started_boot: the same moment by the machine's own clock, where it has one.
        columns: the type of each sample column, in order; the journal is read by it.
        drive: the target's identity.
        tools: versions of what took part.
        load: how the load was made, with the command lines.
        part_of_copy: which of a copy's two drives it is of; None where it is no copy.
        samples_sha256: of `samples.parquet`, in hexadecimal; None while there is none, and in
            recordings of older versions.
    """

    schema_version: Literal[1] = 1
    status: Status = "running"
    reason: str | None = None
    protocol: Protocol | Observation
    conditions: Conditions
    drive: Annotated[dict[str, Any], _holding(_Drive)]
    host: Annotated[dict[str, Any], _holding(dict[str, Any])] = {}
    tools: dict[str, str] = {}
    load: Annotated[dict[str, Any], _holding(_Load)] = {}
    sensors: list[SensorMeta] = []
    columns: dict[str, str] = Field(min_length=1)
    started_unix_s: float | None
    started_boot: Boot | None = None
    duration_s: Duration | None = None
    part_of_copy: CopyPart | None = None
    samples_sha256: str | None = None


class Event(_Finite):
    """A step's beginning or end, that of the case's heat, a warning, a fault.

    Attributes:
        kind: ``step-begin``, ``step-end``, ``step-skipped``, ``heat-begin``, ``heat-steady``,
            ``heat-not-steady``, ``heat-end``, ``info``, ``warning`` or ``fault``.
        text: of a probe's ``step-begin``, why it is taken; of ``step-skipped``, why it is not.
        data: of a step that was begun or skipped, its `index` among the protocol's steps.
    """

    t_s: Time
    kind: str
    step: str | None = None
    text: str = ""
    data: Annotated[dict[str, Any], _holding(_EventData)] = {}
