"""Couples two targets for a copy."""

from heatsoak.target.base import Target
from heatsoak.target.pair import Pair


def couple(source: Target, destination: Target) -> Pair:
    """Return the pair for a copy of two open targets, both simulated or both real."""
    from heatsoak.target.simulated import SimulatedTarget

    if isinstance(source, SimulatedTarget) and isinstance(destination, SimulatedTarget):
        from heatsoak.target.simulated_pair import SimulatedPair

        return SimulatedPair(source, destination)
    from heatsoak.target.fio import FioTarget
    from heatsoak.target.fio.pair import FioPair

    assert isinstance(source, FioTarget)
    assert isinstance(destination, FioTarget)
    return FioPair(source, destination)
