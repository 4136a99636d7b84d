"""How soon `--until fall` ends a recording: labelled cases replayed as they would be recorded.

``python benches/reacting.py [CASES] [SEED]`` prints, of the first load of each recording, the time
from the true onset of its first fall to the end, what ended too early, and what never did. Where
nothing falls, two minutes are watched.
"""

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
import polars as pl
from heatsoak.bench.falls import JUDGED_S, FallOptions, FallWatch
from heatsoak.bench.recorder import Latest
from heatsoak.errors import LimitReachedError
from heatsoak.importer import WATCH, divided
from heatsoak.protocol import Observation, Observed
from heatsoak.recording import InMemoryRecording, Recording
from heatsoak_dev.corpus import DEVELOPMENT, make

#: Watched before a true onset, after it, and where nothing falls.
BEFORE_S, AFTER_S, STEADY_S = 30.0, 300.0, 120.0
#: A recording is looked at as often.
LOOK_S = 0.5
LOAD = Observation(name=WATCH, steps=[Observed(name="load")])


@dataclass(frozen=True)
class Replayed:
    """What became of one load.

    Attributes:
        late_s: from the true onset, or the start where nothing falls, to the end; None if nothing
            ended it.
    """

    falls: bool
    sampling_s: float
    late_s: float | None


def replayed(seed: int) -> list[Replayed]:
    """Replay the first load of each recording of a case."""
    labelled, found, done = make(seed), [], set()
    for number, step in labelled.verdicts:
        if number in done:
            continue  # a later load would need that what came before it is forgotten
        done.add(number)
        recording = labelled.recordings[number]
        samples = recording.samples()
        rows = samples.filter((pl.col("step") == step) & pl.col("interval_s").is_not_null())
        if rows.is_empty():
            continue
        start_s, end_s = rows["t_s"][0] - rows["interval_s"][0], rows["t_s"][-1]
        mine = [one for one in labelled.truth if (one.recording, one.step) == (number, step)]
        onset_s = start_s + min((one.onset_s for one in mine), default=0.0)
        before_s, after_s = (BEFORE_S, AFTER_S) if mine else (0.0, STEADY_S)
        span_s = max(start_s + 2, onset_s - before_s), min(end_s, onset_s + after_s)
        at_s = ended_at_s(recording, samples, *span_s)
        late_s = None if at_s is None else at_s - onset_s
        found.append(Replayed(bool(mine), labelled.choices.sampling_s, late_s))
    return found


def ended_at_s(
    recording: InMemoryRecording, samples: pl.DataFrame, begin_s: float, until_s: float
) -> float | None:
    """When a watch of these samples, as they come, would end."""
    meta = recording.meta.model_copy(update={"protocol": LOAD, "status": "running"})
    now_s = begin_s

    def read() -> Recording | None:
        rows = samples.filter(pl.col("t_s").is_between(now_s - JUDGED_S, now_s))
        rows = rows.with_columns(step=pl.lit(None, dtype=pl.String))
        return divided(InMemoryRecording(recording.path, meta, rows, [])) if len(rows) else None

    watch = FallWatch(FallOptions("fall", "--until"), read, print)
    while now_s < until_s:
        try:
            watch.look(now_s, Latest())
        except LimitReachedError:
            return now_s
        now_s += LOOK_S
    return None


def main(cases: int = 170, seed: int = DEVELOPMENT[0]) -> None:
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = [one for each in pool.map(replayed, range(seed, seed + cases)) for one in each]
    fell = [one for one in found if one.falls]
    print(f"{len(fell)} falls; s from onset to end: median, 95 %, worst")
    for sampling_s in (None, 0.1, 1.0, 5.0):
        some = [one for one in fell if sampling_s in (None, one.sampling_s)]
        late_s = [one.late_s for one in some if one.late_s is not None and one.late_s >= 0]
        if late_s:
            told = "  ".join(f"{each:6.1f}" for each in np.quantile(late_s, [0.5, 0.95, 1]))
            print(f"  sampled each {sampling_s or 'any':>4} s: {told}  of {len(some)}")
    early = sum(one.late_s is not None and one.late_s < 0 for one in fell)
    print(f"{early} ended before the onset, {sum(one.late_s is None for one in fell)} not at all")
    steady = [one.late_s for one in found if not one.falls]
    print(f"{len(steady) - steady.count(None)} of {len(steady)} without a fall were ended")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
