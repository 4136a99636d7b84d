"""Sessions in the documentation: commands after ``$``, and what they print.

``python tests/screens.py docs/heatsink.md`` runs a page's sessions again and writes down what
they print now.
"""

import re
import shlex
import sys
import tempfile
from pathlib import Path

from command import heatsoak_here

ROOT = Path(__file__).parents[1]
_SESSION = re.compile(r"(?<=```console\n).+?(?=```)", flags=re.DOTALL)


def sessions_of(page: Path) -> list[str]:
    """Return the sessions of a page."""
    return _SESSION.findall(page.read_text("utf-8"))


def play(session: str, cwd: Path) -> str:
    """Return `session` as it would be today, run in `cwd`.

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
        words, _, most = line.removeprefix("$ heatsoak ").partition(" | head -")
        done = heatsoak_here(*shlex.split(words), cwd=cwd)
        code = done.returncode
        printed = done.stdout.splitlines()
        played += [shown.rstrip() for shown in printed[: int(most) if most else None]]
    return "".join(f"{line}\n" for line in played)


def main() -> None:
    def again(found: re.Match[str]) -> str:
        with tempfile.TemporaryDirectory() as cwd:
            return play(found[0], Path(cwd))

    for page in map(Path, sys.argv[1:]):
        page.write_text(_SESSION.sub(again, page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
