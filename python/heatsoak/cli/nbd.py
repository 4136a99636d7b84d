"""``heatsoak nbd``: a simulated drive that a real fio can load."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from heatsoak import catalog
from heatsoak.errors import UsageError
from heatsoak.output import print_out
from heatsoak.units import MB, format_bytes, parse_size

if TYPE_CHECKING:
    from heatsoak.nbd import Export


def nbd_command(
    drive: Annotated[
        str, typer.Argument(metavar="DRIVE", help="A simulated drive's id, or its TOML file.")
    ],
    socket: Annotated[
        Path, typer.Option("--socket", metavar="PATH", help="The unix socket to serve it on.")
    ],
    enclosure: Annotated[
        str | None,
        typer.Option("--enclosure", metavar="PLACE", help="The place that it is in, or a file."),
    ] = None,
    speed: Annotated[
        str | None,
        typer.Option(
            metavar="RATE", help="Slow it to at most so many bytes a second: 200MB, 200MiB."
        ),
    ] = None,
    time_factor: Annotated[
        float, typer.Option(metavar="F", help="Let its time pass so many times as fast.")
    ] = 1.0,
    sensors: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A new directory for its sensors and its own truth."),
    ] = None,
) -> int:
    """Serve a simulated drive as an NBD export; it keeps no data. Ctrl-C ends it."""
    # nobody else needs it, and it is not for every system
    from heatsoak.nbd import Export, serve_export

    name, _, place = drive.removeprefix("sim:").partition("@")
    made = catalog.load_drive(name)
    export = Export(
        made,
        catalog.load_enclosure(enclosure or place or made.enclosure),
        speed_mb_s=None if speed is None else _rate_mb_s(speed),
        time_factor=time_factor,
    )

    def ready() -> None:
        for line in _greeting(export, socket, sensors):
            print_out(line)

    serve_export(export, socket, sensors, ready)
    return 0


def _rate_mb_s(text: str) -> float:
    try:
        return parse_size(text.removesuffix("/s")) / MB
    except ValueError:
        raise UsageError(f"--speed {text}: is no rate, such as 200MB, 200MB/s or 200M") from None


def _greeting(export: "Export", socket: Path, sensors: Path | None) -> list[str]:
    speed_mb_s = export.top_mb_s * export.speed_share * export.time_factor
    share = f", {export.speed_share:.3g} of its speed" if export.speed_share < 1 else ""
    uri = f"nbd+unix:///?socket={quote(bytes(socket.absolute()))}"
    told = "" if sensors is None else f" --sensors {shlex.quote(str(sensors))}"
    lines = [
        f"{export.drive.model} in {export.enclosure.id}, up to {format_bytes(speed_mb_s * MB)}/s"
        f"{share}; it keeps no data: reads give zeros",
        f"load it with: heatsoak run quick --on '{uri}'{told}",
        "Ctrl-C ends it",
    ]
    if export.speed_mb_s is None:
        lines.insert(1, "no export is as fast as a fast drive: --speed slows it and its heat alike")
    return lines


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("nbd")(nbd_command)
