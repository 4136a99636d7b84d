"""What steps and runs come to for build and test servers: pass, fail, or not judged.

A step that throttles fails, that is, one with an episode caused by heat. So does one whose mean is
below a given limit. A step that heat may have slowed is not judged. A run that failed or was
interrupted is an error.
"""

from dataclasses import dataclass
from typing import Literal

from heatsoak.analysis import StepFindings
from heatsoak.analysis.answer import leaves_heat_open
from heatsoak.output import printable
from heatsoak.recording import RecordingMeta
from heatsoak.report.findings import sentence

#: The name of what is no step.
WHOLE_RUN = "the run as a whole"


@dataclass(frozen=True)
class Outcome:
    """What a step comes to.

    Attributes:
        kind: ``throttles`` or ``too-slow`` of one that fails, otherwise its verdict.
        message: why it fails, or could not be judged; otherwise what was seen.
        said: what was seen, in a sentence.
        evidence: a line for each piece of it.
    """

    result: Literal["pass", "fail", "not-judged"]
    kind: str
    message: str
    said: str
    evidence: str


def outcome_of(step: StepFindings, fail_below_mb_s: float | None) -> Outcome:
    """Return what a step comes to; its text is without control characters."""
    said = printable_lines(sentence(step) or step.verdict)
    lines = (line for episode in step.episodes for line in episode.evidence)
    evidence = printable_lines("\n".join([*step.why, *lines]))
    mean_mb_s = step.mean_mb_s
    if step.throttles:
        return Outcome("fail", "throttles", said, said, evidence)
    if fail_below_mb_s is not None and mean_mb_s is not None and mean_mb_s < fail_below_mb_s:
        message = f"mean of {mean_mb_s:.0f} MB/s is below {fail_below_mb_s:g} MB/s"
        return Outcome("fail", "too-slow", message, said, evidence)
    if step.why_unknown is not None:
        return Outcome("not-judged", step.verdict, said, said, evidence)
    if leaves_heat_open(step):
        message = f"{said}; heat is neither shown nor excluded"
        return Outcome("not-judged", step.verdict, message, said, evidence)
    return Outcome("pass", step.verdict, said, said, evidence)


def unfinished(meta: RecordingMeta) -> tuple[str, str] | None:
    """Return how a run ended badly, in a word and in a sentence; None if it did not."""
    if meta.status == "finished":
        return None
    cut = meta.status == "running"
    why = (
        "the recording was cut short, or is still running" if cut else f"the run was {meta.status}"
    )
    message = printable_lines(f"{why}: {meta.reason}" if meta.reason else why)
    return ("cut" if cut else meta.status), message


def printable_lines(text: str) -> str:
    """Return the text without control characters, but with line ends."""
    return "\n".join(map(printable, text.split("\n")))
