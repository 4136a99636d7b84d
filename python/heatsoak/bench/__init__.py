"""Runs protocols on drives: protocol x target x sensors -> recording, and a view meanwhile.

Its names are loaded when first used: lists of drives and protocols need few of its modules.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heatsoak.bench.conductor import conduct
    from heatsoak.bench.fleet import Fleet
    from heatsoak.bench.plan import Plan, Speeds, StepPlan, typical_plan
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
    "typical_plan",
]

#: Where each name comes from.
_MODULES = {
    "Fleet": "fleet",
    "Latest": "recorder",
    "Observer": "progress",
    "Plan": "plan",
    "Speeds": "plan",
    "StepPlan": "plan",
    "conduct": "conductor",
    "typical_plan": "plan",
}


def __getattr__(name: str) -> Any:
    """Load what is used for the first time."""
    if name not in _MODULES:
        raise AttributeError(f"module 'heatsoak.bench' has no attribute '{name}'")
    module = import_module(f"heatsoak.bench.{_MODULES[name]}")
    found = globals()[name] = getattr(module, name)
    return found
