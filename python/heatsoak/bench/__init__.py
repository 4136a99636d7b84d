"""The conductor: protocol x target x sensors -> recording, with a view of it while it runs."""

from heatsoak.bench.conductor import Observer, conduct
from heatsoak.bench.plan import Plan, Speeds, StepPlan, plan

__all__ = ["Observer", "Plan", "Speeds", "StepPlan", "conduct", "plan"]
