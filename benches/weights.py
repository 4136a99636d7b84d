"""Fits what findings are worth to labelled drops of two worlds: ``make weights``.

Those of the corpus, which the simulator makes, and those of ``heatsoak_dev.elsewhere``, which knows
nothing of it; development seeds of both.

Writes `python/heatsoak/analysis/cause/weights.toml`; takes some minutes.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path

import heatsoak.analysis.cause as cause_package
import numpy as np
import tomlkit
from heatsoak.analysis.cause.weigh import CAUSES, MIN_SHARE_NAMED, WeightTable, table
from heatsoak.analysis.steps import judged_drops
from heatsoak.analysis.view import RecordingView, siblings_of
from heatsoak.errors import HeatsoakError
from heatsoak.importer import Options, open_all
from heatsoak_dev import elsewhere
from heatsoak_dev.corpus import DEVELOPMENT, make
from heatsoak_dev.weights import LabelledDrop as Row
from heatsoak_dev.weights import as_toml, fit_weights

FILE = Path(cause_package.__file__).parent / "weights.toml"
#: A drop that was found this far from a true one is that one.
NEAR_S, NEAR_SHARE = 5.0, 0.1


Seen = list[tuple[list[tuple[str, str]], str]]


def rows_elsewhere(seed: int) -> Seen:
    """Return the same for a case of the other world, as its logs are read."""
    rows: Seen = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        truth = elsewhere.make(seed, folder)
        if truth.situation == "stuck sensor":
            # the drive slows for a heat that is not there: no temperature tells of it
            return []
        try:
            recordings = open_all([folder / name for name in truth.files], Options())
        except HeatsoakError:
            return []
        opened = [RecordingView(recording) for recording in recordings]
    for one in opened:
        started = one.recording.meta.started_unix_s
        # a log's clock may be in any time zone
        shift_s = 0.0 if started is None else (started - truth.start_unix_s + 450) % 900 - 450
        for view in one.views:
            others = [other for other in one.views if other is not view]
            for case, judgement in judged_drops(view, others, siblings_of(one, opened)):
                at_s = shift_s + view.start_s + case.drop.onset_s
                near = [f for f in truth.falls if abs(f.onset_s - at_s) <= f.tolerance_s]
                if near and near[0].cause in CAUSES:
                    found = [finding.pair for finding in judgement.findings]
                    rows.append((found, near[0].cause))
    return rows


def rows_in(case: tuple[str, int]) -> Seen:
    world, seed = case
    return rows_of(seed) if world == "corpus" else rows_elsewhere(seed)


def rows_of(seed: int) -> list[tuple[list[tuple[str, str]], str]]:
    """Return what was seen of each drop of a case whose cause is known, and that cause."""
    labelled = make(seed)
    opened = [RecordingView(recording) for recording in labelled.recordings]
    rows: list[tuple[list[tuple[str, str]], str]] = []
    for index, one in enumerate(opened):
        for view in one.views:
            true = [
                episode
                for episode in labelled.truth
                if episode.recording == index and episode.step == view.step.name
            ]
            others = [other for other in one.views if other is not view]
            for case, judgement in judged_drops(view, others, siblings_of(one, opened)):
                near = [
                    episode
                    for episode in true
                    if abs(episode.onset_s - case.drop.onset_s)
                    <= max(NEAR_S, NEAR_SHARE * episode.onset_s)
                ]
                if near:
                    found = [finding.pair for finding in judgement.findings]
                    rows.append((found, near[0].cause))
    return rows


#: Ranges of what is said of a named cause, and of the shares under ``unknown``.
NAMED, SHARES = (0.75, 0.8, 0.9, 1.001), (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.001)


def check(cases: Sequence[tuple[tuple[str, int], Seen]]) -> None:
    """Print how often what is said is right, of drops that had no part in the fit.

    Weights are fitted to every other case, and judge the rest.
    """
    judgement = table("judgement")
    said: dict[tuple[str, str], list[tuple[float, bool]]] = {}
    for parity in (0, 1):
        fitted = [row for (_, seed), rows in cases if seed % 2 != parity for row in rows]
        rules = fit_weights(fitted, judgement)
        for (world, seed), rows in cases:
            for seen, cause in rows if seed % 2 == parity else ():
                shares = rules.shares(seen)
                first = max(CAUSES, key=shares.__getitem__)
                is_named = shares[first] >= MIN_SHARE_NAMED and rules.can_name(first, seen)
                if is_named:
                    pairs = [(rules.confidence(first, shares[first], seen), first == cause)]
                else:
                    pairs = [(shares[one], one == cause) for one in CAUSES]
                kind = "named" if is_named else "under unknown"
                said.setdefault((world, kind), []).extend(pairs)
    print("what is said, how often, its mean, how often right; of the half that was not fitted")
    for (world, kind), pairs in sorted(said.items()):
        for low, high in pairwise(NAMED if kind == "named" else SHARES):
            inside = [pair for pair in pairs if low <= pair[0] < high]
            if inside:
                mean, right = np.mean(inside, axis=0)
                print(
                    f"{world:10} {kind:14} {low:.2f}-{min(high, 1):.2f} "
                    f"{len(inside):6} {mean:6.3f} {right:6.3f}"
                )


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1100, help="how many cases of the corpus")
    parser.add_argument("--elsewhere", type=int, default=1100, help="and of the other world")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--dry-run", action="store_true", help="fit, and write nothing")
    words = parser.parse_args()
    cases = [("corpus", seed) for seed in list(DEVELOPMENT)[: words.count]]
    cases += [("elsewhere", seed) for seed in range(words.elsewhere)]
    start_s = time.monotonic()
    rows: list[Row] = []
    by_case: list[tuple[tuple[str, int], Seen]] = []
    with ProcessPoolExecutor(words.jobs) as pool:
        for number, found in enumerate(pool.map(rows_in, cases, chunksize=4), 1):
            rows += found
            by_case.append((cases[number - 1], found))
            if number % 20 == 0:
                left_s = (time.monotonic() - start_s) / number * (len(cases) - number)
                print(
                    f"\r{number} of {len(cases)} cases, {left_s:.0f} s left  ", end="", flush=True
                )
    print(f"\r{len(rows)} drops of {len(cases)} cases                ")
    check(by_case)
    rules = fit_weights(rows, table("judgement"))
    likeliest = [
        max(shares, key=shares.__getitem__) for shares in (rules.shares(seen) for seen, _ in rows)
    ]
    right = sum(one == cause for one, (_, cause) in zip(likeliest, rows, strict=True))
    print(f"{right} have their cause as the likeliest")
    if not words.dry_run:
        write(rules, len(rows), len(cases))
        print(f"written to {FILE}")


if __name__ == "__main__":
    main()
