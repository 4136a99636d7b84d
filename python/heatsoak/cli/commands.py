"""The commands by name; a command's module is imported when the command is run.

What most commands import takes several times as long as starting Python, and neither ``--help`` nor
another command should wait for it.
"""

import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typing_extensions import override

from heatsoak.errors import UsageError
from heatsoak.output import print_out
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
    "Which drives are here?              heatsoak drives",
    "What else can be run on a drive?    heatsoak protocols",
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
    "demo": (
        "run",
        "Run Puget's matrix of M.2 slots on the simulated 950 PRO, published figures beside it.",
    ),
    "doctor": (
        "overview",
        "Say what can be tested here, what is missing for more, and how to get it.\n\n"
        "Nothing is changed, no drive is opened for writing, and none is sent a command.",
    ),
    "drives": (
        "overview",
        "List real and simulated drives, with their sensors and what was found on them.",
    ),
    "places": (
        "overview",
        "List the places that a simulated drive can be in: slots, benches, heatsinks, fans.",
    ),
    "protocols": ("overview", "List the bundled protocols and how long they take."),
    "run": ("run", "Run a protocol on a drive, and judge what was recorded."),
    "watch": (
        "watch",
        "Watch a drive that something else loads, and judge what is seen. Ctrl-C ends it.\n\n"
        "The drive is neither loaded nor opened for writing.",
    ),
    "analyze": (
        "analyze",
        "Judge recordings or logs: did the drive throttle, when, by how much, and why.",
    ),
    "compare": ("analyze", "Compare recordings that differ in one condition."),
    "history": (
        "history",
        "Say whether drives are slower than they were, from years of recordings.",
    ),
    "fit": (
        "predict",
        "Fit a model of a drive in its places: its limit, and how it sheds heat.\n\n"
        "Recordings of one drive with the same conditions of cooling share a place.",
    ),
    "advise": (
        "predict",
        "Say how little cooling keeps a workload at full speed, and what heatsinks would bring.",
    ),
    "predict": (
        "predict",
        "Predict whether a drive throttles under a workload: when, how far, how hot.",
    ),
    "sweep": (
        "sweep",
        "Predict thousands of what-ifs: which throttle, and what cooling is enough for all.\n\n"
        "What is in the directory already is not run again.",
    ),
    "rack": ("rack", "Run a protocol on the drives of many hosts, and compare the drives."),
    "report": (
        "analyze",
        "Write a report on recordings, logs or a sweep: a page with charts, a picture or a table.",
    ),
    "import": (
        "convert",
        "Convert other tools' logs to recordings; logs of the same time are joined.",
    ),
    "export": (
        "convert",
        "Write recordings as CSV, Parquet, OpenMetrics text, or logs for fio-plot.",
    ),
    "reproduce": (
        "reproduce",
        "Compare the simulated drives with every published figure of the real ones.",
    ),
    "serve": ("serve", "Show recordings in a browser on this machine, running ones live."),
    "nbd": ("serve", "Serve a simulated drive as an NBD export that keeps no data, until Ctrl-C."),
    "schema": (
        "overview",
        "Print the JSON Schema of what a command prints with --format json.\n\n"
        "A schema is JSON whatever --format says. docs/json.md says what may change.",
    ),
    "trace": ("trace", "Show statistics of an I/O trace, or make a synthetic one."),
}
#: Commands that only a checkout has, in its `benches/heatsoak_dev`; `heatsoak --help` does not list
#: them.
_BENCHES = Path(__file__).parents[3] / "benches"
DEVELOPERS_COMMANDS = ("calibrate", "corpus") if (_BENCHES / "heatsoak_dev").is_dir() else ()


class Commands(TyperGroup):
    """All commands, imported only when they are run; listing them in help imports none."""

    def __init__(self, **settings: Any) -> None:
        """Take Typer's `settings`, which hold no commands."""
        super().__init__(**settings)
        self.commands = _Loaded()  # type: ignore[assignment]  # nothing adds to it

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
        return super().parse_args(ctx, args)

    @override
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        listed: Any = {name: TyperCommand(name, help=what) for name, (_, what) in COMMANDS.items()}
        TyperGroup(commands=listed).format_commands(ctx, formatter)


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
    """Typer's commands, each imported when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        app = typer.Typer(rich_markup_mode=None)
        if name in DEVELOPERS_COMMANDS:
            sys.path.insert(0, str(_BENCHES))
            module = _load(f"heatsoak_dev.commands.{name}")
            app.command(name, hidden=True)(getattr(module, f"{name}_command"))
        else:
            in_module, words = COMMANDS[name]
            module = _load(f"heatsoak.cli.{in_module}")
            if hasattr(module, f"{name}_app"):
                app.add_typer(getattr(module, f"{name}_app"), name=name, help=words)
            else:
                app.command(name, help=words)(getattr(module, f"{name}_command"))
        return typer.main.get_group(app).commands[name]

    def __contains__(self, name: object) -> bool:
        return name in COMMANDS or name in DEVELOPERS_COMMANDS

    def __iter__(self) -> Iterator[str]:
        return iter((*COMMANDS, *DEVELOPERS_COMMANDS))

    def __len__(self) -> int:
        return len(COMMANDS) + len(DEVELOPERS_COMMANDS)


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
