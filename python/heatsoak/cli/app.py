"""The commands, and what becomes of their errors."""

import contextlib
import signal
import sys
from typing import Annotated

import typer

import heatsoak
from heatsoak.cli import (
    analyze,
    calibrate,
    compare,
    corpus,
    demo,
    drives,
    export,
    import_logs,
    protocols,
    report,
    reproduce,
    run,
    serve,
    trace,
    watch,
)
from heatsoak.errors import HeatsoakError

app = typer.Typer(
    help="Finds out whether a drive throttles, when, by how much, and why.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for module in (
    demo,
    drives,
    protocols,
    run,
    watch,
    analyze,
    compare,
    report,
    import_logs,
    export,
    reproduce,
    calibrate,
    corpus,
    trace,
    serve,
):
    module.add_to(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"heatsoak {heatsoak.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Find out whether a drive throttles, when, by how much, and why."""


def main() -> None:
    """Run the command line; every error that a user can cause is one line and an exit code."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _interrupt)
    try:
        code = app(standalone_mode=False, prog_name="heatsoak")
    except HeatsoakError as error:
        _say(str(error))
        code = error.exit_code
    except typer.exceptions.TyperException as error:
        # the parser's own complaints: which word of the command line, and what it should be
        _say(getattr(error, "format_message", error.__str__)())
        code = 2
    except (KeyboardInterrupt, typer.Abort):
        _say("interrupted")
        code = 130
    except BrokenPipeError:
        # whoever read our output has gone; nothing more can be said to them
        with contextlib.suppress(OSError):
            sys.stdout.close()
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


def _say(text: str) -> None:
    print(f"heatsoak: {' '.join(text.split())}", file=sys.stderr)


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt
