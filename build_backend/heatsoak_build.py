"""The build backend (PEP 517, PEP 660): makes what maturin does not, then hands over to it.

That is the page's bundle, a wheel's manual pages and, on Linux, the plugin of ``lab nbd``. It is
linked as maturin links:
``--config-settings build-args="--compatibility manylinux2014 --zig"`` makes a wheel for any Linux
(``make wheel``). An editable install with ``--config-settings wheel=FILE`` builds
nothing: it takes what is compiled, and what describes the package, out of that wheel.
"""

import base64
import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import maturin
from maturin import (
    get_maturin_pep517_args,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from nbd_plugin import make_plugin
from page_bundle import ROOT, make_bundle

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Settings = Mapping[str, Any] | None
#: What an editable install puts on Python's path.
PACKAGES = ROOT / "python"
#: Among the data files of a wheel.
MAN_PAGES = ROOT / "installed" / "data" / "share" / "man" / "man1"


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """Return what maturin needs, and heatsoak, of whose help the manual pages are made."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [*maturin.get_requires_for_build_wheel(config_settings), *project["dependencies"]]


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel in `wheel_directory`, and return its name."""
    make_bundle()
    make_plugin(get_maturin_pep517_args(config_settings))
    with tempfile.TemporaryDirectory() as unused:
        # what is compiled goes into this tree, where the pages' maker imports it
        maturin.build_editable(unused, config_settings)
    _make_man_pages()
    name: str = maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
    _forget_this_directory(Path(wheel_directory, name))
    return name


def _forget_this_directory(wheel: Path) -> None:
    """Take this tree's place out of what lists a wheel's parts: pip's is another each time."""
    with zipfile.ZipFile(wheel) as built:
        parts = [(info, built.read(info)) for info in built.infolist()]
    changed = {}
    with zipfile.ZipFile(wheel, "w") as made:
        for info, data in parts:  # RECORD is the last
            if "/sboms/" in info.filename:
                data = data.replace(ROOT.as_uri().encode(), b"file:///heatsoak")
                changed[info.filename] = data
            elif info.filename.endswith(".dist-info/RECORD"):
                lines = [_recorded(line, changed) for line in data.decode().splitlines()]
                data = "".join(f"{line}\n" for line in lines).encode()
            made.writestr(info, data)


def _recorded(line: str, changed: Mapping[str, bytes]) -> str:
    """A line of RECORD, of what a file holds now."""
    name = line.rsplit(",", 2)[0]
    if name not in changed:
        return line
    digest = base64.urlsafe_b64encode(hashlib.sha256(changed[name]).digest()).decode().rstrip("=")
    return f"{name},sha256={digest},{len(changed[name])}"


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel that refers to this tree, and return its name."""
    make_bundle()
    built = (config_settings or {}).get("wheel")
    if built is not None:
        return _editable_of(Path(built), Path(wheel_directory))
    make_plugin(get_maturin_pep517_args(config_settings))
    name: str = maturin.build_editable(wheel_directory, config_settings, metadata_directory)
    return name


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Build a source archive with the bundle in it, and return its name."""
    make_bundle()
    name: str = maturin.build_sdist(sdist_directory, config_settings)
    return name


def _make_man_pages() -> None:
    """Make the manual pages of the package in this tree; say so where that fails."""
    words = [sys.executable, str(ROOT / "build_backend" / "man_pages.py"), str(MAN_PAGES)]
    env = {**os.environ, "PYTHONPATH": str(PACKAGES)}
    if subprocess.run(words, env=env, check=False).returncode != 0:
        print("heatsoak is built without manual pages: see above", file=sys.stderr)


def _editable_of(wheel: Path, directory: Path) -> str:
    """Put the libraries of `wheel` into this tree; make a wheel that refers to it."""
    with zipfile.ZipFile(wheel) as built, zipfile.ZipFile(directory / wheel.name, "w") as made:
        names = built.namelist()
        built.extractall(PACKAGES, [name for name in names if name.endswith(".so")])
        about = [name for name in names if ".dist-info/" in name and not name.endswith("/RECORD")]
        for name in about:
            made.writestr(name, built.read(name))
        made.writestr("heatsoak.pth", f"{PACKAGES}\n")
        record = f"{about[0].partition('/')[0]}/RECORD"
        listed = [*about, "heatsoak.pth", record]
        made.writestr(record, "".join(f"{name},,\n" for name in listed))
    return wheel.name
