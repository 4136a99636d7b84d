"""A file to import: its bytes, its lines with their numbers, its JSON documents.

Read in pieces, so that memory does not grow with the file. Whatever is wrong with it is an
error with the file's name and the line's number.

The limits for all readers are here. Together they keep any file, however it was made, to about
1.5 GB of memory.
"""

import bz2
import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any, BinaryIO

from heatsoak.errors import UsageError
from heatsoak.files import require_file
from heatsoak.fio import MAX_DOCUMENT, json_of
from heatsoak.importer.log import Remark
from heatsoak.importer.numbers import Document, Documents
from heatsoak.output import utf8_text
from heatsoak.recording import Touched

#: How much of a file tells its format.
HEAD_BYTES = 1 << 18
_CHUNK_BYTES = 1 << 20
#: A line in bytes. HWiNFO's with 500 columns have 6 KB, a whole fio result in one line 1 MB.
MAX_LINE = 4 << 20
#: A JSON document's numbers, texts, lists and objects, each of which takes up to 200 bytes of
#: memory.
MAX_JSON_VALUES = 5_000_000
#: Columns of a table. HWiNFO on a large server has 2,000.
MAX_COLUMNS = 10_000
#: Runs, or drives, that one file may tell of: each becomes a recording.
MAX_RUNS = 1000
#: Bytes of values that a reader may keep of a file; building samples takes twice as much again.
#: A day at 10 readings a second with 50 columns of a drive has 350 MB; what is not kept costs
#: nothing.
MAX_KEPT = 384 << 20
#: What a reader of result texts keeps of a line besides its text: some numbers under their names.
KEPT_LINE_BYTES = 1024
#: What a compressed file may unpack to: this many bytes, or, above that, this ratio to its size.
#: Logs pack 10 to 100 times; what packs 1000 times is made of nothing but repetition.
MAX_UNPACKED = 256 << 20
MAX_UNPACKED_RATIO = 500
#: Memory that unpacking xz may take; `xz -9` needs 65 MB.
XZ_MEMORY = 256 << 20

#: The most doubts that are told of a file, one by one.
_MAX_DOUBTS = 40

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_COMPRESSED: tuple[tuple[bytes, Callable[[BinaryIO], Any]], ...] = (
    (b"\x1f\x8b", lambda raw: gzip.GzipFile(fileobj=raw)),
    (b"BZh", bz2.BZ2File),
)
_XZ = b"\xfd7zXZ\x00"
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
#: Control characters but those that text has: tab, line ends, form feed, escape.
_ODD_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))


class UnknownFormatError(UsageError):
    """No reader knows what the file is."""


class Source:
    """A file to import.

    Raises UsageError, from all its doors, for a file that cannot be read or is not text.
    """

    def __init__(self, name: str, opener: Callable[[], BinaryIO], path: Path | None = None) -> None:
        """Take what opens the bytes; `name` stands before every complaint."""
        self.name = name
        self.path = path
        self._opener = opener
        #: What is to be said of the file, each once: damage, doubts, conversions.
        self.remarks: dict[str, Remark] = {}
        self._skipped: dict[tuple[str, str], tuple[int, int]] = {}
        #: Told how many bytes of the file were read, now and then.
        self.on_read: Callable[[int], None] | None = None
        #: The last lines of text behind all documents, once these were read.
        self.behind_documents: list[str] = []
        self._kept_bytes = 0

    @classmethod
    def of_path(cls, path: Path) -> "Source":
        """A file on disk, which is read more than once; raises UsageError for a pipe."""
        require_file(path)
        return cls(utf8_text(str(path)), lambda: path.open("rb"), path)

    @classmethod
    def of_bytes(cls, name: str, data: bytes) -> "Source":
        """Bytes in memory."""
        return cls(name, lambda: io.BytesIO(data))

    @property
    def directories(self) -> frozenset[Path]:
        """The directory that it lies in, whichever way it was named, and those above."""
        directory = (self.path or Path(self.name)).parent.resolve()
        return frozenset([directory, *directory.parents])

    def error(self, text: str, line: int | None = None) -> UsageError:
        """Return the error that says what is wrong in this file, and in which line."""
        place = f": line {line}" if line is not None else ""
        return UsageError(f"{self.name}{place}: {text}")

    def remark(self, text: str, touches: tuple[Touched, ...] = ("rate",)) -> None:
        """Say what is doubtful, or what damage there is that leaves the rest readable."""
        self.remarks.setdefault(text, Remark(f"{self.name}: {text}", True, touches))

    def note(self, text: str) -> None:
        """Say what was merely converted or left out."""
        self.remarks.setdefault(text, Remark(f"{self.name}: {text}"))

    def said(self) -> list[Remark]:
        """Return all remarks, of very many doubts the first and how many more there are."""
        doubts = [remark for remark in self.remarks.values() if remark.doubt]
        rest = doubts[_MAX_DOUBTS:]
        if not rest:
            return list(self.remarks.values())
        text = f"{self.name}: {len(rest)} more doubts are not listed"
        touches = sorted({one for remark in rest for one in remark.touches})
        kept = [remark for remark in self.remarks.values() if remark not in rest]
        return [*kept, Remark(text, True, tuple(touches))]

    def skip(
        self,
        line: int,
        count: int = 1,
        touches: tuple[Touched, ...] = ("rate",),
        what: tuple[str, str] = ("could not be read", "could not be read"),
    ) -> None:
        """Count lines that could not be read, from `line` on: a remark says how many there were.

        Fewer than none are taken back. `what` is said of one line, and of several.
        """
        known, first = self._skipped.get(what, (0, line))
        self._skipped[what] = known + count, first
        text = f"line {first} {what[0]}"
        if known + count > 1:
            text = f"{known + count} lines {what[1]}, the first is line {first}"
        self.remarks[f"lines {what}"] = Remark(f"{self.name}: {text}", True, touches)
        if known + count == 0:
            del self._skipped[what], self.remarks[f"lines {what}"]

    def keep(self, size_bytes: int) -> None:
        """Count what a reader keeps in memory; raises UsageError for more than `MAX_KEPT`."""
        self._kept_bytes += size_bytes
        if self._kept_bytes > MAX_KEPT:
            raise self.error(
                f"has more values than are held at once ({MAX_KEPT >> 20} MiB): split it into "
                "shorter logs, or leave out columns that are not needed"
            )

    def chunks(self) -> Iterator[bytes]:
        """Yield the file's bytes in pieces, decompressed.

        Raises UsageError for compressed data that grows beyond the size of any log.
        """
        try:
            with self._opener() as raw:
                yield from self._decompressed(raw)
        except OSError as error:
            reason = error.strerror or str(error)
            raise self.error(f"cannot be read: {reason}") from error

    def _decompressed(self, raw: BinaryIO) -> Iterator[bytes]:
        magic = raw.read(6)
        raw.seek(0)
        wrap = next((wrap for start, wrap in _COMPRESSED if magic.startswith(start)), None)
        is_xz = magic == _XZ
        stream: Any = raw if wrap is None else wrap(raw)
        pieces = self._unpacked_xz(raw) if is_xz else iter(partial(stream.read1, _CHUNK_BYTES), b"")
        given = 0
        while True:
            try:
                piece = next(pieces, b"")
            except _DAMAGED as error:
                if not given:
                    raise self.error(f"its compression is damaged: {error}") from error
                self.remark(f"its compressed data is damaged or truncated: {error}")
                return
            if not piece:
                return
            given += len(piece)
            is_packed = wrap is not None or is_xz
            if is_packed and given > max(MAX_UNPACKED, MAX_UNPACKED_RATIO * raw.tell()):
                raise self.error(
                    f"unpacks to over {MAX_UNPACKED >> 20} MiB, more than "
                    f"{MAX_UNPACKED_RATIO} times its size, as no log does: unpack it first if "
                    "it is one"
                )
            if self.on_read is not None:
                self.on_read(raw.tell())
            yield piece

    def _unpacked_xz(self, raw: BinaryIO) -> Iterator[bytes]:
        """One stream behind the other, in memory that has a bound."""
        stream: lzma.LZMADecompressor | None = None
        data = b""
        while True:
            if not data and (stream is None or stream.needs_input):
                data = raw.read(1 << 16)
                if not data and stream is None:
                    return
                if not data:
                    raise EOFError("the file ended before the end of its data")
            if stream is None:
                data = data.lstrip(b"\0")  # what may stand between streams
                if not data:
                    continue
                stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY)
            try:
                piece = stream.decompress(data, _CHUNK_BYTES)
            except lzma.LZMAError as error:
                if "emory" not in str(error):
                    raise
                raise self.error(
                    f"takes over {XZ_MEMORY >> 20} MiB of memory to unpack: unpack it with "
                    "'xz -d' and give the file that comes out"
                ) from error
            data = stream.unused_data if stream.eof else b""
            stream = None if stream.eof else stream
            if piece:
                yield piece

    @property
    def size_bytes(self) -> int:
        """The file's size on disk; 0 where it is not a file or its size is not known."""
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

        Raises UsageError for what is not text.
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
        # a log that lost power often ends in zeros, but none starts with them
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
        # as in lines(): a log that lost power ends in zeros
        head = _with_lf(head.removeprefix(codecs.BOM_UTF8)).replace(b"\0", b"")
        try:
            lines = head.decode().split("\n")
        except UnicodeDecodeError:
            # each line on its own, as in lines(): one may be in another encoding than the next
            lines = [_decode(line) for line in head.split(b"\n")]
        return lines[:-1] if len(self.head) == HEAD_BYTES and len(lines) > 1 else lines

    @cached_property
    def first_character(self) -> str:
        """The first of the text that is not blank; empty where there is none in the head."""
        return next((text[0] for line in self.head_lines if (text := line.strip())), "")

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield number, from 1, and text of each line without its end (LF, CRLF, CR, mixed).

        Zero bytes, which power loss leaves, are left out.
        """
        for number, block in self.blocks():
            yield from self.lines_of(number, block)

    def kept_lines(self) -> Iterator[tuple[int, str]]:
        """Yield what :meth:`lines` does, for a reader that keeps what each line says.

        Raises UsageError as :meth:`keep` does.
        """
        for number, line in self.lines():
            self.keep(KEPT_LINE_BYTES + len(line))
            yield number, line

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield whole lines that stand together: the first one's number, and their bytes.

        In UTF-8 as far as they are text, with LF between them, and none behind the last one.
        """
        number = 1
        rest: list[bytes] = []  # of a line whose end has not come yet
        size = 0
        for piece in self._utf8_pieces():
            rest.append(piece)
            size += len(piece)
            if b"\n" in piece or b"\r" in piece or rest[0].endswith(b"\r"):
                joined = b"".join(rest)
                held = b"\r" if joined.endswith(b"\r") else b""  # its LF may come with the next
                whole, lf, last = _with_lf(joined.removesuffix(held)).rpartition(b"\n")
                if lf:
                    yield number, whole
                    number += whole.count(b"\n") + 1
                rest, size = [last + held], len(last)
            if size > MAX_LINE:
                raise self._too_long(number)
        last = _with_lf(b"".join(rest)).removesuffix(b"\n")
        if last:
            yield number, last

    def _too_long(self, line: int) -> UsageError:
        return self.error(f"is longer than {MAX_LINE >> 20} MiB: no log has such lines", line)

    def lines_of(self, number: int, block: bytes) -> Iterator[tuple[int, str]]:
        """Yield number and text of each line of a block, as :meth:`lines` does."""
        if len(block) <= MAX_LINE:
            with suppress(UnicodeDecodeError):
                text = (block.replace(b"\0", b"") if b"\0" in block else block).decode()
                yield from enumerate(text.split("\n"), number)
                return
        for at, line in enumerate(block.split(b"\n"), number):
            yield at, self._line(line, at)

    def _utf8_pieces(self) -> Iterator[bytes]:
        encoding = self.encoding
        started = False
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        for piece in self.chunks():
            if encoding != "utf-8":
                piece = decoder.decode(piece).encode("utf-8", "replace")
            yield piece if started else piece.removeprefix(codecs.BOM_UTF8)
            started = True

    def _line(self, line: bytes, number: int) -> str:
        if len(line) > MAX_LINE:
            raise self._too_long(number)
        return _decode(line.replace(b"\0", b"") if b"\0" in line else line)

    def documents(self) -> Iterator[Document]:
        """Yield the JSON documents: one, several in a row, those of an array, or one a line.

        Text between them is handed over with the document that follows. A document that the
        file's end cut is left out with a remark. Raises UsageError for JSON that is wrong.
        """
        documents = Documents(self._json, self._cut)
        for number, line in self.lines():
            yield from documents.take(number, line)
            if len(documents.text) > MAX_DOCUMENT:
                raise self.error(
                    f"holds a JSON document of over {MAX_DOCUMENT >> 20} MiB: split it",
                    documents.line,
                )
        if documents.text:
            try:
                last = documents.end()
            except UsageError:
                where = f"line {documents.line}"
                self.remark(f"{where}: the file ends in a JSON document: left out")
                return
            yield last
        self.behind_documents = documents.before

    def document(self) -> Any:
        """Return the only JSON document, whatever the length of its lines; raises UsageError."""
        data = bytearray()
        for piece in self.chunks():
            data += piece
            if len(data) > MAX_DOCUMENT:
                raise self.error(f"holds over {MAX_DOCUMENT >> 20} MiB: split it")
        return self._json(data, 1)

    def _cut(self, line: int) -> None:
        self.remark(f"line {line}: a JSON document is truncated: left out")

    def _json(self, data: bytes | bytearray, line: int) -> Any:
        if data.count(b",") + data.count(b"[") + data.count(b"{") > MAX_JSON_VALUES:
            raise self.error(
                f"holds a JSON document of over {MAX_JSON_VALUES:,} values: split it", line
            )
        try:
            return json_of(data)
        except ValueError as error:
            raise self.error(f"is not valid JSON: {error}", line) from error


def _with_lf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _decode(data: bytes) -> str:
    """UTF-8, or what Windows wrote before it."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
