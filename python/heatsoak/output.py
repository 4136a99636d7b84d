"""The one door to people: what comes from outside is shown as text, and does nothing else.

Models, labels, events, file names and logs may hold anything: escape sequences that retitle a
terminal, marks that turn the direction of writing, rich's own markup. Nothing but this module makes
a console or prints (ruff's T20 and TID251 hold that), so nothing can go past it.
"""

import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

from rich import console as rich_console
from rich import progress as rich_progress
from rich.console import ConsoleOptions, RenderableType
from rich.progress import Task
from rich.segment import Segment
from rich.text import Text as RichText
from typing_extensions import override

#: Called with the part that is done, 0 to 1, and what is being done.
Progress = Callable[[float, str], None]

#: How a formula begins in some spreadsheet, full-width signs among them (OWASP, CSV injection).
_FORMULA = re.compile(r"'*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]")
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?")
_SURROGATES = re.compile("[\ud800-\udfff]")


def printable(text: str) -> str:
    """Return `text` on one line, with what is not printed in a visible form.

    Controls, line separators, marks of direction and the like become what Python writes for them
    (``\\x1b``, ``\\n``, ``\\u202e``), and bytes of a file name that are no UTF-8 ``\\xff``.
    """
    if text.isprintable():
        return text
    return "".join(char if _is_shown(char) else _visible(char) for char in text)


def utf8_text(text: str) -> str:
    """Return `text` as UTF-8 can hold it: bytes of a name that are no UTF-8 become ``\\xff``."""
    return _SURROGATES.sub(lambda found: _visible(found.group()), text)


def _is_shown(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"  # such as a no-break space


def _visible(char: str) -> str:
    if 0xDC80 <= ord(char) <= 0xDCFF:  # what Python makes of a byte that is no UTF-8
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("unicode_escape").decode()


def _visible_lines(text: str) -> str:
    """The text with its line ends as they are: lines were already made of it."""
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


class Text(RichText):
    """Rich's text of one line, whatever is in it."""

    def __init__(self, text: str = "", *args: Any, **kwargs: Any) -> None:
        """Take `text` as :func:`printable` shows it."""
        super().__init__(printable(text), *args, **kwargs)

    @override
    def append(self, text: RichText | str, style: Any = None) -> "Text":
        super().append(printable(text) if isinstance(text, str) else text, style)
        return self


def lines(texts: Iterable[str], **kwargs: Any) -> RichText:
    """Return texts below each other, each on a line of its own."""
    return Text("", **kwargs).append(RichText("\n".join(map(printable, texts))))


class TextColumn(rich_progress.TextColumn):
    """Rich's column of a progress bar, without markup."""

    @override
    def render(self, task: Task) -> RichText:
        return Text(self.text_format.format(task=task))


class Console(rich_console.Console):
    """Rich's console without markup, which shows whatever it is given as text."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs, markup=False, emoji=False, highlight=False)

    @override
    def render_str(self, text: str, **kwargs: Any) -> RichText:
        """Return a text that was given as a str: a cell of a table, or something to print."""
        return super().render_str(printable(text), **{**kwargs, "markup": False})

    @override
    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render, and show what is left of controls in what others made: rich's own are apart."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield segment._replace(text=_visible_lines(segment.text))


def spreadsheet_text(text: str) -> str:
    """Return `text` as a cell of CSV that no spreadsheet runs.

    An apostrophe comes before what begins like a formula and is no number, as spreadsheets
    themselves mark text. :func:`from_spreadsheet` is the way back.
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def from_spreadsheet(cell: str) -> str:
    """Return the text of a cell, without the apostrophe that :func:`spreadsheet_text` gave it."""
    return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell) else cell


def print_out(text: str) -> None:
    """Write a line to standard output."""
    print(printable(text), flush=True)  # noqa: T201 -- the door


def print_err(text: str, *, end: str = "\n") -> None:
    """Write a line to standard error."""
    print(printable(text), end=end, file=sys.stderr, flush=True)  # noqa: T201 -- the door


def announce(text: str) -> None:
    """Write what heatsoak itself has to say to standard error, in one line."""
    print_err(f"heatsoak: {' '.join(text.split())}")


def json_text(document: Any) -> str:
    """Return a document as JSON whose strings say the same, and do nothing to a terminal."""
    text = json.dumps(document, ensure_ascii=False, indent=1)
    return "\n".join(
        line if line.isprintable() else "".join(map(_in_json, line)) for line in text.split("\n")
    )


def _in_json(char: str) -> str:
    return char if _is_shown(char) else json.dumps(char)[1:-1]


def print_json(document: Any) -> None:
    """Write one JSON document to standard output."""
    print(json_text(document))  # noqa: T201 -- the door
