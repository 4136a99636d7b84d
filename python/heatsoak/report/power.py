"""Where power comes from, in words."""

from heatsoak.analysis import RecordingFindings


def power_text(recording: RecordingFindings) -> str | None:
    """Return where a recording's power comes from, and what bounds it; None without either."""
    power = recording.power
    if power is None:
        return None
    parts = ["not measured" if power.source is None else f"{power.source} {_told(power.text)}"]
    if power.rated_max_w is not None:
        states = ", ".join(map(str, power.rated_states))
        which = f"power state{'s' if len(power.rated_states) > 1 else ''} {states}"
        parts.append(f"the drive rates itself at {power.rated_max_w:g} W at most in {which}")
    return f"power: {'; '.join(parts)}"


def _told(text: str) -> str:
    return text if text.startswith(("by ", "as ")) else f"by {text}"
