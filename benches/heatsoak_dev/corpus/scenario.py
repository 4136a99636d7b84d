"""What to record: a drive in a place, its steps, and what the host does during them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from heatsoak.analysis.findings import Cause
from heatsoak.analysis.series import Array
from heatsoak.protocol import Pause, Precondition, Step, Workload, WorkloadStep
from heatsoak.units import Size

from heatsoak_dev.corpus.draw import Setup
from heatsoak_dev.corpus.machine import Machine, NoiselessStep, Pace

HostKind = Literal["cpu", "link", "silent", "traffic", "steal"]


@dataclass(frozen=True)
class Frame:
    """The length of the first judged step, and its time scale.

    Attributes:
        scale: seconds that stand for one of the simulator's.
        grid_s: interval of the course's grid.
    """

    duration_s: float
    sampling_s: float
    scale: float
    grid_s: float

    def load(self, machine_s: float) -> float:
        """Convert seconds of the simulator to ours."""
        return machine_s * self.scale


@dataclass(frozen=True)
class Held:
    """A stretch in which the host, or others on it, slowed a step down.

    Attributes:
        how: how it shows.
        share: what is left of the rate, one for each point of the grid in the stretch; None where
            the drive itself was given less to do.
        link_mb_s: what the link carries meanwhile, where it was trained to less.
    """

    step: str
    start_s: float
    end_s: float
    cause: Cause
    how: HostKind
    share: Array | None = None
    link_mb_s: float | None = None


@dataclass
class Take:
    """One recording that is to be made.

    Attributes:
        history: what was done to the drive before the recording began.
        link_mb_s: what its link carries where that is all it carries, as its columns state it.
        size_bytes, model: what to state instead of what was simulated.
    """

    setup: Setup
    steps: list[Step]
    history: list[Step] = field(default_factory=list)
    conditions: dict[str, str | int | float | bool] = field(default_factory=dict)
    paces: dict[str, tuple[Pace, ...]] = field(default_factory=dict)
    held: list[Held] = field(default_factory=list)
    link_mb_s: float | None = None
    size_bytes: int | None = None
    model: str | None = None
    seed: int = 0


@dataclass
class Scenario:
    """What a recipe makes: recordings, and what their labels need."""

    takes: list[Take]
    protocol: str = "single"
    several: str | None = None
    overlaps: bool = False
    sensor: str = "good"
    #: the first step runs at the ceiling of its link
    at_ceiling: bool = False
    #: causes that the first recording has to show, or the case is drawn again
    wanted: tuple[Cause, ...] = ()


Recipe = Callable[[np.random.Generator, Frame], Scenario]


def load(name: str, rw: str, bs: int, runtime_s: float, **more: object) -> WorkloadStep:
    """Return a step of QD32 over the whole drive, unless told otherwise."""
    words = {"iodepth": 32, "span": Size(percent=100.0), **more}
    return WorkloadStep.model_validate(
        {"name": name, "rw": rw, "bs": bs, "runtime_s": runtime_s, **words}
    )


def fill() -> Precondition:
    """Write the whole drive once."""
    return Precondition(name="fill", rw="write", bs=1 << 17, iodepth=32, span=Size(percent=100.0))


def pause(duration_s: float) -> Pause:
    """Wait."""
    return Pause(kind="pause", duration_s=round(duration_s))


def noiseless_step_of(take: Take, frame: Frame, step: Workload) -> NoiselessStep:
    """Return how one step of a take goes, its history before it."""
    assert isinstance(step, WorkloadStep)
    machine = Machine(take.setup.drive, take.setup.place, frame.scale, frame.grid_s, take.seed)
    for before in take.history:
        machine.take(before)
    for before in take.steps:
        if before.name == step.name:
            break
        machine.take(before)
    return machine.take(step, take.paces.get(step.name, ()))
