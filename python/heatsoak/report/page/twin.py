"""A twin on the page: what it makes of recordings, and of other air and other cooling."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from heatsoak.analysis import RecordingFindings
from heatsoak.analysis.names import ENCLOSURE, Named, Names
from heatsoak.analysis.series import Array
from heatsoak.errors import UsageError
from heatsoak.output import Progress
from heatsoak.protocol import kind_of_condition
from heatsoak.protocol.conditions import label_of
from heatsoak.recording import Recording
from heatsoak.report.page.contract import (
    ChartSeries,
    CoolingMap,
    Fact,
    Range,
    TwinLine,
    TwinSection,
)
from heatsoak.report.page.tracks import AUXILIARY, SENSOR, QuantitySeries
from heatsoak.words import amount_text, counted, kelvin_text, listed

if TYPE_CHECKING:
    # twins take a while to load, and every report would wait for them
    from heatsoak.twin import Prediction, Twin
    from heatsoak.twin.cooling_map import CoolingMap as TwinMap
    from heatsoak.twin.readings import Measured

#: What a model says is drawn to a tenth of a kelvin: it is off by more.
_DECIMALS = 1


def _section(
    twin: "Twin", lines: list[TwinLine], left_out: list[Fact], maps: list[CoolingMap]
) -> TwinSection:
    limit = next(one for one in twin.parameters if one.name == "limit_c")
    fitted = counted(len(twin.recordings), "recording")
    return TwinSection(
        answer=twin.answer,
        detail=f"{twin.model or twin.base}, fitted to {fitted} "
        f"in {counted(len(twin.places), 'place')}",
        told=twin.told,
        limit_c=_rounded([limit.low, limit.value, limit.high], 1) if twin.throttled else None,
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
    twin: "Twin",
    names: Names,
    findings: Sequence[RecordingFindings],
    add: Callable[[QuantitySeries], ChartSeries],
    progress: Progress | None = None,
) -> TwinSection:
    """Return what a twin makes of recordings, and a map for each of their places.

    A recording that it cannot follow, such as one made elsewhere, is left out with the reason.
    Raises UsageError for a recording of another drive, and if it follows none.
    """
    from heatsoak.twin.cooling_map import cooling_map
    from heatsoak.twin.readings import measure

    lines: list[TwinLine] = []
    by_place: dict[str, list[TwinLine]] = {}
    left_out = []
    for number, (named, judged) in enumerate(zip(names.recordings, findings, strict=True)):
        try:
            measured = measure(named.recording, judged)
        except UsageError as error:
            reason = str(error).removeprefix(f"{named.recording.path_text}: ")
            left_out.append(Fact(name=named.label, text=reason))
            continue
        twin.refuse_other(measured)
        if measured.place in twin.places:
            lines.append(_followed(twin, number, named, measured, add))
            by_place.setdefault(measured.place, []).append(lines[-1])
        else:
            place = _place(named.recording)
            reason = f"made in a place that the twin was not fitted to: {place}"
            left_out.append(Fact(name=named.label, text=reason))
    if not lines:
        first = left_out[0]
        raise UsageError(f"the twin follows no recording: {first.name}: {first.text}")
    is_mapped = twin.throttled and not twin.denial
    places = list(by_place) if is_mapped else []
    maps = [
        _map(twin, cooling_map(twin, place, progress=_part(progress, number, len(places))), here)
        for number, place in enumerate(places)
        if (here := by_place[place])
    ]
    return _section(twin, lines, left_out, maps)


def _part(progress: Progress | None, number: int, count: int) -> Progress | None:
    """The progress of one map among several."""
    if progress is None:
        return None
    return lambda done, _: progress((number + done) / count, f"map {number + 1} of {count}")


def _followed(
    twin: "Twin",
    number: int,
    named: Named,
    measured: "Measured",
    add: Callable[[QuantitySeries], ChartSeries],
) -> TwinLine:
    found = twin.follow(measured)
    t_s = found["t_s"].to_numpy()
    reading_t_s = measured.reading_t_s + measured.first_s
    courses = {"measured": _course("measured", measured.sensor, reading_t_s, measured.reading_c)}
    for name, column in (
        ("reported", "reported_c"),
        ("hidden", "hidden_c"),
        ("low", "low_c"),
        ("high", "high_c"),
    ):
        values = np.round(found[column].to_numpy(), _DECIMALS)
        courses[name] = replace(_course(name, name, t_s, values), importance=AUXILIARY)
    off_k = measured.reading_c - np.interp(reading_t_s, t_s, found["reported_c"].to_numpy())
    return TwinLine(
        recording=number,
        label=named.label,
        place=_place(named.recording),
        summary=_summary(measured, float(np.sqrt(np.mean(off_k**2)))),
        **{name: add(course) for name, course in courses.items()},
        onsets_s=[round(onset.t_s + measured.first_s, 1) for onset in measured.onsets],
        end_s=round(float(measured.t_s[-1]) + measured.first_s, 3),
    )


def _course(name: str, label: str, t_s: Array, values: Array) -> QuantitySeries:
    return QuantitySeries(name, label, "temperature", "C", t_s, values, SENSOR)


def _place(recording: Recording) -> str:
    """A place in words, by its conditions about cooling."""
    told = recording.meta.conditions
    keys = [key for key in told if kind_of_condition(key) == "cooling"]
    # a simulated place is known by what it stands for
    keys = [key for key in keys if key != ENCLOSURE] or keys
    return label_of(told, keys).removeprefix("place ") or "where it was recorded"


def _summary(measured: "Measured", rms_k: float) -> str:
    close = f"The twin's sensor is within {kelvin_text(rms_k)} of the measured one (rms)."
    if not measured.onsets:
        return f"{close} Heat did not slow the drive."
    times = [amount_text(onset.t_s + measured.first_s, "s", 1) for onset in measured.onsets]
    shown = listed(times, 3)
    return f"{close} Heat began to slow the drive after {shown} of the recording."


def _map(twin: "Twin", found: "TwinMap", here: Sequence[TwinLine]) -> CoolingMap:
    points = [point for row in found.points for point in row]
    own = found.own
    assert own is not None  # a drive that was recorded there can be there
    air = next(one for one in twin.parameters if one.name == f"air_c@{found.place}")
    return CoolingMap(
        place=here[0].place,
        workload=found.workload,
        duration_s=found.duration_s,
        recordings=len(here),
        throttled=sum(bool(one.onsets_s) for one in here),
        full_mb_s=own.full_mb_s,
        air_c=[round(air_c, 1) for air_c in found.air_c],
        own_air=found.own_air,
        air_range_c=(round(air.low, 1), round(air.high, 1)),
        k_per_w=[round(k_per_w, 2) for k_per_w in found.k_per_w],
        own_k_per_w=found.own_k_per_w,
        cliff=None if own.cliff is None else own.cliff.sentence,
        throttles=[None if point is None else point.throttles for point in points],
        onset_s=[_range(point, "onset_s", 0) for point in points],
        depth_pct=[_range(point, "depth_pct", 1) for point in points],
        throttled_mb_s=[_range(point, "throttled_mb_s", 0) for point in points],
        max_temp_c=[
            None if point is None else round(point.max_reported_temp_c[1], 1) for point in points
        ],
    )


def _range(point: "Prediction | None", name: str, digits: int) -> Range | None:
    values = None if point is None else getattr(point, name)
    return None if values is None else _rounded(values, digits)


def _rounded(values: Sequence[float], digits: int) -> Range:
    low, middle, high = (round(value, digits) for value in values)
    return low, middle, high
