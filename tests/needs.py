"""What tests need of the machine, and are skipped without."""

import os
import shutil
from pathlib import Path

import pytest

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def needs(*tools: str) -> pytest.MarkDecorator:
    """Skip where one of these programs, or files, is not there."""
    missing = [tool for tool in tools if not (shutil.which(tool) or Path(tool).is_file())]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")
