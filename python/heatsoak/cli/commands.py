"""Every command by its name; its module is loaded when it is asked for.

What most commands need takes several times longer to load than Python takes to start, and neither
``--help`` nor another command should wait for that.
"""

import gc
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typing_extensions import override

#: Each command's module, and what it does as ``heatsoak --help`` says: its docstring's sentence.
COMMANDS = {
    "demo": (
        "demo",
        "Run Puget's matrix of M.2 slots on the simulated 950 PRO, published figures beside it.",
    ),
    "drives": (
        "drives",
        "List real and simulated drives, with their sensors and whether writing is safe.",
    ),
    "protocols": ("protocols", "List the bundled protocols with how long they take."),
    "run": ("run", "Run a protocol on a drive, and judge what was recorded."),
    "watch": ("watch", "Watch a drive that somebody else loads, and judge what is seen."),
    "analyze": (
        "analyze",
        "Judge recordings or logs: does it throttle, when, by how much, and why.",
    ),
    "compare": ("compare", "Hold recordings that differ in one condition against each other."),
    "report": (
        "report",
        "Write what recordings or logs show to a file: a page with charts, a picture, a table.",
    ),
    "import": (
        "import_logs",
        "Make recordings of other tools' logs; logs of the same time become one.",
    ),
    "export": (
        "export",
        "Write recordings as CSV, Parquet, OpenMetrics text, or what fio-plot draws.",
    ),
    "reproduce": (
        "reproduce",
        "Hold the simulated drives against every figure that was published of the real ones.",
    ),
    "calibrate": (
        "calibrate",
        "Fit the simulated drives to the published figures: a minute; leaving out: minutes.",
    ),
    "corpus": (
        "corpus",
        "Write recordings of simulated drives whose falls, and their causes, are known.",
    ),
    "serve": (
        "serve",
        "Show past and running recordings in a browser on this machine, the running ones live.",
    ),
    "nbd": ("nbd", "Serve a simulated drive as an NBD export; it keeps no data."),
    "trace": ("trace", "Say what a trace of I/O is like, or make one that is like that."),
}


class Commands(TyperGroup):
    """All commands, none of them loaded yet; help that lists them loads none."""

    def __init__(self, **settings: Any) -> None:
        """Take Typer's `settings`; the commands among them are none."""
        super().__init__(**settings)
        self.commands = _Loaded()  # type: ignore[assignment]  # nothing adds to it

    @override
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        listed: Any = {name: TyperCommand(name, help=what) for name, (_, what) in COMMANDS.items()}
        TyperGroup(commands=listed).format_commands(ctx, formatter)


class _Loaded(Mapping[str, Any]):
    """Typer's commands, each loaded when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        module, _ = COMMANDS[name]
        app = typer.Typer(rich_markup_mode=None)
        _load(module).add_to(app)
        return typer.main.get_group(app).commands[name]

    def __contains__(self, name: object) -> bool:
        return name in COMMANDS

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _load(module: str) -> Any:
    """Load a command's module, and whatever that imports.

    What is loaded stays: to look through it for garbage, again and again while it is loaded and
    once more at the end, takes a third of a short command's time.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return import_module(f"heatsoak.cli.{module}")
    finally:
        gc.freeze()
        if collects:
            gc.enable()
