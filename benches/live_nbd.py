"""The whole live path against the simulator's own truth: fio, sensors, recording, judge.

The simulated 950 PRO is served at up to 200 MB/s, in hot places, in real time, and loaded by
``heatsoak run`` with fio. What the judge says of onset and depth is held against what the drive
knows about itself. Ten runs take seventeen minutes: ``python benches/live_nbd.py [TIME_FACTOR]``.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DRIVE, SPEED_MB_S = "samsung-950-pro-512", 200
RUNS = [
    ("puget-bottom-2gpu-loaded", "write"),
    ("puget-bottom-2gpu-loaded", "read"),
    ("puget-top-1gpu-loaded", "write"),
    ("puget-top-1gpu-loaded", "read"),
    ("puget-underside-1gpu-loaded", "write"),
    ("puget-underside-1gpu-loaded", "read"),
    ("puget-top-2gpu-idle", "write"),
    ("puget-bottom-2gpu-idle", "write"),
    ("puget-top-2gpu-loaded", "write"),
    ("laptop", "write"),
]
RUNTIME_S = 100
LAST_S = 60
ONSET_S, DEPTH_POINTS = 2.0, 5.0


@dataclass(frozen=True)
class Fall:
    """When a rate began to fall, in s from the load's start, and how far it fell at last."""

    onset_s: float
    depth_pct: float


def main(time_factor: float = 1.0) -> None:
    print(
        f"{DRIVE} at {SPEED_MB_S} MB/s, time passes {time_factor:g} times as fast; "
        "seconds are the host's, percent of the rate before"
    )
    heads = f"{'true onset':>11}{'found':>8}{'true depth':>12}{'found':>8}"
    print(f"{'place':29}{'load':6}{heads}  verdict")
    good = 0
    for place, rw in RUNS:
        true, step = run(place, rw, time_factor)
        found = fall(step)
        good += found is not None and is_close(true, found)
        said = f"{'none':>8}" if found is None else f"{found.onset_s:8.1f}"
        depth = f"{'':8}" if found is None else f"{found.depth_pct:8.1f}"
        print(
            f"{place:29}{rw:6}{true.onset_s:11.1f}{said}{true.depth_pct:12.1f}{depth}  "
            f"{step['verdict']}{others(step)}",
            flush=True,
        )
    print(
        f"within {ONSET_S:g} s and {DEPTH_POINTS:g} points of the drive's own truth: "
        f"{good} of {len(RUNS)}"
    )


def is_close(true: Fall, found: Fall) -> bool:
    """Whether what was found is near enough to what is true."""
    late_s = abs(found.onset_s - true.onset_s)
    return late_s <= ONSET_S and abs(found.depth_pct - true.depth_pct) <= DEPTH_POINTS


def fall(step: dict[str, Any]) -> Fall | None:
    """The fall that lasted longest, whatever the judge takes for its cause."""
    if not step["episodes"]:
        return None
    longest = max(step["episodes"], key=length_s)
    return Fall(longest["onset_s"], longest["depth_pct"])


def length_s(episode: dict[str, Any]) -> float:
    """How long a fall lasted."""
    return float(episode["end_s"] - episode["onset_s"])


def others(step: dict[str, Any]) -> str:
    """The falls beside it, such as those that a busy machine makes."""
    told = sorted(step["episodes"], key=length_s)[:-1]
    said = [f"{one['cause']} at {one['onset_s']:.1f} s for {length_s(one):.1f} s" for one in told]
    return f" (also {', '.join(said)})" if said else ""


def run(place: str, rw: str, time_factor: float) -> tuple[Fall, dict[str, Any]]:
    """Load a fresh drive in `place`: what it knows about itself, and what is found."""
    with tempfile.TemporaryDirectory(prefix="heatsoak-bench-") as name:
        own = Path(name)
        protocol = own / "load.toml"
        protocol.write_text(
            'schema = 1\nname = "load"\n[[steps]]\nname = "load"\n'
            f'rw = "{rw}"\nbs = "128k"\niodepth = 32\nruntime = "{RUNTIME_S}s"\n'
        )
        with served(own, place, time_factor):
            words = ["run", str(protocol), "--on", f"nbd+unix:///?socket={own / 'socket'}"]
            words += ["--sensors", str(own / "sensors"), "-o", str(own / "r"), "--format", "json"]
            done = subprocess.run(
                [sys.executable, "-m", "heatsoak", *words], capture_output=True, text=True
            )
        if done.returncode:
            raise SystemExit(done.stderr)
        (step,) = json.loads(done.stdout)["recordings"][0]["steps"]
        return truth(own / "sensors" / "truth.jsonl", rw), step


@contextmanager
def served(own: Path, place: str, time_factor: float) -> Iterator[None]:
    """Serve the drive while the block runs."""
    words = ["lab", "nbd", DRIVE, "--place", place, "--socket", str(own / "socket")]
    words += ["--speed", f"{SPEED_MB_S}MB", "--time-factor", str(time_factor)]
    words += ["--sensors", str(own / "sensors")]
    with subprocess.Popen(
        [sys.executable, "-m", "heatsoak", *words], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        for line in server.stdout:
            if "Ctrl-C" in line:
                break
        try:
            yield
        finally:
            server.terminate()
    if server.returncode:
        raise SystemExit(f"heatsoak lab nbd has ended with exit code {server.returncode}")


def truth(file: Path, rw: str) -> Fall:
    """What the drive did, by its own rates and its governor, on the host's clock."""
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    rows = [line for line in lines if "t_s" in line]
    rate = f"{rw}_bw_mb_s"
    top = max(row[rate] for row in rows)
    loaded = [row for row in rows if row[rate] > 0.05 * top]
    while loaded[0][rate] < 0.5 * top:  # what looks at the export before the load
        del loaded[0]
    length_s = rows[1]["unix_s"] - rows[0]["unix_s"]
    start_s, end_s = loaded[0]["unix_s"] - length_s, loaded[-1]["unix_s"]
    # a mean of ones over a row is not always one
    onset = next(row for row in loaded if row["sim.permitted"] < 1 - 1e-6)
    onset_s = onset["unix_s"] - length_s - start_s
    before = [row[rate] for row in loaded[1:] if row["unix_s"] < onset["unix_s"]]
    last = [row[rate] for row in loaded[:-1] if row["unix_s"] > end_s - LAST_S]
    return Fall(onset_s, 100 * (1 - (sum(last) / len(last)) / (sum(before) / len(before))))


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
