"""How commands grow with their input: processor seconds and peak memory, and the power of the size.

``python benches/growth.py [NAME...]``, of `GROWING`. The power is that by which the time grew since
the line before, a start of Python and heatsoak taken off. ``rack.py --growth`` has racks.
"""

import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PUGET = ("run", "puget", "--scale", "0.05", "--on", "sim:samsung-950-pro-512", "-o")
#: Settings that leave so many of Puget's places.
PLACES = {1: "slot=top,gpus=1,gpu_load=idle", 4: "slot=top", 14: ""}
#: Drives of one kind, of so many TB.
DRIVES = {
    0.5: "skhynix-p41-500",
    1: "skhynix-p41-1tb",
    2: "kingston-kc3000-2tb",
    4: "kingston-kc3000-4tb",
}
Words = Sequence[str]


def of_logs(*words: str, count: float, place: Path) -> Words:
    """A command with so many logs of five minutes; every second drive falls."""
    chance = np.random.default_rng(1)
    for number in range(int(count)):
        mb_s = chance.normal(500, 5, 300)
        mb_s[150:] *= 0.5 if number % 2 else 1.0
        write(place / f"logs/{number:04}.csv", mb_s)
    return [word.format(place=place) for word in words]


def of_rows(low: float, count: float, place: Path) -> Words:
    """A log of so many seconds, each second one as low."""
    mb_s = np.random.default_rng(1).normal(500, 5, int(count))
    mb_s[1::2] *= low
    write(place / "logs/log.csv", mb_s)
    return ("analyze", str(place / "logs"))


def write(path: Path, mb_s: NDArray[np.float64]) -> None:
    path.parent.mkdir(exist_ok=True)
    rows = "".join(f"{t_s},{each:.2f}\n" for t_s, each in enumerate(mb_s, 1))
    path.write_text(f"time_s,write_mb_s\n{rows}")


def of_places(reports: bool, count: float, place: Path) -> Words:
    """Puget's matrix in so many places; or the report of it."""
    settings = [word for one in PLACES[int(count)].split(",") if one for word in ("--set", one)]
    run = [*PUGET, str(place / "matrix"), *settings]
    if not reports:
        return run
    cost(run)
    return ("report", str(place / "matrix"), "-o", str(place / "x.html"))


MANY, LONG, MATRIX = (10, 100, 1000), (1e4, 1e5, 1e6), tuple(PLACES)
GROWING: dict[str, tuple[Sequence[float], Callable[..., Words]]] = {
    "analyze logs": (MANY, partial(of_logs, "analyze", "{place}/logs")),
    "report logs as CSV": (MANY, partial(of_logs, "report", "{place}/logs", "-o", "{place}/x.csv")),
    "analyze rows that hold": (LONG, partial(of_rows, 1.0)),
    "analyze rows high and low": (LONG, partial(of_rows, 0.3)),
    "run places": (MATRIX, partial(of_places, False)),
    "report places": (MATRIX, partial(of_places, True)),
    "predict TB": (tuple(DRIVES), lambda count, **_: ("predict", DRIVES[count], "--for", "30m")),
}


def cost(words: Words) -> tuple[float, float]:
    """Processor seconds and peak MB of a command."""
    command = [sys.executable, "-m", "heatsoak", *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def main(names: Sequence[str] = ()) -> None:
    start_s = min(cost(["list", "protocols"])[0] for _ in range(3))
    print(f"{'':28}{'size':>10}{'processor, s':>14}{'peak, MB':>10}{'power':>8}")
    for name in names or GROWING:
        sizes, words_of = GROWING[name]
        before: tuple[float, float] | None = None
        for size in sizes:
            with tempfile.TemporaryDirectory() as directory:
                took_s, peak_mb = cost(words_of(count=size, place=Path(directory)))
            own_s = max(took_s - start_s, 0.01)
            power = math.log(own_s / before[1], size / before[0]) if before else math.nan
            print(f"{name:28}{size:10g}{took_s:14.2f}{peak_mb:10.0f}{power:8.2f}", flush=True)
            before = size, own_s


if __name__ == "__main__":
    main(sys.argv[1:])
