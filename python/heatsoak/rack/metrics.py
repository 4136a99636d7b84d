"""A host's tests as metrics for Prometheus: where they stand, and what their drives do.

They are written for node_exporter's textfile collector, from what the host keeps: whoever started
the tests need not run.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from heatsoak.bench import metrics, recorder
from heatsoak.errors import UsageError
from heatsoak.exporter.openmetrics import Sample, metric
from heatsoak.rack.kept import Kept, State
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


@dataclass
class _Journal:
    """What a recording's journal comes to.

    Attributes:
        newest: the newest value of each column, with its time.
        moved: bytes and I/Os so far, as a watch counts them.
    """

    newest: dict[str, tuple[float, float]] = field(default_factory=dict)
    moved: dict[str, float] = field(default_factory=recorder.nothing_moved)

    @classmethod
    def of(cls, path: Path) -> "_Journal":
        found = cls()
        with path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n"):  # else it is being written
                    found._take(json.loads(line))
        return found

    def _take(self, row: dict[str, Any]) -> None:
        numbers = {key: value for key, value in row.items() if isinstance(value, int | float)}
        t_s = numbers.get("t_s", 0.0)
        self.newest |= {key: (t_s, value) for key, value in numbers.items()}
        recorder.add_moved(self.moved, numbers)

    def values(self) -> dict[str, float]:
        """Return the newest values; what is of a load, or long past, is left out."""
        last_s = max((t_s for t_s, _ in self.newest.values()), default=0.0)
        loaded_s = self.newest.get("interval_s", (-math.inf, 0.0))[0]
        is_loaded = last_s - loaded_s <= _LOAD_IS_OVER_S
        return {
            key: value
            for key, (t_s, value) in self.newest.items()
            if last_s - t_s <= _STALE_S
            and (is_loaded or columns.column_of(key).owner not in _OF_A_LOAD)
        }


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
            ended = state.newest.ended
            verdict = None if ended is None else ended.verdict
            seen.append(_seen(kept, labels, verdict, is_running=status.state == "running"))
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
    kept: Kept, labels: dict[str, str], verdict: str | None, *, is_running: bool
) -> metrics.DriveState:
    """What a test's recording says now; nothing where it has not begun, or has several."""
    latest = recorder.Latest()
    try:
        known = Recording.open(kept.recording).meta
        journal = _Journal.of(kept.recording / JOURNAL) if is_running else _Journal()
    except (OSError, ValueError, UsageError):
        return metrics.DriveState(labels, latest, verdict=verdict)
    latest.update(journal.values())
    own = {key: known.drive.get(key) for key in ("model", "serial")}
    return metrics.DriveState(
        {**labels, **own},
        latest,
        known.sensors if is_running else (),
        journal.moved if is_running else {},
        verdict=verdict,
        info={"firmware": known.drive.get("firmware")},
    )
