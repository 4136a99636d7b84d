"""The build backend and the plugin of ``lab nbd``: what it does without one of its tools."""

import sys
from pathlib import Path

import pytest
from command import ran

ROOT = Path(__file__).resolve().parent.parent
PLUGIN = ROOT / "python" / "heatsoak" / "nbd" / "heatsoak_nbd.so"


@pytest.mark.skipif(sys.platform != "linux", reason="the plugin is built on Linux alone")
@pytest.mark.parametrize(
    ("tools", "arguments", "missing"),
    [
        ([], [], "cargo is missing"),
        (["cargo"], ["--zig"], "cargo-zigbuild is missing: pip install"),
        (["cargo"], ["--compatibility", "manylinux_2_28", "--zig"], "cargo-zigbuild is missing"),
    ],
)
def test_one_line_says_which_tool_is_missing_and_what_was_built_stays(
    tmp_path: Path, tools: list[str], arguments: list[str], missing: str
) -> None:
    for tool in tools:
        (tmp_path / tool).symlink_to("/bin/false")  # found, and not to be run
    before = PLUGIN.read_bytes() if PLUGIN.exists() else None
    code = "import sys, nbd_plugin; sys.exit(not nbd_plugin.make_plugin(sys.argv[1:]))"
    done = ran(
        sys.executable,
        "-c",
        code,
        *arguments,
        env={"PATH": str(tmp_path), "PYTHONPATH": str(ROOT / "build_backend")},
    )
    assert done.returncode == 1
    assert missing in done.stderr
    assert done.stderr.count("\n") == 1
    assert (PLUGIN.read_bytes() if PLUGIN.exists() else None) == before
