"""The manual pages, a page for each command, from the command line's own help.

``python build_backend/man_pages.py DIRECTORY`` writes them, where heatsoak can be imported.
(click-man knows only options of click, and typer brings its own classes.)
"""

import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer
from heatsoak.cli.app import app
from heatsoak.cli.commands import DEVELOPERS_COMMANDS
from heatsoak.errors import RefusedError, RunInterrupted, ToolError, UsageError

SECTION = "1"
_WIDTH = 80
PROGRAM = "heatsoak"
#: What people would type: a line of the shell, and what it is for.
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "heatsoak": (
        ("heatsoak run quick --on ~/", "Does the drive of this directory throttle? Two minutes."),
        ("heatsoak analyze fio_bw.1.log hwinfo.csv", "Did it in these logs, and why?"),
        ("heatsoak demo", "What a result looks like, from a simulated drive."),
    ),
    "heatsoak-run": (
        ("heatsoak run quick --on ~/ --dry-run", "What would be written, and for how long."),
        (
            "heatsoak run quick --on ~/ --set heatsink=finned -o sink",
            "Label the recording, for a comparison.",
        ),
        ("heatsoak run quick --on ~/ --resume", "Resume after Ctrl-C, kill -9 or a power cut."),
        (
            "heatsoak run anandtech-consistency --on /dev/nvme1n1 --erase ID",
            "Overwrite a whole drive; heatsoak list drives shows the ID.",
        ),
        (
            "heatsoak run quick --on sim:samsung-950-pro-512@wings-px1",
            "The same on a simulated drive.",
        ),
    ),
    "heatsoak-analyze": (
        ("heatsoak analyze bare --fail-on throttle", "For scripts: exit 1 if heat slowed a step."),
        ("heatsoak analyze fio_bw.1.log hwinfo.csv", "Logs of other tools, joined on time."),
    ),
    "heatsoak-compare": (
        ("heatsoak compare bare sink --by heatsink --baseline none", "What a heatsink brought."),
    ),
    "heatsoak-report": (
        ("heatsoak report bare sink -o report.html", "One page that opens without a network."),
    ),
    "heatsoak-watch": (("heatsoak watch /dev/nvme0n1", "No load of ours."),),
    "heatsoak-list": (
        ("heatsoak list drives", "The drives here, and what was found on them."),
        ('heatsoak list drives "990 PRO 4TB"', "What the catalog knows of a model."),
    ),
    "heatsoak-import": (("heatsoak import fio/ hwinfo.csv -o mine", "Keep logs as a recording."),),
    "heatsoak-export": (("heatsoak export mine -o mine.csv", "A table, for other tools."),),
    "heatsoak-fit": (("heatsoak fit recordings/ -o twin.toml", "A model of this drive here."),),
    "heatsoak-predict": (
        ("heatsoak predict twin.toml --warmer 8", "Would it throttle in a hotter room?"),
        ("heatsoak predict twin.toml --cooling", "How little cooling keeps it at full speed?"),
    ),
    "heatsoak-rack-run": (
        ("heatsoak rack run quick --drives racks.toml -o monday", "The drives of many hosts."),
    ),
    "heatsoak-rack-report": (
        ("heatsoak rack report monday -o monday.html", "Which fail, which differ; drive or place?"),
    ),
    "heatsoak-history": (("heatsoak history racks/", "Is a drive slower than it was?"),),
    "heatsoak-lab-trace": (
        ("heatsoak lab trace heavy -o heavy.log --scale 0.1", "From published statistics."),
    ),
}
#: Environment variables, what they do, and whose pages tell of them: all, or those that begin so.
_ENVIRONMENT = (
    (
        "HEATSOAK_TOOLS",
        "A directory that is searched first for fio, nvme, hdparm and the other programs that "
        "heatsoak runs. For root it must, like all directories above it, belong to root and be "
        "writable by nobody else.",
        ("heatsoak-run", "heatsoak-watch", "heatsoak-drives", "heatsoak-nbd", "heatsoak-rack"),
    ),
    (
        "HEATSOAK_LOCKS",
        "The directory of the locks that keep a second run away from a drive, for users or "
        "containers that share drives.",
        ("heatsoak-run", "heatsoak-rack"),
    ),
    (
        "HEATSOAK_STATE",
        "Where heatsoak remembers what its runs have left on drives, so that the next one need not "
        "ask whether that may be overwritten; otherwise ~/.local/state/heatsoak, or for root "
        "/var/lib/heatsoak.",
        ("heatsoak-run", "heatsoak-rack"),
    ),
    (
        "HEATSOAK_RACK",
        "Where a host keeps its tests of a rack until they are collected; otherwise "
        "~/.local/state/heatsoak/rack.",
        ("heatsoak-rack",),
    ),
    ("HEATSOAK_DEBUG", "If set, an internal error prints its traceback instead of a file.", ()),
)
#: Whose use may be refused for safety.
_MAY_REFUSE = ("heatsoak-run", "heatsoak-rack-run")
_SEE_ALSO = {
    "heatsoak-run": ("fio(1)", "nvme(1)", "hdparm(8)"),
    "heatsoak-nbd": ("nbdkit(1)", "fio(1)"),
    "heatsoak-watch": ("iostat(1)", "smartctl(8)"),
}


def pages() -> dict[str, str]:
    """Return the pages by file name."""
    root: Any = typer.main.get_command(app)
    return {
        f"{context.command_path.replace(' ', '-')}.{SECTION}": _Page(context).text()
        for context in _contexts(root, None)
    }


def _contexts(command: Any, parent: Any) -> Iterator[Any]:
    context = typer.Context(command, info_name=command.name if parent else PROGRAM, parent=parent)
    yield context
    for name, child in _listed(command):
        child.name = name
        yield from _contexts(child, context)


def _listed(command: Any) -> list[tuple[str, Any]]:
    """Return a command's own commands, as far as help lists them."""
    return [
        (name, child)
        for name, child in getattr(command, "commands", {}).items()
        if not child.hidden and name not in DEVELOPERS_COMMANDS
    ]


class _Page:
    """The page of one command, line by line: groff_man(7)."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.command = context.command
        self.name = context.command_path.replace(" ", "-")
        self.lines: list[str] = []

    def text(self) -> str:
        """Return the page."""
        self.lines = [
            '.\\" Made from the help by build_backend/man_pages.py.',
            f'.TH {_roff(self.name.upper())} {SECTION} "" heatsoak "User Commands"',
            ".nh",  # a command's name is not divided
            ".ad l",
        ]
        paragraphs = _paragraphs(self.command.help)
        brief = _roff(_begun_small(paragraphs[0]))
        self._section("NAME", _filled(f"{_roff(self.name)} \\- {brief}"))
        self._section("SYNOPSIS", *self._synopsis())
        self._section("DESCRIPTION", *_separated(_filled(_roff(text)) for text in paragraphs))
        self._items("COMMANDS", self._commands())
        shown = [one for one in self.command.params if not getattr(one, "hidden", False)]
        for title, kind in (("ARGUMENTS", "argument"), ("OPTIONS", "option")):
            of_kind = [one for one in shown if one.param_type_name == kind]
            self._items(title, [self._parameter(one) for one in of_kind])
        self._items("EXIT STATUS", self._exit_codes())
        self._items("ENVIRONMENT", self._environment())
        self._examples()
        self._see_also()
        return "\n".join(self.lines) + "\n"

    def _section(self, title: str, *lines: str) -> None:
        self.lines += [f".SH {title}", *lines]

    def _items(self, title: str, items: Sequence[tuple[str, str]]) -> None:
        """Write a section of tagged paragraphs, if there are any."""
        if items:
            self._section(
                title, *(line for tag, what in items for line in (".TP", tag, _filled(what)))
            )

    def _synopsis(self) -> Iterator[str]:
        yield f"\\fB{_roff(self.context.command_path)}\\fR"
        required = [one for one in self.command.params if one.required]
        for one in required:
            if one.param_type_name == "option":
                # by its long name, which says more
                names, value = _names_and_value(self._record(one)[0])
                yield _tag([names[-1]], value)
        yield "[\\fIOPTION\\fR ...]"
        for one in self.command.params:
            if one.param_type_name == "argument":
                value = f"\\fI{_roff(self._argument(one))}\\fR"
                yield value if one.required else f"[{value}]"
        if _listed(self.command):
            yield "\\fICOMMAND\\fR [\\fIARGUMENT\\fR ...]"

    def _record(self, parameter: Any) -> tuple[str, str]:
        """Return what help shows of a parameter: its names with its value, and its text."""
        names, text = parameter.get_help_record(self.context)
        return names, " ".join(text.split())

    def _argument(self, parameter: Any) -> str:
        """Return an argument's name, without the type that help shows behind it."""
        return self._record(parameter)[0].split(" <")[0].upper()

    def _parameter(self, parameter: Any) -> tuple[str, str]:
        shown, text = self._record(parameter)
        if parameter.param_type_name == "argument":
            return f"\\fI{_roff(self._argument(parameter))}\\fR", _roff(text)
        tag = _tag(*_names_and_value(shown))
        if getattr(parameter, "multiple", False):
            text += " May be given several times."
        return tag, _roff(text)

    def _commands(self) -> list[tuple[str, str]]:
        return [
            (f"\\fB{_roff(f'{self.name}-{name}')}\\fR(1)", _roff(_paragraphs(child.help)[0]))
            for name, child in _listed(self.command)
        ]

    def _exit_codes(self) -> list[tuple[str, str]]:
        codes = [(0, "Done.")]
        limits = [one.opts[0] for one in self.command.params if one.opts[0].startswith("--fail-")]
        if limits:
            codes.append((1, f"A limit that was asked for ({', '.join(limits)}) did not hold."))
        codes += [
            (UsageError.exit_code, "The arguments or files are wrong."),
            (
                ToolError.exit_code,
                "A drive or a tool failed, or something else did; what was recorded is kept.",
            ),
        ]
        if self.name in (PROGRAM, *_MAY_REFUSE):
            codes.append((RefusedError.exit_code, "Refused for safety."))
        codes.append((RunInterrupted.exit_code, "Interrupted; what was recorded is kept."))
        return [(f"\\fB{code}\\fR", _roff(what)) for code, what in codes]

    def _environment(self) -> list[tuple[str, str]]:
        return [
            (f"\\fB{_roff(name)}\\fR", _roff(what))
            for name, what, whose in _ENVIRONMENT
            if not whose or self.name == PROGRAM or self.name.startswith(whose)
        ]

    def _examples(self) -> None:
        examples = EXAMPLES.get(self.name, ())
        if examples:
            self._section("EXAMPLES")
        for line, what in examples:
            self.lines += [".TP", f"\\fB{_roff(line)}\\fR", _filled(_roff(what))]

    def _see_also(self) -> None:
        above = self.name.rpartition("-")[0]
        own = [f"{self.name}-{name}(1)" for name, _ in _listed(self.command)]
        near = [f"{PROGRAM}(1)"] if above else []
        if above not in ("", PROGRAM):
            near.append(f"{above}(1)")
        pages = [*near, *own, *_SEE_ALSO.get(self.name, ())]
        self._section("SEE ALSO")
        for number, page in enumerate(pages):
            name, _, section = page.partition("(")
            comma = "," if number + 1 < len(pages) else ""
            self.lines.append(f".BR {_roff(name)} ({section}{comma}")


def _names_and_value(shown: str) -> tuple[list[str], str]:
    """Divide what help shows of an option: ``-o, --output <path>``."""
    words = shown.split(" ")
    names = [word.rstrip(",") for word in words if word.startswith("-")]
    value = " ".join(word for word in words if not word.startswith("-"))
    return names, value


def _tag(names: Sequence[str], value: str) -> str:
    """Return an option as manual pages show it."""
    text = ", ".join(f"\\fB{_roff(name)}\\fR" for name in names)
    if not value:
        return text
    if value.startswith("<") and "|" in value:  # a choice, typed as it stands
        return f"{text} \\fB{_roff(value.strip('<>'))}\\fR"
    if value.startswith("<"):  # a type
        value = value.strip("<>").upper()
    return f"{text} \\fI{_roff(value)}\\fR"


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in textwrap.dedent(text).split("\n\n")]


def _separated(paragraphs: Iterator[str]) -> Iterator[str]:
    for number, text in enumerate(paragraphs):
        if number:
            yield ".PP"
        yield text


def _begun_small(sentence: str) -> str:
    """Return a sentence as NAME has it: a phrase, its first word small, without a full stop."""
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def _roff(text: str) -> str:
    """Return text that groff shows as it is: groff_char(7)."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("~", "\\(ti")
    text = text.replace("^", "\\(ha").replace("'", "\\(aq").replace('"', "\\(dq")
    text = "".join(char if ord(char) < 128 else f"\\[u{ord(char):04X}]" for char in text)
    return f"\\&{text}" if text.startswith(".") else text


def _filled(text: str) -> str:
    """Return a paragraph in short lines; none may begin as a request of groff's does."""
    lines = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)


def main(directory: Path) -> None:
    """Write the pages to `directory`, in place of those that are there."""
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob(f"{PROGRAM}*.{SECTION}"):
        old.unlink()
    for name, text in pages().items():
        (directory / name).write_text(text, encoding="ascii")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
