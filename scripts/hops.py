"""Print the calls from `main` to a run's first sample: what a reader follows.

Run it with the Python of a checkout: `.venv/bin/python scripts/hops.py`. fio loads a small file for
it. Stacks are taken where what `--on` names is claimed, and where a sample is read from fio,
recorded and written.
"""

import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

from heatsoak.bench.recorder import Recorder
from heatsoak.cli import main
from heatsoak.recording import RecordingWriter
from heatsoak.target.fio import DirectoryTarget
from heatsoak.target.fio.lane import Lane

stacks: dict[str, list[str]] = {}


def followed(name: str, of: type, method: str) -> None:
    """Keep the stack of the first call of a method in the main thread."""
    function: Callable[..., Any] = getattr(of, method)

    def call(*given: Any, **named: Any) -> Any:
        if name not in stacks and threading.current_thread() is threading.main_thread():
            frames = [f for f in traceback.extract_stack() if "/heatsoak/" in f.filename]
            stacks[name] = [*(f"{Path(f.filename).stem} {f.name}" for f in frames), method]
        return function(*given, **named)

    setattr(of, method, call)


def show(name: str, frames: list[str]) -> None:
    """Print a stack, and which module it enters most often."""
    print(f"{name}: {len(frames)} frames")
    for number, frame in enumerate(frames, 1):
        print(f"  {number:2} {frame}")
    entered = [module for module, _ in groupby(frame.split()[0] for frame in frames)]
    most = max(entered, key=entered.count)
    print(f"  entered most often: {most}, {entered.count(most)} times")


followed("claimed", DirectoryTarget, "_claim")
followed("recorded", Recorder, "record")
followed("read from fio", Lane, "take")
followed("written", RecordingWriter, "append_row")
with tempfile.TemporaryDirectory() as directory:
    protocol = Path(directory, "hops.toml")
    load = 'rw = "write"\nbs = "128k"\nruntime = 1'
    protocol.write_text(f'name = "hops"\nfile_size = "16m"\n[[steps]]\nname = "s"\n{load}\n')
    sys.argv = ["heatsoak", "run", str(protocol), "--on", directory, "-o", f"{directory}/r"]
    try:
        main()
    except SystemExit:
        for name, frames in stacks.items():
            show(name, frames)
