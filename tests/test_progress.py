"""What a run tells of itself while it goes on."""

from pathlib import Path

import pytest
from heatsoak.bench.conductor import conduct
from heatsoak.bench.progress import Observer
from heatsoak.bench.recorder import Latest
from heatsoak.protocol import SingleStep, Step
from heatsoak.protocol.source import parse_toml
from heatsoak.target.fio import DirectoryTarget
from heatsoak.units import Size

WRITES_THEN_READS = """
name = "both"
[[steps]]
name = "write"
rw = "write"
bs = "64k"
span = "16MiB"
rate = "40m"
runtime = "1s"
[[steps]]
kind = "pause"
name = "rest"
duration = "1s"
[[steps]]
name = "read"
rw = "read"
bs = "64k"
span = "16MiB"
rate = "20m"
runtime = "2s"
"""


class Readings(Observer):
    """Keeps what is shown as throughput during each step."""

    def __init__(self) -> None:
        self.shown_mb_s: dict[str, list[float]] = {}
        self.step = ""

    def on_step(self, index: int, step: Step, t_s: float) -> None:  # noqa: ARG002
        self.step = step.name

    def on_round(self, step: SingleStep, number: int) -> None: ...

    def on_progress(self, t_s: float, latest: Latest) -> None:  # noqa: ARG002
        mb_s = latest.throughput_mb_s()
        if mb_s is not None:
            self.shown_mb_s.setdefault(self.step, []).append(mb_s)

    def on_note(self, level: str, text: str) -> None: ...


@pytest.mark.slow
def test_what_the_last_load_did_is_not_shown_as_what_this_one_does(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    protocol = parse_toml(WRITES_THEN_READS, "both.toml")
    target = DirectoryTarget(tmp_path / "dir", Size(bytes=64 << 20))
    target.open(writes=True)
    seen = Readings()
    try:
        recording = conduct(protocol, target, {}, tmp_path / "r", sensors=[], observer=seen)
    finally:
        target.close()
    recorded = recording.samples()["read_bw_mb_s"].drop_nulls().to_list()
    assert seen.shown_mb_s["write"]
    assert "rest" not in seen.shown_mb_s
    assert seen.shown_mb_s["read"]
    assert set(seen.shown_mb_s["read"]) <= set(recorded)
