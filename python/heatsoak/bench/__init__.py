"""Runs protocols on drives: protocol x target x sensors -> recording, and a view meanwhile."""

from heatsoak.bench.conductor import conduct
from heatsoak.bench.fleet import Fleet
from heatsoak.bench.plan import Plan, Speeds, StepPlan, plan, typical_plan
from heatsoak.bench.progress import Observer
from heatsoak.bench.recorder import Latest

__all__ = [
    "Fleet",
    "Latest",
    "Observer",
    "Plan",
    "Speeds",
    "StepPlan",
    "conduct",
    "plan",
    "typical_plan",
]
