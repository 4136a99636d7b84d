"""What holds for every call of the command line, whatever it was given."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType

#: The exit codes of the contract: all is well, a limit, the user's words, a tool, safety, Ctrl-C.
CODES = (0, 1, 2, 3, 4, 130)


#: What a progress bar writes to a terminal: colours, and moves of the cursor.
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


def breach(done: subprocess.CompletedProcess[str], *, is_heard: bool = True) -> str | None:
    """Return what a call did that none may do; None where it ended as it should.

    `is_heard` is whether its standard error could be read.
    """
    said = _ESCAPES.sub("", done.stderr)
    if "internal error" in said:
        return f"{said.strip()}\n{_details(said)}"
    if "Traceback" in said or "panicked at" in said or "Warning:" in said:
        return said
    if done.returncode not in CODES:
        return f"exit code {done.returncode}: {said}"
    told = [line for line in said.splitlines() if line.startswith("heatsoak: ")]
    if is_heard and done.returncode in (2, 3, 4) and not told:
        return f"exit code {done.returncode} without a word: {said!r}"
    formats = [after for word, after in pairwise(done.args) if word == "--format"]
    if formats and formats[-1] == "json" and done.stdout:
        try:
            json.loads(done.stdout, parse_constant=_refuse)
        except ValueError as error:
            return f"no JSON: {error}: {done.stdout[:1000]}"
    return None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number in JSON")


def _details(said: str) -> str:
    name = re.search(r"the details in (\S+)", said)
    if name is None:
        return ""
    file = Path(name[1])
    text = file.read_text("utf-8")
    file.unlink()
    return text


class TooLong(BaseException):
    """What was called hangs."""


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise TooLong in what takes longer."""

    def stop(_: int, __: FrameType | None) -> None:
        raise TooLong(f"takes more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
