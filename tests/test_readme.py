"""What the README shows works after what the README installs."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from compared import run, steady
from documented import table
from rack_results import make_rack

if TYPE_CHECKING:
    from twinned import Twinned

pytest_plugins = ["twinned"]

ROOT = Path(__file__).resolve().parents[1]
BUNDLE = ROOT / "python/heatsoak/report/page/bundle"
LINES = [row[1].strip("`") for row in table("../README", "you ask")[1:]]
#: What stands in the table for files and directories of the reader's, and small ones of them.
READERS = {
    "RECORDING": "recordings/b1/S01/0",
    "FILE…": str(ROOT / "tests/importer/data/hwinfo/german.csv"),
    "DIR": ".",
    "/mnt/a": ".",
    "/mnt/b": "recordings",
    "slots": "recordings/b1/S01",
}
#: Runs each line of a list in turn, where packages of another list cannot be imported.
WITHOUT = """
import json, sys
from pathlib import Path
lines, packages = (json.loads(text) for text in sys.argv[1:])
sys.modules.update(dict.fromkeys(packages))
from command import heatsoak_here
told = [heatsoak_here(*words, cwd=Path()) for words in lines]
print(json.dumps([(done.returncode, done.stderr) for done in told]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not BUNDLE.exists(), reason="the page's program was not built: no Node")
def test_no_line_of_the_table_asks_for_another_package(twinned: "Twinned", tmp_path: Path) -> None:
    for place in ("recordings", "racks/monday"):
        make_rack(tmp_path / place, hosts=1, visits=2)
    for heatsink in ("bare", "finned"):
        run({"heatsink": heatsink}, steady(2000.0)).save(tmp_path / heatsink)
    (tmp_path / "twin.toml").write_bytes(twinned.path().read_bytes())
    lines = [[READERS.get(word, word) for word in shlex.split(line)[1:]] for line in LINES]
    for words in lines:
        if words[0] == "run" and "--dry-run" not in words:
            words.append("--dry-run")  # gigabytes otherwise
    lines += [["report", READERS["RECORDING"], "-o", f"report.{kind}"] for kind in ("png", "svg")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [need for needs in project["optional-dependencies"].values() for need in needs]
    packages = [re.split(r"[^\w-]", need)[0].replace("-", "_") for need in extras]
    env = os.environ | {"PYTHONPATH": str(ROOT / "tests")}
    words = [sys.executable, "-c", WITHOUT, json.dumps(lines), json.dumps(packages)]
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert [(line, *said) for line, said in zip(lines, told, strict=True) if said[0]] == []
