"""What readers of benchmarks' results share: a step has one sample, or a short series."""

from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl

from heatsoak.importer.frames import build
from heatsoak.importer.source import Source
from heatsoak.protocol import Observed

MB = 1_000_000
MIB = 1 << 20
#: No rate, time or size of a drive is larger: what is comes of damage.
_LARGEST = 1e15
_LONGEST_NAME = 120

Row = Mapping[str, float | str | None]


class Unreadable:
    """Counts the lines that a reader had to leave out."""

    def __init__(self) -> None:
        self.count, self.first = 0, 0

    def add(self, line: int) -> None:
        """Count `line`."""
        self.count += 1
        self.first = self.first or line

    def tell(self, source: Source) -> None:
        """Note in `source` how many there were, if any."""
        if self.count == 1:
            source.remark(f"line {self.first} could not be read")
        elif self.count:
            source.remark(f"{self.count} lines could not be read, the first is line {self.first}")


def number(text: str, *, decimal_comma: bool = False) -> float | None:
    """Return the number that `text` is; None for anything else, negative numbers included."""
    word = text.replace(",", ".") if decimal_comma else text
    try:
        value = float(word)
    except ValueError:
        return None
    return value if 0 <= value <= _LARGEST else None


def whole(value: float | None, most: int = 1 << 34) -> int | None:
    """Return `value` as a count of 1 to `most`; None where it is none."""
    return int(value) if value is not None and 1 <= value <= most else None


def frame(rows: Sequence[Row]) -> pl.DataFrame:
    """Return samples of `rows`: column -> value, where what a row lacks is null."""
    names = dict.fromkeys(name for row in rows for name in row)
    return build({name: [row.get(name) for row in rows] for name in names})


def one_sample_each(
    steps: Sequence[Observed], values: Sequence[Row], seconds: float | None
) -> pl.DataFrame:
    """Return a sample for each step, as if none waited for anything.

    Where it is not known how many `seconds` each took they count as 1 s apart, so that their order
    is kept.
    """
    return frame(
        [
            {"t_s": number * (seconds or 1.0), "step": step.name, "interval_s": seconds, **row}
            for number, (step, row) in enumerate(zip(steps, values, strict=True), 1)
        ]
    )


def short(text: str, most: int = _LONGEST_NAME) -> str:
    """Return `text` as one line that is not too long for a name."""
    return " ".join(text[: 4 * most].split())[:most].rstrip()


def distinct(steps: Sequence[Observed]) -> list[Observed]:
    """Return the steps under names that differ: by queue depth, by jobs, at last by a number."""
    named = list(steps)
    for detail in (_depth, _jobs):
        often = Counter(step.name for step in named)
        named = [
            _renamed(step, step.name + detail(step)) if often[step.name] > 1 else step
            for step in named
        ]
    taken: set[str] = set()
    used: Counter[str] = Counter()
    for index, step in enumerate(named):
        name = step.name
        while name in taken:
            used[step.name] += 1
            name = f"{step.name} ({used[step.name] + 1})"
        taken.add(name)
        if name != step.name:
            named[index] = _renamed(step, name)
    return named


def _depth(step: Observed) -> str:
    return f" QD{step.iodepth}" if step.iodepth else ""


def _jobs(step: Observed) -> str:
    return f" x{step.numjobs}" if step.numjobs else ""


def _renamed(step: Observed, name: str) -> Observed:
    return step.model_copy(update={"name": name})


def decimal(text: str) -> float | None:
    """Return a number whose decimal mark may be a comma; None for anything else."""
    if "," in text:
        text = text.replace(".", "") if text.rfind(".") < text.rfind(",") else text.replace(",", "")
    return number(text, decimal_comma=True)
