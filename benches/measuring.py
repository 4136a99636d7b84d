"""What measuring costs: fio alone and fio inside heatsoak, in turn, on the same directory."""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from heatsoak.recording import find_recordings

PAIRS = 5
RUNTIME_S = 10
PROTOCOL = f"""
schema = 1
name = "cost"
file_size = "1GiB"
[[steps]]
kind = "precondition"
name = "fill"
rw = "write"
bs = "1m"
iodepth = 8
[[steps]]
name = "read"
rw = "read"
bs = "128k"
iodepth = 32
runtime = "{RUNTIME_S}s"
"""


def main() -> None:
    ratios, shares = [], []
    with tempfile.TemporaryDirectory(dir=".") as directory:
        protocol = Path(directory) / "cost.toml"
        protocol.write_text(PROTOCOL)
        for turn in range(PAIRS):
            inside, cpu_share = heatsoak(protocol, Path(directory), turn)
            alone = fio_alone(Path(directory))
            ratios.append(inside / alone)
            shares.append(cpu_share)
            print(f"pair {turn + 1}: {inside:7.0f} MB/s inside, {alone:7.0f} MB/s alone")
    print(
        f"throughput inside / alone: median {statistics.median(ratios):.3f} "
        f"({min(ratios):.3f} to {max(ratios):.3f}); heatsoak's own CPU while the load runs: median "
        f"{100 * statistics.median(shares):.1f} % of a core"
    )


def heatsoak(protocol: Path, directory: Path, turn: int) -> tuple[float, float]:
    """Return MB/s of the read step, and heatsoak's own CPU time as a share of the step's time."""
    output = directory / f"recording-{turn}"
    command = [sys.executable, "-m", "heatsoak", "run", str(protocol), "--on", str(directory)]
    subprocess.run([*command, "-o", str(output)], check=True, capture_output=True)
    (recording,) = find_recordings(output)
    samples = recording.samples(["step", "t_s", "interval_s", "read_bw_mb_s"])
    rows = samples.filter(samples["step"] == "read").drop_nulls("read_bw_mb_s")
    read_mb = float((rows["read_bw_mb_s"] * rows["interval_s"]).sum())
    (end,) = (e for e in recording.events if e.kind == "step-end" and e.step == "read")
    share = end.data["own_cpu_s"] / end.data["duration_s"]
    return read_mb / float(rows["interval_s"].sum()), share


def fio_alone(directory: Path) -> float:
    """Return MB/s of the same load by fio itself, on a file laid out before."""
    file = directory / "alone.bin"
    options = [
        *("fio", f"--filename={file}", "--size=1g", "--bs=128k", "--iodepth=32", "--thread"),
        *("--ioengine=io_uring", "--direct=1", "--output-format=json"),
    ]
    if not file.exists():
        subprocess.run([*options, "--name=fill", "--rw=write"], check=True, capture_output=True)
    done = subprocess.run(
        [*options, "--name=read", "--rw=read", "--time_based", f"--runtime={RUNTIME_S}"],
        check=True,
        capture_output=True,
    )
    return float(json.loads(done.stdout)["jobs"][0]["read"]["bw_bytes"]) / 1e6


if __name__ == "__main__":
    main()
