"""Rich's text, tables and consoles, showing everything as plain text."""

from collections.abc import Collection, Iterable
from typing import Any

from rich import console as rich_console
from rich import progress as rich_progress
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text as RichText
from typing_extensions import override

from heatsoak.output.printing import printable


class Text(RichText):
    """Rich's text, always on one line."""

    def __init__(self, text: str = "", *args: Any, **kwargs: Any) -> None:
        """Take `text` as :func:`printable` shows it."""
        super().__init__(printable(text), *args, **kwargs)

    @override
    def append(self, text: RichText | str, style: Any = None) -> "Text":
        super().append(printable(text) if isinstance(text, str) else text, style)
        return self


class TextColumn(rich_progress.TextColumn):
    """Rich's progress bar column, without markup."""

    @override
    def render(self, task: rich_progress.Task) -> RichText:
        return Text(self.text_format.format(task=task))


def lines(texts: Iterable[str], **kwargs: Any) -> RichText:
    """Return the texts with each on its own line."""
    return Text("", **kwargs).append(RichText("\n".join(map(printable, texts))))


class Console(rich_console.Console):
    """Rich's console without markup: everything is shown as plain text."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs, markup=False, emoji=False, highlight=False)

    @override
    def render_str(self, text: str, **kwargs: Any) -> RichText:
        """Render a str: a table cell, or something to print."""
        return super().render_str(printable(text), **{**kwargs, "markup": False})

    @override
    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render, escaping control characters in what others created; rich's own are kept."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield segment._replace(text=_visible_lines(segment.text))


def _visible_lines(text: str) -> str:
    """The text as printable, keeping its line breaks."""
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


def table_of(*headings: str, numbers: Collection[str] = ()) -> Table:
    """Return an empty table without rules: words at the left, `numbers` at the right and whole."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        if heading in numbers:
            made.add_column(heading, justify="right", no_wrap=True)
        else:
            made.add_column(heading, overflow="fold")
    return made
