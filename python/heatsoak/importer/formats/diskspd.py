"""DiskSpd's results, as text (Windows and Linux) and as XML.

Text has one mean for each time span. XML that was written with ``-D`` also has I/Os a second for
each interval (`Bucket`), which is a series.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element

from heatsoak.importer.format import Format
from heatsoak.importer.formats.results import (
    DIRECTIONS,
    MB,
    Unreadable,
    directions_of,
    distinct,
    frame_of_steps,
    number,
    numbered,
    observed_load,
    short,
    size_of,
)
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.importer.timestamps import read_times
from heatsoak.importer.xml_reader import XmlError, XmlReader
from heatsoak.protocol import Observed

_HEAD_LINES = 500
#: The last interval is left out where the test ended within it.
_ROUNDING_S = 0.02


@dataclass
class _Target:
    """What was asked of one file or disk."""

    path: str = ""
    block: float | None = None
    random_pct: float | None = None
    writes_pct: float | None = None
    requests: float | None = None
    threads: float | None = None


@dataclass
class _Span:
    """A time span: what was asked for, and what came of it.

    Attributes:
        bytes: of reads and writes; `ios` likewise.
        values: columns of a recording, means over the span.
        series: for each interval, its end `t_ms` and values by direction.
    """

    targets: list[_Target] = field(default_factory=list)
    warmup_s: float = 0.0
    threads: float | None = None
    requests: float | None = None
    duration_s: float | None = None
    bytes: dict[str, float] = field(default_factory=dict)
    ios: dict[str, float] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    series: list[dict[str, float]] = field(default_factory=list)


@dataclass
class _Run:
    """What one start of DiskSpd wrote; `results` counts the spans whose results have begun."""

    begin: str = ""
    version: str = ""
    spans: list[_Span] = field(default_factory=list)
    results: int = 0

    def result(self) -> _Span:
        """Return the span whose results are being read."""
        while len(self.spans) < max(1, self.results):
            self.spans.append(_Span())
        return self.spans[max(0, self.results - 1)]


def _recognises(source: Source) -> bool:
    lines = [line.strip() for line in source.head_lines[:_HEAD_LINES]]
    # people post its results alone
    if _starts_xml(lines) or any(line.startswith("Results for timespan ") for line in lines):
        return True
    return any(line.startswith("Input parameters:") for line in lines) and any(
        line.startswith(("timespan:", "job:", "Command Line:")) for line in lines
    )


def _starts_xml(lines: list[str]) -> bool:
    for index, line in enumerate(lines):
        if "<Results>" in line and line.startswith("<"):
            text = " ".join(lines[index : index + 60])
            return any(f"<{tag}>" in text for tag in ("System", "Profile", "TimeSpan"))
    return False


def _read(source: Source, _: Options) -> list[Log]:
    lines = [line.strip() for line in source.head_lines[:_HEAD_LINES]]
    runs = map(_run_of_xml, _trees(source)) if _starts_xml(lines) else _TextReader(source).runs()
    logs = [log for run in runs if (log := _log(source, run)) is not None]
    if not logs:
        raise source.error(
            "holds no results: DiskSpd was stopped before it had any, or it is truncated"
        )
    return numbered(logs)


# --- text ---

_COMMAND = re.compile(r"\s{0,20}Command Line\s?:", re.IGNORECASE)
_RESULTS_FOR = re.compile(r"\s{0,20}Results for (?:timespan|job) ([0-9]{1,6})", re.IGNORECASE)
_SPAN = re.compile(r"\s{0,20}(?:timespan|job)\s?:\s{0,9}[0-9]", re.IGNORECASE)
_SECTION = re.compile(r"\s{0,20}(Total|Read|Write) IO\s{0,9}$", re.IGNORECASE)
#: What is asked of a target: the line, the field, and its value, unless the line has it.
_PARAMETERS: tuple[tuple[re.Pattern[str], str, float | None], ...] = tuple(
    (re.compile(line), name, value)
    for line, name, value in (
        (r".{0,200}?read/write ratio: [0-9]{1,3}/([0-9]{1,3})", "writes_pct", None),
        (r"performing read test$", "writes_pct", 0.0),
        (r"performing write test$", "writes_pct", 100.0),
        (r"block size: ([0-9][0-9.]{0,15})\s?([KMGkmg]?)(?:i?[Bb])?$", "block", None),
        (r"using random I/O", "random_pct", 100.0),
        (r"using mixed random/sequential(?:.*\(([0-9]{1,3})% random\))?", "random_pct", None),
        (r"using.* sequential I/O", "random_pct", 0.0),
        (r"number of outstanding I/O operations.*?: ([^ )]{1,20})\)*$", "requests", None),
        (r"threads per file: ([^ ]{1,20})$", "threads", None),
    )
)
_ORDINALS = {"50th": "p50", "99th": "p99", "3-nines": "p999", "max": "max"}


class _TextReader:
    """Walks through the lines of a text result."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._run = _Run()
        self._section = ""
        self._columns: list[str] = []

    def runs(self) -> list[_Run]:
        """Return the runs in the file."""
        runs = [self._run]
        unreadable = Unreadable()
        for line, text in self._source.kept_lines():
            if _COMMAND.match(text):
                if self._run.spans:
                    self._run = _Run()
                    runs.append(self._run)
                self._section = ""
            elif text and not text.isspace() and not self._take(text):
                unreadable.add(line)
        unreadable.remark_on(self._source)
        return runs

    def _take(self, text: str) -> bool:
        """Take a line; False where one of results cannot be read."""
        if _RESULTS_FOR.match(text):
            self._run.results += 1
            self._section = "results"
        elif self._section:
            return self._take_result(text)
        elif _SPAN.match(text):
            self._run.spans.append(_Span())
        else:
            self._take_parameter(" ".join(text.split()[:20]))
        return True

    def _take_parameter(self, text: str) -> None:
        name, _, value = text.partition(": ")
        if name == "start time":
            self._run.begin = self._run.begin or short(value)
        if not self._run.spans:
            return
        span = self._run.spans[-1]
        if name == "warm up time":
            span.warmup_s = number(value.rstrip("s")) or 0.0
        elif name == "total threads":
            span.threads = number(value)
        elif name.startswith("path"):
            span.targets.append(_Target(path=short(value.strip("'"))))
        elif span.targets:
            for line, what, fixed in _PARAMETERS:
                if (found := line.match(text)) is not None:
                    amount, prefix = (*found.groups(""), "", "")[:2]
                    setattr(
                        span.targets[-1], what, size_of(amount, prefix) if fixed is None else fixed
                    )
                    break

    def _take_result(self, text: str) -> bool:
        words, start = text.split(), text.lstrip()
        span = self._run.result()
        section = _SECTION.match(text)
        if section is not None:
            self._section = section.group(1).lower()
        elif start.startswith(("actual test time:", "test time:")):
            span.duration_s = number(words[-1].rstrip("s")) or None
            return span.duration_s is not None
        elif start.startswith("thread count:"):
            span.threads = number(words[-1])
        elif words[0] == "thread" and "|" in text:
            self._columns = [cell.strip().lower() for cell in text.split("|")]
        elif words[0] == "total:":
            return self._take_total(span, text)
        elif words[0] == "avg:" or start.startswith("avg."):
            usage = number(text.partition("avg")[2].lstrip(".|: \t").split("%")[0])
            if usage is not None and usage <= 100:
                span.values["cpu_pct"] = usage
        elif words[0] in _ORDINALS and text.count("|") == 3:
            for direction, cell in zip(DIRECTIONS, text.split("|")[1:3], strict=True):
                value_ms = number(cell)
                if value_ms is not None:
                    span.values[f"{direction}_lat_{_ORDINALS[words[0]]}_us"] = 1000 * value_ms
        return True

    def _take_total(self, span: _Span, text: str) -> bool:
        direction = self._section
        if direction not in DIRECTIONS or "|" not in text:
            return True
        values = [number(cell.strip()) for cell in text.partition("total:")[2].split("|")]
        if len(values) < 2 or values[0] is None or values[1] is None:
            return False
        span.bytes[direction], span.ios[direction] = values[0], values[1]
        for name, value in zip(self._columns[1:], values, strict=False):
            if name.startswith("avglat") and value:
                span.values[f"{direction}_lat_us"] = 1000 * value
        return True


# --- XML ---

_PERCENTILES = {50.0: "p50", 99.0: "p99", 99.9: "p999", 100.0: "max"}
#: What is asked of a target: the element, the field, and its value, unless the element has it.
#: `Random` and `StrideSize` say less than a ratio does.
_ELEMENTS: tuple[tuple[str, str, float | None], ...] = (
    ("BlockSize", "block", None),
    ("StrideSize", "random_pct", 0.0),
    ("Random", "random_pct", 100.0),
    ("RandomRatio", "random_pct", None),
    ("WriteRatio", "writes_pct", None),
    ("RequestCount", "requests", None),
    ("ThreadsPerFile", "threads", None),
)
_INTERVAL = {
    "t_ms": "SampleMillisecond",
    "read_iops": "Read",
    "write_iops": "Write",
    "read_lat_ms": "ReadAvgLatencyMilliseconds",
    "write_lat_ms": "WriteAvgLatencyMilliseconds",
    "read_lat_max_ms": "ReadMaxLatencyMilliseconds",
    "write_lat_max_ms": "WriteMaxLatencyMilliseconds",
}


def _trees(source: Source) -> Iterator[Element]:
    """Yield the results in the file, as far as each can be read."""
    reader: XmlReader | None = None
    started_at = 0
    for line, text in source.kept_lines():
        if "<Results>" in text and text.lstrip().startswith("<"):
            if reader is not None:
                source.remark(f"line {started_at}: results are cut off where others begin")
                yield from _root(reader)
            reader, started_at = XmlReader(source), line
            text = text[text.index("<Results>") :]
        if reader is None:
            continue
        body, end, _ = text.partition("</Results>")
        try:
            reader.feed(f"{body}{end}\n", ends=bool(end))
        except XmlError as error:
            source.remark(f"line {line} is not valid XML: what follows was left out ({error})")
            end = "cut"
        if end:
            yield from _root(reader)
            reader = None
    if reader is not None:
        source.remark("it ends within the results")
        yield from _root(reader)


def _root(reader: XmlReader) -> Iterator[Element]:
    if reader.root is not None:
        yield reader.root


def _text(element: Element, path: str) -> str:
    return short(element.findtext(path) or "")


def _number(element: Element, path: str) -> float | None:
    return number(_text(element, path))


def _run_of_xml(root: Element) -> _Run:
    run = _Run(begin=_text(root, "System/RunTime"), version=_text(root, "System/Tool/Version"))
    for element in root.iterfind("Profile/TimeSpans/TimeSpan"):
        span = _Span(
            [_target_of_xml(target) for target in element.iterfind("Targets/Target")],
            _number(element, "Warmup") or 0.0,
            _number(element, "ThreadCount"),
            _number(element, "RequestCount"),
        )
        run.spans.append(span)
    for element in root.iterfind("TimeSpan"):
        run.results += 1
        _take_xml_result(run.result(), element)
    return run


def _target_of_xml(element: Element) -> _Target:
    target = _Target(path=_text(element, "Path"))
    for tag, name, fixed in _ELEMENTS:
        if element.find(tag) is not None:
            setattr(target, name, _number(element, tag) if fixed is None else fixed)
    return target


def _take_xml_result(span: _Span, element: Element) -> None:
    span.duration_s = _number(element, "TestTimeSeconds") or None
    span.threads = _number(element, "ThreadCount") or span.threads
    usage = _number(element, "CpuUtilization/Average/UsagePercent")
    if usage is not None and usage <= 100:
        span.values["cpu_pct"] = usage
    for direction in DIRECTIONS:
        tag = direction.title()
        for target in element.iterfind("Thread/Target"):
            for totals, what in ((span.bytes, "Bytes"), (span.ios, "Count")):
                value = _number(target, f"{tag}{what}")
                if value is not None:
                    totals[direction] = totals.get(direction, 0.0) + value
        mean_ms = _number(element, f"Latency/Average{tag}Milliseconds")
        if mean_ms is not None:
            span.values[f"{direction}_lat_us"] = 1000 * mean_ms
        for bucket in element.iterfind("Latency/Bucket"):
            name = _PERCENTILES.get(_number(bucket, "Percentile") or 0.0)
            value_ms = _number(bucket, f"{tag}Milliseconds")
            if name is not None and value_ms is not None:
                span.values[f"{direction}_lat_{name}_us"] = 1000 * value_ms
    for bucket in element.iterfind("Iops/Bucket"):
        found = {key: number(bucket.get(name, "")) for key, name in _INTERVAL.items()}
        known = {key: value for key, value in found.items() if value is not None}
        if {"t_ms", "read_iops", "write_iops"} <= known.keys():
            span.series.append(known)


# --- logs ---


def _log(source: Source, run: _Run) -> Log | None:
    """Return what a run came to; None where it has no result."""
    steps: list[Observed] = []
    rows: list[list[dict[str, float]]] = []
    end_s = 0.0
    for span in run.spans:
        samples = _samples(span)
        if samples:
            start_s = end_s + (span.warmup_s if steps else 0.0)
            rows.append([{**row, "t_s": start_s + row["t_s"]} for row in samples])
            end_s = rows[-1][-1]["t_s"]
            steps.append(_step(span, samples))
    if not steps:
        return None
    steps = distinct(steps)
    remarks = []
    if all(len(own) == 1 for own in rows):
        remarks.append(Remark("each time span is one sample: the mean over it"))
    times = read_times([run.begin])
    start_unix_s = times.start_unix_s
    if start_unix_s is not None:
        start_unix_s += run.spans[0].warmup_s
        text = "its load is assumed to start at the start time, but files may have been made first"
        remarks.append(Remark(text, True, ("time",)))
    paths = sorted({target.path for span in run.spans for target in span.targets} - {""})
    if len(paths) > 1:
        remarks.append(Remark(f"rates are of {len(paths)} targets together"))
    return Log(
        format="diskspd",
        source=source.name,
        samples=frame_of_steps(steps, rows),
        clock=times.clock if start_unix_s is not None else "none",
        start_unix_s=start_unix_s,
        steps=tuple(steps),
        drive={"path": paths[0]} if len(paths) == 1 else {},
        tools={"diskspd": run.version} if run.version else {},
        remarks=tuple(remarks),
    )


def _samples(span: _Span) -> list[dict[str, float]]:
    """Return a span's series, or its mean; none where it has no rate."""
    bytes_of_io = {
        way: span.bytes[way] / span.ios[way] for way in span.bytes if span.ios.get(way, 0.0) > 0
    }
    samples: list[dict[str, float]] = []
    last_s = 0.0
    for interval in span.series:
        t_s = interval["t_ms"] / 1000
        over = span.duration_s is not None and t_s > span.duration_s + _ROUNDING_S
        if t_s <= last_s or (over and samples):
            continue
        row = {"t_s": t_s, "interval_s": t_s - last_s}
        last_s = t_s
        for way in DIRECTIONS:
            iops = row[f"{way}_iops"] = interval[f"{way}_iops"]
            if iops == 0:
                row[f"{way}_bw_mb_s"] = 0.0
            elif way in bytes_of_io:
                row[f"{way}_bw_mb_s"] = iops * bytes_of_io[way] / MB
            for name in ("lat", "lat_max"):
                if interval.get(f"{way}_{name}_ms"):
                    row[f"{way}_{name}_us"] = 1000 * interval[f"{way}_{name}_ms"]
        samples.append(row)
    if samples:
        return samples
    seconds = span.duration_s
    if seconds is None or not span.bytes:
        return []
    row = {"t_s": seconds, "interval_s": seconds, **span.values}
    for way in span.bytes:
        row[f"{way}_bw_mb_s"] = span.bytes[way] / seconds / MB
        row[f"{way}_iops"] = span.ios.get(way, 0.0) / seconds
    return [row]


def _step(span: _Span, samples: list[dict[str, float]]) -> Observed:
    """Return what is known of a span's load."""
    random_pct = _common(span, lambda target: target.random_pct)
    writes_pct = _common(span, lambda target: target.writes_pct)
    direction, is_random, about, words = None, None, "", list[str]()
    if random_pct is not None and writes_pct is not None and writes_pct <= 100:
        direction = {0.0: "read", 100.0: "write"}.get(writes_pct, "rw")
        is_random = {0.0: False, 100.0: True}.get(random_pct)
        about = f"{random_pct:.0f} % random" if is_random is None else ""
        words = [{False: "sequential", True: "random", None: "mixed"}[is_random], direction]
    threads = span.threads or sum(target.threads or 0.0 for target in span.targets) or None
    known: dict[str, Any] = {
        "random": is_random,
        "block": _common(span, lambda target: target.block),
        "depth": _common(span, lambda target: target.requests) or span.requests,
        "jobs": threads,
        "reads_pct": None if writes_pct is None else 100 - writes_pct,
    }
    return observed_load(
        " ".join(words) or "test", direction, did=directions_of(samples), about=about, **known
    )


def _common(span: _Span, of: Callable[[_Target], float | None]) -> float | None:
    """Return what all targets of the span have, None where they differ."""
    values = {of(target) for target in span.targets}
    return values.pop() if len(values) == 1 else None


FORMAT = Format("diskspd", "DiskSpd", _recognises, _read, priority=110)
