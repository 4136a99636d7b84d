"""DiskSpd's results, as text (Windows and Linux) and as XML.

Text has one mean for each time span. XML that was written with ``-D`` also has I/Os a second for
each interval (`Bucket`), which is a series.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element

from heatsoak.importer.formats import Format, results
from heatsoak.importer.log import Log, Remark
from heatsoak.importer.numbers import number, size_of
from heatsoak.importer.source import Source
from heatsoak.importer.timestamps import read_times

_HEAD_LINES = 500
#: The last interval is left out where the test ended within it.
_ROUNDING_S = 0.02


@dataclass
class _Span:
    """A time span: what was asked for, and what came of it.

    Attributes:
        targets: of each file or disk ``path``, ``block`` in bytes, ``random_pct``, ``writes_pct``,
            ``requests`` in flight, ``threads``.
        told: ``warmup_s``, ``threads`` and ``requests`` that were asked for, ``duration_s``, bytes
            and I/Os by direction (``read_bytes``, ``read_ios``), means as columns of a recording.
        series: for each interval, its end `t_ms` and values by direction.
    """

    targets: list[dict[str, Any]] = field(default_factory=list)
    told: dict[str, float] = field(default_factory=dict)
    series: list[results.Row] = field(default_factory=list)

    def common(self, what: str) -> float | None:
        """Return what all targets have, None where they differ."""
        values = {target.get(what) for target in self.targets}
        return values.pop() if len(values) == 1 else None


@dataclass
class _Run:
    """What one start of DiskSpd wrote; `results` counts the spans whose results have begun."""

    begin: str = ""
    version: str = ""
    spans: list[_Span] = field(default_factory=list)
    results: int = 0

    def result(self) -> _Span:
        """Return the span whose results are being read."""
        self.spans += [_Span() for _ in range(len(self.spans), max(1, self.results))]
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


def _runs(source: Source) -> Iterable[_Run]:
    lines = [line.strip() for line in source.head_lines[:_HEAD_LINES]]
    return map(_run_of_xml, _trees(source)) if _starts_xml(lines) else _runs_of_text(source)


# --- text ---

_BEGINS = results.lines_of(
    run=r"Command Line\s?:", results=r"Results for (?:timespan|job) [0-9]{1,6}"
)
_ASKED = results.lines_of(
    span=r"(?:timespan|job)\s?:\s{0,9}[0-9]",
    start=r"start time: (?P<value>.*)",
    warmup_s=r"warm up time: (?P<value>.*?)s*$",
    total_threads=r"total threads: (?P<value>.*)",
    path=r"path.*?: '*(?P<value>.*?)'*$",
    writes_pct=r".{0,200}?read/write ratio: [0-9]{1,3}/(?P<value>[0-9]{1,3})",
    reads=r"performing read test$",
    writes=r"performing write test$",
    block=r"block size: (?P<value>[0-9][0-9.]{0,15})\s?(?P<prefix>[KMG]?)(?:i?B)?$",
    random=r"using random I/O",
    random_pct=r"using mixed random/sequential(?:.*\((?P<value>[0-9]{1,3})% random\))?",
    sequential=r"using.* sequential I/O",
    requests=r"number of outstanding I/O operations.*?: (?P<value>[^ )]{1,20})\)*$",
    threads=r"threads per file: (?P<value>[^ ]{1,20})$",
)
#: Lines that say what is asked of a target by themselves.
_FIXED = {
    "reads": ("writes_pct", 0.0), "writes": ("writes_pct", 100.0), "random": ("random_pct", 100.0),
    "sequential": ("random_pct", 0.0),
}  # fmt: skip
_RESULTS = results.lines_of(
    section=r"(?P<way>Total|Read|Write) IO\s{0,9}$",
    duration_s=r"(?:actual )?test time:.*?(?P<value>\S*?)s*\s*$",
    threads=r"thread count:.*?(?P<value>\S*)\s*$",
    columns=r"thread\b.*\|",
    total=r"total:(?P<cells>.*\|.*)",
    cpu_pct=r"avg[.|: \t]*(?P<value>[0-9.]+)%",
    percentile=r"(?P<share>50th|99th|3-nines|max)\s*\|(?P<read>[^|]*)\|(?P<write>[^|]*)\|[^|]*$",
)
_ORDINALS = {"50th": "p50", "99th": "p99", "3-nines": "p999", "max": "max"}


def _runs_of_text(source: Source) -> list[_Run]:
    runs, way, columns = [_Run()], "", list[str]()
    for line, text in source.kept_lines():
        text, run = text.strip(), runs[-1]
        begins, _ = results.told(text, _BEGINS)
        if begins == "run":
            runs += [_Run()] if run.spans or run.results else []
        elif begins == "results":
            run.results, way = run.results + 1, ""
        elif not run.results:
            _take_asked(run, " ".join(text.split()[:20]))
        else:
            kind, found = results.told(text, _RESULTS)
            told: dict[str, float | None] = {}
            if kind == "section":
                way = found["way"].lower()
            elif kind == "columns":
                columns = [cell.strip().lower() for cell in text.split("|")]
            elif kind == "total" and way in results.DIRECTIONS:
                values = [number(cell.strip()) for cell in found["cells"].split("|")]
                told = {f"{way}_bytes": values[0], f"{way}_ios": values[1]}
                for name, value in zip(columns[1:], values, strict=False):
                    if name.startswith("avglat") and value and None not in told.values():
                        told[f"{way}_lat_us"] = 1000 * value
            elif kind == "percentile":
                times = (number(found[each]) for each in results.DIRECTIONS)
                name = f"lat_{_ORDINALS[found['share'].lower()]}_us"
                for each, value in zip(results.DIRECTIONS, times, strict=True):
                    told |= {} if value is None else {f"{each}_{name}": 1000 * value}
            elif kind in ("duration_s", "threads", "cpu_pct"):
                told = {kind: number(found["value"])}
            _take(run.result(), told)
            if None in told.values() and kind != "threads" and kind != "cpu_pct":
                source.skip(line)
    return runs


def _take_asked(run: _Run, text: str) -> None:
    kind, found = results.told(text, _ASKED)
    if kind == "span":
        run.spans.append(_Span())
    elif kind == "start":
        run.begin = run.begin or results.short(found["value"])
    if not kind or not run.spans:
        return
    span = run.spans[-1]
    value = size_of(found.get("value", ""), found.get("prefix", ""))
    if kind in ("warmup_s", "total_threads"):
        _take(span, {kind.removeprefix("total_"): value})
    elif kind == "path":
        span.targets.append({"path": results.short(found["value"])})
    elif span.targets:
        span.targets[-1].update([_FIXED.get(kind, (kind, value))])


def _take(span: _Span, told: dict[str, float | None]) -> None:
    """Take what a span tells, unless some of it cannot be read."""
    known = {name: value for name, value in told.items() if value is not None}
    if len(known) == len(told) and not known.get("cpu_pct", 0.0) > 100:
        span.told |= known


# --- XML ---

_PERCENTILES = {50.0: "p50", 99.0: "p99", 99.9: "p999", 100.0: "max"}
#: What is asked of a target: the element, the field, and its value, unless the element has it.
#: `Random` and `StrideSize` say less than a ratio does.
_ELEMENTS: tuple[tuple[str, str, float | None], ...] = (
    ("BlockSize", "block", None), ("StrideSize", "random_pct", 0.0),
    ("Random", "random_pct", 100.0), ("RandomRatio", "random_pct", None),
    ("WriteRatio", "writes_pct", None), ("RequestCount", "requests", None),
    ("ThreadsPerFile", "threads", None),
)  # fmt: skip
_INTERVAL = {
    "t_ms": "SampleMillisecond", "read_iops": "Read", "write_iops": "Write",
    "read_lat_ms": "ReadAvgLatencyMilliseconds", "write_lat_ms": "WriteAvgLatencyMilliseconds",
    "read_lat_max_ms": "ReadMaxLatencyMilliseconds",
    "write_lat_max_ms": "WriteMaxLatencyMilliseconds",
}  # fmt: skip


def _trees(source: Source) -> Iterator[Element]:
    """Yield the results in the file, as far as each can be read."""
    reader: results.XmlReader | None = None
    started_at = 0
    for line, text in source.kept_lines():
        if "<Results>" in text and text.lstrip().startswith("<"):
            if reader is not None:
                source.remark(f"line {started_at}: results are cut off where others begin")
                yield from reader.roots
            reader, started_at = results.XmlReader(source), line
            text = text[text.index("<Results>") :]
        if reader is None:
            continue
        body, end, _ = text.partition("</Results>")
        reader.feed(f"{body}{end}\n", ends=bool(end))
        if wrong := reader.problem:
            source.remark(f"line {line} is not valid XML: what follows was left out ({wrong})")
        if end or wrong:
            yield from reader.roots
            reader = None
    if reader is not None:
        source.remark("it ends within the results")
        yield from reader.roots


def _text(element: Element, path: str) -> str:
    return results.short(element.findtext(path) or "")


def _number(element: Element, path: str) -> float | None:
    return number(_text(element, path))


def _run_of_xml(root: Element) -> _Run:
    run = _Run(begin=_text(root, "System/RunTime"), version=_text(root, "System/Tool/Version"))
    for element in root.iterfind("Profile/TimeSpans/TimeSpan"):
        run.spans.append(_Span())
        for key, tag in {
            "warmup_s": "Warmup",
            "threads": "ThreadCount",
            "requests": "RequestCount",
        }.items():
            _take(run.spans[-1], {key: _number(element, tag)})
        for target in element.iterfind("Targets/Target"):
            asked = {
                name: _number(target, tag) if fixed is None else fixed
                for tag, name, fixed in _ELEMENTS
                if target.find(tag) is not None
            }
            run.spans[-1].targets.append({"path": _text(target, "Path"), **asked})
    for run.results, element in enumerate(root.iterfind("TimeSpan"), 1):
        _take_xml_result(run.result(), element)
    return run


def _take_xml_result(span: _Span, element: Element) -> None:
    _take(span, {"duration_s": _number(element, "TestTimeSeconds")})
    _take(span, {"threads": _number(element, "ThreadCount") or None})
    _take(span, {"cpu_pct": _number(element, "CpuUtilization/Average/UsagePercent")})
    for way in results.DIRECTIONS:
        tag = way.title()
        for key, what in ((f"{way}_bytes", "Bytes"), (f"{way}_ios", "Count")):
            for target in element.iterfind("Thread/Target"):
                if (value := _number(target, f"{tag}{what}")) is not None:
                    span.told[key] = span.told.get(key, 0.0) + value
        times = {"lat": _number(element, f"Latency/Average{tag}Milliseconds")}
        for bucket in element.iterfind("Latency/Bucket"):
            name = _PERCENTILES.get(_number(bucket, "Percentile") or 0.0)
            times |= {f"lat_{name}": _number(bucket, f"{tag}Milliseconds")} if name else {}
        for name, value_ms in times.items():
            _take(span, {f"{way}_{name}_us": None if value_ms is None else 1000 * value_ms})
    for bucket in element.iterfind("Iops/Bucket"):
        found = {key: number(bucket.get(name, "")) for key, name in _INTERVAL.items()}
        known = {key: value for key, value in found.items() if value is not None}
        if {"t_ms", "read_iops", "write_iops"} <= known.keys():
            span.series.append(known)


# --- logs ---


def _log(source: Source, run: _Run) -> Log | None:
    tests = [test for span in run.spans if (test := _test(span)) is not None]
    if not tests:
        return None
    times = read_times([run.begin])
    more: dict[str, Any] = {"tools": {"diskspd": run.version} if run.version else {}}
    remarks = []
    if all(len(test.rows) == 1 for test in tests):
        remarks.append(Remark("each time span is one sample: the mean over it"))
    if times.start_unix_s is not None:
        warmup_s = run.spans[0].told.get("warmup_s", 0.0)
        more |= {"clock": times.clock, "start_unix_s": times.start_unix_s + warmup_s}
        text = "its load is assumed to start at the start time, but files may have been made first"
        remarks.append(Remark(text, True, ("time",)))
    paths = sorted({target["path"] for span in run.spans for target in span.targets} - {""})
    if len(paths) > 1:
        remarks.append(Remark(f"rates are of {len(paths)} targets together"))
    tests[0].wait_s = 0.0
    drive = {"path": paths[0]} if len(paths) == 1 else {}
    return results.log_of(source, "diskspd", tests, remarks, drive=drive, **more)


def _test(span: _Span) -> results.Test | None:
    if not (rows := _samples(span)):
        return None
    writes_pct, random_pct = span.common("writes_pct"), span.common("random_pct")
    name = "test"
    if writes_pct is not None and writes_pct <= 100 and random_pct is not None:
        way = {0.0: "read", 100.0: "write"}.get(writes_pct, "rw")
        access = {0.0: "sequential", 100.0: "random"}.get(random_pct, "mixed")
        name = f"{access} {way}"
    threads = sum(target.get("threads") or 0.0 for target in span.targets)
    load = results.observed_load(
        name,
        None if writes_pct is None else 100 - writes_pct,
        random_pct,
        bs=span.common("block"),
        iodepth=span.common("requests") or span.told.get("requests"),
        numjobs=span.told.get("threads") or threads,
    )
    return results.Test(load, rows, span.told.get("warmup_s", 0.0))


def _samples(span: _Span) -> list[results.Row]:
    """Return a span's series, or its mean; none where it has no rate."""
    told, seconds, samples = span.told, span.told.get("duration_s") or None, list[results.Row]()
    ways = [way for way in results.DIRECTIONS if f"{way}_bytes" in told]
    mb_of_io = {
        way: told[f"{way}_bytes"] / ios / results.MB
        for way in ways
        if (ios := told.get(f"{way}_ios", 0.0)) > 0
    }
    last_s = 0.0
    for interval in span.series:
        t_s = interval["t_ms"] / 1000
        over = seconds is not None and t_s > seconds + _ROUNDING_S
        if t_s <= last_s or (over and samples):
            continue
        row = {"t_s": t_s, "interval_s": t_s - last_s}
        last_s = t_s
        for way in results.DIRECTIONS:
            iops = row[f"{way}_iops"] = interval[f"{way}_iops"]
            if iops == 0 or way in mb_of_io:
                row[f"{way}_bw_mb_s"] = iops * mb_of_io.get(way, 0.0)
            for name in (f"{way}_lat", f"{way}_lat_max"):
                if interval.get(f"{name}_ms"):
                    row[f"{name}_us"] = 1000 * interval[f"{name}_ms"]
        samples.append(row)
    if samples or seconds is None or not ways:
        return samples
    means = {name: v for name, v in told.items() if name.endswith(("_us", "cpu_pct"))}
    means |= {f"{way}_bw_mb_s": told[f"{way}_bytes"] / seconds / results.MB for way in ways}
    means |= {f"{way}_iops": told.get(f"{way}_ios", 0.0) / seconds for way in ways}
    return results.mean(seconds, means)


_read = results.reader_of(
    _runs, _log, "no results: DiskSpd was stopped before it had any, or it is truncated"
)
FORMAT = Format("diskspd", "DiskSpd", _recognises, _read, priority=110)
