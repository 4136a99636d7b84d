"""How exactly drops are found: recall, onsets, depths, and false episodes, on made series.

Series with known truth (`tests/made_series.py`): AR(1) noise of 0.6 to 0.95 at 10 Hz and 1 to 8 %,
1 % of samples being dips, ramps of 2 s, gaps, cycles, slides and falls on top of falls.
"""

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from heatsoak.analysis.falls import find_drops

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from made_series import FINE_S, FULL, KINDS, Made, make, observed

#: An onset farther from the truth than this was not found.
MATCH_S = 15.0


@dataclass
class Score:
    """What was found of the true falls of one kind."""

    true: int = 0
    found: int = 0
    false: int = 0
    shapes: int = 0
    hours: float = 0.0
    took_s: float = 0.0
    onset_s: list[float] = field(default_factory=list)
    depth: list[float] = field(default_factory=list)
    missed: list[int] = field(default_factory=list)

    def add(self, made: Made, seed: int) -> None:
        begin = time.process_time()
        drops = find_drops(made.series) or []
        self.took_s += time.process_time() - begin
        self.hours += made.series.duration_s / 3600
        left = list(drops)
        for index, fall in enumerate(made.falls):
            self.true += 1
            near = min(left, key=lambda d: abs(d.onset_s - fall.onset_s), default=None)
            reach_s = 0.25 * (fall.end_s - fall.onset_s) if fall.shape == "slide" else MATCH_S
            if near is None or abs(near.onset_s - fall.onset_s) > reach_s:
                self.missed.append(seed)
                continue
            left.remove(near)
            self.found += 1
            self.onset_s.append(near.onset_s - fall.onset_s)
            self.shapes += near.shape == fall.shape
            if not index:
                self.depth.append(100 * (near.depth - made.depth(fall)))
        self.false += len(left)
        if left:
            self.missed.append(-seed)

    def add_all(self, other: "Score") -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


def score(kind: str, seeds: range, sampling_s: float, duration_s: float = 600.0) -> Score:
    result = Score()
    for seed in seeds:
        result.add(make(kind, seed, sampling_s, duration_s), seed)
    return result


def line(name: str, result: Score) -> str:
    onset = np.abs(result.onset_s) if result.onset_s else np.array([np.nan])
    depth = np.abs(result.depth) if result.depth else np.array([np.nan])
    return (
        f"{name:18s} {result.found:4d}/{result.true:4d}  "
        f"{np.median(onset):6.2f} {np.quantile(onset, 0.95):7.2f}  "
        f"{np.median(depth):6.2f} {np.quantile(depth, 0.95):7.2f}  "
        f"{result.false:5d}  {result.shapes:5d}  {1e3 * result.took_s / result.hours:6.1f}"
    )


def main(seeds: int = 40, verbose: bool = False) -> None:
    print("600 s of each kind   found       onset error, s   depth error, pt  false  shape   ms a")
    print("                                 median  95th %   median  95th %          right   hour")
    for sampling_s in (0.1, 1.0, 5.0):
        total = Score()
        for kind in KINDS:
            result = score(kind, range(1000, 1000 + seeds), sampling_s)
            print(line(f"{kind}, {sampling_s:g} s", result))
            if verbose and result.missed:
                print("      seeds missed, and with a false one (-):", result.missed)
            if kind not in ("slide", "steady"):
                total.add_all(result)
        print(line(f"all falls, {sampling_s:g} s", total))
    print("\nsteady series, AR(1) of 0.6 to 0.95 and 1 to 8 %, dips and gaps")
    for sampling_s, hours, length_s in ((0.1, 60, 3600), (0.1, 15, 300), (1.0, 60, 3600)):
        false = false_episodes(hours, sampling_s, length_s)
        print(f"{hours} h in series of {length_s} s at {sampling_s:g} s: {false} false episodes")
    for kind in ("steady", "governor", "nested"):
        print(f"an hour at 10 Hz, {kind}: {1e3 * an_hour_s(kind):.0f} ms of the processor")


def false_episodes(hours: int, sampling_s: float, length_s: int, seed: int = 5) -> int:
    """Judge steady series of so many hours together; return the false episodes."""
    chance = np.random.default_rng(seed)
    false = 0
    for _ in range(hours * 3600 // length_s):
        series = observed(np.full(round(length_s / FINE_S), FULL), chance, sampling_s, gaps=2)
        false += len(find_drops(series) or [])
    return false


def an_hour_s(kind: str) -> float:
    """The median processor time that 36,000 samples take."""
    made = [make(kind, seed, FINE_S, 3600.0).series for seed in range(5)]
    times = []
    for series in [*made, *made]:
        begin = time.process_time()
        find_drops(series)
        times.append(time.process_time() - begin)
    return float(np.median(times))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40, verbose=True)
