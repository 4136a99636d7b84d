"""Every log is read as the table says."""

from pathlib import Path

import pytest
from samples import CASES, DATA, FILES, HERE, check


@pytest.mark.parametrize("name", CASES)
def test_a_log_is_read_as_the_table_says(name: str, tmp_path: Path) -> None:
    check(CASES[name], tmp_path)


def test_each_file_of_data_is_in_the_table() -> None:
    table = (HERE / "expect.toml").read_text("utf-8")
    names = [path.relative_to(DATA).as_posix() for path in FILES]
    assert [name for name in names if name not in table] == []
