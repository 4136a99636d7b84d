"""How long a simulation takes on this machine, from trying each of its loads for a moment."""

from collections.abc import Iterator

from heatsoak.bench.plan import Plan
from heatsoak.errors import UsageError
from heatsoak.protocol import Rounds, Step, WorkloadStep
from heatsoak.target.simulated import SimulatedTarget


def simulation_s(plan: Plan, target: SimulatedTarget) -> float | None:
    """Return how long simulating a plan takes, at most; None where its loads cannot be tried.

    A new and cool drive does the most I/Os in a second, and each takes its time to simulate.
    """
    total_s = 0.0
    for planned in plan.steps:
        if not planned.step.loads or planned.step.is_probe:
            continue
        try:
            costs = [target.cost_of(load) for load in _loads(planned.step)]
        except UsageError:
            return None
        if not costs:
            return None
        total_s += planned.duration_s * sum(costs) / len(costs)
    return total_s


def _loads(step: Step) -> Iterator[WorkloadStep]:
    if isinstance(step, Rounds):
        for inner in step.steps:
            yield from _loads(inner)
    elif isinstance(step, WorkloadStep):
        yield step
