"""What commands cost before they do anything: processor time of their start, beside Python's own.

All take turns, so that what else the machine does disturbs them alike. Modules are compiled before,
as an installation has them. ``python benches/starting.py [ROUNDS]``.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 10
DRIVE = "sim:samsung-950-pro-512"
LOG = Path(__file__).parent.parent / "tests" / "importer" / "data" / "fio" / "each_bw.1.log"


def main(rounds: int = ROUNDS) -> None:
    with tempfile.TemporaryDirectory() as directory:
        recording = Path(directory, "recording")
        cost("-m", "heatsoak", "run", "quick", "--on", DRIVE, "-o", str(recording))
        heatsoak = {
            "heatsoak": (),
            "heatsoak --help": ("--help",),
            "heatsoak --version": ("--version",),
            "heatsoak lab schema": ("lab", "schema"),
            "heatsoak doctor": ("doctor",),
            "heatsoak list drives": ("list", "drives"),
            "heatsoak list protocols": ("list", "protocols"),
            "heatsoak run quick --on sim:... --dry-run": (
                "run",
                "quick",
                "--on",
                DRIVE,
                "--dry-run",
            ),
            "heatsoak analyze RECORDING": ("analyze", str(recording)),
            "heatsoak analyze LOG": ("analyze", str(LOG)),
            "heatsoak report RECORDING": ("report", str(recording), "-o"),
        }
        commands = {
            "python -c pass": ("-c", "pass"),
            **{name: ("-m", "heatsoak", *words) for name, words in heatsoak.items()},
        }
        spent_s: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(rounds + 1):
            for name, words in commands.items():
                page = (str(Path(directory, f"{turn}.html")),) if words[-1] == "-o" else ()
                taken_s = cost(*words, *page)
                if turn:  # the first round compiles
                    spent_s[name].append(taken_s)
    bare_s = min(spent_s["python -c pass"])
    print("processor seconds: best, median; best as multiple of Python's own start")
    for name, taken in spent_s.items():
        best_s = min(taken)
        print(f"{name:42} {best_s:.3f} {statistics.median(taken):.3f} {best_s / bare_s:5.1f}")


def cost(*words: str) -> float:
    """The processor time of Python with `words`, in s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, *words], env=env, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
