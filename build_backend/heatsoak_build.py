"""The build backend (PEP 517, PEP 660): makes what maturin does not, then hands over to it.

That is the page's bundle and, on Linux, the plugin of ``heatsoak nbd``. The plugin is linked as
maturin links: ``--config-settings build-args="--compatibility manylinux2014 --zig"`` makes a wheel
for any Linux (``make wheel``).
"""

from collections.abc import Mapping
from typing import Any

import maturin
from maturin import (
    get_maturin_pep517_args,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from nbd_plugin import make_plugin
from page_bundle import make_bundle

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


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel in `wheel_directory`, and return its name."""
    make_bundle()
    make_plugin(get_maturin_pep517_args(config_settings))
    name: str = maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
    return name


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel that refers to this tree, and return its name."""
    make_bundle()
    make_plugin(get_maturin_pep517_args(config_settings))
    name: str = maturin.build_editable(wheel_directory, config_settings, metadata_directory)
    return name


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Build a source archive with the bundle in it, and return its name."""
    make_bundle()
    name: str = maturin.build_sdist(sdist_directory, config_settings)
    return name
