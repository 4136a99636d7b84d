"""The first line of output answers the question: each of docs/questions.md is asked."""

import re
import shlex
from pathlib import Path

import pytest
from command import heatsoak_here

ROOT = Path(__file__).parents[1]
DOC = (ROOT / "docs/questions.md").read_text()
QUESTIONS = re.findall(r"\*\*(.+?)\*\*\n\n```\nheatsoak (.+?)\n```\n> (.+)\n", DOC)
#: What four kinds of users type, and what they see.
SCREENS = re.findall(r"```console\n(.+?)```", DOC, flags=re.DOTALL)


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


def test_there_are_four_people() -> None:
    assert len(SCREENS) == 4


@pytest.mark.slow
@pytest.mark.parametrize("screen", SCREENS, ids=["owner", "reviewer", "logs", "job"])
def test_people_see_the_screens_that_the_page_shows(screen: str, tmp_path: Path) -> None:
    code = 0
    for shown in re.split(r"^\$ ", screen, flags=re.MULTILINE)[1:]:
        command, _, expected = shown.partition("\n")
        if command == "echo $?":
            assert expected == f"{code}\n"
            continue
        words, _, most = command.partition(" | head -")
        full = [str(ROOT / word) if word.startswith("tests/") else word for word in words.split()]
        done = heatsoak_here(*full[1:], cwd=tmp_path)
        code = done.returncode
        lines = done.stdout.replace(f"{ROOT}/", "").splitlines()[: int(most) if most else None]
        assert [line.rstrip() for line in lines] == expected.splitlines()
