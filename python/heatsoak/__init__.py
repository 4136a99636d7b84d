"""heatsoak: does a drive throttle, when, by how much, and why."""

from importlib.metadata import version

__version__ = version("heatsoak")
