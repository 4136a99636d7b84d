"""Writes the tables and pictures of benches/validation.md: ``make validation``.

Everything between that page's markers is what this prints. ``--leave-one-out FILE`` skips the
minutes of fits and shows what ``heatsoak calibrate --leave-one-out --format json`` wrote into
that file; ``--only coolings`` or ``modern`` writes what is said of heatsinks and fans, or of modern
drives, and nothing else.
"""

import argparse
import json
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
from heatsoak.catalog import ModernFigure, left_out, load_drive, load_enclosure
from heatsoak.cli.common import progress_bar
from heatsoak.reproduce import (
    FigureSet,
    Nearness,
    Question,
    ReproductionRow,
    left_out_drives,
    nearness,
    questions,
    reproduce,
)
from heatsoak.reproduce.rows import SPEEDS, STATED, TEMPERATURES, kind_of
from heatsoak.twin import named
from heatsoak.twin.predict import Prediction, predict
from heatsoak_dev import calibration
from heatsoak_dev.commands.calibrate import (
    fit_table,
    leave_one_out_table,
    loose_table,
    parameter_table,
    sites_table,
    summary_table,
)
from matplotlib.axes import Axes
from matplotlib.figure import Figure

BENCHES = Path(__file__).parent
PAGE = BENCHES / "validation.md"
PICTURES = BENCHES / "validation"

# from Okabe and Ito's palette, which the colour-blind can distinguish
MODEL, EFFECTS, BAND = "#0072B2", "#D55E00", "#DDDDDD"
#: The measures that give a rate.
RATES = ("peak_mb_s", "steady_mean_iops", "lower_level_iops", "upper_level_iops")
SLOTS = {"bottom": "o", "top": "s", "upright": "^", "underside": "D"}


def main() -> None:
    """Write the page and its pictures."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--leave-one-out", type=Path, metavar="FILE")
    arguments.add_argument("--only", choices=["coolings", "modern"])
    given = arguments.parse_args()
    if given.only != "modern":
        write_parts(coolings())
    if given.only != "coolings":
        write_parts(modern_parts(Modern.measured()))
    if given.only is not None:
        return
    found, second, _ = (
        calibration.check_calibration(stage=stage).as_dict() for stage in calibration.STAGES
    )
    if given.leave_one_out is None:
        with progress_bar() as progress:
            predicted = calibration.leave_one_out(progress=progress).as_dict()
    else:
        predicted = json.loads(given.leave_one_out.read_text("utf-8"))
    # the same numbers give the same bytes
    mpl.rcParams.update({"svg.hashsalt": "heatsoak", "font.size": 9, "axes.grid": True})
    mpl.rcParams.update({"grid.color": "#eeeeee", "axes.axisbelow": True, "svg.fonttype": "none"})
    PICTURES.mkdir(exist_ok=True)
    draw_fit(found)
    draw_leave_one_out(predicted)
    parts = {
        "fit": table(*fit_table(found["rows"])),
        "counts": counts(found),
        "leave-one-out": table(*leave_one_out_table(predicted)),
        "summary": table(*summary_table(predicted)),
        "parameters": table(*parameter_table(found)),
        "loose": table(*loose_table(found)),
        "second-fit": table(*fit_table(second["rows"])),
        "second-counts": counts(second),
        "second-parameters": table(*parameter_table(second)),
        "second-loose": table(*loose_table(second)),
        "rates": rate_table(reproduce([q for q in questions() if is_rate(q)])),
    }
    write_parts(parts)


def coolings() -> dict[str, str]:
    """How pairs of coolings are predicted from those of other sites; printed, too."""
    with progress_bar() as progress:
        header, rows = sites_table(calibration.sites_left_out(progress))
    print(table(header, rows))
    return {"coolings": table(header, rows[-2:])}


def modern_parts(modern: "Modern") -> dict[str, str]:
    return {
        "modern": modern_table(modern),
        "modern-counts": modern_counts(modern),
        "modern-near": near_table(modern),
        "modern-yes-or-no": yes_or_no_table(modern),
        "modern-errors": error_table(modern),
        "modern-ranges": ranges_text(modern),
    }


def write_parts(parts: dict[str, str]) -> None:
    """Put the parts between their markers on the page."""
    page = PAGE.read_text("utf-8")
    for name, text in parts.items():
        between = re.compile(f"(<!-- {name} -->\n).*?(<!-- end {name} -->)", re.S)
        marked = between.split(page)
        if len(marked) != 4:
            sys.exit(f"{PAGE}: there have to be markers for '{name}', once")
        before, begin, end, after = marked
        page = f"{before}{begin}{text}\n{end}{after}"
    PAGE.write_text(page, "utf-8")


# ---- tables


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown, numbers to the right."""
    marks = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, marks, *rows))


def counts(found: dict[str, Any]) -> str:
    held = sum(row["ok"] for row in found["rows"])
    return (
        f"{len(found['parameters'])} parameters, {found['figures_fitted']} figures, "
        f"{held} of them within tolerance."
    )


@dataclass(frozen=True)
class Modern:
    """The modern figures, simulated by the catalog's drives and by drives left out."""

    asked: list[Question]
    rows: list[ReproductionRow]
    left_out: list[ReproductionRow]

    @classmethod
    def measured(cls) -> "Modern":
        asked = questions(figure_set=FigureSet.MODERN)
        left_out = reproduce(asked, drives=left_out_drives(asked))
        return cls(asked, reproduce(asked), left_out)

    def simulated(self) -> list[tuple[ReproductionRow, ReproductionRow]]:
        """The rows of both, without what drives state, which is not simulated."""
        return [
            (row, without)
            for question, row, without in zip(self.asked, self.rows, self.left_out, strict=True)
            if kind_of(question) != STATED
        ]


def modern_table(modern: Modern) -> str:
    def number(row: ReproductionRow, value: float | None) -> str:
        if value is None:
            return "n/a"
        return str(bool(value)).lower() if row.metric == "throttles" else f"{value:.3g}"

    def published(row: ReproductionRow) -> str:
        tolerance = f" ± {row.tolerance:g}" if row.tolerance else ""
        return "-".join(number(row, end) for end in dict.fromkeys(row.published)) + tolerance

    def cells(row: ReproductionRow) -> list[str]:
        return [number(row, row.simulated), "yes" if row.ok else "no"]

    header = ["figure", "published", "role", "simulated", "holds", "left out", "holds"]
    return table(
        header,
        [
            [row.id, published(row), row.role, *cells(row), *cells(without)]
            for row, without in modern.simulated()
        ],
    )


def modern_counts(modern: Modern) -> str:
    def held(role: str) -> str:
        of_role = [row.ok for row, _ in modern.simulated() if row.role == role]
        return f"{sum(of_role)} of {len(of_role)} {role}"

    return (
        f"{len(modern.simulated())} figures: {held('fitted')}, {held('known')} and "
        f"{held('predicted')} hold."
    )


def near_table(modern: Modern) -> str:
    """How near the figures of each kind come, simulated and left out."""
    both = [
        {one.kind: one for one in nearness(modern.asked, rows)}
        for rows in (modern.rows, modern.left_out)
    ]

    def cells(one: Nearness) -> list[str]:
        near = "" if one.near_share is None else f"{one.near} within {one.near_share:.0%}"
        return [f"{one.held} of {one.count}", near]

    rows = [[kind, *(cell for of in both for cell in cells(of[kind]))] for kind in both[0]]
    under = [
        pair
        for question, *pair in zip(modern.asked, modern.rows, modern.left_out, strict=True)
        if is_under_heatsink(question)
    ]
    found = (nearness_k(list(rows_of)) for rows_of in zip(*under, strict=True))
    rows.append(["of those, under heatsinks", *(cell for of in found for cell in of)])
    return table(["", "hold", "near", "hold left out", "near left out"], rows)


def is_under_heatsink(question: Question) -> bool:
    """Whether a figure is a temperature, or a difference of some, of a drive under a heatsink."""
    figure = question.figure
    if question.measured is None or not isinstance(figure, ModernFigure):
        return False
    if not figure.metric.endswith(("_c", "_k")):
        return False
    places = [load_enclosure(place) for place in question.measured.places]
    is_cooled = any(place.conditions.get("heatsink", "none") != "none" for place in places)
    return is_cooled and kind_of(question) == TEMPERATURES


def nearness_k(rows: list[ReproductionRow]) -> list[str]:
    """How many hold, and how many are within :data:`NEAR_K` of what was printed."""
    near = [
        row.simulated is not None
        and row.published[0] - NEAR_K <= row.simulated <= row.published[1] + NEAR_K
        for row in rows
    ]
    return [
        f"{sum(row.ok for row in rows)} of {len(rows)}",
        f"{sum(near)} within {NEAR_K:.0f} K",
    ]


#: What counts as near of a temperature under a heatsink.
NEAR_K = 8.0
#: Two lines of arithmetic: a bare drive in still air is so much warmer than it for each watt, and
#: half of that under a heatsink or in moving air; it throttles from here on.
BARE_K_PER_W, THROTTLES_C = 12.5, 80.0
#: What a drive draws that nobody measured.
USUAL_W = 6.0


def by_arithmetic(question: Question) -> bool:
    """Whether a drive throttles by its watts and the air alone."""
    assert question.measured is not None
    (place,) = question.measured.places
    assert isinstance(question.figure, ModernFigure)
    enclosure, rated = load_enclosure(place), load_drive(question.figure.drive_id or "").rated
    step = question.measured.only or ""
    power = rated.read_w if "read" in step else rated.write_w
    is_cooled = enclosure.conditions.get("heatsink", "none") != "none"
    is_cooled |= enclosure.air_speed_m_s is not None and enclosure.air_speed_m_s.value > 0
    k_per_w = BARE_K_PER_W / (2 if is_cooled else 1)
    hottest_c = enclosure.air_c.value + k_per_w * (USUAL_W if power is None else power.value)
    return hottest_c >= THROTTLES_C


def yes_or_no_table(modern: Modern) -> str:
    """How often "does it throttle?" is answered rightly, beside answers that cost nothing."""
    throttles = [
        (question, row, without)
        for question, row, without in zip(modern.asked, modern.rows, modern.left_out, strict=True)
        if row.metric == "throttles"
    ]

    def right(answers: list[bool]) -> str:
        true = [bool(row.published[0]) for _, row, _ in throttles]
        return f"{sum(a == b for a, b in zip(answers, true, strict=True))} of {len(true)}"

    rows = [
        ["simulated", f"{sum(row.ok for _, row, _ in throttles)} of {len(throttles)}"],
        ["left out", f"{sum(row.ok for _, _, row in throttles)} of {len(throttles)}"],
        ['"never throttles"', right([False] * len(throttles))],
        [
            f"air + {BARE_K_PER_W:g} K/W x watts (half if cooled) above {THROTTLES_C:.0f} C",
            right([by_arithmetic(q) for q, _, _ in throttles]),
        ],
    ]
    return table(["does it throttle?", "right"], rows)


#: What `predict` has of what a measure measures.
PREDICTED = {
    "thermal_onset_s": "onset_s",
    "written_gb_at_onset": "onset_gb",
    "throttled_mb_s": "throttled_mb_s",
    "max_temp_c": "max_reported_temp_c",
    "steady_temp_c": "max_reported_temp_c",
}


@cache
def predicted(drive: str, load: str, place: str) -> Prediction:
    """What a drive left out would do; a load is that of a protocol's step."""
    workload, before = named.workload_of(load)
    length_s = named.length_s(workload)
    return predict(left_out(drive), workload, length_s, before=before, enclosure=place)


def ranges_text(modern: Modern) -> str:
    """How many figures lie in the 90 % that is predicted of drives left out; printed, too."""
    within: list[bool] = []
    for question, row in zip(modern.asked, modern.rows, strict=True):
        job, name = (
            question.jobs[0],
            PREDICTED.get(question.measured.by if question.measured else ""),
        )
        if name is None or not job.only:
            continue
        likely = getattr(predicted(job.drive, f"{job.protocol}:{job.only}", job.place), name)
        low, high = row.published
        within.append(likely is not None and likely.low <= high and low <= likely.high)
    told = f"{sum(within)} of {len(within)} onsets, throttled speeds and temperatures"
    print(f"{told} lie in the predicted 90 %, drives left out")
    return told


def error_table(modern: Modern) -> str:
    """The mean absolute relative error of published speeds, drive by drive."""
    errors: dict[str, list[list[float]]] = {}
    for question, row, without in zip(modern.asked, modern.rows, modern.left_out, strict=True):
        if kind_of(question) == SPEEDS and row.drive is not None:
            middle = sum(row.published) / 2
            for at, one in enumerate((row, without)):
                if one.simulated is not None:
                    of_drive = errors.setdefault(row.drive, [[], []])
                    of_drive[at].append(abs(one.simulated / middle - 1))

    def mean(values: list[float]) -> str:
        return f"{sum(values) / len(values):.1%}" if values else "n/a"

    rows = [
        [drive, str(len(of_drive[0])), *map(mean, of_drive)] for drive, of_drive in errors.items()
    ]
    everything = [[value for one in errors.values() for value in one[at]] for at in (0, 1)]
    rows.append(["all", str(len(everything[0])), *map(mean, everything)])
    return table(["drive", "speeds", "simulated", "left out"], rows)


def is_rate(question: Question) -> bool:
    return question.measured is not None and question.measured.by in RATES


def rate_table(rows: list[ReproductionRow]) -> str:
    """Rates with their errors relative to the middle of the published range, and the mean."""
    shown = []
    errors: list[float] = []
    for row in rows:
        assert row.simulated is not None, row.id
        middle = sum(row.published) / 2
        errors.append(row.simulated / middle - 1)
        shown.append(
            [row.id, f"{middle:g}", f"{row.simulated:.0f}", row.role, f"{errors[-1]:+.1%}"]
        )
    mean = sum(map(abs, errors)) / len(errors)
    shown.append(["mean absolute relative error", "", "", "", f"{mean:.1%}"])
    return table(["rate", "published", "simulated", "role", "off by"], shown)


# ---- pictures


def axes_pair(
    onset: tuple[str, str], depth: tuple[str, str], most_s: float, least_pct: float
) -> tuple[Figure, Axes, Axes]:
    figure = Figure(figsize=(8.4, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for axes, (across, up), ends_, tolerance in (
        (left, onset, (5.0, most_s), 3.0),
        (right, depth, (least_pct, 90.0), 4.0),
    ):
        low, high = ends_
        axes.set(xlabel=across, ylabel=up, xlim=ends_, ylim=ends_, aspect="equal")
        steps = [low + (high - low) * step / 200 for step in range(201)]
        allowed = [min(tolerance, x / 4) if axes is left else tolerance for x in steps]
        axes.fill_between(
            steps,
            [x - y for x, y in zip(steps, allowed, strict=True)],
            [x + y for x, y in zip(steps, allowed, strict=True)],
            color=BAND,
            linewidth=0,
            label="published tolerance",
        )
        axes.plot(ends_, ends_, color="#888888", linewidth=0.8)
    ticks = [tick for tick in (5, 10, 20, 40, 80, 160) if tick <= most_s]
    left.set(xscale="log", yscale="log", xticks=ticks, yticks=ticks)
    for axis in (left.xaxis, left.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(mpl.ticker.NullFormatter())
    return figure, left, right


def mark(cell: str) -> tuple[str, bool]:
    """The marker of a cell's slot, and whether the cards were loaded."""
    slot, load = cell.split(".")[1], cell.split(".")[3]
    return SLOTS[slot], load == "loaded"


def draw_fit(found: dict[str, Any]) -> None:
    figure, left, right = axes_pair(
        ("published onset, s", "simulated onset, s"),
        ("published depth, %", "simulated depth, %"),
        85.0,
        30.0,
    )
    for row in found["rows"]:
        metric = row["id"].rpartition(".")[2]
        if metric not in ("onset_s", "depth_pct"):
            continue
        shape, loaded = mark(row["id"])
        axes = left if metric == "onset_s" else right
        low, high = row["published"]
        axes.errorbar(
            (low + high) / 2,
            row["simulated"],
            xerr=(high - low) / 2 or None,
            marker=shape,
            color=MODEL,
            markerfacecolor=MODEL if loaded else "white",
            linestyle="none",
        )
    for slot, shape in SLOTS.items():
        right.plot([], [], color=MODEL, marker=shape, linestyle="none", label=slot)
    right.plot([], [], color=MODEL, marker="o", mfc="white", linestyle="none", label="idle cards")
    right.legend(loc="upper left", fontsize=8, frameon=False)
    left.set_title("Onset")
    right.set_title("Depth")
    save(figure, "fit")


def draw_leave_one_out(predicted: dict[str, Any]) -> None:
    figure, left, right = axes_pair(
        ("published onset, s", "predicted onset, s"),
        ("published depth, %", "predicted depth, %"),
        170.0,
        25.0,
    )
    for axes, metric in ((left, "onset_s"), (right, "depth_pct")):
        for by, colour in (("baseline", EFFECTS), ("model", MODEL)):
            for cell in predicted["cells"]:
                shape, _ = mark(cell["id"] + ".")
                axes.plot(
                    sum(cell[metric]) / 2,
                    cell[by][metric],
                    marker=shape,
                    color=colour,
                    markerfacecolor=colour if by == "model" else "white",
                    linestyle="none",
                )
    right.plot([], [], color=MODEL, marker="o", linestyle="none", label="simulated drive")
    right.plot(
        [], [], color=EFFECTS, marker="o", mfc="white", linestyle="none", label="main effects"
    )
    right.legend(loc="upper left", fontsize=8, frameon=False)
    left.set_title("Onset of a cell left out")
    right.set_title("Depth of a cell left out")
    save(figure, "leave-one-out")


def save(figure: Figure, name: str) -> None:
    figure.savefig(PICTURES / f"{name}.svg", metadata={"Date": None})
    if preview := sys.flags.dev_mode:  # python -X dev also leaves pictures that anything can show
        figure.savefig(PICTURES / f"{name}.png", dpi=80 * preview)


if __name__ == "__main__":
    main()
