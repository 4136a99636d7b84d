"""The names of a recording's files."""

META = "recording.json"
JOURNAL = "samples.jsonl"
PARQUET = "samples.parquet"
EVENTS = "events.jsonl"
RAW = "raw"
#: Room that is kept while it is written, for what has to be said once the disk is full.
RESERVE = "reserve"
#: What follows a file's name while it is written, before it is put in its place.
PARTIAL = ".partial"
