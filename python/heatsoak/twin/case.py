"""A workload on likely drives in a place: what it does unheated, and what heat makes of that.

The exact engine runs the workload once with everything permitted, which shows caches and spare
area; heat and governor are then run over that for each of the likely drives.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from heatsoak._core import Drive as Core
from heatsoak._core import Lumped
from heatsoak.catalog import Drive, Enclosure, load_enclosure
from heatsoak.errors import UsageError
from heatsoak.protocol import Pause, WorkloadStep
from heatsoak.target.simulated import workloads_json
from heatsoak.twin.model import shifted
from heatsoak.twin.twin import Twin

#: How many likely drives are looked at.
DRAWS = 40
#: What drives of one model and their rooms differ by: two rooms by 2 K, two mountings and their
#: dust by a tenth, two samples of a chip by a twentieth, two sensors by a kelvin.
AIR_K, RESISTANCE, POWER, LIMIT_K = 2.0, 0.1, 0.05, 1.0
#: What can be changed about a place: from where to where, and in what.
AMBIENT_C, WARMING_K, AIRFLOW_M_S = (-40.0, 150.0), (-100.0, 100.0), (0.0, 100.0)
#: Air that moves as fast as this halves a bare module's resistance: a light breeze does.
HALVED_AT_M_S = 1.0
#: Parts of a workload whose rates differ by less than this are one.
_ALIKE = 0.02
#: The exact engine runs a workload for so long; after that it does what it did at the end. Reads
#: change nothing, and after an hour of writes spare area has run out and caches are full.
_READS_S, _WRITES_S = 60.0, 3600.0


@dataclass(frozen=True)
class Cooling:
    """What is changed about a place.

    Attributes:
        ambient_c: the air at the drive.
        warming_k: how much warmer that air is than it was in the place. Where nobody measured the
            air, a twin knows only how far its limit is above it.
        airflow_m_s: how fast it moves.
        heatsink: a place of the catalog whose heatsink is put on, or a resistance to the air in K/W
            beside the drive's own.
        k_per_w_x: what every resistance of the place is multiplied by: the whole way to the air.
    """

    ambient_c: float | None = None
    airflow_m_s: float | None = None
    heatsink: str | float | None = None
    warming_k: float = 0.0
    k_per_w_x: float = 1.0

    def __post_init__(self) -> None:
        """Refuse an unknown heatsink before anything is run."""
        if isinstance(self.heatsink, str):
            load_enclosure(self.heatsink)


@dataclass(frozen=True)
class LikelyDrive:
    """A drive and its place as the core takes them."""

    drive: dict[str, Any]
    place: dict[str, Any]

    def lumped(self) -> Lumped:
        """Return heat and governor alone of it, at rest; ValueError where it cannot be."""
        return Lumped(json.dumps(self.drive), json.dumps(self.place))

    @classmethod
    def middle(cls, subject: Twin | Drive, place: str) -> Self:
        """Return the drive itself in the place itself, at what is likeliest of both."""
        if not isinstance(subject, Twin):
            return cls(json.loads(subject.core_json()), _plain(load_enclosure(place)))
        at = subject.enclosure(place) if place in subject.places else load_enclosure(place)
        return cls(json.loads(subject.drive().core_json()), _plain(at))


@dataclass(frozen=True)
class LikelyDrives:
    """Drives as likely as what is known of one, and where they are."""

    place: str
    _likely: Sequence[LikelyDrive]

    @classmethod
    def of(
        cls, subject: Twin | Drive, enclosure: str | None, seed: int, draws: int = DRAWS
    ) -> Self:
        """Draw them; UsageError for an unknown place.

        `draws` is even, or 1 for the drive itself.
        """
        return cls(*_likely_of(subject, enclosure, seed, draws))

    @property
    def enclosure(self) -> dict[str, Any]:
        """The place as the core takes it."""
        return self._likely[0].place

    def cooled(self, cooling: Cooling) -> Iterator[Lumped]:
        """Yield them with other cooling, at rest.

        Raises UsageError where most of them cannot be there at all.
        """
        impossible = 0
        for one in self._likely:
            try:
                lumped = LikelyDrive(one.drive, cooled_place(one.place, cooling)).lumped()
            except ValueError as error:  # such as one that runs away idle in a hotter room
                impossible += 1
                if 2 * impossible > len(self._likely):
                    raise UsageError(f"{self.place}: {error}") from error
                continue
            yield lumped


#: A part of a workload with one rate: what it moves in all, and what it does in a second.
Phase = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A workload on likely drives in a place.

    Attributes:
        drive: the simulated drive, or the one that a twin is based on.
        drives: those that are likely, in the place.
        phases: what the workload does with everything permitted.
        seconds: how long it is followed.
    """

    subject: Twin | Drive
    drive: Drive
    drives: LikelyDrives
    workload: WorkloadStep
    seconds: int
    phases: list[Phase]
    _prepared: Sequence[list[Phase] | float]

    @classmethod
    def of(
        cls,
        subject: Twin | Drive,
        workload: WorkloadStep,
        duration_s: float,
        *,
        before: Sequence[WorkloadStep | Pause] = (),
        enclosure: str | None = None,
        seed: int = 0,
        draws: int = DRAWS,
    ) -> Self:
        """Run the workload without heat, after the loads and pauses `before` it.

        `enclosure` is one of the twin's places or of the catalog's; without it, the twin's first or
        the drive's usual one. `draws` is even, or 1 for the drive itself. Raises UsageError for
        what is unknown, or cannot be simulated.
        """
        drive = subject.own_base if isinstance(subject, Twin) else subject
        drives = LikelyDrives.of(subject, enclosure, seed, draws)
        unheated = _Unheated(drive, drives.enclosure)
        prepared = [
            unheated.pause(one) if isinstance(one, Pause) else unheated.run(one) for one in before
        ]
        phases = unheated.run(workload, duration_s)
        if isinstance(subject, Twin):
            phases = _as_fast(_of_data(phases), workload, subject)
        seconds = max(round(duration_s), 1)
        return cls(subject, drive, drives, workload, seconds, phases, prepared)

    @property
    def place(self) -> str:
        """The place's name."""
        return self.drives.place

    def loads(self, cooling: Cooling) -> list[dict[str, Any]]:
        """Return what each likely drive does with other cooling, second by second.

        Raises UsageError where most of them cannot be there at all.
        """
        return [
            _heated(lumped, self._prepared, self.phases, self.seconds)
            for lumped in self.drives.cooled(cooling)
        ]


def _likely_of(
    subject: Twin | Drive, enclosure: str | None, seed: int, draws: int
) -> tuple[str, list[LikelyDrive]]:
    """The place's name, and drives there."""
    if isinstance(subject, Twin) and subject.denial:
        raise UsageError(subject.denial)
    if draws == 1:
        usual = subject.places[0] if isinstance(subject, Twin) else subject.enclosure
        place = enclosure or usual
        return place, [LikelyDrive.middle(subject, place)]
    if isinstance(subject, Twin):
        own = enclosure is None or enclosure in subject.places
        place = enclosure or subject.places[0]
        found = []
        for drive, at in subject.specifications(place if own else None, draws, seed):
            found.append(LikelyDrive(drive, at if own else _plain(load_enclosure(place))))
        return place, found
    place = enclosure or subject.enclosure
    drive_spec, place_spec = json.loads(subject.core_json()), _plain(load_enclosure(place))
    half = np.random.default_rng(seed).standard_normal((draws // 2, 4))
    # each with its opposite, so that their middle is the drive itself
    drawn = np.concatenate([half, -half]).tolist()
    return place, [_varied(drive_spec, place_spec, *differs) for differs in drawn]


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
) -> LikelyDrive:
    """Another drive of the model in another such place, by how many spreads each differs."""
    energy = {
        key: value * np.exp(POWER * power) if key.endswith(("_uj", "_w")) else value
        for key, value in drive["energy"].items()
    }
    governor = shifted(drive["governor"], LIMIT_K * limit)
    links = {
        name: {**link, "k_per_w": link["k_per_w"] * np.exp(RESISTANCE * resistance)}
        if "air" in link["between"]
        else link
        for name, link in place["links"].items()
    }
    return LikelyDrive(
        {**drive, "energy": energy, "governor": governor},
        {**place, "air_c": place["air_c"] + AIR_K * air, "links": links},
    )


def cooled_place(place: dict[str, Any], cooling: Cooling) -> dict[str, Any]:
    """Return a place with other cooling, as the core takes both; UsageError for no heatsink."""
    changed = dict(place)
    if cooling.ambient_c is not None:
        changed["air_c"] = cooling.ambient_c
    changed["air_c"] += cooling.warming_k
    if cooling.k_per_w_x != 1.0:
        changed["links"] = {
            name: {**link, "k_per_w": link["k_per_w"] * cooling.k_per_w_x}
            for name, link in changed["links"].items()
        }
    if isinstance(cooling.heatsink, str):
        for kind, added in _heatsink_of(_plain(load_enclosure(cooling.heatsink))).items():
            changed[kind] = {**added, **changed.get(kind, {})}
    elif cooling.heatsink is not None:
        sink = {"between": ["board", "air"], "k_per_w": cooling.heatsink}
        changed["links"] = {**changed["links"], "heatsink": sink}
    if cooling.airflow_m_s is not None:
        changed["air_speed_m_s"] = cooling.airflow_m_s
        changed["links"] = {
            key: {"halved_at_m_s": HALVED_AT_M_S, **link} if "air" in link["between"] else link
            for key, link in changed["links"].items()
        }
    return changed


def _heatsink_of(place: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What lies on the drive's packages in a place; the slot and its air stay there."""
    packages = {"controller", "nand"}
    on = {
        node
        for link in place["links"].values()
        if packages & set(link["between"])
        for node in link["between"]
    } & set(place.get("nodes", {})) - packages - {"board"}
    return {
        "nodes": {name: node for name, node in place.get("nodes", {}).items() if name in on},
        "links": {name: link for name, link in place["links"].items() if on & set(link["between"])},
        "heat_w": {name: watts for name, watts in place.get("heat_w", {}).items() if name in on},
    }


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

    def run(self, step: WorkloadStep, duration_s: float | None = None) -> list[Phase]:
        """Run a step for so long, or to its end; return its parts."""
        loads = json.loads(workloads_json(step, self._user_bytes))
        if duration_s is not None:
            duration_s = min(duration_s, _WRITES_S if step.writes else _READS_S)
            for load in loads:
                load["io_bytes"], load["runtime_s"] = None, duration_s
        chunk_s = 1.0 if duration_s is None else max(1.0, duration_s / 600)
        phases: list[Phase] = []
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
    lumped: Lumped, prepared: Sequence[list[Phase] | float], phases: list[Phase], seconds: int
) -> dict[str, Any]:
    """Heat and governor over what a drive does: first what prepares it, then the load."""
    for one in prepared:
        if isinstance(one, float):
            lumped.rest(one)
        else:
            length_s = sum(phase["mb"] / phase["mb_s"] for phase in one)
            lumped.play(json.dumps(one), max(round(length_s), 1))
    return lumped.play(json.dumps(phases), seconds)


def _merged(phases: Sequence[Phase]) -> Iterator[Phase]:
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


def _of_data(phases: list[Phase]) -> list[Phase]:
    """The phases with reads that come from flash, as a fit takes them."""
    return [
        {
            **one,
            "work": {
                **one["work"],
                "read_pages": max(one["work"]["read_pages"], one["work"]["host_read_pages"]),
            },
        }
        for one in phases
    ]


def _as_fast(phases: list[Phase], workload: WorkloadStep, twin: Twin) -> list[Phase]:
    """The phases of the drive's class at the speed that the drive itself was seen to have."""
    rates = {"read": twin.full_load.read_mb_s, "write": twin.full_load.write_mb_s}
    load = workload.workloads[0]
    seen = rates.get(load.rw, 0.0)
    if seen <= 0 or len(workload.workloads) > 1:
        return phases
    for asked in (load.rate, load.rate_iops and load.rate_iops * load.bs):
        if asked is not None:
            seen = min(seen, asked * load.numjobs / 1e6)
    factor = seen / phases[0]["mb_s"]

    def sped(work: dict[str, float]) -> dict[str, float]:
        return {
            key: value if key in ("busy_s", "active_s") else value * factor
            for key, value in work.items()
        }

    return [
        {"mb": one["mb"], "mb_s": one["mb_s"] * factor, "work": sped(one["work"])} for one in phases
    ]
