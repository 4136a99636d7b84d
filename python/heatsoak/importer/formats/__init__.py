"""The readers: one module or package a format, found by what they define."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import walk_packages

from heatsoak.importer.log import Log, Options
from heatsoak.importer.source import Source


@dataclass(frozen=True)
class Format:
    """A reader.

    Attributes:
        name: one word, as messages and recordings have it.
        title: what people call it.
        recognises: looks at the head of a file (`head`, `head_lines`) and returns something
            true if it is of this format, by its content alone; raises nothing for any text.
        read: returns a log for each run in the file. Raises UsageError, through
            `source.error`, with the line's number; what a damaged file still tells is read, and
            what was skipped is counted in a remark.
        priority: the lower, the earlier it is asked: the more particular a format's marks, the
            lower. Plain tables take what nobody else recognises.
        is_read: False for what is known only to be refused, with what would be right.
    """

    name: str
    title: str
    recognises: Callable[[Source], object]
    read: Callable[[Source, Options], list[Log]]
    priority: int = 100
    is_read: bool = True


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
