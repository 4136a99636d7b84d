"""What a run tells of itself while it goes on."""

from pathlib import Path

import pytest
from heatsoak.target.fio import DirectoryTarget
from heatsoak.units import Size
from observed import Watcher, conducted

WRITES_THEN_READS = """
name = "both"
steps = [
  { name = "write", rw = "write", bs = "64k", span = "16MiB", rate = "40m", runtime = "600ms" },
  { kind = "pause", name = "rest", duration = "600ms" },
  { name = "read", rw = "read", bs = "64k", span = "16MiB", rate = "20m", runtime = "1s" },
]
"""


@pytest.mark.slow
def test_what_the_last_load_did_is_not_shown_as_what_this_one_does(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    target = DirectoryTarget(tmp_path / "dir", Size(bytes=64 << 20))
    target.open(writes=True)
    seen = Watcher()
    try:
        recording = conducted(WRITES_THEN_READS, target, tmp_path / "r", seen)
    finally:
        target.close()
    recorded = recording.samples()["read_bw_mb_s"].drop_nulls().to_list()
    assert seen.shown_mb_s["write"]
    assert "rest" not in seen.shown_mb_s
    assert seen.shown_mb_s["read"]
    assert set(seen.shown_mb_s["read"]) <= set(recorded)
