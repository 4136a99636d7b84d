"""Logs of other tools beside what is right of each, as `importer/expect.toml` says it."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from functools import cache
from itertools import product
from pathlib import Path
from types import CodeType
from typing import Any

import polars as pl
import pytest
from heatsoak.analysis import Findings, analyze
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Options, Source, import_files, read
from heatsoak.importer.join import join

HERE = Path(__file__).parent / "importer"
DATA = HERE / "data"
#: A binary file that only its own tool reads.
REFUSED = DATA / "sar" / "sa21"
FILES = sorted(path for path in DATA.rglob("*") if path.is_file() and path != REFUSED)
_TABLE: dict[str, dict[str, Any]] = tomllib.loads((HERE / "expect.toml").read_text("utf-8"))
_PIECES = _TABLE.pop("pieces")


def _one(case: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    common = {key: value for key, value in case.items() if key not in ("each", "is")}
    return {**common, **case.get("is", {}), **own}


#: Each case of the table by its kind and name.
CASES = {
    f"{kind}: {name}{f', {n}' if n else ''}": _one(case, own)
    for kind, cases in _TABLE.items()
    for name, case in cases.items()
    for n, own in (enumerate(case["each"], 1) if "each" in case else [(0, {})])
}

_PLACE = re.compile(r"«(.+?)(?::([\d,.]*[a-z%]?))?»", re.DOTALL)
_AGAIN = re.compile(r"«(\d+)\.\.(\d+)»([^\n]*)\n?|«(\d+)\.\.(\d+):»(.*?)«end»", re.DOTALL)
_OF_LOG = ("format", "source", "clock", "label", "drive", "tools", "conditions", "has_rates",
           "is_in_order_only")  # fmt: skip
_OF_ANSWERS = {"throttles", "says", "because", "next", "text", "encoding", "name"}
_KNOWN = _OF_ANSWERS | {*_OF_LOG, "file", "joined", "shift", "map", "device", "refused", "longest"}
_KNOWN |= {"logs", "start", "count", "limits", "sensor", "columns", "has", "lacks", "see", "moved"}
_KNOWN |= {"steps", "like", "in", "doubts", "notes", "silent", "touches", "apart"}
_START_S = 1e-3
_OF_SERIES = ("min", "max", "mean", "median", "sum")


@cache
def _code(place: str) -> CodeType:
    return compile(place.strip(), place, "eval")


def _file(name: str) -> str:
    data = (DATA / name).read_bytes()
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252")


def _lines(name: str) -> list[str]:
    return _file(name).splitlines(keepends=True)


def _halved(name: str, number: int) -> str:
    """Return a file with half of one of its lines."""
    lines = _lines(name)
    line = lines[number - 1].rstrip()
    return "".join([*lines[: number - 1], line[: len(line) // 2], "\n", *lines[number:]])


def _clock(second: float, begin_h: float = 10) -> str:
    at = int(3600 * begin_h + second)
    return f"{at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}"


def _scatter(i: int) -> float:
    """About 1, the same at each second of every log."""
    return 1 + 0.01 * ((i * 7919) % 17 - 8) / 8


def _edited(text: str, *pairs: str) -> str:
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in text, old
        text = text.replace(old, new)
    return text


def _rate(second: int) -> int:
    """What a drive that throttles writes, in MB/s."""
    return (2000 if second <= 50 else 900) + second % 7


def _moved(second: int) -> int:
    return sum(map(_rate, range(1, second + 1)))


def _temp(second: int) -> int:
    return 40 + min(second, 50) * 4 // 5


def _comma(value: float) -> str:
    return f"{value:,.1f}".translate(str.maketrans(",.", ".,"))


def _fio(ios: int, runtime_ms: int) -> str:
    """Return what fio's JSON says of a direction, in I/Os of 4 KiB."""
    lat = {"mean": 100_000.0, "N": ios, "max": 200_000}
    size = {"io_bytes": 4096 * ios, "io_kbytes": 4 * ios, "total_ios": ios, "runtime": runtime_ms}
    return json.dumps({**size, "lat_ns": lat})


def _summary(*rates_mb_s: float) -> str:
    """Return fio's JSON of jobs that wrote behind each other for a minute each."""
    end_s, jobs = 1_700_000_000 + 60 * len(rates_mb_s), []
    for n, rate in enumerate(rates_mb_s):
        size = int(rate * 60e6)
        did = {"io_bytes": size, "total_ios": size >> 17, "runtime": 60_000}
        options = {"rw": "write", "bs": "128k", "filename": "/dev/sdx"}
        job = {"jobname": f"job{n}", "groupid": n, "elapsed": 1 + 60 * len(rates_mb_s)}
        jobs.append(job | {"job options": options, "job_runtime": 60_000, "write": did})
    about = {"fio version": "fio-3.33", "timestamp": end_s, "timestamp_ms": 1000 * end_s}
    return json.dumps({**about, "jobs": jobs})


def _series(value: Callable[[int], float]) -> str:
    """Return 40 values, one a second, as Prometheus hands them out."""
    return json.dumps([[1772359200 + i, str(value(i))] for i in range(40)])


def _pairs(value: Callable[[int], float], flips: bool = False) -> str:
    """Return 40 values, one each ten seconds, with their times before them or behind."""
    return json.dumps([[1772359200 + 10 * i, value(i)][:: -1 if flips else 1] for i in range(40)])


def _bytes(i: int) -> int:
    """What is written each second of an interval, which falls after the twentieth."""
    return 2_400_000_000 if i < 20 else 800_000_000


_NAMES: dict[str, Any] = {"json": json, "file": _file, "lines": _lines, "halved": _halved}
_NAMES |= {"clock": _clock, "edited": _edited, "scatter": _scatter, "series": _series}
_NAMES |= {"pairs": _pairs, "b": _bytes, "warm": lambda i: 40 + i}
_NAMES |= {"at": lambda i: 1772359200 + 10 * i, "c": lambda i: 10 * sum(map(_bytes, range(i + 1)))}
_NAMES |= {
    "rate": _rate,
    "moved": _moved,
    "temp": _temp,
    "comma": _comma,
    "fio": _fio,
    "summary": _summary,
}


def written(template: str, **names: Any) -> str:
    """Return what a text of the table stands for: repeated lines, values in their places."""

    def again(found: re.Match[str]) -> str:
        first, end, line = found.group(4, 5, 6)
        if found[1]:
            first, end, line = found[1], found[2], f"{found[3]}\n"
        return "".join(written(line, **names, i=i) for i in range(int(first), int(end)))

    def value(found: re.Match[str]) -> str:
        return format(eval(_code(found[1]), {**_NAMES, **names}), found[2] or "")

    return _PLACE.sub(value, _AGAIN.sub(again, template))


#: What the pieces of the table hold where their user says nothing else.
_USUAL = {"drive": 0, "temp": "", "warning": 0, "minutes": 0, "light": 0, "strong": 0, "light_s": 0}
_USUAL |= {"day": "2026-11-24", "at": "", "r": 0, "w": 0, "elapsed": 0}


def _piece(name: str, i: int = 0, **names: Any) -> str:
    return written(_PIECES[name], **(_USUAL | names), i=i)


_NAMES["piece"] = _piece


def sources_of(case: dict[str, Any]) -> Iterator[Source]:
    """Yield what a case is about: one source for each form that says the same."""
    if "file" in case:
        files = case["file"] if isinstance(case["file"], list) else [case["file"]]
        yield from (Source.of_path(DATA / name) for name in files)
    texts = case.get("text", [])
    for text in [texts] if isinstance(texts, str) else texts:
        encodings = case.get("encoding", "utf-8")
        for encoding in [encodings] if isinstance(encodings, str) else encodings:
            yield Source.of_bytes(case.get("name", "x.log"), written(text).encode(encoding))


def _joined(file: str | list[str]) -> Source:
    if isinstance(file, str):
        return Source.of_path(DATA / file)
    return Source.of_bytes(file[0], written(file[1]).encode())


def check(case: dict[str, Any], place: Path) -> None:
    """Assert that a case is read as the table says, in each of its forms."""
    assert set(case) <= _KNOWN, set(case) - _KNOWN
    if "joined" in case:
        # in whatever order they are given
        for files in (case["joined"], case["joined"][::-1]):
            parts = [log for file in files for log in read(_joined(file))]
            _check_logs(case, join(parts, case.get("shift")))
    for source, mapping in product(sources_of(case), _listed(case.get("map", {}))):
        options = Options(mapping, case.get("device"))
        if "refused" in case:
            _check_refusal(case, source, options)
            continue
        if "throttles" in case:
            _check_answer(case, judged(source, place))
        if set(case) - _OF_ANSWERS:
            _check_logs(case, read(source, options))


def _check_refusal(case: dict[str, Any], source: Source, options: Options) -> None:
    with pytest.raises(UsageError) as caught:
        read(source, options)
    said = str(caught.value)
    assert said.startswith(source.name)
    assert "\n" not in said
    assert len(said) < case.get("longest", 5000)
    for words in _listed(case["refused"]):
        assert words in said
    for words in case.get("silent", ()):
        assert words not in said


def judged(source: Source, place: Path) -> Findings:
    """Return what is found in a source, as a file of its name."""
    file = place / Path(source.name).name
    file.write_bytes(b"".join(source.chunks()))
    return analyze(import_files([file]))


def _check_answer(case: dict[str, Any], found: Findings) -> None:
    answer = found.answer
    assert answer.throttles in _listed(case["throttles"])
    for words in _listed(case.get("says", [])):
        assert words in answer.sentence
    for words in _listed(case.get("because", [])):
        assert words in answer.because
    assert (answer.next or "").startswith(case.get("next", ""))


def _check_logs(case: dict[str, Any], logs: list[Log]) -> None:
    wanted = case.get("logs", 1)
    each: list[dict[str, Any]] = [{}] * wanted if isinstance(wanted, int) else wanted
    assert len(logs) == len(each), [log.label or log.drive for log in logs]
    if "apart" in case:
        assert any(case["apart"] in remark.text for log in logs for remark in log.remarks)
    for log, own in zip(logs, each, strict=True):
        _check_log({**case, **own}, log)
        if "see" in case and "see" in own:
            _check_columns(case["see"], log.samples)


def _check_log(case: dict[str, Any], log: Log) -> None:
    samples = log.samples
    assert set(case) <= _KNOWN, set(case) - _KNOWN
    for name in _OF_LOG:
        if name in case:
            assert getattr(log, name) == case[name], name
    if "start" in case:
        assert log.start_unix_s is not None
        assert _fits(log.start_unix_s, case["start"], absolute=_START_S), log.start_unix_s
    if "count" in case:
        assert samples.height == case["count"]
    if "columns" in case:
        assert samples.columns == case["columns"]
    for name in case.get("has", ()):
        assert any(fnmatch(column, name) for column in samples.columns), samples.columns
    for name in case.get("lacks", ()):
        assert not any(fnmatch(column, name) for column in samples.columns), samples.columns
    _check_columns(case.get("see", {}), samples)
    for name, mb in case.get("moved", {}).items():
        assert _fits((samples[name] * samples["interval_s"]).sum(), mb)
    if "steps" in case:
        _check_steps(case["steps"], log)
    if "limits" in case:
        assert log.sensors[0].thresholds == pytest.approx(case["limits"], abs=0.06)
    for name, value in case.get("sensor", {}).items():
        assert log.sensors[0].details[name] == value
    if "like" in case:
        (other,) = read(Source.of_path(DATA / case["like"]))
        columns = case.get("in", samples.columns)
        assert samples.select(columns).equals(other.samples.select(columns))
    _check_remarks(case, log)


def _check_columns(wanted: dict[str, Any], samples: pl.DataFrame) -> None:
    for name, values in wanted.items():
        assert name in samples.columns, samples.columns
        series = samples[name]
        if isinstance(values, list):
            assert len(series) == len(values), series.to_list()
            pairs = list(zip(series.to_list(), values, strict=True))
        elif isinstance(values, dict):
            pairs = [(each, v) for key, v in values.items() for each in _of_series(series, key)]
        else:
            assert not series.is_empty()
            pairs = [(value, values) for value in series.to_list()]
        for found, value in pairs:
            assert _fits(found, value), f"{name}: {found}, not {value}: {series.to_list()[:20]}"


def _of_series(series: pl.Series, key: str) -> list[Any]:
    if key in _OF_SERIES:
        return [getattr(series, key)()]
    if key == "nulls":
        return [series.null_count()]
    of, _, part = key.rpartition(" ")
    first, dots, end = part.partition("..")
    if of == "mean":
        return [series[int(first) : int(end) if end else None].mean()]
    return series[int(first) : int(end) if end else None].to_list() if dots else [series[int(key)]]


def _fits(found: Any, wanted: Any, absolute: float | None = None) -> bool:
    if wanted == "none":
        return found is None
    if isinstance(wanted, str) and found is not None and not isinstance(found, str):
        value, mark, room = re.split("([~±])", wanted)
        rel, near = (float(room), None) if mark == "~" else (0.0, float(room))
        return bool(found == pytest.approx(float(value), rel=rel, abs=near))
    if isinstance(wanted, str) or found is None:
        return bool(found == wanted)
    if absolute is not None:
        return bool(found == pytest.approx(wanted, rel=0, abs=absolute))
    return bool(found == pytest.approx(wanted))


def _check_steps(wanted: Any, log: Log) -> None:
    if isinstance(wanted, list):
        assert len(log.steps) == len(wanted), [step.name for step in log.steps]
        wanted = dict(enumerate(wanted))
    for at, own in wanted.items():
        step = log.steps[int(at)]
        if isinstance(own, str):
            assert own in (step.name, step.describe())
        else:
            for name, value in own.items():
                assert getattr(step, name) == (None if value == "none" else value), name


def _check_remarks(case: dict[str, Any], log: Log) -> None:
    said = {True: "", False: ""}
    for remark in log.remarks:
        said[remark.doubt] += f"{remark.text}\n"
    if case.get("doubts") == []:
        assert said[True] == ""
    for words in case.get("doubts", ()):
        assert words in said[True]
    if "touches" in case:
        doubts = [remark for remark in log.remarks if case["doubts"][0] in remark.text]
        assert [list(remark.touches) for remark in doubts] == [case["touches"]]
    for words in case.get("notes", ()):
        assert words in said[False]
    for words in case.get("silent", ()):
        assert words not in said[True] + said[False]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
