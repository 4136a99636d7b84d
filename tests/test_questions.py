"""What the documentation says that heatsoak prints is what it prints."""

import re
import shlex
from functools import partial
from pathlib import Path

import pytest
from command import heatsoak_here
from made_once import made_once
from screens import Shelf, play, sessions_of, simulated

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DOC = (DOCS / "index.md").read_text("utf-8")
QUESTIONS = re.findall(r"\*\*(.+?)\*\*\n\n```\nheatsoak (.+?)\n```\n> (.+)\n", DOC)
#: Sessions of all pages, each by its page and number.
SESSIONS = [
    (page.name, number)
    for page in sorted(DOCS.glob("*.md"))
    for number in range(len(sessions_of(page)))
]


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return partial(made_once, tmp_path_factory)


def test_there_are_ten_questions() -> None:
    assert len(QUESTIONS) == 10


@pytest.mark.slow
@pytest.mark.parametrize(("question", "words", "answer"), QUESTIONS)
def test_the_first_line_answers_the_question(
    question: str, words: str, answer: str, tmp_path: Path, shelf: Shelf
) -> None:
    command = [
        str(ROOT / word) if word.startswith("tests/") else word for word in shlex.split(words)
    ]
    done = (
        simulated([*command, "-o", "r"], tmp_path, shelf)
        if "run" in command
        else heatsoak_here(*command, cwd=tmp_path)
    )
    assert done.returncode == 0
    first = done.stdout.splitlines()[0]
    assert first.startswith(answer), question


@pytest.mark.slow
@pytest.mark.parametrize(("page", "number"), SESSIONS, ids=[f"{p}-{n}" for p, n in SESSIONS])
def test_people_see_what_the_page_shows(
    page: str, number: int, tmp_path: Path, shelf: Shelf
) -> None:
    session = sessions_of(DOCS / page)[number]
    assert play(session, tmp_path, shelf) == session


def test_every_page_that_answers_a_question_shows_what_is_printed() -> None:
    assert {page for page, _ in SESSIONS} >= {
        *("running.md", "copying.md", "which-slot.md", "heatsink.md"),
        *("importing.md", "sensors.md"),
    }
