"""The whole live path on an export that something happens to while it runs: fio, recording, judge.

A busy machine delays fio and takes from its rate, so the judge is held against when the load began
and what fio counted; what it was served is known from above alone.
"""

from pathlib import Path

import pytest
from exports import file_export, memory_export, set_rate
from guarded import run
from live_run import load
from needs import needs
from started import started

pytestmark = [pytest.mark.slow, pytest.mark.long, needs("nbdkit", "fio")]

#: A busy machine can still serve this much, in few and large requests.
FULL_MB_S = 40.0


# beside busy neighbours the judge once found nothing, for a reason not known yet
@pytest.mark.soak
@pytest.mark.parametrize("cut_to_mb_s", [24.0, 12.0])
def test_onset_and_depth_of_a_cut_are_found(tmp_path: Path, cut_to_mb_s: float) -> None:
    with memory_export(tmp_path, FULL_MB_S, burst_s=0.3) as (uri, rate):
        made = load(
            tmp_path,
            uri,
            'rw = "write"\nbs = "512k"\niodepth = 4\n',
            32,
            [(12, lambda: set_rate(rate, cut_to_mb_s))],
        )
    (cut_s,) = made.moments_s
    episodes = made.step["episodes"]
    seconds = [made.level("write_bw_mb_s", s, s + 1) for s in range(1, 31)]
    assert episodes, (cut_s, seconds, made.step)
    cut = min(episodes, key=lambda episode: abs(episode["onset_s"] - cut_s))
    before = made.level("write_bw_mb_s", 1.0, cut_s)
    after = made.level("write_bw_mb_s", cut_s + 1.0, cut["end_s"])
    assert before < 1.05 * FULL_MB_S
    assert after < 1.05 * cut_to_mb_s
    assert cut["onset_s"] <= cut_s + 2
    if cut["onset_s"] < cut_s - 2:  # the machine had begun to take from the rate
        assert made.mean("write_bw_mb_s", cut["onset_s"], cut_s) < 0.95 * before
    assert cut["depth_pct"] == pytest.approx(100 * (1 - after / before), abs=5)
    assert any("no temperature" in line for line in cut["evidence"])
    for other in episodes:
        # whatever else was found was there: the machine took it
        assert made.mean("write_bw_mb_s", other["onset_s"], other["end_s"]) < 0.95 * before
    assert made.step["verdict"] == "unknown"


STEPS = """
schema = 1
name = "two"
[[steps]]
name = "first"
rw = "write"
bs = "128k"
io_size = "8m"
[[steps]]
name = "rest"
kind = "pause"
duration = "3s"
[[steps]]
"""
SECOND = {
    "load": 'name = "second"\nrw = "write"\nbs = "128k"\nio_size = "8m"\n',
    "purge": 'name = "second"\nkind = "purge"\n',
}
SIZE = 64 << 20


@pytest.mark.parametrize("erase", [False, True])
@pytest.mark.parametrize("second", SECOND)
def test_a_socket_that_another_server_took_in_a_pause_ends_the_run(
    tmp_path: Path, second: str, *, erase: bool
) -> None:
    (tmp_path / "two.toml").write_text(STEPS + SECOND[second])
    image, other, at = tmp_path / "image", tmp_path / "other", tmp_path / "socket"
    for made in (image, other):
        with made.open("wb") as file:
            file.truncate(SIZE)
    run("mkfs.ext4", "-q", other)
    if erase:
        image.write_bytes(bytes(SIZE))
    with file_export(image, at) as uri:
        words = ["run", "two.toml", "--on", uri, "-o", "r"]
        words[4:4] = ["--erase", f"{uri}:{SIZE}"] if erase else []
        with started(tmp_path, *words) as going:
            going.wait_for_event('"rest"')
            # made beforehand, since the pause is short
            with file_export(other, tmp_path / "second"):
                before = other.read_bytes()
                (tmp_path / "second").replace(at)
                line = going.end(4)
    assert f"{uri}: refusing to write to it: its socket was replaced" in line
    assert other.read_bytes() == before
    assert going.status == "failed"
