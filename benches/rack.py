"""Whether the intervals of ``heatsoak rack report`` hold, and how often it names an outlier.

Racks of known effects: 3 models of 8 drives in 4 slots, crossed (each drive in each slot) or nested
(2 drives of each model a slot), with three repeated runs or one. Logarithms of speeds are normal:
slots vary by 8 %, drives of one model by 2 %, runs by 1 %. `python benches/rack.py [RACKS]`.
`python benches/rack.py --growth` says what reports cost on racks of 60 to 6,000 tests, and
`--hosts` what `rack run` takes to follow 10 to 1,000 hosts.
"""

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import heatsoak
import numpy as np
from heatsoak.analysis import RecordingFindings
from heatsoak.analysis.definitions import METRICS
from heatsoak.facts.effects import EffectsFit, Observations
from heatsoak.rack.kept import name_of
from heatsoak.rack.results.compared import Compared, compared
from heatsoak.rack.results.outliers import set_aside
from heatsoak.rack.results.reading import Results, Tested, measured
from heatsoak.rack.results.report import report
from heatsoak.ranges import Range

MODELS, DRIVES, SLOTS = 3, 8, 4
SLOT_SD, DRIVE_SD, RUN_SD = 0.08, 0.02, 0.01
#: What the one slow drive lacks.
SLOWER = 0.1
SLOW = "0-5"
#: The drive whose runs vary, and by how much.
NOISY, NOISY_SD = "2-3", 0.08
#: What a hot slot leaves of the speed of the one model that throttles in it.
HOT = ("1", "2")
LEFT = 0.75
DESIGNS = [(is_crossed, runs) for is_crossed in (True, False) for runs in (3, 1)]


@dataclass(frozen=True)
class Made:
    """A rack, and its true effects by slot and drive."""

    seen: Observations
    slots: dict[str, float]
    drives: dict[str, float]

    @property
    def compared(self) -> Compared:
        return compared({"step": "write", "workload": ""}, "mean_mb_s", self.seen)


def make(
    rng: np.random.Generator,
    *,
    is_crossed: bool,
    runs: int,
    drive_sd: float = DRIVE_SD,
    run_sd: float = RUN_SD,
    slower: float = 0.0,
    is_hot: bool = False,
    is_noisy: bool = False,
) -> Made:
    """Draw a rack; `slower` is what the drive `SLOW` lacks besides.

    Where it `is_noisy`, the runs of one drive vary by `NOISY_SD`.
    Where it `is_hot`, drives of one model throttle in one slot, and those of others do not.
    """
    of_slots = rng.normal(0, SLOT_SD, SLOTS)
    of_slots -= of_slots.mean()
    drives = {f"{m}-{d}": rng.normal(0, drive_sd) for m in range(MODELS) for d in range(DRIVES)}
    rows = []
    for number, (drive, own) in enumerate(drives.items()):
        less = np.log1p(-slower) if drive == SLOW else 0.0
        model = drive.split("-")[0]
        for slot in range(SLOTS) if is_crossed else [number % SLOTS]:
            hot = np.log(LEFT) if is_hot and (model, str(slot)) == HOT else 0.0
            for _ in range(runs):
                own_sd = NOISY_SD if is_noisy and drive == NOISY else run_sd
                value = 8 + of_slots[slot] + own + less + hot + rng.normal(0, own_sd)
                rows.append((value, model, drive, str(slot)))
    values, models, names, slots = map(list, zip(*rows, strict=True))
    seen = Observations(values, models, names, {"slot": slots}, METRICS["mean_mb_s"].resolution)
    return Made(seen, {str(i): one for i, one in enumerate(of_slots)}, drives)


def inside(found: dict[str, Range], true: dict[str, float]) -> float:
    """The share of true effects that are in their intervals."""
    return float(np.mean([true[name] in one for name, one in found.items()]))


def coverage(rng: np.random.Generator, racks: int, **design: float | bool) -> tuple[float, float]:
    """The share of slot effects and of drive effects that are in their intervals."""
    shares = []
    for _ in range(racks):
        made = make(rng, **design)  # type: ignore[arg-type]
        fit = EffectsFit(made.seen)
        slots, drives = fit.places("slot"), fit.drives()
        assert slots is not None
        assert drives is not None
        shares.append((inside(slots, made.slots), inside(drives, made.drives)))
    found = np.mean(shares, axis=0)
    return float(found[0]), float(found[1])


def named(rng: np.random.Generator, racks: int, **design: float | bool) -> tuple[float, float]:
    """The share of racks in which the slow drive is named, and in which any other is."""
    slow = other = 0
    for _ in range(racks):
        (one,) = set_aside([make(rng, **design).compared])  # type: ignore[arg-type]
        slow += SLOW in one.unlike
        other += any(drive != SLOW for drive in one.unlike)
    return slow / racks, other / racks


def print_table(title: str, of_design: Callable[..., Iterable[float]]) -> None:
    """Print a row of shares for each design."""
    print(title)
    for is_crossed, runs in DESIGNS:
        name = f"  {'crossed' if is_crossed else 'nested'}, {runs} run{'s' * (runs > 1)}"
        shares = of_design(is_crossed=is_crossed, runs=runs)
        print(f"{name:24}" + "".join(f"{100 * one:14.1f}" for one in shares))


QUIET = {"drive_sd": 0.01, "run_sd": 0.007}


def noisy(racks: int, **design: float | bool) -> Iterable[float]:
    """How often a drive is said to vary where none does, where one does, and others beside it."""
    rng, counts = np.random.default_rng(3), np.zeros(3)
    for _ in range(racks):
        (none,) = set_aside([make(rng, **QUIET, **design).compared])  # type: ignore[arg-type]
        (one,) = set_aside([make(rng, **QUIET, **design, is_noisy=True).compared])  # type: ignore[arg-type]
        beside = any(drive != NOISY for drive in one.aside)
        counts += bool(none.varies), NOISY in one.varies, beside
    return list(counts / racks)


def hot(racks: int, **design: float | bool) -> Iterable[float]:
    """How often drives are named where one slot slows one model."""
    rng = np.random.default_rng(2)
    none = named(rng, racks, **QUIET, **design, is_hot=True)
    return sum(none), *named(rng, racks, **QUIET, **design, is_hot=True, slower=SLOWER)


def made_rack(tests: int, runs: int) -> Results:
    """Drives of three models, twelve a host, in two steps; each runs in as many slots."""
    rng = np.random.default_rng(tests)
    found = RecordingFindings(path="", drive={}, conditions={}, steps=[], sensors=[], notes=[])
    rack = Results()
    for number in range(tests):
        drive, (host, slot) = number // runs, divmod(number // runs, 12)
        slot = (slot + number % runs) % 12
        own = np.random.default_rng(drive).normal(0, DRIVE_SD) + np.log1p(-SLOWER * (drive == 5))
        rows = [
            {"step": step, "alike": step, "workload": ""}
            | {"mean_mb_s": float(np.exp(8 + slot / 100 + own + rng.normal(0, RUN_SD)))}
            | {"temp_max_c": float(round(50 + host % 9 + slot / 4 + rng.normal(0, 1)))}
            for step in ("write", "read")
        ]
        rack.tests.append(
            Tested(
                **{"host": f"b{host}", "labels": {"host": f"b{host}", "slot": str(slot)}},
                **dict.fromkeys(("drive", "serial"), f"S{drive}"),
                **{"model": f"M{drive % MODELS}", "firmware": None, "recording": str(number)},
                **{"state": "finished", "why": [], "findings": found, "rows": rows},
                values={row["step"]: measured(row) for row in rows},
            )
        )
    return rack


def growth() -> None:
    """Print the processor time and the peak memory of reports, all recordings judged before."""
    print(f"{'tests':>8}{'runs':>6}{'processor, s':>14}{'peak, MB':>10}")
    for tests in (60, 240, 600, 1200, 6000):
        for runs in (1, 2):
            rack, began = made_rack(tests, runs), time.process_time()
            report(rack)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
            print(f"{tests:8}{runs:6}{time.process_time() - began:14.1f}{peak:10.0f}")


TARGET = "sim:samsung-950-pro-512"
#: Answers at once as a host does: its test is started when asked, and has ended at the second look.
HOST = """#!/bin/sh
host=$1 asked=$5 run=$6
echo "$asked" >> "$0.calls"
at=$0.$host
case $asked in
collect) exec head -c 10240 /dev/zero ;;
make) state=running; echo 0 > "$at" ;;
*)
    state=absent
    if [ -e "$at" ]; then
        read -r looks < "$at"
        echo $((looks + 1)) > "$at"
        [ "$looks" -ge 1 ] && state=finished || state=running
    fi ;;
esac
[ $state = absent ] || test=$(printf '{"run": "%s", "name": "%s", "on": "%s", "state": "%s",
    "recording": "/r"}' "$run" NAME TARGET $state)
printf '{"schema_version": 2, "host": "%s", "version": "VERSION", "tests": [%s]}' "$host" "$test"
"""


def following() -> None:
    """Print what the controller takes to start, follow and collect a test on each of many hosts."""
    print(f"{'hosts':>8}{'s':>8}{'processor, s':>14}{'peak, MB':>10}{'looks a host':>14}")
    for hosts in (10, 100, 1000):
        with TemporaryDirectory() as temporary:
            place = Path(temporary)
            known = {"NAME": name_of(TARGET), "TARGET": TARGET, "VERSION": heatsoak.__version__}
            text = HOST
            for name, value in known.items():
                text = text.replace(name, value)
            (place / "by").write_text(text)
            drives = "".join(
                f'[[drive]]\nhost = "b{one}"\non = "{TARGET}"\n' for one in range(hosts)
            )
            (place / "racks.toml").write_text(drives)
            words = ["rack", "run", "quick", "--drives", "racks.toml", "-o", "out"]
            words += ["--by", f"{shutil.which('sh')} {place}/by {{host}}"]
            began = time.monotonic()
            command = [sys.executable, "-m", "heatsoak", *words]
            with subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL) as process:
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            took_s, own_s = time.monotonic() - began, used.ru_utime + used.ru_stime
            looks = (place / "by.calls").read_text().split().count("status") / hosts
        assert process.returncode == 0
        print(f"{hosts:8}{took_s:8.1f}{own_s:14.1f}{used.ru_maxrss / 1000:10.0f}{looks:14.1f}")


def main() -> None:
    if "--hosts" in sys.argv:
        following()
        return
    if "--growth" in sys.argv:
        growth()
        return
    racks = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    rng = np.random.default_rng(1)
    print(f"{racks} racks a line; 95 % intervals that hold, and racks with a drive named, in %")
    print(f"{'':24}{'slots':>14}{'drives':>14}{'false':>14}{'found':>14}{'false beside':>14}")
    for drive_sd, run_sd in ((DRIVE_SD, RUN_SD), (RUN_SD, DRIVE_SD), (0.0, RUN_SD)):
        spread = {"drive_sd": drive_sd, "run_sd": run_sd}

        def shares(spread: dict[str, float] = spread, **design: float | bool) -> Iterable[float]:
            held = coverage(rng, racks, **spread, **design)
            none = named(rng, racks, **spread, **design)
            return *held, min(1.0, sum(none)), *named(rng, racks, **spread, **design, slower=SLOWER)

        print_table(f"drives {drive_sd:.0%}, runs {run_sd:.0%}", shares)
    of = "; drives 1 %, runs 0.7 %; false, found, false beside"
    print_table(f"a slot slows one model by {1 - LEFT:.0%}{of}", partial(hot, racks))
    print_table(f"one drive's runs vary by {NOISY_SD:.0%}{of}", partial(noisy, racks))


if __name__ == "__main__":
    main()
