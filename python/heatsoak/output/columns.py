"""Columns of rich's progress bars."""

from rich import progress as rich_progress
from rich.progress import Task
from rich.text import Text as RichText
from typing_extensions import override

from heatsoak.output.consoles import Text


class TextColumn(rich_progress.TextColumn):
    """Rich's progress bar column, without markup."""

    @override
    def render(self, task: Task) -> RichText:
        return Text(self.text_format.format(task=task))
