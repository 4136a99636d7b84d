"""``heatsoak serve``: past and running recordings in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from heatsoak.cli.common import console


def serve_command(
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Recordings below it are shown, and nothing else."),
    ] = Path(),
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="On 127.0.0.1; 0 takes any free one.")
    ] = 8950,
) -> None:
    """Show past and running recordings in a browser on this machine, the running ones live."""
    # a web server is nothing that other commands should have to load
    from heatsoak.serve import serve

    def ready(address: str) -> None:
        # an address that a line's end divides cannot be clicked
        console().print(f"{address} shows the recordings below {directory}", soft_wrap=True)
        console().print("Ctrl-C ends it", soft_wrap=True)

    serve(directory, port, ready)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve")(serve_command)
