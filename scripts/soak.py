"""Runs the tests that draw by chance with one fresh seed after another, for as long as it is given.

``python scripts/soak.py 2h`` stops at the first failure and prints the command that repeats it.
``--seed N`` begins with that seed; the next is one more. Ctrl-C ends it.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path
from secrets import randbelow

from heatsoak.units import parse_seconds

ROOT = Path(__file__).resolve().parent.parent
#: Half of the tests wait for real time, and two of them at once leave room for it.
WORDS = ["-n", "2", "--dist", "worksteal", "-m", "long or soak", "--hypothesis-profile", "soak"]


def main() -> int:
    """Run rounds until the time is over; return 1 if one failed, 130 if interrupted."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("time", help="for how long, such as 2h: the last round is not cut off")
    options.add_argument("--seed", type=int, default=None, help="the first round's seed")
    asked = options.parse_args()
    seed = randbelow(1_000_000) if asked.seed is None else asked.seed
    end_s = time.monotonic() + parse_seconds(asked.time)
    rounds = 0
    try:
        while rounds == 0 or time.monotonic() < end_s:
            print(f"soak: round {rounds + 1}, seed {seed}", flush=True)
            if _round(seed) != 0:
                print(f"soak: seed {seed} fails; again: make soak SOAK='1s --seed {seed}'")
                return 1
            rounds, seed = rounds + 1, seed + 1
    except KeyboardInterrupt:
        print(f"soak: interrupted in round {rounds + 1}, seed {seed}")
        return 130
    print(f"soak: {rounds} rounds passed, the last with seed {seed - 1}")
    return 0


def _round(seed: int) -> int:
    words = [f"--seed={seed}", f"--hypothesis-seed={seed}"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *WORDS, *words], cwd=ROOT, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
