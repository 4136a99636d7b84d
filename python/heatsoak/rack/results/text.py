"""What ``heatsoak rack report`` prints: the answer, what places and drives do, and who passed."""

from rich.table import Table

from heatsoak.output import Console, Text, lines
from heatsoak.rack.results.findings import RackReport

#: By a drive's verdict: a word, and its style.
_PASSES = {
    "passes": ("yes", "green"),
    "open": ("open", "yellow"),
    "throttles": ("throttles", "bold red"),
    "fails": ("no", "bold red"),
}


def print_rack(found: RackReport, console: Console) -> None:
    """Print the answer, what differs between places and drives, and a row for each drive."""
    console.print(Text(found.sentence, style="bold"), soft_wrap=True)
    for sentence in found.told:
        console.print(Text(sentence), soft_wrap=True)
    console.print()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("Drive", "Model", "Where", "Passes?"):
        table.add_column(heading, overflow="fold")
    table.add_column("Why not", overflow="fold", ratio=1)
    for one in found.drives:
        passes = Text(*_PASSES[one.verdict])
        table.add_row(
            Text(one.drive),
            Text(one.model or ""),
            Text(one.where),
            passes,
            lines(one.told),
        )
    console.print(table)
    better = [one for one in found.outliers if not one.is_worse]
    for outlier in better:
        said = f"unlike the others, but not worse: {outlier.drive}: {outlier.sentence}"
        console.print(Text(said), soft_wrap=True)
    for sentence in found.not_compared:
        console.print(Text(sentence, style="dim"), soft_wrap=True)
