"""The commands by name; a command's module is imported when the command is run.

What most commands import takes several times as long as starting Python, and neither ``--help`` nor
another command should wait for it.
"""

import gc
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_args, get_type_hints

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


#: Commands under a heading each: a command's module of `heatsoak.cli`, where it is the function
#: NAME_command, or the commands below it; and what it does, to which the function's docstring adds.
#: Help does not list those without a heading.
Table = Mapping[str, Mapping[str, tuple[Any, str]]]

_HOST: Table = {
    "Commands": {
        "start": ("rack_host", "Start a protocol on drives of this host, once."),
        "status": ("rack_host", "Say where the tests of a run stand."),
        "go": ("rack_host", "Let the tests begin that wait for the whole rack."),
        "stop": ("rack_host", "Stop the tests of a run as Ctrl-C would, and let none begin."),
        "collect": ("rack_host", "Give what the tests that have ended recorded."),
        "metrics": ("rack_host", "Write where tests stand and what drives do, for Prometheus."),
    },
    "": {"make": ("rack_host", "Start the tests that `rack run` gives as JSON.")},
}
_RACK: Table = {
    "Commands": {
        "run": ("rack", "Run a protocol on each drive of a rack, and collect recordings."),
        "report": ("rack", "Say which drives pass, which differ, and what the place does."),
        "stop": ("rack", "Stop the tests of a run as Ctrl-C would, and let none begin."),
        "drives": ("rack", "List the drives of all hosts, and what was found on them."),
        "host": (_HOST, "Start, follow and collect the tests of this host."),
    },
    "": {"perform": ("rack", "Run a test that this host keeps.")},
}
_LAB: Table = {
    "Commands": {
        "reproduce": ("reproduce", "Compare simulated drives with figures published of real ones."),
        "trace": ("trace", "Show statistics of an I/O trace, or make a synthetic one."),
        "nbd": ("serve", "Serve a simulated drive as an NBD export, until Ctrl-C."),
        "schema": ("overview", "Print the JSON Schema of what a command prints as JSON."),
    },
}
COMMANDS: Table = {
    "Test drives": {
        "run": ("run", "Run a protocol on a drive, and judge what was recorded."),
        "watch": ("watch", "Watch a drive that something else loads, and judge what is seen."),
        "rack": (_RACK, "Run a protocol on the drives of many hosts, and compare the drives."),
        "list": ("overview", "List drives, places or protocols, or tell all of one of them."),
        "doctor": ("overview", "Say what can be tested here, what is missing, and how to get it."),
    },
    "Judge what was recorded": {
        "analyze": (
            "analyze",
            "Judge recordings or logs: did it throttle, when, how far, and why.",
        ),
        "compare": ("analyze", "Compare recordings that differ in one condition."),
        "report": ("analyze", "Write a page, a picture or a table of recordings or a sweep."),
        "history": ("history", "Say whether drives have become slower, from years of recordings."),
        "serve": ("serve", "Show recordings in a browser on this machine, running ones live."),
    },
    "Predict": {
        "predict": ("predict", "Predict whether a drive throttles, when, how far, and how hot."),
        "fit": ("predict", "Fit a model of a drive: its limit, and how it sheds heat."),
        "sweep": ("sweep", "Predict thousands of what-ifs, and what cooling is enough for all."),
    },
    "Other tools": {
        "import": ("convert", "Convert other tools' logs to recordings, joined by their time."),
        "export": ("convert", "Write recordings as CSV, Parquet, OpenMetrics, or fio-plot's logs."),
    },
    "heatsoak itself": {
        "demo": ("run", "Run Puget's M.2 slots on a simulated 950 PRO, beside their figures."),
        "lab": (_LAB, "Test heatsoak itself: its simulated drives, traces, and formats."),
    },
}
#: What commands were called until 0.5, as they are now; they are understood until 0.7.
_RENAMED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("advise",): ("predict", "--cooling"),
    **{(what,): ("list", what) for what in ("drives", "places", "protocols")},
    **{(name,): ("lab", name) for name in _LAB["Commands"]},
    ("lab", "trace", "stats"): ("lab", "trace"),
    ("lab", "trace", "make"): ("lab", "trace"),
    ("lab", "trace", "check"): ("lab", "trace", "--check"),
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


#: The heading above what few people need, which only ``--help-all`` shows.
RARE = "Rarely needed"


class Command(TyperCommand):
    """A command whose help has its options in panels."""

    @override
    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, and the names of those that ``--help-all`` shows."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        left: list[str] = []
        for one in self.get_params(ctx):
            is_option = one.param_type_name == "option"
            panel = getattr(one, "rich_help_panel", None) or "Options" if is_option else "Arguments"
            if (shown := one.get_help_record(ctx)) is None:
                continue
            if panel == RARE and not ctx.meta.get(RARE):
                left.append(max(one.opts, key=len))
            else:
                panels.setdefault(panel, []).append(shown)
        for panel, rows in panels.items():
            if rows:
                with formatter.section(panel):
                    formatter.write_dl(rows)
        self.epilog = f"--help-all also shows {', '.join(left)}." if left else None


class CommandGroup(TyperGroup):
    """Commands of a table, imported only when they are run; listing them in help imports none."""

    table: ClassVar[Table] = {}

    def __init__(self, **settings: Any) -> None:
        """Take Typer's `settings`, which hold no commands."""
        super().__init__(**settings)
        self.commands = _Loaded(self.table)  # type: ignore[assignment]  # nothing adds to it

    @override
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands, by what they are for."""
        listed = {panel: rows for panel, rows in self.table.items() if panel}
        width = max(len(name) for rows in listed.values() for name in rows)
        for panel, rows in listed.items():
            with formatter.section(panel):
                formatter.write_dl([(name.ljust(width), what) for name, (_, what) in rows.items()])

    @override
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; one that is not there is told with what may be meant."""
        if not ctx.resilient_parsing and args[0] not in self.commands:
            rows = self.commands.rows  # type: ignore[attr-defined]
            above = ctx.command_path
            said = f"{above} --help lists the commands"
            meant = [name for name, words in _MEANT.items() if args[0].lower() in words.split()]
            for name in ([one for one in meant if one in rows] or get_close_matches(args[0], rows))[
                :1
            ]:
                what = rows[name][1].rstrip(".")
                said = f"{above} {name} may be what you look for ({what}); {said}"
            raise UsageError(f"{args[0]}: is no command: {said}")
        return super().resolve_command(ctx, args)


class Commands(CommandGroup):
    """All commands."""

    table: ClassVar[Table] = COMMANDS

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
        if "--help-all" in args:
            ctx.meta[RARE] = True
            args = ["--help" if word == "--help-all" else word for word in args]
        return super().parse_args(ctx, _as_now(args))


def _as_now(args: Sequence[str]) -> list[str]:
    """Return words in which commands and options have the names that they have now."""
    now = list(args)
    for old, new in _RENAMED.items():
        # a trace's file may be called as a command was: then nothing is behind it
        if tuple(now[: len(old)]) == old and (len(old) == 1 or len(now) > len(old)):
            now[: len(old)] = new
            announce(f"heatsoak {' '.join(old)} is now heatsoak {' '.join(new)}")
    if now[:1] == ["rack"]:
        now = _without_scheduler(now)
    for words, options in _RENAMED_OPTIONS.items():
        for at, word in enumerate(now if tuple(now[: len(words)]) == words else ()):
            option, equals, value = word.partition("=")
            if option in options:
                now[at] = f"{options[option]}{equals}{value}"
                announce(f"{option} of {' '.join(words)} is now {options[option]}")
    return now


def _without_scheduler(words: Sequence[str]) -> list[str]:
    """Leave out the address of Dask, which racks no longer need."""
    rest = iter(words)
    now: list[str] = []
    for word in rest:
        option, equals, value = word.partition("=")
        if option != "--scheduler":
            now.append(word)
            continue
        value = value if equals else next(rest, "")
        announce(f"--scheduler {value}: hosts are reached by --by now, ssh if it is left out")
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

    def __init__(self, table: Table) -> None:
        self.rows = {name: row for rows in table.values() for name, row in rows.items()}
        self._unlisted = {*table.get("", ()), *(DEVELOPERS_COMMANDS if table is COMMANDS else ())}

    def __getitem__(self, name: str) -> Any:
        app = typer.Typer(rich_markup_mode=None)
        where, what = self.rows.get(name, ("", None))
        if name in self._unlisted and what is None:
            sys.path.insert(0, str(_BENCHES))
        if not isinstance(where, str):
            group = type("Below", (CommandGroup,), {"table": where})
            below = typer.Typer(cls=group, callback=_print_help, invoke_without_command=True)
            app.add_typer(below, name=name, help=what)
        else:
            module = f"heatsoak.cli.{where}" if where else f"heatsoak_dev.commands.{name}"
            command = getattr(_load(module), f"{name}_command")
            told = "\n\n".join(filter(None, (what, inspect.getdoc(command))))
            app.command(name, cls=Command, help=told, hidden=name in self._unlisted)(
                as_parsed(command)
            )
        return typer.main.get_group(app).commands[name]

    def __contains__(self, name: object) -> bool:
        return name in self.rows or name in self._unlisted

    def __iter__(self) -> Iterator[str]:
        return iter((*self.rows, *sorted(self._unlisted - self.rows.keys())))

    def __len__(self) -> int:
        return len(self.rows.keys() | self._unlisted)


def _print_help(context: typer.Context) -> None:
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


def as_parsed(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command as the parser calls it: each option of its groups by its own name.

    Options of a group that stands as ``Annotated[Group, RARE]`` are rare ones.
    """
    hints = get_type_hints(command, include_extras=True)
    kinds: dict[str, Any] = {name: get_args(hint) or (hint,) for name, hint in hints.items()}
    groups: dict[str, Any] = {
        name: kind[0] for name, kind in kinds.items() if is_dataclass(kind[0])
    }
    if not groups:
        return command

    def run(**given: Any) -> Any:
        for name, kind in groups.items():
            given[name] = kind(**{one.name: given.pop(one.name) for one in fields(kind)})
        return command(**given)

    taken: list[inspect.Parameter] = []
    for name, own in inspect.signature(command).parameters.items():
        kind = groups.get(name)
        of_group = [] if kind is None else inspect.signature(kind).parameters.values()
        types = hints if kind is None else get_type_hints(kind, include_extras=True)
        for one in of_group or [own]:
            of = types[one.name]
            if RARE in kinds[name]:
                taken_as, about = get_args(of)
                about = copy(about)
                about.rich_help_panel = RARE
                of = Annotated[taken_as, about]
            taken.append(one.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=of))
    run.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    return run
