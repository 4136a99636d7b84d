"""What a person wanted to know: whether the drive throttles, why, and what next."""

from collections.abc import Sequence

from heatsoak.analysis.findings import (
    Answer,
    Episode,
    RecordingFindings,
    StepFindings,
    Throttles,
    Verdict,
)
from heatsoak.analysis.names import Names
from heatsoak.analysis.own_count import by_own_count, counted_before
from heatsoak.protocol.conditions import phrase
from heatsoak.words import duration_text, number_text

#: So many reasons are told.
MAX_REASONS = 3
#: What lowers throughput, as the subject or the reason of a sentence.
CAUSE_WORDS: dict[Verdict, str] = {
    "thermal": "heat",
    "spare-area": "its spare area ran out",
    "write-cache": "its write cache was full",
    "limited-by-host": "the host asked for less or could not do more",
    "interference": "something else used the drive or the machine",
    "sliding": "it slows down over its whole area",
    "unknown": "an unknown cause",
}
#: What helps, or what to do about a cause.
_ADVICE: dict[Verdict, str] = {
    "thermal": "cool it better (a heatsink, more air, another slot) and run the same again",
    "spare-area": "leave part of the drive unused, or trim it, for steadier random writes",
    "write-cache": "write in smaller portions with pauses: the cache empties when the drive rests",
    "limited-by-host": "look for the limit in the host: processor, PCIe link, or the load itself",
    "interference": "run it again while nothing else uses the drive",
    "sliding": "nothing is wrong: hard disks and some drives are slower towards the end",
}

#: How an answer begins that leaves it open.
CANNOT_TELL = "Cannot tell whether it throttles: "
_BUT = "Does not throttle, but "
#: So long a burst would show throttling, were it logged often enough.
_LONG_BURST_S = 600.0
_FIRMWARE = "switch it off and on, and look for newer firmware: its temperature sensor is stuck"


def answer_of(recording: RecordingFindings) -> Answer:
    """Return the answer of one recording, as it was read."""
    answer = _answer_of(recording)
    before = [] if answer.throttles == "yes" else counted_before(recording.counted)
    because = [*answer.because[: MAX_REASONS - len(before)], *before]
    return answer.model_copy(update={"because": because})


def _answer_of(recording: RecordingFindings) -> Answer:
    judged = [step for step in recording.steps if step.why_unknown is None or step.episodes]
    open_ = [step for step in recording.steps if leaves_heat_open(step)]
    if not judged and (counted := by_own_count(recording)) is not None:
        return counted
    if not (judged or open_):
        return _not_judged(recording)
    throttled = [step for step in judged if step.throttles]
    if throttled:
        seen = [step for step in recording.steps if step.is_long_enough or step.episodes]
        return _throttles(throttled, len(seen))
    if open_:
        return _cannot_tell(open_)
    others = [step for step in recording.steps if step not in judged and step.mean_mb_s != 0]
    if sum(step.duration_s for step in others) > sum(step.duration_s for step in judged):
        return _not_judged(recording)
    return _does_not(judged)


def answer_of_unread(why: str) -> Answer:
    """Return the answer of a recording that was not judged since it was changed."""
    return Answer(
        throttles="cannot-tell",
        sentence=f"{CANNOT_TELL}{why}.",
        next="take it from a copy, or make it again; --damaged reads what can be read",
    )


def answer_of_all(recordings: Sequence[RecordingFindings], names: Names) -> Answer:
    """Return the answer of several recordings together, which have these names."""
    if len(recordings) == 1:
        return recordings[0].answer
    touched = [any("recording" in it.touches for it in one.reservations) for one in recordings]
    changed = f"Changed after they were made: {sum(touched)} of {len(recordings)} recordings. "
    order: tuple[Throttles, ...] = ("yes", "cannot-tell", "no", "not-loaded")
    throttles = min((one.answer.throttles for one in recordings), key=order.index)
    named = zip(recordings, names.recordings, strict=True)
    hit = [(one, name) for one, name in named if one.answer.throttles == throttles]
    of = f"{len(hit)} of {len(recordings)} recordings"
    worst, name = max(hit, key=lambda one: _badness(one[0]))
    start = {
        "yes": f"Heat slows the drive in {of}",
        "cannot-tell": f"In {of} it is open whether the drive throttles",
        "no": f"The drive does not throttle in any of {len(recordings)} recordings",
        "not-loaded": f"The drive was not loaded in any of {len(recordings)} recordings",
    }[throttles]
    doubt = _doubt_of_all(recordings) if throttles == "no" else ""
    start = f"{changed if any(touched) else ''}{start}{doubt}"
    where = phrase(name.conditions, names.keys) or f"in {name.label}"
    has_falls = any(step.episodes for one, _ in hit for step in one.steps)
    if throttles == "not-loaded" or (throttles == "no" and not has_falls):
        because = [f"{where}: {reason}" for reason in worst.answer.because]
        return worst.answer.model_copy(update={"sentence": f"{start}.", "because": because})
    told = worst.answer.sentence.removeprefix(CANNOT_TELL).removeprefix(_BUT)
    throttled = [step for step in worst.steps if step.throttles]
    if throttled and worst.answer.next != _FIRMWARE:
        told = f"{_what_heat_did(_worst(throttled))}."
    sentence = f"{start}. {where[:1].upper()}{where[1:]}: {told}"
    return worst.answer.model_copy(update={"sentence": sentence})


def _doubt_of_all(recordings: Sequence[RecordingFindings]) -> str:
    """What the recordings in which the drive does not throttle leave open, for their sentence."""
    slow = sum(any(step.begun_slow for step in one.steps) for one in recordings)
    warming = sum(any(step.still_warming_k for step in one.steps) for one in recordings)
    doubts = (
        (slow, "may have been slow already when the load began"),
        (warming, "was still warming when a load ended"),
    )
    return "".join(f"; in {count} of them it {what}" for count, what in doubts if count)


def _badness(recording: RecordingFindings) -> float:
    """How bad a recording is among those with the same answer: how slow, or else how hot."""
    if recording.answer.throttles == "not-loaded":
        return (recording.unloaded and recording.unloaded.max_temp_c) or 0.0
    loss = _heat_loss if recording.answer.throttles == "yes" else _loss
    return max(map(loss, recording.steps), default=0.0)


def leaves_heat_open(step: StepFindings) -> bool:
    """Return whether a step may have been slowed by heat."""
    if step.hot_from_start is not None:
        return True
    if step.is_uneven or not step.episodes:
        return step.is_unknown and not step.excludes_heat
    return bool(_open_falls(step))


def _open_falls(step: StepFindings) -> list[Episode]:
    """The falls that heat may have caused, or something else."""
    return [one for one in step.episodes if one.cause == "unknown" and not one.excludes_heat]


def _loss(step: StepFindings) -> float:
    return max([ep.depth_pct for ep in step.episodes] + [step.slowed_by_heat_pct or 0.0])


def _heat_loss(step: StepFindings) -> float:
    by_heat = [episode.depth_pct for episode in step.episodes if episode.cause == "thermal"]
    return max([*by_heat, step.slowed_by_heat_pct or 0.0])


def _throttles(throttled: Sequence[StepFindings], seen: int) -> Answer:
    step = _worst(throttled)
    worst, next_ = _worst_by_heat(step), _ADVICE["thermal"]
    if step.counted is not None:
        start = "Heat throttles the drive, by its own count"
    elif worst is None:
        start = "Heat slows the drive from the start"
    elif worst.sensor_locked_up:
        start, next_ = "The drive slows down for a heat that is not there", _FIRMWARE
    else:
        start = "Heat throttles the drive"
    also = f" ({len(throttled)} of {seen} steps)" if len(throttled) > 1 else ""
    because = list(step.why[:MAX_REASONS]) if worst is None else _reasons(worst)
    sentence = f"{start}{also}: {_what_heat_did(step)}."
    if step.counted is not None and step.episodes:
        deepest = max(step.episodes, key=lambda episode: episode.depth_pct)
        sentence += f" Besides, {_fell(deepest, 'it')}: {_cause(deepest)}."
    return Answer(throttles="yes", sentence=sentence, because=because, next=next_)


def _worst(throttled: Sequence[StepFindings]) -> StepFindings:
    """The step that heat cost most; what only the drive's counters tell comes last."""
    return max(throttled, key=lambda step: (_heat_loss(step), step.counted is None))


def _worst_by_heat(step: StepFindings) -> Episode | None:
    falls = [episode for episode in step.episodes if episode.cause == "thermal"]
    return max(falls, key=lambda episode: episode.depth_pct, default=None)


def _what_heat_did(step: StepFindings) -> str:
    """How heat slowed a step: its deepest fall, what it counted, or that it was always slow."""
    worst = _worst_by_heat(step)
    named = _named(step)
    if step.counted is not None:
        return f"{step.counted} in {named}; how much speed that cost cannot be told"
    return f"{named} never ran at full speed" if worst is None else _fell(worst, named)


def _does_not(judged: Sequence[StepFindings]) -> Answer:
    temps_c = [step.max_temp_c for step in judged if step.max_temp_c is not None]
    hot = f", at {max(temps_c):.0f} C at most" if temps_c else ""
    warming = _still_warming(judged)
    longer = "a longer load would show whether it throttles when it is hotter" if warming else None
    fallen = [step for step in judged if step.episodes]
    if not fallen:
        steps = "it" if len(judged) == 1 else f"each of {len(judged)} steps"
        held = f"{steps} held its speed"
        bound = [step for step in judged if step.verdict == "limited-by-host"]
        if bound:
            return Answer(
                throttles="no",
                sentence=f"Does not throttle{hot}; the host limits {_named(bound[0])}{warming}.",
                because=list(bound[0].why[:MAX_REASONS]),
                next=_ADVICE["limited-by-host"],
            )
        said = [text for step in judged for text in step.why][:MAX_REASONS]
        next_ = None if temps_c else "a log of the drive's temperature would show its reserve"
        begun = next((f"; {step.begun_slow}" for step in judged if step.begun_slow), "")
        sentence = f"Does not throttle: {held}{hot}{begun}{warming}."
        return Answer(throttles="no", sentence=sentence, because=said, next=longer or next_)
    step = max(fallen, key=_loss)
    worst = max(step.episodes, key=lambda episode: episode.depth_pct)
    return Answer(
        throttles="no",
        sentence=f"{_BUT}{_fell(worst, _named(step))}: {_cause(worst)}{warming}.",
        because=_reasons(worst),
        next=_ADVICE.get(worst.cause) or _probe(worst),
    )


def _still_warming(judged: Sequence[StepFindings]) -> str:
    """What the hottest step that was still warming leaves open, for the end of a sentence."""
    warming = [step for step in judged if step.still_warming_k is not None]
    if not warming:
        return ""
    step = max(warming, key=lambda step: step.max_temp_c or 0.0)
    return (
        f"; the drive was still warming when {_named(step)} ended, by {step.still_warming_k:.0f} K "
        "in the last third"
    )


def _cause(episode: Episode) -> str:
    """The cause in words; of an unknown one, the two likeliest."""
    if episode.cause != "unknown":
        return CAUSE_WORDS[episode.cause]
    not_heat = "not heat; " if episode.excludes_heat else ""
    return not_heat + " or ".join(CAUSE_WORDS[cause] for cause in _likeliest(episode)[:2])


def _cannot_tell(unknown: Sequence[StepFindings]) -> Answer:
    step = max(unknown, key=_loss)
    is_of_falls = step.hot_from_start is None and not step.is_uneven
    falls = _open_falls(step) if is_of_falls else step.episodes
    worst = max(falls, key=lambda episode: episode.depth_pct, default=None)
    if worst is not None and is_of_falls:
        deepest = max(step.episodes, key=lambda episode: episode.depth_pct)
        known = "" if deepest in falls else f" Besides, {_fell(deepest, 'it')}: {_cause(deepest)}."
        return Answer(
            throttles="cannot-tell",
            sentence=f"{_open_cause(worst)}: {_fell(worst, _named(step))}.{known}",
            because=_reasons(worst),
            next=_probe(worst),
        )
    why = step.hot_from_start or step.why_unknown or "; ".join(step.why)
    later = ""
    if worst is not None:
        when = "Later" if step.hot_from_start else "Besides,"
        later = f" {when} {_fell(worst, 'it')}: {_cause(worst)}."
    if step.is_uneven:
        more = "the drive's temperature and throttling counters, logged beside an even load,"
    else:
        more = "the same load on a cool drive"
    return Answer(
        throttles="cannot-tell",
        sentence=f"Cannot tell whether {_named(step)} was throttled: {why}.{later}",
        because=[] if worst is None else _reasons(worst),
        next=f"{more} would settle it",
    )


def _open_cause(episode: Episode) -> str:
    """What slows a drive that heat may slow: the likeliest, and what it cannot be told from."""
    shares = episode.likelihoods
    heat = shares.get("thermal", 0.0)
    if heat < 0.5 or not episode.shows_heat:
        return "Cannot tell whether heat or something else slows the drive"
    return f"Probably heat ({heat:.0%}), or else {CAUSE_WORDS[_likeliest(episode)[0]]}"


def _likeliest(episode: Episode) -> list[Verdict]:
    """The causes other than heat, the likeliest first."""
    shares = episode.likelihoods
    known = [cause for cause in shares if cause in CAUSE_WORDS and cause != "thermal"]
    return sorted(known, key=lambda cause: -shares[cause])


def _not_judged(recording: RecordingFindings) -> Answer:
    reasons = dict.fromkeys(step.why_unknown for step in recording.steps if step.why_unknown)
    was_idle = not recording.steps or set(reasons) <= {"nothing was moved"}
    if was_idle:
        unloaded = recording.unloaded
        if unloaded is not None and unloaded.longest_burst_s is not None:
            longest = duration_text(unloaded.longest_burst_s)
            is_long = unloaded.longest_burst_s >= _LONG_BURST_S
            too = "in samples too far apart" if is_long else "too short"
            return Answer(
                throttles="cannot-tell",
                sentence=f"{CANNOT_TELL}it worked in bursts of {longest} at "
                f"most, {number_text(unloaded.bursts_gb)} GB in all{unloaded.text}, {too} to "
                "show it.",
                because=unloaded.reasons[:MAX_REASONS],
                next="log every second"
                if is_long
                else "log a load of minutes: `heatsoak run quick --on .`",
            )
        return Answer(
            throttles="not-loaded",
            sentence=f"The drive was never loaded{'' if unloaded is None else unloaded.text}, so "
            "nothing could throttle.",
            because=[] if unloaded is None else unloaded.reasons[:MAX_REASONS],
            next="load it (`heatsoak run quick --on .`), or log while it works",
        )
    temps_c = [step.max_temp_c for step in recording.steps if step.max_temp_c is not None]
    return Answer(
        throttles="cannot-tell",
        sentence=f"{CANNOT_TELL}{'; '.join(list(reasons)[:2])}.",
        because=[f"it was at {max(temps_c):.0f} C at most"] if temps_c else [],
        next="a log with the drive's throughput every few seconds would settle it",
    )


def _named(step: StepFindings) -> str:
    return f"'{step.step}'"


def _fell(episode: Episode, what: str) -> str:
    """``'writes' fell by 64 %, from 1,480 to 533 MB/s, after 283 s, at 78 C``."""
    levels, verb = "", "fell"
    for before, during, unit in (
        (episode.before_mb_s, episode.during_mb_s, "MB/s"),
        (episode.before_iops, episode.during_iops, "IOPS"),
        (episode.before_lat_us, episode.during_lat_us, "µs an I/O"),
    ):
        if before is not None and during is not None:
            levels = f", from {_amount(before)} to {_amount(during)} {unit}"
            verb = "slowed" if before < during else "fell"
    temp = "" if episode.temp_c_at_onset is None else f", at {episode.temp_c_at_onset:.0f} C"
    swings = " again and again" if episode.oscillates else ""
    return (
        f"{what} {verb}{swings} by {episode.depth_text}{levels}, after "
        f"{duration_text(episode.onset_s)}{temp}"
    )


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else number_text(value, 2)


def _reasons(episode: Episode) -> list[str]:
    """The strongest evidence for the cause; for an unknown one, for what is likeliest."""
    wanted = "for " if episode.cause == "unknown" else f"for {episode.cause}: "
    lines = [line for line in episode.evidence if line.startswith(wanted)]
    if episode.cause != "unknown":
        lines = [line.removeprefix(wanted) for line in lines]
    return lines[:MAX_REASONS]


def _probe(episode: Episode) -> str | None:
    open_ = [line for line in episode.evidence if line.startswith("open: ")]
    return open_[-1].removeprefix("open: ") if open_ else None
