"""What a person wanted to know: whether the drive throttles, why, and what next, as a command to
paste where there is one; and which limits, where some were asked for, it does not keep."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from heatsoak import words
from heatsoak.analysis import claims, findings
from heatsoak.analysis.names import Named, Names
from heatsoak.analysis.unloaded import counted_before
from heatsoak.protocol import Protocol, bundled, load
from heatsoak.protocol.conditions import label_text, phrase
from heatsoak.recording.columns import own_temperatures, throttle_counters
from heatsoak.recording.meta import RecordingMeta

#: What would tell or help, or how, and the command to paste.
Next = str | tuple[str, str] | None
#: So many reasons are told.
_MAX_REASONS = 3
#: How an answer begins that leaves it open.
_CANNOT_TELL = "Cannot tell whether it throttles: "
_BUT = "Did not throttle, but "
#: So long a burst would show throttling, were it logged often enough.
_LONG_BURST_S = 600.0
_FIRMWARE = "switch it off and on, and look for newer firmware: its temperature sensor is stuck"


def answer_of(recording: findings.RecordingFindings, meta: RecordingMeta) -> findings.Answer:
    """Return the answer of one recording: its highest claim, after the rate that it was run for.

    What the drive warns of comes first.
    """
    answer = _answer_of(recording, meta)
    if standing := claims.standing_against(recording, answer):
        answer = _left_open(answer, standing)
    before = [] if answer.throttles == "yes" else counted_before(recording.counted)
    because = [*answer.because[: _MAX_REASONS - len(before)], *before]
    sought = {step for one in recording.scores if one.metric == "limit_mb_s" for step in one.steps}
    told = [f"{words.capital(one.text)}. " for one in recording.rounds if one.tracked in sought]
    sentence = "".join(told) + answer.sentence
    answer = answer.model_copy(update={"because": because, "sentence": sentence})
    alarm = next((one for one in recording.claims if one.what == "alarm"), None)
    return answer if alarm is None else answer.after(alarm)


def _answer_of(recording: findings.RecordingFindings, meta: RecordingMeta) -> findings.Answer:
    own = [one for one in recording.claims if one.what != "alarm"]
    judged = [step for step in recording.steps if step.claim.heat is not None]
    if own and all(any(one.heat is None for one in step.claims) for step in recording.steps):
        return _by_own_count(own[0], recording)
    if not judged:
        return _not_judged(recording, meta)
    first = min(judged, key=lambda step: step.claim.rank)
    if first.claim.heat == "yes":
        return _throttles(first, judged, meta)
    if first.claim.heat == "open":
        return _cannot_tell(first, meta)
    others = [step for step in recording.steps if step not in judged and step.mean_mb_s != 0]
    if sum(step.duration_s for step in others) > sum(step.duration_s for step in judged):
        return _not_judged(recording, meta)
    return _does_not(first.claim, judged, recording, meta)


def _said(
    throttles: findings.Throttles, sentence: str, because: Sequence[str], next_: Next
) -> findings.Answer:
    """An answer with its reasons, the strongest first."""
    answer = findings.Answer(throttles=throttles, sentence=sentence, because=list(because))
    how, command = next_ if isinstance(next_, tuple) else (next_, None)
    then = f"{how}: {command}" if command else how
    return answer.model_copy(update={"next": then, "command": command})


def answer_of_unread(why: str) -> findings.Answer:
    """Return the answer of a recording that was not judged since it was changed."""
    next_ = "take it from a copy, or make it again; --damaged reads what can be read"
    return _said("cannot-tell", f"{_CANNOT_TELL}{why}.", (), next_)


def _left_open(read: findings.Answer, standing: Sequence[str]) -> findings.Answer:
    """An answer as it was read, which what was not read for certain leaves open."""
    told = read.sentence[:1].lower() + read.sentence[1:].rstrip(".")
    because = [f"as read: {told}", *standing[1:]]
    said = {"sentence": f"{_CANNOT_TELL}{standing[0]}.", "because": because}
    return read.model_copy(update={"throttles": "cannot-tell", **said})


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
    warning = [
        (claim, name) for one, name in named for claim in one.claims if claim.what == "alarm"
    ]
    if not warning:
        return together
    first, name = min(warning, key=lambda both: both[0].rank)
    more = f", and so do {len(warning) - 1} more" if warning[1:] else ""
    text = f"{_where(name, names)}, {first.text}{more}"
    return together.after(first.model_copy(update={"text": text}))


def _where(name: Named, names: Names) -> str:
    return phrase(name.conditions, names.keys) or f"in {name.label}"


def _together(recordings: Sequence[findings.RecordingFindings], names: Names) -> findings.Answer:
    touched = sum(any("recording" in it.touches for it in r.reservations) for r in recordings)
    changed = f"Changed after they were made: {touched} of {len(recordings)} recordings. "
    at = min(range(len(recordings)), key=lambda number: rank_of(recordings[number]))
    worst, name = recordings[at], names.recordings[at]
    throttles = worst.answer.throttles
    hit = [one for one in recordings if one.answer.throttles == throttles]
    of = f"{len(hit)} of {len(recordings)} recordings"
    doubt = _doubt_of_all(recordings)
    start = (changed if touched else "") + {
        "yes": f"Heat slows the drive in {of}",
        "cannot-tell": f"Cannot tell in {of} whether the drive throttled",
        "no": f"The drive did not throttle in any of {len(recordings)} recordings{doubt}",
        "not-loaded": f"The drive was not loaded in any of {len(recordings)} recordings",
    }[throttles]
    start = _for_ever(recordings, names) + start
    where = _where(name, names)
    has_falls = any(step.episodes for one in hit for step in one.steps)
    if throttles == "not-loaded" or (throttles == "no" and not has_falls):
        because = [f"{where}: {reason}" for reason in worst.answer.because]
        return worst.answer.model_copy(
            update={"sentence": f"{start}.", "because": because, "alarm": None}
        )
    told = worst.answer.beside_alarm.removeprefix(_CANNOT_TELL).removeprefix(_BUT)
    first = min((step.claim for step in worst.steps), key=lambda one: one.rank, default=None)
    if first is not None and first.heat == "yes" and worst.answer.next != _FIRMWARE:
        told = f"{first.text}."
    told = f"{words.capital(where)}: {told}"
    said = {"sentence": f"{start}. {told}", "worst": told, "alarm": None}
    return worst.answer.model_copy(update=said)


def _for_ever(recordings: Sequence[findings.RecordingFindings], names: Names) -> str:
    """Between which rates lies what is held for ever, and where, if these were run for that."""
    held = [
        (score.value, f"{words.rate_text(score.value)} ({name.label})")
        for one, name in zip(recordings, names.recordings, strict=True)
        for score in one.scores
        if score.metric == "limit_mb_s" and score.value is not None
    ]
    return f"Holds {min(held)[1]} to {max(held)[1]} for ever. " if held else ""


def _doubt_of_all(recordings: Sequence[findings.RecordingFindings]) -> str:
    """What the recordings in which the drive does not throttle leave open, for their sentence."""
    slow = sum(any(step.claim.doubt for step in one.steps) for one in recordings)
    warming = sum(any(step.still_warming_k for step in one.steps) for one in recordings)
    doubts = {"may have been slow unseen": slow, "was still warming when a load ended": warming}
    return "".join(f"; in {count} of them it {what}" for what, count in doubts.items() if count)


def rank_of(recording: findings.RecordingFindings) -> tuple[float, ...]:
    """Return a key that sorts what is told of first to the front: how much was lost, or how hot."""
    hot_c = (recording.unloaded and recording.unloaded.max_temp_c) or 0.0
    first = min((step.claim.rank for step in recording.steps), default=(-hot_c,))
    return findings.WORST_FIRST.index(recording.answer.throttles), *first


def _throttles(
    step: findings.StepFindings, judged: Sequence[findings.StepFindings], meta: RecordingMeta
) -> findings.Answer:
    claim, next_ = step.claim, _against("thermal", meta)
    start = "Heat throttles the drive"
    if claim.what == "counted":
        start = "Heat throttles the drive, by its own count"
    elif claim.onset_s is None:
        start = "Heat slows the drive from the start"
    elif any(one.sensor_locked_up and one.onset_s == claim.onset_s for one in step.episodes):
        start, next_ = "The drive slows down for a heat that is not there", _FIRMWARE
    throttled = sum(one.claim.heat == "yes" for one in judged)
    also = f" ({throttled} of {len(judged)} steps)" if throttled > 1 else ""
    sentence = f"{start}{also}: {claim.text}."
    if claim.what == "counted":
        sentence += _besides(step)
    return _said("yes", sentence, claim.reasons, next_)


def _does_not(
    claim: findings.Claim,
    judged: Sequence[findings.StepFindings],
    recording: findings.RecordingFindings,
    meta: RecordingMeta,
) -> findings.Answer:
    temps_c = [step.max_temp_c for step in judged if step.max_temp_c is not None]
    hot = f", at {words.temp_text(max(temps_c))} at most" if temps_c else ""
    warming, because = _still_warming(judged), claim.reasons
    if claim.onset_s is not None:
        sentence = f"{_BUT}{claim.text}: {claims.cause_text(claim)}{warming}."
        next_ = _against(claim.by, meta) or _tell_apart(claim, meta)
    elif bound := [step for step in judged if step.claim.by == "limited-by-host"]:
        sentence = f"Did not throttle{hot}; the host limits '{bound[0].step}'{warming}."
        because, next_ = bound[0].claim.reasons, _against("limited-by-host", meta)
    elif claim.what != "held":
        sentence = f"Did not throttle{hot}, but {claim.text}{warming}."
        next_ = _load_evenly(meta)
    else:
        steps = {1: "it", 2: "both steps"}.get(len(judged), f"all {len(judged)} steps")
        held = f"{steps} held {'its' if len(judged) == 1 else 'their'} speed"
        because = [text for step in judged for text in step.claim.reasons]
        begun = next((f"; {step.claim.doubt}" for step in judged if step.claim.doubt), "")
        sentence = f"Did not throttle: {held}{hot}{begun}{warming}."
        next_ = _load_for_longer(meta) if warming else recording.no_temp
    return _said("no", sentence, because, next_)


def _still_warming(judged: Sequence[findings.StepFindings]) -> str:
    """What the hottest step that was still warming leaves open, for the end of a sentence."""
    warming = [step for step in judged if step.still_warming_k is not None]
    if not warming:
        return ""
    step = max(warming, key=lambda step: step.max_temp_c or 0.0)
    by = words.kelvin_text(round(step.still_warming_k or 0.0))
    return f"; the drive was still warming when '{step.step}' ended, by {by} in the last third"


def _cannot_tell(step: findings.StepFindings, meta: RecordingMeta) -> findings.Answer:
    claim = step.claim
    if claim.onset_s is not None:
        sentence = f"{claims.open_cause(claim)}: {claim.text}."
        next_ = _tell_apart(claim, meta)
    else:
        why = "; ".join(claim.reasons) if claim.what == "slow" else claim.text
        sentence = f"Cannot tell whether '{claim.step}' was throttled: {why}."
        next_ = _load_evenly(meta) if claim.what == "unseen" else _run(meta, *_START_COOL)
        next_ = claim.settles or next_
    because = [text for text in claim.reasons if text != claim.text]
    return _said("cannot-tell", sentence + _besides(step), because, next_)


def _besides(step: findings.StepFindings) -> str:
    """The deepest fall of a step and its cause, as a sentence of its own, if it is another one."""
    fall = max(step.falls, key=lambda one: one.loss_pct or 0.0, default=None)
    if fall is None or fall.onset_s == step.claim.onset_s:
        return ""
    when = "Later" if step.claim.what == "hot" else "Besides,"
    fell = fall.text.removeprefix(f"'{step.step}' ")
    return f" {when} it {fell}: {claims.cause_text(fall)}."


def _by_own_count(claim: findings.Claim, recording: findings.RecordingFindings) -> findings.Answer:
    more = "to see it under a load, in a directory of that drive"
    whys = dict.fromkeys(text for step in recording.steps for text in step.reasons)
    throttles: findings.Throttles = "yes" if claim.heat == "yes" else "cannot-tell"
    how = more if claim.what == "held" else f"cool it better; {more}"
    return _said(throttles, f"{words.capital(claim.text)}.", list(whys), (how, _LOAD_IT[1]))


def _not_judged(recording: findings.RecordingFindings, meta: RecordingMeta) -> findings.Answer:
    reasons, unloaded = [step.claim.text for step in recording.steps], recording.unloaded
    if set(reasons) - {"nothing was moved"}:
        temps_c = [step.max_temp_c for step in recording.steps if step.max_temp_c is not None]
        settles = next(filter(None, (step.claim.settles for step in recording.steps)), None)
        sentence = f"{_CANNOT_TELL}{'; '.join(list(dict.fromkeys(reasons))[-2:])}."
        because = [f"it was at {words.temp_text(max(temps_c))} at most"] if temps_c else []
        return _said("cannot-tell", sentence, because, settles or _measure_it(meta))
    text, because = ("", []) if unloaded is None else (unloaded.text, unloaded.reasons)
    if unloaded is None or unloaded.longest_burst_s is None:
        sentence = f"The drive was never loaded{text}, so nothing could throttle."
        return _said("not-loaded", sentence, because, _LOAD_IT)
    is_long = unloaded.longest_burst_s >= _LONG_BURST_S
    too = "in samples too far apart" if is_long else "too short"
    longest = words.duration_text(unloaded.longest_burst_s)
    amount = words.amount_text(unloaded.bursts_gb, "GB")
    bursts = f"bursts of {longest} at most, {amount} in all{text}"
    if unloaded.excludes_heat:
        max_c = unloaded.max_temp_c
        hot = "" if max_c is None else f", at {words.temp_text(max_c)} at most"
        sentence = f"Did not throttle{hot}, but worked only in {bursts}."
        return _said("no", sentence, because, _LOAD_IT)
    sentence = f"{_CANNOT_TELL}it worked in {bursts}, {too} to show it."
    return _said("cannot-tell", sentence, because, "log every second" if is_long else _LOAD_IT)


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
        is_slow = step.claim.heat == "open" and step.claim.loss_pct and step.claim.onset_s is None
        if (forbidden == "any" and step.episodes) or (
            forbidden in ("throttle", "any") and (step.claim.heat == "yes" or is_slow)
        ):
            reasons.append(f"{step.step} {what_happened(step)}")
    if forbidden == "any":
        reasons += [claim.text for claim in found.claims if claim.what == "alarm"]
    if forbidden in ("unknown", "any"):
        if found.answer.throttles == "cannot-tell":
            reasons.append("nothing tells whether it throttles")
        if unknown := [step.step for step in found.steps if step.claim.is_open]:
            reasons.append(
                f"nothing tells what slowed {words.listed(unknown)}, or whether anything did"
            )
    return reasons


def what_happened(step: findings.StepFindings) -> str:
    """Return what a step that falls or is slow does, to follow its name."""
    claim = step.claim
    if claim.what == "counted":
        return f"throttles: {claim.reasons[0]}"
    if claim.onset_s is None and not step.episodes:
        return "throttles from the start" if claim.heat == "yes" else "may have throttled"
    falls = [one for one in step.episodes if one.onset_s == claim.onset_s] or step.episodes
    verb = "throttles" if falls[0] in step.by_heat else "falls"
    return f"{verb} after {words.seconds_text(falls[0].onset_s)}, by {falls[0].depth_text}"


#: What helps against a cause, or what to do about it, where no command does.
_HELPS: dict[findings.Verdict, str] = {
    "spare-area": "leave part of the drive unused, or trim it, for steadier random writes",
    "write-cache": "write in smaller portions with pauses: the cache empties when the drive rests",
    "limited-by-host": "look for the limit in the host: processor, PCIe link, or the load itself",
    "sliding": "nothing is wrong: hard disks and some drives are slower towards the end",
}
#: Loads without a pause, each longer than the one before.
_LONGER = ("quick", "why", "non-stop")
#: How a drive that was hot from its first second shows its full speed, by a run or a log.
_START_COOL = ("let it cool, then", "log the same load on a cool drive")
_LOAD_IT = ("load it, in a directory of that drive", "heatsoak run quick --on .")


def _run(
    meta: RecordingMeta, how: str, otherwise: str, protocol: str | None = None, label: str = ""
) -> Next:
    """`how` to run a protocol, or the same one, where a recording was made; `otherwise` for a log,
    one side of a copy, or a protocol that is not bundled: its file is not known."""
    made, path = meta.protocol, meta.drive.get("path")
    name = protocol or made.name
    is_known = isinstance(made, Protocol) and meta.part_of_copy is None and name in bundled()
    if not is_known or not path:
        return otherwise
    writes, details = load(name).writes, meta.drive.get("details") or {}
    # what is there already is only read
    on = Path(path).parent if writes and details.get("existing") else path
    typed = ["heatsoak", "run", name, "--on", str(on)]
    if protocol is None:
        given = {key: label_text(value) for key, value in made.conditions.items()}
        given |= dict([label.split("=")] if label else [])
        typed += [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
        typed += ["--scale", f"{made.scale:g}"] if made.scale != 1 else []
    typed += ["--erase", meta.erase_name] if writes and meta.erase_name is not None else []
    return how, shlex.join(typed)


def _against(cause: findings.Verdict, meta: RecordingMeta) -> Next:
    """What helps against a cause; None if it is unknown."""
    if cause == "thermal":
        return _cool_it(meta)
    if cause == "interference":
        quiet = "while nothing else uses the drive"
        return _run(meta, quiet, f"log the same load {quiet}")
    return _HELPS.get(cause)


def _cool_it(meta: RecordingMeta) -> Next:
    path = str(meta.drive.get("path"))
    if path.startswith("sim:"):
        drive, _, place = path.removeprefix("sim:").partition("@")
        typed = ["heatsoak", "predict", drive, "--cooling"]
        typed += ["--place", place] if place else []
        return "how much cooling it needs", shlex.join(typed)
    how = "cool it better (a heatsink, more air, another slot)"
    again = f"{how}, and log the same load again"
    return _run(meta, f"{how}, then", again, label="heatsink=new")


def _load_for_longer(
    meta: RecordingMeta, otherwise: str = "a longer load would show whether it throttles"
) -> Next:
    """How a drive gets as hot as its load makes it."""
    at = _LONGER.index(meta.protocol.name) + 1 if meta.protocol.name in _LONGER else 1
    return _run(meta, "a longer load", otherwise, _LONGER[min(at, len(_LONGER) - 1)])


def _tell_apart(claim: findings.Claim, meta: RecordingMeta) -> Next:
    """How to tell the likeliest causes of a fall apart."""
    if meta.protocol.name == "why" or claim.settles is None:
        return claim.settles
    return _run(meta, "to tell, with probes after each fall", claim.settles, "why")


def _load_evenly(meta: RecordingMeta) -> Next:
    """What a load that was too uneven to judge lacks, of what it has not."""
    lacks = [] if own_temperatures(meta.columns) else ["temperature"]
    lacks += [] if throttle_counters(meta.columns) else ["throttling counters"]
    beside = f", and beside it the drive's {' and '.join(lacks)}" if lacks else ""
    return _run(meta, "a longer, even load", f"log an even load{beside}", "why")


def _measure_it(meta: RecordingMeta) -> Next:
    """How to record what a recording that could not be judged lacks."""
    otherwise = "log the drive's throughput every few seconds"
    if getattr(meta.protocol, "scale", 1.0) < 1:
        return _run(meta, "without --scale", otherwise, meta.protocol.name)
    return _load_for_longer(meta, otherwise)
