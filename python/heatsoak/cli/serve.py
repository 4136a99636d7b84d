"""``heatsoak serve``: show past and running recordings in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from heatsoak.cli.common import console


def serve_command(
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Show the recordings below this directory."),
    ] = Path(),
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port on 127.0.0.1; 0 for any free one.")
    ] = 8950,
) -> None:
    """Show recordings in a browser on this machine, running ones live."""
    # other commands should not have to load a web server
    from heatsoak.serve import serve

    def ready(address: str) -> None:
        # an address that wraps cannot be clicked
        console().print(f"{address} shows the recordings below {directory}", soft_wrap=True)
        console().print("press Ctrl-C to stop", soft_wrap=True)

    serve(directory, port, ready)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve")(serve_command)
