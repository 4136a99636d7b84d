"""Which programs are run: what others could have planted is never run as root."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import complaint, heatsoak, ran
from heatsoak.errors import ToolError
from heatsoak.tools import VARIABLE, environment, find_tool
from needs import needs, needs_root
from other_user import as_other_user

TINY = '[[steps]]\nname = "w"\nrw = "write"\nbs = "64k"\nio_size = "1m"\n'


def planted(directory: Path, *names: str, mode: int = 0o755) -> Path:
    """Make programs that tell by a file that they were run, before they do what they are for."""
    directory.mkdir(exist_ok=True)
    for name in names:
        real = shutil.which(name, path="/usr/sbin:/usr/bin") or "false"
        program = directory / name
        program.write_text(f'#!/bin/sh\n: > "{directory}/ran-{name}"\nexec {real} "$@"\n')
        program.chmod(mode)
    return directory


def were_run(directory: Path) -> list[str]:
    return sorted(path.name.removeprefix("ran-") for path in directory.glob("ran-*"))


def tried(tmp_path: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    """Run a protocol that writes little, in an environment."""
    (tmp_path / "tiny.toml").write_text(f'name = "tiny"\nfile_size = "4m"\n{TINY}')
    words = ("run", "tiny.toml", "--on", ".", "-o", "r")
    return heatsoak(*words, cwd=tmp_path, env={**os.environ, **env})


@needs_root
@pytest.mark.slow
@needs("fio")
def test_roots_runs_take_programs_of_its_own_directory_and_none_that_others_can_change(
    tmp_path: Path,
) -> None:
    names = ("fio", "setpriv", "fallocate", "nvme", "blkid", "hdparm")
    path = planted(tmp_path / "bin", *names)
    env = {"PATH": f"{path}:{os.environ['PATH']}"}
    done = tried(tmp_path, **env)
    assert done.returncode == 0, done.stderr
    assert heatsoak("list", "drives", cwd=tmp_path, env={**os.environ, **env}).returncode == 0
    assert were_run(path) == []
    shutil.rmtree(tmp_path / "r")
    path = planted(tmp_path / "own", "fio", "setpriv")
    done = tried(tmp_path, **{VARIABLE: str(path)})
    assert done.returncode == 0, done.stderr
    assert were_run(path) == ["fio", "setpriv"]


@needs_root
@pytest.mark.parametrize("what", ["directory", "above", "program", "owner", "relative"])
def test_a_directory_that_others_can_change_is_refused_to_root(tmp_path: Path, what: str) -> None:
    above = tmp_path / "above"
    above.mkdir()
    path = planted(above / "bin", "fio")
    if what == "owner":
        os.chown(path, 65534, 65534)
    elif what != "relative":
        {"directory": path, "above": above, "program": path / "fio"}[what].chmod(0o777)
    named = "above/bin" if what == "relative" else str(path)
    assert VARIABLE in complaint(tried(tmp_path, **{VARIABLE: named}), 3)
    assert were_run(path) == []


@needs_root
def test_what_is_not_installed_or_passed_over_is_said_and_gets_no_path_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ToolError, match="no-such-tool is not installed: apt-get install some-pack"):
        find_tool("no-such-tool", "some-package")
    path = planted(tmp_path / "bin", "gpu-burn")
    monkeypatch.setenv("PATH", f"{path}:{os.environ['PATH']}")
    with pytest.raises(ToolError, match=f"{tmp_path}/bin/gpu-burn is not run as root: see"):
        find_tool("gpu-burn", "gpu-burn")
    assert str(tmp_path) not in environment()["PATH"]


def test_any_other_user_runs_what_is_on_his_path(tmp_path: Path) -> None:
    path = planted(tmp_path / "bin", "my-own-tool", "blkid")
    program = "from heatsoak.tools import which; print(which('my-own-tool'), which('blkid'))"
    env = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}
    env.pop(VARIABLE, None)
    done = ran(
        *as_other_user(sys.executable, "-c", program, sees=[path]), cwd="/", env=env, check=True
    )
    own, system = done.stdout.split()
    assert own == str(path / "my-own-tool")
    assert system == shutil.which("blkid", path="/usr/sbin:/usr/bin:/sbin:/bin")
