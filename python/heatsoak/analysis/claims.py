"""What is said of a step, in words: its falls and their causes, how it began, that it held its
speed, or why nothing shows whether it did; and what of it was not read for certain leaves open."""

from heatsoak import words
from heatsoak.analysis import definitions, findings
from heatsoak.analysis.cause import Judgement
from heatsoak.recording import Recording, Touched

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
#: From this share on something is probably so: likelier than not.
_PROBABLY = 0.5
#: Below this share a cause that is named is probable.
_CERTAIN = 0.95


def of_fall(step: str, episode: findings.Episode, judgement: Judgement) -> findings.Claim:
    """Return what is said of a fall."""
    is_heat = episode.cause == "thermal"
    is_open = episode.cause == "unknown" and not judgement.excludes_heat
    by, share, heat = episode.cause, episode.confidence, judgement.shares["thermal"]
    # a probability without a trace of heat comes of what little else explains the fall
    if is_open and heat >= _PROBABLY and judgement.shows_heat:
        by, share = "thermal", heat
    return findings.Claim(
        what="throttled" if is_heat else "slow",
        step=step,
        heat="yes" if is_heat else "open" if is_open else "no",
        by=by,
        share=share if by != "unknown" else None,
        shares=episode.likelihoods,
        loss_pct=episode.depth_pct,
        onset_s=episode.onset_s,
        temp_c=episode.temp_c_at_onset,
        text=f"'{step}' {_fell(episode)}",
        reasons=_reasons(judgement),
        settles=judgement.evidence[-1][1] if episode.cause == "unknown" else None,
    )


def slow(step: str, lost: float | None, why: str, *, is_heat: bool = False) -> findings.Claim:
    """Return that a step was slow from its start on, and which share of its full speed it lost."""
    below = f"ran {words.share_text(lost)} below its full speed throughout" if lost else ""
    return findings.Claim(
        what="throttled" if is_heat else "slow",
        step=step,
        heat="yes" if is_heat else "open",
        by="thermal" if is_heat else "unknown",
        loss_pct=None if lost is None else 100 * lost,
        text=f"'{step}' {below or 'never ran at full speed'}",
        reasons=[why],
    )


def _fell(episode: findings.Episode) -> str:
    """``fell by 64 %, from 1,480 to 533 MB/s, after 283 s, at 78 C``."""
    unit, before, during, _ = episode.levels
    span = f"from {words.number_text(before, 2)} to {words.number_text(during, 2)} {unit}"
    levels, verb = f", {span}" if unit else "", "slowed" if before < during else "fell"
    temp = ""
    if episode.temp_c_at_onset is not None:
        temp = f", at {words.temp_text(episode.temp_c_at_onset)}"
    if episode.hotter_c_at_onset is not None and episode.cause in ("thermal", "unknown"):
        temp += f", and {words.temp_text(episode.hotter_c_at_onset)} at '{episode.hotter_sensor}'"
    swings = " again and again" if episode.oscillates else ""
    start, when = "", f", after {words.duration_text(episode.onset_s)}"
    if episode.from_start:
        start, when = "from its start, ", ""
    others = f"; {episode.holds_up}" if episode.holds_up else ""
    return f"{verb}{swings} {start}by {episode.depth_text}{levels}{when}{temp}{others}"


def cause_text(claim: findings.Claim) -> str:
    """Return the cause of a fall in words, with its doubt; of an unknown one, the two likeliest."""
    if claim.share is not None:
        is_certain = claim.heat == "yes" or claim.share >= _CERTAIN
        doubt = "" if is_certain else f"probably ({words.share_text(claim.share)}) "
        return f"{doubt}{CAUSE_WORDS[claim.by]}"
    two = _likeliest(claim)[:2]
    is_likely = sum(claim.shares[cause] for cause in two) >= _PROBABLY
    not_heat = "not heat; " if claim.heat == "no" else ""
    maybe = "probably" if is_likely else "perhaps"
    return f"{not_heat}{maybe} " + " or ".join(CAUSE_WORDS[cause] for cause in two)


def open_cause(claim: findings.Claim) -> str:
    """Return what slows a drive that heat may slow: the likeliest, and what it may be as well."""
    if claim.share is None:
        return "Cannot tell whether heat or something else slows the drive"
    heat = words.share_text(claim.share)
    return f"Probably heat ({heat}), or else {CAUSE_WORDS[_likeliest(claim)[0]]}"


def _likeliest(claim: findings.Claim) -> list[findings.Verdict]:
    """The causes other than heat, the likeliest first."""
    known = [cause for cause in CAUSE_WORDS if cause in claim.shares and cause != "thermal"]
    return sorted(known, key=lambda cause: -claim.shares[cause])


def _reasons(judgement: Judgement) -> list[str]:
    """The evidence for the cause; for an unknown one, for what is likeliest."""
    told = [(side[4:], text) for side, text in judgement.evidence if side.startswith("for ")]
    is_open = judgement.cause == "unknown"
    return [f"{_POINTS_TO[cause]}: {text}" if is_open else text for cause, text in told]


#: What turns a step round that heat is said not to have slowed. A unit scales all of a rate, and
#: its falls stay; temperatures and times only count where there is a fall that is said to be none
#: of heat's. Nothing withstands that the recording was changed.
_CHANGED: frozenset[Touched] = frozenset({"recording"})
_TURN_HELD: frozenset[Touched] = _CHANGED | {"rate", "identity"}
_TURN_FALLEN: frozenset[Touched] = _TURN_HELD | {"time", "temperature"}
#: What turns a drive round that is said not to have been loaded: whichever it is, it was idle.
_TURN_IDLE: frozenset[Touched] = _CHANGED | {"rate", "unit"}
_SETTLES = "`--map` says which column is what, in which unit, and `--device` which drive's it is"
#: What a doubt touches about rates that were logged, and could not be taken as they stand.
_UNREAD: frozenset[Touched] = frozenset({"rate", "unit"})


def reservations_of(recording: Recording) -> list[findings.Reservation]:
    """Return what was not read for certain of a recording, and that it was changed."""
    found = []
    if recording.changes is not None:
        found.append(findings.Reservation(text=recording.changes, touches=["recording"]))
    for event in recording.events if recording.is_readable else ():
        if touches := event.data.get("touches"):
            settles = event.data.get("settles")
            found.append(findings.Reservation(text=event.text, touches=touches, settles=settles))
    return found


def take_back(found: findings.RecordingFindings) -> None:
    """Put before a step's claims what leaves them open, since it was not read for certain."""
    unread = [one.text for one in found.reservations if set(one.touches) == _UNREAD]
    to_say = [one.settles for one in found.reservations if one.settles]
    for index, step in enumerate(found.steps):
        claim = step.claim
        if claim.heat == "open" and claim.settles and to_say and step.max_temp_c is None:
            # temperatures were logged, and have only to be laid beside it
            claim.settles = to_say[0]
        if claim.text == definitions.NO_THROUGHPUT and unread:
            standing, heat, told = unread[:1], claim.heat, []
        elif claim.heat == "no":
            standing = _standing(found, _TURN_FALLEN if step.episodes else _TURN_HELD)
            heat, told = "open", [f"as read: {one.text}" for one in step.claims if one.text]
        else:
            continue
        if not standing:
            continue
        open_ = findings.Claim(
            what="unseen",
            step=step.step,
            heat=heat,
            loss_pct=claim.loss_pct,
            text=standing[0],
            reasons=[*standing, *told],
            settles=_SETTLES,
            doubt=claim.doubt,
        )
        # what fell is told besides
        rest = [one for one in step.claims if one is not claim or one.onset_s is not None]
        update = {"claims": [open_, *rest], "verdict": "unknown"}
        found.steps[index] = step.model_copy(update=update)


def standing_against(found: findings.RecordingFindings, read: findings.Answer) -> list[str]:
    """Return what leaves the whole answer open, as it was read."""
    return _standing(found, _TURN_IDLE if read.throttles == "not-loaded" else _CHANGED)


def _standing(found: findings.RecordingFindings, turned: frozenset[Touched]) -> list[str]:
    return [one.text for one in found.reservations if turned & set(one.touches)]
