"""JSON documents in the lines of a file, of any program."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

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
