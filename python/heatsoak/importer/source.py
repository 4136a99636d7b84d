"""A file of somebody else's: its bytes, its lines with their numbers, its JSON documents.

Read in pieces, so that memory does not grow with the file. Whatever is wrong with it is said with
the file's name and the line's number; nothing else ever escapes.
"""

import bz2
import codecs
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, cast

from pydantic_core import from_json

from heatsoak.errors import UsageError, require_file
from heatsoak.importer.log import Remark
from heatsoak.output import utf8_text

#: How much of a file tells its format.
HEAD_BYTES = 1 << 18
_CHUNK_BYTES = 1 << 20
#: No log has such lines; a longer one is no text.
LONGEST_LINE = 4 << 20
LARGEST_DOCUMENT = 64 << 20

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_COMPRESSED: tuple[tuple[bytes, Callable[[BinaryIO], Any]], ...] = (
    (b"\x1f\x8b", lambda raw: gzip.GzipFile(fileobj=raw)),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
)
#: C programs print these where they divided by zero; no JSON has them.
_NOT_A_NUMBER = re.compile(r"([:\[,]\s*)-?(?:nan|inf)\b", re.IGNORECASE)
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
#: What a script put before a document in the same line: the time, as a rule.
_BEFORE_JSON = re.compile(r"([^{}\[\]\"\s][^{}\[\]\"]{0,99})(?=\{(?:\s*\"|$))")
#: Control characters but those that text has: tab, line ends, form feed, escape.
_ODD_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))


@dataclass(frozen=True)
class Document:
    """A JSON document of a file: the line it begins at, and the text that stood before it."""

    line: int
    value: Any
    before: str = ""


class Source:
    """A file to import.

    Raises UsageError, from all its doors, for a file that cannot be read or is no text.
    """

    def __init__(self, name: str, opener: Callable[[], BinaryIO], path: Path | None = None) -> None:
        """Take what opens the bytes; `name` stands before every complaint."""
        self.name = name
        self.path = path
        self._opener = opener
        #: Damage that was met while reading, each once.
        self.remarks: dict[str, Remark] = {}
        #: Told how many bytes of the file were read, now and then.
        self.on_read: Callable[[int], None] | None = None

    @classmethod
    def of_path(cls, path: Path) -> "Source":
        """A file on disk, which is read more than once; raises UsageError for a pipe."""
        require_file(path)
        return cls(utf8_text(str(path)), lambda: path.open("rb"), path)

    @classmethod
    def of_bytes(cls, name: str, data: bytes) -> "Source":
        """Bytes in memory."""
        return cls(name, lambda: io.BytesIO(data))

    def error(self, text: str, line: int | None = None) -> UsageError:
        """Return the error that says what is wrong in this file, and in which line."""
        place = f": line {line}" if line is not None else ""
        return UsageError(f"{self.name}{place}: {text}")

    def remark(self, text: str) -> None:
        """Note damage that does not keep the rest from being read."""
        self.remarks[text] = Remark(f"{self.name}: {text}", doubt=True)

    def chunks(self) -> Iterator[bytes]:
        """Yield the file's bytes in pieces, decompressed."""
        try:
            with self._opener() as raw:
                yield from self._decompressed(raw)
        except OSError as error:
            reason = error.strerror or str(error)
            raise self.error(f"cannot be read: {reason}") from error

    def _decompressed(self, raw: BinaryIO) -> Iterator[bytes]:
        magic = raw.read(6)
        raw.seek(0)
        for start, wrap in _COMPRESSED:
            if magic.startswith(start):
                stream = wrap(raw)
                break
        else:
            stream = raw
        given = False
        while True:
            try:
                piece = stream.read1(_CHUNK_BYTES) if stream is not raw else raw.read(_CHUNK_BYTES)
            except _DAMAGED as error:
                if not given:
                    raise self.error(f"its compression is damaged: {error}") from error
                self.remark(f"its compressed data is damaged or cut: {error}")
                return
            if not piece:
                return
            given = True
            if self.on_read is not None:
                self.on_read(raw.tell())
            yield cast(bytes, piece)

    @property
    def size_bytes(self) -> int:
        """The file's size on disk; 0 where it is no file or cannot be asked."""
        try:
            return self.path.stat().st_size if self.path is not None else 0
        except OSError:
            return 0

    @cached_property
    def head(self) -> bytes:
        """The first bytes, enough to tell the format."""
        head = bytearray()
        for piece in self.chunks():
            head += piece
            if len(head) >= HEAD_BYTES:
                break
        return bytes(head[:HEAD_BYTES])

    @cached_property
    def encoding(self) -> str:
        """``utf-8`` (bytes that are none are read as cp1252), or the UTF-16 or UTF-32 it is in.

        Raises UsageError for what is no text.
        """
        head = self.head
        for bom, name in _BOMS:
            if head.startswith(bom):
                return name
        sample = head[:4096]
        for name, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[0::2])):
            if len(zeros) >= 8 and zeros.count(0) > 0.9 * len(zeros):
                other = sample[0::2] if name == "utf-16-le" else sample[1::2]
                if other.count(0) < 0.1 * len(other):
                    return name
        # a log that lost power often ends in zeros; one that begins with them is none
        text = sample.rstrip(b"\0")
        odd = len(text) - len(text.translate(None, _ODD_CONTROLS))
        if (sample and not text) or odd > len(text) / 100:
            raise self.error("is not a text file")
        return "utf-8"

    @cached_property
    def head_lines(self) -> list[str]:
        """The whole lines of the head, and the last one if the file is no longer."""
        head = self.head
        if self.encoding != "utf-8":
            decoder = codecs.getincrementaldecoder(self.encoding)("replace")
            head = decoder.decode(head).lstrip("\ufeff").encode("utf-8", "replace")
        head = _with_lf(head.removeprefix(codecs.BOM_UTF8))
        try:
            lines = head.decode().split("\n")
        except UnicodeDecodeError:
            # each line by itself, as in lines(): one may be in another encoding than the next
            lines = [_decode(line) for line in head.split(b"\n")]
        return lines[:-1] if len(self.head) == HEAD_BYTES and len(lines) > 1 else lines

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield number, from 1, and text of each line without its end (LF, CRLF, CR, mixed).

        Zero bytes, which power loss leaves, are left out.
        """
        for number, block in self.blocks():
            yield from self.lines_of(number, block)

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield whole lines that stand together: the first one's number, and their bytes.

        In UTF-8 as far as they are text, with LF between them, and none behind the last one.
        """
        number = 1
        rest = b""
        for piece in self._utf8_pieces():
            rest += piece
            held = b"\r" if rest.endswith(b"\r") else b""  # its LF may come with the next piece
            whole, lf, rest = _with_lf(rest.removesuffix(held)).rpartition(b"\n")
            rest += held
            if lf:
                yield number, whole
                number += whole.count(b"\n") + 1
            if len(rest) > LONGEST_LINE:
                raise self.error(
                    f"is longer than {LONGEST_LINE >> 20} MiB: no log has such lines", number
                )
        last = _with_lf(rest).removesuffix(b"\n")
        if last:
            yield number, last

    def lines_of(self, number: int, block: bytes) -> Iterator[tuple[int, str]]:
        """Yield number and text of each line of a block, as :meth:`lines` does."""
        if len(block) <= LONGEST_LINE:
            with suppress(UnicodeDecodeError):
                text = (block.replace(b"\0", b"") if b"\0" in block else block).decode()
                yield from enumerate(text.split("\n"), number)
                return
        for at, line in enumerate(block.split(b"\n"), number):
            yield at, self._line(line, at)

    def _utf8_pieces(self) -> Iterator[bytes]:
        encoding = self.encoding
        begun = False
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        for piece in self.chunks():
            if encoding != "utf-8":
                piece = decoder.decode(piece).encode("utf-8", "replace")
            yield piece if begun else piece.removeprefix(codecs.BOM_UTF8)
            begun = True

    def _line(self, line: bytes, number: int) -> str:
        if len(line) > LONGEST_LINE:
            raise self.error(
                f"is longer than {LONGEST_LINE >> 20} MiB: no log has such lines", number
            )
        return _decode(line.replace(b"\0", b"") if b"\0" in line else line)

    def documents(self) -> Iterator[Document]:
        """Yield the JSON documents: one, several behind each other, an array's, or one a line.

        Text between them is handed over with the document that follows. A document that the
        file's end cut is left out with a remark. Raises UsageError for JSON that is wrong.
        """
        before: list[str] = []
        parts: list[str] = []
        size, begun_at, indent = 0, 0, ""
        for number, line in self.lines():
            body = line.strip()
            if parts and body[:1] not in ("{", "}"):
                parts.append(line)
                size += len(line)
                if size > LARGEST_DOCUMENT:
                    raise self.error("holds a JSON document of over 64 MiB", begun_at)
                continue
            if not parts:
                prefix = _BEFORE_JSON.match(body)
                if prefix is not None:
                    before = [*before[-20:], prefix.group(1)]
                    line = body = body[prefix.end() :]
                if not body.startswith("{"):
                    if body.startswith(("[{", "[ {")) and body.endswith(("]", "],")):
                        yield from self._array(number, body)
                    elif body and body not in ("[", "]", ","):
                        before = [*before[-20:], body[:1000]]
                    continue
                begun_at, indent = number, line[: len(line) - len(line.lstrip())]
                whole = body.rstrip(",")
                if body != "{" and whole.endswith("}"):
                    yield Document(number, self._json(whole, number), "\n".join(before))
                    before = []
                    continue
            elif body.startswith("{") and line.startswith(indent + "{") and body == "{":
                # the one before was cut where another began
                self.remark(f"line {begun_at}: a JSON document is cut: left out")
                parts, size, begun_at = [], 0, number
            parts.append(line)
            size += len(line)
            if size > LARGEST_DOCUMENT:
                raise self.error("holds a JSON document of over 64 MiB", begun_at)
            if body[:1] == "}" and body.rstrip(",]") == "}" and line.startswith(indent + "}"):
                text = "\n".join(parts).rstrip().rstrip("],").rstrip()
                yield Document(begun_at, self._json(text, begun_at), "\n".join(before))
                parts, size, before = [], 0, []
        if parts:
            text = "\n".join(parts)
            try:
                value = from_json(text.rstrip().rstrip(","))
            except ValueError:
                self.remark(f"line {begun_at}: the file ends in a JSON document: left out")
                return
            yield Document(begun_at, value, "\n".join(before))

    def _array(self, number: int, text: str) -> Iterator[Document]:
        for value in self._json(text.rstrip(","), number):
            yield Document(number, value)

    def _json(self, text: str, line: int) -> Any:
        try:
            return from_json(text)
        except ValueError as error:
            with suppress(ValueError):
                return from_json(_NOT_A_NUMBER.sub(r"\g<1>null", text))
            raise self.error(f"is not valid JSON: {error}", line) from error


def _with_lf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _decode(data: bytes) -> str:
    """UTF-8, or what Windows wrote before it."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
