"""Clocks: how far one log's time must be shifted to agree with another's.

:func:`shift_between` compares like quantities (throughput and throughput, logged by two tools);
:func:`thermal_shift` a load and the temperature that answers it; :func:`zone_shift` a local
wall clock and UTC by where the logs lie. The first two slide one series along the other, and take
the shift at which they correlate best.

**How sure.** Correlation alone says little: series that change slowly correlate by chance, and so
do a few jumps. So what is left over at the best shift is looked at: as far as its neighbours
foretell it (AR(1)), both series are filtered until they do not (Cochrane and Orcutt, JASA 44,
1949), and correlated again. The evidence of a shift is then

    E = -n/2 ln(1 - r^2),

the likelihood of a linear relation against none (natural logarithm), where n counts the samples of
the coarser log that overlap at this shift, fewer where they still depend on each other, or where a
few jumps are all there is. A shift is certain if E is far above what the best of so many shifts
has by chance, if no shift elsewhere has half of it (a periodic load has), and if the correlation
itself is high.
"""

from heatsoak.importer.align.peak import NOTHING_FOUND, Shift
from heatsoak.importer.align.shifts import shift_between, thermal_shift
from heatsoak.importer.align.tracks import Track
from heatsoak.importer.align.zones import zone_shift

__all__ = ["NOTHING_FOUND", "Shift", "Track", "shift_between", "thermal_shift", "zone_shift"]
