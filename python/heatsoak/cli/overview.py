"""What is here: this machine, drives, places, protocols, schemas (``doctor``, ``list``, ...)."""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, Literal

import typer
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from rich.columns import Columns
from rich.console import RenderableType
from rich.table import Table
from typing_extensions import override

from heatsoak import errors, output, system, words
from heatsoak.catalog import load_drive
from heatsoak.cli import common, completion
from heatsoak.sensor import Roots


def doctor_command(
    target: str | None = common.option(
        "--on TARGET",
        "Also say what would keep this from being tested: a directory, /dev/nvme0n1.",
        offers=completion.targets,
        default=None,
    ),
    output_format: common.FormatOption = "text",
) -> int:
    """Nothing is changed, no drive is opened for writing, and none is sent a command."""
    # other commands of this module need none of it
    from heatsoak.doctor import examine

    common.show(examine(Roots(), target).model_dump(mode="json"), output_format, print_checkup)
    return 0


def list_command(
    what: Annotated[
        Literal["drives", "places", "protocols"], typer.Argument(metavar="drives|places|protocols")
    ] = "drives",
    name: str | None = common.argument(
        "NAME",
        "One of them, in full; of drives a model, or a log or smartctl -a of one: where "
        "it throttles, its cache.",
        offers=completion.listed,
        default=None,
    ),
    restore: bool = common.option(
        "--restore", "Undo what killed runs left changed on drives: TMT1 and TMT2.", default=False
    ),
    like: Annotated[str | None, typer.Option(metavar="MODEL|FILE", hidden=True)] = None,
    known: bool = common.option(
        "--known", "List the simulated drives alone, and all of them.", default=False
    ),
    health: bool = common.option(
        "--health", "Say how it is with each, worst first; NAME may be listings.", default=False
    ),
    fail_on: Literal["alarm", "throttled", "over-limits", "hot"] | None = common.option(
        "", "With --health: exit 1 if a drive is in this state, or a worse one.", default=None
    ),
    alert: Literal["prometheus", "node-exporter", "json"] | None = common.option(
        "",
        "With NAME: rules that alarm before and when it throttles, for smartctl_exporter's metrics "
        "(prometheus) or node_exporter's; or their temperatures.",
        default=None,
    ),
    output_format: common.FormatOption = "text",
) -> int:
    """Drives of this machine come with their sensors, and with what was found on them."""
    name = name or like
    if restore + known + (name is not None and not health) > 1 or (
        what != "drives" and (restore or known or health)
    ):
        raise errors.UsageError("NAME, --known and --restore go alone; the last two with drives")
    if fail_on is not None and not health:
        raise errors.UsageError(f"--fail-on {fail_on}: says when --health fails: add that")
    if health:
        return _health(name, fail_on, output_format)
    if alert is not None:
        _print_alarms(name if what == "drives" else None, alert)
        return 0
    if what == "drives":
        return _drives(name, restore=restore, known=known, output_format=output_format)
    from heatsoak.cli import listed

    rows: Iterable[Any] = listed.place_rows() if what == "places" else listed.protocol_rows()
    show: Callable[..., None] = print_places if what == "places" else print_protocols
    if name is not None:
        by_name = {getattr(row, "name", None) or row.id: row for row in rows}
        if name not in by_name:
            raise errors.UsageError(
                f"{name}: is none of the {what}{errors.suggestion(name, by_name)}: heatsoak list "
                f"{what} lists them"
            )
        rows, show = [by_name[name]], print_in_full
    common.show_rows(rows, output_format, show)
    return 0


def _drives(
    like: str | None, *, restore: bool, known: bool, output_format: common.OutputFormat
) -> int:
    # places and protocols need none of it
    from heatsoak.cli.listed import likeness_row
    from heatsoak.target import hctm
    from heatsoak.target.place import inventory, simulated

    if restore:
        return _restore(output_format)
    if like is not None:
        row = likeness_row(like.removeprefix("sim:"))
        common.show(row.model_dump(mode="json"), output_format, print_likeness)
        return 0

    def table(rows: list[dict[str, object]], out: output.Console) -> None:
        print_drives(rows, out, known=known)

    listed = simulated() if known else inventory(Roots())
    common.show_rows(listed, output_format, table)
    if known:
        return 0
    if system.IS_LINUX:
        for note in hctm.left():
            output.announce(note.text)
    else:
        output.announce("this machine's own drives are listed on Linux only")
    return 0


def _print_alarms(name: str | None, alert: str) -> None:
    from heatsoak.cli import listed

    if name is None:
        raise errors.UsageError(f"--alert {alert}: is for a drive: heatsoak list drives NAME")
    row = listed.likeness_row(name.removeprefix("sim:"))
    if alert == "json":
        output.print_json([one.model_dump(mode="json") for one in listed.alarm_rows(row)])
    else:
        for line in listed.alarm_rules(row, alert):
            output.print_out(line)


def _health(name: str | None, fail_on: str | None, output_format: common.OutputFormat) -> int:
    """Print how it is with the drives here, or with those of listings."""
    from heatsoak.analysis import analyze  # these take a while to load
    from heatsoak.analysis.health import STATES, health_of
    from heatsoak.bench.watch import read_once
    from heatsoak.report.health import print_health, sentence_of
    from heatsoak.target.place import real_drives

    opened = common.Opened()
    if name is not None:
        opened = common.ReadOptions().open([Path(name)])
    else:
        system.require_linux("list drives --health without listings")
        opened.take([read_once(info, Roots()) for info in real_drives(Roots())])
    if not opened.recordings:
        raise errors.ToolError("no drive is here whose sensors can be read: heatsoak doctor")
    rows = health_of(analyze(opened.recordings).recordings, opened.recordings)
    common.show_rows(rows, output_format, lambda _, out: print_health(rows, out))
    is_bad = fail_on is not None and STATES.index(rows[0].state) <= STATES.index(fail_on)
    return opened.exit_code(common.limit_broken(sentence_of(rows)) if is_bad else 0)


def _restore(output_format: common.OutputFormat) -> int:
    """Restore the drives, and print what was done; an error's code if something is left."""
    from heatsoak.cli.listed import RestoredRow
    from heatsoak.target import hctm

    system.require_linux("--restore")
    notes = hctm.put_back(Roots())

    def lines(rows: list[dict[str, object]], out: output.Console) -> None:
        for row in rows:
            out.print(row["said"], soft_wrap=True)
        if not rows:
            out.print("nothing to restore: no killed run left anything changed", soft_wrap=True)

    restored = [RestoredRow(said=note.text, is_left="is_left" in note.data) for note in notes]
    common.show_rows(restored, output_format, lines)
    return errors.HeatsoakError.exit_code if any("is_left" in note.data for note in notes) else 0


#: What the catalog's drives are, by what is known of them.
_SIMULATED: dict[str | None, str] = {
    None: "measured ones (docs/simulated-drive.md says more of them)",
    "class": "classes, what such drives have in common",
    "data sheet": "data sheets on figures of a class, not measured",
}


#: Names beside each other take so much of a line.
_COLUMNS = 120


def print_drives(
    drives: Iterable[dict[str, Any]], console: output.Console, *, known: bool = False
) -> None:
    """Print the rows of ``heatsoak list drives``, and of ``rack drives``, which have a host each.

    Simulated drives, of which there are many, follow as names alone; those that nobody measured
    only if the catalog's drives are to be `known`.
    """
    drives = list(drives)
    simulated = [drive["id"] for drive in drives if drive["simulated"]]
    drives = [drive for drive in drives if not drive["simulated"]]
    has_hosts = any("host" in drive for drive in drives)
    hosts = ("Host",) if has_hosts else ()
    table = output.table_of(*hosts, "Drive", "Model", "Size", "Sensors", "Writing")
    for drive in drives:
        is_nothing_found = drive["writable"] and drive["erase"] == drive["id"]
        refused = "" if drive["writable"] else "refused: "
        style = "green" if is_nothing_found else "yellow"
        writing = output.Text(f"{refused}{drive['why']}", style=style)
        table.add_row(
            *((output.Text(drive["host"]),) if has_hosts else ()),
            output.Text(drive["path"] or drive["id"]),
            output.Text(drive["model"] or ""),
            words.size_text(drive["size_bytes"]),
            output.Text(", ".join(drive["sensors"])),
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
            columns = Columns(map(output.Text, names), padding=(0, 2, 0, 0))
            console.print(columns, width=min(console.width, _COLUMNS))
    if simulated and not known:
        more = len(by_basis["data sheet"])
        console.print()
        console.print(f"heatsoak list drives --known lists {more} more, which nobody measured.")


def print_likeness(row: dict[str, Any], console: output.Console) -> None:
    """Print the row of ``heatsoak list drives NAME``."""
    console.print(output.Text(row["sentence"], style="bold"), soft_wrap=True)
    assumed = dict.fromkeys(row["assumed"], " (assumed)")
    lines = _likeness_lines(row)
    _print_pairs(((what, text + assumed.get(key, "")) for what, key, text in lines), console)
    console.print(f"To simulate it: {row['command']}", soft_wrap=True)
    if row["tells_more"]:
        console.print(f"What tells more: {row['tells_more']}", soft_wrap=True)


def _likeness_lines(row: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What is known: a heading, its key and the value in words."""
    from_c, cache_bytes = row["throttles_from_c"], row["cache_bytes"]
    hidden = "a temperature that it does not report"
    yield (
        "throttles from",
        "throttles_from_c",
        hidden if from_c is None else words.temp_text(from_c),
    )
    for heading in ("warning", "critical"):
        if (temp_c := row[f"{heading}_c"]) is not None:
            yield f"states as {heading}", f"{heading}_c", words.temp_text(temp_c)
    yield "write cache", "cache_bytes", words.size_text(cache_bytes) if cache_bytes else "none"
    behind = "writes behind it" if cache_bytes else "writes"
    yield behind, "flash_mb_s", words.rate_text(row["flash_mb_s"])


def print_places(places: Iterable[dict[str, Any]], console: output.Console) -> None:
    """Print the rows of ``heatsoak list places``."""
    table = output.table_of("Place", "Air", "What it is", "Conditions")
    for place in places:
        table.add_row(
            output.Text(place["id"], style="bold"),
            words.temp_text(place["air_c"]),
            output.Text(place["description"]),
            output.Text(words.labels_text(place["conditions"])),
        )
    console.print(table)
    console.print("A simulated drive goes there with --on sim:DRIVE@PLACE.")


def print_protocols(protocols: Iterable[dict[str, Any]], console: output.Console) -> None:
    """Print the rows of ``heatsoak list protocols``."""
    table = output.table_of("Protocol", "Takes", "Writes", "What it does")
    for protocol in protocols:
        takes = length_text(protocol) + (" plus replays" if protocol["unknown_steps"] else "")
        if protocol["recordings"] > 1:
            takes += f" x {protocol['recordings']} places"
        table.add_row(
            output.Text(protocol["name"], style="bold"),
            takes,
            "yes" if protocol["writes"] else "no",
            output.Text(protocol["description"]),
        )
    console.print(table)


#: What is said of a place or a protocol in full, by its key.
_IN_FULL = {
    "description": "what it is",
    "default_of": "usual place of",
    "conditions": "conditions",
    "steps": "steps",
    "sources": "sources",
}


def print_in_full(rows: Iterable[dict[str, Any]], console: output.Console) -> None:
    """Print all that is known of a place or a protocol."""
    for row in rows:
        told = {what: row[key] for key, what in _IN_FULL.items() if row.get(key)}
        told |= {f"score: {one['name']}": one["definition"] for one in row.get("scores", ())}
        if "duration_s" in row:
            told["writes"] = "yes" if row["writes"] else "no"
            told["takes"] = length_text(row)
            told["to run it"] = f"heatsoak run {row['name']} --on DRIVE"
        else:
            told["air"] = words.temp_text(row["air_c"])
            told["to use it"] = f"--on sim:DRIVE@{row['id']}, --place {row['id']}"
        console.print(output.Text(row.get("title") or row["id"], style="bold"), soft_wrap=True)
        _print_pairs(told.items(), console)


def _print_pairs(pairs: Iterable[tuple[str, Any]], console: output.Console) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    for heading, value in pairs:
        if isinstance(value, list):
            value = ", ".join(value)
        table.add_row(heading, words.labels_text(value) if isinstance(value, dict) else value)
    console.print(table)


def length_text(row: dict[str, Any]) -> str:
    """Return how long it takes: without drops and with rounds that are steady soon, and at most."""
    least, most = (
        words.duration_text(row[key]) for key in ("duration_without_probes_s", "duration_s")
    )
    if least == most:
        return least
    return f"{least} to {most}" if row["has_rounds"] else f"{least}, with all probes {most}"


_STATE_STYLES = {"ok": "green", "limited": "yellow", "missing": "red", "unneeded": "dim"}


def print_checkup(checkup: dict[str, Any], console: output.Console) -> None:
    """Print the document of ``heatsoak doctor --format json``."""
    console.print(output.Text(checkup["sentence"], style="bold"), soft_wrap=True)
    console.print()
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for _ in range(2):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for fact in checkup["facts"]:
        state = fact["state"]
        table.add_row(
            output.Text(fact["name"]), output.Text(state, style=_STATE_STYLES[state]), _told(fact)
        )
    console.print(table)
    if checkup["get_all"]:
        console.print()
        console.print("To get all that is missing:")
        for command in checkup["get_all"]:
            console.print(output.Text(f"  {command}"), soft_wrap=True)


def _told(fact: dict[str, Any]) -> RenderableType:
    if fact["state"] == "ok":
        return output.Text(fact["found"]).append(f": {fact['brings']}", style="dim")
    told = f"{fact['brings']}: {fact['found']}"
    # on a line of its own, to be copied
    return output.lines([told, fact["get"]]) if fact["get"] else output.Text(told)


_DIALECT = "https://json-schema.org/draft/2020-12/schema"


#: The names, the commands that print such a document, and its type, in brackets a list of it.
NAMES = {
    "advise": ("predict --cooling", "twin.advise:Advice"),
    "analyze": ("analyze", "analysis:Findings"),
    "compare": ("compare", "comparison:[ComparisonRow]"),
    "demo": ("demo, and its findings.json", "analysis:Findings"),
    "doctor": ("doctor", "doctor:Checkup"),
    "drives": ("list drives", "target.device:[DriveRow]"),
    "drives-alert": ("list drives NAME --alert json", "cli.listed:[AlarmRow]"),
    "drives-health": ("list drives --health", "analysis.health:[DriveHealth]"),
    "drives-like": ("list drives NAME", "cli.listed:LikenessRow"),
    "drives-restore": ("list drives --restore", "cli.listed:[RestoredRow]"),
    "export": ("export", "exporter:[Written]"),
    "fit": ("fit", "twin.twin:Twin"),
    "history": ("history", "history:History"),
    "import": ("import", "cli.convert:[ImportedRow]"),
    "places": ("list places", "cli.listed:[PlaceRow]"),
    "predict": ("predict", "twin.predict:Prediction"),
    "protocols": ("list protocols", "cli.listed:[ProtocolRow]"),
    "rack-drives": ("rack drives", "rack.state:[HostDrive]"),
    "rack-host": ("rack host start, status, go, stop and collect", "rack.host:HostReport"),
    "rack-report": ("rack report", "report.rack:RackReport"),
    "rack-run": ("rack run", "rack.state:RackFindings"),
    "rack-run-dry-run": ("rack run --dry-run", "rack.state:[PlannedTest]"),
    "report": ("report", "report.files:Reported"),
    "reproduce": ("lab reproduce, and its reproduce.json", "reproduce:[ReproductionRow]"),
    "run": ("run", "analysis:Findings"),
    "run-dry-run": ("run --dry-run", "bench.places:[PlannedRow]"),
    "sweep": ("sweep, and its sweep.json", "sweep:Sweep"),
    "trace-check": ("lab trace --check", "analysis.traces:TraceCheck"),
    "trace-stats": ("lab trace", "analysis.traces:TraceStatistics"),
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
        raise errors.UsageError(
            f"{name}: has no schema{errors.suggestion(name, NAMES)}: there are {', '.join(NAMES)}"
        )
    schema = TypeAdapter(_type_of(name)).json_schema(
        mode="serialization", schema_generator=_EveryKey
    )
    return {"$schema": _DIALECT, **schema, "title": f"heatsoak {NAMES[name][0]} --format json"}


def schema_command(
    name: str | None = common.argument(
        "NAME",
        "Whose schema to print; without it, list the names.",
        offers=lambda: list(NAMES),
        default=None,
    ),
    output_format: common.FormatOption = "text",
) -> None:
    """A schema is JSON whatever --format says. docs/json.md says what may change."""
    if name is not None:
        output.print_json(_schema_of(name))
    elif output_format == "json":
        output.print_json(
            [{"schema_version": 1, "name": key, "of": of} for key, (of, _) in NAMES.items()]
        )
    else:
        width = max(map(len, NAMES))
        for key, (of, _) in NAMES.items():
            output.print_out(f"{key:{width}}  heatsoak {of}")
