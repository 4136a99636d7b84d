"""The lines of progress that fio, dd and pv keep writing while they work."""

import re
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from heatsoak.importer import frames, log
from heatsoak.importer.formats import Format
from heatsoak.importer.formats.results import frame, numbered
from heatsoak.importer.numbers import multiple, scaled
from heatsoak.importer.reports import stated_interval
from heatsoak.importer.source import Source
from heatsoak.importer.timestamps import span_s
from heatsoak.protocol import Observed
from heatsoak.words import amount_text

_FIO = re.compile(r"Jobs: \d{1,6} \(f=\d{1,6}\)[^\[]{0,80}(\[.{1,900})")
_PARTS = re.compile(r"\[([^\]]{1,400})\]")
#: fio's letters for jobs that read, write, or do both.
_READS, _WRITES = frozenset("RrMm"), frozenset("WwMm")
_RATE = re.compile(r"([rwt]=)?\s*([\d.]{1,20})\s*([kKMGT]?)(i?)(B?)")
_ETA = re.compile(r"eta ((?:\d{1,4}d:)?(?:\d\dh:)?\d\dm:\d\ds)")

_DD = re.compile(
    r"\s*(\d{1,25}) \w+ (?:\([^)]{1,60}\) )?\w+(?:,| in)? ([\d.,]{1,20}) ?s(?:ecs?)?\b.*"
)
_PV = re.compile(r".*?(\d{1,4}):(\d\d):(\d\d) +\[ *([\d.,]{1,12}) ?([kKMGT]?)(i?)(B)/s\].*")


#: Of fewer copies no course is made.
_LEAST_COPIES = 3


def _rate_mb_s(number: str, power: str, binary: str, unit: str) -> float:
    """A rate in MB/s, of fio's words or pv's; without its unit a multiple of 1024 bytes."""
    base = 1000.0 if unit and not binary else 1024.0
    return scaled(number) * multiple(power, base) / 1e6


def _read_fio(source: Source, options: log.Options) -> list[log.Log]:
    rows: list[dict[str, float | str]] = []
    steps: list[Observed] = []
    etas: list[float] = []
    state = ""
    for _, line in source.lines():
        for match in _FIO.finditer(line):
            jobs, *parts = _PARTS.findall(match[1]) or [""]
            running = {letter for letter in jobs if letter in _READS | _WRITES}
            row = _fio_row(parts)
            if not running or not row:
                continue
            if (now := "".join(sorted(running))) != state:  # another load was asked for
                state = now
                does = {"reads": bool(running & _READS), "writes": bool(running & _WRITES)}
                name = " and ".join(word for word, is_done in does.items() if is_done)
                name += f" {len(steps) + 1}" * bool(steps)
                steps.append(Observed(name=name, **does))
            rows.append({**row, "step": steps[-1].name})
            eta = _ETA.search(line, match.start())
            etas.append((span_s(eta[1]) or 0.0) if eta else np.nan)
    if not rows:
        raise source.error("holds no line of fio's progress with a rate in it")
    interval_s = stated_interval(source, options)
    options.used.add("interval_s")
    remarks = []
    if interval_s is None:
        passed = np.array([a - b for a, b in pairwise(etas) if a > b])
        usual = float(np.median(passed)) if len(passed) else 0.0
        # a runtime counts down evenly; the end of an amount of data is only guessed
        is_even = len(passed) > 0.7 * len(etas) and float((passed == usual).mean()) > 0.8
        interval_s = usual if is_even else 1.0
        text = f"interval of {amount_text(interval_s, 's')}: from the time that fio says is left"
        if not is_even:
            text = (
                "its lines have no times: assumed to come each second, as fio's do; "
                "--map interval_s=N if not"
            )
        remarks.append(log.Remark(text, doubt=not is_even))
    times = ({"t_s": at * interval_s, "interval_s": interval_s} for at in range(1, len(rows) + 1))
    samples = frame([row | when for row, when in zip(rows, times, strict=True)])
    more: dict[str, Any] = {"steps": tuple(steps), "remarks": tuple(remarks)}
    return [log.Log("fio-progress", source.name, samples, **more)]


def _fio_row(parts: list[str]) -> dict[str, float]:
    """The rates of a line: ``w=1500MiB/s`` and ``w=1500 IOPS``, or ``0K/1500M/0K /s``."""
    row: dict[str, float] = {}
    for part in parts:
        is_iops = part.lower().endswith("iops")
        if not is_iops and not part.endswith("/s"):
            continue
        body = part[:-4] if is_iops else part.removesuffix("/s")
        words = re.split(r"[,/]", body.strip())
        for at, word in enumerate(words):
            match = _RATE.fullmatch(word.strip())
            if match is None:
                continue
            named, number, power, binary, unit = match.groups()
            of = {"r=": "read", "w=": "write"}.get(named or "rwt"[at : at + 1] + "=")
            if of is None:
                continue
            if is_iops:
                row[f"{of}_iops"] = scaled(number) * multiple(power, 1000.0)
            else:  # before 2.14 fio's KB are of 1024 bytes
                row[f"{of}_bw_mb_s"] = _rate_mb_s(number, power, binary or "i", unit)
    return row


def _read_copy(source: Source, _: log.Options) -> list[log.Log]:
    """The progress of dd, whose bytes and seconds count from its start, and of pv."""
    at_s: list[float] = []
    moved_mb: list[float] = []
    rates: list[float] = []
    for _at, line in source.lines():
        if (match := _DD.fullmatch(line)) is not None:
            if not np.isfinite(copied_s := scaled(match.group(2))):
                continue
            at_s.append(copied_s)
            moved_mb.append(float(match.group(1)) / 1e6)
            rates.append(np.nan)
        elif (match := _PV.fullmatch(line)) is not None:
            hours, minutes, seconds, *rate = match.groups()
            at_s.append(3600.0 * int(hours) + 60.0 * int(minutes) + int(seconds))
            moved_mb.append(np.nan)
            rates.append(_rate_mb_s(*rate))
    t_s, moved = np.array(at_s), np.array(moved_mb)
    if _are_results(t_s, moved):
        samples = frames.build({"t_s": np.cumsum(t_s), "interval_s": t_s, "bw_mb_s": moved / t_s})
        text = "each copy is one sample, and the time between copies is not in it"
        return [_copy_log(source, samples, text)]
    logs = []
    for part in frames.run_slices(t_s):
        ends = np.concatenate([[0.0], t_s[part]])
        usual = float(np.median(np.diff(ends)))
        kept = np.flatnonzero(np.diff(ends) >= 0.5 * max(usual, 0.1))
        if len(kept) > 1 and t_s[part][kept[-1]] - t_s[part][kept[-2]] > 1.9 * usual:
            kept = kept[:-1]  # the last line comes when all is written out: a mean of the waiting
        if len(kept) < 3:
            continue
        ends = t_s[part][kept]
        lasted = np.diff(ends, prepend=0.0)
        mean_mb_s = np.diff(moved[part][kept], prepend=0.0) / lasted
        mean_mb_s = np.where(np.isfinite(mean_mb_s), mean_mb_s, np.array(rates)[part][kept])
        mean_mb_s[mean_mb_s < 0] = np.nan
        samples = frames.build({"t_s": ends, "interval_s": lasted, "bw_mb_s": mean_mb_s})
        text = "a copy's progress: the slower of what it read and wrote, perhaps into memory first"
        logs.append(_copy_log(source, samples, text))
    if not logs:
        raise source.error(
            "holds only the mean of a copy: 'dd status=progress' or 'pv -f', with its lines kept "
            "in a file, or 'iostat -xty 1' beside it, shows its course"
        )
    return numbered(logs)


def _are_results(t_s: frames.Array, moved_mb: frames.Array) -> bool:
    """Whether lines are the results of copies in a row, not what one has copied by then."""
    goes_on = (np.diff(t_s) > 0) & (np.diff(moved_mb) > 0)
    is_known = bool((t_s > 0).all() and np.isfinite(moved_mb).all())
    return len(t_s) >= _LEAST_COPIES and is_known and float(goes_on.mean()) < 0.5


def _copy_log(source: Source, samples: pl.DataFrame, text: str) -> log.Log:
    steps = (Observed(name="copy"),)
    copied = log.Log("copy-progress", source.name, samples, steps=steps)
    return copied.with_remarks(log.Remark(text, doubt=True))


def _is_copy(source: Source) -> bool:
    """Whether most lines are of such progress: a script may have put one above a table."""
    lines = [line for line in source.head_lines if line.strip()]
    found = sum(bool(_DD.fullmatch(line) or _PV.fullmatch(line)) for line in lines)
    return found > 0 and found >= 0.3 * len(lines)


def _is_fio(source: Source) -> bool:
    # its JSON tells more
    return b'"fio version"' not in source.head and any(map(_FIO.search, source.head_lines))


FIO = Format("fio-progress", "fio's progress", _is_fio, _read_fio, priority=65)
COPY = Format("copy-progress", "the progress of dd and pv", _is_copy, _read_copy, priority=170)
