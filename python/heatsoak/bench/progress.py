"""How far runs have come against their plans, and what is shown of it: live, or in plain lines."""

import math
import threading
import time
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Self

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress
from typing_extensions import override

from heatsoak import output
from heatsoak.bench.plan import RunPlan, StepPlan
from heatsoak.bench.recorder import Latest
from heatsoak.protocol import SingleStep, Step
from heatsoak.words import duration_text, percent_text, rate_text, temp_text


class Observer:
    """What watches a run, in the thread that makes it; subclasses take what they want to know.

    Attributes:
        stop: is set where the run is to end.
    """

    stop: threading.Event | None = None

    def raise_if_stopped(self) -> None:
        """End the run, as if the user had stopped it, where it is to stop."""
        if self.stop is not None and self.stop.is_set():
            raise KeyboardInterrupt

    def on_warm_up(self, text: str) -> None:
        """The case is warmed before the first step, as `text` says."""

    def on_step(self, index: int, step: Step, t_s: float, because: str = "") -> None:
        """A step begins; of a probe with why it is taken."""

    def on_due(self, names: Collection[str]) -> None:
        """What was seen so far makes probes due: these are taken later."""

    def on_skip(self, index: int, step: Step, reason: str | None) -> None:
        """A step is skipped for `reason`; None for one that was over before the run was cut."""

    def on_round(self, step: SingleStep, number: int) -> None:
        """A step of a round begins."""

    def on_progress(self, t_s: float, latest: Latest) -> None:
        """Time has passed; `latest` holds the newest value of each column."""

    def on_note(self, level: str, text: str) -> None:
        """Something worth a line was seen."""


def _expected_s(
    steps: Sequence[StepPlan], slowness: float = 1.0, due: Collection[str] = ()
) -> float:
    """How long steps take, if no other probes among them are needed than are `due`.

    `slowness` is how many times as long as planned loads take that move a number of bytes.
    """
    return sum(
        step.duration_s * (slowness if _is_of_bytes(step) else 1)
        for step in steps
        if not step.step.is_probe or step.step.name in due
    )


def _is_of_bytes(planned: StepPlan) -> bool:
    """Whether loads end with their bytes: how long that takes shows only when they run."""
    return not planned.is_bound and planned.min_share == 1 and 0 < planned.moved_bytes < math.inf


class RunView(Observer):
    """Follows one run against its plan, in the thread that makes it."""

    def __init__(self, view: "SessionView", plan: RunPlan, label: str) -> None:
        self.view = view
        self.plan = plan
        self.label = label
        self.is_over = self.has_failed = False
        self.step: Step | None = None
        self.step_start_s = 0.0
        #: How many steps have started or been skipped.
        self.started = 0
        self.t_s = 0.0
        #: What the recording's clock showed when the run started: a resumed one continues it.
        self.first_t_s: float | None = None
        #: The step of a round, where rounds are taken, and its round.
        self.inner: tuple[SingleStep, int] | None = None
        #: The names of probes that are taken later, by what was seen so far.
        self.due: Collection[str] = ()
        #: Why the step is taken, where it is a probe.
        self.because = ""
        #: How the case is warmed, before the first step.
        self.warming_up = ""
        #: What the step has moved so far, and how many times as long as planned that took.
        self.moved_mb, self.slowness = 0.0, 1.0
        self.latest: Latest | None = None
        #: Throughput of the last minute, once a second at most.
        self.history: deque[float] = deque(maxlen=60)
        self._history_t_s = 0.0

    def end(self, *, failed: bool = False) -> None:
        """The run is over, however it ended."""
        self.is_over, self.has_failed = True, failed
        self.view.on_end(self)

    @override
    def on_warm_up(self, text: str) -> None:
        self.warming_up = text
        self.view.on_step(self)

    @override
    def on_step(self, index: int, step: Step, t_s: float, because: str = "") -> None:
        self.inner = None
        self.started, self.step, self.step_start_s = index + 1, step, t_s
        asks = f": {step.asks}" if step.asks else ""
        self.because = f"probe: {because}{asks}" if because else ""
        self.t_s, self.moved_mb = t_s, 0.0
        if self.first_t_s is None:
            self.first_t_s = t_s
        self.view.on_step(self)
        if because and self.view.is_single:
            self.view.show_status(self.because)

    @override
    def on_round(self, step: SingleStep, number: int) -> None:
        is_new = self.inner is None or self.inner[1] != number
        self.inner = step, number
        if is_new:
            self.view.on_step(self)

    @override
    def on_due(self, names: Collection[str]) -> None:
        self.due = names

    @override
    def on_skip(self, index: int, step: Step, reason: str | None) -> None:
        self.inner = None
        self.started, self.step, self.because = index + 1, None, ""
        if reason is not None and self.view.is_single:
            self.view.show_line(f"skipped {step.name}: {reason}", "dim")

    @override
    def on_progress(self, t_s: float, latest: Latest) -> None:
        throughput = latest.throughput_mb_s()
        self.moved_mb += (throughput or 0.0) * (t_s - self.t_s)
        self.t_s, self.latest = t_s, latest
        if throughput is not None and t_s - self._history_t_s >= 1:
            self.history.append(throughput)
            self._history_t_s = t_s
        self.view.on_progress(self)

    @override
    def on_note(self, level: str, text: str) -> None:
        if level != "info":
            self.view.show_line(f"{level}: {text}", "yellow")

    @property
    def passed_s(self) -> float:
        """How long it has taken so far, in the target's time."""
        return 0.0 if self.first_t_s is None else self.t_s - self.first_t_s

    def remaining_s(self) -> float:
        """Return how long it still takes, in the target's time.

        That is as planned; loads that move a number of bytes are as slow as they are found to be.
        """
        if self.is_over:
            return 0.0
        here_s = 0.0
        if self.step is None and not self.started:
            here_s = self.plan.warm_up_s - self.t_s
        elif self.step is not None:
            planned = self.plan.steps[self.started - 1]
            here_s, passed_s = planned.duration_s, self.t_s - self.step_start_s
            moved_mb = self.moved_mb  # which another thread may set to 0
            if _is_of_bytes(planned) and moved_mb > 0:
                self.slowness = passed_s * planned.moved_bytes / (1e6 * moved_mb * here_s)
                here_s *= self.slowness
            here_s -= passed_s
        left = self.plan.steps[self.started :]
        return max(0.0, here_s) + _expected_s(left, self.slowness, self.due)

    def describe_step(self) -> str:
        """Return which step it is in a few words."""
        if self.step is None:
            if self.started:
                return "finishing"
            return f"warming up: {self.warming_up}" if self.warming_up else "getting ready"
        text = f"step {self.started} of {len(self.plan.steps)}, {self.step.name}"
        if self.inner is not None:
            inner = self.inner[0]
            what = f", {inner.describe()}" if inner.loads else ""
            return f"{text} ({inner.name}{what}; at most {self.step.max_rounds} rounds)"
        return f"{text} ({self.step.describe()})" if self.step.loads else text

    def describe_readings(self) -> str:
        """Return throughput and temperatures as they are now."""
        if self.latest is None:
            return ""
        parts = []
        throughput = self.latest.throughput_mb_s()
        step = self.step if self.inner is None else self.inner[0]
        if throughput is not None and step is not None and step.loads:
            parts.append(rate_text(throughput))
        parts += [f"{name} {temp_text(temp_c)}" for name, temp_c in self.latest.temps_c().items()]
        return "  ".join(parts)


class SessionView:
    """Follows the runs of a session, some of them at once; subclasses show it."""

    def __init__(self, plans: list[RunPlan], title: str) -> None:
        self.plans = plans
        self.title = title
        self.runs: list[RunView] = []
        self._began_at = time.monotonic()
        self._share_done = 0.0

    def begin_run(self, plan: RunPlan, label: str) -> RunView:
        """Return what follows a run that starts; `label` is its name among the others."""
        run = RunView(self, plan, label)
        self.runs.append(run)
        return run

    @property
    def is_single(self) -> bool:
        """Whether there is one run, whose steps are worth a line each."""
        return len(self.plans) == 1

    def end(self) -> None:
        """All runs are over."""

    def show_line(self, line: str, style: str) -> None:
        """Show a line that stays, in a style of rich's."""

    def show_status(self, line: str) -> None:
        """Show what has changed, unless it is in view all the time."""

    def on_progress(self, run: RunView) -> None:
        """Time has passed for `run`."""

    def on_step(self, run: RunView) -> None:
        """A step of `run` begins."""
        if self.is_single:
            self.show_status(f"{run.describe_step()}; {duration_text(round(self.eta_s()))} to go")

    def on_end(self, run: RunView) -> None:
        """A run is over."""
        if not self.is_single:
            self.show_status(f"{self.describe_count()}: {run.label}")

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Show nothing for as long as the context lasts: somebody is asked something."""
        yield

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def remaining_s(self) -> float:
        """Return how long all that is planned still takes, in the targets' time."""
        started = list(self.runs)
        later_s = sum(_expected_s(plan.steps) for plan in self.plans)
        later_s -= sum(_expected_s(run.plan.steps) for run in started)
        return max(0.0, later_s) + sum(run.remaining_s() for run in started)

    def eta_s(self) -> float:
        """Return how long all that is planned still takes, by the clock on the wall.

        Simulated time runs faster than the wall's, as can be seen from the time that passed.
        """
        remaining_s = self.remaining_s()
        passed_s = sum(run.passed_s for run in list(self.runs))
        speed = passed_s / max(time.monotonic() - self._began_at, 1e-3)
        return remaining_s / speed if speed > 2 else remaining_s

    def share_done(self) -> float:
        """Return the share of the time that is over, 0 to 1.

        It never goes back: where a probe adds to the time, it waits.
        """
        passed_s = sum(run.passed_s for run in list(self.runs))
        total_s = passed_s + self.remaining_s()
        share = passed_s / total_s if total_s > 0 else 1.0
        self._share_done = max(self._share_done, share)
        return self._share_done

    def describe_count(self) -> str:
        """Return how many of several runs are done, and how many failed."""
        over = [run for run in list(self.runs) if run.is_over]
        failed = sum(run.has_failed for run in over)
        words = f"{len(over) - failed} of {len(self.plans)} recordings done"
        return f"{words}, {failed} failed" if failed else words


_BARS, _ASCII_BARS = "▁▂▃▄▅▆▇█", "_.-:=+*#"


class LiveView(SessionView):
    """A block at the bottom of the terminal that is redrawn in place."""

    def __init__(self, plans: list[RunPlan], title: str, console: output.Console) -> None:
        super().__init__(plans, title)
        self.console = console
        self.bar = Progress(
            output.TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            output.TextColumn("{task.percentage:>3.0f} %"),
            output.TextColumn("{task.fields[eta]}"),
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
        self.console.print(output.Text(line, style=style))

    def _render(self) -> RenderableType:
        title = f"{self.title}: {self.describe_count()}" if not self.is_single else self.title
        eta = f"ETA {duration_text(round(self.eta_s()))}" if self.runs else ""
        self.bar.update(self.task, description=title, completed=self.share_done(), eta=eta)
        lines: list[RenderableType] = [self.bar]
        bars = _ASCII_BARS if self.console.options.ascii_only else _BARS
        for run in list(self.runs):
            if run.is_over:
                continue
            where = f"{run.label}: {run.describe_step()}" if run.label else run.describe_step()
            told = [where, *([run.because] if run.because else [])]
            if readings := run.describe_readings():
                history = list(run.history)
                top = max(history, default=0.0)
                shares = (8 * value / top for value in history if top > 0)
                line = "".join(bars[min(7, int(share))] for share in shares)
                told.append(f"{readings}  {line}")
            lines += [output.Text(line, overflow="ellipsis", no_wrap=True) for line in told]
        return Group(*lines)


class PlainView(SessionView):
    """A line when a step begins, when one of several runs ends, and every ten seconds."""

    def __init__(self, plans: list[RunPlan], title: str) -> None:
        super().__init__(plans, title)
        self._shown_at = time.monotonic()
        self._lock = threading.Lock()

    @override
    def on_progress(self, run: RunView) -> None:
        if time.monotonic() - self._shown_at < output.LINE_INTERVAL_S:
            return
        if self.is_single:
            doing = (
                f"{duration_text(round(run.t_s))}: {run.describe_readings() or run.describe_step()}"
            )
        else:
            doing = f"{self.describe_count()}, {percent_text(round(100 * self.share_done()))}"
        self.show_status(f"{doing}; {duration_text(round(self.eta_s()))} to go")

    @override
    def show_status(self, line: str) -> None:
        with self._lock:
            output.print_err(line)
            self._shown_at = time.monotonic()

    @override
    def show_line(self, line: str, style: str) -> None:
        self.show_status(line)


def make_view(plans: list[RunPlan], title: str) -> SessionView:
    """Return a live view where standard error is a terminal that redraws, else plain lines."""
    console = output.Console(stderr=True)
    # a terminal that cannot move its cursor would get nothing but the end
    redraws = console.is_terminal and not console.is_dumb_terminal
    return LiveView(plans, title, console) if redraws else PlainView(plans, title)
