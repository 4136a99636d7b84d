"""What an NVMe drive says of its power: rated states, and, of newer drives, what it draws.

Offsets and units as in nvme-cli's libnvme (nvme-types-base.h: nvme_id_ctrl, nvme_id_psd,
nvme_smart_log, nvme_power_meas_log), which follow the NVM Express base specification:

- Identify Controller: CTRATT, bytes 96 to 99, whose bit 21 (PMS) tells that power is measured;
  NPSS, byte 263; power state descriptors of 32 bytes from 2048: MP 0-1, flags 3 (bit 0 MXPS:
  0.0001 W in place of 0.01 W; bit 1 NOPS: no I/O), ENLAT 4-7, EXLAT 8-11 (us), IDLP 16-17, its
  scale in bits 7-6 of 18, ACTP 20-21, its scale in bits 7-6 of 22.
- SMART / health log (02h): Operational Lifetime Energy Consumed, bytes 232 to 239, in watt-hours
  rounded up; Interval Power Measurement, bytes 240 to 243: the mean of the last second, value in
  bits 15-0, scale in 17-16, type in 23-20 (0: all of the NVM subsystem). 0 is not reported.
- Power Measurement log (25h): PMA, bytes 2-3, whose bit 2 (EPF) tells that power is estimated;
  IPWRPE, byte 56: the greatest error in percent, 255 where it is not told.
"""

import struct
from typing import Any

POWER_LOG_SIZE = 64

_CTRATT, _PMS = 96, 1 << 21
_NPSS, _DESCRIPTORS, _DESCRIPTOR_SIZE = 263, 2048, 32
_ENERGY, _INTERVAL_POWER = 232, 240
_ESTIMATED, _ERROR_PCT = 1 << 2, 56
#: Watts for each unit, by the scale's code; others are reserved, or not reported.
_SCALES_W = {1: 1e-4, 2: 1e-2}


def measures_power(identify: bytes) -> bool:
    """Return whether an Identify Controller page says that the drive measures its power."""
    attributes: int = struct.unpack_from("<I", identify, _CTRATT)[0]
    return bool(attributes & _PMS)


def parse_power_states(identify: bytes) -> list[dict[str, Any]]:
    """Return the power states of an Identify Controller page: what each is rated for.

    Each has `state` and `operational`; and, where the drive states them, `max_w` (sustained),
    `idle_w`, `active_w` (the most over 10 s), `entry_us` and `exit_us` (at most).
    """
    count = min(identify[_NPSS], 31) + 1
    return [_state(number, identify) for number in range(count)]


def _state(number: int, identify: bytes) -> dict[str, Any]:
    fields = struct.unpack_from("<HxBII4xHBxHB", identify, _DESCRIPTORS + number * _DESCRIPTOR_SIZE)
    most, flags, entry_us, exit_us, idle, idle_scale, active, active_scale = fields
    rated = {
        "max_w": most * (1e-4 if flags & 1 else 1e-2),
        "idle_w": idle * _SCALES_W.get(idle_scale >> 6, 0.0),
        "active_w": active * _SCALES_W.get(active_scale >> 6, 0.0),
        "entry_us": entry_us,
        "exit_us": exit_us,
    }
    known = {name: round(value, 4) for name, value in rated.items() if value}
    return {"state": number, "operational": not flags & 2, **known}


def parse_power(log: bytes) -> dict[str, float]:
    """Return `power_w` and `energy_wh` of a health log, as far as the drive reports them.

    Only for drives that :func:`measures_power`: in others these bytes have no meaning.
    """
    values = {}
    (energy_wh,) = struct.unpack_from("<Q", log, _ENERGY)
    (power,) = struct.unpack_from("<I", log, _INTERVAL_POWER)
    scale_w = _SCALES_W.get(power >> 16 & 0x3)
    if power & 0xFFFF and scale_w is not None and power >> 20 & 0xF == 0:
        values["power_w"] = round((power & 0xFFFF) * scale_w, 4)
    if energy_wh:
        values["energy_wh"] = float(energy_wh)
    return values


def parse_power_log(page: bytes) -> dict[str, Any]:
    """Return how good a drive's own power readings are, from the begin of log page 25h."""
    (attributes,) = struct.unpack_from("<H", page, 2)
    error_pct = page[_ERROR_PCT]
    return {
        "estimated": bool(attributes & _ESTIMATED),
        **({"error_pct": error_pct} if error_pct <= 100 else {}),
    }
