"""``heatsoak schema``: the JSON Schemas of what other commands print."""

from importlib import import_module
from types import GenericAlias
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import override

from heatsoak.cli.common import FormatOption, OutputFormat
from heatsoak.errors import UsageError, suggestion
from heatsoak.output import print_json, print_out

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


#: The names, the commands that print such a document, and its type, in brackets a list of it.
NAMES = {
    "advise": ("advise", "twin:Advice"),
    "analyze": ("analyze", "analysis:Findings"),
    "compare": ("compare", "analysis.comparison:[ComparisonRow]"),
    "demo": ("demo, and its findings.json", "analysis:Findings"),
    "doctor": ("doctor", "doctor:Checkup"),
    "drives": ("drives", "target.device:[DriveRow]"),
    "drives-like": ("drives --like", "bench.rows:LikenessRow"),
    "drives-restore": ("drives --restore", "bench.rows:[RestoredRow]"),
    "export": ("export", "exporter:[Written]"),
    "fit": ("fit", "twin:Twin"),
    "history": ("history", "history:History"),
    "import": ("import", "cli.convert:[ImportedRow]"),
    "places": ("places", "bench.rows:[PlaceRow]"),
    "predict": ("predict", "twin:Prediction"),
    "protocols": ("protocols", "bench.rows:[ProtocolRow]"),
    "rack-drives": ("rack drives", "rack.host:[HostDrive]"),
    "rack-host": ("rack host status and collect", "rack.kept:[HostTest]"),
    "rack-host-start": ("rack host start", "rack.kept:HostTest"),
    "rack-report": ("rack report", "report.rack:RackReport"),
    "rack-run": ("rack run", "rack.state:RackFindings"),
    "rack-run-dry-run": ("rack run --dry-run", "rack.state:[PlannedTest]"),
    "report": ("report", "report.files:Reported"),
    "reproduce": ("reproduce, and its reproduce.json", "reproduce:[ReproductionRow]"),
    "run": ("run", "analysis:Findings"),
    "run-dry-run": ("run --dry-run", "bench.rows:[PlannedRow]"),
    "sweep": ("sweep, and its sweep.json", "sweep:Sweep"),
    "trace-check": ("trace check", "analysis.traces:TraceCheck"),
    "trace-stats": ("trace stats", "analysis.traces:TraceStatistics"),
    "watch": ("watch", "analysis:Findings"),
}


def _type_of(name: str) -> Any:
    module, _, kind = NAMES[name][1].partition(":")
    found = getattr(import_module(f"heatsoak.{module}"), kind.strip("[]"))
    return GenericAlias(list, found) if kind.startswith("[") else found


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
    schema = TypeAdapter(_type_of(name)).json_schema(
        mode="serialization", schema_generator=_EveryKey
    )
    return {"$schema": _DIALECT, **schema, "title": f"heatsoak {NAMES[name][0]} --format json"}


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
        print_json([{"schema_version": 1, "name": key, "of": of} for key, (of, _) in NAMES.items()])
    else:
        width = max(map(len, NAMES))
        for key, (of, _) in NAMES.items():
            print_out(f"{key:{width}}  heatsoak {of}")
