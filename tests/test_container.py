"""The container: what its image has, and what is said where none can be built."""

import os
import re
import tomllib
from pathlib import Path

import pytest
from command import ran

ROOT = Path(__file__).parent.parent
CONTAINERFILE = (ROOT / "Containerfile").read_text()


def test_its_image_has_every_program_that_heatsoak_asks_for() -> None:
    sources = (path.read_text("utf-8") for path in (ROOT / "python" / "heatsoak").rglob("*.py"))
    packages = {
        name for text in sources for name in re.findall(r'find_tool\("\S+", "(.+)"\)', text)
    }
    assert {"fio", "util-linux", "chromium"} <= packages
    installed = {
        word for line in CONTAINERFILE.splitlines() if line[:1] != "#" for word in line.split()
    }
    assert packages - installed == {"chromium"}  # its comment says why


def test_its_image_has_what_the_optional_parts_need() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    (chosen,) = re.findall(r"\.whl\)\[(.*)\]", CONTAINERFILE)
    assert set(chosen.split(",")) <= set(extras)


@pytest.mark.parametrize(
    ("words", "cwd", "env", "said"),
    [
        (["/bin/sh"], ROOT, {"PATH": "/nowhere", "CONTAINER_ENGINE": ""}, "podman"),
        ([], None, {"CONTAINER_ENGINE": "true"}, "there is no wheel in dist/: make wheel"),
    ],
)
def test_one_line_says_what_is_missing(
    tmp_path: Path, words: list[str], cwd: Path | None, env: dict[str, str], said: str
) -> None:
    done = ran(
        *words, str(ROOT / "scripts" / "container"), cwd=cwd or tmp_path, env={**os.environ, **env}
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert said in line
