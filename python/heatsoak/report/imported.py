"""What was imported, as rows and in a terminal."""

from collections.abc import Iterable
from typing import Any

from rich.padding import Padding

from heatsoak.output import Console, Text
from heatsoak.recording import Recording
from heatsoak.units import format_duration


def imported_rows(recordings: Iterable[Recording]) -> list[dict[str, Any]]:
    """Return what ``heatsoak import --format json`` prints: a row for each recording."""
    return [_row(recording) for recording in recordings]


def _row(recording: Recording) -> dict[str, Any]:
    meta = recording.meta
    imported = meta.load.get("imported", {})
    return {
        "path": str(recording.path),
        "format": imported.get("format"),
        "source": imported.get("source"),
        "drive": meta.drive,
        "conditions": meta.conditions,
        "duration_s": meta.duration_s,
        "samples": recording.samples(["t_s"]).height,
        "columns": [name for name in meta.columns if name not in ("t_s", "step", "interval_s")],
        "steps": [
            {"step": step.name, "workload": step.describe()}
            for step in meta.protocol.workload_steps
        ],
        "remarks": [
            {"text": event.text, "doubt": event.kind == "warning"}
            for event in recording.events
            if event.kind in ("info", "warning")
        ],
    }


def print_imported(rows: Iterable[dict[str, Any]], console: Console) -> None:
    """Print the rows: where each recording is, what it holds, and what was said of it."""
    for row in rows:
        title = Text(row["path"], style="bold")
        labels = ", ".join(f"{key} {value}" for key, value in row["conditions"].items())
        if row["source"] is not None:
            title.append(f"  from {row['source']} ({row['format']})", style="not bold")
        console.print(title.append(f"  {labels}" if labels else "", style="not bold"))
        about = [
            f"{row['samples']:,} samples",
            format_duration(row["duration_s"] or 0.0),
            f"{len(row['steps'])} {'step' if len(row['steps']) == 1 else 'steps'}",
            row["drive"].get("model") or row["drive"].get("path"),
        ]
        console.print(Padding(Text(", ".join(part for part in about if part)), (0, 0, 0, 2)))
        console.print(Padding(Text(", ".join(row["columns"]), style="dim"), (0, 0, 0, 2)))
        for remark in row["remarks"]:
            style = "yellow" if remark["doubt"] else "dim"
            console.print(Padding(Text(f"note: {remark['text']}", style=style), (0, 0, 0, 2)))
