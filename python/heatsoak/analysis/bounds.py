"""What bounds a rate that never fell: a link narrower than the drive's own."""

import numpy as np

from heatsoak.analysis.view import StepView

#: Packets and acknowledgements take their part of what a link carries.
NEAR_CEILING = (0.8, 1.02)
#: A link is narrow where it carries less than this share of what the drive could take.
NARROW = 0.95


def bound_by_host(view: StepView) -> str | None:
    """Return why a step's level is its host's and not its drive's; None where it is not.

    A rate that stays at the ceiling of a link with fewer lanes, or of an older generation, than
    the drive has, would be higher elsewhere.
    """
    series = view.throughput
    if series.unit != "mb_s" or len(series.values) == 0 or view.course.link_ceiling_mb_s is None:
        return None
    ceiling, most = view.course.link_ceiling_mb_s
    # links sleep when idle: what they carried under load counts
    readings = view.track("link_mb_s").values
    if len(readings):
        ceiling = float(np.median(readings))
    level = float(np.median(series.values))
    low, high = NEAR_CEILING
    if ceiling >= NARROW * most or not low * ceiling <= level <= high * ceiling:
        return None
    return (
        f"{level:,.0f} MB/s is what its PCIe link carries ({ceiling:,.0f} MB/s before protocol); "
        f"the drive's own would carry {most:,.0f} MB/s"
    )
