"""The commands by name; a command's module is imported when the command is run.

What most commands import takes several times as long as starting Python, and neither ``--help`` nor
another command should wait for it.
"""

import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typing_extensions import override

from heatsoak.errors import UsageError
from heatsoak.output import announce, print_out
from heatsoak.system import uninterrupted

#: What is printed without a command.
_QUESTIONS = (
    "heatsoak finds out whether a drive throttles, when, by how much, and why.",
    "",
    "What does a result look like?       heatsoak demo (a simulated drive, a minute)",
    "What can be tested here?            heatsoak doctor",
    "Does my drive throttle?             heatsoak run quick --on ~/ (two to four minutes)",
    "Does it while I work with it?       heatsoak watch /dev/nvme0n1",
    "I only have logs: did it throttle?  heatsoak analyze FILES",
    "",
    "Which drives are here?              heatsoak list",
    "What else can be run on a drive?    heatsoak list protocols",
    "What does a heatsink change?        heatsoak compare RECORDINGS --by heatsink",
    "What if it were hotter, or cooled?  heatsoak predict DRIVE --ambient 35",
    "How do I show it to others?         heatsoak report RECORDINGS -o report.html",
    "Is a drive slower than it was?      heatsoak history DIRECTORY",
    "Which drives of a rack differ?      heatsoak rack --help",
    "",
    "Real drives are tested on Linux; all else works on Windows and macOS too.",
    "heatsoak --help lists all commands, heatsoak COMMAND --help what one takes.",
)

#: Each command's module and help, whose first sentence is its line in `heatsoak --help`. In the
#: module it is the function NAME_command, or NAME_app for a group of commands.
COMMANDS = {
    "run": ("run", "Run a protocol on a drive, and judge what was recorded."),
    "watch": (
        "watch",
        "Watch a drive that something else loads, and judge what is seen. Ctrl-C ends it.\n\n"
        "The drive is neither loaded nor opened for writing.",
    ),
    "analyze": (
        "analyze",
        "Judge recordings or logs: did it throttle, when, by how much, and why.",
    ),
    "compare": ("analyze", "Compare recordings that differ in one condition."),
    "report": (
        "analyze",
        "Write a page with charts, a picture or a table of recordings or a sweep.",
    ),
    "predict": (
        "predict",
        "Predict whether a drive throttles under a workload: when, how far, how hot.\n\n"
        "With --cooling: how little cooling is enough, and what heatsinks would bring.",
    ),
    "fit": (
        "predict",
        "Fit a model of a drive in its places: its limit, and how it sheds heat.\n\n"
        "Recordings of one drive with the same conditions of cooling share a place.",
    ),
    "sweep": (
        "sweep",
        "Predict thousands of what-ifs: which throttle, and what cooling is enough for all.\n\n"
        "What is in the directory already is not run again.",
    ),
    "history": ("history", "Say whether drives have become slower, from years of recordings."),
    "rack": ("rack", "Run a protocol on the drives of many hosts, and compare the drives."),
    "list": (
        "overview",
        "List drives, with their sensors and what was found on them; places; or protocols.\n\n"
        "With a name behind that, say all that is known of the one.",
    ),
    "import": ("convert", "Convert other tools' logs to recordings; join those of the same time."),
    "export": ("convert", "Write recordings as CSV, Parquet, OpenMetrics, or fio-plot's logs."),
    "serve": ("serve", "Show recordings in a browser on this machine, running ones live."),
    "doctor": (
        "overview",
        "Say what can be tested here, what is missing for more, and how to get it.\n\n"
        "Nothing is changed, no drive is opened for writing, and none is sent a command.",
    ),
    "demo": ("run", "Run Puget's M.2 slots on the simulated 950 PRO, beside published figures."),
    "lab": ("commands", "Test heatsoak itself: its simulated drives, traces, and formats."),
}
#: What `heatsoak lab` has, alike.
LAB = {
    "reproduce": ("reproduce", "Compare the simulated drives with figures published of real ones."),
    "trace": ("trace", "Show statistics of an I/O trace, or make a synthetic one."),
    "nbd": ("serve", "Serve a simulated drive as an NBD export that keeps no data, until Ctrl-C."),
    "schema": (
        "overview",
        "Print the JSON Schema of what a command prints with --format json.\n\n"
        "A schema is JSON whatever --format says. docs/json.md says what may change.",
    ),
}
#: What commands were called until 0.5; they are understood until 0.7.
_RENAMED = {
    "advise": ("predict", "--cooling"),
    "drives": ("list", "drives"),
    "places": ("list", "places"),
    "protocols": ("list", "protocols"),
    **{name: ("lab", name) for name in LAB},
}
#: What their options were called: by the command's words, as they are now.
_RENAMED_OPTIONS = {
    ("predict",): {"--enclosure": "--place", "--fail-below": "--min-probability"},
    ("lab", "reproduce"): {"--fail-below": "--min-figures"},
    ("sweep",): {"--fail-below": "--min-share"},
    ("lab", "nbd"): {"--enclosure": "--place"},
}
#: What people try, and what they are looking for.
_MEANT = {
    "run": "test bench benchmark start load stress measure simulate",
    "analyze": "check judge analyse show read open detect throttle",
    "watch": "monitor log record top follow observe",
    "list": "ls info scan devices drive disks sensors enclosures",
    "report": "plot graph chart page html",
    "compare": "diff versus",
    "predict": "forecast cooling heatsink",
    "fit": "model learn twin",
    "import": "convert",
    "doctor": "setup status diagnose",
}
#: Commands that only a checkout has, in its `benches/heatsoak_dev`; `heatsoak --help` does not list
#: them.
_BENCHES = Path(__file__).parents[3] / "benches"
DEVELOPERS_COMMANDS = ("calibrate", "corpus") if (_BENCHES / "heatsoak_dev").is_dir() else ()


class LazyCommands(TyperGroup):
    """Commands of a table, imported only when they are run; listing them in help imports none."""

    table = COMMANDS

    def __init__(self, **settings: Any) -> None:
        """Take Typer's `settings`, which hold no commands."""
        super().__init__(**settings)
        self.commands = _Loaded(self.table)  # type: ignore[assignment]  # nothing adds to it

    @override
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        listed: Any = {name: TyperCommand(name, help=one[1]) for name, one in self.table.items()}
        TyperGroup(commands=listed).format_commands(ctx, formatter)


class LabCommands(LazyCommands):
    """The commands of `heatsoak lab`."""

    table = LAB


class Commands(LazyCommands):
    """All commands."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the words of the command line, none of which may be empty."""
        if not args and not ctx.resilient_parsing:  # which completion sets
            for line in _QUESTIONS:
                print_out(line)
            ctx.exit()
        _require_words(args)
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, _as_now(args))

    @override
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; one that is not there is told with what may be meant."""
        if not ctx.resilient_parsing and args[0] not in self.commands:
            listed = "heatsoak --help lists the commands"
            meant = [name for name, words in _MEANT.items() if args[0].lower() in words.split()]
            for name in (meant or get_close_matches(args[0], COMMANDS))[:1]:
                what, _, _ = COMMANDS[name][1].partition("\n")
                listed = f"heatsoak {name} may be what you look for ({what.rstrip('.')}); {listed}"
            raise UsageError(f"{args[0]}: is no command: {listed}")
        return super().resolve_command(ctx, args)


def _as_now(args: Sequence[str]) -> list[str]:
    """Return words in which commands and options have the names that they have now."""
    new = _RENAMED.get(args[0], ()) if args else ()
    now = [*new, *args[1:]] if new else list(args)
    if new:
        announce(f"heatsoak {args[0]} is now heatsoak {' '.join(new)}")
    if now[:1] == ["rack"] and "--scheduler" in now[:-1]:  # of Dask, which racks no longer need
        at = now.index("--scheduler")
        announce(f"--scheduler {now[at + 1]}: hosts are reached by --by now, ssh if it is left out")
        del now[at : at + 2]
    for words, options in _RENAMED_OPTIONS.items():
        for at, word in enumerate(now if tuple(now[: len(words)]) == words else ()):
            option, equals, value = word.partition("=")
            if option in options:
                now[at] = f"{options[option]}{equals}{value}"
                announce(f"{option} of {' '.join(words)} is now {options[option]}")
    return now


def _require_words(args: Sequence[str]) -> None:
    """Raise UsageError for an empty word.

    It is mostly a shell variable that is not set, and as a path it would mean this directory.
    """
    before = "heatsoak"
    for word in args:
        option, equals, value = word.partition("=")
        if not word:
            what = before if before.startswith("-") else f"the word after {before}"
        elif option.startswith("--") and equals and not value:
            what = option
        else:
            before = word
            continue
        raise UsageError(
            f"{what} is empty: is a shell variable not set? Give a value, or leave it out"
        )


class _Loaded(Mapping[str, Any]):
    """Typer's commands of a table, each imported when it is looked up."""

    def __init__(self, table: Mapping[str, tuple[str, str]]) -> None:
        self._table = table
        self._hidden = DEVELOPERS_COMMANDS if table is COMMANDS else ()

    def __getitem__(self, name: str) -> Any:
        app = typer.Typer(rich_markup_mode=None)
        if name in self._hidden:
            sys.path.insert(0, str(_BENCHES))
            module = _load(f"heatsoak_dev.commands.{name}")
            app.command(name, hidden=True)(getattr(module, f"{name}_command"))
            return typer.main.get_group(app).commands[name]
        in_module, words = self._table[name]
        if hasattr(module := _load(f"heatsoak.cli.{in_module}"), f"{name}_app"):
            app.add_typer(getattr(module, f"{name}_app"), name=name, help=words)
        else:
            app.command(name, help=words)(getattr(module, f"{name}_command"))
        return typer.main.get_group(app).commands[name]

    def __contains__(self, name: object) -> bool:
        return name in self._table or name in self._hidden

    def __iter__(self) -> Iterator[str]:
        return iter((*self._table, *self._hidden))

    def __len__(self) -> int:
        return len(self._table) + len(self._hidden)


def print_help_alone(context: typer.Context) -> None:
    """Print the help of a group of commands that was called without one."""
    if context.invoked_subcommand is None:
        for line in context.get_help().splitlines():
            print_out(line)


def _load(module: str) -> Any:
    """Import a command's module.

    Imported modules stay, so searching them for garbage, repeatedly during the imports and once
    more at exit, only costs time: a third of a short command's.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        with uninterrupted():
            return import_module(module)
    finally:
        gc.freeze()
        if collects:
            gc.enable()


lab_app = typer.Typer(cls=LabCommands, callback=print_help_alone, invoke_without_command=True)
