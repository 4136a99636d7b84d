"""The answer in one sentence, and a few more sentences."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from heatsoak.analysis import Episode, RecordingFindings, StepFindings
from heatsoak.report.page import words
from heatsoak.report.page.contract import Headline, WorkloadSection
from heatsoak.report.page.matrix import summarised
from heatsoak.report.page.names import Named, Names

_MAX_SENTENCES = 4


@dataclass(frozen=True)
class _Fall:
    """An episode, and where it was seen."""

    named: Named
    step: StepFindings
    episode: Episode


def headline(
    names: Names, findings: Sequence[RecordingFindings], workloads: Sequence[WorkloadSection]
) -> Headline:
    """Return what the recordings show overall."""
    # rounds are judged as a whole: they have hundreds of steps
    steps = [step for recording in findings for step in recording.steps if step.rounds is None]
    judged = [step for step in steps if step.why_unknown is None]
    falls = list(_falls(names, findings))
    main_steps = summarised([fall.step for fall in falls])
    main = [fall for fall in falls if fall.step in main_steps]
    rounds = [found for recording in findings for found in recording.rounds]
    more = [
        *_by_workload(workloads, falls),
        *_cut(names),
        *_without_temperatures(findings, falls),
    ]
    if rounds and not steps and not falls:
        steady = all(found.is_steady is not False for found in rounds)
        texts = [f"{words.title_of(found.name)}: {found.text}." for found in rounds]
        return Headline(
            text=texts[0], tone="good" if steady else "unsure", more=[*texts[1:], *more], counts={}
        )
    if len(findings) == 1:
        # of several, where it is worst is the answer
        answer = findings[0].answer
        text = answer.sentence
        more = [*map(_sentence, [*answer.because, *([answer.next] if answer.next else [])]), *more]
    else:
        text = _text(names, findings, judged, main)
    return Headline(
        text=text,
        tone=_tone(judged, falls),
        more=more,
        counts=dict(Counter(step.verdict for step in steps)),
    )


def _falls(names: Names, findings: Sequence[RecordingFindings]) -> Iterator[_Fall]:
    for named, recording in zip(names.recordings, findings, strict=True):
        for step in recording.steps:
            for episode in step.episodes:
                yield _Fall(named, step, episode)


def _tone(
    judged: Sequence[StepFindings], falls: Sequence[_Fall]
) -> Literal["good", "bad", "unsure"]:
    if not judged:
        return "unsure"
    if any(step.throttles for step in judged):
        return "bad"
    if not falls:
        return "good" if all(step.verdict == "steady" for step in judged) else "unsure"
    return "unsure" if all(fall.episode.cause == "unknown" for fall in falls) else "bad"


def _text(
    names: Names,
    findings: Sequence[RecordingFindings],
    judged: Sequence[StepFindings],
    falls: Sequence[_Fall],
) -> str:
    if not judged:
        return _not_judged(findings)
    if not falls:
        slow = [step for step in judged if step.verdict in ("thermal", "unknown") and step.why]
        return _slow_from_start(slow) if slow else _steady(findings, judged)
    thermal = [fall for fall in falls if fall.episode.cause == "thermal"]
    verb = "Throttles" if thermal else "Gets slower"
    worst = max(thermal or falls, key=lambda fall: fall.episode.depth_pct)
    hit = len({id(fall.named) for fall in thermal or falls})
    places = _places(names, len(findings))
    where = words.phrase(worst.named.conditions, names.keys) or f"in '{worst.named.label}'"
    drop = f"by {worst.episode.depth_pct:.0f} % after {_seconds(worst.episode.onset_s)}"
    return (
        f"{verb} in {hit} of {places}: most {where}, {drop} "
        f"({words.plain(worst.step.step)}); {_causes(falls)}."
    )


def _slow_from_start(slow: Sequence[StepFindings]) -> str:
    """Steps that never fell, since an earlier load had already slowed them."""
    worst = next((step for step in slow if step.throttles), slow[0])
    verb = "Throttles" if worst.throttles else "May throttle"
    more = f", and {words.counted(len(slow) - 1, 'workload')} more" if len(slow) > 1 else ""
    return f"{verb} from the start in {words.plain(worst.step)}{more}: {'; '.join(worst.why)}."


def _one(worst: _Fall) -> str:
    episode, name = worst.episode, words.plain(worst.step.step)
    falls = "fall" if name.endswith("s") else "falls"
    after = f"by {episode.depth_pct:.0f} % after {_seconds(episode.onset_s)}"
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


def _causes(falls: Sequence[_Fall]) -> str:
    """The causes of the falls, the most frequent first."""
    counted = Counter(fall.episode.cause for fall in falls).most_common()
    known = [cause for cause, _ in counted if cause != "unknown"]
    if not known:
        return "the cause is unknown"
    if len(counted) == 1:
        return f"{words.CAUSES[known[0]]} is the cause"
    parts = [f"{words.CAUSES[cause]} ({count})" for cause, count in counted]
    return f"causes: {words.listed(parts)}"


def _places(names: Names, count: int) -> str:
    """The noun for what is counted."""
    if names.keys == ["drive"]:
        return words.counted(count, "drive")
    if names.keys and len(names.settings) == count:
        return words.counted(count, "place" if "slot" in names.keys else "condition")
    return words.counted(count, "recording")


def _steady(findings: Sequence[RecordingFindings], judged: Sequence[StepFindings]) -> str:
    unknown = sum(
        step.why_unknown is not None and step.rounds is None
        for recording in findings
        for step in recording.steps
    )
    runs = words.counted(len(judged), "workload")
    left = f"; {unknown} more could not be judged" if unknown else ""
    if len(findings) > 1:
        runs = f"{runs} in {words.counted(len(findings), 'recording')}"
    bound = sum(step.verdict == "limited-by-host" for step in judged)
    if bound:
        return f"Does not throttle, but the host limits {bound} of {runs}{left}."
    which = "the one workload" if len(judged) == 1 else f"all {runs}"
    return f"Steady: does not throttle in {which}{left}."


def _not_judged(findings: Sequence[RecordingFindings]) -> str:
    reasons = dict.fromkeys(
        step.why_unknown for recording in findings for step in recording.steps if step.why_unknown
    )
    if not reasons:
        return "Nothing to judge: no workload was recorded."
    return f"Cannot be judged: {'; '.join(list(reasons)[:2])}."


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
