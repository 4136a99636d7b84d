"""How steady a step's I/O is: rates by second, rate levels, and steady state."""

from heatsoak.analysis.consistency.levels import (
    END_S,
    RecurringRate,
    end_level,
    find_recurring_rates,
)
from heatsoak.analysis.consistency.measure import WINDOW_S, consistency, step_consistency
from heatsoak.analysis.consistency.per_second import PerSecond, by_second
from heatsoak.analysis.consistency.steady import judge_rounds, steady_state

__all__ = [
    "END_S",
    "WINDOW_S",
    "PerSecond",
    "RecurringRate",
    "by_second",
    "consistency",
    "end_level",
    "find_recurring_rates",
    "judge_rounds",
    "steady_state",
    "step_consistency",
]
