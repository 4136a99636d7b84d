"""``heatsoak serve`` and ``nbd``: what serves until Ctrl-C: a page, and a drive for a real fio."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

from heatsoak import catalog, system
from heatsoak.cli import common, completion
from heatsoak.errors import UsageError
from heatsoak.output import print_out
from heatsoak.units import MB, parse_rate_mb_s
from heatsoak.words import number_text, size_text

if TYPE_CHECKING:
    from heatsoak.nbd import Export


_PORT = 8950


def serve_command(
    directory: Path = common.argument(
        "DIR", "Show the recordings below this directory.", default=Path()
    ),
    port: int | None = common.option(
        "",
        "Port on 127.0.0.1, 8950 if not given; 0 for any free one.",
        min=0,
        max=65535,
        default=None,
    ),
    socket: Path | None = common.option(
        "PATH",
        "Serve on a new Unix socket of yours alone, not on a port.",
        is_rare=True,
        default=None,
    ),
    token_file: Path | None = common.option(
        "FILE",
        "Ask for the token in this file, or HEATSOAK_TOKEN, not a new one.",
        is_rare=True,
        default=None,
    ),
) -> None:
    # other commands should not have to load a web server
    from heatsoak.serve import access, serve

    if socket is not None and port is not None:
        raise UsageError("--socket and --port: choose one of them")
    token = access.given_token(token_file)
    whose = (
        "" if token is None else f", to whoever has the token in {token_file or access.VARIABLE}"
    )

    def ready(address: str) -> None:
        # an address that wraps cannot be clicked
        common.console().print(
            f"{address} shows the recordings below {directory}{whose}", soft_wrap=True
        )
        common.console().print("press Ctrl-C to stop", soft_wrap=True)

    serve(directory, socket or (_PORT if port is None else port), token, ready)


def nbd_command(
    drive: Annotated[
        str,
        common.argument(
            "DRIVE", "A simulated drive's id, or its TOML file.", offers=completion.simulated
        ),
    ],
    socket: Annotated[Path, common.option("PATH", "Unix socket to serve on.")],
    place: str | None = common.option(
        "PLACE",
        "A place's name (heatsoak list places), or its TOML file.",
        offers=completion.enclosures,
        default=None,
    ),
    speed_mb_s: float | None = common.option(
        "--speed RATE", "Maximum throughput: 200MB/s.", reads=parse_rate_mb_s, default=None
    ),
    time_factor: float = common.option("F", "Time-acceleration factor.", default=1.0),
    sensors: Path | None = common.option(
        "DIR", "New directory for its sensors and true state.", default=None
    ),
) -> int:
    """It keeps no data: reads return zeros."""
    system.require_linux("heatsoak lab nbd")
    # only needed here, and not available on every system
    from heatsoak.nbd import Export, serve_export

    name, _, behind = drive.removeprefix("sim:").partition("@")
    spec = catalog.load_drive(name)
    export = Export(
        spec,
        catalog.load_enclosure(place or behind or spec.enclosure),
        speed_mb_s=speed_mb_s,
        time_factor=time_factor,
    )

    def ready() -> None:
        for line in _greeting(export, socket, sensors):
            print_out(line)

    serve_export(export, socket, sensors, ready)
    return 0


def _greeting(export: "Export", socket: Path, sensors: Path | None) -> list[str]:
    speed_mb_s = export.top_mb_s * export.speed_share * export.time_factor
    share = f", {number_text(export.speed_share)} of its speed" if export.speed_share < 1 else ""
    uri = f"nbd+unix:///?socket={quote(bytes(socket.absolute()))}"
    option = "" if sensors is None else f" --sensors {shlex.quote(str(sensors))}"
    lines = [
        f"{export.drive.model} in {export.enclosure.id}, up to {size_text(speed_mb_s * MB)}/s"
        f"{share}; it keeps no data: reads return zeros",
        f"load it with: heatsoak run quick --on '{uri}'{option}",
        "press Ctrl-C to stop",
    ]
    if export.speed_mb_s is None:
        lines.insert(
            1, "an export cannot keep up with a fast drive: --speed scales it and its heat"
        )
    return lines
