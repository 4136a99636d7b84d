"""What was watched, divided into stretches of load as any logger's log is."""

from heatsoak.importer.log import Log
from heatsoak.importer.recordings import to_recording
from heatsoak.importer.stretches import with_stretches
from heatsoak.recording import HeldRecording, Recording

#: The name of the observation that a watch records.
WATCH = "watch"


def is_undivided(recording: Recording) -> bool:
    """Return whether it is a watch that goes on or was cut: its load has no steps yet."""
    protocol = recording.meta.protocol
    return (
        protocol.is_observed
        and protocol.name == WATCH
        and not recording.meta.load.get("is_divided")
    )


def divided(recording: Recording) -> Recording:
    """Return a watch with a step for each stretch of load; any other recording as it is."""
    if not is_undivided(recording):
        return recording
    samples = recording.samples()
    if samples.is_empty():
        return recording
    meta = recording.meta
    log = Log(
        format=WATCH,
        source=recording.path_text,
        samples=samples.drop("step", strict=False),
        clock="utc",
        begin_unix_s=meta.started_unix_s,
        drive=meta.drive,
        conditions=meta.conditions,
        tools=meta.tools,
        sensors=tuple(meta.sensors),
    )
    if not log.has_rates:
        return recording
    found = to_recording(with_stretches(log), {})
    moved_s = (meta.started_unix_s or 0.0) - (found.meta.started_unix_s or 0.0)
    told = meta.model_copy(
        update={
            "protocol": found.meta.protocol.model_copy(update={"title": meta.protocol.title}),
            "columns": found.meta.columns,
            "started_unix_s": found.meta.started_unix_s,
            "load": {**meta.load, "is_divided": True},
        }
    )
    own = [event.model_copy(update={"t_s": event.t_s + moved_s}) for event in recording.events]
    events = sorted([*own, *found.events], key=lambda event: event.t_s)
    return HeldRecording(recording.path, told, found.samples(), events)
