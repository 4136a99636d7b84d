"""What a drive would do: a workload in a place, for drives as likely as what is known of them.

The exact engine runs the workload once with everything permitted, which shows caches and spare
area; heat and governor are then run over that for each of the likely drives.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from heatsoak._core import Drive as Core
from heatsoak._core import Lumped
from heatsoak.analysis.definitions import DEPTH_WINDOW_S, MIN_DROP
from heatsoak.analysis.falls import find_drops
from heatsoak.analysis.series import Series
from heatsoak.catalog import Drive, Enclosure, load_drive, load_enclosure
from heatsoak.errors import UsageError
from heatsoak.protocol import Pause, WorkloadStep
from heatsoak.target.simulated import workloads_json
from heatsoak.twin.readings import Array
from heatsoak.twin.twin import Twin
from heatsoak.units import format_duration

#: How many likely drives are looked at.
DRAWS = 40
#: 90 % of what is likely, and its middle.
_QUANTILES = (0.05, 0.5, 0.95)
#: What drives of one model and their rooms differ by: two rooms by 2 K, two mountings and their
#: dust by a tenth, two samples of a chip by a twentieth, two sensors by a kelvin.
_AIR_K, _RESISTANCE, _POWER, _LIMIT_K = 2.0, 0.1, 0.05, 1.0
#: Air that moves as fast as this halves a bare module's resistance: a light breeze does.
_HALVED_AT_M_S = 1.0
#: Parts of a workload whose rates differ by less than this are one.
_ALIKE = 0.02
#: A rate is held if it is so over this time: what a recorder or a copy buffers.
_BUFFERED_S = 5.0

#: Low, middle, high: the middle 90 % of what is likely.
Range = Annotated[list[float], Field(min_length=3, max_length=3)]


class Cliff(BaseModel):
    """Where the workload slows down without any heat."""

    cause: Literal["write-cache", "spare-area"]
    onset_s: float
    depth_pct: float


class Prediction(BaseModel):
    """What a drive would do; ranges are low, middle and high of 90 %, None where none applies.

    Attributes:
        answer: in a sentence.
        throttles: the probability that heat slows it.
        onset_s: when it begins to, if it does; `onset_gb` after how much was moved.
        depth_pct: how much of its speed heat takes in the worst minute, if it throttles.
        throttled_mb_s: what it moves in that minute.
        full_mb_s: what it moves at first.
        max_reported_temp_c: the highest temperature that it reports.
        hidden_temp_c: the highest that its governor sees.
        holds: the probability that it holds the asked rate throughout; None if none was asked for.
        cliff: where a full cache or used-up spare area slows it, without heat.
        first: which of the two is likelier to slow it first.
        assumed: what was taken as given.
    """

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    answer: str
    drive: str
    place: str
    workload: str
    duration_s: float
    throttles: float
    onset_s: Range | None
    onset_gb: Range | None
    depth_pct: Range | None
    throttled_mb_s: Range | None
    full_mb_s: float
    max_reported_temp_c: Range
    hidden_temp_c: Range
    holds: float | None
    cliff: Cliff | None
    first: Literal["heat", "write-cache", "spare-area"] | None
    assumed: list[str]


@dataclass(frozen=True)
class Cooling:
    """What is changed about a place.

    Attributes:
        ambient_c: the air at the drive.
        airflow_m_s: how fast it moves.
        heatsink: a place of the catalog whose heatsink is put on, or a resistance to the air in K/W
            beside the drive's own.
    """

    ambient_c: float | None = None
    airflow_m_s: float | None = None
    heatsink: str | float | None = None


@dataclass(frozen=True)
class _Likely:
    """A drive and its place as the core takes them."""

    drive: dict[str, Any]
    place: dict[str, Any]

    def lumped(self) -> Lumped:
        return Lumped(json.dumps(self.drive), json.dumps(self.place))


def predict(
    subject: Twin | Drive,
    workload: WorkloadStep,
    duration_s: float,
    *,
    before: Sequence[WorkloadStep | Pause] = (),
    enclosure: str | None = None,
    cooling: Cooling | None = None,
    holds_mb_s: float | None = None,
    seed: int = 0,
) -> Prediction:
    """Return what a twin or a drive of the catalog would do under a workload, from rest.

    `before` are loads that prepare the drive, such as a fill, and pauses. `enclosure` is one of the
    twin's places or of the catalog's; without it, the twin's first or the drive's usual one.
    Raises UsageError for what is unknown, or cannot be simulated.
    """
    cooling = cooling or Cooling()
    drive = load_drive(subject.base) if isinstance(subject, Twin) else subject
    place, likely = _likely(subject, enclosure, seed)
    likely = [_Likely(one.drive, _cooled(one.place, cooling)) for one in likely]
    unheated = _Unheated(drive, likely[0].place)
    prepared = [
        unheated.pause(one) if isinstance(one, Pause) else unheated.run(one) for one in before
    ]
    phases = unheated.run(workload, duration_s)
    if isinstance(subject, Twin):
        phases = _as_fast(phases, workload, subject)
    seconds = max(round(duration_s), 1)
    loads, impossible = [], ""
    for one in likely:
        try:
            loads.append(_heated(one.lumped(), prepared, phases, seconds))
        except ValueError as error:  # such as one that runs away idle in a hotter room
            impossible = str(error)
    if len(loads) < DRAWS // 2:
        raise UsageError(f"{place}: {impossible}")
    return _told(
        subject, place, workload, seconds, phases, loads, _cliff(drive, phases), holds_mb_s, cooling
    )


def _likely(subject: Twin | Drive, enclosure: str | None, seed: int) -> tuple[str, list[_Likely]]:
    """The place's name, and drives there as likely as what is known."""
    if isinstance(subject, Twin):
        own = enclosure is None or enclosure in subject.places
        place = enclosure or subject.places[0]
        found = []
        for drive, at in subject.specifications(place if own else None, DRAWS, seed):
            found.append(_Likely(drive, at if own else _plain(load_enclosure(place))))
        return place, found
    place = enclosure or subject.enclosure
    drive_spec, place_spec = json.loads(subject.core_json()), _plain(load_enclosure(place))
    chance = np.random.default_rng(seed)
    return place, [
        _varied(drive_spec, place_spec, *chance.standard_normal(4).tolist()) for _ in range(DRAWS)
    ]


def _plain(enclosure: Enclosure) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(enclosure.core_json())
    return spec


def _varied(
    drive: dict[str, Any],
    place: dict[str, Any],
    air: float,
    resistance: float,
    power: float,
    limit: float,
) -> _Likely:
    """Another drive of the model in another such place, by how many spreads each differs."""
    energy = {
        key: value * np.exp(_POWER * power) if key.endswith(("_uj", "_w")) else value
        for key, value in drive["energy"].items()
    }
    governor = _shifted(drive["governor"], _LIMIT_K * limit)
    links = {
        name: {**link, "k_per_w": link["k_per_w"] * np.exp(_RESISTANCE * resistance)}
        if "air" in link["between"]
        else link
        for name, link in place["links"].items()
    }
    return _Likely(
        {**drive, "energy": energy, "governor": governor},
        {**place, "air_c": place["air_c"] + _AIR_K * air, "links": links},
    )


def _shifted(table: Any, by_k: float) -> Any:
    """A governor with its temperatures moved."""
    match table:
        case dict():
            return {
                key: value + by_k
                if key.endswith("_c") and isinstance(value, int | float)
                else _shifted(value, by_k)
                for key, value in table.items()
            }
        case list():
            return [_shifted(value, by_k) for value in table]
        case _:
            return table


def _cooled(place: dict[str, Any], cooling: Cooling) -> dict[str, Any]:
    changed = dict(place)
    if cooling.ambient_c is not None:
        changed["air_c"] = cooling.ambient_c
    if isinstance(cooling.heatsink, str):
        other = _plain(load_enclosure(cooling.heatsink))
        for kind in ("nodes", "links", "heat_w"):
            changed[kind] = {**other.get(kind, {}), **changed.get(kind, {})}
    elif cooling.heatsink is not None:
        sink = {"between": ["board", "air"], "k_per_w": cooling.heatsink}
        changed["links"] = {**changed["links"], "heatsink": sink}
    if cooling.airflow_m_s is not None:
        changed["air_speed_m_s"] = cooling.airflow_m_s
        changed["links"] = {
            key: {"halved_at_m_s": _HALVED_AT_M_S, **link} if "air" in link["between"] else link
            for key, link in changed["links"].items()
        }
    return changed


#: A part of a workload with one rate: what it moves in all, and what it does in a second.
_Phase = dict[str, Any]


class _Unheated:
    """The exact engine in a place where nothing gets warm, with everything permitted."""

    def __init__(self, drive: Drive, place: dict[str, Any]) -> None:
        still = {"air_c": 20.0, "links": {"air": {"between": ["board", "air"], "k_per_w": 1.0}}}
        host = {key: value for key, value in place.items() if key.startswith(("host", "link_"))}
        self._user_bytes = drive.user_bytes
        try:
            self._core = Core(drive.core_json(), json.dumps({**still, **host}))
        except ValueError as error:
            raise UsageError(f"{drive.id}: {error}") from error
        self._core.hold(1.0)

    def pause(self, step: Pause) -> float:
        """Rest for as long as a pause says."""
        self._core.advance(max(step.duration_s, 1.0), 60.0)
        return max(step.duration_s, 1.0)

    def run(self, step: WorkloadStep, duration_s: float | None = None) -> list[_Phase]:
        """Run a step for so long, or to its end; return its parts."""
        loads = json.loads(workloads_json(step, self._user_bytes))
        if duration_s is not None:
            for load in loads:
                load["io_bytes"], load["runtime_s"] = None, duration_s
        chunk_s = 1.0 if duration_s is None else max(1.0, duration_s / 600)
        phases: list[_Phase] = []
        done = json.loads(self._core.totals())
        try:
            self._core.begin(json.dumps(loads))
        except ValueError as error:
            raise UsageError(f"{step.name}: {error}") from error
        while not self._core.done:
            samples = self._core.advance(chunk_s, chunk_s)
            after = json.loads(self._core.totals())
            mb_s = sum(
                float(np.nansum(samples[name][-1:])) for name in ("read_bw_mb_s", "write_bw_mb_s")
            )
            work = {key: (after[key] - done[key]) / chunk_s for key in after}
            done = after
            if mb_s > 0:
                phases.append({"mb": mb_s * chunk_s, "mb_s": mb_s, "work": work})
        self._core.end()
        if not phases:
            raise UsageError(f"{step.name}: moves nothing, so there is nothing to predict")
        return list(_merged(phases))


def _heated(
    lumped: Lumped, prepared: Sequence[list[_Phase] | float], phases: list[_Phase], seconds: int
) -> dict[str, Any]:
    """Heat and governor over what a drive does: first what prepares it, then the load."""
    for one in prepared:
        if isinstance(one, float):
            lumped.rest(one)
        else:
            length_s = sum(phase["mb"] / phase["mb_s"] for phase in one)
            lumped.play(json.dumps(one), max(round(length_s), 1))
    return lumped.play(json.dumps(phases), seconds)


def _merged(phases: Sequence[_Phase]) -> Iterator[_Phase]:
    """Neighbours with the same rate as one."""
    last = dict(phases[0])
    for phase in phases[1:]:
        if abs(phase["mb_s"] / last["mb_s"] - 1) > _ALIKE:
            yield last
            last = dict(phase)
            continue
        share = phase["mb"] / (last["mb"] + phase["mb"])
        last["mb"] += phase["mb"]
        last["mb_s"] += share * (phase["mb_s"] - last["mb_s"])
        last["work"] = {
            key: value + share * (phase["work"][key] - value) for key, value in last["work"].items()
        }
    yield last


def _as_fast(phases: list[_Phase], workload: WorkloadStep, twin: Twin) -> list[_Phase]:
    """The phases of the drive's class at the speed that the drive itself was seen to have."""
    rates = {"read": twin.full_load.read_mb_s, "write": twin.full_load.write_mb_s}
    seen = rates.get(workload.workloads[0].rw, 0.0)
    if seen <= 0 or len(workload.workloads) > 1:
        return phases
    factor = seen / phases[0]["mb_s"]

    def sped(work: dict[str, float]) -> dict[str, float]:
        return {
            key: value if key in ("busy_s", "active_s") else value * factor
            for key, value in work.items()
        }

    return [
        {"mb": one["mb"], "mb_s": one["mb_s"] * factor, "work": sped(one["work"])} for one in phases
    ]


def _cliff(drive: Drive, phases: list[_Phase]) -> Cliff | None:
    """Where the rate falls with everything permitted."""
    lengths_s = np.array([one["mb"] / one["mb_s"] for one in phases])
    ends_s = np.cumsum(lengths_s)
    t_s = np.arange(1.0, max(ends_s[-1], 2.0))
    rates = np.array([one["mb_s"] for one in phases])
    values = rates[np.minimum(np.searchsorted(ends_s, t_s - 0.5), len(rates) - 1)]
    drops = find_drops(Series(t_s, np.ones(len(t_s)), values, "mb_s"))
    if not drops:
        return None
    drop = max(drops, key=lambda one: one.depth * (one.end_s - one.onset_s))
    programmed = phases[0]["work"].get("programmed_pages", 0.0)
    moved_mb = float(np.interp(drop.onset_s, ends_s, np.cumsum([one["mb"] for one in phases])))
    if not programmed:
        return None
    spare_mb = (drive.raw_bytes - drive.user_bytes) / 1e6
    is_cache = drive.cache is not None and moved_mb < drive.user_bytes / 1e6 + spare_mb
    return Cliff(
        cause="write-cache" if is_cache else "spare-area",
        onset_s=round(drop.onset_s, 1),
        depth_pct=round(100 * drop.depth, 1),
    )


def _told(
    subject: Twin | Drive,
    place: str,
    workload: WorkloadStep,
    seconds: int,
    phases: list[_Phase],
    loads: list[dict[str, Any]],
    cliff: Cliff | None,
    holds_mb_s: float | None,
    cooling: Cooling,
) -> Prediction:
    ends_mb = np.cumsum([one["mb"] for one in phases])
    rates = np.array([one["mb_s"] for one in phases])
    onsets, onsets_gb, depths, lefts = [], [], [], []
    held = 0
    for load in loads:
        moved = np.cumsum(load["mb_s"])
        free = rates[np.minimum(np.searchsorted(ends_mb, moved), len(rates) - 1)]
        onset_s = float(load["onset_s"])
        if np.isfinite(onset_s):
            after = slice(int(onset_s), None)
            shares = _means(load["mb_s"][after] / free[after], DEPTH_WINDOW_S)
            lowest = int(np.argmin(shares))
            # the governor's first act may be too small to see
            if 1 - shares[lowest] >= MIN_DROP:
                onsets.append(onset_s)
                onsets_gb.append(float(np.interp(onset_s, np.arange(1, seconds + 1), moved)) / 1e3)
                depths.append(100 * float(1 - shares[lowest]))
                lefts.append(float(_means(load["mb_s"][after], DEPTH_WINDOW_S)[lowest]))
        if holds_mb_s is not None:
            held += bool(np.min(_means(load["mb_s"], _BUFFERED_S)) >= holds_mb_s)
    throttles = len(onsets) / len(loads)
    onset = _range(onsets)
    reported = _range([float(np.max(load["sensor_c"])) for load in loads])
    hidden = _range([float(np.max(load["governed_c"])) for load in loads])
    assert reported is not None
    assert hidden is not None
    first: Literal["heat", "write-cache", "spare-area"] | None = None if not cliff else cliff.cause
    if onset is not None and throttles >= 0.5 and (cliff is None or onset[1] < cliff.onset_s):
        first = "heat"
    name = f"{subject.model or subject.base} (twin)" if isinstance(subject, Twin) else subject.model
    prediction = Prediction(
        answer="",
        drive=name,
        place=place,
        workload=workload.describe(),
        duration_s=float(seconds),
        throttles=round(throttles, 3),
        onset_s=onset,
        onset_gb=_range(onsets_gb),
        depth_pct=_range(depths),
        throttled_mb_s=_range(lefts),
        full_mb_s=round(float(rates[0]), 1),
        max_reported_temp_c=reported,
        hidden_temp_c=hidden,
        holds=None if holds_mb_s is None else round(held / len(loads), 3),
        cliff=cliff,
        first=first,
        assumed=list(_assumed(subject, cooling)),
    )
    return prediction.model_copy(update={"answer": _answer(prediction, holds_mb_s)})


def _means(values: Array, window_s: float) -> Array:
    """The means over windows of seconds, or over all where that is less."""
    width = min(int(window_s), len(values))
    return np.convolve(values, np.ones(width) / width, "valid")


def _range(values: Sequence[float]) -> Range | None:
    if not values:
        return None
    return [round(float(value), 2) for value in np.quantile(values, _QUANTILES)]


def _assumed(subject: Twin | Drive, cooling: Cooling) -> Iterator[str]:
    if not isinstance(subject, Twin):
        yield (
            f"drives of a model and their rooms differ: air by {_AIR_K:.0f} K, resistance to it by "
            f"{_RESISTANCE:.0%}, power by {_POWER:.0%}, limit by {_LIMIT_K:.0f} K"
        )
    yield "it starts at rest"
    if cooling.airflow_m_s is not None:
        yield f"moving air of {_HALVED_AT_M_S:.0f} m/s halves a resistance that nothing is known of"


def _answer(found: Prediction, holds_mb_s: float | None) -> str:
    length = format_duration(found.duration_s)
    hottest = f"{found.max_reported_temp_c[1]:.0f} C by its own sensor at most"
    if found.holds is not None and holds_mb_s is not None:
        start = (
            f"Holds {holds_mb_s:,.0f} MB/s for {length} with a probability of {found.holds:.0%}. "
        )
    else:
        start = ""
    if found.throttles < 0.05 or found.onset_s is None:
        said = f"Does not throttle in {length}: {hottest}."
    else:
        assert found.depth_pct is not None
        assert found.throttled_mb_s is not None
        low, middle, high = found.onset_s
        sure = (
            "Throttles" if found.throttles >= 0.95 else f"Throttles, {found.throttles:.0%} likely,"
        )
        said = (
            f"{sure} after {format_duration(middle)} ({low:,.0f} to {high:,.0f} s): "
            f"{found.full_mb_s:,.0f} MB/s become {found.throttled_mb_s[1]:,.0f}; {hottest}."
        )
    if found.cliff is not None:
        what = {"write-cache": "its write cache is full", "spare-area": "its spare area runs out"}
        said += (
            f" Without heat {what[found.cliff.cause]} after "
            f"{format_duration(found.cliff.onset_s)}: -{found.cliff.depth_pct:.0f} %."
        )
    return start + said
