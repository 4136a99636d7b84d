"""Sweeps: thousands of what-ifs over drives, places, workloads and cooling, on many processors."""

from heatsoak.sweep.finished import SUMMARY, FinishedSweep
from heatsoak.sweep.grid import Grid, load_grid
from heatsoak.sweep.plan import DRAWS
from heatsoak.sweep.running import SAMPLE, sweep
from heatsoak.sweep.summary import Sweep

__all__ = [
    "DRAWS",
    "SAMPLE",
    "SUMMARY",
    "FinishedSweep",
    "Grid",
    "Sweep",
    "load_grid",
    "sweep",
]
