"""The commands, and what becomes of their errors."""

import errno
import io
import os
import platform
import select
import signal
import sys
import tempfile
import traceback
from typing import Annotated, TextIO

import typer

import heatsoak
from heatsoak.cli.commands import Commands
from heatsoak.errors import HeatsoakError, ToolError, UsageError
from heatsoak.output import announce, print_err, print_out

#: What ends a command as Ctrl-C does: itself, a shutdown, and a terminal that is closed.
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")
#: The system's errors where a file that was named is not what it should be.
_WRONG_FILE = {
    *(errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP),
    errno.EACCES,
}
#: Characters of an unforeseen error's own words; the rest is in the details.
_MOST_SAID = 300

app = typer.Typer(
    cls=Commands,
    help="Finds out whether a drive throttles, when, by how much, and why.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


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
    output = _take_standard_streams()
    try:
        code = _run()
        _flush()
        if output is not None and output.error is not None and output.error.errno != errno.EPIPE:
            announce(f"standard output: cannot be written: {output.error.strerror}")
            code = ToolError.exit_code
    except KeyboardInterrupt:
        code = 130  # once more, while it was said
    # all is kept: one more Ctrl-C must not make another exit code of it
    for name in _ENDING:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    sys.exit(code)


def _run() -> int:
    """Run it; every error is one line and an exit code."""
    for name in _ENDING[1:]:
        number = getattr(signal, name, None)
        # what nohup has us ignore stays ignored: the run is to outlive its terminal
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        code = app(standalone_mode=False, prog_name="heatsoak")
    except HeatsoakError as error:
        announce(str(error))
        code = error.exit_code
    except typer.exceptions.TyperException as error:
        # the parser's own complaints: which word of the command line, and what it should be
        announce(getattr(error, "format_message", error.__str__)())
        code = UsageError.exit_code
    except (KeyboardInterrupt, typer.Abort):
        announce("interrupted")
        code = 130
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        code = 0  # whoever read our output has gone, of which the parser makes an end of its own
    except OSError as error:
        # what no command had words for: a name that cannot be, a directory without permission
        place = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        announce(f"{place}{error.strerror or error}")
        code = (UsageError if error.errno in _WRONG_FILE else ToolError).exit_code
    except BaseException as error:  # a panic in polars is no Exception
        announce(_fault(error))
        code = HeatsoakError.exit_code
    return code if isinstance(code, int) else 0


def _fault(error: BaseException) -> str:
    """Say that heatsoak itself is at fault, and where the traceback has been written."""
    what = f"a fault in heatsoak itself: {type(error).__name__}: {str(error)[:_MOST_SAID]}"
    trace = "".join(traceback.format_exception(error))
    if os.environ.get("HEATSOAK_DEBUG"):
        for line in trace.splitlines():
            print_err(line)
        return f"{what}: please report it with the traceback above"
    told = (
        f"heatsoak {heatsoak.__version__}, Python {platform.python_version()}, "
        f"{platform.platform()}\n{sys.argv[1:]}\n\n{trace}"
    )
    try:
        number, name = tempfile.mkstemp(prefix="heatsoak-fault-", suffix=".txt")
        with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(told)
    except OSError:
        return f"{what}: please report it with what HEATSOAK_DEBUG=1 prints"
    return f"{what}: please report it with the details in {name}"


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


class _Stream(io.FileIO):
    """Standard output or error, which may stop taking anything: what was begun goes on without it.

    Attributes:
        error: why nothing more is written; what comes after it is thrown away.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)
        self.error: OSError | None = None

    def write(self, data: object) -> int:
        """Write, or throw away; return how many bytes were taken."""
        size = memoryview(data).nbytes  # type: ignore[arg-type]
        while self.error is None:
            try:
                written = super().write(data)  # type: ignore[arg-type]
            except OSError as error:
                self.error = error
                break
            if written is not None:
                return written
            select.select([], [self], [])  # somebody made it non-blocking, and it is full
        return size


def _take_standard_streams() -> _Stream | None:
    """Make standard output and error outlast whoever reads them; return the output's stream.

    Where a descriptor is closed (``>&-``) the null device takes its place, or the next file that
    is opened would, and be written over. Streams that somebody else has put there stay as they are.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            os.dup2(opened, number)  # which children have too
            if opened != number:
                os.close(opened)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0)
    if sys.stderr is sys.__stderr__:
        sys.stderr, _ = _outlasting(2, sys.stderr)
    if sys.stdout is not sys.__stdout__:
        return None
    sys.stdout, output = _outlasting(1, sys.stdout)
    return output


def _outlasting(number: int, before: TextIO | None) -> tuple[TextIO, _Stream]:
    stream = _Stream(number)
    text = io.TextIOWrapper(
        io.BufferedWriter(stream),
        encoding=before.encoding if before is not None else "utf-8",
        # a name that is no UTF-8 is shown as JSON would write it
        errors="backslashreplace",
        line_buffering=number == 2 or stream.isatty(),
    )
    return text, stream


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
