"""Makes the page's program and styles out of ``web/``, where Node is; says so where it is not.

``python build_backend/page_bundle.py`` does it if a source has changed; with a word, such as
``lint`` or ``test``, it runs that script of ``web/package.json`` instead.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
PAGE = ROOT / "python" / "heatsoak" / "report" / "page"
BUNDLE = (PAGE / "bundle" / "page.js", PAGE / "bundle" / "page.css")
#: What is read when the bundle is made, besides ``web/``.
SHARED = (PAGE / "palette.json",)
#: What npm writes once it has put everything in its place.
_INSTALLED = WEB / "node_modules" / ".package-lock.json"


def make_bundle() -> bool:
    """Make the bundle unless it is there and no source is newer; return whether it is there.

    Where it cannot be made, one line on standard error says why: all else works without it.
    """
    if is_fresh():
        return True
    if not WEB.is_dir():
        return _without("there is no web/ to build it from")
    failed = run("build")
    if failed is None:
        return True
    return _without(failed)


def is_fresh() -> bool:
    """Whether the bundle is there and as new as all that it is made of."""
    if not all(path.is_file() for path in BUNDLE):
        return False
    made_at = min(path.stat().st_mtime for path in BUNDLE)
    return all(path.stat().st_mtime <= made_at for path in sources())


def sources() -> Iterator[Path]:
    """Yield what the bundle is made of."""
    for path in WEB.glob("*"):
        if path.is_file():
            yield path
        elif path.name != "node_modules" and not path.name.startswith("."):
            yield from (below for below in path.rglob("*") if below.is_file())
    yield from (path for path in SHARED if path.exists())


def run(script: str) -> str | None:
    """Run a script of ``web/package.json``; return why that was not possible, None if it was."""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is missing (install Node 20 or newer: apt-get install nodejs npm)"
    if not _is_installed():
        words = [npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"]
        installed = subprocess.run(words, cwd=WEB, check=False, capture_output=True, text=True)
        if installed.returncode != 0:
            return f"'npm ci' failed in web/ ({_first_line(installed.stderr)})"
    done = subprocess.run([npm, "run", "--silent", script], cwd=WEB, check=False, stdout=sys.stderr)
    return None if done.returncode == 0 else f"'npm run {script}' failed in web/"


def _first_line(said: str) -> str:
    """What went wrong, without what npm says of how to use it."""
    lines = [line.removeprefix("npm error").strip() for line in said.splitlines()]
    return next((line for line in lines if line), "it does not say why")


def _is_installed() -> bool:
    locked = WEB / "package-lock.json"
    return _INSTALLED.exists() and _INSTALLED.stat().st_mtime >= locked.stat().st_mtime


def _without(why: str) -> bool:
    has_older = all(path.is_file() for path in BUNDLE)
    then = (
        "keeps its older program" if has_older else "is left out: 'heatsoak report' makes no .html"
    )
    print(f"heatsoak: warning: {why}; the page {then}", file=sys.stderr)
    return has_older


def main(words: list[str]) -> int:
    """Make the bundle, or run scripts; without Node both only warn."""
    if not words:
        make_bundle()
        return 0
    for script in words:
        if shutil.which("npm") is None or not WEB.is_dir():
            print(f"heatsoak: warning: no npm, so 'npm run {script}' is left out", file=sys.stderr)
        elif (failed := run(script)) is not None:
            print(f"heatsoak: {failed}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
