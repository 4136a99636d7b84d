"""A run of a rack as metrics for Prometheus: where tests stand, and what their drives do."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, get_args

from heatsoak.analysis import analyze
from heatsoak.bench import metrics
from heatsoak.bench.recorder import Latest
from heatsoak.errors import HeatsoakError
from heatsoak.exporter.openmetrics import Sample, metric
from heatsoak.rack.host import LiveReading
from heatsoak.rack.kept import State
from heatsoak.rack.state import Rack, Row
from heatsoak.recording import Recording
from heatsoak.recording.columns import OpenMetricsFamily

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_LOOK_S = 1.0
_STATE = OpenMetricsFamily(
    "heatsoak_rack_test_state", "1 for where a test of the rack stands, 0 for the rest."
)
_PROGRESS = OpenMetricsFamily(
    "heatsoak_rack_test_progress_ratio", "Share of a test's planned time that has passed."
)


@dataclass(eq=False)
class RackMetrics:
    """Collects what is known of a run; another thread may change it meanwhile."""

    directory: Path
    rack: Rack | None = None
    readings: dict[str, LiveReading] = field(default_factory=dict)
    _verdicts: dict[str, str | None] = field(default_factory=dict)

    @contextmanager
    def served(self, address: str | None) -> Iterator[None]:
        """Serve them meanwhile, as :func:`serving` does, and then wait for a last scrape."""
        scrapes = metrics.Scrapes(self)
        with metrics.serving(scrapes, address):
            # judged beside the run: when somebody asks, there is no time for it
            with nullcontext() if address is None else self._judging():
                yield
            scrapes.wait_for_the_next()

    @contextmanager
    def _judging(self) -> Iterator[None]:
        """Judge what is collected meanwhile."""
        is_over = Event()
        thread = Thread(target=self._judge, args=(is_over,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def _judge(self, is_over: Event) -> None:
        last = False
        while not last:
            last = is_over.wait(_LOOK_S)
            for row in [] if self.rack is None else self.rack.tests:
                if row.directory is not None and row.directory not in self._verdicts:
                    self._verdicts[row.directory] = self._verdict_on(row.directory)

    def _verdict_on(self, directory: str) -> str | None:
        """The verdict on the last step of what was collected."""
        with suppress(HeatsoakError):
            (found, *_) = analyze([Recording.open(self.directory / directory)]).recordings
            return found.steps[-1].verdict if found.steps else None
        return None

    def collect(self) -> Iterator["Metric"]:
        """Yield the metrics, each family once."""
        rows = [] if self.rack is None else self.rack.tests
        states: list[Sample] = []
        progress: list[Sample] = []
        for row in rows:
            labels = _labels(row)
            states += [({**labels, "state": one}, float(one == row.state)) for one in _STATES]
            progress.append((labels, row.progress))
        yield metric(_STATE, states)
        yield metric(_PROGRESS, progress)
        yield from metrics.Metrics(lambda: (self._seen(row) for row in rows)).collect()

    def _seen(self, row: Row) -> metrics.DriveState:
        labels, latest = _labels(row), Latest()
        reading = self.readings.get(row.name)
        if reading is None:
            return metrics.DriveState(
                labels, latest, verdict=self._verdicts.get(row.directory or "")
            )
        if row.state == "running":
            latest.update(reading.values)
        known = {key: reading.drive.get(key) for key in ("model", "serial")}
        return metrics.DriveState(
            {**labels, **known},
            latest,
            reading.sensors if row.state == "running" else (),
            reading.moved,
            verdict=self._verdicts.get(row.directory or ""),
            info={"firmware": reading.drive.get("firmware")},
        )


_STATES = get_args(State)


def _labels(row: Row) -> dict[str, str]:
    return {"host": row.host, "device": row.on}
