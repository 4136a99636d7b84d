"""All output to people goes through here: text from outside is shown, never interpreted.

Models, labels, events, file names and logs may contain anything: escape sequences that retitle a
terminal, marks that reverse the writing direction, rich's own markup. Only this package prints or
creates consoles (ruff's T20 and TID251 enforce that), so nothing can bypass it. Consoles are loaded
when first used: rich takes longer to import than Python takes to start.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from heatsoak.output.printing import (
    LINE_INTERVAL_S,
    Progress,
    announce,
    from_spreadsheet,
    json_text,
    print_err,
    print_json,
    print_out,
    printable,
    spreadsheet_text,
    utf8_text,
)

if TYPE_CHECKING:
    from heatsoak.output.consoles import Console, Text, TextColumn, lines, table_of

__all__ = [
    "LINE_INTERVAL_S",
    "Console",
    "Progress",
    "Text",
    "TextColumn",
    "announce",
    "from_spreadsheet",
    "json_text",
    "lines",
    "print_err",
    "print_json",
    "print_out",
    "printable",
    "spreadsheet_text",
    "table_of",
    "utf8_text",
]


def __getattr__(name: str) -> Any:
    """Load the consoles when one of their names is used for the first time."""
    if name not in __all__:
        raise AttributeError(f"module 'heatsoak.output' has no attribute '{name}'")
    found = globals()[name] = getattr(import_module("heatsoak.output.consoles"), name)
    return found
