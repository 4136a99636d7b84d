"""The one format that measuring writes and thinking reads.

A recording is a directory: `recording.json` (what was run, on what, by what), `samples.jsonl`
while it runs and `samples.parquet` afterwards, `events.jsonl`, and `raw/` with fio's own output.
"""

from heatsoak.recording.attempts import Reopened, attempt_name, reopen, step_of_attempt
from heatsoak.recording.columns import dtype_of, schema_of
from heatsoak.recording.files import check_way
from heatsoak.recording.in_memory import HeldRecording, save_all
from heatsoak.recording.meta import META, Boot, CopyPart, Event, RecordingMeta, SensorMeta, Status
from heatsoak.recording.reader import Recording, find_recordings
from heatsoak.recording.writer import RecordingWriter, is_written

__all__ = [
    "META",
    "Boot",
    "CopyPart",
    "Event",
    "HeldRecording",
    "Recording",
    "RecordingMeta",
    "RecordingWriter",
    "Reopened",
    "SensorMeta",
    "Status",
    "attempt_name",
    "check_way",
    "dtype_of",
    "find_recordings",
    "is_written",
    "reopen",
    "save_all",
    "schema_of",
    "step_of_attempt",
]
