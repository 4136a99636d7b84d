"""How far a meter's clock is from the load's: a drive draws more while it works."""

import numpy as np

from heatsoak.importer.align import Shift, Track, shift_between

#: A drive is idle below this share of its usual highest rate.
_IDLE_SHARE = 0.05


def power_shift(
    load: Track, power: Track, near_s: float | None = None, *, idle_outside: bool = True
) -> Shift:
    """Return the shift of `power` at which it answers `load`, as `shift_between` does.

    The load is tried as its rate and as mere on and off: what a megabyte takes differs between
    reads and writes, and between small I/Os and large ones.
    """
    high = float(np.nanpercentile(load.values, 95)) if len(load.values) else 0.0
    on = Track(load.t_s, (load.values > _IDLE_SHARE * high).astype(float))
    shifts = [shift_between(one, power, near_s, idle_outside=idle_outside) for one in (load, on)]
    return max(shifts, key=lambda shift: (shift.certain, shift.score))
