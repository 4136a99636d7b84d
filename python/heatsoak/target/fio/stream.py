"""fio's status stream while it runs: bytes cut into JSON documents.

fio prints one ``json+`` document at every status interval and a last one at its end, with text of
its own between them; :mod:`heatsoak.fio` makes samples of them.

What comes from fio is not trusted: anything that does not make sense raises ToolError.
"""

import re
from collections.abc import Iterator
from typing import Any

from pydantic_core import from_json

from heatsoak.errors import ToolError

#: A document of one group with all latency bins in use is about 100 kB.
LARGEST_DOCUMENT = 64_000_000
#: Text of fio's own between documents is a line or two.
_LONGEST_TEXT = 1_000_000

_NOT_A_NUMBER = re.compile(rb"(:\s*)-?(?:nan|inf)\b")


class Splitter:
    """Cuts bytes, in whatever pieces they arrive, into JSON documents.

    fio indents its documents, so only the brace that closes one stands at the start of a line.
    """

    def __init__(self, largest_bytes: int = LARGEST_DOCUMENT) -> None:
        """Refuse documents over `largest_bytes`."""
        self._largest_bytes = largest_bytes
        self._rest = bytearray()
        self._searched = 0

    def feed(self, piece: bytes) -> Iterator[dict[str, Any]]:
        """Yield the documents that `piece` completes.

        Raises ToolError where the stream cannot be fio's; the documents before stand.
        """
        self._rest += piece
        while True:
            end = self._rest.find(b"\n}", self._searched)
            if end < 0:
                break
            document = bytes(self._rest[: end + 2])
            del self._rest[: end + 2]
            self._searched = 0
            yield _parse(document)
        self._searched = max(len(self._rest) - 1, 0)
        begun = b"{" in self._rest
        if not begun and len(self._rest) > _LONGEST_TEXT:
            raise ToolError("fio's status stream is not JSON: is there another program named fio?")
        if len(self._rest) > self._largest_bytes:
            raise ToolError(
                f"fio's status stream holds a document of over {self._largest_bytes} bytes"
            )

    def finish(self) -> None:
        """Say that the stream has ended; raises ToolError where that cut a document."""
        if b"{" in self._rest:
            raise ToolError("fio's status stream ended in the middle of a document")


def _parse(document: bytes) -> dict[str, Any]:
    """Return the document that ends `document`, whatever text stands before it."""
    start = document.find(b"{")
    if start > 0 and document[start - 1 : start] != b"\n":
        own_line = document.rfind(b"\n{")
        start = own_line + 1 if own_line >= 0 else start
    if start < 0:
        raise ToolError("fio's status stream has unbalanced braces")
    text = document[start:]
    for attempt in (text, _NOT_A_NUMBER.sub(rb"\g<1>0", text)):
        try:
            parsed = from_json(attempt)
        except ValueError:
            continue
        if isinstance(parsed, dict):
            return parsed
    raise ToolError("fio's status stream holds a document that is not valid JSON")
