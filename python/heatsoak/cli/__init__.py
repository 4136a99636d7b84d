"""The command line: one module a command, no logic."""

import gc

# What is loaded stays: to look through it for garbage, again and again while it is loaded and once
# more at the end, takes a third of a short command's time.
_collects = gc.isenabled()
gc.disable()
try:
    from heatsoak.cli.app import main
finally:
    gc.freeze()
    if _collects:
        gc.enable()

__all__ = ["main"]
