"""What the readers of benchmark results share.

In such a result a step has one sample, or a short series. A reader finds the values; here they
become numbers, steps (:func:`observed_load`, :func:`distinct`) and samples (:func:`frame` and the
functions below it).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import polars as pl

from heatsoak.importer.frames import build
from heatsoak.importer.log import Log
from heatsoak.importer.source import Source
from heatsoak.protocol import Observed

MB = 1_000_000
MIB = 1 << 20
DIRECTIONS = ("read", "write")
#: No rate, time or size of a drive is larger: a larger number comes from damage.
_MAX_NUMBER = 1e15
_MAX_NAME = 120
#: Limits of a queue depth and of a number of threads.
_MAX_AT_ONCE = 1 << 20

Row = Mapping[str, float | str | None]


class Unreadable:
    """Counts the lines that a reader had to leave out."""

    def __init__(self) -> None:
        self._count, self._first = 0, 0

    def add(self, line: int) -> None:
        """Count `line`."""
        self._count += 1
        self._first = self._first or line

    def remark_on(self, source: Source) -> None:
        """Note in `source` how many there were, if any."""
        if self._count == 1:
            source.remark(f"line {self._first} could not be read")
        elif self._count:
            source.remark(f"{self._count} lines could not be read, the first is line {self._first}")


# --- numbers and words ---


def number(text: str, *, decimal_comma: bool = False) -> float | None:
    """Return the number that `text` is; None for anything else, negative numbers included."""
    try:
        value = float(text.replace(",", ".") if decimal_comma else text)
    except ValueError:
        return None
    return value if 0 <= value <= _MAX_NUMBER else None


def decimal(text: str) -> float | None:
    """Return a number whose decimal mark may be a comma; None for anything else."""
    if "," in text:
        text = text.replace(".", "") if text.rfind(".") < text.rfind(",") else text.replace(",", "")
    return number(text, decimal_comma=True)


def size_of(text: str, prefix: str) -> float | None:
    """Return bytes of a number with one of the binary prefixes K, M and G, or none."""
    value = number(text)
    return None if value is None else value * 1024 ** " KMG".index(prefix.upper() or " ")


def whole(value: float | None, most: int = 1 << 34) -> int | None:
    """Return `value` as a count of 1 to `most`; None where it is none."""
    return int(value) if value is not None and 1 <= value <= most else None


def short(text: str, most: int = _MAX_NAME) -> str:
    """Return `text` as one line that is not too long for a name."""
    return " ".join(text[: 4 * most].split())[:most].rstrip()


# --- steps ---


def observed_load(
    name: str,
    direction: str | None,
    *,
    random: bool | None,
    block: float | None = None,
    depth: float | None = None,
    jobs: float | None = None,
    reads_pct: float | None = None,
    did: tuple[bool, bool] | None = None,
    about: str = "",
) -> Observed:
    """Return a step.

    Args:
        name: the step's name.
        direction: ``read``, ``write`` or ``rw``; None where it is not known.
        random: None where it is not known, or both.
        block: bytes of an I/O.
        depth: I/Os in flight.
        jobs: threads or processes.
        reads_pct: how much of a mix was reading; what was not mixed takes none.
        did: whether it read and whether it wrote, where that is told by `direction` alone.
        about: what else the file says of it.
    """
    if did is None:
        did = direction != "write", direction != "read"
    known = direction is not None and random is not None
    mixed = reads_pct is not None and 0 <= reads_pct <= 100 and direction == "rw"
    return Observed.model_validate(
        {
            "name": name,
            "reads": did[0],
            "writes": did[1],
            "rw": f"{'rand' * bool(random)}{direction}" if known else None,
            "bs": whole(block),
            "iodepth": whole(depth, _MAX_AT_ONCE),
            "numjobs": whole(jobs, _MAX_AT_ONCE),
            "rwmixread": round(reads_pct or 0.0) if mixed else None,
            "about": about,
        }
    )


def directions_of(rows: Iterable[Row]) -> tuple[bool, bool]:
    """Return whether rows of samples tell of reads, and of writes; both where of neither."""
    did = {
        column.partition("_")[0]
        for row in rows
        for column, value in row.items()
        if column.endswith(("_iops", "_bw_mb_s")) and isinstance(value, float) and value > 0
    }
    return "read" in did or "write" not in did, "write" in did or "read" not in did


def distinct(steps: Sequence[Observed]) -> list[Observed]:
    """Return the steps under names that differ: by queue depth, by jobs, at last by a number."""
    names = [step.name for step in steps]
    for mark, of in ((" QD", "iodepth"), (" x", "numjobs")):
        often = Counter(names)
        for index, step in enumerate(steps):
            if often[names[index]] > 1 and getattr(step, of):
                names[index] += f"{mark}{getattr(step, of)}"
    taken: set[str] = set()
    used: Counter[str] = Counter()
    for index, stem in enumerate(names):
        while names[index] in taken:
            used[stem] += 1
            names[index] = f"{stem} ({used[stem] + 1})"
        taken.add(names[index])
    return [step.model_copy(update={"name": n}) for step, n in zip(steps, names, strict=True)]


# --- samples and logs ---


def frame(rows: Sequence[Row]) -> pl.DataFrame:
    """Return samples of `rows`: column -> value, where what a row lacks is null."""
    names = dict.fromkeys(name for row in rows for name in row)
    return build({name: [row.get(name) for row in rows] for name in names})


def frame_of_steps(steps: Sequence[Observed], rows: Sequence[Sequence[Row]]) -> pl.DataFrame:
    """Return samples of the `rows` of each step, which have their times."""
    return frame(
        [{**row, "step": step.name} for step, own in zip(steps, rows, strict=True) for row in own]
    )


def one_sample_each(
    steps: Sequence[Observed], values: Sequence[Row], seconds: float | None
) -> pl.DataFrame:
    """Return a sample for each step, as if none waited for anything.

    Where it is not known how many `seconds` each took they count as 1 s apart, so that their order
    is kept.
    """
    rows: list[list[Row]] = [
        [{"t_s": index * (seconds or 1.0), "interval_s": seconds, **row}]
        for index, row in enumerate(values, 1)
    ]
    return frame_of_steps(steps, rows)


def numbered(logs: Sequence[Log], marks: Sequence[str] = ()) -> list[Log]:
    """Return a file's logs labelled ``run 1, MARK`` and so on; a single one as it is."""
    if len(logs) == 1:
        return list(logs)
    marks = marks or [""] * len(logs)
    return [
        replace(log, label=f"run {index}{', ' * bool(mark)}{mark}")
        for index, (log, mark) in enumerate(zip(logs, marks, strict=True), 1)
    ]
