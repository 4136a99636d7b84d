"""A source archive holds all that a wheel is built from."""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from command import ran

ROOT = Path(__file__).resolve().parent.parent
_BUILD = "import sys, heatsoak_build; heatsoak_build.build_sdist(sys.argv[1])"


def backend(code: str, *words: str) -> None:
    """Run some of the build backend, which has the times of files from the environment."""
    pytest.importorskip("maturin")
    env = {"PYTHONPATH": str(ROOT / "build_backend"), "PATH": _path()}
    env["SOURCE_DATE_EPOCH"] = "1700000000"
    line = [sys.executable, "-c", code, *words]
    done = ran(*line, cwd=ROOT, env=env)
    assert done.returncode == 0, done.stderr


def made(place: Path) -> Path:
    """The archive that the build backend makes of this tree."""
    backend(_BUILD, str(place))
    (archive,) = place.glob("*.tar.gz")
    return archive


def unpacked(place: Path) -> Path:
    """The same, unpacked."""
    archive = made(place)
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
    done = ran(*words, cwd=ROOT)
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
    done = ran(*words, cwd=root)
    assert done.returncode == 0, done.stderr
    here = {path.parent.name for path in ROOT.glob("crates/*/Cargo.toml")}
    packages = json.loads(done.stdout)["packages"]
    assert {Path(package["manifest_path"]).parent.name for package in packages} == here
    assert "heatsoak-nbd" in {package["name"] for package in packages}


@pytest.mark.slow
def test_made_again_it_is_the_same_byte_for_byte(tmp_path: Path) -> None:
    archives = []
    for name in ("once", "again"):
        (tmp_path / name).mkdir()
        archives.append(made(tmp_path / name).read_bytes())
    assert archives[0] == archives[1]


_FORGET = (
    "import sys, pathlib, heatsoak_build as b\nb._forget_this_directory(pathlib.Path(sys.argv[1]))"
)


def test_a_wheel_does_not_tell_the_directory_that_it_was_built_in(tmp_path: Path) -> None:
    sbom, record = "x.dist-info/sboms/x.json", "x.dist-info/RECORD"
    text = f'{{"bom-ref": "path+{ROOT.as_uri()}/crates/drive"}}'
    wheel = tmp_path / "x.whl"
    with ZipFile(wheel, "w") as built:
        for name in ("x.py", sbom):
            built.writestr(name, text)
        built.writestr(record, f"x.py,sha256=abc,3\n{sbom},sha256=abc,3\n{record},,\n")
    backend(_FORGET, str(wheel))
    with ZipFile(wheel) as left:
        assert left.namelist() == ["x.py", sbom, record]
        held = left.read(sbom)
        assert json.loads(held)["bom-ref"] == "path+file:///heatsoak/crates/drive"
        digest = base64.urlsafe_b64encode(hashlib.sha256(held).digest()).decode().rstrip("=")
        said = left.read(record).decode().splitlines()
        assert said == ["x.py,sha256=abc,3", f"{sbom},sha256={digest},{len(held)}", f"{record},,"]
