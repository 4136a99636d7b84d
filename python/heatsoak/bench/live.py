"""What a person sees while a run goes on: a live view in a terminal, plain lines elsewhere."""

import sys
import time
from collections import deque
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text
from typing_extensions import override

from heatsoak.bench.conductor import Observer
from heatsoak.bench.latest import Latest
from heatsoak.bench.plan import Plan
from heatsoak.protocol import Step, WorkloadStep
from heatsoak.units import format_duration

_BARS = "▁▂▃▄▅▆▇█"
_LINE_INTERVAL_S = 10.0


class View(Observer):
    """Follows the runs of a session against their plans; subclasses show it."""

    def __init__(self, plans: list[Plan], title: str) -> None:
        self.plans = plans
        self.title = title
        self.run_index = -1
        self.label = ""
        self.step: Step | None = None
        self.step_index = 0
        self.step_begin_s = 0.0
        self.t_s = 0.0
        self.latest: Latest | None = None
        self._began_at = time.monotonic()

    def begin_run(self, index: int, label: str) -> None:
        """The run with this index begins; `label` tells it from the others."""
        self.run_index, self.label = index, label
        self.step, self.step_index, self.t_s, self.latest = None, 0, 0.0, None

    def end(self) -> None:
        """All runs are over."""

    @override
    def on_step(self, index: int, step: Step, t_s: float) -> None:
        self.step_index, self.step, self.step_begin_s = index, step, t_s

    @override
    def on_progress(self, t_s: float, latest: Latest) -> None:
        self.t_s, self.latest = t_s, latest

    @override
    def on_note(self, level: str, text: str) -> None:
        """Show nothing; subclasses may."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def eta_s(self) -> float:
        """Return how long all that is planned still takes, by the clock on the wall.

        Simulated time runs faster than the wall's; how much faster, what is done tells.
        """
        remaining_s = self.remaining_s()
        done_s = sum(plan.duration_s for plan in self.plans) - remaining_s
        speed = done_s / max(time.monotonic() - self._began_at, 1e-3)
        return remaining_s / speed if speed > 2 else remaining_s

    def remaining_s(self) -> float:
        """Return how long all that is planned still takes, in the targets' time."""
        plan = self.plans[max(self.run_index, 0)]
        step = plan.steps[self.step_index]
        left = max(0.0, step.duration_s - (self.t_s - self.step_begin_s))
        left += sum(later.duration_s for later in plan.steps[self.step_index + 1 :])
        return left + sum(later.duration_s for later in self.plans[self.run_index + 1 :])

    def share_done(self) -> float:
        """Return the share of the planned time that is over, 0 to 1."""
        total = sum(plan.duration_s for plan in self.plans)
        return 1 - min(1.0, self.remaining_s() / total) if total > 0 else 1.0

    def describe_step(self) -> str:
        """Return which step it is in a few words."""
        if self.step is None:
            return "getting ready"
        count = len(self.plans[max(self.run_index, 0)].steps)
        text = f"step {self.step_index + 1} of {count}, {self.step.name}"
        if isinstance(self.step, WorkloadStep):
            text += f" ({self.step.describe()})"
        return text

    def describe_readings(self) -> str:
        """Return throughput and temperatures as they are now."""
        if self.latest is None:
            return ""
        parts = []
        throughput = self.latest.throughput_mb_s()
        if throughput is not None and isinstance(self.step, WorkloadStep):
            parts.append(f"{throughput:,.0f} MB/s")
        parts += [f"{name} {temp_c:.0f} C" for name, temp_c in self.latest.temps_c().items()]
        return "  ".join(parts)


class LiveView(View):
    """A block at the bottom of the terminal that is redrawn in place."""

    def __init__(self, plans: list[Plan], title: str, console: Console) -> None:
        super().__init__(plans, title)
        self.console = console
        self.history: deque[float] = deque(maxlen=60)
        self._history_t_s = 0.0
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[eta]}"),
            console=console,
            expand=True,
        )
        self.task = self.bar.add_task(title, total=1.0, eta="")
        self.live = Live(
            get_renderable=self._render, console=console, refresh_per_second=4, transient=True
        )

    @override
    def __enter__(self) -> Self:
        self.live.start()
        return self

    @override
    def begin_run(self, index: int, label: str) -> None:
        super().begin_run(index, label)
        self.history.clear()
        self._history_t_s = 0.0

    @override
    def end(self) -> None:
        self.live.stop()

    @override
    def on_progress(self, t_s: float, latest: Latest) -> None:
        super().on_progress(t_s, latest)
        throughput = latest.throughput_mb_s()
        if throughput is not None and t_s - self._history_t_s >= 1:
            self.history.append(throughput)
            self._history_t_s = t_s

    @override
    def on_note(self, level: str, text: str) -> None:
        if level != "info":
            self.console.print(Text(f"{level}: {text}", style="yellow"))

    def _render(self) -> RenderableType:
        self.bar.update(self.task, completed=self.share_done(), eta=self._eta())
        where = f"{self.label}: {self.describe_step()}" if self.label else self.describe_step()
        lines: list[RenderableType] = [self.bar, Text(where, overflow="ellipsis", no_wrap=True)]
        readings = self.describe_readings()
        if readings:
            spark = _sparkline(list(self.history))
            lines.append(Text(f"{readings}  {spark}", overflow="ellipsis", no_wrap=True))
        return Group(*lines)

    def _eta(self) -> str:
        return "" if self.run_index < 0 else f"ETA {format_duration(self.eta_s())}"


class PlainView(View):
    """A line when a step begins and every ten seconds; for logs and pipes."""

    def __init__(self, plans: list[Plan], title: str) -> None:
        super().__init__(plans, title)
        self._said_at = 0.0

    @override
    def begin_run(self, index: int, label: str) -> None:
        super().begin_run(index, label)
        if label:
            self._say(f"[{index + 1}/{len(self.plans)}] {label}")

    @override
    def on_step(self, index: int, step: Step, t_s: float) -> None:
        super().on_step(index, step, t_s)
        if len(self.plans) == 1:
            self._say(f"{self.describe_step()}; {format_duration(self.eta_s())} to go")

    @override
    def on_progress(self, t_s: float, latest: Latest) -> None:
        super().on_progress(t_s, latest)
        if time.monotonic() - self._said_at >= _LINE_INTERVAL_S:
            self._say(
                f"{t_s:.0f} s: {self.describe_readings() or self.describe_step()}; "
                f"{format_duration(self.eta_s())} to go"
            )

    @override
    def on_note(self, level: str, text: str) -> None:
        if level != "info":
            self._say(f"{level}: {text}")

    def _say(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)
        self._said_at = time.monotonic()


def make_view(plans: list[Plan], title: str) -> View:
    """Return a live view where standard error is a terminal, plain lines elsewhere."""
    console = Console(stderr=True)
    return LiveView(plans, title, console) if console.is_terminal else PlainView(plans, title)


def _sparkline(values: list[float]) -> str:
    top = max(values, default=0.0)
    if top <= 0:
        return ""
    return "".join(_BARS[min(7, int(8 * value / top))] for value in values)
