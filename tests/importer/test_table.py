"""Every log is read as the table says."""

from pathlib import Path

import pytest
from samples import CASES, check


@pytest.mark.parametrize("name", CASES)
def test_a_log_is_read_as_the_table_says(name: str, tmp_path: Path) -> None:
    check(CASES[name], tmp_path)
