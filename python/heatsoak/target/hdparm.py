"""Runs hdparm on the descriptor of a claimed drive."""

import re

from heatsoak.errors import ToolError
from heatsoak.target.guard import run_on

_WORDS = re.compile(r"(?:[0-9a-fA-F]{4}\s+){7}[0-9a-fA-F]{4}\s*")


def run(hdparm: str, fd: int, name: object, *options: str) -> str:
    """Return hdparm's output for the drive behind `fd`.

    Raises ToolError with the drive's `name` if hdparm fails. Success does not mean much: hdparm
    also succeeds if the drive rejects the command.
    """
    try:
        done = run_on(fd, hdparm, *options)
    except OSError as error:
        raise ToolError(f"hdparm cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())
        raise ToolError(f"{name}: hdparm failed (exit code {done.returncode}): {said}")
    return done.stdout


def identify(text: str) -> list[int]:
    """Return the 256 words from the output of ``hdparm --Istdout``; raises ValueError otherwise."""
    lines = [line for line in text.splitlines() if _WORDS.fullmatch(line)]
    words = [int(word, 16) for line in lines for word in line.split()]
    if len(words) != 256:
        raise ValueError(f"IDENTIFY DEVICE has 256 words, but hdparm printed {len(words)}")
    return words
