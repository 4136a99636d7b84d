"""The whole Puget matrix, 14 places x 4 workloads x 300 s with pauses: simulated and judged.

Then the four places of one slot again, by one worker and by two.
"""

import resource
import tempfile
import time
from pathlib import Path

from heatsoak.analysis import analyze
from heatsoak.bench.fleet import WORKERS
from heatsoak.bench.session import plan_session
from heatsoak.protocol import apply_settings, load
from heatsoak.recording import Recording
from heatsoak.target import parse_place

DRIVE = "sim:samsung-950-pro-512"


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        cpu_s = own_cpu_s()
        recorded_s, recordings = record(place / "matrix", [], WORKERS)
        cpu_s = own_cpu_s() - cpu_s
        begin = time.perf_counter()
        analyze(recordings)
        judged_s = time.perf_counter() - begin
        simulated_s = sum(recording.meta.duration_s or 0 for recording in recordings)
        size = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
        slot = ["slot=top"]
        one_s, one = record(place / "one", slot, 1)
        two_s, two = record(place / "two", slot, 2)
        same = all(a.samples().equals(b.samples()) for a, b in zip(one, two, strict=True))
    print(
        f"{len(recordings)} recordings, {simulated_s / 3600:.1f} h of the drive's time: simulated "
        f"and recorded in {recorded_s:.1f} s ({simulated_s / recorded_s:,.0f} times real time), "
        f"{cpu_s / len(recordings):.1f} s of a core each; judged in {judged_s:.1f} s, "
        f"{size / 1e6:.1f} MB on disk; {peak_gb():.1f} GB of memory at most"
    )
    print(
        f"{len(one)} recordings by one worker in {one_s:.1f} s, by two in {two_s:.1f} s: "
        f"{one_s / two_s:.2f} times as fast; the same samples: {'yes' if same else 'no'}"
    )


def record(directory: Path, settings: list[str], workers: int) -> tuple[float, list[Recording]]:
    """Return how long the cells took that are left by `settings`, and their recordings."""
    session = plan_session(parse_place(DRIVE), lambda: apply_settings(load("puget"), settings))
    begin = time.perf_counter()
    recordings = session.record(directory, workers=workers)
    return time.perf_counter() - begin, recordings


def own_cpu_s() -> float:
    """Return the time that all threads of this process had a core for."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak_gb() -> float:
    """Return the most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


if __name__ == "__main__":
    main()
