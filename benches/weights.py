"""Fits what findings are worth to labelled drops of two worlds: ``make weights``.

Those of the corpus, which the simulator makes, and those of ``heatsoak_dev.elsewhere``, which knows
nothing of it; development seeds of both.

Writes `python/heatsoak/analysis/cause/weights.toml`; takes some minutes.
"""

import argparse
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import heatsoak.analysis.cause as cause_package
import tomlkit
from heatsoak.analysis.cause.fit import LabelledDrop as Row
from heatsoak.analysis.cause.fit import fit_weights, importance
from heatsoak.analysis.cause.weigh import CAUSES, WeightTable, as_toml, table
from heatsoak.analysis.steps import judged_drops
from heatsoak.analysis.view import RecordingView, siblings_of
from heatsoak.errors import HeatsoakError
from heatsoak.importer import Options, open_all
from heatsoak_dev import elsewhere
from heatsoak_dev.corpus import DEVELOPMENT, make

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
    worlds: dict[str, list[Row]] = {"corpus": [], "elsewhere": []}
    with ProcessPoolExecutor(words.jobs) as pool:
        for number, found in enumerate(pool.map(rows_in, cases, chunksize=4), 1):
            worlds[cases[number - 1][0]] += found
            if number % 20 == 0:
                left_s = (time.monotonic() - start_s) / number * (len(cases) - number)
                print(
                    f"\r{number} of {len(cases)} cases, {left_s:.0f} s left  ", end="", flush=True
                )
    rows = [row for of_world in worlds.values() for row in of_world]
    print(f"\r{len(rows)} drops of {len(cases)} cases                ")
    judged = table("judgement")
    rules = fit_weights(rows, judged, importance([*worlds.values()], judged))
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
