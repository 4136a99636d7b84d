"""The state of many drives by a reading of each, as text, worst first."""

from collections import Counter
from collections.abc import Sequence

from heatsoak import output, words
from heatsoak.analysis.health import STATES, DriveHealth

_STYLES = {"alarm": "bold red", "throttled": "yellow", "over-limits": "yellow", "hot": "yellow"}
#: What so many drives are said to do, by their state.
_DO = {
    "alarm": ("warns of itself", "warn of themselves"),
    "throttled": ("has throttled", "have throttled"),
    "over-limits": ("was above its limits", "were above their limits"),
    "hot": ("is as hot as drives throttle at", "are as hot as drives throttle at"),
    "unknown": ("tells nothing", "tell nothing"),
    "fine": ("is fine as far as it tells", "are fine as far as they tell"),
}
_MAX_LINES = 20


def sentence_of(rows: Sequence[DriveHealth]) -> str:
    """Return how many drives are in which state, and what the worst says: the rows' first."""
    worst, counts = rows[0], Counter(row.state for row in rows)
    first = f"{worst.drive}: {worst.text}."
    if len(rows) == 1:
        return first
    do = [f"{count} {_DO[state][count > 1]}" for state in STATES if (count := counts[state])]
    of_all = f"Of {len(rows)} drives, {words.listed(do)}."
    return of_all if worst.state in ("unknown", "fine") else f"{of_all} {first}"


def print_health(rows: Sequence[DriveHealth], console: output.Console) -> None:
    """Print how it is with the drives, and the worst of them a line each."""
    console.print(output.Text(sentence_of(rows), style="bold"), soft_wrap=True)
    console.print()
    numbers = ("Now", "Throttled", "Above its limits")
    table = output.table_of("Drive", "State", *numbers, "", numbers=numbers)
    for row in rows[:_MAX_LINES]:
        table.add_row(
            output.Text(row.drive),
            output.Text(row.state, style=_STYLES.get(row.state, "")),
            words.known_text(row.temp_c, words.temp_text),
            words.known_text(
                row.throttled_pct, lambda pct: f"{words.percent_text(pct)} of its time"
            ),
            words.known_text(row.over_limits_s or None, words.duration_text),
            output.Text(row.doubt or (row.text if row.state in ("alarm", "unknown") else "")),
        )
    console.print(table)
    if (left := Counter(row.state for row in rows[_MAX_LINES:])) != Counter():
        counts = ", ".join(f"{left[state]} {state}" for state in STATES if left[state])
        console.print(f"and {left.total()} more: {counts}; --format json has them all")
