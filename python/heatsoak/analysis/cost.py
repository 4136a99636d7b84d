"""What the load costs the host: processor time of the load generator."""

from dataclasses import dataclass

from heatsoak.analysis.totals import totals
from heatsoak.analysis.view import StepView
from heatsoak.recording import Recording


@dataclass(frozen=True)
class Cost:
    """Processor seconds, user's and system's, that a number of I/Os took.

    Attributes:
        duration_s: the time in which they were spent.
    """

    cpu_s: float
    ios: float
    duration_s: float

    @property
    def us_per_io(self) -> float:
        """Processor time of one I/O."""
        return 1e6 * self.cpu_s / self.ios

    @property
    def core_pct(self) -> float:
        """The same as a share of one core."""
        return 100 * self.cpu_s / self.duration_s


def cost_of(recording: Recording, view: StepView) -> Cost | None:
    """Return what a step cost; None where that was not measured, as for a simulated drive."""
    for event in reversed(recording.events):
        if event.kind == "step-end" and event.step == view.step.name:
            cpu_s = event.data.get("load_cpu_s")
            ios = totals(view).ios
            if not isinstance(cpu_s, int | float) or not ios or view.duration_s <= 0:
                return None
            return Cost(float(cpu_s), ios, view.duration_s)
    return None
