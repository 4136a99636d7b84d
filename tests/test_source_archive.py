"""A source archive holds all that a wheel is built from."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
_BUILD = "import sys, heatsoak_build; heatsoak_build.build_sdist(sys.argv[1])"


def unpacked(place: Path) -> Path:
    """The archive that the build backend makes of this tree, unpacked."""
    pytest.importorskip("maturin")
    words = [sys.executable, "-c", _BUILD, str(place)]
    env = {"PYTHONPATH": str(ROOT / "build_backend"), "PATH": _path()}
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (archive,) = place.glob("*.tar.gz")
    # Debian 12's own Python has no filters for what it extracts
    subprocess.run(["tar", "-xzf", archive, "-C", place], check=True)
    (root,) = (path for path in place.iterdir() if path.is_dir())
    return root


def _path() -> str:
    tools = [sys.executable, shutil.which("cargo"), shutil.which("npm")]
    found = [str(Path(tool).parent) for tool in tools if tool is not None]
    return ":".join([*found, "/usr/bin", "/bin"])


def _tracked(*folders: str) -> set[str]:
    words = ["git", "ls-files", "--", *folders]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("not a checkout")
    return set(done.stdout.splitlines())


@pytest.mark.slow
def test_it_holds_every_file_of_the_program_as_cargo_finds_it(tmp_path: Path) -> None:
    root = unpacked(tmp_path)
    there = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    folders = ("crates", "python/heatsoak", "web", "build_backend", "installed")
    tracked = _tracked(*folders, "Cargo.lock", "pyproject.toml")
    wanted = {name for name in tracked if not name.startswith("web/") or "/src/" in name}
    assert sorted(wanted - there) == []

    # cargo finds every crate in it, and its lock file fits
    words = ["cargo", "metadata", "--no-deps", "--offline", "--locked", "--format-version=1"]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    here = {path.parent.name for path in ROOT.glob("crates/*/Cargo.toml")}
    packages = json.loads(done.stdout)["packages"]
    assert {Path(package["manifest_path"]).parent.name for package in packages} == here
    assert "heatsoak-nbd" in {package["name"] for package in packages}
