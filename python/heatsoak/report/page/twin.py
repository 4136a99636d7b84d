"""A twin on the page: what it makes of recordings, and of other air and other cooling."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import floor

import numpy as np

from heatsoak import words
from heatsoak.analysis import RecordingFindings
from heatsoak.analysis.names import ENCLOSURE, Named, Names
from heatsoak.analysis.series import Array
from heatsoak.errors import UsageError
from heatsoak.output import Progress
from heatsoak.protocol import kind_of_condition
from heatsoak.protocol.conditions import label_of
from heatsoak.ranges import Range
from heatsoak.recording import Recording
from heatsoak.report.page import contract, tracks
from heatsoak.twin.case import Cooling, WorkloadCase
from heatsoak.twin.named import USUAL_S, step_of
from heatsoak.twin.predict import Prediction, told
from heatsoak.twin.readings import MeasuredRecording, measure
from heatsoak.twin.twin import Twin

#: What a model says is drawn to a tenth of a kelvin: it is off by more.
_DECIMALS = 1
#: Air temperatures of a map: from a cool cellar to the air under a loaded graphics card.
_AIR_C = (12.0, 56.0)
_AIR_STEP_K = 4.0
#: Its resistances to the air: from a large heatsink in a flow of air to half as much again as a
#: bare module has in still air, which is 9 to 10 K/W.
_K_PER_W = (2.0, 14.0)
_RESISTANCES = 8


def _section(
    twin: Twin,
    lines: list[contract.TwinLine],
    left_out: list[contract.NamedValue],
    maps: list[contract.CoolingMap],
) -> contract.TwinSection:
    limit = next(one for one in twin.parameters if one.name == "limit_c")
    fitted = words.counted(len(twin.recordings), "recording")
    return contract.TwinSection(
        answer=twin.answer,
        detail=f"{twin.model or twin.base}, fitted to {fitted} "
        f"in {words.counted(len(twin.places), 'place')}",
        told=twin.told,
        limit_c=limit.range.rounded(1) if twin.throttled else None,
        lines=lines,
        left_out=left_out,
        maps=maps,
        no_map=f"No map of when it would throttle: {twin.denial}."
        if twin.denial
        else None
        if twin.throttled
        else f"{twin.answer} So there is no map of when it would throttle: that would only "
        "show what other drives of its class do.",
    )


def twin_section(
    twin: Twin,
    names: Names,
    findings: Sequence[RecordingFindings],
    add: Callable[[tracks.QuantitySeries], contract.ChartSeries],
    progress: Progress | None = None,
) -> contract.TwinSection:
    """Return what a twin makes of recordings, and a map for each of their places.

    A recording that it cannot follow, such as one made elsewhere, is left out with the reason.
    Raises UsageError for a recording of another drive, and if it follows none.
    """
    lines: list[contract.TwinLine] = []
    by_place: dict[str, list[contract.TwinLine]] = {}
    left_out = []
    for number, (named, judged) in enumerate(zip(names.recordings, findings, strict=True)):
        try:
            measured = measure(named.recording, judged)
        except UsageError as error:
            reason = str(error).removeprefix(f"{named.recording.path_text}: ")
            left_out.append(contract.NamedValue(name=named.label, text=reason))
            continue
        twin.refuse_other(measured)
        if measured.place in twin.places:
            lines.append(_followed(twin, number, named, measured, add))
            by_place.setdefault(measured.place, []).append(lines[-1])
        else:
            place = _place(named.recording)
            reason = f"made in a place that the twin was not fitted to: {place}"
            left_out.append(contract.NamedValue(name=named.label, text=reason))
    if not lines:
        first = left_out[0]
        raise UsageError(f"the twin follows no recording: {first.name}: {first.text}")
    is_mapped = twin.throttled and not twin.denial
    places = list(by_place) if is_mapped else []
    maps = [
        _map(twin, place, by_place[place], _part(progress, number, len(places)))
        for number, place in enumerate(places)
    ]
    return _section(twin, lines, left_out, maps)


def _part(progress: Progress | None, number: int, count: int) -> Progress | None:
    """The progress of one map among several."""
    if progress is None:
        return None
    return lambda done, _: progress((number + done) / count, f"map {number + 1} of {count}")


def _followed(
    twin: Twin,
    number: int,
    named: Named,
    measured: MeasuredRecording,
    add: Callable[[tracks.QuantitySeries], contract.ChartSeries],
) -> contract.TwinLine:
    found = twin.follow(measured)
    t_s = found["t_s"].to_numpy()
    reading_t_s = measured.reading_t_s + measured.first_s
    courses = {"measured": _course("measured", measured.sensor, reading_t_s, measured.reading_c)}
    for name in ("reported", "hidden", "low", "high"):
        values = np.round(found[f"{name}_c"].to_numpy(), _DECIMALS)
        courses[name] = replace(_course(name, name, t_s, values), importance=tracks.AUXILIARY)
    off_k = measured.reading_c - np.interp(reading_t_s, t_s, found["reported_c"].to_numpy())
    return contract.TwinLine(
        recording=number,
        label=named.label,
        place=_place(named.recording),
        summary=_summary(measured, float(np.sqrt(np.mean(off_k**2)))),
        **{name: add(course) for name, course in courses.items()},
        onsets_s=[round(onset.t_s + measured.first_s, 1) for onset in measured.onsets],
        end_s=round(float(measured.t_s[-1]) + measured.first_s, 3),
    )


def _course(name: str, label: str, t_s: Array, values: Array) -> tracks.QuantitySeries:
    return tracks.QuantitySeries(name, label, "temperature", "C", t_s, values, tracks.SENSOR)


def _place(recording: Recording) -> str:
    """A place in words, by its conditions about cooling."""
    told = recording.meta.conditions
    keys = [key for key in told if kind_of_condition(key) == "cooling"]
    # a simulated place is known by what it stands for
    keys = [key for key in keys if key != ENCLOSURE] or keys
    return label_of(told, keys).removeprefix("place ") or "where it was recorded"


def _summary(measured: MeasuredRecording, rms_k: float) -> str:
    close = f"The twin's sensor is within {words.kelvin_text(rms_k)} of the measured one (rms)."
    if not measured.onsets:
        return f"{close} Heat did not slow the drive."
    times = [words.amount_text(onset.t_s + measured.first_s, "s", 1) for onset in measured.onsets]
    shown = words.listed(times, 3)
    return f"{close} Heat began to slow the drive after {shown} of the recording."


def _map(
    twin: Twin, place: str, here: Sequence[contract.TwinLine], progress: Progress | None
) -> contract.CoolingMap:
    """What other air and other cooling would make of the twin's full load in a place.

    Air is the place's own, warmed by so many kelvins: where nobody measured the room, the twin
    knows only how far its limit is above it.
    """
    full = twin.full_load
    step, _ = step_of("read" if full.read_mb_s > full.write_mb_s else "write")
    case = WorkloadCase.of(twin, step, USUAL_S, enclosure=place)
    resistance = twin.estimate("air_k_per_w", place)
    assert resistance is not None
    air = next(one for one in twin.parameters if one.name == f"air_c@{place}")
    airs_k, own_air = _airs_k(air.value)
    factors, own_factor = _factors(resistance.value)
    points: list[Prediction | None] = []
    for factor in factors:
        for warming_k in airs_k:
            points.append(_point(case, Cooling(warming_k=warming_k, k_per_w_x=factor)))
            if progress is not None:
                progress(len(points) / (len(factors) * len(airs_k)), f"map of {place}")
    own = points[own_factor * len(airs_k) + own_air]
    assert own is not None  # a drive that was recorded there can be there
    return contract.CoolingMap(
        place=here[0].place,
        workload=step.describe(),
        duration_s=USUAL_S,
        recordings=len(here),
        throttled=sum(bool(one.onsets_s) for one in here),
        full_mb_s=own.full_mb_s,
        air_c=[round(air.value + warming_k, 1) for warming_k in airs_k],
        own_air=own_air,
        air_range_c=air.range.rounded(1),
        k_per_w=[round(resistance.value * factor, 2) for factor in factors],
        own_k_per_w=own_factor,
        cliff=None if own.cliff is None else own.cliff.sentence,
        throttles=[None if point is None else point.throttles for point in points],
        onset_s=[_range(point, "onset_s", 0) for point in points],
        depth_pct=[_range(point, "depth_pct", 1) for point in points],
        throttled_mb_s=[_range(point, "throttled_mb_s", 0) for point in points],
        max_temp_c=[
            None if point is None else round(point.max_reported_temp_c.mid, 1) for point in points
        ],
    )


def _point(case: WorkloadCase, cooling: Cooling) -> Prediction | None:
    try:
        return told(case, cooling)
    except UsageError:  # too hot even at rest
        return None


def _airs_k(own_c: float) -> tuple[list[float], int]:
    """How much warmer than its own the air is, column by column, and where it is its own."""
    low, high = min(_AIR_C[0], own_c - 2 * _AIR_STEP_K), max(_AIR_C[1], own_c + 2 * _AIR_STEP_K)
    below, above = floor((own_c - low) / _AIR_STEP_K), floor((high - own_c) / _AIR_STEP_K)
    return [_AIR_STEP_K * count for count in range(-below, above + 1)], below


def _factors(own_k_per_w: float) -> tuple[list[float], int]:
    """What the resistance is multiplied by, row by row, and where it is its own."""
    low = min(_K_PER_W[0] / own_k_per_w, 0.5)
    high = max(_K_PER_W[1] / own_k_per_w, 1.5)
    steps = _RESISTANCES - 1
    below = min(max(round(steps * (1 - low) / (high - low)), 1), steps - 1)
    rows = [*np.linspace(low, 1, below, endpoint=False), *np.linspace(1, high, steps - below + 1)]
    return [float(row) for row in rows], below


def _range(point: Prediction | None, name: str, digits: int) -> Range | None:
    of: Range | None = getattr(point, name, None)
    return of and of.rounded(digits)
