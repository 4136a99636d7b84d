"""What several test modules use."""

from importlib.resources import files
from pathlib import Path

import pytest

#: A drive as small as is still one: what it is made of, and 8 GB in place of 512.
SMALL_MODEL = "Samsung SSD 950 PRO 8GB"
_SMALL = {
    'model = "Samsung SSD 950 PRO 512GB"': f'model = "{SMALL_MODEL}"',
    "user_bytes = { value = 512110190592,": "user_bytes = { value = 8001720320,",
    "raw_bytes = { value = 549755813888,": "raw_bytes = { value = 8589934592,",
    "block_bytes = { value = 268435456,": "block_bytes = { value = 4194304,",
}


@pytest.fixture(scope="session")
def small_drive_text() -> str:
    """The 950 PRO's file with 8 GB, for tests that its size does not matter to."""
    text = (files("heatsoak.catalog") / "drives" / "samsung-950-pro-512.toml").read_text("utf-8")
    for old, new in _SMALL.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="session")
def small_drive(small_drive_text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of the small drive's file."""
    path = tmp_path_factory.mktemp("drives") / "small.toml"
    path.write_text(small_drive_text, "utf-8")
    return path
