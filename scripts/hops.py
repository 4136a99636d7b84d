"""Print the calls from `main` to the first sample of a simulated run: what a reader follows.

Run it with the Python of a checkout: `.venv/bin/python scripts/hops.py`.
"""

import sys
import tempfile
import traceback
from pathlib import Path

from heatsoak.cli import main
from heatsoak.recording import RecordingWriter


def stop_at_the_first(*_: object) -> None:
    stack = [frame for frame in traceback.extract_stack() if "/heatsoak/" in frame.filename]
    for number, frame in enumerate(stack, 1):
        print(number, Path(frame.filename).stem, frame.name)
    raise KeyboardInterrupt


RecordingWriter.append = stop_at_the_first  # type: ignore[method-assign]
words = ("run", "quick", "--on", "sim:samsung-950-pro-512", "--scale", "0.1", "-o")
sys.argv = ["heatsoak", *words, tempfile.mkdtemp()]
main()
