"""Whether a pause has reached the temperature that it waits for."""

from heatsoak.bench.latest import Latest
from heatsoak.protocol import Pause


def is_cool(step: Pause, latest: Latest) -> bool:
    """Whether the drive is as cool as the pause waits for; False where it waits for none."""
    temp_c = latest.drive_temp_c()
    return step.until_temp_c is not None and temp_c is not None and temp_c <= step.until_temp_c


def not_cool(step: Pause, latest: Latest) -> str | None:
    """Return what is to be said of a pause that is over and left the drive too warm."""
    if step.until_temp_c is None or is_cool(step, latest):
        return None
    temp_c = latest.drive_temp_c()
    seen = "no temperature can be read" if temp_c is None else f"it is at {temp_c:.0f} C"
    return (
        f"the pause was to reach {step.until_temp_c:.0f} C and did not within "
        f"{step.duration_s:.0f} s: {seen}"
    )
