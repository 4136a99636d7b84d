"""Sessions in the documentation: commands after ``$``, and what they print.

``python tests/screens.py docs/heatsink.md`` runs a page's sessions again and writes down what
they print now.
"""

import hashlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from command import heatsoak_here

ROOT = Path(__file__).parents[1]
_SESSION = re.compile(r"(?<=```console\n).+?(?=```)", flags=re.DOTALL)


def sessions_of(page: Path) -> list[str]:
    """Return the sessions of a page."""
    return _SESSION.findall(page.read_text("utf-8"))


#: Gives the directory of a name, filled by a function if it is not there yet.
Shelf = Callable[[str, Callable[[Path], object]], Path]


def simulated(words: Sequence[str], cwd: Path, shelf: Shelf) -> subprocess.CompletedProcess[str]:
    """Do what ``heatsoak`` would with `words`, a run on simulated drives, which is made once.

    Pages show the same runs; only ``-o`` differs. The shelf has their recordings and output.
    """
    at = words.index("-o") + 1
    place, same = words[at], [*words[:at], "made", *words[at + 1 :]]

    def make(directory: Path) -> None:
        done = heatsoak_here(*same, cwd=directory)
        (directory / "code").write_text(str(done.returncode))
        (directory / "stdout").write_text(done.stdout, "utf-8")

    kept = shelf(f"run-{hashlib.sha256(repr(same).encode()).hexdigest()[:12]}", make)
    shutil.copytree(kept / "made", cwd / place)
    said = re.sub(r"\bmade\b", place, (kept / "stdout").read_text("utf-8"))
    return subprocess.CompletedProcess(words, int((kept / "code").read_text()), said, "")


def play(session: str, cwd: Path, shelf: Shelf) -> str:
    """Return `session` as it would be today, run in `cwd`; simulated runs come from `shelf`.

    Files below ``tests/`` are those of the checkout; ``| head -N`` cuts, ``echo $?`` works.
    """
    (cwd / "tests").symlink_to(ROOT / "tests")
    code = 0
    played = []
    for line in session.splitlines():
        if not line.startswith("$ "):
            continue
        played.append(line)
        if line == "$ echo $?":
            played.append(str(code))
            continue
        typed, _, most = line.removeprefix("$ heatsoak ").partition(" | head -")
        words = shlex.split(typed)
        is_simulated = words[0] == "run" and "sim:" in typed
        done = simulated(words, cwd, shelf) if is_simulated else heatsoak_here(*words, cwd=cwd)
        code = done.returncode
        printed = done.stdout.splitlines()
        played += [shown.rstrip() for shown in printed[: int(most) if most else None]]
    return "".join(f"{line}\n" for line in played)


def main() -> None:
    with tempfile.TemporaryDirectory() as kept:

        def shelf(name: str, make: Callable[[Path], object]) -> Path:
            if not (directory := Path(kept, name)).exists():
                directory.mkdir()
                make(directory)
            return directory

        def again(found: re.Match[str]) -> str:
            with tempfile.TemporaryDirectory() as cwd:
                return play(found[0], Path(cwd), shelf)

        for page in map(Path, sys.argv[1:]):
            page.write_text(_SESSION.sub(again, page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
