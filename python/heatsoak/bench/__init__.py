"""The conductor: protocol x target x sensors -> recording, with a view of it while it runs."""

from heatsoak.bench.conductor import conduct
from heatsoak.bench.fleet import Fleet
from heatsoak.bench.observer import Observer
from heatsoak.bench.plan import Plan, Speeds, StepPlan, plan

__all__ = ["Fleet", "Observer", "Plan", "Speeds", "StepPlan", "conduct", "plan"]
