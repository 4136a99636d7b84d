"""The first line of output answers the question: each of docs/questions.md is asked."""

import re
import shlex
from pathlib import Path

import pytest
from command import heatsoak_here

ROOT = Path(__file__).parents[1]
QUESTIONS = re.findall(
    r"\*\*(.+?)\*\*\n\n```\nheatsoak (.+?)\n```\n> (.+)\n", (ROOT / "docs/questions.md").read_text()
)


def test_there_are_ten_questions() -> None:
    assert len(QUESTIONS) == 10


@pytest.mark.slow
@pytest.mark.parametrize(("question", "words", "answer"), QUESTIONS)
def test_the_first_line_answers_the_question(
    question: str, words: str, answer: str, tmp_path: Path
) -> None:
    command = [
        str(ROOT / word) if word.startswith("tests/") else word for word in shlex.split(words)
    ]
    done = heatsoak_here(*command, *(["-o", "r"] if "run" in command else []), cwd=tmp_path)
    assert done.returncode == 0
    first = done.stdout.splitlines()[0]
    assert first.startswith(answer), question
