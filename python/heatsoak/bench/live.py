"""What is shown while runs are made: a live view in a terminal, plain lines elsewhere."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress
from typing_extensions import override

from heatsoak.bench.plan import Plan
from heatsoak.bench.progress import RunView, View
from heatsoak.output import Console, Text, TextColumn, print_err
from heatsoak.units import format_duration

_BARS, _ASCII_BARS = "▁▂▃▄▅▆▇█", "_.-:=+*#"
_LINE_INTERVAL_S = 10.0


class LiveView(View):
    """A block at the bottom of the terminal that is redrawn in place."""

    def __init__(self, plans: list[Plan], title: str, console: Console) -> None:
        super().__init__(plans, title)
        self.console = console
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
    @contextmanager
    def held_back(self) -> Iterator[None]:
        self.live.stop()
        yield
        self.live.start()  # but not after an interruption, which ends the view

    @override
    def end(self) -> None:
        self.live.stop()

    @override
    def show_line(self, line: str, style: str) -> None:
        self.console.print(Text(line, style=style))

    def _render(self) -> RenderableType:
        title = f"{self.title}: {self.describe_count()}" if not self.is_single else self.title
        eta = f"ETA {format_duration(self.eta_s())}" if self.runs else ""
        self.bar.update(self.task, description=title, completed=self.share_done(), eta=eta)
        lines: list[RenderableType] = [self.bar]
        bars = _ASCII_BARS if self.console.options.ascii_only else _BARS
        for run in list(self.runs):
            if not run.is_over:
                lines += _lines_of(run, bars)
        return Group(*lines)


def _lines_of(run: RunView, bars: str) -> list[Text]:
    where = f"{run.label}: {run.describe_step()}" if run.label else run.describe_step()
    lines = [where, *([run.because] if run.because else [])]
    readings = run.describe_readings()
    if readings:
        lines.append(f"{readings}  {_sparkline(list(run.history), bars)}")
    return [Text(line, overflow="ellipsis", no_wrap=True) for line in lines]


class PlainView(View):
    """A line when a step begins, when one of several runs ends, and every ten seconds."""

    def __init__(self, plans: list[Plan], title: str) -> None:
        super().__init__(plans, title)
        self._shown_at = time.monotonic()
        self._lock = threading.Lock()

    @override
    def on_progress(self, run: RunView) -> None:
        if time.monotonic() - self._shown_at < _LINE_INTERVAL_S:
            return
        if self.is_single:
            doing = f"{run.t_s:.0f} s: {run.describe_readings() or run.describe_step()}"
        else:
            doing = f"{self.describe_count()}, {self.share_done():.0%}"
        self.show_status(f"{doing}; {format_duration(self.eta_s())} to go")

    @override
    def show_status(self, line: str) -> None:
        with self._lock:
            print_err(line)
            self._shown_at = time.monotonic()

    @override
    def show_line(self, line: str, style: str) -> None:
        self.show_status(line)


def make_view(plans: list[Plan], title: str) -> View:
    """Return a live view where standard error is a terminal that redraws, else plain lines."""
    console = Console(stderr=True)
    # a terminal that cannot move its cursor would get nothing but the end
    redraws = console.is_terminal and not console.is_dumb_terminal
    return LiveView(plans, title, console) if redraws else PlainView(plans, title)


def _sparkline(values: list[float], bars: str) -> str:
    top = max(values, default=0.0)
    if top <= 0:
        return ""
    return "".join(bars[min(7, int(8 * value / top))] for value in values)
