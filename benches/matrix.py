"""The whole Puget matrix, 14 places x 4 workloads x 300 s with pauses: simulated and judged."""

import tempfile
import time
from pathlib import Path

from heatsoak.analysis import analyze
from heatsoak.bench.session import Session
from heatsoak.protocol import load
from heatsoak.target import parse_place


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        begin = time.perf_counter()
        session = Session(parse_place("sim:samsung-950-pro-512"), lambda: load("puget"))
        recordings = session.record(Path(directory) / "matrix")
        recorded_s = time.perf_counter() - begin
        begin = time.perf_counter()
        analyze(recordings)
        judged_s = time.perf_counter() - begin
        simulated_s = sum(recording.meta.duration_s or 0 for recording in recordings)
        size = sum(file.stat().st_size for file in Path(directory).rglob("*") if file.is_file())
    print(
        f"{len(recordings)} recordings, {simulated_s / 3600:.1f} h of the drive's time: simulated "
        f"and recorded in {recorded_s:.1f} s ({simulated_s / recorded_s:,.0f} times real time), "
        f"judged in {judged_s:.1f} s, {size / 1e6:.1f} MB on disk"
    )


if __name__ == "__main__":
    main()
