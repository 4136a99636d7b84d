"""What values without a unit must be in, by how large they are."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from heatsoak.importer.frames import Array
from heatsoak.importer.tables.quantity import Meaning

IN_BYTES = "bytes a second", 1e-6


def temperature_by_size(what: Meaning, raw: Array, header: str) -> Meaning:
    """What a temperature without a unit must be in to be one."""
    known = raw[np.isfinite(raw) & (raw > 0)]
    usual = float(np.median(known)) if len(known) else 0.0
    if 250 < usual < 400:
        return replace(what, offset=-273.15, doubt=f"'{header}' is read as kelvin")
    if 5000 < usual < 150_000:
        return replace(what, scale=1e-3, doubt=f"'{header}' is read as thousandths of a degree")
    return what


def unit_by_magnitude(rates: Iterable[Array]) -> tuple[str, float]:
    """What rates without a unit must be in to be a drive's, and how much of a MB/s that is."""
    known = [values[np.isfinite(values) & (values > 0)] for values in rates]
    typical = max((float(np.median(values)) for values in known if len(values)), default=0.0)
    if typical > 2e7:
        return IN_BYTES
    return ("kB/s", 1e-3) if typical > 2e4 else ("MB/s", 1.0)
