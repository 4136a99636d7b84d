"""What values without a unit must be in to be a drive's, by their size."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from heatsoak.importer import tables
from heatsoak.importer.frames import Array
from heatsoak.importer.numbers import number_of
from heatsoak.importer.tables.headers import TableColumn

#: More than any drive, link or queue can do: what is above is a unit or several drives.
MAX_MB_S, MAX_IOPS = 30_000.0, 5e7
IN_BYTES = "bytes a second", 1e-6
#: What the temperature of a drive or a host may be, and what it usually is in other units.
_WARMTH_C = (5.0, 125.0)
_OTHER_DEGREES = {"kelvin": (250.0, 400.0), "millidegrees": (5000.0, 150_000.0)}


def is_warmth(cell: str) -> bool:
    """Return whether a cell may be the temperature of a drive or a host in degrees Celsius."""
    return _WARMTH_C[0] <= number_of(cell) <= _WARMTH_C[1]


def temperature_by_size(what: TableColumn, raw: Array) -> TableColumn:
    """Return what a temperature without a unit must be in to be one."""
    known = raw[np.isfinite(raw) & (raw > 0)]
    usual = float(np.median(known)) if len(known) else 0.0
    for unit, (low, high) in _OTHER_DEGREES.items():
        if low < usual < high and (read := tables.unit_of(unit)) is not None:
            # no temperature in other units is as great as hwmon's files hold it
            if unit == "millidegrees":
                return replace(what, unit=replace(read, doubt="", note=""))
            doubt = f"'{what.header}' is read as {unit}"
            return replace(what, unit=replace(read, doubt=doubt, note="", touches=("temperature",)))
    return what


def in_binary(what: TableColumn) -> TableColumn:
    """Return a rate of bytes whose unit's kilo is 1024."""
    power = round(np.log10(what.unit.scale * 1e6) / 3) if what.quantity == "bw_mb_s" else 0
    unit = replace(what.unit, scale=1024.0**power / 1e6, doubt="")
    return replace(what, unit=unit) if power > 0 else what


def unit_by_magnitude(rates: Iterable[Array]) -> tuple[str, float]:
    """What rates without a unit must be in to be a drive's, and how much of a MB/s that is."""
    known = [values[np.isfinite(values) & (values > 0)] for values in rates]
    typical = max((float(np.median(values)) for values in known if len(values)), default=0.0)
    if typical > 2e7:
        return IN_BYTES
    return ("KiB/s", 1.024e-3) if typical > 2e4 else ("MB/s", 1.0)


def unit_key(values: Array) -> str:
    """Return the unit that makes a drive's rates of values, as ``--map`` writes it."""
    return {"MB/s": "mb_s", "KiB/s": "kib_s"}.get(unit_by_magnitude([np.abs(values)])[0], "b_s")
