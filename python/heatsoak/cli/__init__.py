"""The command line: one module a command, no logic."""

from heatsoak.cli.app import main

__all__ = ["main"]
