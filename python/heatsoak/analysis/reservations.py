"""What was not read for certain from a log, or was changed since it was recorded, and which claims
it could turn round."""

from typing import Any

from heatsoak.analysis import definitions, findings
from heatsoak.recording import Recording, Touched

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
        if event.data.get("touches"):
            found.append(findings.Reservation(text=event.text, touches=event.data["touches"]))
    return found


def take_back(found: findings.RecordingFindings) -> None:
    """Leave open what a step's claims say that something not read for certain could turn."""
    unread = [one.text for one in found.reservations if set(one.touches) == _UNREAD]
    for index, step in enumerate(found.steps):
        claim = step.claim
        if claim.text == definitions.NO_THROUGHPUT and unread:
            turned: dict[str, Any] = {"text": unread[0], "reasons": unread[:1], "settles": _SETTLES}
        elif claim.heat == "no":
            standing = _standing(found, _TURN_FALLEN if step.episodes else _TURN_HELD)
            if not standing:
                continue
            told = [f"as read: {one.text}" for one in step.claims if one.text]
            turned = {
                "what": "unseen",
                "heat": "open",
                "by": "unknown",
                "share": None,
                "onset_s": None,
                "text": standing[0],
                "reasons": [*standing, *told],
                "settles": _SETTLES,
            }
        else:
            continue
        first = claim.model_copy(update=turned)
        rest = [one for one in step.claims if one is not claim]
        verdict = step.verdict if claim.heat is None else "unknown"
        found.steps[index] = step.model_copy(update={"claims": [first, *rest], "verdict": verdict})


def standing_against(found: findings.RecordingFindings, read: findings.Answer) -> list[str]:
    """Return what leaves the whole answer open, as it was read."""
    return _standing(found, _TURN_IDLE if read.throttles == "not-loaded" else _CHANGED)


def _standing(found: findings.RecordingFindings, turned: frozenset[Touched]) -> list[str]:
    return [one.text for one in found.reservations if turned & set(one.touches)]
