"""Lines and JSON documents on the standard streams."""

import codecs
import json
import re
import sys
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from typing import Any

#: Called with the part that is done, 0 to 1, and what is being done.
Progress = Callable[[float, str], None]

#: Where nothing can be redrawn, a line says this often how far something has come.
LINE_INTERVAL_S = 10.0
#: How a formula can start in some spreadsheet, full-width signs included (OWASP, CSV injection).
_FORMULA = re.compile(r"'*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]")
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_SURROGATES = re.compile("[\ud800-\udfff]")
#: Characters of a message; the longest of our own has some 700.
_LONGEST = 2000


def printable(text: str) -> str:
    """Return `text` on one line, with unprintable characters escaped.

    Control characters, line separators, direction marks and the like become Python's escapes
    (``\\x1b``, ``\\n``, ``\\u202e``), bytes of a file name that are not UTF-8 become ``\\xff``.
    """
    if text.isprintable():
        return text
    return "".join(char if _is_shown(char) else _visible(char) for char in text)


def utf8_text(text: str) -> str:
    """Return `text` as valid UTF-8: bytes of a file name that are not UTF-8 become ``\\xff``.

    Where the locale is not UTF-8, Python has taken UTF-8 for such bytes too: these are decoded.
    """
    if text.isascii():
        return text
    with suppress(UnicodeError):
        return text.encode("utf-8", "surrogateescape").decode("utf-8")
    return _SURROGATES.sub(lambda found: _visible(found.group()), text)


def _is_shown(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"  # such as a no-break space


def _visible(char: str) -> str:
    if 0xDC80 <= ord(char) <= 0xDCFF:  # how Python decodes a byte that is not UTF-8
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("unicode_escape").decode()


def spreadsheet_text(text: str) -> str:
    """Return `text` as a CSV cell that no spreadsheet evaluates.

    Text that starts like a formula and is not a number gets an apostrophe in front, which is how
    spreadsheets themselves mark text. :func:`from_spreadsheet` is the inverse.
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def from_spreadsheet(cell: str) -> str:
    """Return a cell's text without the apostrophe that :func:`spreadsheet_text` added."""
    return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell) else cell


def print_out(text: str) -> None:
    """Write a line to standard output."""
    print(printable(text), flush=True)  # noqa: T201 -- the only place that prints


def print_err(text: str, *, end: str = "\n") -> None:
    """Write a line to standard error."""
    print(printable(text), end=end, file=sys.stderr, flush=True)  # noqa: T201 -- the only place that prints


def announce(text: str) -> None:
    """Write a message from heatsoak itself to standard error, on one line.

    What it quotes of a user's file can be as long as the file: its middle is left out.
    """
    line = printable(" ".join(text.split()))
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST // 2]} ... {line[-_LONGEST // 4 :]}"
    print_err(f"heatsoak: {line}")


def json_text(document: Any) -> str:
    """Return a document as JSON, escaping in strings what would affect a terminal."""
    text = json.dumps(document, ensure_ascii=False, indent=1)
    return "\n".join(
        line if line.isprintable() else "".join(map(_in_json, line)) for line in text.split("\n")
    )


def _in_json(char: str) -> str:
    return char if _is_shown(char) else json.dumps(char)[1:-1]


def print_json(document: Any) -> None:
    """Write one JSON document to standard output, in ASCII where that is not UTF-8."""
    text = json_text(document)
    if codecs.lookup(sys.stdout.encoding or "utf-8").name != "utf-8":
        text = _NOT_ASCII.sub(lambda found: json.dumps(found.group())[1:-1], text)
    print(text)  # noqa: T201 -- the only place that prints
