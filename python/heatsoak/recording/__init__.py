"""The recording format, written by runs and imports and read by everything else.

A recording is a directory: `recording.json` (protocol, drive, tools), `samples.jsonl` while it is
running and `samples.parquet` afterwards, `events.jsonl`, and `raw/` with fio's own output.
"""

from heatsoak.recording.columns import dtype_of, schema_of
from heatsoak.recording.meta import (
    HEALTH,
    IN_ORDER_ONLY,
    META,
    UNREAD,
    Boot,
    CopyPart,
    Event,
    RecordingMeta,
    SensorMeta,
    Touched,
    attempt_name,
    step_of_attempt,
)
from heatsoak.recording.reader import InMemoryRecording, Recording, find_recordings, without_copies
from heatsoak.recording.writer import RecordingWriter, is_being_written

__all__ = [
    "HEALTH",
    "IN_ORDER_ONLY",
    "META",
    "UNREAD",
    "Boot",
    "CopyPart",
    "Event",
    "InMemoryRecording",
    "Recording",
    "RecordingMeta",
    "RecordingWriter",
    "SensorMeta",
    "Touched",
    "attempt_name",
    "dtype_of",
    "find_recordings",
    "is_being_written",
    "schema_of",
    "step_of_attempt",
    "without_copies",
]
