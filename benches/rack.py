"""Whether the intervals of ``heatsoak rack report`` hold, and how often it names an outlier.

Racks of known effects: 3 models of 8 drives in 4 slots, crossed (each drive in each slot) or nested
(2 drives of each model a slot), with three repeated runs or one. Logarithms of speeds are normal:
slots vary by 8 %, drives of one model by 2 %, runs by 1 %. `python benches/rack.py [RACKS]`.
"""

import sys
from dataclasses import dataclass

import numpy as np
from heatsoak.facts.effects import EffectsFit, Observations
from heatsoak.rack.results.compared import Compared, compared
from heatsoak.rack.results.outliers import set_aside
from heatsoak.rack.results.reading import MEASURES, StepRow
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
        return compared(StepRow("write", "", "", "steady", {}), MEASURES[0], self.seen)


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
    seen = Observations(values, models, names, {"slot": slots}, MEASURES[0].resolution)
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
        of_slots = dict(zip(fit.levels("slot"), slots, strict=True))
        shares.append((inside(of_slots, made.slots), inside(drives, made.drives)))
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


def noisy_drives(racks: int) -> None:
    """Print how often a drive whose runs vary is said to, and how often others are named."""
    print(f"one drive's runs vary by {NOISY_SD:.0%}; drives 1 %, runs 0.7 %")
    print(f"{'':24}{'false':>8}{'found':>8}{'false beside':>14}")
    for is_crossed, runs in DESIGNS:
        rng = np.random.default_rng(3)
        counts = np.zeros(3)
        for _ in range(racks):
            design = {"is_crossed": is_crossed, "runs": runs, "drive_sd": 0.01, "run_sd": 0.007}
            (none,) = set_aside([make(rng, **design).compared])  # type: ignore[arg-type]
            (one,) = set_aside([make(rng, **design, is_noisy=True).compared])  # type: ignore[arg-type]
            beside = any(drive != NOISY for drive in one.aside)
            counts += bool(none.varies), NOISY in one.varies, beside
        name = f"  {'crossed' if is_crossed else 'nested'}, {runs} run{'s' * (runs > 1)}"
        none_pct, found_pct, beside_pct = 100 * counts / racks
        print(f"{name:24}{none_pct:8.1f}{found_pct:8.1f}{beside_pct:14.1f}")


def hot_slots(racks: int) -> None:
    """Print how often drives are named where one slot slows one model."""
    print(f"a slot slows one model by {1 - LEFT:.0%}; drives 1 %, runs 0.7 %")
    print(f"{'':24}{'false':>8}{'found':>8}{'false beside':>14}")
    for is_crossed, runs in DESIGNS:
        rng = np.random.default_rng(2)
        design = {"is_crossed": is_crossed, "runs": runs, "drive_sd": 0.01, "run_sd": 0.007}
        none = named(rng, racks, **design, is_hot=True)
        one = named(rng, racks, **design, is_hot=True, slower=SLOWER)
        name = f"  {'crossed' if is_crossed else 'nested'}, {runs} run{'s' * (runs > 1)}"
        print(f"{name:24}{100 * sum(none):8.1f}{100 * one[0]:8.1f}{100 * one[1]:14.1f}")


def main() -> None:
    racks = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    rng = np.random.default_rng(1)
    print(f"{racks} racks a line; 95 % intervals that hold, and racks with a drive named, in %")
    print(f"{'':24}{'slots':>8}{'drives':>8}{'false':>8}{'found':>8}{'false beside':>14}")
    for drive_sd, run_sd in ((DRIVE_SD, RUN_SD), (RUN_SD, DRIVE_SD), (0.0, RUN_SD)):
        print(f"drives {drive_sd:.0%}, runs {run_sd:.0%}")
        for is_crossed, runs in DESIGNS:
            design = {"is_crossed": is_crossed, "runs": runs, "drive_sd": drive_sd}
            design["run_sd"] = run_sd
            slots, drives = coverage(rng, racks, **design)
            none = named(rng, racks, **design)
            one = named(rng, racks, **design, slower=SLOWER)
            false = none[0] + none[1]
            name = f"  {'crossed' if is_crossed else 'nested'}, {runs} run{'s' * (runs > 1)}"
            figures = (slots, drives, min(1.0, false), one[0], one[1])
            print(
                f"{name:24}"
                + "".join(
                    f"{100 * one:{w}.1f}" for one, w in zip(figures, (8, 8, 8, 8, 14), strict=True)
                )
            )
    hot_slots(racks)
    noisy_drives(racks)


if __name__ == "__main__":
    main()
