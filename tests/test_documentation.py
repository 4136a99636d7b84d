"""The documentation holds together: links lead somewhere, and every page can be found."""

import re
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from heatsoak.cli.commands import COMMANDS
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[1]
MARKDOWN = MarkdownIt("gfm-like", {"linkify": False})


def _pages() -> list[Path]:
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
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
    assert named - set(COMMANDS) == set()
