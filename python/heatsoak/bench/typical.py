"""How long a protocol takes, and how much it writes, on a drive of the published kind."""

from heatsoak import catalog
from heatsoak.bench.places import rated_speeds, traffic_on
from heatsoak.bench.plan import Plan, plan
from heatsoak.protocol import Protocol
from heatsoak.target.traces import is_shape

TYPICAL_DRIVE = "samsung-950-pro-512"


def typical_plan(protocol: Protocol) -> Plan:
    """Return how long one recording takes and writes on a drive of the published kind."""
    drive = catalog.load_drive(TYPICAL_DRIVE)
    size_bytes = min(drive.user_bytes, protocol.file_size.of(drive.user_bytes))
    shapes = traffic_on(size_bytes)
    return plan(
        protocol,
        size_bytes,
        rated_speeds(drive),
        lambda step: shapes(step) if is_shape(step) else None,
    )
