"""The documentation holds together: links lead somewhere, pages are found, first commands work."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import distribution
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit
from zipfile import ZipFile

import pytest
from command import ran
from heatsoak.cli.commands import COMMANDS
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ROOT / "python"
BUNDLE = Path("python/heatsoak/report/page/bundle")
MARKDOWN = MarkdownIt("gfm-like", {"linkify": False})


def _pages() -> list[Path]:
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    done = ran(*words, cwd=ROOT)
    if done.returncode != 0:
        return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
    return [ROOT / name for name in done.stdout.splitlines() if (ROOT / name).exists()]


PAGES = _pages()


def _tokens(page: Path) -> Iterator[Token]:
    for token in MARKDOWN.parse(page.read_text("utf-8")):
        yield token
        yield from token.children or ()


def _links(page: Path) -> list[str]:
    found = [token.attrGet("href") or token.attrGet("src") for token in _tokens(page)]
    return [str(link) for link in found if link is not None]


def _anchors(page: Path) -> set[str]:
    """What GitHub makes of headings: no case, no punctuation, numbered if it was there before."""
    anchors: set[str] = set()
    tokens = MARKDOWN.parse(page.read_text("utf-8"))
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open":
            continue
        text = "".join(part.content for part in inline.children or ())
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        count = sum(
            re.fullmatch(rf"{re.escape(slug)}(-\d+)?", other) is not None for other in anchors
        )
        anchors.add(f"{slug}-{count}" if slug in anchors else slug)
    return anchors


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_link_leads_to_a_file_and_to_a_heading_in_it(page: Path) -> None:
    broken = []
    for link in _links(page):
        parts = urlsplit(link)
        if parts.scheme:
            continue
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        is_there = target.is_file() and target.is_relative_to(ROOT)
        if not is_there or (parts.fragment and parts.fragment not in _anchors(target)):
            broken.append(link)
    assert broken == []


def test_every_page_is_in_the_index_by_topic_once() -> None:
    _, _, topics = (ROOT / "docs/index.md").read_text("utf-8").partition("\n## By topic\n")
    listed = re.findall(r"^- \[.+?\]\(([a-z-]+\.md)\)", topics, flags=re.MULTILINE)
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert len(listed) == len(set(listed))
    assert pages - set(listed) == set()


def test_every_command_of_the_index_is_one_of_the_program() -> None:
    text = (ROOT / "docs/index.md").read_text("utf-8") + (ROOT / "README.md").read_text("utf-8")
    named = set(re.findall(r"\bheatsoak ([a-z]+)", "\n".join(re.findall(r"`heatsoak .+?`", text))))
    assert named - {name for rows in COMMANDS.values() for name in rows} == set()


#: What is left out of a first command, since it is tested elsewhere or is this very run.
INSTEAD = {
    # two minutes of load: the wheel's test does it
    ".venv/bin/heatsoak run quick --on .": ".venv/bin/heatsoak run quick --on . --dry-run",
    # the set-up, and pytest's line for one module; what is borrowed has no script in .venv/bin
    "make test": "make .venv/.tested .venv/.tools && make --dry-run test > planned && "
    "grep -q '^cargo test' planned && "
    'eval "$(sed -n "s:/pytest:/python -m pytest:p" planned) -n 0 tests/test_units.py"',
}


@pytest.mark.long
@pytest.mark.timeout(1500)
@pytest.mark.skipif(
    shutil.which("git") is None or not (ROOT / ".git").exists(), reason="not a checkout"
)
def test_the_first_commands_of_the_readme_work_in_a_fresh_clone(tmp_path: Path) -> None:
    """It borrows what this checkout has compiled and installed: nothing is downloaded."""
    clone = tmp_path / "a clone" / "heatsoak"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    if (ROOT / BUNDLE).exists():
        (clone / BUNDLE).mkdir()
        for file in (ROOT / BUNDLE).iterdir():
            shutil.copyfile(file, clone / BUNDLE / file.name)
    env = _lent(tmp_path)
    block = next(token for token in _tokens(clone / "README.md") if token.type == "fence")
    commands = [line.partition("#")[0].strip() for line in block.content.splitlines()]
    assert {"make demo", *INSTEAD} == set(commands)
    said = {}
    for command in commands:
        done = ran("bash", "-ec", INSTEAD.get(command, command), cwd=clone, env=env)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        said[command] = done.stdout
    assert "of 14 onsets" in said["make demo"]
    assert len(list((clone / "heatsoak-demo").glob("*/recording.json"))) == 14
    assert (clone / "heatsoak-demo/report.html").exists() == (ROOT / BUNDLE).exists()
    # the program is the clone's own
    where = [".venv/bin/python", "-c", "import heatsoak; print(heatsoak.__file__)"]
    found = subprocess.run(where, cwd=clone, env=env, capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()).is_relative_to(clone)


def _lent(directory: Path) -> dict[str, str]:
    """Return an environment in which pip finds all that heatsoak needs, and a wheel of it."""
    packages = directory / "packages"
    packages.mkdir()
    for one in Path(sysconfig.get_path("purelib")).iterdir():
        if not one.name.startswith("heatsoak"):
            (packages / one.name).symlink_to(one)
    about = distribution("heatsoak")
    tag = (about.read_text("WHEEL") or "").rpartition("Tag: ")[2].strip()
    wheel = directory / f"heatsoak-{about.version}-{tag}.whl"
    with ZipFile(wheel, "w") as archive:
        for name in ("METADATA", "WHEEL", "entry_points.txt"):
            text = about.read_text(name) or ""
            archive.writestr(f"heatsoak-{about.version}.dist-info/{name}", text)
        for library in PACKAGES.rglob("*.so"):
            archive.write(library, library.relative_to(PACKAGES))
    # what tells make, pytest and Python that they run below others of them is not passed on
    inherited = re.compile("PYTHON|PYTEST|MAKE|MFLAGS|VIRTUAL_ENV")
    return {
        **{name: value for name, value in os.environ.items() if not inherited.match(name)},
        "PYTHON": sys.executable,
        "PYTHONPATH": str(packages),
        "PATH": os.pathsep.join([os.environ["PATH"], str(Path(sys.executable).parent)]),
        "WHEEL": str(wheel),
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads it as the option's value: no isolation
    }
