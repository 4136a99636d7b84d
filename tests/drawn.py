"""Cases drawn by their numbers: a failure names its number, and the environment takes it alone."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

#: Names the only case to be taken, whose files then stay.
VARIABLE = "HEATSOAK_FUZZ_CASE"


def take(numbers: range, case: Callable[[int, Path], str | None], directory: Path) -> None:
    """Take cases, each with a directory of its own to be made; fail with all that is wrong."""
    one = os.environ.get(VARIABLE)
    wrong = []
    for number in numbers if one is None else [int(one)]:
        place = directory / str(number)
        if (told := case(number, place)) is not None:
            wrong.append(told)
        if one is None:
            shutil.rmtree(place)
    assert not wrong, f"{len(wrong)} of {len(numbers)} cases:\n" + "\n".join(wrong)
