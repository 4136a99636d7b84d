"""Scores the judge on the labelled corpus: recall, onsets, depths, causes, calibration, speed.

``python benches/judging.py`` takes held-out seeds, as ``make bench`` does. With ``--development``
it takes the seeds that the judge may be made with and lists what went wrong; ``--seed N`` shows
one case; ``--oracle`` prints how near to the onsets anything could come, and which episodes nobody
could see. Interrupted, it prints the score of what was judged so far.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from heatsoak._core import decafs
from heatsoak.analysis import Findings, analyze
from heatsoak.analysis.series import Array
from heatsoak.protocol import Observation, Observed
from heatsoak.recording import InMemoryRecording, RecordingMeta
from heatsoak.recording.columns import schema_of
from heatsoak_dev.corpus import DEVELOPMENT, HELD_OUT, LabelledCase, make
from heatsoak_dev.corpus.recordings import averaged, factors
from oracle import print_limits, print_visible
from scoring import Match, Score, score

COUNT = 600
STEADY_HOURS = 300
CAUSES = (
    "thermal", "spare-area", "write-cache", "limited-by-host", "interference", "sliding",
)  # fmt: skip
VERDICTS = ("steady", *CAUSES, "unknown")
CONFIDENCES = (0.0, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.001)
SPARKS = "▁▂▃▄▅▆▇█"


def judged(seed: int) -> tuple[LabelledCase, Findings]:
    """Return the case of a seed, and what the judge finds in its recordings together."""
    labelled = make(seed)
    return labelled, analyze(labelled.recordings)


def scored(seed: int) -> Score:
    return score(*judged(seed))


def scores_of(seeds: Sequence[int], jobs: int) -> list[Score]:
    """Judge all seeds, showing how far it is; what is done when interrupted."""
    done: list[Score] = []
    began_s = time.monotonic()
    pool = ProcessPoolExecutor(jobs)
    try:
        for one in pool.map(scored, seeds, chunksize=2):
            done.append(one)
            if len(done) % 20 == 0:
                left_s = (time.monotonic() - began_s) / len(done) * (len(seeds) - len(done))
                say(f"{len(done)} of {len(seeds)} cases, {left_s:.0f} s to go")
    except KeyboardInterrupt:
        say("interrupted: the score of what was judged so far follows")
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return done


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def print_episodes(scores: Sequence[Score]) -> None:
    matches = [match for one in scores for match in one.matches]
    missed = sum(len(one.missed) for one in scores)
    extra = sum(len(one.extra) for one in scores)
    false = sum(len(one.false) for one in scores)
    hours = sum(one.steady_s for one in scores) / 3600
    total = len(matches) + missed
    if not total:
        print("no episodes")
        return
    print(f"{len(scores)} cases, {total} true episodes")
    print(f"recall {len(matches) / total:.2%}; {missed} missed, {extra} found beside the true ones")
    for what, of in (("one cause alone", False), ("overlapping causes", True)):
        these = [one for one in scores if one.choices.overlaps is of]
        found, lost = sum(len(s.matches) for s in these), sum(len(s.missed) for s in these)
        if found + lost:
            print(f"  {what}: {found / (found + lost):.2%} of {found + lost}")
    print(f"false on steady steps of the corpus: {false} in {hours:.1f} h")
    depths = [match.depth_error_pct for match in matches]
    print(
        f"depth error: median {np.median(depths):.2f} points, 95th {np.quantile(depths, 0.95):.1f}"
    )
    print("\nonset error, s     cases   median     95th")
    for sampling_s in (0.1, 1.0, 5.0):
        here = [m for one in scores if one.choices.sampling_s == sampling_s for m in one.matches]
        shapes = {
            shape: [m for m in here if m.true.shape == shape]
            for shape in ("step", "slide", "cycle")
        }
        for name, some in {"all": here, **shapes}.items():
            errors = [abs(m.onset_error_s) for m in some if m.onset_error_s is not None]
            if errors:
                print(
                    f"{sampling_s:5g} s  {name:8s} {len(errors):6d} {np.median(errors):8.2f} "
                    f"{np.quantile(errors, 0.95):8.2f}"
                )


def print_causes(scores: Sequence[Score]) -> None:
    matches = [(one, match) for one in scores for match in one.matches]
    if not matches:
        return
    print("\ncauses of episodes: rows are true, columns found")
    print_matrix(CAUSES, VERDICTS[1:], ((m.true.cause, m.found.cause) for _, m in matches))
    print("\nverdicts of steps: rows are true, columns found")
    print_matrix(VERDICTS[:-1], VERDICTS, (pair for one in scores for pair in one.verdicts))
    print()
    for name, some in (
        ("all", matches),
        ("with temperatures", [(s, m) for s, m in matches if s.choices.has_temps]),
        ("without", [(s, m) for s, m in matches if not s.choices.has_temps]),
        ("one cause alone", [(s, m) for s, m in matches if not s.choices.overlaps]),
        ("overlapping causes", [(s, m) for s, m in matches if s.choices.overlaps]),
        ("matched pairs", [(s, m) for s, m in matches if s.choices.pair is not None]),
        (
            "matched pairs with temperatures",
            [(s, m) for s, m in matches if s.choices.pair is not None and s.choices.has_temps],
        ),
    ):
        print_shares(name, [match for _, match in some])
    print_reliability([match for _, match in matches])


def print_matrix(
    rows: Sequence[str], columns: Sequence[str], pairs: Iterable[tuple[str, str]]
) -> None:
    counts = Counter(pairs)
    print(f"{'':16s}" + "".join(f"{name[:9]:>10s}" for name in columns))
    for row in rows:
        print(f"{row:16s}" + "".join(f"{counts[row, column] or '.':>10}" for column in columns))


def is_right(match: Match) -> bool:
    return match.found.cause == match.true.cause


def print_shares(name: str, matches: Sequence[Match]) -> None:
    if not matches:
        return
    right = sum(is_right(match) for match in matches)
    unknown = sum(match.found.cause == "unknown" for match in matches)
    count = len(matches)
    print(
        f"{name:32s} {count:5d} episodes: right {right / count:6.1%}, "
        f"unknown {unknown / count:6.1%}, wrong {(count - right - unknown) / count:6.1%}"
    )


def print_reliability(matches: Sequence[Match]) -> None:
    named = [match for match in matches if match.found.cause != "unknown"]
    print("\nconfidence      named   said   right")
    for low, high in pairwise(CONFIDENCES):
        some = [match for match in named if low <= match.found.confidence < high]
        if some:
            said = np.mean([match.found.confidence for match in some])
            right = np.mean([is_right(match) for match in some])
            print(f"{low:.2f} to {min(high, 1):.2f} {len(some):7d} {said:6.3f} {right:7.3f}")


def print_mistakes(scores: Sequence[Score]) -> None:
    """List what was missed, found without being there, or given a wrong cause."""
    for one in scores:
        head = f"seed {one.seed} ({one.choices.recipe}, {one.choices.sampling_s:g} s"
        head += f", sigma {one.choices.noise_sigma:.1%}, {one.choices.sensor} sensor)"
        for true in one.missed:
            print(
                f"{head}: missed {true.cause} {true.shape} of {true.depth_pct:.0f} % at "
                f"{true.onset_s:.1f} s in '{true.step}'"
            )
        for what, some in (("false", one.false), ("beside", one.extra)):
            for found in some:
                print(
                    f"{head}: {what} {found.cause} {found.depth_pct:.0f} % at {found.onset_s:.1f}"
                )
        for match in one.matches:
            if match.found.cause not in (match.true.cause, "unknown"):
                print(
                    f"{head}: {match.true.cause} at {match.true.onset_s:.1f} s in "
                    f"'{match.true.step}' taken for {match.found.cause} "
                    f"({match.found.confidence:.2f})"
                )
                for text in match.found.evidence:
                    print(f"    {text}")


def steady_hour(hour: int, sampling_s: float) -> InMemoryRecording:
    """An hour of a level with the corpus's noise, made without any drive."""
    chance = np.random.default_rng([2, hour])
    fine = factors(
        36_000, chance.uniform(0.01, 0.08), chance.uniform(0.6, 0.95), chance.random() < 0.8, chance
    )
    values = 1000.0 * averaged(fine, round(sampling_s / 0.1))
    return recording_of(values, sampling_s)


def recording_of(values: Array, sampling_s: float) -> InMemoryRecording:
    t_s = sampling_s * np.arange(1, len(values) + 1)
    samples = pl.DataFrame(
        {
            "t_s": t_s,
            "step": ["write"] * len(values),
            "interval_s": np.full(len(values), sampling_s),
            "write_bw_mb_s": values,
        }
    )
    schema = schema_of(samples.columns)
    meta = RecordingMeta(
        status="finished",
        protocol=Observation(name="steady", steps=[Observed(name="write", reads=False)]),
        conditions={},
        drive={},
        columns={name: str(dtype()) for name, dtype in schema.items()},
        started_unix_s=None,
    )
    return InMemoryRecording(Path("steady"), meta, samples.select(*schema), [])


def false_in_hour(task: tuple[int, float]) -> int:
    (step,) = analyze([steady_hour(*task)]).recordings[0].steps
    return len(step.episodes)


def print_steady(hours: int, jobs: int) -> None:
    print("\nsteady noise, hours   false episodes   an hour")
    with ProcessPoolExecutor(jobs) as pool:
        for sampling_s in (0.1, 1.0, 5.0):
            tasks = [(hour, sampling_s) for hour in range(hours)]
            false = sum(pool.map(false_in_hour, tasks, chunksize=10))
            print(f"{hours:8d} at {sampling_s:3g} s {false:12d} {false / hours:12.4f}", flush=True)


def print_speed() -> None:
    """One hour at 10 Hz with a drop, against the exact segmentation of as many values alone."""
    recording = steady_hour(0, 0.1)
    samples = recording.samples()
    values = samples["write_bw_mb_s"].to_numpy() * np.where(samples["t_s"] > 1200, 0.6, 1.0)
    whole = recording_of(values, 0.1)
    penalty = 3 * np.log(len(values)) * 40.0**2
    judge_s = best_s(lambda: analyze([whole]))
    alone_s = best_s(lambda: decafs(np.ascontiguousarray(values), 0.0, float(penalty)))
    print(
        f"\none hour at 10 Hz: judged in {1e3 * judge_s:.1f} ms, "
        f"{judge_s / alone_s:.0f} times its levels alone ({1e3 * alone_s:.2f} ms)"
    )


def best_s(work: Callable[[], object], repeats: int = 7) -> float:
    best = float("inf")
    for _ in range(repeats):
        start_s = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start_s)
    return best


def show(seed: int, png: Path | None) -> None:
    """Print one case: what was drawn, its course, its truth, and what was found."""
    labelled, findings = judged(seed)
    print(labelled.choices)
    for number, (recording, found) in enumerate(
        zip(labelled.recordings, findings.recordings, strict=True)
    ):
        samples = recording.samples()
        for step in found.steps:
            rows = samples.filter(pl.col("step") == step.step, pl.col("interval_s").is_not_null())
            rate = rows.select(pl.sum_horizontal("^(read|write)_bw_mb_s$")).to_series().to_numpy()
            true = labelled.verdicts[number, step.step]
            print(
                f"\n{number} '{step.step}', {step.duration_s:.0f} s: {true}, found {step.verdict}"
            )
            print(f"{sparkline(rate)}  {rate.max():.0f} MB/s at most")
            for kind, episodes in (("true", labelled.truth), ("grey", labelled.grey)):
                for one in episodes:
                    if one.recording == number and one.step == step.step:
                        print(
                            f"  {kind}: {one.cause} {one.shape} {one.onset_s:.1f} to "
                            f"{one.end_s:.1f} s, {one.depth_pct:.0f} %, falls in {one.fall_s:.1f} s"
                        )
            for episode in step.episodes:
                print(
                    f"  found: {episode.cause} ({episode.confidence:.2f}) {episode.onset_s:.1f} to "
                    f"{episode.end_s:.1f} s, {episode.depth_pct:.0f} %"
                )
                for text in episode.evidence:
                    print(f"      {text}")
    if png is not None:
        draw(labelled, png)
        print(f"\n{png}")


def sparkline(values: Array, width: int = 100) -> str:
    means = [float(part.mean()) for part in np.array_split(values, min(width, len(values)))]
    top = max(max(means), 1e-9)
    return "".join(SPARKS[min(7, int(8 * mean / top))] for mean in means)


def draw(labelled: LabelledCase, png: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        len(labelled.recordings), 1, squeeze=False, figsize=(12, 4 * len(labelled.recordings))
    )
    for number, (recording, axis) in enumerate(zip(labelled.recordings, axes[:, 0], strict=True)):
        samples = recording.samples()
        rows = samples.filter(pl.col("interval_s").is_not_null())
        rate = rows.select(pl.sum_horizontal("^(read|write)_bw_mb_s$")).to_series()
        axis.plot(rows["t_s"], rate, color="black", linewidth=0.5)
        axis.set(ylim=(0, None), xlabel="s", ylabel="MB/s")
        if "temp_c.composite" in samples.columns:
            warm = samples.filter(pl.col("temp_c.composite").is_not_null())
            beside = axis.twinx()
            beside.plot(warm["t_s"], warm["temp_c.composite"], color="tab:red")
            beside.set_ylabel("C")
        begins = {event.step: event.t_s for event in recording.events if event.kind == "step-begin"}
        for one in (one for one in labelled.truth if one.recording == number):
            start_s = begins[one.step]
            axis.axvspan(start_s + one.onset_s, start_s + one.end_s, alpha=0.2)
            axis.text(start_s + one.onset_s, 0, f" {one.cause}", rotation=90, va="bottom")
    figure.savefig(png, dpi=80, bbox_inches="tight")


def main(
    count: int = COUNT,
    *,
    development: bool = False,
    first: int = 0,
    jobs: int = 2,
    steady_hours: int = STEADY_HOURS,
) -> None:
    seeds = (DEVELOPMENT if development else HELD_OUT)[first : first + count]
    scores = scores_of(seeds, jobs)
    if development:
        print_mistakes(scores)
        print()
    print_episodes(scores)
    print_causes(scores)
    if steady_hours and len(scores) == len(seeds):
        print_steady(steady_hours, jobs)
        print_speed()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="how many cases")
    parser.add_argument("--first", type=int, default=0, help="how many seeds to leave out before")
    parser.add_argument("--development", action="store_true", help="development seeds; mistakes")
    parser.add_argument("--seed", type=int, help="show one case")
    parser.add_argument("--png", type=Path, help="with --seed: draw it")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--steady-hours", type=int, default=STEADY_HOURS, help="0 leaves them out")
    parser.add_argument("--oracle", action="store_true", help="onset errors beside their limits")
    words = parser.parse_args()
    if words.oracle:
        seeds = DEVELOPMENT if words.development else HELD_OUT
        seeds = seeds[words.first : words.first + words.count]
        print_limits(seeds, words.jobs)
        print_visible(seeds, words.jobs)
    elif words.seed is not None:
        show(words.seed, words.png)
    else:
        main(
            words.count,
            development=words.development,
            first=words.first,
            jobs=words.jobs,
            steady_hours=words.steady_hours,
        )
