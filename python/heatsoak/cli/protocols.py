"""``heatsoak protocols``: list the bundled protocols."""

import typer

from heatsoak.bench import typical_plan
from heatsoak.cli.common import FormatOption, OutputFormat, console, print_json
from heatsoak.protocol import bundled, load
from heatsoak.report import print_protocols


def protocols_command(output_format: FormatOption = OutputFormat.TEXT) -> None:
    """List the bundled protocols and how long they take."""
    rows = []
    for name in bundled():
        protocol = load(name)
        plan = typical_plan(protocol)
        without_probes = plan.without_probes()
        rows.append(
            {
                "name": name,
                "title": protocol.title,
                "description": protocol.description,
                "duration_s": plan.duration_s,
                "written_bytes": plan.written_bytes,
                "duration_without_probes_s": without_probes.duration_s,
                "written_without_probes_bytes": without_probes.written_bytes,
                "has_rounds": bool(protocol.rounds),
                "unknown_steps": plan.unknown,
                "writes": protocol.writes,
                "recordings": len(protocol.cells()),
                "steps": [step.name for step in protocol.steps],
                "scores": [
                    {"name": score.name, "definition": score.definition}
                    for score in protocol.scores
                ],
                "sources": protocol.sources,
            }
        )
    if output_format is OutputFormat.JSON:
        print_json(rows)
    else:
        print_protocols(rows, console())


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("protocols")(protocols_command)
