"""The readers: one module or package a format, found by what they define."""

from importlib import import_module
from pkgutil import walk_packages

from heatsoak.importer.format import Format


def _found() -> tuple[Format, ...]:
    """Every format that a module below defines, in the order in which they are asked."""
    modules = [import_module(one.name) for one in walk_packages(__path__, f"{__name__}.")]
    found = {
        value.name: value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, Format)
    }
    return tuple(sorted(found.values(), key=lambda one: (one.priority, one.name)))


FORMATS = _found()
