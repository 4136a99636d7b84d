"""Fits what findings are worth to labelled drops of three worlds: ``make weights``.

Those of the corpus, which the simulator makes; those of ``heatsoak_dev.elsewhere``, which knows
nothing of it; and its lookalikes: development seeds of all. Before the fit it says how often
answers are right at some thresholds, of drops of worlds that had no part in it: each kind of
lookalike is left out alone, and so are the corpus and the usual situations.

Writes `python/heatsoak/analysis/cause/weights.toml`; takes some minutes. ``--keep FILE`` keeps the
drops, and takes them from there the next time.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import heatsoak.analysis.cause as cause_package
import numpy as np
import tomlkit
from heatsoak.analysis.cause import Case, Judgement
from heatsoak.analysis.cause.weigh import CAUSES, OTHER, WeightTable, table
from heatsoak.analysis.steps import judged_drops
from heatsoak.analysis.view import RecordingView, siblings_of
from heatsoak.errors import HeatsoakError
from heatsoak.importer import Options, open_all
from heatsoak.recording import Recording
from heatsoak_dev import elsewhere
from heatsoak_dev.corpus import DEVELOPMENT, make
from heatsoak_dev.elsewhere.truth import NAMES, Fall, Truth
from heatsoak_dev.weights import as_toml, fit_weights
from scipy.stats import binomtest

FILE = Path(cause_package.__file__).parent / "weights.toml"
#: A drop that was found this far from a true one is that one.
NEAR_S, NEAR_SHARE = 5.0, 0.1
#: Falls that have no name in the table.
_VAGUE = ("cleaning", "commits", "drift", "patrol")


@dataclass(frozen=True)
class Row:
    """A drop of a case: what was seen, and its cause.

    Attributes:
        world: what is left out of a fit together.
        is_known: whether somebody who has only the files could tell the cause.
        has_temp: whether a temperature was seen to move.
        is_part: whether it is a further fall within one of heat: fitted, and not scored.
    """

    world: str
    seed: int
    seen: list[tuple[str, str]]
    cause: str
    is_known: bool
    has_temp: bool
    is_part: bool


def drops_of(opened: Sequence[RecordingView]) -> Iterator[tuple[int, Case, Judgement]]:
    """Yield each judged drop, with the number of its recording."""
    for number, one in enumerate(opened):
        for view in one.views:
            others = [other for other in one.views if other is not view]
            for case, judgement in judged_drops(view, others, siblings_of(one, opened)):
                yield number, case, judgement


#: A cause, whether it is known, and whether it is a part.
Label = tuple[str, bool, bool]


def row_of(world: str, seed: int, case: Case, judgement: Judgement, label: Label) -> Row:
    """Return a labelled drop."""
    seen = [finding.pair for finding in judgement.findings]
    cause, is_known, is_part = label
    return Row(world, seed, seen, cause, is_known, case.has_temp, is_part)


def read(folder: Path, truth: Truth) -> list[Recording]:
    """Return what a user would read of a case's files; nothing, if they are refused."""
    try:
        return open_all([folder / name for name in truth.files], Options())
    except HeatsoakError:
        return []


def rows_elsewhere(world: str, seed: int) -> list[Row]:
    """Return the drops of a case that the simulator did not make, as its logs are read."""
    rows = []
    with tempfile.TemporaryDirectory() as place:
        truth = elsewhere.make(seed, Path(place), world=world)
        # a drive that slows for a heat that is not there is seen by no temperature
        found = [] if truth.situation == "stuck sensor" else read(Path(place), truth)
        opened = [RecordingView(recording) for recording in found]
    kind = "heat" if truth.situation.startswith("heat") else truth.situation
    name = world if world == "usual" else f"{world}: {kind}"
    for number, case, judgement in drops_of(opened):
        started = opened[number].recording.meta.started_unix_s
        # a log's clock may be in any time zone
        shift_s = 0.0 if started is None else (started - truth.start_unix_s + 450) % 900 - 450
        zero_s = shift_s + case.view.start_s
        label = labelled(truth.falls, zero_s + case.drop.onset_s, zero_s + case.drop.end_s)
        if label is not None:
            rows.append(row_of(name, seed, case, judgement, label))
    return rows


def labelled(falls: Sequence[Fall], at_s: float, end_s: float) -> Label | None:
    """Return what caused a drop between two times, whether it can be known, and is a part.

    None where heat had a part in it, and nobody can say which.
    """
    near = [fall for fall in falls if abs(fall.onset_s - at_s) <= fall.tolerance_s]
    around = [f for f in falls if f.onset_s - f.tolerance_s <= at_s <= f.end_s + f.tolerance_s]
    if near:
        first = min(near, key=lambda one: (not one.required, abs(one.onset_s - at_s)))
        return _named(first), first.known and first.cause not in _VAGUE, False
    hot = [fall for fall in around if fall.cause == "thermal"]
    if hot:
        again = any(abs(at_s - one) <= fall.tolerance_s for fall in hot for one in fall.again_s)
        return ("thermal", False, True) if again and hot == around else None
    if any(fall.cause == "thermal" and at_s < fall.onset_s < end_s for fall in falls):
        return None
    return _named(around[0]) if around else OTHER, False, False


def _named(fall: Fall) -> str:
    return OTHER if fall.cause in _VAGUE else NAMES[fall.cause][0]


def rows_of_corpus(seed: int) -> list[Row]:
    """Return the drops of a case of the corpus whose cause is known."""
    case_ = make(seed)
    rows = []
    for number, case, judgement in drops_of([RecordingView(one) for one in case_.recordings]):
        onset_s = case.drop.onset_s
        for true in case_.truth:
            is_here = true.recording == number and true.step == case.view.step.name
            if is_here and abs(true.onset_s - onset_s) <= max(NEAR_S, NEAR_SHARE * true.onset_s):
                rows.append(row_of("corpus", seed, case, judgement, (true.cause, True, False)))
                break
    return rows


def rows_in(case: tuple[str, int]) -> list[Row]:
    """Return the drops of a seed of a world."""
    world, seed = case
    return rows_of_corpus(seed) if world == "corpus" else rows_elsewhere(world, seed)


def fitted(rows: Sequence[Row], judgement: WeightTable) -> WeightTable:
    """Return the weights that rows are likeliest by."""
    return fit_weights([(row.seen, row.cause) for row in rows], judgement)


#: Thresholds that are tried, and ranges of what is said of the likeliest cause.
THRESHOLDS = (0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99)
RANGES = (0.5, 0.75, 0.9, 0.95, 0.99, 1.001)


def check(rows: Sequence[Row]) -> None:
    """Print how often what is said is right, of drops whose world had no part in the fit."""
    judgement, shares = table("judgement"), dict[int, dict[str, float]]()
    for world in sorted({row.world for row in rows}):
        rules = fitted([row for row in rows if row.world != world], judgement)
        left_out = [index for index, row in enumerate(rows) if row.world == world]
        shares |= {index: rules.shares(rows[index].seen) for index in left_out}
    is_heat = np.array([row.cause == "thermal" for row in rows])
    known = np.array([row.is_known for row in rows])
    for text, temp in (("with", True), ("without", False)):
        here = np.array([row.has_temp == temp and not row.is_part for row in rows])
        heat = np.array([shares[index]["thermal"] for index in range(len(rows))])
        print(f"{text} temperatures: threshold, heat said and wrong, excluded and wrong, left open")
        for threshold in THRESHOLDS:
            yes, no = here & (heat >= threshold), here & (heat <= 1 - threshold)
            left = here & known & ~yes & ~no
            wrong = share(yes & ~is_heat, yes), share(no & is_heat, no), share(left, here & known)
            print(f"  {threshold:.2f}  {wrong[0]:32}{wrong[1]:32}{wrong[2]}")
        print(f"{text} temperatures: share of the likeliest cause, and how often it is right")
        first = [max(CAUSES, key=lambda cause, at=at: shares[at][cause]) for at in range(len(rows))]  # type: ignore[misc]
        said = np.array([shares[at][cause] for at, cause in enumerate(first)])
        right = np.array([cause == row.cause for cause, row in zip(first, rows, strict=True)])
        for low, high in pairwise(RANGES):
            inside = here & (said >= low) & (said < high)
            print(f"  {low:.2f}-{min(high, 1.0):.2f}  {share(inside & right, inside)}")


def share(part: np.ndarray, whole: np.ndarray) -> str:
    """Return a share of drops with its interval of 95 %."""
    count, of = int(np.sum(part)), int(np.sum(whole))
    if not of:
        return "-"
    low, high = binomtest(count, of).proportion_ci(method="wilson")
    return f"{100 * count / of:.1f} % ({count} of {of}; {100 * low:.1f} to {100 * high:.1f})"


def write(rules: WeightTable, drops: int, cases: int) -> None:
    """Write the fitted table down."""
    document = tomlkit.document()
    for line in (
        "What each finding is worth for each cause, in nats (log-odds against a cause that is not",
        f"here). Fitted by `make weights` to {drops} drops of {cases} labelled cases, from",
        "judgement.toml; a finding that none of them shows keeps its judged weight.",
    ):
        document.add(tomlkit.comment(line))
    for about, seen in as_toml(rules).items():
        section = tomlkit.table()
        for name, row in seen.items():
            if isinstance(row, dict):
                inline = tomlkit.inline_table()
                inline.update(row)
                section[name] = inline
            else:
                section[name] = row
        document[about] = section
    FILE.write_text(tomlkit.dumps(document))


def gathered(cases: Sequence[tuple[str, int]], jobs: int) -> list[Row]:
    """Return the drops of all cases, saying how far it is."""
    rows: list[Row] = []
    start_s = time.monotonic()
    with ProcessPoolExecutor(jobs) as pool:
        for number, found in enumerate(pool.map(rows_in, cases, chunksize=4), 1):
            rows += found
            if number % 20 == 0:
                left_s = (time.monotonic() - start_s) / number * (len(cases) - number)
                text = f"\r{number} of {len(cases)} cases, {left_s:.0f} s left  "
                print(text, end="", flush=True)
    print()
    return rows


def main() -> None:
    """Gather drops, say how often answers are right, fit, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="how many cases of the corpus")
    parser.add_argument("--elsewhere", type=int, default=1100, help="and of each other world")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--keep", type=Path, help="a file of drops, which is made if it is not there"
    )
    parser.add_argument("--dry-run", action="store_true", help="fit, and write nothing")
    words = parser.parse_args()
    cases = [("corpus", seed) for seed in list(DEVELOPMENT)[: words.count]]
    cases += [(world, seed) for world in elsewhere.WORLDS for seed in range(words.elsewhere)]
    if words.keep and words.keep.exists():
        kept = json.loads(words.keep.read_text())
        pairs = [[(about, seen) for about, seen in row["seen"]] for row in kept]
        rows = [Row(**row | {"seen": seen}) for row, seen in zip(kept, pairs, strict=True)]
    else:
        rows = gathered(cases, words.jobs)
        if words.keep:
            words.keep.write_text(json.dumps([asdict(row) for row in rows]))
    check(rows)
    rules = fitted(rows, table("judgement"))
    if not words.dry_run:
        write(rules, len(rows), len(cases))
        print(f"{len(rows)} drops of {len(cases)} cases; written to {FILE}")


if __name__ == "__main__":
    main()
