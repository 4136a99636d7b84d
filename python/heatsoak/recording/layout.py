"""The names of a recording's files."""

META = "recording.json"
JOURNAL = "samples.jsonl"
PARQUET = "samples.parquet"
EVENTS = "events.jsonl"
RAW = "raw"
#: What follows a file's name while it is written, before it is put in its place.
PARTIAL = ".partial"
