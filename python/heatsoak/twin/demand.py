"""What somebody asks of a drive over time: by a trace, or by a recording of what it did."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from heatsoak._core import Trace
from heatsoak.errors import HeatsoakError, UsageError
from heatsoak.recording import Recording
from heatsoak.twin import readings
from heatsoak.words import amount_text, duration_text

#: A controller takes some seconds to warm: heat cannot show in less.
_LEAST_S = 10
#: I/Os of a trace to take at once: some tens of MB.
_TAKEN_IOS = 1_000_000
_ONLY_ITS_FIRST = f"only its first {duration_text(readings.MAX_S)} are looked at"
#: What `take` calls reads and writes.
_READ, _WRITE = 0, 1


@dataclass(frozen=True)
class Demand:
    """What is asked of a drive in each second, whether or not it keeps up.

    Attributes:
        name: of the file, without its directories.
        read_mb_s, write_mb_s, read_iops, write_iops: one value for each second.
        is_recorded: whether it is what a drive did, which is the least that was asked of it.
        model: of the drive that did it, if that is known.
        held_s: for how long heat held that drive back, as the judge finds.
        remarks: what was left out.
    """

    name: str
    read_mb_s: readings.Array
    write_mb_s: readings.Array
    read_iops: readings.Array
    write_iops: readings.Array
    is_recorded: bool = False
    model: str | None = None
    held_s: float = 0.0
    remarks: tuple[str, ...] = ()

    @property
    def seconds(self) -> int:
        """How long it is."""
        return len(self.read_mb_s)

    @property
    def gb(self) -> float:
        """How much is read and written in all, 10^9 bytes."""
        return float(self.read_mb_s.sum() + self.write_mb_s.sum()) / 1e3

    @property
    def doubt(self) -> str:
        """A sentence to follow an answer where the recording does not show all that was asked."""
        if self.held_s == 0:
            return ""
        return " Heat held the recorded drive back, too: it may have been asked for more."

    def describe(self) -> str:
        """Return what it is, in a few words."""
        read_gb, write_gb = self.read_mb_s.sum() / 1e3, self.write_mb_s.sum() / 1e3
        length = duration_text(self.seconds)
        read, written = amount_text(read_gb, "GB"), amount_text(write_gb, "GB")
        return f"{self.name}, {length}: {read} read, {written} written"

    def first(self, duration_s: float) -> "Demand":
        """Return so much of its beginning, or all of it if it is shorter.

        Raises UsageError where there is no I/O in that, or heat could not show.
        """
        count = round(duration_s)
        if count >= self.seconds:
            return self
        names = ("read_mb_s", "write_mb_s", "read_iops", "write_iops")
        part = replace(self, **{name: getattr(self, name)[:count] for name in names})
        return part.checked(f"{self.name}: its first {duration_text(count)}")

    def checked(self, name: str) -> Self:
        """Return it; UsageError, beginning with `name`, where nothing can be said of it."""
        if self.gb == 0:
            raise UsageError(f"{name}: has no reads or writes, so heat has nothing to slow")
        if self.seconds < _LEAST_S:
            raise UsageError(
                f"{name}: takes {self.seconds} s, and heat does not show in less than {_LEAST_S} s"
            )
        return self


def demand_of(path: Path) -> Demand:
    """Return the demand that a trace, a recording, or another tool's log of throughput tells.

    Raises UsageError for what is none of them, is too short, or has no I/O.
    """
    trace, why = (None, "") if path.is_dir() else _opened(path)
    if trace is not None:
        return _of_trace(trace, path)
    from heatsoak.importer import open_all  # loads that nobody recorded need no formats

    try:
        recordings = open_all([path])
    except HeatsoakError as error:
        raise UsageError(
            f"{path}: cannot be read as a load: as a trace, {why}; as a recording or log, "
            f"{str(error).removeprefix(f'{path}: ')}"
            if why
            else str(error)
        ) from error
    if len(recordings) > 1:
        raise UsageError(
            f"{path}: has {len(recordings)} recordings in it, and one is a workload: name one "
            "(heatsoak import makes them of a log)"
        )
    return demand_of_recording(recordings[0])


def _opened(path: Path) -> tuple[Trace | None, str]:
    try:
        return Trace.open(path), ""
    except ValueError as error:
        return None, str(error)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error


def _of_trace(trace: Trace, path: Path) -> Demand:
    # reads and writes in each second: bytes, and I/Os
    totals = np.zeros((2, 2, 0))
    end_s, is_cut = 0.0, False
    while True:
        try:
            taken = trace.take(_TAKEN_IOS)
        except ValueError as error:
            raise UsageError(f"{path}: {error}") from error
        if len(taken["op"]) == 0:
            break
        at_s = taken["at_ns"] / 1e9
        is_cut = bool(at_s[-1] > readings.MAX_S)
        inside = at_s <= readings.MAX_S
        end_s = max(end_s, float(at_s[inside].max(initial=0.0)))
        longer = max(int(end_s / readings.GRID_S) + 1 - totals.shape[2], 0)
        totals = np.pad(totals, ((0, 0), (0, 0), (0, longer)))
        for index, op in enumerate((_READ, _WRITE)):
            of = inside & (taken["op"] == op)
            seconds = (at_s[of] / readings.GRID_S).astype(np.int64)
            for row, weights in enumerate((taken["bytes"][of] / 1e6, None)):
                totals[index, row] += np.bincount(seconds, weights, totals.shape[2])
        if is_cut:
            break
    (read_mb_s, read_iops), (write_mb_s, write_iops) = totals
    found = Demand(
        name=path.name,
        read_mb_s=read_mb_s,
        write_mb_s=write_mb_s,
        read_iops=read_iops,
        write_iops=write_iops,
        remarks=(_ONLY_ITS_FIRST,) if is_cut else (),
    )
    if end_s == 0.0 and found.gb > 0:
        raise UsageError(
            f"{path}: tells the order of its I/O but no times, and heat is a matter of time"
        )
    return found.checked(str(path))


def demand_of_recording(recording: Recording) -> Demand:
    """Return the demand that a recording shows: at least what the drive moved.

    Raises UsageError for one without throughput or I/O, or too short.
    """
    name = recording.path_text
    samples = recording.samples().sort("t_s")
    first_s, last_s = readings.span_of(samples)
    is_cut = last_s - first_s > readings.MAX_S
    edges = np.arange(
        first_s, min(last_s, first_s + readings.MAX_S) + readings.GRID_S / 2, readings.GRID_S
    )
    if len(edges) < 2:
        raise UsageError(f"{name}: takes no time, and heat does not show in less than {_LEAST_S} s")
    rates = readings.rates_of(samples, edges)
    if rates is None:
        has_rates = any(
            samples[column].count() > 0
            for column in samples.columns
            if column.endswith(("bw_mb_s", "device_read_mb_s", "device_write_mb_s"))
        )
        raise UsageError(
            f"{name}: has no reads or writes, so heat has nothing to slow"
            if has_rates
            else f"{name}: has no throughput, which says what was asked of the drive"
        )
    read, write = rates
    return Demand(
        name=Path(name).name,
        read_mb_s=read,
        write_mb_s=write,
        read_iops=readings.commands_of(samples, "read_iops", edges, read),
        write_iops=readings.commands_of(samples, "write_iops", edges, write),
        is_recorded=True,
        model=recording.meta.drive.get("model"),
        held_s=_held_s(recording),
        remarks=tuple(_remarks(samples.columns, is_cut=is_cut)),
    ).checked(name)


def _held_s(recording: Recording) -> float:
    """For how long heat held the recorded drive back, by the judge."""
    from heatsoak.analysis.judge import judge  # as above

    return sum(
        episode.end_s - episode.onset_s
        for step in judge(recording).steps
        for episode in step.episodes
        if step.is_perhaps_heat(episode)
    )


def _remarks(columns: list[str], *, is_cut: bool) -> Iterator[str]:
    if not {"read_bw_mb_s", "write_bw_mb_s"} & set(columns) and "bw_mb_s" in columns:
        yield "what it moved are reads: it does not tell them from writes"
    if is_cut:
        yield _ONLY_ITS_FIRST
