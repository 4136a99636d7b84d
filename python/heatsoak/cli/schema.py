"""``heatsoak schema``: the JSON Schemas of what other commands print."""

from typing import Annotated, Any

import typer
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import override

from heatsoak.cli.common import FormatOption, OutputFormat
from heatsoak.errors import UsageError, suggestion
from heatsoak.output import print_json, print_out

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def _documents() -> dict[str, Any]:
    """What each command prints, as types."""
    # these take a while to load, and a list of the names needs none of them
    from heatsoak.analysis import Findings
    from heatsoak.analysis.comparison import ComparisonRow
    from heatsoak.analysis.trace_statistics import TraceStatistics
    from heatsoak.analysis.traces import TraceCheck
    from heatsoak.bench.rows import LikenessRow, PlaceRow, PlannedRow, ProtocolRow, RestoredRow
    from heatsoak.doctor import Checkup
    from heatsoak.exporter import Written
    from heatsoak.history import History
    from heatsoak.rack.host import HostDrive
    from heatsoak.rack.kept import HostTest
    from heatsoak.rack.results.findings import RackReport
    from heatsoak.rack.state import PlannedTest, RackFindings
    from heatsoak.report.files import Reported
    from heatsoak.report.lists import ImportedRow
    from heatsoak.reproduce import ReproductionRow
    from heatsoak.sweep import Sweep
    from heatsoak.target.device import DriveRow
    from heatsoak.twin import Advice, Prediction, Twin

    return {
        "advise": Advice,
        **dict.fromkeys(("analyze", "demo", "run", "watch"), Findings),
        "compare": list[ComparisonRow],
        "doctor": Checkup,
        "drives": list[DriveRow],
        "drives-like": LikenessRow,
        "drives-restore": list[RestoredRow],
        "export": list[Written],
        "fit": Twin,
        "history": History,
        "import": list[ImportedRow],
        "places": list[PlaceRow],
        "predict": Prediction,
        "protocols": list[ProtocolRow],
        "rack-drives": list[HostDrive],
        "rack-host": list[HostTest],
        "rack-host-start": HostTest,
        "rack-report": RackReport,
        "rack-run": RackFindings,
        "rack-run-dry-run": list[PlannedTest],
        "report": Reported,
        "reproduce": list[ReproductionRow],
        "run-dry-run": list[PlannedRow],
        "sweep": Sweep,
        "trace-check": TraceCheck,
        "trace-stats": TraceStatistics,
    }


#: The names, and the commands that print such a document.
NAMES = {
    "advise": "advise",
    "analyze": "analyze",
    "compare": "compare",
    "demo": "demo, and its findings.json",
    "doctor": "doctor",
    "drives": "drives",
    "drives-like": "drives --like",
    "drives-restore": "drives --restore",
    "export": "export",
    "fit": "fit",
    "history": "history",
    "import": "import",
    "places": "places",
    "predict": "predict",
    "protocols": "protocols",
    "rack-drives": "rack drives",
    "rack-host": "rack host status and collect",
    "rack-host-start": "rack host start",
    "rack-report": "rack report",
    "rack-run": "rack run",
    "rack-run-dry-run": "rack run --dry-run",
    "report": "report",
    "reproduce": "reproduce, and its reproduce.json",
    "run": "run",
    "run-dry-run": "run --dry-run",
    "sweep": "sweep, and its sweep.json",
    "trace-check": "trace check",
    "trace-stats": "trace stats",
    "watch": "watch",
}


class _EveryKey(GenerateJsonSchema):
    """Schemas that require every key: all are printed, also those with a default in Python."""

    @override
    def field_is_required(self, field: Any, total: bool) -> bool:
        return True


def _schema_of(name: str) -> dict[str, Any]:
    if name not in NAMES:
        raise UsageError(
            f"{name}: has no schema{suggestion(name, NAMES)}: there are {', '.join(NAMES)}"
        )
    schema = TypeAdapter(_documents()[name]).json_schema(
        mode="serialization", schema_generator=_EveryKey
    )
    return {"$schema": _DIALECT, **schema, "title": f"heatsoak {NAMES[name]} --format json"}


def schema_command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Whose schema to print; without it, list the names.",
            autocompletion=lambda: list(NAMES),
        ),
    ] = None,
    output_format: FormatOption = OutputFormat.TEXT,
) -> None:
    if name is not None:
        print_json(_schema_of(name))
    elif output_format is OutputFormat.JSON:
        print_json([{"schema_version": 1, "name": key, "of": of} for key, of in NAMES.items()])
    else:
        width = max(map(len, NAMES))
        for key, of in NAMES.items():
            print_out(f"{key:{width}}  heatsoak {of}")
