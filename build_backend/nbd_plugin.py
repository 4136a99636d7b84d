"""Builds the plugin that ``heatsoak nbd`` gives to nbdkit, on Linux; says so where that fails."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATE = ROOT / "crates" / "nbd"
PLUGIN = ROOT / "python" / "heatsoak" / "nbd" / "heatsoak_nbd.so"
_LIBRARY = "libheatsoak_nbd.so"


def make_plugin() -> bool:
    """Build the plugin and put it into the package; return whether that could be done.

    Where it cannot, one line on standard error says why: all else works without it.
    """
    if sys.platform != "linux":
        return False  # nbdkit's symbols are found at run time there alone
    if not CRATE.is_dir():
        return PLUGIN.exists() or _without("there is no crates/nbd to build it from")
    cargo = shutil.which("cargo")
    if cargo is None:
        return _without("cargo is missing")
    words = [cargo, "build", "--release", "--quiet", "--package", "heatsoak-nbd"]
    if subprocess.run(words, cwd=ROOT, check=False, stdout=sys.stderr).returncode != 0:
        return _without("'cargo build -p heatsoak-nbd' failed")
    # in its own place first: one that is loaded must not change under its process
    partial = PLUGIN.with_suffix(".partial")
    shutil.copyfile(_target(cargo) / "release" / _LIBRARY, partial)
    partial.replace(PLUGIN)
    return True


def _target(cargo: str) -> Path:
    """Where cargo puts what it builds."""
    words = [cargo, "metadata", "--format-version=1", "--no-deps"]
    told = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    return Path(json.loads(told.stdout)["target_directory"])


def _without(why: str) -> bool:
    print(f"heatsoak is built without the drive that 'heatsoak nbd' serves: {why}", file=sys.stderr)
    return False
