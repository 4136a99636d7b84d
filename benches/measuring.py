"""What measuring costs: fio alone and fio inside heatsoak, by turns, on the same drive.

Alone it is given the command line that heatsoak gave it, but for the reports while it runs. It runs
alone twice in each round: what the two differ by is what the machine adds. The drive is nbdkit's
memory, as fast as the processor lets it be and at 2 GB/s: a rented disk gives more to whoever let
it rest before. ``python benches/measuring.py [ROUNDS]``.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from heatsoak.recording import find_recordings
from numpy.typing import NDArray
from scipy.stats import bootstrap

Array = NDArray[np.float64]

ROUNDS = 8
DRIVES = {
    "bound by the processor": (),
    "bound by the drive, 2 GB/s": ("--filter=rate", "rate=16000M"),
}
RUNTIME_S = 10
#: The limiter lets pass at once what it has saved in two seconds: all begin with as much.
REST_S = 2.5
PROTOCOL = f"""
schema = 1
name = "cost"
[[steps]]
name = "read"
rw = "read"
bs = "128k"
iodepth = 32
runtime = "{RUNTIME_S}s"
"""


def main(rounds: int = ROUNDS) -> None:
    for name, words in DRIVES.items():
        print(name)
        with tempfile.TemporaryDirectory() as directory:
            compare(Path(directory), words, rounds)


def compare(directory: Path, words: tuple[str, ...], rounds: int) -> None:
    """Print the rounds on one drive, and what they come to."""
    rates: list[list[float]] = []
    shares = []
    (directory / "cost.toml").write_text(PROTOCOL)
    with memory(directory / "socket", words):
        place = f"nbd+unix:///?socket={directory}/socket"
        heatsoak(directory, place, "first")
        command = command_of(directory / "first", place)
        for turn in range(rounds):
            rate = [0.0, 0.0, 0.0]
            for which in np.roll(range(3), turn):  # by turns the first of its round
                if which == 0:
                    rate[0], share = heatsoak(directory, place, str(turn))
                    shares.append(share)
                else:
                    rate[which] = fio(command)
            rates.append(rate)
            inside, alone, again = rate
            print(
                f"round {turn + 1}: {inside:6.0f} MB/s inside, {alone:6.0f} and {again:6.0f} alone"
            )
    inside, alone, again = np.log(np.array(rates)).T
    print(f"throughput inside / alone: {told(inside - (alone + again) / 2)}")
    print(f"alone / alone: {told(alone - again)}")
    print(
        "heatsoak's own processor time while the load runs: median "
        f"{100 * statistics.median(shares):.1f} % of a core"
    )


def told(logs: Array) -> str:
    """Return the mean of logarithms of ratios with its 95 % interval, by bootstrap, as ratios."""
    drawn = bootstrap((logs,), np.mean, method="BCa", rng=1).confidence_interval
    mean, low, high, least, most = np.exp([logs.mean(), *drawn, logs.min(), logs.max()])
    return f"{mean:.3f} (95 %: {low:.3f} to {high:.3f}; single ones {least:.2f} to {most:.2f})"


@contextmanager
def memory(socket: Path, words: tuple[str, ...]) -> Iterator[None]:
    """Serve a GiB of memory at `socket`; `words` are nbdkit's filter and its parameters."""
    filters = [word for word in words if word.startswith("--")]
    rest = [word for word in words if not word.startswith("--")]
    command = ["nbdkit", "--foreground", "--exit-with-parent", "-U", str(socket), *filters]
    with subprocess.Popen([*command, "memory", "1G", *rest]) as server:
        while not socket.exists():
            time.sleep(0.01)
        try:
            yield
        finally:
            server.terminate()


def heatsoak(directory: Path, place: str, turn: str) -> tuple[float, float]:
    """Return MB/s of reading, and heatsoak's own CPU as a share of the step's time."""
    output = directory / turn
    words = ["run", str(directory / "cost.toml"), "--on", place, "-o", str(output)]
    time.sleep(REST_S)
    subprocess.run([sys.executable, "-m", "heatsoak", *words], check=True, capture_output=True)
    (recording,) = find_recordings(output)
    samples = recording.samples(["step", "t_s", "interval_s", "read_bw_mb_s"])
    rows = samples.filter(samples["step"] == "read").drop_nulls("read_bw_mb_s")
    read_mb = float((rows["read_bw_mb_s"] * rows["interval_s"]).sum())
    (end,) = (e for e in recording.events if e.kind == "step-end" and e.step == "read")
    share = end.data["own_cpu_s"] / end.data["duration_s"]
    return read_mb / float(rows["interval_s"].sum()), share


def command_of(directory: Path, place: str) -> list[str]:
    """Return the command line that fio had, but for the reports, and the socket that was held."""
    (recording,) = find_recordings(directory)
    (command,) = (e.data["command"] for e in recording.events if "command" in e.data)
    ours = ("--status-interval=", "--uri=")
    return [*(word for word in command if not word.startswith(ours)), f"--uri={place}"]


def fio(command: list[str]) -> float:
    """Return the MB/s of fio on its own."""
    time.sleep(REST_S)
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    told = json.loads(said[said.index("{") :])  # remarks may come before
    return float(told["jobs"][0]["read"]["bw_bytes"]) / 1e6


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
