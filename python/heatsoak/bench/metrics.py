"""What is seen of drives as metrics for Prometheus, over HTTP.

Names, units and labels are those of `heatsoak export --to openmetrics`; `recording.columns` defines
them. A scrape sees the newest reading, so what was moved is also counted: rates between scrapes
miss nothing.
"""

import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, get_args

from heatsoak.analysis.findings import Cause
from heatsoak.bench.recorder import Latest
from heatsoak.bench.watch import DriveWatch
from heatsoak.errors import UsageError
from heatsoak.exporter import openmetrics
from heatsoak.output import print_err
from heatsoak.recording import SensorMeta, columns
from heatsoak.sensor import SensorInfo
from heatsoak.units import is_possible_temp

if TYPE_CHECKING:
    from prometheus_client.core import Metric
    from prometheus_client.registry import Collector

_HERE = "127.0.0.1"
_VERDICTS = (*get_args(Cause), "steady", "unknown")
_LIMIT = columns.OpenMetricsFamily(
    "heatsoak_temperature_limit_celsius",
    "A limit that the drive itself states: warning, critical, tmt1, tmt2.",
)
_TEMPERATURE = columns.OpenMetricsFamily(
    "heatsoak_drive_temperature_celsius",
    "The drive's own temperature: its composite, or else its hottest sensor.",
)
_INFO = columns.OpenMetricsFamily(
    "heatsoak_drive_info", "Which drive it is; 1 as long as it is looked at."
)
_VERDICT = columns.OpenMetricsFamily(
    "heatsoak_verdict", "1 for what the newest load in the last half hour shows, 0 for the rest."
)


def address_of(text: str) -> tuple[str, int]:
    """Read ``127.0.0.1:9101``, ``[::1]:9101`` or a port alone; raises UsageError."""
    host, _, port = text.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"--metrics {text}: is not an address and port, such as {_HERE}:9101")
    return host or _HERE, int(port)


@dataclass(frozen=True)
class DriveState:
    """What is known of a drive at a moment.

    Attributes:
        labels: which drive it is, such as ``serial``.
        moved: bytes and I/Os so far, as a watch counts them; empty where nobody counts.
        verdict: of the newest load.
        info: what else is known of the drive, such as its firmware.
    """

    labels: Mapping[str, str | None]
    latest: Latest
    sensors: Sequence[SensorInfo | SensorMeta] = ()
    moved: Mapping[str, float] = field(default_factory=dict)
    verdict: str | None = None
    info: Mapping[str, str | None] = field(default_factory=dict)


def seen_of(watch: DriveWatch) -> DriveState:
    """Return what a watch knows, which need not have begun."""
    device, found = watch.device, watch.findings
    return DriveState(
        labels={"device": device.name, "model": device.model, "serial": device.serial},
        latest=watch.latest,
        sensors=watch.sensors,
        moved=watch.moved.copy(),
        verdict=found.steps[-1].verdict if found is not None and found.steps else None,
        info={"firmware": device.firmware},
    )


@contextmanager
def serving(collector: "Collector", address: str | None) -> Iterator[str | None]:
    """Serve metrics meanwhile at what ``--metrics`` names, and say where; yield their URL.

    Port 0 is any free one; None serves nothing. Raises UsageError if it is no address, or cannot be
    listened on.
    """
    if address is None:
        yield None
        return
    from prometheus_client import CollectorRegistry, start_http_server

    host, port = address_of(address)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    try:
        server, thread = start_http_server(port, host, registry)
    except (OSError, OverflowError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"--metrics {host}:{port}: cannot listen there: {why}; port 0 takes any free one"
        ) from error
    host = f"[{host}]" if server.socket.family == socket.AF_INET6 else host
    url = f"http://{host}:{server.server_port}/metrics"
    try:
        print_err(f"metrics: {url}")
        yield url
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass(frozen=True)
class Metrics:
    """What is known of drives, collected when somebody asks; `drives` tells them."""

    drives: Callable[[], Iterable[DriveState]]

    def collect(self) -> Iterator["Metric"]:
        """Yield the metrics that there are readings of, each family once."""
        # nothing that was not measured is shown as 0
        families: dict[str, tuple[columns.OpenMetricsFamily, list[openmetrics.Sample]]] = {}
        for drive in self.drives():
            known = {name: value for name, value in drive.labels.items() if value}
            for family, labels, value in _of_drive(drive):
                # drives, and several columns, are one family, apart by labels
                _, samples = families.setdefault(family.name, (family, []))
                samples.append(({**known, **labels}, value))
        for family, samples in families.values():
            yield openmetrics.metric(family, samples)


def _of_drive(
    drive: DriveState,
) -> Iterator[tuple[columns.OpenMetricsFamily, dict[str, str], float]]:
    yield _INFO, {name: text for name, text in drive.info.items() if text}, 1.0
    latest = drive.latest.values()
    for name, value in latest.items():
        family = columns.column_of(name).metric
        # a reading is no placeholder, and no latency of I/O that is long over
        way, _, what = name.partition("_")
        is_of_now = what != "lat_us" or latest.get(f"{way}_iops") != 0
        if name.startswith(columns.TEMPERATURES):
            is_of_now = is_possible_temp(value)
        if family is not None and is_of_now:
            yield family, openmetrics.labels_of(name), value * family.times / family.over
    for way, verb in (("read", "read"), ("write", "written")) if drive.moved else ():
        for unit, what in (("bytes", f"Bytes {verb}"), ("operations", f"{way.title()}s")):
            text = f"{what} since the watch, or the test, began."
            counted = columns.OpenMetricsFamily(f"heatsoak_{way}_{unit}", text, type="counter")
            yield counted, {}, drive.moved[f"{way}_{unit}"]
    if (temp_c := drive.latest.drive_temp_c()) is not None:
        yield _TEMPERATURE, {}, temp_c
    for name, limit_c in columns.limits_c(drive.sensors).items():
        yield _LIMIT, {"limit": name}, limit_c
    for one in _VERDICTS if drive.verdict is not None else ():
        yield _VERDICT, {"verdict": one}, float(one == drive.verdict)
