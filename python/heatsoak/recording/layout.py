"""The names of a recording's files."""

META = "recording.json"
JOURNAL = "samples.jsonl"
PARQUET = "samples.parquet"
EVENTS = "events.jsonl"
RAW = "raw"
