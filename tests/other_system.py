"""Runs heatsoak as on another operating system; on that system itself, just runs it.

What Windows and macOS lack is taken from typeshed, the stubs of Python's own library that mypy
comes with: they say for each name on which systems it is there.
"""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from command import heatsoak

#: Where `sitecustomize` is.
HOOKS = Path(__file__).with_name("other_systems")
#: Modules of which something is there on some systems only.
MODULES = (
    *("os", "signal", "socket", "select", "time", "errno", "stat", "mmap", "shutil", "subprocess"),
    *("threading", "multiprocessing", "asyncio", "tempfile", "platform", "ctypes", "sys"),
)
#: Modules that are there on some systems only, and readline, of which the stubs do not say so.
WHOLE = (
    *("fcntl", "termios", "pwd", "grp", "resource", "pty", "tty", "syslog", "posix", "curses"),
    *("readline", "crypt", "spwd", "nis", "msvcrt", "winreg", "winsound", "_winapi"),
)
WITHOUT_STUBS = {"win32": {"readline"}}
#: A part of the stubs says "not on Windows" where macOS has it; these it has not.
OF_LINUX = {"darwin": {"os": {"pidfd_open", "memfd_create", "eventfd", "O_TMPFILE", "O_DIRECT"}}}


def lacks(platform: str) -> dict[str, Any]:
    """Return the names and modules that Linux has and `platform` lacks."""
    more = OF_LINUX.get(platform, {})
    names = {
        module: sorted(
            (_names(module, "linux") - _names(module, platform)) | more.get(module, set())
        )
        for module in MODULES
    }
    gone = {module for module in WHOLE if not _names(module, platform)}
    return {
        "platform": platform,
        "names": {module: found for module, found in names.items() if found},
        "modules": sorted(gone | WITHOUT_STUBS.get(platform, set())),
    }


def write_lacks(platform: str, directory: Path) -> Path:
    """Write what a platform lacks to a new file in `directory`."""
    path = directory / f"{platform}.json"
    path.write_text(json.dumps(lacks(platform)), "utf-8")
    return path


def environment(lacks_file: Path, encoding: str = "cp1252") -> dict[str, str]:
    """Return the environment that shows heatsoak another system, with a console of its encoding."""
    paths = [str(HOOKS), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONIOENCODING": encoding,
        "PYTHONWARNDEFAULTENCODING": "1",
        "HEATSOAK_TESTS_SYSTEM": str(lacks_file),
        "HEATSOAK_DEBUG": "1",
    }


#: Runs one command after the other: most of what a command takes is its start.
_EACH = """
import json, sys
from pathlib import Path
from command import heatsoak_here
for line in sys.stdin:
    words, cwd = json.loads(line)
    done = heatsoak_here(*words, cwd=Path(cwd), encoding="cp1252")
    sys.stdout.write(json.dumps([done.returncode, done.stdout, done.stderr]) + "\\n")
    sys.stdout.flush()
"""


class Shell:
    """A process that is shown another system, and runs ``heatsoak`` there as often as asked."""

    def __init__(self, lacks_file: Path) -> None:
        known = environment(lacks_file)
        paths = [known["PYTHONPATH"], str(Path(__file__).parent)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _EACH],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**known, "PYTHONPATH": os.pathsep.join(paths)},
        )

    def run(self, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run ``heatsoak`` with `words`."""
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        asked.write(json.dumps([words, str(cwd)]) + "\n")
        asked.flush()
        return subprocess.CompletedProcess(words, *json.loads(answers.readline()))

    def end(self) -> None:
        self._process.communicate()


def run(
    lacks_file: Path | None, *words: str, cwd: Path, **kwargs: Any
) -> subprocess.CompletedProcess[str]:
    """Run ``heatsoak`` as on the system of that file; None is the system that this is."""
    if lacks_file is None:
        return heatsoak(*words, cwd=cwd, **kwargs)
    return heatsoak(*words, cwd=cwd, env=environment(lacks_file), encoding="cp1252", **kwargs)


def _names(module: str, platform: str) -> set[str]:
    """The names that a module's stub defines on a platform."""
    found = find_spec("mypy")
    assert found is not None
    assert found.origin is not None
    stubs = Path(found.origin).parent / "typeshed" / "stdlib"
    path = stubs / f"{module}.pyi"
    path = path if path.exists() else stubs / module / "__init__.pyi"
    if not path.exists():  # of an older Python
        return set()
    return {
        name
        for name in _defined(ast.parse(path.read_text("utf-8")).body, platform)
        if name not in {"sys", "annotations"} and not (name.startswith("_") and name != "_exit")
    }


def _defined(body: list[ast.stmt], platform: str) -> Iterator[str]:
    for one in body:
        if isinstance(one, ast.If):
            chosen = one.body if _holds(one.test, platform) else one.orelse
            yield from _defined(chosen, platform)
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield one.name
        elif isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            yield one.target.id
        elif isinstance(one, ast.Assign):
            yield from (target.id for target in one.targets if isinstance(target, ast.Name))
        elif isinstance(one, ast.ImportFrom):
            # what a stub imports as itself, or all of, is its own as well
            for alias in one.names:
                if alias.name == "*" and one.module is not None and one.level == 0:
                    yield from _names(one.module, platform)
                elif alias.asname == alias.name or (one.module or "").startswith(
                    ("_socket", "_curses")
                ):
                    yield alias.asname or alias.name


def _holds(test: ast.expr, platform: str) -> bool:
    """Whether a stub's condition on platform and version holds."""
    code = compile(ast.Expression(test), "stub", "eval")

    class Sys:
        version_info = sys.version_info

    Sys.platform = platform  # type: ignore[attr-defined]
    try:
        return bool(eval(code, {"sys": Sys, "TYPE_CHECKING": True}))
    except NameError:
        return True
