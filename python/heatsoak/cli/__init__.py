"""The command line: one module a command, no logic."""

import gc

# Loaded modules stay, so searching them for garbage is pointless: repeatedly during the imports and
# once more at exit, it takes a third of a short command's time.
_collects = gc.isenabled()
gc.disable()
try:
    from heatsoak.cli.app import main
finally:
    gc.freeze()
    if _collects:
        gc.enable()

__all__ = ["main"]
