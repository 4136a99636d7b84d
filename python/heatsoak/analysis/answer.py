"""What a person wanted to know: whether the drive throttles, why, and what next; and which limits,
where some were asked for, it does not keep."""

from collections.abc import Sequence
from typing import Literal

from heatsoak import words
from heatsoak.analysis import advice, findings
from heatsoak.analysis.names import Named, Names
from heatsoak.analysis.unloaded import by_own_count, counted_before, fails
from heatsoak.protocol.conditions import phrase
from heatsoak.recording.meta import RecordingMeta

#: So many reasons are told.
_MAX_REASONS = 3
#: From this share on something is probably so: likelier than not.
_PROBABLY = 0.5
#: Below this share a cause that is named is probable.
_CERTAIN = 0.95
#: What lowers throughput, as the subject or the reason of a sentence.
CAUSE_WORDS: dict[findings.Verdict, str] = {
    "thermal": "heat",
    "spare-area": "its spare area ran out",
    "write-cache": "its write cache was full",
    "limited-by-host": "the host asked for less or could not do more",
    "interference": "something else used the drive or the machine",
    "sliding": "it slows down over its whole area",
    "unknown": "an unknown cause",
}
#: What a piece of evidence speaks for.
_POINTS_TO = {
    "thermal": "points to heat",
    "spare-area": "points to used-up spare area",
    "write-cache": "points to a full write cache",
    "limited-by-host": "points to the host",
    "interference": "points to other work",
    "sliding": "points to a drive that slows down over its area",
}
#: How an answer begins that leaves it open.
_CANNOT_TELL = "Cannot tell whether it throttles: "
_BUT = "Did not throttle, but "
#: So long a burst would show throttling, were it logged often enough.
_LONG_BURST_S = 600.0
_FIRMWARE = "switch it off and on, and look for newer firmware: its temperature sensor is stuck"


def answer_of(recording: findings.RecordingFindings, meta: RecordingMeta) -> findings.Answer:
    """Return the answer of one recording, as it was read."""
    answer = _answer_of(recording, meta)
    before = [] if answer.throttles == "yes" else counted_before(recording.counted)
    because = [*answer.because[: _MAX_REASONS - len(before)], *before]
    return answer.model_copy(update={"because": because})


def _answer_of(recording: findings.RecordingFindings, meta: RecordingMeta) -> findings.Answer:
    judged = [step for step in recording.steps if step.why_unknown is None or step.episodes]
    open_ = [step for step in recording.steps if leaves_heat_open(step)]
    if not judged and (counted := by_own_count(recording)) is not None:
        return counted
    if not (judged or open_):
        return _not_judged(recording, meta)
    throttled = [step for step in judged if step.throttles]
    if throttled:
        seen = [step for step in recording.steps if step.is_long_enough or step.episodes]
        return _throttles(throttled, len(seen), meta)
    if open_:
        return _cannot_tell(open_, meta)
    others = [step for step in recording.steps if step not in judged and step.mean_mb_s != 0]
    if sum(step.duration_s for step in others) > sum(step.duration_s for step in judged):
        return _not_judged(recording, meta)
    return _does_not(judged, recording, meta)


def answer_of_unread(why: str) -> findings.Answer:
    """Return the answer of a recording that was not judged since it was changed."""
    return findings.Answer(
        throttles="cannot-tell",
        sentence=f"{_CANNOT_TELL}{why}.",
        next="take it from a copy, or make it again; --damaged reads what can be read",
    )


def left_open(read: findings.Answer, standing: Sequence[str]) -> findings.Answer:
    """Return an answer as it was read, which what was not read for certain leaves open."""
    return findings.Answer(
        throttles="cannot-tell",
        sentence=f"{_CANNOT_TELL}{standing[0]}. As read: "
        f"{read.sentence[:1].lower()}{read.sentence[1:]}",
        because=[*standing[1:], *read.because][:_MAX_REASONS],
        next=read.next,
    )


def answer_of_all(
    recordings: Sequence[findings.RecordingFindings], names: Names
) -> findings.Answer:
    """Return the answer of several recordings together, which have these names.

    What a drive itself warns of comes first.
    """
    if len(recordings) == 1:
        return recordings[0].answer
    together = _together(recordings, names)
    named = zip(recordings, names.recordings, strict=True)
    warning = [(one, name) for one, name in named if one.answer.alarm]
    if not warning:
        return together
    warning.sort(key=lambda both: not fails(both[0].counted))
    first, name = warning[0][0].answer, warning[0][1]
    more = f", and so do {len(warning) - 1} more" if warning[1:] else ""
    alarm = f"{_where(name, names)}, {first.alarm}{more}"
    return together.after(alarm).model_copy(update={"next": first.next})


def _where(name: Named, names: Names) -> str:
    return phrase(name.conditions, names.keys) or f"in {name.label}"


def _together(recordings: Sequence[findings.RecordingFindings], names: Names) -> findings.Answer:
    touched = [any("recording" in it.touches for it in one.reservations) for one in recordings]
    changed = f"Changed after they were made: {sum(touched)} of {len(recordings)} recordings. "
    throttles = min((one.answer.throttles for one in recordings), key=findings.WORST_FIRST.index)
    named = zip(recordings, names.recordings, strict=True)
    hit = [(one, name) for one, name in named if one.answer.throttles == throttles]
    of = f"{len(hit)} of {len(recordings)} recordings"
    worst, name = max(hit, key=lambda one: _badness(one[0]))
    start = {
        "yes": f"Heat slows the drive in {of}",
        "cannot-tell": f"Cannot tell in {of} whether the drive throttled",
        "no": f"The drive did not throttle in any of {len(recordings)} recordings",
        "not-loaded": f"The drive was not loaded in any of {len(recordings)} recordings",
    }[throttles]
    doubt = _doubt_of_all(recordings) if throttles == "no" else ""
    start = f"{changed if any(touched) else ''}{start}{doubt}"
    where = _where(name, names)
    has_falls = any(step.episodes for one, _ in hit for step in one.steps)
    if throttles == "not-loaded" or (throttles == "no" and not has_falls):
        because = [f"{where}: {reason}" for reason in worst.answer.because]
        return worst.answer.model_copy(
            update={"sentence": f"{start}.", "because": because, "alarm": None}
        )
    told = worst.answer.beside_alarm.removeprefix(_CANNOT_TELL).removeprefix(_BUT)
    throttled = [step for step in worst.steps if step.throttles]
    if throttled and worst.answer.next != _FIRMWARE:
        told = f"{_what_heat_did(_worst(throttled))}."
    sentence = f"{start}. {words.capital(where)}: {told}"
    return worst.answer.model_copy(update={"sentence": sentence, "alarm": None})


def _doubt_of_all(recordings: Sequence[findings.RecordingFindings]) -> str:
    """What the recordings in which the drive does not throttle leave open, for their sentence."""
    slow = sum(any(step.begun_slow for step in one.steps) for one in recordings)
    warming = sum(any(step.still_warming_k for step in one.steps) for one in recordings)
    doubts = (
        (slow, "may have been slow already when the load began"),
        (warming, "was still warming when a load ended"),
    )
    return "".join(f"; in {count} of them it {what}" for count, what in doubts if count)


def _badness(recording: findings.RecordingFindings) -> float:
    """How bad a recording is among those with the same answer: how slow, or else how hot."""
    if recording.answer.throttles == "not-loaded":
        return (recording.unloaded and recording.unloaded.max_temp_c) or 0.0
    loss = _heat_loss if recording.answer.throttles == "yes" else _loss
    return max(map(loss, recording.steps), default=0.0)


def leaves_heat_open(step: findings.StepFindings) -> bool:
    """Return whether a step may have been slowed by heat."""
    if step.hot_from_start is not None:
        return True
    if step.is_uneven or not step.episodes:
        return step.is_unknown and not step.excludes_heat
    return bool(_open_falls(step))


def _open_falls(step: findings.StepFindings) -> list[findings.Episode]:
    """The falls that heat may have caused, or something else."""
    return [one for one in step.episodes if _is_open(one)]


def _is_open(episode: findings.Episode) -> bool:
    return episode.cause == "unknown" and not episode.excludes_heat


def _depth(episode: findings.Episode) -> float:
    return episode.depth_pct


def _loss(step: findings.StepFindings) -> float:
    return max([ep.depth_pct for ep in step.episodes] + [step.slowed_by_heat_pct or 0.0])


def _heat_loss(step: findings.StepFindings) -> float:
    by_heat = [episode.depth_pct for episode in step.episodes if episode.cause == "thermal"]
    return max([*by_heat, step.slowed_by_heat_pct or 0.0])


def _throttles(
    throttled: Sequence[findings.StepFindings], seen: int, meta: RecordingMeta
) -> findings.Answer:
    step = _worst(throttled)
    worst, next_ = _worst_by_heat(step), advice.against("thermal", meta)
    if step.counted is not None:
        start = "Heat throttles the drive, by its own count"
    elif worst is None:
        start = "Heat slows the drive from the start"
    elif worst.sensor_locked_up:
        start, next_ = "The drive slows down for a heat that is not there", _FIRMWARE
    else:
        start = "Heat throttles the drive"
    also = f" ({len(throttled)} of {seen} steps)" if len(throttled) > 1 else ""
    because = list(step.why[:_MAX_REASONS]) if worst is None else _reasons(worst)
    sentence = f"{start}{also}: {_what_heat_did(step)}."
    if step.counted is not None and step.deepest is not None:
        sentence += _besides(step.deepest)
    return findings.Answer(throttles="yes", sentence=sentence, because=because, next=next_)


def _worst(throttled: Sequence[findings.StepFindings]) -> findings.StepFindings:
    """The step that heat cost most; what only the drive's counters tell comes last."""
    return max(throttled, key=lambda step: (_heat_loss(step), step.counted is None))


def _worst_by_heat(step: findings.StepFindings) -> findings.Episode | None:
    falls = [episode for episode in step.episodes if episode.cause == "thermal"]
    return max(falls, key=_depth, default=None)


def _what_heat_did(step: findings.StepFindings) -> str:
    """How heat slowed a step: its deepest fall, what it counted, or that it was always slow."""
    worst = _worst_by_heat(step)
    named = _named(step)
    if step.counted is not None:
        return f"{step.counted} in {named}; how much speed that cost cannot be told"
    if worst is not None:
        return _fell(worst, named)
    lost = max(step.slowed_by_heat_pct or 0.0, step.slower_than_elsewhere_pct or 0.0)
    return (
        f"{named} ran {words.percent_text(lost)} below its full speed throughout"
        if lost
        else f"{named} never ran at full speed"
    )


def _does_not(
    judged: Sequence[findings.StepFindings],
    recording: findings.RecordingFindings,
    meta: RecordingMeta,
) -> findings.Answer:
    temps_c = [step.max_temp_c for step in judged if step.max_temp_c is not None]
    hot = f", at {words.temp_text(max(temps_c))} at most" if temps_c else ""
    warming = _still_warming(judged)
    worst = max((step.deepest for step in judged if step.deepest), key=_depth, default=None)
    if worst is None:
        steps = {1: "it", 2: "both steps"}.get(len(judged), f"all {len(judged)} steps")
        held = f"{steps} held {'its' if len(judged) == 1 else 'their'} speed"
        bound = [step for step in judged if step.verdict == "limited-by-host"]
        if bound:
            return findings.Answer(
                throttles="no",
                sentence=f"Did not throttle{hot}; the host limits {_named(bound[0])}{warming}.",
                because=list(bound[0].why[:_MAX_REASONS]),
                next=advice.against("limited-by-host", meta),
            )
        said = [text for step in judged for text in step.why][:_MAX_REASONS]
        next_ = advice.load_for_longer(meta) if warming else recording.no_temp
        begun = next((f"; {step.begun_slow}" for step in judged if step.begun_slow), "")
        sentence = f"Did not throttle: {held}{hot}{begun}{warming}."
        return findings.Answer(throttles="no", sentence=sentence, because=said, next=next_)
    step = next(step for step in judged if worst in step.episodes)
    return findings.Answer(
        throttles="no",
        sentence=f"{_BUT}{_fell(worst, _named(step))}: {_cause(worst)}{warming}.",
        because=_reasons(worst),
        next=advice.against(worst.cause, meta) or advice.tell_apart(_probe(worst), meta),
    )


def _still_warming(judged: Sequence[findings.StepFindings]) -> str:
    """What the hottest step that was still warming leaves open, for the end of a sentence."""
    warming = [step for step in judged if step.still_warming_k is not None]
    if not warming:
        return ""
    step = max(warming, key=lambda step: step.max_temp_c or 0.0)
    by = words.kelvin_text(round(step.still_warming_k or 0.0))
    return f"; the drive was still warming when {_named(step)} ended, by {by} in the last third"


def _cause(episode: findings.Episode) -> str:
    """The cause in words, with its doubt; of an unknown one, the two likeliest."""
    if episode.cause != "unknown":
        is_certain = episode.cause == "thermal" or episode.confidence >= _CERTAIN
        doubt = "" if is_certain else f"probably ({words.share_text(episode.confidence)}) "
        return doubt + CAUSE_WORDS[episode.cause]
    two = _likeliest(episode)[:2]
    is_likely = sum(episode.likelihoods[cause] for cause in two) >= _PROBABLY
    not_heat = "not heat; " if episode.excludes_heat else ""
    maybe = "probably" if is_likely else "perhaps"
    return f"{not_heat}{maybe} " + " or ".join(CAUSE_WORDS[cause] for cause in two)


def _cannot_tell(unknown: Sequence[findings.StepFindings], meta: RecordingMeta) -> findings.Answer:
    step = max(unknown, key=_loss)
    worst, deepest = max(_open_falls(step), key=_depth, default=None), step.deepest
    if worst is not None and step.hot_from_start is None:
        known = "" if deepest is None or _is_open(deepest) else _besides(deepest)
        return findings.Answer(
            throttles="cannot-tell",
            sentence=f"{_open_cause(worst)}: {_fell(worst, _named(step))}.{known}",
            because=_reasons(worst),
            next=advice.tell_apart(_probe(worst), meta),
        )
    why = step.hot_from_start or step.why_unknown or "; ".join(step.why)
    later = "" if deepest is None else _besides(deepest, "Later" if step.hot_from_start else "")
    even = advice.load_evenly(meta) if step.is_uneven else advice.start_cool(meta)
    return findings.Answer(
        throttles="cannot-tell",
        sentence=f"Cannot tell whether {_named(step)} was throttled: {why}.{later}",
        because=[] if deepest is None else _reasons(deepest),
        next=even,
    )


def _open_cause(episode: findings.Episode) -> str:
    """What slows a drive that heat may slow: the likeliest, and what it cannot be told from."""
    shares = episode.likelihoods
    heat = shares.get("thermal", 0.0)
    if heat < _PROBABLY or not episode.shows_heat:
        return "Cannot tell whether heat or something else slows the drive"
    return (
        f"Probably heat ({words.share_text(heat)}), or else {CAUSE_WORDS[_likeliest(episode)[0]]}"
    )


def _likeliest(episode: findings.Episode) -> list[findings.Verdict]:
    """The causes other than heat, the likeliest first."""
    shares = episode.likelihoods
    known = [cause for cause in shares if cause in CAUSE_WORDS and cause != "thermal"]
    return sorted(known, key=lambda cause: -shares[cause])


def _not_judged(recording: findings.RecordingFindings, meta: RecordingMeta) -> findings.Answer:
    reasons = dict.fromkeys(step.why_unknown for step in recording.steps if step.why_unknown)
    was_idle = not recording.steps or set(reasons) <= {"nothing was moved"}
    if was_idle:
        unloaded = recording.unloaded
        if unloaded is not None and unloaded.longest_burst_s is not None:
            longest = words.duration_text(unloaded.longest_burst_s)
            is_long = unloaded.longest_burst_s >= _LONG_BURST_S
            too = "in samples too far apart" if is_long else "too short"
            return findings.Answer(
                throttles="cannot-tell",
                sentence=(
                    f"{_CANNOT_TELL}it worked in bursts of {longest} at most, "
                    f"{words.amount_text(unloaded.bursts_gb, 'GB')} in all{unloaded.text}, {too} "
                    "to show it."
                ),
                because=unloaded.reasons[:_MAX_REASONS],
                next="log every second" if is_long else advice.LOAD_IT,
            )
        return findings.Answer(
            throttles="not-loaded",
            sentence=f"The drive was never loaded{'' if unloaded is None else unloaded.text}, so "
            "nothing could throttle.",
            because=[] if unloaded is None else unloaded.reasons[:_MAX_REASONS],
            next=advice.LOAD_IT,
        )
    temps_c = [step.max_temp_c for step in recording.steps if step.max_temp_c is not None]
    return findings.Answer(
        throttles="cannot-tell",
        sentence=f"{_CANNOT_TELL}{'; '.join(list(reasons)[:2])}.",
        because=[f"it was at {words.temp_text(max(temps_c))} at most"] if temps_c else [],
        next=advice.measure_it(meta),
    )


def _named(step: findings.StepFindings) -> str:
    return f"'{step.step}'"


def _fell(episode: findings.Episode, what: str) -> str:
    """``'writes' fell by 64 %, from 1,480 to 533 MB/s, after 283 s, at 78 C``."""
    unit, before, during, _ = episode.levels
    span = f"from {words.number_text(before, 2)} to {words.number_text(during, 2)} {unit}"
    levels, verb = f", {span}" if unit else "", "slowed" if before < during else "fell"
    temp = ""
    if episode.temp_c_at_onset is not None:
        temp = f", at {words.temp_text(episode.temp_c_at_onset)}"
    if episode.hotter_c_at_onset is not None and episode.cause in ("thermal", "unknown"):
        temp += f", and {words.temp_text(episode.hotter_c_at_onset)} at '{episode.hotter_sensor}'"
    swings = " again and again" if episode.oscillates else ""
    by, when = f"by {episode.depth_text}", f", after {words.duration_text(episode.onset_s)}"
    if episode.from_start:
        by, when = f"from its start, by {episode.depth_text}", ""
    return f"{what} {verb}{swings} {by}{levels}{when}{temp}"


def _besides(episode: findings.Episode, when: str = "") -> str:
    """Another fall and its cause, as a sentence of its own."""
    return f" {when or 'Besides,'} {_fell(episode, 'it')}: {_cause(episode)}."


def _reasons(episode: findings.Episode) -> list[str]:
    """The strongest evidence for the cause; for an unknown one, for what is likeliest."""
    found = []
    for line in episode.evidence:
        cause, _, text = line.removeprefix("for ").partition(": ")
        if line.startswith("for ") and episode.cause in (cause, "unknown"):
            found.append(f"{_POINTS_TO[cause]}: {text}" if episode.cause == "unknown" else text)
    return found[:_MAX_REASONS]


def _probe(episode: findings.Episode) -> str | None:
    open_ = [line for line in episode.evidence if line.startswith("open: ")]
    return open_[-1].removeprefix("open: ") if open_ else None


#: What is not to happen: that a step throttles or may have, that a step's verdict is unknown or
#: nothing tells whether the drive throttles, or either of them and any fall of throughput.
Forbidden = Literal["throttle", "unknown", "any"]


def why_failed(
    found: findings.RecordingFindings, forbidden: Forbidden | None, fail_below_mb_s: float | None
) -> list[str]:
    """Return which of the limits a recording does not keep, in words; none if it keeps all."""
    reasons = []
    for step in found.steps:
        mean = step.mean_mb_s
        if fail_below_mb_s is not None and mean is not None and mean < fail_below_mb_s:
            reasons.append(
                f"{step.step}: {words.rate_text(mean)} is below {words.rate_text(fail_below_mb_s)}"
            )
        falls = forbidden == "any" and step.episodes
        if falls or (forbidden in ("throttle", "any") and step.may_have_throttled):
            reasons.append(f"{step.step} {what_happened(step)}")
    if forbidden == "any" and found.answer.alarm:
        reasons.append(found.answer.alarm)
    if forbidden in ("unknown", "any"):
        if found.answer.throttles == "cannot-tell":
            reasons.append("nothing tells whether it throttles")
        unknown = [step.step for step in found.steps if step.is_unknown]
        if unknown:
            reasons.append(
                f"nothing tells what slowed {words.listed(unknown)}, or whether anything did"
            )
    return reasons


def what_happened(step: findings.StepFindings) -> str:
    """Return what a step that falls or is slow does, to follow its name."""
    if step.counted is not None:
        return f"throttles by its own count ({step.counted})"
    if not step.episodes:
        return "throttles from the start" if step.throttles else "may have throttled"
    heat = [episode for episode in step.episodes if episode.cause == "thermal"]
    first = (heat or step.episodes)[0]
    verb = "throttles" if heat else "falls"
    return f"{verb} after {words.seconds_text(first.onset_s)}, by {first.depth_text}"
