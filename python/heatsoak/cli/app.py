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
    nbd,
    protocols,
    report,
    reproduce,
    run,
    serve,
    trace,
    watch,
)
from heatsoak.errors import HeatsoakError
from heatsoak.output import announce, print_out

#: What ends a command as Ctrl-C does: itself, a shutdown, and a terminal that is closed.
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")

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
    nbd,
):
    module.add_to(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        print_out(f"heatsoak {heatsoak.__version__}")
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
    """Run the command line, and exit."""
    try:
        code = _run()
    except KeyboardInterrupt:
        code = 130  # once more, while it was said
    # all is kept: one more Ctrl-C must not make another exit code of it
    for name in _ENDING:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    sys.exit(code)


def _run() -> int:
    """Run it; every error that a user can cause is one line and an exit code."""
    for name in _ENDING[1:]:
        number = getattr(signal, name, None)
        # what nohup has us ignore stays ignored: the run is to outlive its terminal
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
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
    return code if isinstance(code, int) else 0


def _say(text: str) -> None:
    announce(text)


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt
