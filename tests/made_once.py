"""What takes long to make is made once for all processes of a run of the tests."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from heatsoak import system


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return the directory `name`, which the first to ask for it has filled by `make`."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # each worker has a part of its own of the run's directory
    directory, begun = base / name, base / f"{name}.begun"
    with (base / f"{name}.lock").open("a") as lock:
        system.lock(lock.fileno(), wait=True)
        if not directory.exists():
            shutil.rmtree(begun, ignore_errors=True)
            begun.mkdir()
            make(begun)
            begun.rename(directory)
    return directory
