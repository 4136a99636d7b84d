"""Lists for the terminal: drives, protocols, plans, imported recordings, what a machine has."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from pydantic import BaseModel
from rich.columns import Columns
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table

from heatsoak.catalog import load_drive
from heatsoak.output import Console, Text, lines, table_of
from heatsoak.protocol import Conditions
from heatsoak.recording import Recording, Touched
from heatsoak.words import duration_text, number_text, size_text

#: What the catalog's drives are, by what is known of them.
_SIMULATED: dict[str | None, str] = {
    None: "measured ones (docs/simulated-drive.md says more of them)",
    "class": "classes, what such drives have in common",
    "data sheet": "data sheets on figures of a class, not measured",
}


def print_drives(
    drives: Iterable[dict[str, Any]], console: Console, *, known: bool = False
) -> None:
    """Print the rows of ``heatsoak drives``, and of ``rack drives``, which have a host each.

    Simulated drives, of which there are many, follow as names alone; those that nobody measured
    only if the catalog's drives are to be `known`.
    """
    drives = list(drives)
    simulated = [drive["id"] for drive in drives if drive["simulated"]]
    drives = [drive for drive in drives if not drive["simulated"]]
    has_hosts = any("host" in drive for drive in drives)
    hosts = ("Host",) if has_hosts else ()
    table = table_of(*hosts, "Drive", "Model", "Size", "Sensors", "Writing")
    for drive in drives:
        if drive["writable"]:
            is_safe = drive["erase"] == drive["id"]
            text = f"safe with --erase {drive['id']}" if is_safe else drive["why"]
            writing = Text(text, style="green" if is_safe else "yellow")
        else:
            writing = Text(f"refused: {drive['why']}", style="yellow")
        table.add_row(
            *((Text(drive["host"]),) if has_hosts else ()),
            Text(drive["path"] or drive["id"]),
            Text(drive["model"] or ""),
            size_text(drive["size_bytes"]),
            Text(", ".join(drive["sensors"])),
            writing,
        )
    if drives:
        console.print(table)
    by_basis: dict[str | None, list[str]] = {basis: [] for basis in _SIMULATED}
    for name in simulated:
        by_basis[load_drive(name.removeprefix("sim:")).basis].append(name)
    for basis, names in by_basis.items():
        if names and (known or basis != "data sheet"):
            console.print()
            console.print(f"Simulated drives, for --on: {_SIMULATED[basis]}", soft_wrap=True)
            console.print(Columns(map(Text, names), padding=(0, 2, 0, 0)))
    if simulated and not known:
        more = len(by_basis["data sheet"])
        console.print()
        console.print(f"heatsoak drives --known lists {more} more, which nobody measured.")


def print_likeness(row: dict[str, Any], console: Console) -> None:
    """Print the row of ``heatsoak drives --like``."""
    console.print(Text(row["sentence"], style="bold"), soft_wrap=True)
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    for heading, key, text in _likeness_lines(row):
        table.add_row(heading, text + (" (assumed)" if key in row["assumed"] else ""))
    console.print(table)
    console.print(f"To simulate it: {row['command']}", soft_wrap=True)
    if row["tells_more"]:
        console.print(f"What tells more: {row['tells_more']}", soft_wrap=True)


def _likeness_lines(row: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What is known: a heading, its key and the value in words."""
    from_c, cache_bytes = row["throttles_from_c"], row["cache_bytes"]
    hidden = "a temperature that it does not report"
    yield "throttles from", "throttles_from_c", hidden if from_c is None else f"{from_c:g} C"
    for heading in ("warning", "critical"):
        if (temp_c := row[f"{heading}_c"]) is not None:
            yield f"states as {heading}", f"{heading}_c", f"{temp_c:g} C"
    yield "write cache", "cache_bytes", size_text(cache_bytes) if cache_bytes else "none"
    behind = "writes behind it" if cache_bytes else "writes"
    yield behind, "flash_mb_s", f"{number_text(row['flash_mb_s'])} MB/s"


def print_places(places: Iterable[dict[str, Any]], console: Console) -> None:
    """Print the rows of ``heatsoak places``."""
    table = table_of("Place", "Air", "What it is", "Conditions")
    for place in places:
        labels = ", ".join(f"{key} {value}" for key, value in place["conditions"].items())
        table.add_row(
            Text(place["id"], style="bold"),
            f"{place['air_c']:.0f} C",
            Text(place["description"]),
            Text(labels),
        )
    console.print(table)
    console.print("A simulated drive goes there with --on sim:DRIVE@PLACE.")


def print_protocols(protocols: Iterable[dict[str, Any]], console: Console) -> None:
    """Print the rows of ``heatsoak protocols``."""
    table = table_of("Protocol", "Takes", "Writes", "What it does")
    for protocol in protocols:
        takes = _takes(protocol) + (" plus replays" if protocol["unknown_steps"] else "")
        if protocol["recordings"] > 1:
            takes += f" x {protocol['recordings']} places"
        table.add_row(
            Text(protocol["name"], style="bold"),
            takes,
            "yes" if protocol["writes"] else "no",
            Text(protocol["description"]),
        )
    console.print(table)


def _takes(row: dict[str, Any]) -> str:
    """How long it takes: without drops and with rounds that are steady soon, and at most."""
    least, most = (duration_text(row[key]) for key in ("duration_without_probes_s", "duration_s"))
    if least == most:
        return least
    return f"{least} to {most}" if row["has_rounds"] else f"{least}, with all probes {most}"


def print_preview(runs: Sequence[dict[str, Any]], console: Console) -> None:
    """Print what ``--dry-run`` found for each run."""
    for run in runs:
        labels = ", ".join(f"{key} {value}" for key, value in run["conditions"].items())
        title = Text(f"{run['protocol']} on {run['target']}", style="bold")
        console.print(title.append(f"  {labels}" if labels else "", style="not bold"))
        _print_surroundings(run, console)
        table = table_of("Step", "", "Takes", "Writes", "", numbers=("Takes", "Writes"))
        for step in run["steps"]:
            about = "" if step["is_bound"] else "about "
            takes = f"{about}{duration_text(step['duration_s'])}"
            writes = f"at most {size_text(step['written_bytes'])}"
            table.add_row(
                Text(step["step"]),
                Text(step["workload"] or step["kind"]),
                takes if step["is_known"] else "as its trace",
                writes if step["written_bytes"] else "" if step["is_known"] else "as its trace",
                Text(step["condition"] or ""),
            )
        console.print(table)
        rated = (
            "its rated endurance"
            if run["endurance_is_rated"]
            else ("the usual endurance of drives of this size")
        )
        console.print(
            f"Takes {_takes(run)}; at most "
            f"{size_text(run['written_bytes'])} written to {size_text(run['size_bytes'])}: "
            f"{number_text(run['endurance_pct'], 2)} % of {rated} "
            f"({size_text(run['endurance_bytes'])})."
        )
        if run["simulation_s"] is not None:
            # seconds are what a person waits for, and what a try can tell
            takes = duration_text(max(1.0, round(run["simulation_s"])))
            console.print(f"Simulating it takes about {takes} at most, without probes.")
        if run["unknown_steps"]:
            names = ", ".join(f"'{name}'" for name in run["unknown_steps"])
            console.print(
                Text(f"not counted, since it depends on the trace: {names}", style="yellow")
            )
        console.print(Text(f"speeds: {run['speeds_source']}", style="dim"))


def _print_surroundings(run: dict[str, Any], console: Console) -> None:
    """Print what to change by hand before a run, and what warms the case during it."""
    if run["set_up"]:
        wanted = ", ".join(f"{key} = {value}" for key, value in run["set_up"].items())
        console.print(Text(f"set up by hand: {wanted}"))
    for heat in run["heat"]:
        console.print(Text(f"heat: {heat['heat']}"))
        if heat["why_not"]:
            console.print(Text(f"not available: {heat['why_not']}", style="yellow"))


def print_written(files: Iterable[dict[str, Any]], console: Console) -> None:
    """Print the rows of ``heatsoak export``, a line per file, and each assumption once."""
    said: dict[tuple[str | None, str], None] = {}
    for file in files:
        size = f"{file['rows']:,} rows, {size_text(file['bytes'])}"
        console.print(Text(f"{file['path']}: {size}"), soft_wrap=True)
        said |= dict.fromkeys((file["recording"], note) for note in file["notes"])
    for name, note in said:
        console.print(Text(f"note: {name}: {note}", style="yellow"), soft_wrap=True)


class ImportedStep(BaseModel):
    """A step of an imported recording."""

    step: str
    workload: str


class ImportedRemark(BaseModel):
    """What was converted or assumed; `doubt` is whether the file leaves it uncertain.

    Attributes:
        touches: what a doubt leaves open.
    """

    text: str
    doubt: bool
    touches: list[Touched]


class ImportedRow(BaseModel):
    """An imported recording: a row of ``heatsoak import``.

    Attributes:
        schema_version: goes up when a key of the JSON changes its meaning or goes away.
        format: of its log; `source` is the file.
        samples: how many it has.
        columns: what they have besides time and step.
    """

    schema_version: Literal[1] = 1
    path: str
    format: str | None
    source: str | None
    drive: dict[str, Any]
    conditions: Conditions
    duration_s: float | None
    samples: int
    columns: list[str]
    steps: list[ImportedStep]
    remarks: list[ImportedRemark]


def imported_rows(recordings: Iterable[Recording]) -> list[dict[str, Any]]:
    """Return what ``heatsoak import --format json`` prints: a row for each recording."""
    return [_row(recording).model_dump(mode="json") for recording in recordings]


def _row(recording: Recording) -> ImportedRow:
    meta = recording.meta
    imported = meta.load.get("imported", {})
    return ImportedRow(
        path=str(recording.path),
        format=imported.get("format"),
        source=imported.get("source"),
        drive=meta.drive,
        conditions=meta.conditions,
        duration_s=meta.duration_s,
        samples=recording.samples(["t_s"]).height,
        columns=[name for name in meta.columns if name not in ("t_s", "step", "interval_s")],
        steps=[
            ImportedStep(step=step.name, workload=step.describe())
            for step in meta.protocol.workload_steps
        ],
        remarks=[
            ImportedRemark(
                text=event.text,
                doubt=event.kind == "warning",
                touches=event.data.get("touches", []),
            )
            for event in recording.events
            if event.kind in ("info", "warning")
        ],
    )


def print_imported(rows: Iterable[dict[str, Any]], console: Console) -> None:
    """Print the rows: where each recording is, what it holds, and the remarks on it."""
    for row in rows:
        title = Text(row["path"], style="bold")
        labels = ", ".join(f"{key} {value}" for key, value in row["conditions"].items())
        if row["source"] is not None:
            title.append(f"  from {row['source']} ({row['format']})", style="not bold")
        console.print(title.append(f"  {labels}" if labels else "", style="not bold"))
        about = [
            f"{row['samples']:,} samples",
            duration_text(row["duration_s"] or 0.0),
            f"{len(row['steps'])} {'step' if len(row['steps']) == 1 else 'steps'}",
            row["drive"].get("model") or row["drive"].get("path"),
        ]
        console.print(Padding(Text(", ".join(part for part in about if part)), (0, 0, 0, 2)))
        console.print(Padding(Text(", ".join(row["columns"]), style="dim"), (0, 0, 0, 2)))
        for remark in row["remarks"]:
            style = "yellow" if remark["doubt"] else "dim"
            console.print(Padding(Text(f"note: {remark['text']}", style=style), (0, 0, 0, 2)))


_STATE_STYLES = {"ok": "green", "limited": "yellow", "missing": "red", "unneeded": "dim"}


def print_checkup(checkup: dict[str, Any], console: Console) -> None:
    """Print the document of ``heatsoak doctor --format json``."""
    console.print(Text(checkup["sentence"], style="bold"), soft_wrap=True)
    console.print()
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for _ in range(2):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for fact in checkup["facts"]:
        state = fact["state"]
        table.add_row(Text(fact["name"]), Text(state, style=_STATE_STYLES[state]), _told(fact))
    console.print(table)
    if checkup["get_all"]:
        console.print()
        console.print("To get all that is missing:")
        for command in checkup["get_all"]:
            console.print(Text(f"  {command}"), soft_wrap=True)


def _told(fact: dict[str, Any]) -> RenderableType:
    if fact["state"] == "ok":
        return Text(fact["found"]).append(f": {fact['brings']}", style="dim")
    told = f"{fact['brings']}: {fact['found']}"
    # on a line of its own, to be copied
    return lines([told, fact["get"]]) if fact["get"] else Text(told)
