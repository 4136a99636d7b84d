"""Sweeps: thousands of what-ifs over drives, places, workloads and cooling, on many processors."""

from heatsoak.sweep.plan import DRAWS, Grid, load_grid
from heatsoak.sweep.running import SAMPLE, sweep
from heatsoak.sweep.summary import SUMMARY, FinishedSweep, Sweep

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
