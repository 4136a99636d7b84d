"""The page's colours, and how lines look: for the page, and for pictures that look the same."""

import json
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from heatsoak.analysis.names import Names
from heatsoak.report.page.contract import LineStyle


@cache
def palette() -> Mapping[str, Any]:
    """Return the colours of both themes, line patterns, and the look of causes.

    The lines' colours are four, since not many more can be told apart by everybody: with each
    colour, five patterns of dashes follow the solid line.
    """
    text = (files("heatsoak.report.page") / "palette.json").read_text("utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


def line_styles(names: Names) -> list[LineStyle]:
    """Return a style for each recording: the fifth line is the first that is dashed.

    Sets of conditions differ by colour, or by pattern too if there are more than colours; repeated
    runs differ by pattern, or by colour if all recordings are runs of the same. If two patterns are
    not enough, sets take the colour from the condition with the most values that there are colours
    for, and the pattern from the others together.
    """
    colors, patterns = len(palette()["light"]["lines"]), len(palette()["dashes"])
    sets = [one.color for one in names.recordings]
    count = len(set(sets))
    if count == 1:
        return [LineStyle(color=n % colors, dash=n // colors % patterns) for n in range(len(sets))]
    if count > 2 * colors and (main := _main_condition(names, colors)):
        values = [str(one.conditions.get(main)) for one in names.recordings]
        others = [key for key in names.keys if key != main]
        rests = [str([one.conditions.get(key) for key in others]) for one in names.recordings]
        if len(set(rests)) <= patterns:
            return [
                LineStyle(color=color, dash=dash)
                for color, dash in zip(_places(values), _places(rests), strict=True)
            ]
    rows = -(-count // colors)
    runs = [sets[:number].count(own) for number, own in enumerate(sets)]
    return [
        LineStyle(color=place % colors, dash=(place // colors + rows * run) % patterns)
        for place, run in zip(_places(sets), runs, strict=True)
    ]


def _main_condition(names: Names, most: int) -> str | None:
    """The condition with the most values, up to as many as there are colours."""
    values = {key: {str(one.conditions.get(key)) for one in names.recordings} for key in names.keys}
    fitting = [key for key, found in values.items() if len(found) <= most]
    return max(fitting, key=lambda key: len(values[key]), default=None)


def _places(values: Sequence[Hashable]) -> list[int]:
    known = list(dict.fromkeys(values))
    return [known.index(value) for value in values]
