"""The page's colours, for pictures that look the same; the page reads ``palette.json`` too."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from heatsoak.report.page.contract import Page, PageRecording

#: A condition with more values than there are colours is not shown by colour.
_MAX_MAINS = 8


@dataclass(frozen=True)
class LineStyle:
    """How a recording's lines look: a colour, and lengths of dashes and gaps; empty for solid."""

    color: str
    dashes: tuple[float, ...]


@cache
def palette() -> Mapping[str, Any]:
    """Return the colours of both themes, line patterns, and the look of causes."""
    text = (files("heatsoak.report.page") / "palette.json").read_text("utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


def line_styles(page: Page, shade: str = "light") -> list[LineStyle]:
    """Return one style per recording, the same as on the page.

    Sets of conditions differ by colour while there are enough colours; otherwise the main condition
    determines the colour, and the others together the pattern. Repeated runs differ by pattern, or
    by colour if all recordings are runs of the same.
    """
    colors, dashes = palette()[shade]["lines"], palette()["dashes"]
    sets = [recording.color for recording in page.recordings]
    if len(set(sets)) == 1:
        turns = [divmod(number, len(colors)) for number in range(len(sets))]
        return [LineStyle(colors[at], tuple(dashes[turn % len(dashes)])) for turn, at in turns]
    if len(set(sets)) <= len(colors):
        runs = [sets[:number].count(own) for number, own in enumerate(sets)]
        return [
            LineStyle(colors[place], tuple(dashes[run % len(dashes)]))
            for place, run in zip(_places(sets), runs, strict=True)
        ]
    main = _main_condition(page)
    if not main:
        # the colours are reused, each time with another pattern
        rounds = [
            divmod(place, len(colors))
            for place in _places([str(recording.color) for recording in page.recordings])
        ]
        return [LineStyle(colors[at], tuple(dashes[turn % len(dashes)])) for turn, at in rounds]
    mains, rests = zip(*(_split(recording, main) for recording in page.recordings), strict=True)
    return [
        LineStyle(colors[one % len(colors)], tuple(dashes[other % len(dashes)]))
        for one, other in zip(_places(mains), _places(rests), strict=True)
    ]


def beside(style: LineStyle, place: int, shade: str = "light") -> LineStyle:
    """Return the style of a recording's measurement number `place`, where several are drawn."""
    colors = palette()[shade]["lines"]
    return LineStyle(colors[(colors.index(style.color) + place) % len(colors)], style.dashes)


def _split(recording: PageRecording, main: str) -> tuple[str, str]:
    conditions = recording.findings.conditions
    return str(conditions.get(main)), str({k: v for k, v in conditions.items() if k != main})


def _main_condition(page: Page) -> str:
    if page.matrix is not None:
        return page.matrix.row_key
    values: dict[str, set[str]] = {}
    for recording in page.recordings:
        for key, value in recording.findings.conditions.items():
            values.setdefault(key, set()).add(str(value))
    ranked = sorted(values, key=lambda key: -len(values[key]))
    return next((key for key in ranked if 1 < len(values[key]) <= _MAX_MAINS), "")


def _places(values: Any) -> list[int]:
    known = list(dict.fromkeys(values))
    return [known.index(value) for value in values]
