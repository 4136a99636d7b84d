"""What may have become of a file that says what a killed run had changed on a drive."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


def _says(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        said = json.loads(file.read_text())
        changed = change(said)
        file.write_text(json.dumps(said if changed is None else changed))

    return damage


def _instead(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        file.rename(file.with_suffix(".kept"))
        make(file)

    return damage


#: By name; each leaves the file such that nothing may be done to a drive on its word.
DAMAGE: dict[str, Callable[[Path], object]] = {
    "garbage": lambda file: file.write_bytes(b"\xff\x00{{{"),
    "cut short": lambda file: os.truncate(file, file.stat().st_size - 3),
    "nested without end": lambda file: file.write_text("[" * 50_000),
    "too long": lambda file: file.write_text(file.read_text() + " " * (1 << 20)),
    "a list": _says(lambda said: [said]),
    "null": lambda file: file.write_text("null"),
    "a serial that is a number": _says(lambda said: said.update(serial=1)),
    "numbers that are texts": _says(
        lambda said: said.update({key: "7" for key in said if key != "serial"})
    ),
    "numbers below 0": _says(
        lambda said: said.update(
            {
                key: [-1, -1] if isinstance(value, list) else -1
                for key, value in said.items()
                if not isinstance(value, str)
            }
        )
    ),
    "nothing but the serial": _says(lambda said: {"serial": said["serial"]}),
    "a directory": _instead(Path.mkdir),
    "a pipe": _instead(os.mkfifo),
    "a link": _instead(lambda file: file.symlink_to(file.with_suffix(".kept"))),
    "a link to nothing": _instead(lambda file: file.symlink_to("/nowhere")),
    "writable by others": lambda file: file.chmod(0o666),
    "a directory that others can write to": lambda file: file.parent.chmod(0o777),
    **(
        {
            "another user's": lambda file: os.chown(file, 65534, 65534),
            "a directory of another user's": lambda file: os.chown(file.parent, 65534, 65534),
        }
        if os.geteuid() == 0
        else {}
    ),
}
