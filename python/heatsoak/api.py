"""What the command line does, from Python: recordings in, findings out; see docs/python.md.

`import heatsoak` has all of it, and loads this module when the first name is used. Everything that
a user can cause raises one of :mod:`heatsoak.errors`.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from heatsoak import analysis, importer, recording
from heatsoak.analysis import Findings
from heatsoak.analysis.consistency import WINDOW_S
from heatsoak.catalog import Drive, load_drive
from heatsoak.comparison import Comparison
from heatsoak.comparison import compare as compare_recordings
from heatsoak.errors import UsageError, of_os_error
from heatsoak.protocol import (
    Label,
    Protocol,
    WorkloadStep,
    apply_settings,
    label_text,
    load,
    scaled,
)
from heatsoak.target import Place, parse_place

if TYPE_CHECKING:
    import polars as pl

    from heatsoak.twin.advise import Advice
    from heatsoak.twin.case import Before
    from heatsoak.twin.demand import Demand
    from heatsoak.twin.predict import Prediction
    from heatsoak.twin.twin import Twin

PathText = str | PathLike[str]
#: A recording, or the path of recordings or of other tools' logs.
Source = recording.Recording | PathText


def open_recording(path: PathText, *, damaged: bool = False) -> recording.Recording:
    """Return the recording in directory `path`; nothing is read but its ``recording.json``.

    Samples and events of one that was changed after it was made are read only with `damaged`.
    Raises UsageError if there is none, if there are several below `path` (:func:`open_all` opens
    those), or if it cannot be read.
    """
    with _our_errors():
        found = recording.find_recordings(Path(path), damaged=damaged)
    if len(found) > 1:
        raise UsageError(f"{path}: has {len(found)} recordings in it: heatsoak.open_all opens them")
    return found[0]


def open_recordings(*paths: PathText) -> list[recording.Recording]:
    """Return the recordings at or below `paths`, and those that other tools' logs there are.

    Raises UsageError for what is neither, or cannot be read.
    """
    with _our_errors():
        return importer.open_all([Path(path) for path in paths])


def read_log(
    *paths: PathText,
    columns: Mapping[str, str] | None = None,
    device: str | None = None,
    shift_s: float | None = None,
    separate: bool = False,
    conditions: Mapping[str, Label] | None = None,
) -> list[recording.InMemoryRecording]:
    """Return the runs in other tools' logs as recordings, held in memory.

    Files of the same time become one recording, unless they are to be `separate`. `columns` says
    what the headers of a table mean, as ``{"write_mb_s": "Schreiben"}``; `device` is the drive to
    take of several; `shift_s` moves temperature logs against the load; `conditions` label the
    recordings. Raises UsageError, naming file and line, for what cannot be read.
    """
    mapping = [f"{column}={header}" for column, header in (columns or {}).items()]
    with _our_errors():
        return importer.import_files(
            [Path(path) for path in paths],
            importer.Options.of(mapping, device, shift_s=shift_s, joins=not separate),
            conditions=dict(conditions or {}),
        )


def from_frame(
    frame: "pl.DataFrame",
    *,
    name: str = "frame",
    conditions: Mapping[str, Label] | None = None,
    drive: Mapping[str, str | int] | None = None,
) -> recording.InMemoryRecording:
    """Return samples that you hold as a recording in memory, to analyze, fit or save.

    `frame` has a recording's columns (docs/recording.md), `t_s` in s among them: rates such as
    `read_bw_mb_s` in MB/s, temperatures such as ``temp_c.composite`` in C, `power_w`. Without
    `interval_s` a rate is the mean since the row before; without `step`, stretches of load are its
    steps. `name` is what answers call it, `conditions` label it, and `drive` is its ``model``,
    ``serial`` and ``size_bytes``, as far as they are known. Raises UsageError, naming the column,
    for what a recording does not have.
    """
    with _our_errors():
        return importer.recording_of_frame(frame, name, dict(conditions or {}), drive or {})


def analyze(
    *sources: Source | Iterable[Source], window_s: float = WINDOW_S, reference: Source | None = None
) -> Findings:
    """Return what recordings or logs show: whether the drive throttles, when, how far, and why.

    Recordings of the same drive are evidence for each other. Consistency is computed over the last
    `window_s` seconds of each step. The speeds of `reference` count as full speeds. Raises
    UsageError for what cannot be read.
    """
    with _our_errors():
        references = [] if reference is None else _recordings([reference])
        return analysis.analyze(_recordings(sources), window_s, references)


def fit(*sources: Source | Iterable[Source], base: str | None = None) -> "Twin":
    """Return the twin of the drive that recordings or logs are of: its limit and its cooling.

    Recordings with the same conditions of cooling share a place. `base` is a drive of the catalog
    or a TOML file, by default the most similar one: everything comes from it that is not fitted.
    Raises UsageError for recordings that cannot be fitted, such as those without temperatures.
    """
    # it takes a while to load, and nothing else needs it
    from heatsoak.twin.fitting import fit as fit_recordings

    with _our_errors():
        return fit_recordings(_recordings(sources), None if base is None else load_drive(base))


def predict(
    subject: "Twin | PathText",
    load: Source = "write",
    *,
    enclosure: str | None = None,
    ambient_c: float | None = None,
    warmer_k: float = 0.0,
    airflow_m_s: float | None = None,
    heatsink: str | float | None = None,
    duration_s: float | None = None,
    holds_mb_s: float | None = None,
) -> "Prediction":
    """Return what a drive would do under a load: whether it throttles, when, and how far.

    `subject` is a twin, its file, or a drive of the catalog; `load` is ``read``, ``write``,
    ``randread``, ``randwrite``, ``PROTOCOL[:STEP]``, or a workload of your own: a recording, or the
    path of a trace, a recording or another tool's log. `warmer_k` is how much warmer the air is
    than it was, for a twin whose room nobody measured. `heatsink` is a place of the catalog whose
    heatsink is put on, or K/W. Without `duration_s` it runs for the step's time, all that was
    recorded, or ten minutes. Raises UsageError for what is unknown, or cannot be simulated.
    """
    # it takes a while to load, and nothing else needs it
    from heatsoak.twin.case import Cooling
    from heatsoak.twin.named import length_s
    from heatsoak.twin.predict import predict as prediction_of

    with _our_errors():
        workload, before = _workload(load)
        return prediction_of(
            _subject(subject),
            workload,
            duration_s or length_s(workload),
            before=before,
            enclosure=enclosure,
            cooling=Cooling(ambient_c, airflow_m_s, heatsink, warmer_k),
            holds_mb_s=holds_mb_s,
        )


def advise(
    subject: "Twin | PathText",
    load: Source = "write",
    *,
    enclosure: str | None = None,
    ambient_c: float | None = None,
    warmer_k: float = 0.0,
    airflow_m_s: float | None = None,
    duration_s: float | None = None,
    prices: Mapping[str, float] | None = None,
) -> "Advice":
    """Return how little cooling keeps a drive at full speed under a load, and what helps.

    `prices` are those of heatsinks by their names, in any currency; everything else is as
    :func:`predict` has it. The advice has resistances in K/W, air in m/s and C, and rates in MB/s.
    Raises UsageError for what is unknown, or cannot be simulated.
    """
    # it takes a while to load, and nothing else needs it
    from heatsoak.twin.advise import advise as advice_on
    from heatsoak.twin.case import Cooling
    from heatsoak.twin.named import length_s

    with _our_errors():
        workload, before = _workload(load)
        return advice_on(
            _subject(subject),
            workload,
            duration_s or length_s(workload),
            before=before,
            enclosure=enclosure,
            cooling=Cooling(ambient_c, airflow_m_s, None, warmer_k),
            prices=prices,
        )


def _subject(subject: "Twin | PathText") -> "Twin | Drive":
    from heatsoak.twin.named import subject_of

    return subject_of(os.fspath(subject)) if isinstance(subject, str | PathLike) else subject


def _workload(load: Source) -> "tuple[WorkloadStep | Demand, list[Before]]":
    from heatsoak.twin.demand import demand_of_recording
    from heatsoak.twin.named import workload_of

    if isinstance(load, recording.Recording):
        return demand_of_recording(load), []
    return workload_of(os.fspath(load))


def compare(
    *sources: Source | Iterable[Source],
    by: str,
    baseline: Label | None = None,
    anyway: bool = False,
    rank_by: str | None = None,
) -> Comparison:
    """Return how the measurements of recordings differ that differ in `by`.

    `by` is a condition's key, ``drive``, ``model`` or ``protocol``; `baseline` is the value that
    the others are compared with, by default ``none`` or the first; `rank_by` is a metric. Raises
    UsageError if there is nothing to compare, and if nothing was run alike, unless `anyway`.
    """
    chosen = None if baseline is None else str(baseline)
    with _our_errors():
        return compare_recordings(_recordings(sources), by, chosen, anyway, rank_by=rank_by)


def run(
    protocol: PathText | Protocol,
    on: str,
    *,
    to: str | None = None,
    settings: Mapping[str, object] | None = None,
    scale: float = 1.0,
    output: PathText | None = None,
    resume: bool = False,
) -> list[recording.Recording]:
    """Run a protocol on a simulated drive, and return the recordings: one for each cell.

    `protocol` is a bundled name, a file or a :class:`~heatsoak.protocol.Protocol`; `on` is
    ``sim:DRIVE[@PLACE]``, and `to` the destination of a copy. `settings` are what ``--set``
    takes; `scale` shrinks sizes and times. Recordings are written to `output`, by default a new
    directory below ``recordings``; with `resume`, what was cut short there is continued. Progress
    goes to standard error.

    Raises UsageError for a wrong argument and for a real drive, which only the command line runs;
    RunInterrupted when the user stops it (the recordings are kept).
    """
    for place in filter(None, (on, to)):
        if not place.startswith("sim:"):
            raise UsageError(
                f"{place}: only simulated drives (sim:DRIVE[@PLACE]) are run from Python; "
                "for a real one use the command line: heatsoak run"
            )
    if resume and output is None:
        raise UsageError("resume needs output, the directory of the run that was cut short")
    # these take a while to load, and opening and judging need none of them
    from heatsoak.bench.directories import default_directory
    from heatsoak.bench.session import plan_session

    words = [f"{key}={label_text(value)}" for key, value in (settings or {}).items()]
    with _our_errors():
        session = plan_session(
            parse_place(to or on),
            lambda: apply_settings(scaled(_protocol(protocol), scale), words),
            copy_from=_source_of_copy(on, to),
        )
        directory = default_directory(session.protocol.name) if output is None else Path(output)
        return session.record(directory, resume=resume)


def _source_of_copy(on: str, to: str | None) -> Callable[[], Place] | None:
    return None if to is None else lambda: parse_place(on)


def _protocol(protocol: PathText | Protocol) -> Protocol:
    return protocol if isinstance(protocol, Protocol) else load(str(protocol))


def _recordings(sources: Iterable[Source | Iterable[Source]]) -> list[recording.Recording]:
    """All recordings in the given order; paths beside each other are opened together.

    Logs of the same time become one recording only where they are opened together.
    """
    found: list[recording.Recording] = []
    for is_open, group in groupby(
        _flat(sources), key=lambda one: isinstance(one, recording.Recording)
    ):
        if is_open:
            found += [one for one in group if isinstance(one, recording.Recording)]
        else:
            found += importer.open_all(
                [Path(one) for one in group if not isinstance(one, recording.Recording)]
            )
    if not found:
        raise UsageError("no recordings were given")
    return recording.without_copies(found)[0]


def _flat(sources: Iterable[Source | Iterable[Source]]) -> Iterator[Source]:
    for one in sources:
        if isinstance(one, (recording.Recording, str, PathLike)):
            yield one
        else:
            yield from one


@contextmanager
def _our_errors() -> Iterator[None]:
    """Raise what the system complains of as one of ours."""
    try:
        yield
    except OSError as error:
        raise of_os_error(error) from error
