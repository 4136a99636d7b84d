"""The table of a matrix: one row per cell, with published figures next to the measured ones."""

from dataclasses import dataclass

from rich.table import Table

from heatsoak import catalog
from heatsoak.analysis import Findings, RecordingFindings
from heatsoak.output import Console, Text, lines


@dataclass(frozen=True)
class Cell:
    """One row: onset of the earlier and depth of the deeper of the two sequential steps.

    The depth is that of an episode's last 60 s, as in the published figures.

    Both are None if neither step has an episode; `published` is None if nothing was published.
    """

    slot: str
    gpus: int
    gpu_load: str
    onset_s: float | None
    depth_pct: float | None
    published: catalog.PugetCell | None

    @property
    def onset_holds(self) -> bool | None:
        """Whether the onset is within the published range and its tolerance."""
        if self.published is None:
            return None
        return self.onset_s is not None and self.published.onset_holds(self.onset_s)

    @property
    def depth_holds(self) -> bool | None:
        """Whether the depth is within the published range and its tolerance."""
        if self.published is None:
            return None
        return self.depth_pct is not None and self.published.depth_holds(self.depth_pct)


def matrix_cells(findings: Findings) -> list[Cell]:
    """Return a row for each recording that has the conditions of the Puget matrix."""
    return [
        _cell(recording)
        for recording in findings.recordings
        if {"slot", "gpus", "gpu_load"} <= recording.conditions.keys()
    ]


def print_matrix(findings: Findings, console: Console) -> None:
    """Print the matrix, and how many of its figures hold."""
    cells = matrix_cells(findings)
    table = Table(title="Throttled by about X % after about Y s", title_justify="left")
    ours = "simulated" if all(r.drive.get("simulated") for r in findings.recordings) else "measured"
    for heading in ("Slot", "GPUs", "Load"):
        table.add_column(heading, justify="right" if heading == "GPUs" else "left")
    for quantity in ("Onset, s", "Depth, %"):
        table.add_column(lines((quantity, ours)), justify="right")
        table.add_column(lines(("", "published")), justify="right")
        table.add_column("")
    previous = None
    for cell in cells:
        if previous is not None and cell.slot != previous:
            table.add_section()
        previous = cell.slot
        published = cell.published
        table.add_row(
            cell.slot,
            str(cell.gpus),
            cell.gpu_load,
            "steady" if cell.onset_s is None else f"{cell.onset_s:.0f}",
            "" if published is None else _range(published.onset_s),
            _mark(cell.onset_holds),
            "" if cell.depth_pct is None else f"{cell.depth_pct:.0f}",
            "" if published is None else _range(published.depth_pct),
            _mark(cell.depth_holds),
        )
    console.print(table)
    known = [cell for cell in cells if cell.published is not None]
    if known:
        onsets = sum(bool(cell.onset_holds) for cell in known)
        depths = sum(bool(cell.depth_holds) for cell in known)
        console.print(
            f"{onsets} of {len(known)} onsets and {depths} of {len(known)} depths are within the "
            "published ranges and their tolerance."
        )


def _cell(recording: RecordingFindings) -> Cell:
    conditions = recording.conditions
    episodes = [
        episode
        for step in recording.steps
        if step.step in catalog.PUGET_STEPS
        for episode in step.episodes
    ]
    slot, gpus, load = str(conditions["slot"]), conditions["gpus"], str(conditions["gpu_load"])
    return Cell(
        slot=slot,
        gpus=gpus,
        gpu_load=load,
        onset_s=min((episode.onset_s for episode in episodes), default=None),
        depth_pct=max((episode.depth_at_end_pct for episode in episodes), default=None),
        published=catalog.puget_cell(slot, gpus, load),
    )


def _range(bounds: tuple[float, float]) -> str:
    low, high = bounds
    return f"{low:g}" if low == high else f"{low:g}-{high:g}"


def _mark(holds: bool | None) -> Text:
    if holds is None:
        return Text("")
    return Text("ok", style="green") if holds else Text("off", style="red")
