"""Scores import and judge together on logs of a world that heatsoak's simulator did not make.

``python benches/elsewhere.py [--world NAME] [--cases N] [--seed S] [--jobs 2] [--format json]
[--mistakes]`` makes cases of ``heatsoak_dev.elsewhere``, imports and analyses each as a user would,
and compares what is found with what is true. Seeds 0 to 9999 are for development. Those from 10000
on are held out: nothing may be chosen by them.

A fall counts as found if an episode begins within the tolerance that its truth states: 5 s or three
samples, for slides 10 % of the slide and 10 s. What need not be found is no mistake if it is.
"""

import argparse
import json
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from heatsoak_dev.elsewhere import WORLDS, Fall, Truth, make

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from command import heatsoak_here

LIMIT_S = 60
IDLE_MB_S = 10.0  # a log whose means are below this, without an episode: "not loaded"
PROBABLE = 0.75  # from here on a cause is probable
BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0001)


@dataclass(frozen=True)
class Episode:
    """What the judge reported, at a time of the case's own clock."""

    onset_s: float
    end_s: float
    depth_pct: float
    cause: str
    confidence: float
    likelihoods: dict[str, float]


@dataclass
class Scored:
    """One case: its truth, what was said, and which goes with which."""

    truth: Truth
    failed: str = ""
    verdicts: tuple[str, ...] = ()
    answer: str = ""
    found: list[tuple[Fall, Episode]] = field(default_factory=list)
    optional: list[tuple[Fall, Episode]] = field(default_factory=list)
    missed: list[Fall] = field(default_factory=list)
    false: list[Episode] = field(default_factory=list)


class TooLong(BaseException):
    """A case took too long; no ordinary exception, so that heatsoak does not catch it."""


def late(*_: object) -> None:
    """End a case."""
    raise TooLong


def heatsoak(*words: str) -> str:
    """Run heatsoak's command line in this process; what it printed."""
    done = heatsoak_here(*words, cwd=Path.cwd())
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"exit code {done.returncode}")
    return done.stdout


def shift_of(recording: Path, truth: Truth) -> float:
    """Return where a recording's zero lies in the case, whatever time zone its clock was in."""
    started = json.loads((recording / "recording.json").read_text("utf-8"))["started_unix_s"]
    if started is None:
        return 0.0
    return (float(started) - truth.start_unix_s + 450) % 900 - 450


def begins(recording: Path) -> dict[str, float]:
    """Return when the first sample of each step of a recording began, as onsets are counted."""
    samples = pl.read_parquet(recording / "samples.parquet").filter(pl.col("step").is_not_null())
    if "interval_s" not in samples.columns:  # sensors alone
        return {}
    begun = (pl.col("t_s") - pl.col("interval_s").fill_null(0.0)).min()
    return dict(samples.group_by("step").agg(begun.alias("began_s")).iter_rows())


def judged(folder: Path, truth: Truth) -> tuple[str, list[dict[str, Any]], list[Episode]]:
    """Import and analyse a case; the answer, all steps, and all episodes by the case's clock."""
    recordings, files = folder / "recordings", [str(folder / name) for name in truth.files]
    heatsoak("import", *files, "-o", str(recordings))
    told = json.loads(heatsoak("analyze", str(recordings), "--format", "json"))
    steps, episodes = [], []
    for recording in told["recordings"]:
        path = Path(recording["path"])
        shift, at = shift_of(path, truth), begins(path)
        for step in recording["steps"]:
            steps.append(step)
            zero = shift + at.get(step["step"], 0.0)
            episodes += [
                Episode(
                    zero + one["onset_s"], zero + one["end_s"], one["depth_pct"], one["cause"],
                    one["confidence"], one["likelihoods"],
                )
                for one in step["episodes"]
            ]  # fmt: skip
    return told["answer"]["throttles"], steps, episodes


def matched(scored: Scored, episodes: Iterable[Episode]) -> None:
    """Say which episode is which fall: the nearest onsets first, each once."""
    left = sorted(episodes, key=lambda one: one.onset_s)
    pairs = sorted(
        (
            (not fall.required, abs(one.onset_s - fall.onset_s), number, index)
            for number, fall in enumerate(scored.truth.falls)
            for index, one in enumerate(left)
            if abs(one.onset_s - fall.onset_s) <= fall.tolerance_s
        ),
    )
    falls, used = set[int](), set[int]()
    for _, _, number, index in pairs:
        if number not in falls and index not in used:
            falls.add(number)
            used.add(index)
            fall = scored.truth.falls[number]
            (scored.found if fall.required else scored.optional).append((fall, left[index]))
    for index, one in enumerate(left):
        if index in used:
            continue
        inside = [fall for fall in scored.truth.falls if may_hold(fall, one)]
        if inside:
            scored.optional.append((inside[0], one))
        else:
            scored.false.append(one)
    scored.missed = [
        fall
        for number, fall in enumerate(scored.truth.falls)
        if fall.required and number not in falls
    ]


def may_hold(fall: Fall, one: Episode) -> bool:
    """Say whether an episode is a part of a fall that need not be told apart from it."""
    near = fall.onset_s - fall.tolerance_s <= one.onset_s <= fall.end_s + fall.tolerance_s
    whole = fall.shape in ("cycle", "zone") or not fall.required
    if fall.shape == "waves":  # which are no falls, one by one
        whole = one.end_s - one.onset_s >= 0.5 * (fall.end_s - fall.onset_s)
    again = any(abs(one.onset_s - at_s) <= fall.tolerance_s for at_s in fall.again_s)
    return near and (whole or again)


def run(seed: int, limit_s: int = LIMIT_S, world: str = "usual") -> Scored:
    """Make a case, judge it, and score what was found."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        scored = Scored(make(seed, folder, world=world))

        signal.signal(signal.SIGPROF, late)
        signal.setitimer(signal.ITIMER_PROF, limit_s)
        try:
            scored.answer, steps, episodes = judged(folder, scored.truth)
        except (RuntimeError, TooLong) as error:
            scored.failed = str(error) or f"over {limit_s} s"
            return scored
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    scored.verdicts = tuple(step["verdict"] for step in steps)
    matched(scored, episodes)
    return scored


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:5.1f} %  ({part:g} of {whole:g})" if whole else "    -"


def kind_of_cause(fall: Fall, one: Episode) -> str:
    if one.cause == "unknown":
        return "unknown"
    return "right" if one.cause in fall.accepted else "wrong"


def figures(all_scored: Sequence[Scored]) -> dict[str, str]:
    """Return the lines of the score."""
    done = [one for one in all_scored if not one.failed]
    found = [pair for one in done for pair in one.found]
    off = [abs(told.onset_s - fall.onset_s) for fall, told in found]
    sharp = [abs(t.onset_s - f.onset_s) for f, t in found if f.shape != "slide"]
    missed = sum(len(one.missed) for one in done)
    false = [told for one in done for told in one.false]
    known = Counter(kind_of_cause(*pair) for pair in found if pair[0].known)
    hidden = Counter(kind_of_cause(*pair) for pair in found if not pair[0].known)
    both = [pair for one in done for pair in [*one.found, *one.optional]]
    cold = [told for fall, told in both if fall.cause != "thermal"]
    hot = [told for fall, told in found if fall.cause == "thermal" and fall.known]
    flat = [one for one in done if one.truth.flat]
    told_heat = [told for one in done if "temps" in one.truth.seen for f, told in one.found
                 if f.cause == "thermal" and f.known]  # fmt: skip
    unfair = [one for one in done if one.answer not in one.truth.answers]
    tellable = [one for one in done if "cannot-tell" not in one.truth.answers]
    lines = {
        "cases": f"{len(all_scored)}, refused or failed {len(all_scored) - len(done)}",
        "recall": share(len(found), len(found) + missed),
        "false falls a case": f"{len(false) / max(len(done), 1):.3f}  ({len(false)})",
        "onset error, median and p95": spread(off),
        "onset error of sharp falls": spread(sharp),
    }
    for name in ("right", "unknown", "wrong"):
        lines[f"cause known: {name}"] = share(known[name], known.total())
    for name, text in (("right", "named, fair"), ("unknown", "unknown"), ("wrong", "unfounded")):
        lines[f"cause not known: {text}"] = share(hidden[name], hidden.total())
    lines["heat that could be known, named so"] = share(
        sum(told.cause == "thermal" for told in hot), len(hot)
    )
    lines["with temperatures, named so"] = share(
        sum(told.cause == "thermal" for told in told_heat), len(told_heat)
    )
    lines["with temperatures, named or probable"] = share(
        sum(told.likelihoods["thermal"] >= PROBABLE for told in told_heat), len(told_heat)
    )
    lines["thermal said of other falls"] = share(
        sum(told.cause == "thermal" for told in cold), len(cold)
    )
    lines["thermal said of false falls"] = share(
        sum(told.cause == "thermal" for told in false), len(false)
    )
    for text, wanted in (("with", True), ("without", False)):
        some = [
            told for one in done for _, told in one.found if ("temps" in one.truth.seen) == wanted
        ]
        lines[f"unknown {text} temperatures"] = share(
            sum(told.cause == "unknown" for told in some), len(some)
        )
    lines["flat logs called steady"] = share(
        sum(set(one.verdicts) == {"steady"} for one in flat), len(flat)
    )
    lines["fair answer"] = share(sum(one.answer in one.truth.answers for one in done), len(done))
    lines["answer firm and wrong"] = share(
        sum(one.answer != "cannot-tell" for one in unfair), len(done)
    )
    lines["answer left open that could be told"] = share(
        sum(one.answer == "cannot-tell" for one in tellable), len(tellable)
    )
    likeliest = [(f, *max(told.likelihoods.items(), key=lambda both: both[1])) for f, told in found]
    for low, high in ((0.75, 0.9), (0.9, 0.95), (0.95, 1.001)):
        inside = [cause in fall.accepted for fall, cause, said in likeliest
                  if fall.known and low <= said < high]  # fmt: skip
        lines[f"likeliest at {low:.2f} to {min(high, 1):.2f} is right"] = share(
            sum(inside), len(inside)
        )
    return lines


def spread(values: Sequence[float]) -> str:
    if not values:
        return "-"
    return f"{np.median(values):.2f} s, {np.quantile(values, 0.95):.2f} s"


def calibration(all_scored: Sequence[Scored]) -> list[tuple[str, int, float, float]]:
    """Return, for each range of said likelihoods: how many, the mean said, the share that is true.

    Of falls whose cause could be known, each cause counts with what was said of it.
    """
    said, true = [], []
    for one in all_scored:
        for fall, told in one.found:
            if fall.known:
                for cause, likelihood in told.likelihoods.items():
                    said.append(likelihood)
                    true.append(cause in fall.accepted)
    rows = []
    values, hits = np.array(said), np.array(true, bool)
    for low, high in pairwise(BINS):
        inside = (values >= low) & (values < high) if said else np.zeros(0, bool)
        if inside.any():
            mean, right = float(values[inside].mean()), float(hits[inside].mean())
            rows.append((f"{low:.2f}-{min(high, 1):.2f}", int(inside.sum()), mean, right))
    return rows


def mistakes(all_scored: Sequence[Scored]) -> list[tuple[str, int, list[int]]]:
    """Return the kinds of mistakes with their seeds, the most frequent first."""
    kinds: defaultdict[str, list[int]] = defaultdict(list)
    for one in all_scored:
        seed, name = one.truth.seed, one.truth.situation
        if one.failed:
            kinds[f"failed: {one.truth.format}: {one.failed[:70]}"].append(seed)
            continue
        for fall in one.missed:
            kinds[f"missed {fall.cause} {fall.shape} in '{name}'"].append(seed)
        for told in one.false:
            kinds[f"false fall, called {told.cause}, in '{name}'"].append(seed)
        for fall, told in one.found:
            if kind_of_cause(fall, told) == "wrong":
                of = "" if fall.known else ", which nothing tells,"
                kinds[f"{fall.cause} {fall.shape}{of} called {told.cause}"].append(seed)
            elif kind_of_cause(fall, told) == "unknown" and fall.known:
                kinds[f"{fall.cause} {fall.shape} called unknown in '{name}'"].append(seed)
        if one.answer not in one.truth.answers:
            wanted = "/".join(one.truth.answers)
            kinds[f"answer {one.answer} for {wanted} in '{name}'"].append(seed)
    return sorted(
        ((kind, len(seeds), list(dict.fromkeys(seeds))[:6]) for kind, seeds in kinds.items()),
        key=lambda row: -row[1],
    )


def main() -> None:
    """Score, and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--world", choices=WORLDS, default="usual")
    arguments.add_argument("--cases", type=int, default=300)
    arguments.add_argument("--seed", type=int, default=0, help="of the first case")
    arguments.add_argument("--jobs", type=int, default=2)
    arguments.add_argument("--format", choices=("text", "json"), default="text")
    arguments.add_argument("--mistakes", action="store_true", help="list kinds of mistakes")
    arguments.add_argument(
        "--limit", type=int, default=LIMIT_S, help="processor seconds for each case"
    )
    given = arguments.parse_args()
    seeds = range(given.seed, given.seed + given.cases)
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        scored = list(
            pool.map(partial(run, limit_s=given.limit, world=given.world), seeds, chunksize=2)
        )
    lines, table, wrong = figures(scored), calibration(scored), mistakes(scored)
    if given.format == "json":
        print(json.dumps({"figures": lines, "calibration": table, "mistakes": wrong}, indent=1))
        return
    for name, text in lines.items():
        print(f"{name:40} {text}")
    print("likelihood said, how often, its mean, how often true")
    for name, count, mean, right in table:
        print(f"  {name}  {count:5}  {mean:.3f}  {right:.3f}")
    if given.mistakes:
        for kind, count, examples in wrong:
            print(f"{count:4}  {kind}  ({', '.join(map(str, examples))})")


if __name__ == "__main__":
    main()
