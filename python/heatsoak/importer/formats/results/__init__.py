"""Results of benchmarks: a mean of each test, or a short series.

Here logs are made of tests; each module knows the dialect of one or several programs: what their
lines, columns and elements hold, and in which unit.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

import polars as pl
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from heatsoak import protocol
from heatsoak.importer import frames
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.recording import grid
from heatsoak.words import percent_text

MB = 1_000_000
MIB = 1 << 20
DIRECTIONS = ("read", "write")
_MAX_NAME = 120
#: Limits of a queue depth and of a number of threads.
_MAX_AT_ONCE = 1 << 20
#: Files of one run tell its times within this, and its bytes within this share; where their names
#: differ they may be of two drives, unless times are the same to the millisecond.
_SAME_S, _SAME_TO_THE_MS_S, _SAME_BYTES = 3.0, 0.002, 0.1
#: Of a log's details: when its results were saved, in seconds of its clock; others are soon after.
DATED, _SOON_S = "dated_s", 3600.0
#: What names of files of one run may end in.
_ENDS = re.compile(
    r"(?:[._-]?(?:live|csv|json|res|results?|txt|out|log|gz|xz|bz2))+$", re.IGNORECASE
)
#: What is asked for in a step, which one file of a run may not know.
_ASKED = tuple(protocol.Load.model_fields)

Row = dict[str, float]
Run = TypeVar("Run")
Lines = Mapping[str, re.Pattern[str]]


# --- words and lines ---


def short(text: str, most: int = _MAX_NAME) -> str:
    """Return `text` as one line that is not too long for a name."""
    return " ".join(text[: 4 * most].split())[:most].rstrip()


def lines_of(**patterns: str) -> Lines:
    """Return kinds of lines by their names, the first that fits counts; case is ignored."""
    return {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in patterns.items()}


def told(text: str, lines: Lines) -> tuple[str, dict[str, str]]:
    """Return the kind of line that `text` is, empty for none, and the named parts of it."""
    for kind, pattern in lines.items():
        if (match := pattern.match(text)) is not None:
            return kind, match.groupdict("")
    return "", {}


@dataclass
class Told:
    """What the lines of one run tell.

    Attributes:
        facts: the named parts of lines, the last of each name.
        rows: of each line that is a result its parts, the facts before it, and its number, `line`.
    """

    facts: dict[str, str]
    rows: list[dict[str, str]]


def told_runs(
    source: Source,
    lines: Lines,
    results: Sequence[str] = ("result",),
    plain: Callable[[str], str] = str,
    *,
    end: str = "",
    kept: Sequence[str] = (),
) -> Iterator[Told]:
    """Yield what lines tell, run by run.

    A line ``run`` begins one, and so does what follows the fact `end`, of which the facts `kept`
    are those of the run before. `results` are kinds of lines that are a result each.
    """
    run = Told({}, [])
    for number, text in source.kept_lines():
        text = plain(text)
        match = next(((k, m) for k, p in lines.items() if (m := p.match(text)) is not None), None)
        if match is None:
            continue
        kind, groups = match[0], match[1].groupdict()
        has_more = bool(run.rows or run.facts.keys() - {"tool", "version", *kept})
        if has_more and (kind == "run" or (end in run.facts and end not in groups)):
            yield run
            run = Told({} if kind == "run" else {n: run.facts.get(n, "") for n in kept}, [])
        if kind in results:
            own = {name: value or "" for name, value in groups.items()}
            run.rows.append({**run.facts, **own, "line": str(number)})
        else:
            run.facts |= {name: value for name, value in groups.items() if value is not None}
    yield run


# --- tests ---


#: The share of reads of what both reads and writes, where nothing tells it.
MIXED = math.nan


def observed_load(
    name: str,
    reads_pct: float | None = None,
    random_pct: float | None = None,
    *,
    bs: float | None = None,
    iodepth: float | None = None,
    numjobs: float | None = None,
    about: str = "",
) -> protocol.Observed:
    """Return a step of what a file tells of a load; what makes no sense counts as not known.

    Args:
        name: the step's name.
        reads_pct: how much of it was reading: 100, 0, or a mix, :data:`MIXED` if nothing more is
            known; None where even that is not.
        random_pct: how much of it had random offsets; None where that is not known.
        bs: bytes of an I/O.
        iodepth: I/Os in flight.
        numjobs: threads or processes.
        about: what else the file says of it.
    """
    if reads_pct is not None and not (math.isnan(reads_pct) or 0 <= reads_pct <= 100):
        reads_pct = None
    reads, writes = reads_pct != 0, reads_pct != 100
    mixed_pct = reads_pct if reads_pct is not None and reads and writes else MIXED
    is_known = reads_pct is not None and random_pct in (0, 100)
    if reads_pct is not None and random_pct is not None and not is_known:
        about = f"{percent_text(random_pct)} random, {percent_text(reads_pct)} reads"
    return protocol.Observed(
        name=name,
        reads=reads,
        writes=writes,
        rw=protocol.rw_of(reads=reads, writes=writes, is_random=random_pct == 100)
        if is_known
        else None,
        bs=_whole(bs, 1 << 34),
        iodepth=_whole(iodepth, _MAX_AT_ONCE),
        numjobs=_whole(numjobs, _MAX_AT_ONCE),
        rwmixread=None if math.isnan(mixed_pct) else round(mixed_pct),
        about=about,
    )


def _whole(value: float | None, most: int) -> int | None:
    """Return `value` as a count of 1 to `most`; None where it is none."""
    return int(value) if value is not None and 1 <= value <= most else None


@dataclass
class Test:
    """A test of a benchmark: what was asked for, and samples of what came of it.

    Attributes:
        load: what was asked for, as far as the file tells.
        rows: columns -> value of each sample; `t_s` counts from the start of the test.
        wait_s: how long nothing was measured before it.
    """

    load: protocol.Observed
    rows: list[Row]
    wait_s: float = 0.0

    @property
    def lasted_s(self) -> float:
        """How long it took."""
        return self.rows[-1]["t_s"]


def mean(seconds: float | None, values: Mapping[str, float | None]) -> list[Row]:
    """Return the single sample of a test; without `seconds` it counts as 1 s, to keep its order."""
    known = {name: value for name, value in values.items() if value is not None}
    return [{"t_s": seconds or 1.0, "interval_s": seconds or math.nan, **known}]


def log_of(
    source: Source,
    format_name: str,
    tests: Sequence[Test],
    remarks: Iterable[Remark],
    *,
    starts_s: Sequence[float] | None = None,
    **more: Any,
) -> Log:
    """Return the log of `tests`, which began at `starts_s`, or each when the one before it ended.

    `more` are fields of a log.
    """
    if starts_s is None:
        spans = [test.wait_s + test.lasted_s for test in tests]
        ends_s = accumulate(spans)
        starts_s = [end_s - test.lasted_s for end_s, test in zip(ends_s, tests, strict=True)]
    steps = distinct([test.load for test in tests])
    rows = [
        {**row, "t_s": start_s + row["t_s"], "step": step.name}
        for test, step, start_s in zip(tests, steps, starts_s, strict=True)
        for row in test.rows
    ]
    more |= {"steps": tuple(steps), "remarks": tuple(remarks)}
    return Log(format_name, source.name, frame(rows), **more)


def frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return samples of `rows`: column -> value, where what a row lacks is null."""
    names = dict.fromkeys(name for row in rows for name in row)
    return frames.build({name: [row.get(name) for row in rows] for name in names})


def distinct(steps: Sequence[protocol.Observed]) -> list[protocol.Observed]:
    """Return the steps under names that differ: by queue depth, by jobs, at last by a number."""
    names = [step.name for step in steps]
    for mark, of in ((" QD", "iodepth"), (" x", "numjobs")):
        values = [getattr(step, of) for step in steps]
        kinds = Counter(name for name, _ in set(zip(names, values, strict=True)))
        names = [
            f"{name}{mark}{value}" if value and kinds[name] > 1 else name
            for name, value in zip(names, values, strict=True)
        ]
    return [
        step.model_copy(update={"name": name})
        for step, name in zip(steps, numbered_names(names), strict=True)
    ]


def numbered_names(names: Sequence[str]) -> list[str]:
    """Return the names, with a number behind each that was taken before: ``a``, ``a 2``."""
    taken: Counter[str] = Counter()
    found = []
    for name in names:
        unique = name
        while unique in taken:
            taken[name] += 1
            unique = f"{name} {taken[name]}"
        taken[unique] = 1
        found.append(unique)
    return found


def numbered(logs: Sequence[Log]) -> list[Log]:
    """Return a file's logs labelled ``run 1, LABEL`` and so on; a single one without a label."""
    labels = [f"run {index}, {log.label}".removesuffix(", ") for index, log in enumerate(logs, 1)]
    return [
        replace(log, label=label if len(logs) > 1 else "")
        for log, label in zip(logs, labels, strict=True)
    ]


def reader_of(
    runs_of: Callable[[Source], Iterable[Run]],
    log_of: Callable[[Source, Run], Log | None],
    needed: str,
) -> Callable[[Source, Options], list[Log]]:
    """Return what reads a format as logs of a file's runs, numbered.

    `log_of` returns None for a run without results; `needed` says what was looked for where the
    file has none, in a UsageError.
    """

    def read(source: Source, _: Options) -> list[Log]:
        logs = [log for run in runs_of(source) if (log := log_of(source, run)) is not None]
        if not logs:
            raise source.error(f"holds {needed}")
        return numbered(logs)

    return read


def has_line(lines: Lines, *kinds: str, most: int = 500) -> Callable[[Source], bool]:
    """Return a test for files that have a line of one of these kinds among the first ones."""
    return lambda source: any(told(line, lines)[0] in kinds for line in source.head_lines[:most])


# --- the files of one run ---


def join_results(logs: Sequence[Log]) -> list[Log]:
    """Return `logs`, those of one run of a benchmark as one.

    What has a series leads, with what the others know of its load and its time.
    """
    found: list[Log] = []
    for log in logs:
        # a reading has no tests, and there may be thousands
        known = enumerate(found if log.steps else ())
        same = next((n for n, one in known if one.steps and _are_of_one_run(one, log)), None)
        if same is None:
            found.append(log)
        else:
            found[same] = _as_one(*sorted((found[same], log), key=lambda one: -one.samples.height))
    return _courses(found)


def _courses(logs: Sequence[Log]) -> list[Log]:
    """Return `logs`, with means of the same tests that are dated soon after each other as one."""
    found: list[Log] = []
    last_s = math.nan
    for log in sorted(logs, key=lambda one: one.details.get(DATED, 0.0)):
        last, at_s = (found[-1] if found else log), log.details.get(DATED, math.nan)
        own, names = [step.name for step in log.steps], [step.name for step in last.steps]
        is_again = 0 < at_s - last_s < _SOON_S and own == names[: len(own)]
        last_s = at_s
        if not is_again or log.drive != last.drive:
            found.append(log)
            continue
        steps = distinct([*last.steps, *log.steps])
        late_s = at_s - last.details[DATED]
        again = dict(zip(own, [step.name for step in steps[-len(own) :]], strict=True))
        more = log.samples.with_columns(pl.col("t_s") + late_s, pl.col("step").replace(again))
        samples = pl.concat([last.samples, more], how="diagonal")
        said = Remark("results of the same tests soon after each other are one course")
        found[-1] = replace(
            last, samples=samples, steps=tuple(steps), label="", remarks=(*last.remarks, said)
        )
    return found


def _are_of_one_run(one: Log, other: Log) -> bool:
    """Whether two files of the same benchmark tell of the same tests; one of them has means."""
    has_means = any(log.samples.height == len(log.steps) for log in (one, other))
    is_alike = one.format == other.format and len(one.steps) == len(other.steps)
    if one.logs_on or not has_means or not is_alike or one.source == other.source:
        return False
    if one.format.startswith("fio-"):  # see `join_fio`
        return False
    is_named_alike = _ENDS.sub("", one.source) == _ENDS.sub("", other.source)
    same_s = _SAME_S if is_named_alike else _SAME_TO_THE_MS_S
    if one.start_unix_s is None or other.start_unix_s is None:
        if not is_named_alike:
            return False
    elif abs(one.start_unix_s - other.start_unix_s) > same_s:
        return False
    shared = [name for name in ("bw_mb_s", "iops") if one.has_any(name) and other.has_any(name)]
    spans = [_spans(log, shared[0]) if shared else [] for log in (one, other)]
    if any(len(own) != len(one.steps) for own in spans):
        return False
    for (_, lasted_s, usual_s, amount), (_, its_s, its_usual_s, its_amount) in zip(
        *spans, strict=True
    ):
        usual_s = max(usual_s, its_usual_s)  # a series may lack its last interval
        share = max(_SAME_BYTES, usual_s / lasted_s)
        if abs(lasted_s - its_s) > same_s + usual_s * is_named_alike:
            return False
        if abs(amount - its_amount) > share * max(amount, its_amount):
            return False
    return True


def _spans(log: Log, quantity: str) -> list[tuple[float, float, float, float]]:
    """Return when each step began, how long it and its longest interval were, what was moved."""
    if not {"step", "interval_s"} <= set(log.samples.columns):
        return []
    found = []
    for own in log.samples.partition_by("step", maintain_order=True):
        begins_s, ends_s = grid.spans_s(own)
        interval_s = ends_s - begins_s
        usual_s = float(interval_s.max()) if len(own) > 1 else 0.0
        lasted_s = float(ends_s[-1] - begins_s[0])
        if lasted_s > 0:
            amount = float((frames.moved(own, quantity) * interval_s).sum())
            found.append((float(begins_s[0]), lasted_s, usual_s, amount))
    return found


def _as_one(leader: Log, other: Log) -> Log:
    """Return the leader with what another file of the same run knows besides."""
    steps = [
        own.model_copy(
            update={key: getattr(more, key) for key in _ASKED if getattr(own, key) is None}
        )
        for own, more in zip(leader.steps, other.steps, strict=True)
    ]
    said = Remark(f"{Path(other.source).name} tells of the same run: its means are not shown")
    found = replace(
        leader,
        steps=tuple(steps),
        drive={**other.drive, **leader.drive},
        tools={**other.tools, **leader.tools},
    )
    if leader.start_unix_s is not None or other.start_unix_s is None:
        return found.with_remarks(said)
    # each step is where the other file dates it
    begins = [[begin for begin, *_ in _spans(log, "interval_s")] for log in (leader, other)]
    late_s = {
        step.name: dated - own for step, own, dated in zip(leader.steps, *begins, strict=True)
    }
    late = pl.col("step").replace_strict(late_s, return_dtype=pl.Float64)
    return replace(
        found,
        samples=found.samples.with_columns(pl.col("t_s") + late),
        clock=other.clock,
        start_unix_s=other.start_unix_s,
        remarks=(*(one for one in leader.remarks if one.touches != ("time",)), said),
    )


# --- XML, whatever is wrong with it: what came before the damage stays ---------------------------

#: What an element takes in memory besides its text.
_ELEMENT_BYTES = 300
#: No result is nested deeper.
_MAX_DEPTH = 16


class XmlReader:
    """Builds a tree from pieces of a document.

    Attributes:
        roots: the outermost element with all that was read; none before it starts.
        open: elements whose ends have not come yet.
        problem: what is wrong with it, empty for nothing; nothing behind that is taken.
        line: where that is, if what came before may be taken.
    """

    def __init__(self, source: Source) -> None:
        """Start a document in `source`, whose budget of memory its elements count against."""
        self.roots: list[Element] = []
        self.open: list[Element] = []
        self.problem = ""
        self.line: int | None = None
        self._source = source
        self._builder = TreeBuilder()
        self.data = self._builder.data
        self._parser = DefusedXMLParser(target=self, forbid_dtd=False)

    def feed(self, data: str | bytes, *, ends: bool = False) -> None:
        """Take a piece, the last one if it `ends` the document.

        Raises UsageError where the file has too many elements.
        """
        if self.problem:
            return
        try:
            self._parser.feed(data)
            if ends:
                self._parser.close()
        except ParseError as error:
            self.problem = f"is not valid XML: {error.msg}"
            self.line = error.position[0] if getattr(error, "position", None) else None
        except DefusedXmlException:
            self.problem = "declares entities, which no result does"
        except (ValueError, LookupError):
            is_deep = len(self.open) > _MAX_DEPTH
            why = "is not valid XML: its encoding cannot be read"
            self.problem = "is nested deeper than any result" if is_deep else why

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Start an element; called by the parser, as `data` and `end`."""
        self._source.keep(_ELEMENT_BYTES)
        element = self._builder.start(tag, attributes)
        self.roots = self.roots or [element]
        self.open.append(element)
        if len(self.open) > _MAX_DEPTH:
            raise ValueError

    def end(self, tag: str) -> None:
        """End the innermost element."""
        self._builder.end(tag)
        self.open.pop()
