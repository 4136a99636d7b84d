"""Builds the plugin that ``lab nbd`` gives to nbdkit, on Linux; says so where that fails."""

import argparse
import json
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATE = ROOT / "crates" / "nbd"
PLUGIN = ROOT / "python" / "heatsoak" / "nbd" / "heatsoak_nbd.so"
_LIBRARY = "libheatsoak_nbd.so"


@dataclass(frozen=True)
class _Target:
    """What the plugin is built for: a triple of Rust's, and the oldest glibc, where zig links."""

    triple: str | None
    glibc: str | None

    @property
    def build(self) -> list[str]:
        """The command's words after ``cargo``."""
        if self.glibc is None:
            return ["build"] if self.triple is None else ["build", "--target", self.triple]
        return ["zigbuild", "--target", f"{self.triple}.{self.glibc}"]


def make_plugin(maturin_args: Sequence[str] = ()) -> bool:
    """Build the plugin and put it into the package; return whether that could be done.

    It is built as `maturin_args` say that maturin builds the rest: ``--target``, and with ``--zig``
    for the glibc of ``--compatibility``. Where it cannot be, one line on standard error says why:
    all else works without it.
    """
    if sys.platform != "linux":
        return False  # nbdkit's symbols are found at run time there alone
    if not CRATE.is_dir():
        return PLUGIN.exists() or _without("there is no crates/nbd to build it from")
    cargo = shutil.which("cargo")
    if cargo is None:
        return _without("cargo is missing")
    target = _target(maturin_args)
    if target.glibc is not None and shutil.which("cargo-zigbuild") is None:
        return _without("cargo-zigbuild is missing: pip install cargo-zigbuild ziglang")
    words = [cargo, *target.build, "--release", "--quiet", "--package", "heatsoak-nbd"]
    if subprocess.run(words, cwd=ROOT, check=False, stdout=sys.stderr).returncode != 0:
        return _without(f"'cargo {target.build[0]} -p heatsoak-nbd' failed")
    # in its own place first: one that is loaded must not change under its process
    partial = PLUGIN.with_suffix(".partial")
    shutil.copyfile(_built(cargo) / (target.triple or "") / "release" / _LIBRARY, partial)
    partial.replace(PLUGIN)
    return True


def _target(maturin_args: Sequence[str]) -> _Target:
    """What the plugin has to be built for, by the options that maturin gets."""
    options = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    options.add_argument("--zig", action="store_true")
    options.add_argument("--compatibility", "--manylinux", default="manylinux2014")
    options.add_argument("--target")
    asked, _ = options.parse_known_args(list(maturin_args))
    if not asked.zig:
        return _Target(asked.target, None)
    newer = re.fullmatch(r"manylinux_2_(\d+)", asked.compatibility)
    return _Target(
        asked.target or f"{platform.machine()}-unknown-linux-gnu",
        f"2.{newer[1]}" if newer else "2.17",  # maturin's own default is manylinux2014
    )


def _built(cargo: str) -> Path:
    """Where cargo puts what it builds."""
    words = [cargo, "metadata", "--format-version=1", "--no-deps"]
    told = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    return Path(json.loads(told.stdout)["target_directory"])


def _without(why: str) -> bool:
    print(
        f"heatsoak is built without the drive that 'heatsoak lab nbd' serves: {why}",
        file=sys.stderr,
    )
    return False
