"""Which of many drives need somebody: what each says of itself, and how hot it is, worst first."""

from collections.abc import Sequence
from typing import Literal, get_args

from pydantic import BaseModel

from heatsoak import words
from heatsoak.analysis.definitions import USUALLY_THROTTLING_C
from heatsoak.analysis.findings import RecordingFindings
from heatsoak.analysis.names import names_of
from heatsoak.recording import Recording, columns

#: What a drive is, worst first: it warns, it has throttled by its own count, it was above the
#: limits that it states, it is as hot as drives throttle at, nothing tells, nothing is wrong.
State = Literal["alarm", "throttled", "over-limits", "hot", "unknown", "fine"]
STATES: tuple[State, ...] = get_args(State)
#: What a drive is by what is claimed of it, the worst first.
_BY_CLAIM: dict[str, State] = {
    "alarm": "alarm",
    "counted": "throttled",
    "over-limits": "over-limits",
}


class DriveHealth(BaseModel):
    """One drive by its last reading; what it does not tell is None.

    Attributes:
        schema_version: goes up when a key changes its meaning or goes away.
        drive: its name among the others.
        path: where the reading is from: a device, or a log.
        text: what it says of itself, in words.
        throttled_s: for how long it has throttled, by its own count.
        throttled_pct: which share of the hours that it was on that is.
        over_limits_s: for how long it was above the temperature from which on it warns.
        temp_c: the temperature that stands for it, if that can be trusted.
        doubt: why its temperature cannot be trusted.
    """

    schema_version: Literal[1] = 1
    drive: str
    path: str
    model: str | None
    serial: str | None
    state: State
    text: str
    throttled_s: float | None
    throttled_pct: float | None
    over_limits_s: float | None
    power_on_h: float | None
    temp_c: float | None
    warning_c: float | None
    doubt: str | None

    @property
    def rank(self) -> tuple[float, ...]:
        """A key that sorts the worst to the front."""
        worse = (self.throttled_pct, self.throttled_s, self.over_limits_s, self.temp_c)
        return STATES.index(self.state), *(-(number or 0.0) for number in worse)


def health_of(
    findings: Sequence[RecordingFindings], recordings: Sequence[Recording]
) -> list[DriveHealth]:
    """Return the drives of readings that were judged, worst first."""
    names = (one.label for one in names_of(recordings).recordings)
    return sorted(map(_health, names, findings, recordings), key=lambda row: row.rank)


def are_readings(recordings: Sequence[Recording]) -> bool:
    """Whether these are single readings of several drives."""
    metas = [one.meta for one in recordings]
    return len(metas) > 1 and all(
        meta.protocol.is_observed
        and not meta.duration_s
        and not any(name.endswith(("bw_mb_s", "iops", "lat_us")) for name in meta.columns)
        for meta in metas
    )


def _health(name: str, found: RecordingFindings, recording: Recording) -> DriveHealth:
    counted = found.counted
    totals, on_h = ({}, None) if counted is None else (counted.totals, counted.power_on_h)
    counters = columns.throttle_counters(totals)
    spent = [totals[name] for name in counters if name.startswith(columns.TIMES)]
    limits = (sensor.thresholds.get("warning_c") for sensor in recording.meta.sensors)
    warning_c = min((limit_c for limit_c in limits if limit_c), default=None)
    temps_c = (step.max_temp_c for step in found.steps)
    temp_c = max((one_c for one_c in temps_c if one_c is not None), default=None)
    throttled_s = sum(spent) if spent else None
    throttled_pct = 100 * throttled_s / (3600 * on_h) if throttled_s is not None and on_h else None
    drive = recording.meta.drive
    poor = (
        f"'{one.name}' cannot be trusted: {one.why}" for one in found.sensors if one.trust == "poor"
    )
    state, text = _state(found, temp_c, warning_c)
    return DriveHealth(
        drive=name,
        path=str(recording.path),
        model=drive.get("model"),
        serial=drive.get("serial"),
        state=state,
        text=text,
        throttled_s=throttled_s,
        throttled_pct=throttled_pct,
        over_limits_s=totals.get(f"{columns.TIMES}warning"),
        power_on_h=on_h,
        temp_c=temp_c,
        warning_c=warning_c,
        doubt=next(poor, None),
    )


def _state(
    found: RecordingFindings, temp_c: float | None, warning_c: float | None
) -> tuple[State, str]:
    """What a drive is, by the first of its claims, or else by how hot it is."""
    own = {claim.what: claim.text for claim in found.claims}
    for what, state in _BY_CLAIM.items():
        if what in own:
            return state, own[what]
    at = "" if temp_c is None else f"it is at {words.temp_text(temp_c)}"
    if temp_c is not None and temp_c >= min(warning_c or 999, USUALLY_THROTTLING_C):
        return "hot", f"{at}, as hot as drives throttle at"
    if "held" in own:
        return "fine", own["held"]
    nothing = "whether it ever throttled, nothing tells"
    return ("fine", f"{at}; {nothing}") if at else ("unknown", "it tells nothing of its heat")
