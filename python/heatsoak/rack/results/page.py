"""The page of a rack: who passes, where, and what places and drives do."""

import time
from collections.abc import Sequence

import numpy as np

import heatsoak
from heatsoak.protocol.phrases import listed, plain
from heatsoak.rack.results.compared import natural
from heatsoak.rack.results.findings import RackEffect, RackMeasure, RackReport, RackTestResult
from heatsoak.rack.results.reading import HOST, Results
from heatsoak.report import words
from heatsoak.report.page.contract import (
    Headline,
    Page,
    RackDriveLine,
    RackGroup,
    RackMetric,
    RackPoint,
    RackSection,
    RackTile,
)
from heatsoak.report.page.packing import Packer

_UNITS = {"mean_iops": "IOPS", "depth_pct": "%", "max_temp_c": "C", "onset_s": "s"}
_DIGITS = 4


def rack_page(found: RackReport, rack: Results) -> Page:
    """Return the page of what a rack's recordings show."""
    count = words.counted(len(found.drives), "drive")
    hosts = {one.host for one in found.tests if one.host}
    where = f" in {words.counted(len(hosts), 'host')}" if hosts else ""
    what = f": {listed([plain(one) for one in found.protocols])}" if found.protocols else ""
    return Page(
        title=f"Rack of {count}{where}{what}",
        made_by=f"heatsoak {heatsoak.__version__}",
        made_unix_s=time.time(),
        headline=Headline(
            text=found.sentence,
            tone="good" if found.passed == len(found.drives) else "bad",
            more=[],
            counts={},
        ),
        recordings=[],
        workloads=[],
        matrix=None,
        bars=[],
        curves=[],
        comparisons=[],
        rack=_section(found, rack),
        notes=[f"{one[:1].upper()}{one[1:]}." for one in found.not_compared],
        data=Packer().data(),
    )


def _section(found: RackReport, rack: Results) -> RackSection:
    row_key = HOST if any(one.host for one in found.tests) else next(iter(found.place_labels), "")
    column_keys = [label for label in found.place_labels if label != row_key]
    in_places = [(_place(one, [row_key]), _place(one, column_keys)) for one in found.tests]
    rows = sorted({row for row, _ in in_places}, key=natural)
    columns = sorted({column for _, column in in_places}, key=natural)
    drives = [one.drive for one in found.drives]
    tiles: dict[tuple[int, int, int], list[RackTestResult]] = {}
    for test, (row, column) in zip(found.tests, in_places, strict=True):
        tile = rows.index(row), columns.index(column), drives.index(test.drive)
        tiles.setdefault(tile, []).append(test)
    unlike = {one.drive for one in found.outliers}
    lines = {one.drive: list(one.line) for one in reversed(rack.tests)}
    return RackSection(
        row_label=plain(row_key),
        column_label=", ".join(map(plain, column_keys)),
        rows=rows,
        columns=columns,
        metrics=[_metric(one) for one in found.measures],
        drives=[
            RackDriveLine(
                drive=one.drive,
                model=one.model or "",
                firmware=one.firmware or "",
                where=one.where,
                verdict=one.verdict,
                is_unlike=one.drive in unlike,
                why=one.told,
                line=lines[one.drive],
            )
            for one in found.drives
        ],
        tiles=[
            RackTile(
                row=row,
                column=column,
                drive=drive,
                values=[_mean(tests, measure) for measure in found.measures],
            )
            for (row, column, drive), tests in sorted(tiles.items())
        ],
    )


def _place(test: RackTestResult, keys: Sequence[str]) -> str:
    return ", ".join(test.labels.get(key, "") for key in keys)


def _mean(tests: Sequence[RackTestResult], measure: RackMeasure) -> float | None:
    values = [one.values.get(measure.step, {}).get(measure.measure) for one in tests]
    known = [value for value in values if value is not None]
    return _short(float(np.mean(known))) if known else None


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _tenths(effect: float) -> float:
    return round(effect, 1) + 0.0  # never -0.0


def _metric(one: RackMeasure) -> RackMetric:
    models = list(dict.fromkeys(drive.model for drive in one.drives))
    return RackMetric(
        label=one.name,
        unit=_UNITS.get(one.measure, "MB/s"),
        worse=one.worse,
        effect_unit=one.unit,
        sentence=one.sentence,
        places=[
            RackGroup(
                title=plain(place.label),
                points=[_point(each.place, each.effect, one) for each in place.places],
                why_unknown=place.why_unknown,
            )
            for place in one.places
        ],
        drives=[
            RackGroup(
                title=model,
                points=[
                    _point(drive.drive, drive.own or drive.measured, one)
                    for drive in one.drives
                    if drive.model == model
                ],
            )
            for model in models
        ],
    )


def _point(name: str, effect: RackEffect | float, measure: RackMeasure) -> RackPoint:
    if isinstance(effect, float):
        return RackPoint(name=name, at=_tenths(effect), low=None, high=None, verdict="same")
    is_low = effect.high < 0
    verdict = "worse" if is_low == (measure.worse == "low") else "better"
    return RackPoint(
        name=name,
        at=_tenths(effect.value),
        low=_tenths(effect.low),
        high=_tenths(effect.high),
        verdict=verdict if is_low or effect.low > 0 else "same",
    )
