"""A host's tests as metrics for Prometheus: where they stand, and what their drives do.

They are written for node_exporter's textfile collector, from what the host keeps: whoever started
the tests need not run.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from heatsoak.bench import metrics, recorder
from heatsoak.errors import UsageError
from heatsoak.exporter.openmetrics import Sample, metric
from heatsoak.rack.kept import Attempt, Kept, State
from heatsoak.recording import Recording, columns
from heatsoak.recording.meta import JOURNAL

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_STATE = columns.OpenMetricsFamily(
    "heatsoak_rack_test_state", "1 for where a test of the rack stands, 0 for the rest."
)
_PROGRESS = columns.OpenMetricsFamily(
    "heatsoak_rack_test_progress_ratio", "Share of a test's planned time that has passed."
)
_STATES = get_args(State)
_OF_A_LOAD = (columns.Owner.LOAD, columns.Owner.SAMPLE)
#: A reading that is older than the newest by this is no longer of now, and of a load it is over.
_STALE_S, _LOAD_IS_OVER_S = 60.0, 3.0


def _newest(journal: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Return the newest values of a recording that is being made, and what it has moved so far.

    What is of a load that is over, or long past, is left out.
    """
    newest: dict[str, tuple[float, float]] = {}
    moved = recorder.nothing_moved()
    whole, _, _ = journal.read_bytes().rpartition(b"\n")  # what follows is being written
    for row in map(json.loads, whole.splitlines()):
        numbers = {key: value for key, value in row.items() if isinstance(value, int | float)}
        newest |= {key: (numbers.get("t_s", 0.0), value) for key, value in numbers.items()}
        recorder.add_moved(moved, numbers)
    last_s = max((t_s for t_s, _ in newest.values()), default=0.0)
    loaded_s, _ = newest.get("interval_s", (-math.inf, 0.0))
    is_over = last_s - loaded_s > _LOAD_IS_OVER_S
    values = {
        key: value
        for key, (t_s, value) in newest.items()
        if last_s - t_s <= _STALE_S and not (is_over and columns.column_of(key).owner in _OF_A_LOAD)
    }
    return values, moved


@dataclass(eq=False)
class HostMetrics:
    """Collects what a host, called `host`, keeps of tests."""

    host: str
    tests: Sequence[Kept]

    def collect(self) -> Iterator["Metric"]:
        """Yield the metrics, each family once."""
        states: list[Sample] = []
        progress: list[Sample] = []
        seen = []
        for kept in self.tests:
            state, status = kept.read(), kept.status()
            assert state is not None
            labels = {"host": self.host, "run": state.test.run, "device": state.test.on}
            states += [({**labels, "state": one}, float(one == status.state)) for one in _STATES]
            progress.append((labels, status.progress))
            is_running = status.state == "running"
            seen.append(_seen(kept, state.newest, labels, is_running=is_running))
        yield metric(_STATE, states)
        yield metric(_PROGRESS, progress)
        yield from metrics.Metrics(lambda: seen).collect()

    def text(self) -> bytes:
        """Return them as Prometheus reads them."""
        from prometheus_client import CollectorRegistry, generate_latest

        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return generate_latest(registry)


def _seen(
    kept: Kept, newest: Attempt, labels: dict[str, str], *, is_running: bool
) -> metrics.DriveState:
    """What a test's recording says now; nothing where it has not begun, or has several."""
    latest, moved = recorder.Latest(), dict[str, float]()
    verdict = None if newest.ended is None else newest.ended.verdict
    try:
        known = Recording.open(kept.recording).meta
        if is_running:
            values, moved = _newest(kept.recording / JOURNAL)
            latest.update(values)
    except (OSError, ValueError, UsageError):
        return metrics.DriveState(labels, latest, verdict=verdict)
    own = {key: known.drive.get(key) for key in ("model", "serial")}
    sensors = known.sensors if is_running else ()
    info = {"firmware": known.drive.get("firmware")}
    return metrics.DriveState({**labels, **own}, latest, sensors, moved, verdict, info)
