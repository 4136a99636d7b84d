"""The command line: one module a command, no logic."""

try:
    from heatsoak.system import uninterrupted

    with uninterrupted():
        from heatsoak.cli.app import main
except KeyboardInterrupt:  # before there is anything that could say so
    raise SystemExit(130) from None

__all__ = ["main"]
