"""The commands, and how their errors are reported."""

import errno
import io
import os
import re
import select
import signal
import sys
import threading
from typing import Annotated, TextIO

import typer

import heatsoak
from heatsoak import errors
from heatsoak.cli.commands import Commands
from heatsoak.cli.completion import whole_words_in_bash
from heatsoak.output import announce, print_err, print_out
from heatsoak.system import STOP_SIGNALS, is_console

#: Characters of an unexpected error's message that are shown; the details have the rest.
_MAX_SAID = 300

app = typer.Typer(
    cls=Commands,
    help="Finds out whether a drive throttles, when, by how much, and why.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print_out(f"heatsoak {heatsoak.__version__}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", "-v", callback=_show_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Find out whether a drive throttles, when, by how much, and why."""


def main() -> None:
    """Run the command line, and exit."""
    output = _take_standard_streams()
    try:
        run = whole_words_in_bash(_run)
        code = run()
        _flush()
        if output is not None and output.error is not None and output.error.errno != errno.EPIPE:
            announce(f"standard output: cannot be written: {output.error.strerror}")
            code = errors.ToolError.exit_code
    except KeyboardInterrupt:
        code = errors.RunInterrupted.exit_code  # Ctrl-C again, while the first was being reported
    # everything is saved: another Ctrl-C must not change the exit code
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    sys.exit(code)


def _run() -> int:
    """Run the command; every error becomes one line and an exit code."""
    sys.unraisablehook = _stop_again
    for number in STOP_SIGNALS[1:]:
        # a signal ignored by nohup stays ignored: the run is meant to outlive its terminal
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        code = app(standalone_mode=False, prog_name="heatsoak")
        if code == errors.RunInterrupted.exit_code:  # which is all that the parser makes of Ctrl-C
            announce("interrupted")
    except errors.HeatsoakError as error:
        announce(str(error))
        code = error.exit_code
    except typer.exceptions.TyperException as error:
        # the parser's own errors: which argument is wrong, and what it should be
        announce(_said_of(error))
        code = errors.UsageError.exit_code
    except (KeyboardInterrupt, typer.Abort):  # before the parser, or at a question
        announce("interrupted")
        code = errors.RunInterrupted.exit_code
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        code = 0  # our output's reader has gone away, which the parser turns into an exit
    except OSError as error:
        # not handled by the command: an impossible name, a directory without permission
        ours = errors.of_os_error(error)
        announce(str(ours))
        code = ours.exit_code
    except BaseException as error:  # a panic in polars is not an Exception
        if errors.is_stop(error):
            announce("interrupted")
            code = errors.RunInterrupted.exit_code
        else:
            announce(_internal_error(error))
            code = errors.HeatsoakError.exit_code
    return code if isinstance(code, int) else 0


#: What the parser says of a number, without the word that was given.
_WRONG = re.compile(r"Input should be (?:a valid (number|integer), unable .*|(.*))")
#: What is right where people try an option that other commands have.
_INSTEAD_OF = dict.fromkeys(
    ("--place", "--enclosure"), "a simulated drive's place goes behind its name: sim:DRIVE@PLACE"
)
_TOO_MANY = re.compile(r"Got unexpected extra argument\S* \((.*)\)")


def _said_of(error: typer.exceptions.TyperException) -> str:
    """Return what the parser says, with the word that is wrong, and what would be right."""
    said: str = getattr(error, "format_message", error.__str__)()
    context = getattr(error, "ctx", None)
    if context is not None and (extra := _TOO_MANY.match(said)) is not None:
        usage = " ".join(context.get_usage().removeprefix("Usage:").split())
        many = "is one word" if " " not in extra[1] else "are words"
        return f"'{extra[1]}' {many} too many: {usage}"
    if context is not None and said.startswith("Missing"):
        said = f"{said.rstrip('.')}: {context.command_path} --help says what it takes"
    if context is not None and hasattr(error, "option_name"):
        said = f"{said.rstrip('.')}: {context.command_path} --help-all lists its options"
    name = getattr(error, "option_name", "")
    if (hint := _INSTEAD_OF.get(name)) is not None:
        said = f"{name}: {hint}"
    options = getattr(getattr(error, "param", None), "opts", ())
    wrong = _WRONG.search(said)
    for word, after in zip(sys.argv, [*sys.argv[1:], ""], strict=True):
        option, equals, value = word.partition("=")
        if option in options and wrong is not None:
            right = {"number": "is not a number", "integer": "is not a whole number"}
            why = right.get(wrong[1], f"is not {wrong[2]}")
            said = f"{said[: wrong.start()]}'{value if equals else after}' {why}"
    return errors.without_prefix(said)


def _internal_error(error: BaseException) -> str:
    """Return the message for a bug in heatsoak, having written the traceback to a file."""
    import platform  # none of these for a command that works
    import tempfile
    import traceback

    what = f"internal error: {type(error).__name__}: {str(error)[:_MAX_SAID]}"
    trace = "".join(traceback.format_exception(error))
    if os.environ.get("HEATSOAK_DEBUG"):
        for line in trace.splitlines():
            print_err(line)
        return f"{what}: please report it with the traceback above"
    details = (
        f"heatsoak {heatsoak.__version__}, Python {platform.python_version()}, "
        f"{platform.platform()}\n{sys.argv[1:]}\n\n{trace}"
    )
    try:
        number, name = tempfile.mkstemp(prefix="heatsoak-fault-", suffix=".txt")
        with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(details)
    except OSError:
        return f"{what}: please report it with the output of HEATSOAK_DEBUG=1"
    return f"{what}: please report it with the details in {name}"


class _Stopped(KeyboardInterrupt):
    """Another signal than Ctrl-C stops the command.

    Not KeyboardInterrupt itself: where Python sees that leave code which it was given as text (as
    dataclasses are made), it ends the process as if by Ctrl-C, whatever became of it.
    """


def _interrupt(_number: int, _frame: object) -> None:
    raise _Stopped


def _stop_again(lost: "sys.UnraisableHookArgs", /) -> None:
    """Stop again where Python dropped a stop, as it drops every error in a callback of its own.

    From a thread, since an error that is raised here is dropped too.
    """
    if isinstance(lost.exc_value, KeyboardInterrupt):
        again = threading.Timer(0.01, signal.raise_signal, [signal.SIGTERM])
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(lost)


class _Stream(io.FileIO):
    """Standard output or error; if writing fails, the command continues without it.

    Attributes:
        error: the first failed write; everything after it is discarded.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)
        self.error: OSError | None = None

    def write(self, data: object) -> int:
        """Write or discard; return the number of bytes taken."""
        size = memoryview(data).nbytes  # type: ignore[arg-type]
        while self.error is None:
            try:
                written = super().write(data)  # type: ignore[arg-type]
            except OSError as error:
                self.error = error
                break
            if written is not None:
                return written
            select.select([], [self], [])  # non-blocking, and full
        return size


def _take_standard_streams() -> _Stream | None:
    """Keep working when the reader of standard output or error is gone; return the output's stream.

    A closed descriptor (``>&-``) is replaced by the null device: otherwise the next opened file
    would get its number, and our output. Streams that somebody has replaced are left alone.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            os.dup2(opened, number)  # inherited by child processes
            if opened != number:
                os.close(opened)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0)
    if sys.stderr is sys.__stderr__:
        sys.stderr, _ = _lasting(2, sys.stderr)
    if sys.stdout is not sys.__stdout__:
        return None
    sys.stdout, output = _lasting(1, sys.stdout)
    return output


def _lasting(number: int, before: TextIO | None) -> tuple[TextIO, _Stream | None]:
    if before is not None and is_console(before):
        return before, None
    stream = _Stream(number)
    text = io.TextIOWrapper(
        io.BufferedWriter(stream),
        encoding=before.encoding if before is not None else "utf-8",
        # a file name that is not UTF-8 is shown as in JSON
        errors="backslashreplace",
        line_buffering=number == 2 or stream.isatty(),
    )
    return text, stream


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
