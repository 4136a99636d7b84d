"""Labelled cases: recordings and the truth about them, in memory and as files."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from heatsoak.analysis.falls import Shape
from heatsoak.analysis.findings import Cause
from heatsoak.analysis.series import Array
from heatsoak.recording import InMemoryRecording

TrueVerdict = Cause | Literal["steady"]

#: Seeds for development, and seeds that are only used for scoring.
DEVELOPMENT = range(0, 10_000)
HELD_OUT = range(1_000_000, 1_010_000)


@dataclass(frozen=True)
class TrueEpisode:
    """One stretch of truly lowered throughput.

    Attributes:
        recording: index of the recording in its case.
        step: name of the step.
        onset_s: when the noise-free rate has lost 2 % of its level, from the step's start.
        end_s: when it recovers, when another cause lowers it further, or the step's end.
        depth_pct: 1 - mean of the last 60 s / mean before the onset, of the noise-free rate.
        cause: what slowed it, from the state of the simulated drive.
        shape: ``cycle`` if it falls and recovers repeatedly; ``slide`` where 90 % of the loss take
            more than `labels.SLIDE_S`; ``step`` otherwise.
        fall_s: from the onset to where 90 % of the loss is reached.
        recovered: whether the rate came back before the step's end.
    """

    recording: int
    step: str
    onset_s: float
    end_s: float
    depth_pct: float
    cause: Cause
    shape: Shape
    fall_s: float
    recovered: bool


def costliest_of(episodes: Sequence[TrueEpisode]) -> TrueEpisode | None:
    """Return the episode of a step in which most was lost; None if there is none."""
    worst, most = None, 0.0
    level, until_s = 1.0, 0.0
    for one in sorted(episodes, key=lambda episode: episode.onset_s):
        # a second fall leaves what the first had come to
        before = level if abs(one.onset_s - until_s) < 1e-6 else 1.0
        lost = before * one.depth_pct * (one.end_s - one.onset_s)
        if lost > most:
            worst, most = one, lost
        level, until_s = before * (1 - one.depth_pct / 100), one.end_s
    return worst


#: A fall that takes longer than this is a slide.
SLIDE_S = 15.0


@dataclass(frozen=True)
class Choices:
    """The random choices for a case.

    Attributes:
        recipe: what the case was made to show.
        protocol: the shape of its protocol.
        several: why there are several recordings, if there are.
        sampling_s: interval of the throughput's samples.
        duration_s: of the first judged step.
        noise_sigma: standard deviation as a share of the level, in samples of 0.1 s.
        correlation: of neighbouring samples of 0.1 s.
        ramp_s: length of the moving average that turns sudden changes into ramps.
        has_dips: whether one sample in a hundred is a dip.
        gaps: stretches left out.
        has_temps: whether any temperature or counter of the drive was recorded.
        sensor: what its temperature is: ``good``, ``stuck`` or ``placeholder``.
        overlaps: whether a second cause was added on top of the first.
        pair: seed of the case with the same onset and depth but another cause.
        scale: how many seconds one second of the simulator stands for; likewise bytes and heat.
    """

    recipe: str
    protocol: str
    several: str | None
    sampling_s: float
    duration_s: float
    noise_sigma: float
    correlation: float
    ramp_s: float
    has_dips: bool
    gaps: int
    has_temps: bool
    sensor: str
    overlaps: bool
    pair: int | None
    scale: float


@dataclass(frozen=True)
class NoiseFree:
    """The rate of a step before noise, dips and gaps, from which its truth was derived.

    Attributes:
        grid_s: distance between points; the first covers `grid_s` from the step's start.
        mb_s: (points,), reads and writes together, 10^6 bytes/s.
    """

    grid_s: float
    mb_s: Array


@dataclass(frozen=True)
class LabelledCase:
    """A case: recordings that look like any others, and the truth about them.

    Attributes:
        truth: episodes that a judge has to find.
        grey: falls too small or too short to be required; finding them is not an error either.
        verdicts: of each judged step by (recording, step): the cause of its costliest episode.
        noise_free: of each judged step by (recording, step): its rate before noise.
    """

    seed: int
    recordings: list[InMemoryRecording]
    truth: list[TrueEpisode]
    verdicts: dict[tuple[int, str], TrueVerdict]
    choices: Choices
    grey: list[TrueEpisode] = field(default_factory=list)
    noise_free: dict[tuple[int, str], NoiseFree] = field(default_factory=dict)


TRUTH = "truth.json"


def truth_document(labelled: LabelledCase) -> dict[str, Any]:
    """Return what `truth.json` holds; benches/corpus.md describes its keys."""
    return {
        "schema_version": 1,
        "seed": labelled.seed,
        "choices": asdict(labelled.choices),
        "recordings": [
            {
                "path": str(number),
                "steps": [
                    {
                        "step": step,
                        "verdict": verdict,
                        "episodes": _of(labelled.truth, number, step),
                        "grey": _of(labelled.grey, number, step),
                    }
                    for (index, step), verdict in labelled.verdicts.items()
                    if index == number
                ],
            }
            for number in range(len(labelled.recordings))
        ],
    }


def save(labelled: LabelledCase, directory: Path) -> None:
    """Write a case: each recording to a directory named by its number, and `truth.json`.

    Raises UsageError if something already exists there, ToolError if it cannot be written.
    """
    for number, recording in enumerate(labelled.recordings):
        recording.save(directory / str(number))
    text = json.dumps(truth_document(labelled), indent=1)
    (directory / TRUTH).write_text(text + "\n", "utf-8")


def _of(episodes: list[TrueEpisode], number: int, step: str) -> list[dict[str, Any]]:
    found = [asdict(one) for one in episodes if one.recording == number and one.step == step]
    return [
        {key: value for key, value in one.items() if key not in ("recording", "step")}
        for one in found
    ]
