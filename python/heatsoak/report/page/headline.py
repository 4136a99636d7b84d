"""The answer in one sentence, and a few more sentences."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from heatsoak.analysis import Episode, Findings, RecordingFindings, StepFindings
from heatsoak.analysis.comparison import Comparison
from heatsoak.analysis.findings import Throttles
from heatsoak.analysis.names import Named, Names
from heatsoak.protocol.phrases import plain
from heatsoak.report.page import words
from heatsoak.report.page.contract import Headline, WorkloadSection

_MAX_SENTENCES = 4


@dataclass(frozen=True)
class _Fall:
    """An episode, and where it was seen."""

    named: Named
    step: StepFindings
    episode: Episode


Tone = Literal["good", "bad", "unsure"]
_TONES_OF_ANSWERS: dict[Throttles, Tone] = {"yes": "bad", "no": "good"}
_TONES_OF_COMPARISONS: dict[str, Tone] = {"better": "good", "worse": "bad"}


def headline(
    names: Names,
    found: Findings,
    workloads: Sequence[WorkloadSection],
    comparisons: Sequence[Comparison] = (),
) -> Headline:
    """Return what the recordings show overall; if they were compared, what differs."""
    whole = _of_all(names, found, workloads)
    compared = next((one for one in comparisons if one.headlines), None)
    if compared is None:
        return whole
    tone = _TONES_OF_COMPARISONS.get(compared.summary.tone, "unsure")
    details = compared.headlines[0].details if len(compared.headlines) == 1 else []
    more = [*details, whole.text, *whole.more]
    return whole.model_copy(update={"text": compared.summary.text, "tone": tone, "more": more})


def _of_all(names: Names, found: Findings, workloads: Sequence[WorkloadSection]) -> Headline:
    findings, answer = found.recordings, found.answer
    # rounds are judged as a whole: they have hundreds of steps
    steps = [step for recording in findings for step in recording.steps if step.rounds is None]
    falls = list(_falls(names, findings))
    rounds = [one for recording in findings for one in recording.rounds]
    more = [
        *_by_workload(workloads, falls),
        *_cut(names),
        *_without_temperatures(findings, falls),
    ]
    if rounds and not steps and not falls:
        steady = all(one.is_steady is not False for one in rounds)
        texts = [f"{words.title_of(one.name)}: {one.text}." for one in rounds]
        return Headline(
            text=texts[0], tone="good" if steady else "unsure", more=[*texts[1:], *more], counts={}
        )
    told = [*answer.because, *([answer.next] if answer.next else [])]
    return Headline(
        text=answer.sentence,
        tone=_TONES_OF_ANSWERS.get(answer.throttles, "unsure"),
        more=[*map(_sentence, told), *more],
        counts=dict(Counter(step.verdict for step in steps)),
    )


def _falls(names: Names, findings: Sequence[RecordingFindings]) -> Iterator[_Fall]:
    for named, recording in zip(names.recordings, findings, strict=True):
        for step in recording.steps:
            for episode in step.episodes:
                yield _Fall(named, step, episode)


def _one(worst: _Fall) -> str:
    episode, name = worst.episode, plain(worst.step.step)
    falls = "fall" if name.endswith("s") else "falls"
    after = f"by {episode.depth_text} after {_seconds(episode.onset_s)}"
    return f"{name} {falls} {after}{_levels(episode)}"


def _levels(episode: Episode) -> str:
    for before, during, unit in (
        (episode.before_mb_s, episode.during_mb_s, "MB/s"),
        (episode.before_iops, episode.during_iops, "IOPS"),
        (episode.before_lat_us, episode.during_lat_us, "µs a request"),
    ):
        if before is not None and during is not None:
            return f", from {words.number(before)} to {words.number(during)} {unit}"
    return ""


def _by_workload(workloads: Sequence[WorkloadSection], falls: Sequence[_Fall]) -> list[str]:
    if len(workloads) < 2 or not falls:
        return []
    if len(workloads) <= _MAX_SENTENCES:
        return [f"{workload.title}: {_lower(workload.summary)}" for workload in workloads]
    steady = sum(workload.summary.startswith("Steady") for workload in workloads)
    mildest = min(falls, key=lambda fall: fall.episode.depth_pct)
    said = f"{steady} of {len(workloads)} workloads are steady in every run."
    return [said, f"The mildest fall: {mildest.named.label}, {_one(mildest)}."]


def _cut(names: Names) -> list[str]:
    states = Counter(named.recording.meta.status for named in names.recordings)
    said = []
    if states["running"]:
        cut = words.counted(states["running"], "recording")
        said.append(f"{cut} was cut short or is still running.")
    for status in ("interrupted", "failed"):
        if states[status]:
            said.append(f"{words.counted(states[status], 'run')} {status} before the end.")
    return said


def _without_temperatures(
    findings: Sequence[RecordingFindings], falls: Sequence[_Fall]
) -> list[str]:
    without = sum(not recording.sensors for recording in findings)
    if not without or not falls:
        return []
    where = "" if without == len(findings) else f" in {without} of {len(findings)} recordings"
    return [f"No temperature was recorded{where}, so heat can only be judged by its pattern."]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _seconds(value: float) -> str:
    return f"{words.about(value)} s" if value >= 1 else "less than 1 s"
