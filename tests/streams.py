"""The command line in this process, on streams as a shell gives them: no call waits for a start.

The locale is decided when Python starts: `InAscii` is one process for all calls in another one.
"""

import json
import locale
import os
import pty
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any
from unittest.mock import patch

from command import code_of
from law import breach, within

#: As a container or a cron job may have it, with what Python would do about it switched off.
ASCII_ONLY = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@dataclass(frozen=True)
class Streams:
    """Where standard output and error go, and what the environment says of them.

    Each is ``file``, ``terminal``, ``gone`` (a pipe that nobody reads), ``closed`` (``>&-``) or a
    device to open.
    """

    output: str = "file"
    errors: str = "file"
    env: dict[str, str] = field(default_factory=dict)


def call_on(
    streams: Streams, words: Sequence[str], cwd: Path
) -> "subprocess.CompletedProcess[str]":
    """Run ``heatsoak`` with `words`; return its exit code and what could be read of it."""
    with (
        patch.dict(os.environ, streams.env),
        _standing_in(1, streams.output) as said,
        _standing_in(2, streams.errors) as told,
    ):
        for number, kind in ((1, streams.output), (2, streams.errors)):
            if kind == "closed":
                os.close(number)
        code = code_of(*words, cwd=cwd)
    return subprocess.CompletedProcess(words, code, "".join(said), "".join(told))


def breach_on(streams: Streams, words: Sequence[str], cwd: Path, at_most_s: int) -> str | None:
    """Run ``heatsoak`` with `words`, and return what it did that no call may do."""
    with within(at_most_s):
        done = call_on(streams, words, cwd)
    return breach(done, is_heard=streams.errors in ("file", "terminal"))


@contextmanager
def _standing_in(number: int, kind: str) -> Iterator[list[str]]:
    """Put something else in the place of a stream; the list then gets what was written to it."""
    name = {1: "stdout", 2: "stderr"}[number]
    written: list[str] = []
    before = os.dup(number)
    with tempfile.TemporaryFile() as kept:
        finish = _open(kind, number, kept)
        # Python has no stream where the descriptor was closed
        text = None if kind == "closed" else os.fdopen(
            number, "w", encoding=locale.getencoding(), errors="surrogateescape", closefd=False
        )  # fmt: skip
        try:
            with patch.object(sys, name, text), patch.object(sys, f"__{name}__", text):
                yield written
        finally:
            os.dup2(before, number)
            os.close(before)
            finish()
            kept.seek(0)
            written.append(kept.read().decode("utf-8", "backslashreplace"))


def _open(kind: str, number: int, kept: IO[bytes]) -> Callable[[], object]:
    """Open what stands in for descriptor `number`; return what there is to do at the end."""
    finish: Callable[[], object] = lambda: None  # noqa: E731
    if kind == "file":
        opened = os.dup(kept.fileno())
    elif kind == "gone":
        reader, opened = os.pipe()
        os.close(reader)
    elif kind == "terminal":
        master, opened = pty.openpty()
        drain = threading.Thread(target=_drain, args=(master, kept))
        drain.start()
        finish = drain.join
    else:
        opened = os.open(os.devnull if kind == "closed" else kind, os.O_WRONLY)
    os.dup2(opened, number)
    os.close(opened)
    return finish


def _drain(master: int, kept: IO[bytes]) -> None:
    with suppress(OSError):  # as Linux says that the other side has closed it
        while piece := os.read(master, 1 << 16):
            kept.write(piece)
    os.close(master)


class InAscii:
    """A process in a locale that knows only ASCII, which makes calls as :func:`breach_on` does."""

    def __init__(self) -> None:
        path = os.pathsep.join(filter(None, sys.path))
        self.process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | ASCII_ONLY | {"PYTHONPATH": path},
        )

    def breach_on(
        self, streams: Streams, words: Sequence[str], cwd: Path, at_most_s: int
    ) -> str | None:
        """Make one call; words are given as bytes, which the other locale decodes its own way."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        raw = [os.fsencode(word).decode("latin-1") for word in (*words, str(cwd))]
        self.process.stdin.write(json.dumps([asdict(streams), raw, at_most_s]).encode() + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"the process in an ASCII locale ended during {words}"
        (wrong,) = json.loads(answer)
        return wrong and f"in an ASCII locale: {wrong}"

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def _serve() -> None:
    for line in sys.stdin.buffer:
        streams, raw, at_most_s = json.loads(line)
        *words, cwd = (os.fsdecode(word.encode("latin-1")) for word in raw)
        wrong: Any = breach_on(Streams(**streams), words, Path(cwd), at_most_s)
        os.write(1, json.dumps([wrong]).encode() + b"\n")


if __name__ == "__main__":
    _serve()
