"""The command line: one module a command, no logic."""

try:
    from heatsoak.cli.app import main
except (KeyboardInterrupt, RuntimeError) as error:
    # Ctrl-C before there is anything that could say so; while a class is being made, Python 3.11
    # makes it the cause of another error
    if KeyboardInterrupt not in (type(error), type(error.__cause__)):
        raise
    raise SystemExit(130) from None

__all__ = ["main"]
