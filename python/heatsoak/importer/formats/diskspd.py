"""DiskSpd's results, as text (Windows and Linux) and as XML.

Text has one mean for each time span. XML that was written with ``-D`` also has I/Os a second for
each interval (`Bucket`), which is a series.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from heatsoak.importer.formats.base import Format
from heatsoak.importer.formats.results import MB, Unreadable, distinct, frame, number, short, whole
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.importer.timestamps import read_times
from heatsoak.protocol import Observed

_HEAD_LINES = 500
_PERCENTILES = {50.0: "p50", 99.0: "p99", 99.9: "p999", 100.0: "max"}
#: The last interval is left out where the test ended within it.
_ROUNDING_S = 0.02
#: Elements of results are not nested as deep.
_DEEPEST = 10


@dataclass
class _Target:
    """What is asked of one file or disk."""

    path: str = ""
    block: float | None = None
    random_pct: float | None = None
    writes_pct: float | None = None
    requests: float | None = None
    threads: float | None = None


@dataclass
class _Span:
    """A time span: what was asked for, and what came of it."""

    targets: list[_Target] = field(default_factory=list)
    warmup_s: float = 0.0
    threads: float | None = None
    requests: float | None = None
    duration_s: float | None = None
    #: Of reads and writes: bytes and I/Os.
    bytes: dict[str, float] = field(default_factory=dict)
    ios: dict[str, float] = field(default_factory=dict)
    #: Columns of a recording.
    values: dict[str, float] = field(default_factory=dict)
    series: list[dict[str, float]] = field(default_factory=list)


@dataclass
class _Run:
    """What one start of DiskSpd wrote."""

    begin: str = ""
    version: str = ""
    spans: list[_Span] = field(default_factory=list)
    results: int = 0

    def result(self) -> _Span:
        """Return the span whose results are being read."""
        while len(self.spans) < max(1, self.results):
            self.spans.append(_Span())
        return self.spans[max(0, self.results - 1)]

    def asked(self) -> _Span:
        """Return the span whose parameters are being read."""
        if not self.spans:
            self.spans.append(_Span())
        return self.spans[-1]


def _recognises(source: Source) -> bool:
    lines = [line.strip() for line in source.head_lines[:_HEAD_LINES]]
    # people post its results alone
    if _begins_xml(lines) or any(line.startswith("Results for timespan ") for line in lines):
        return True
    return any(line.startswith("Input parameters:") for line in lines) and any(
        line.startswith(("timespan:", "job:", "Command Line:")) for line in lines
    )


def _begins_xml(lines: list[str]) -> bool:
    for index, line in enumerate(lines):
        if "<Results>" in line and line.startswith("<"):
            text = " ".join(lines[index : index + 60])
            return any(f"<{tag}>" in text for tag in ("System", "Profile", "TimeSpan"))
    return False


def _read(source: Source, _: Options) -> list[Log]:
    lines = [line.strip() for line in source.head_lines[:_HEAD_LINES]]
    found = _of_xml(source) if _begins_xml(lines) else _of_text(source)
    logs = [log for run in found if (log := _log(source, run)) is not None]
    if not logs:
        raise source.error("holds no results: DiskSpd was stopped before it had any, or is cut")
    if len(logs) == 1:
        return logs
    return [replace(log, label=f"run {index}") for index, log in enumerate(logs, 1)]


_COMMAND = re.compile(r"\s{0,20}Command Line\s?:", re.IGNORECASE)
_RESULTS_FOR = re.compile(r"\s{0,20}Results for (?:timespan|job) ([0-9]{1,6})", re.IGNORECASE)
_SPAN = re.compile(r"\s{0,20}(?:timespan|job)\s?:\s{0,9}[0-9]", re.IGNORECASE)
_BLOCK = re.compile(r"([0-9][0-9.]{0,15})\s?([KMG]?)(?:iB|B)?$", re.IGNORECASE)
_RATIO = re.compile(r"read/write ratio: ([0-9]{1,3})/([0-9]{1,3})")
_MIXED_RANDOM = re.compile(r"\(([0-9]{1,3})% random\)")
_SECTION = re.compile(r"\s{0,20}(Total|Read|Write) IO\s{0,9}$", re.IGNORECASE)
_ORDINALS = {"50th": "p50", "99th": "p99", "3-nines": "p999", "max": "max"}


def _of_text(source: Source) -> list[_Run]:
    return _Text(source).runs()


class _Text:
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
        unreadable.tell(self._source)
        return runs

    def _take(self, text: str) -> bool:
        """Take a line; False where one of results cannot be read."""
        match = _RESULTS_FOR.match(text)
        if match is not None:
            self._run.results += 1
            self._section = "results"
            return True
        if self._section:
            return self._take_result(text)
        if _SPAN.match(text):
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
            _parameter(span.targets[-1], text, name, value)

    def _take_result(self, text: str) -> bool:
        words = text.split()
        span = self._run.result()
        section = _SECTION.match(text)
        if section is not None:
            self._section = section.group(1).lower()
        elif text.lstrip().startswith(("actual test time:", "test time:")):
            span.duration_s = number(words[-1].rstrip("s")) or None
            return span.duration_s is not None
        elif text.lstrip().startswith("thread count:"):
            span.threads = number(words[-1])
        elif words[0] == "thread" and "|" in text:
            self._columns = [cell.strip().lower() for cell in text.split("|")]
        elif words[0] == "total:":
            return self._take_total(text)
        elif words[0] in ("avg.|", "avg:", "avg.") or text.lstrip().startswith("avg.|"):
            usage = number(text.partition("avg")[2].lstrip(".|: \t").split("%")[0])
            if usage is not None and usage <= 100:
                span.values["cpu_pct"] = usage
        elif words[0] in _ORDINALS and text.count("|") == 3:
            cells = text.split("|")
            for way, cell in (("read", cells[1]), ("write", cells[2])):
                value_ms = number(cell)
                if value_ms is not None:
                    span.values[f"{way}_lat_{_ORDINALS[words[0]]}_us"] = 1000 * value_ms
        return True

    def _take_total(self, text: str) -> bool:
        if self._section not in ("read", "write") or "|" not in text:
            return True
        span = self._run.result()
        cells = [cell.strip() for cell in text.partition("total:")[2].split("|")]
        values = [number(cell) for cell in cells]
        if len(values) < 2 or values[0] is None or values[1] is None:
            return False
        span.bytes[self._section], span.ios[self._section] = values[0], values[1]
        for name, value in zip(self._columns[1:], values, strict=False):
            if name.startswith("avglat") and value:
                span.values[f"{self._section}_lat_us"] = 1000 * value
        return True


def _parameter(target: _Target, text: str, name: str, value: str) -> None:
    """Take a line that says what is asked of a target."""
    ratio = _RATIO.search(text)
    if ratio is not None:
        target.writes_pct = number(ratio.group(2))
    elif text == "performing read test":
        target.writes_pct = 0.0
    elif text == "performing write test":
        target.writes_pct = 100.0
    elif name == "block size":
        block = _BLOCK.match(value)
        if block is not None:
            size = number(block.group(1))
            scale = 1024 ** " KMG".index(block.group(2).upper() or " ")
            target.block = None if size is None else size * scale
    elif text.startswith("using random I/O"):
        target.random_pct = 100.0
    elif text.startswith("using mixed random/sequential"):
        share = _MIXED_RANDOM.search(text)
        target.random_pct = number(share.group(1)) if share else None
    elif text.startswith("using") and "sequential I/O" in text:
        target.random_pct = 0.0
    elif name.startswith("number of outstanding I/O operations"):
        target.requests = number(value.rstrip(")"))
    elif name == "threads per file":
        target.threads = number(value)


def _of_xml(source: Source) -> list[_Run]:
    # only here: most files are no XML
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import DefusedXMLParser, ParseError

    runs: list[_Run] = []
    parser = None
    begun_at = 0
    for line, text in source.kept_lines():
        if "<Results>" in text and text.lstrip().startswith("<"):
            if parser is not None:
                source.remark(f"line {begun_at}: results are cut where others begin")
            runs.append(_Run())
            parser, begun_at = DefusedXMLParser(target=_Elements(runs[-1]), forbid_dtd=True), line
            text = text[text.index("<Results>") :]
        if parser is None:
            continue
        body, end, _ = text.partition("</Results>")
        try:
            parser.feed(f"{body}{end}\n")
            if end:
                parser.close()
        except (ParseError, DefusedXmlException, ValueError) as error:
            source.remark(f"line {line} is not valid XML: what follows was left out ({error})")
            parser = None
        if end:
            parser = None
    if parser is not None:
        source.remark("it ends within the results")
    return runs


class _Elements:
    """Takes the elements of an XML result as the parser meets them."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._path: list[str] = []
        self._text: list[str] = []
        self._percentile: float | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        self._path.append(tag)
        self._text = []
        path = self._path[1:_DEEPEST]
        if path == ["Profile", "TimeSpans", "TimeSpan"]:
            self._run.spans.append(_Span())
        elif path == ["TimeSpan"]:
            self._run.results += 1
        elif path == ["Profile", "TimeSpans", "TimeSpan", "Targets", "Target"]:
            self._run.asked().targets.append(_Target())
        elif path == ["TimeSpan", "Iops", "Bucket"]:
            self._take_interval(attributes)

    def data(self, text: str) -> None:
        """Take text of the innermost element."""
        if len(self._text) < 100:
            self._text.append(text)

    def end(self, _: str) -> None:
        """End an element."""
        path = self._path[1:_DEEPEST]
        if path and len(self._path) < _DEEPEST:
            self._take(path, short("".join(self._text)))
        self._path.pop()
        self._text = []

    def close(self) -> None:
        """End the document."""

    def _take(self, path: list[str], text: str) -> None:
        tag = path[-1]
        if path[0] == "System":
            if tag == "RunTime":
                self._run.begin = text
            elif path[1:] == ["Tool", "Version"]:
                self._run.version = text
        elif path[:3] == ["Profile", "TimeSpans", "TimeSpan"]:
            self._take_parameter(path[3:], text)
        elif path[0] == "TimeSpan" and len(path) > 1:
            self._take_result(path[1:], text)

    def _take_parameter(self, path: list[str], text: str) -> None:
        span = self._run.asked()
        if len(path) == 1:
            if path[0] == "Warmup":
                span.warmup_s = number(text) or 0.0
            elif path[0] == "ThreadCount":
                span.threads = number(text)
            elif path[0] == "RequestCount":
                span.requests = number(text)
        elif path[:2] == ["Targets", "Target"] and len(path) == 3 and span.targets:
            _target_element(span.targets[-1], path[2], text)

    def _take_result(self, path: list[str], text: str) -> None:
        span, tag, value = self._run.result(), path[-1], number(text)
        if value is None:
            return
        if path == ["TestTimeSeconds"]:
            span.duration_s = value or None
        elif path == ["ThreadCount"]:
            span.threads = value
        elif path == ["CpuUtilization", "Average", "UsagePercent"]:
            if value <= 100:
                span.values["cpu_pct"] = value
        elif path[:2] == ["Thread", "Target"] and len(path) == 3:
            for way in ("Read", "Write"):
                if tag == f"{way}Bytes":
                    span.bytes[way.lower()] = span.bytes.get(way.lower(), 0.0) + value
                elif tag == f"{way}Count":
                    span.ios[way.lower()] = span.ios.get(way.lower(), 0.0) + value
        elif path[0] == "Latency":
            self._take_latency(path[1:], value)

    def _take_latency(self, path: list[str], value: float) -> None:
        span = self._run.result()
        for way in ("Read", "Write"):
            if path == [f"Average{way}Milliseconds"]:
                span.values[f"{way.lower()}_lat_us"] = 1000 * value
            elif path == ["Bucket", f"{way}Milliseconds"] and self._percentile in _PERCENTILES:
                name = _PERCENTILES[self._percentile]
                span.values[f"{way.lower()}_lat_{name}_us"] = 1000 * value
        if path == ["Bucket", "Percentile"]:
            self._percentile = value

    def _take_interval(self, attributes: dict[str, str]) -> None:
        found = {
            key: number(attributes.get(name, ""))
            for key, name in (
                ("t_ms", "SampleMillisecond"),
                ("read_iops", "Read"),
                ("write_iops", "Write"),
                ("read_lat_ms", "ReadAvgLatencyMilliseconds"),
                ("write_lat_ms", "WriteAvgLatencyMilliseconds"),
                ("read_lat_max_ms", "ReadMaxLatencyMilliseconds"),
                ("write_lat_max_ms", "WriteMaxLatencyMilliseconds"),
            )
        }
        known = {key: value for key, value in found.items() if value is not None}
        if {"t_ms", "read_iops", "write_iops"} <= known.keys():
            self._run.result().series.append(known)


def _target_element(target: _Target, tag: str, text: str) -> None:
    """Take an element that says what is asked of a target."""
    value = number(text)
    if tag == "Path":
        target.path = text
    elif tag == "BlockSize":
        target.block = value
    elif tag == "Random" and target.random_pct is None:
        target.random_pct = 100.0
    elif tag == "RandomRatio":
        target.random_pct = value
    elif tag == "StrideSize" and target.random_pct is None:
        target.random_pct = 0.0
    elif tag == "WriteRatio":
        target.writes_pct = value
    elif tag == "RequestCount":
        target.requests = value
    elif tag == "ThreadsPerFile":
        target.threads = value


def _log(source: Source, run: _Run) -> Log | None:
    """Return what a run came to; None where it has no result."""
    steps: list[Observed] = []
    rows: list[list[dict[str, float]]] = []
    end, has_series = 0.0, False
    for span in run.spans:
        samples = _samples(span)
        if samples:
            end += span.warmup_s if steps else 0.0
            rows.append([{**row, "t_s": end + row["t_s"]} for row in samples])
            end = rows[-1][-1]["t_s"]
            steps.append(_step(span))
            has_series = has_series or len(samples) > 1
    if not steps:
        return None
    steps = distinct(steps)
    remarks = []
    if not has_series:
        remarks.append(Remark("each time span is one sample: the mean over it"))
    times = read_times([run.begin])
    begin_unix_s = times.begin_unix_s
    if begin_unix_s is not None:
        begin_unix_s += run.spans[0].warmup_s
        text = "its load is taken to begin at the start time, but files may have been made first"
        remarks.append(Remark(text, doubt=True))
    paths = sorted({target.path for span in run.spans for target in span.targets} - {""})
    if len(paths) > 1:
        remarks.append(Remark(f"rates are of {len(paths)} targets together"))
    return Log(
        format="diskspd",
        source=source.name,
        samples=frame(
            [
                {**row, "step": step.name}
                for step, samples in zip(steps, rows, strict=True)
                for row in samples
            ]
        ),
        clock=times.clock if begin_unix_s is not None else "none",
        begin_unix_s=begin_unix_s,
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
        for way in ("read", "write"):
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


def _step(span: _Span) -> Observed:
    """Return what is known of a span's load."""
    block = _common(span, lambda target: target.block)
    random_pct = _common(span, lambda target: target.random_pct)
    writes_pct = _common(span, lambda target: target.writes_pct)
    known: dict[str, Any] = {"bs": whole(block)}
    words = []
    if random_pct is not None and writes_pct is not None and writes_pct <= 100:
        way = {0.0: "read", 100.0: "write"}.get(writes_pct, "rw")
        if random_pct in (0, 100):
            known["rw"] = f"rand{way}" if random_pct else way
        else:
            known["about"] = f"{random_pct:.0f} % random"
        words = [{0.0: "sequential", 100.0: "random"}.get(random_pct, "mixed"), way]
        if way == "rw":
            known["rwmixread"] = round(100 - writes_pct)
    depth = _common(span, lambda target: target.requests)
    threads = span.threads
    if not threads:
        of_targets = [target.threads for target in span.targets]
        threads = sum(of for of in of_targets if of) or None
    moved = {
        way: span.bytes.get(way, 0.0) > 0 or any(row[f"{way}_iops"] > 0 for row in span.series)
        for way in ("read", "write")
    }
    one_only = moved["read"] != moved["write"]
    return Observed.model_validate(
        {
            "name": " ".join(words) or "test",
            "reads": moved["read"] or not one_only,
            "writes": moved["write"] or not one_only,
            "iodepth": whole(depth or span.requests, 1 << 20),
            "numjobs": whole(threads, 1 << 20),
            **known,
        }
    )


def _common(span: _Span, of: Callable[[_Target], float | None]) -> float | None:
    """Return what all targets of the span have, None where they differ."""
    values = {of(target) for target in span.targets}
    return values.pop() if len(values) == 1 else None


FORMAT = Format("diskspd", "DiskSpd", _recognises, _read)
