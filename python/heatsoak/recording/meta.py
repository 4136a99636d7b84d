"""`recording.json` and the lines of `events.jsonl`."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from heatsoak.protocol import Conditions, Observation, Protocol, Role

Status = Literal["running", "finished", "interrupted", "failed"]


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
    details: dict[str, Any] = {}


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
    drive: dict[str, Any]
    host: dict[str, Any] = {}
    tools: dict[str, str] = {}
    load: dict[str, Any] = {}
    sensors: list[SensorMeta] = []
    columns: dict[str, str] = Field(min_length=1)
    started_unix_s: float | None
    started_boot: Boot | None = None
    duration_s: float | None = None
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

    t_s: float
    kind: str
    step: str | None = None
    text: str = ""
    data: dict[str, Any] = {}
