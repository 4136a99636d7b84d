"""Limits that a user asks for, and which of them a recording does not keep."""

from typing import Literal

from heatsoak.analysis.findings import RecordingFindings, StepFindings
from heatsoak.words import listed, rate_text, seconds_text

#: What is not to happen: that a step throttles or may have, that a step's verdict is unknown or
#: nothing tells whether the drive throttles, or either of them and any fall of throughput.
Forbidden = Literal["throttle", "unknown", "any"]


def why_failed(
    found: RecordingFindings, forbidden: Forbidden | None, fail_below_mb_s: float | None
) -> list[str]:
    """Return which of the limits a recording does not keep, in words; none if it keeps all."""
    reasons = []
    for step in found.steps:
        mean = step.mean_mb_s
        if fail_below_mb_s is not None and mean is not None and mean < fail_below_mb_s:
            reasons.append(f"{step.step}: {rate_text(mean)} is below {rate_text(fail_below_mb_s)}")
        falls = forbidden == "any" and step.episodes
        if falls or (forbidden in ("throttle", "any") and step.may_have_throttled):
            reasons.append(f"{step.step} {what_happened(step)}")
    if forbidden in ("unknown", "any"):
        if found.answer.throttles == "cannot-tell":
            reasons.append("nothing tells whether it throttles")
        unknown = [step.step for step in found.steps if step.is_unknown]
        if unknown:
            reasons.append(f"nothing tells what slowed {listed(unknown)}, or whether anything did")
    return reasons


def what_happened(step: StepFindings) -> str:
    """Return what a step that falls or is slow does, to follow its name."""
    if step.counted is not None:
        return f"throttles by its own count ({step.counted})"
    if not step.episodes:
        return "throttles from the start" if step.throttles else "may have throttled"
    heat = [episode for episode in step.episodes if episode.cause == "thermal"]
    first = (heat or step.episodes)[0]
    verb = "throttles" if heat else "falls"
    return f"{verb} after {seconds_text(first.onset_s)}, by {first.depth_text}"
