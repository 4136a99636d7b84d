"""What a reservation takes back: verdicts and answers that it could turn round."""

from heatsoak.analysis.answer import CANNOT_TELL, MAX_REASONS, leaves_heat_open
from heatsoak.analysis.definitions import NO_THROUGHPUT
from heatsoak.analysis.findings import Answer, RecordingFindings, Reservation, StepFindings
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


def reservations_of(recording: Recording) -> list[Reservation]:
    """Return what was not read for certain of a recording, and that it was changed."""
    found = []
    if recording.changes is not None:
        found.append(Reservation(text=recording.changes, touches=["recording"]))
    for event in recording.events if recording.is_readable else ():
        if event.data.get("touches"):
            found.append(Reservation(text=event.text, touches=event.data["touches"]))
    return found


def take_back(found: RecordingFindings) -> None:
    """Make `unknown` of each verdict, and "cannot tell" of the answer, that could be turned."""
    turned = _TURN_IDLE if found.answer.throttles == "not-loaded" else _CHANGED
    for index, step in enumerate(found.steps):
        if step.throttles or step.why_unknown is not None or leaves_heat_open(step):
            continue
        own = _TURN_FALLEN if step.episodes else _TURN_HELD
        if standing := _standing(found, own):
            found.steps[index] = _unknown(step, standing)
        turned |= own
    read = found.answer
    unread = [one.text for one in found.reservations if set(one.touches) == _UNREAD]
    if NO_THROUGHPUT in read.sentence and unread:
        told = read.sentence.replace(NO_THROUGHPUT, unread[0])
        found.answer = read = read.model_copy(update={"sentence": told, "next": _SETTLES})
    if read.throttles in ("yes", "cannot-tell"):
        turned = _CHANGED
    if standing := _standing(found, turned):
        found.answer = Answer(
            throttles="cannot-tell",
            sentence=f"{CANNOT_TELL}{standing[0]}. As read: "
            f"{read.sentence[:1].lower()}{read.sentence[1:]}",
            because=[*standing[1:], *read.because][:MAX_REASONS],
            next=read.next,
        )


def _standing(found: RecordingFindings, turned: frozenset[Touched]) -> list[str]:
    return [one.text for one in found.reservations if turned & set(one.touches)]


def _unknown(step: StepFindings, standing: list[str]) -> StepFindings:
    if step.episodes:
        return step.model_copy(update={"verdict": "unknown", "why": [*standing, *step.why]})
    return step.model_copy(update={"verdict": "unknown", "why_unknown": standing[0]})
