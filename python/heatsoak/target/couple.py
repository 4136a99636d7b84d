"""Which kind of pair two targets make."""

from heatsoak.target.base import Target
from heatsoak.target.pair import Pair


def couple(source: Target, destination: Target) -> Pair:
    """Return what copies from `source` to `destination`, both simulated or both real, and open."""
    from heatsoak.target.simulated import SimulatedTarget

    if isinstance(source, SimulatedTarget) and isinstance(destination, SimulatedTarget):
        from heatsoak.target.simulated_pair import SimulatedPair

        return SimulatedPair(source, destination)
    from heatsoak.target.fio import FioTarget
    from heatsoak.target.fio.pair import FioPair

    assert isinstance(source, FioTarget)
    assert isinstance(destination, FioTarget)
    return FioPair(source, destination)
