"""Numbers, texts, and JSON documents with places in them, in what other programs write."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic_core import from_json

_MAX_TEXT = 300
_WHOLE = re.compile(r"\d{1,9}", re.ASCII)
#: No tool counts or measures more: nanoseconds since the epoch are 10^18.
MAX_NUMBER = 1e20
#: No rate, time or size of a drive is larger: a larger number comes from damage.
_MAX_OF_DRIVE = 1e15
_COUNT = re.compile(r"\s*(\d[\d.,'’٬_  \u202f]*)")
_NO_DIGIT = re.compile(r"\D")


def at(value: Any, path: str) -> Any:
    """Return what stands in a JSON document at ``KEY/KEY``; None where nothing does."""
    for key in path.split("/"):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_of(value: Any) -> str:
    """Return a string, or an integer as one; empty for anything else."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()[:_MAX_TEXT]
    return str(value) if isinstance(value, int) and abs(value) < 1 << 63 else ""


def whole_of(value: Any) -> int | None:
    """Return an integer of up to 9 digits, given as one or as text; None for anything else."""
    text = text_of(value).strip()
    return int(text) if _WHOLE.fullmatch(text) else None


def number_of(value: Any) -> float:
    """Return a number, given as one or as text; NaN for anything else, and from 1e20 on.

    The decimal mark of a text is a point or a comma, and nothing divides its thousands.
    """
    if isinstance(value, str):
        value = "" if "_" in value else value.replace(",", ".").replace("٫", ".")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return np.nan
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return np.nan
    return number if abs(number) < MAX_NUMBER else np.nan


def number(text: str) -> float | None:
    """Return a rate, time or size of a drive; None for anything else, as below zero."""
    value = number_of(text)
    return value if 0 <= value <= _MAX_OF_DRIVE else None


def decimal(text: str) -> float | None:
    """Return a number as :func:`number` does, in which the other mark may divide thousands."""
    if "," in text:
        text = text.replace(".", "") if text.rfind(".") < text.rfind(",") else text.replace(",", "")
    return number(text)


def multiple(prefix: str, base: float = 1024.0) -> float:
    """Return what a unit's prefix stands for, in any case: the base's powers for K to P."""
    return base ** " KMGTP".index(prefix.upper() or " ")


def size_of(text: str, prefix: str) -> float | None:
    """Return bytes of a number with one of the binary prefixes K to P, or none."""
    value = number(text)
    return None if value is None else value * multiple(prefix)


def count_of(value: Any) -> float | None:
    """Return a count, given as a number or as text with a locale's marks of thousands, or None."""
    if isinstance(value, str):
        digits = _NO_DIGIT.sub("", found[1]) if (found := _COUNT.match(value[:100])) else ""
        return float(digits) if 0 < len(digits) < 40 else None
    known = number_of(value)
    return known if known == known else None


#: Numbers as sysstat and other monitors write them: suffixes of sizes, in MB, or a percent sign.
_IN_MB = {"s": 512e-6, "B": 1e-6, **{prefix: multiple(prefix) / 1e6 for prefix in "kMGTP"}}
_SCALED = re.compile(r"([-+]?\d{1,40}(?:[.,٫]\d{0,40})?)([sBkMGTP%]?)", re.ASCII)


def scaled(word: str, scale: float = 1.0) -> float:
    """Return a number with a decimal point or comma, times `scale`; NaN for what is none.

    ``1.2M`` (``--human``) is bytes, and so given in MB whatever `scale` is; a percent sign is
    dropped.
    """
    try:
        return float(word) * scale
    except ValueError:
        match = _SCALED.fullmatch(word)
    return np.nan if match is None else number_of(match[1]) * _IN_MB.get(match[2], scale)


def is_number(word: str) -> bool:
    """Whether it is a number as :func:`scaled` reads them, or one that is not finite."""
    return word in ("nan", "-nan", "inf", "-inf") or _SCALED.fullmatch(word) is not None


# --- JSON documents in the lines of a file -------------------------------------------------------

_BETWEEN = re.compile(r"[\s,]*")
#: What a script put before a document in the same line: the time, as a rule.
_BEFORE = re.compile(r"([^{}\[\]\"\s][^{}\[\]\"]{0,99})(?=\{(?:\s*\"|$))")


@dataclass(frozen=True)
class Document:
    """A JSON document in a stream: the line it begins at, and the text that stood before it."""

    line: int
    value: Any
    before: str = ""


class Documents:
    """Finds the JSON documents in lines: one, several in a row, those of an array, or one a line.

    A document of several lines ends with the brace that stands as far in as the one it began with.

    Attributes:
        text: what has come of a document that is not whole yet, which began at `line`.
        before: the last lines of text since the last document.
    """

    def __init__(
        self, parse: Callable[[bytes | bytearray, int], Any], cut: Callable[[int], None]
    ) -> None:
        """Start a stream.

        `parse` makes a value of a document that began at a line; `cut` is told the line of one that
        breaks off where another begins.
        """
        self._parse, self._cut = parse, cut
        self.before: list[str] = []
        self._begin(0, "")

    def take(self, number: int, line: str) -> Iterator[Document]:
        """Take a line, and yield the documents that it completes."""
        while line:
            body = line.strip()
            if self.text and body[:1] not in ("{", "}"):
                break
            if not self.text:
                prefix = _BEFORE.match(body)
                if prefix is not None:
                    self.before = [*self.before[-20:], prefix.group(1)]
                    line = body = body[prefix.end() :]
                if body.startswith("["):
                    opened = body[1:].lstrip()
                    whole = body.rstrip(", ")
                    if opened.startswith("{") and not whole.endswith("]"):
                        line = body = opened  # an array that continues in the next line
                    elif opened.startswith("{"):
                        for value in self._parse(whole.encode(), number):
                            yield Document(number, value)
                        return
                if not body.startswith("{"):
                    if body and body not in ("[", "]", ","):
                        self.before = [*self.before[-20:], body[:1000]]
                    return
                if documents := self._in_one_line(body, number):
                    for value in documents:
                        yield self._found(number, value)
                    return
                self._begin(number, line[: len(line) - len(line.lstrip())])
            elif body == "{" and line.startswith(self._indent + "{"):
                self._cut(self.line)
                self._begin(number, self._indent)
            if body[:1] == "}" and line.startswith(self._indent + "}"):
                rest = body[1:].lstrip(" ,]")
                if not rest or rest.startswith("{"):
                    self._add("}")
                    yield self.end()
                    line = rest
                    continue
            break
        if line:
            self._add(line)

    def end(self) -> Document:
        """Return the document that has begun, as whole as it is."""
        found = self._found(self.line, self._parse(self.text, self.line))
        self._begin(0, "")
        return found

    def _begin(self, line: int, indent: str) -> None:
        self.line, self._indent, self.text = line, indent, bytearray()

    def _add(self, line: str) -> None:
        self.text += line.encode("utf-8", "replace") + b"\n"

    def _found(self, line: int, value: Any) -> Document:
        before, self.before = "\n".join(self.before), []
        return Document(line, value, before)

    def _in_one_line(self, body: str, line: int) -> list[Any]:
        """The documents in a line; none where one of them continues in the next."""
        whole = body.rstrip(", ")
        if body == "{" or not whole.endswith(("}", "}]")):
            return []
        with suppress(ValueError):
            return [from_json(whole)]
        values = _values(whole.rstrip("], "))
        if values or whole.endswith("]"):
            return values
        return [self._parse(whole.encode(), line)]


def _values(text: str) -> list[Any]:
    """The consecutive JSON documents of a text; none where it has anything else."""
    decoder = json.JSONDecoder()
    values = []
    at = 0
    try:
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            values.append(value)
            at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # may be empty
    except (ValueError, RecursionError):
        return []
    return values
