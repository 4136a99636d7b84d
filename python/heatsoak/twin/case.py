"""A case: a workload on likely drives in a place, and what becomes of it on each.

What is asked for is known for a trace or a recording. Of any other load the exact engine finds it,
which runs the load once with everything permitted: that shows caches and spare area. Heat and
governor are then run over that for each of the likely drives.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from pydantic import BaseModel

from heatsoak import catalog, protocol, words
from heatsoak._core import Drive as Core
from heatsoak._core import Lumped
from heatsoak.analysis.falls import find_drops
from heatsoak.analysis.series import RateSeries
from heatsoak.errors import UsageError
from heatsoak.target import simulated
from heatsoak.twin.asked import DRAWS, DemandSeries, RateBounds, behind, held_back, work_of
from heatsoak.twin.demand import Demand
from heatsoak.twin.model import shifted

if TYPE_CHECKING:
    from heatsoak.twin.twin import Twin

#: What drives of one model and their rooms differ by: two rooms by 2 K, two mountings and their
#: dust by a tenth.
AIR_K, RESISTANCE = 2.0, 0.1
#: Two samples of a chip differ by a twentieth and two sensors by a kelvin, where these were fitted,
#: stated, or are those of a class: figures fitted to a drive differ so much from what others say.
POWER, LIMIT_K = (0.05, 0.15, 0.28), (1.0, 1.0, 5.0)
#: What can be changed about a place: from where to where, and in what.
AMBIENT_C, WARMING_K, AIRFLOW_M_S = (-40.0, 150.0), (-100.0, 100.0), (0.0, 100.0)
#: The place whose heatsink one of so many K/W is like.
USUAL = "ribbed-heatsink"
#: Air that moves as fast as this halves a bare module's resistance: a light breeze does.
HALVED_AT_M_S = 1.0
#: Parts of a workload whose rates differ by less than this are one.
_ALIKE = 0.02
#: The exact engine runs a workload for so long; after that it does what it did at the end. Reads
#: change nothing, and after an hour of writes spare area has run out and caches are full.
_READS_S, _WRITES_S = 10.0, 3600.0
#: A load that moves less than this of a rate that it is held to does not keep up with it.
_KEEPS_UP = 0.98
#: A drive is filled so slowly that it hardly warms, in large blocks, which are simulated fastest;
#: and rests until it is as warm as its place.
_FILL = {"rw": "write", "bs": 1 << 24, "iodepth": 2, "rate": 100e6}
_RESTED_S = 3 * 3600.0
#: Of a load, less than this is nothing.
_DONE_MB = 1.0
#: Of fewer writes of a smaller drive there is no rate.
_LEAST_IOS = 64
#: What nobody looks at is simulated so much at a time.
_CHUNK_S = 3600.0

#: What may come before a load.
Before = protocol.WorkloadStep | protocol.Pause | protocol.Purge


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
        """Refuse an unknown heatsink, and air that is given twice, before anything is run."""
        if self.ambient_c is not None and self.warming_k:
            raise UsageError(
                f"the air is to be {words.temp_text(self.ambient_c)}, and "
                f"{words.kelvin_text(self.warming_k)} warmer than it was: give one of the two "
                "(--ambient or --warmer)"
            )
        if isinstance(self.heatsink, str):
            catalog.load_enclosure(self.heatsink)


@dataclass(frozen=True)
class LikelyDrive:
    """A drive and its place as the core takes them.

    Attributes:
        product: how far a heatsink is worse than the middle of its kind, in standard deviations of
            the logarithm of its resistance.
    """

    drive: dict[str, Any]
    place: dict[str, Any]
    product: float = 0.0

    @classmethod
    def middle(cls, subject: "Twin | catalog.Drive", place: str) -> Self:
        """Return the drive itself in the place itself, at what is likeliest of both."""
        is_own = not isinstance(subject, catalog.Drive) and place in subject.places
        at = subject.enclosure(place) if is_own else catalog.load_enclosure(place)  # type: ignore[operator]
        drive = subject.drive() if not isinstance(subject, catalog.Drive) else subject
        return cls(json.loads(drive.core_json()), _plain(at))


@dataclass(frozen=True)
class DriveOutcome:
    """What a workload was to one likely drive.

    Attributes:
        onset_s: when heat first held it back so far that more than :data:`BUFFERED_S` waited, and
            so far that it shows, if it is a load; None if it never did. What follows is 0 then.
        onset_gb: what it had moved by then.
        depth_pct: what heat took of a load's worst minute, `worst_mb_s` what it moved in that, and
            `free_mb_s` what it would have moved without heat.
        shutdown_s: when a load's drive was so hot that it shut itself down; None if it never did.
        took_s: how long a load took that ends with its data; None if it did not come to its end.
        times: how often it was held back so far, until it had caught up.
        held_s: for how long in all, and `longest_s` at a time.
        waiting_gb: the most that waited.
        late_pct: the share of all that was moved while something waited for heat, or never.
        hottest_c: what its governor saw at most; `reported_c` its own sensor.
        limit_c: where its governor begins to act.
        mean_mb_s: what it moved in the mean.
        behind_mb: the most that waited of a rate that was to be held.
    """

    onset_s: float | None
    onset_gb: float
    depth_pct: float
    worst_mb_s: float
    free_mb_s: float
    shutdown_s: float | None
    took_s: float | None
    times: int
    held_s: float
    longest_s: float
    waiting_gb: float
    late_pct: float
    hottest_c: float
    reported_c: float
    limit_c: float
    mean_mb_s: float
    behind_mb: float

    @classmethod
    def of(
        cls, served: dict[str, Any], asked: DemandSeries, *, is_load: bool, holds_mb_s: float = 0.0
    ) -> Self:
        """Sum up what the engine gave."""
        moved_mb = served["mb_s"]
        begins, ends = held_back(served["late_s"])
        found = None
        # the governor's act is known more exactly than to the second
        onset_s = max(float(begins[0]), served["onset_s"]) if len(begins) else None
        if is_load and onset_s is not None:
            found = asked.slowed(moved_mb, onset_s)
        if is_load and found is None:
            begins, ends, onset_s = begins[:0], ends[:0], None
        is_off = is_load and np.isfinite(served["stopped_s"])
        is_done = is_load and served["waiting_mb"][-1] < _DONE_MB
        lengths_s = ends - begins
        inside = np.zeros(len(moved_mb), dtype=np.bool_)
        for begin, end in zip(begins, ends, strict=True):
            inside[begin:end] = True
        late_mb = float(moved_mb[inside].sum())
        if inside[-1]:
            late_mb += float(served["waiting_mb"][-1])
        return cls(
            onset_s=onset_s,
            onset_gb=float(moved_mb[: begins[0]].sum() / 1e3) if len(begins) else 0.0,
            depth_pct=0.0 if found is None else found.depth_pct,
            worst_mb_s=0.0 if found is None else found.mb_s,
            free_mb_s=0.0 if found is None else found.free_mb_s,
            shutdown_s=served["stopped_s"] if is_off else None,
            took_s=float(len(moved_mb)) if is_done else None,
            times=len(begins),
            held_s=float(lengths_s.sum()),
            longest_s=float(lengths_s.max(initial=0)),
            waiting_gb=float(served["waiting_mb"][inside].max(initial=0.0)) / 1e3,
            late_pct=late_mb / asked.gb_by(len(moved_mb)) / 10,
            hottest_c=float(served["governed_c"].max()),
            reported_c=float(served["sensor_c"].max()),
            limit_c=served["begins_c"],
            mean_mb_s=float(moved_mb.mean()),
            behind_mb=float(behind(holds_mb_s - moved_mb).max()),
        )


class Cliff(BaseModel):
    """Where the workload slows down without any heat."""

    cause: Literal["write-cache", "spare-area"]
    onset_s: float
    depth_pct: float

    @property
    def sentence(self) -> str:
        """It in a sentence."""
        what = {"write-cache": "its write cache is full", "spare-area": "its spare area runs out"}
        return (
            f"Not heat: after {words.duration_text(self.onset_s)} {what[self.cause]}, and it is "
            f"{words.percent_text(self.depth_pct)} slower from then on."
        )


@dataclass(frozen=True)
class WorkloadCase:
    """A workload on likely drives in a place.

    Attributes:
        place: its name; `likely` are drives there, as likely as what is known of the subject.
        workload: a load that asks for all it can get or for a rate, or a demand of its own.
        seconds: how long it is followed; to the end of a load's data, how long that is unheated.
        ends: whether it is followed to the end of its data, however long that takes.
        asked: what it asks for.
        cliff: where a load slows down without any heat.
    """

    subject: "Twin | catalog.Drive"
    place: str
    likely: Sequence[LikelyDrive]
    workload: protocol.WorkloadStep | Demand
    seconds: int
    asked: DemandSeries
    cliff: Cliff | None
    ends: bool
    _prepared: Sequence[DemandSeries | float]

    @classmethod
    def of(
        cls,
        subject: "Twin | catalog.Drive",
        workload: protocol.WorkloadStep | Demand,
        duration_s: float | None,
        *,
        before: Sequence[Before] = (),
        enclosure: str | None = None,
        seed: int = 0,
        draws: int = DRAWS,
    ) -> Self:
        """Find out what the workload asks for, after the loads and pauses `before` it.

        The first `duration_s` are followed, or all of a load's data. What only reads is of a drive
        that was filled, long ago if nothing before it writes. `enclosure` is one of the twin's
        places or of the catalog's; without it, the twin's first or the drive's usual one. `draws`
        is even, or 1 for the drive itself. Raises UsageError for what is unknown, or cannot be
        simulated.
        """
        if not isinstance(subject, catalog.Drive) and subject.denial:
            raise UsageError(subject.denial)
        drive = subject.own_base if not isinstance(subject, catalog.Drive) else subject
        usual = subject.places[0] if not isinstance(subject, catalog.Drive) else subject.enclosure
        place = enclosure or usual
        likely = list(_likely(subject, place, seed, draws))
        prepared: list[DemandSeries | float] = []
        cliff = None
        if isinstance(workload, Demand):
            workload = workload.first(duration_s or workload.seconds)
            asked = _of_demand(subject, drive, likely[0].place, workload)
            seconds = workload.seconds
        else:
            unheated = _Unheated(drive, likely[0].place, (*before, workload), duration_s)
            prepared += [unheated.before(one) for one in before]
            asked = unheated.run(workload, duration_s)
            seconds = max(round(float(asked.dt_s.sum()) if duration_s is None else duration_s), 1)
            asked = asked if duration_s is None else asked.lasting(seconds)
            cliff = _cliff(drive, asked)
        ends = duration_s is None and isinstance(workload, protocol.WorkloadStep)
        return cls(subject, place, likely, workload, seconds, asked, cliff, ends, prepared)

    def outcomes(
        self, cooling: Cooling, holds_mb_s: float = 0.0, most_late_s: float = np.inf
    ) -> Iterator[DriveOutcome]:
        """Yield what becomes of it on each likely drive with other cooling, from rest.

        None is followed further than until `most_late_s` got late. Raises UsageError where most of
        them cannot be there at all.
        """
        is_load = isinstance(self.workload, protocol.WorkloadStep)
        impossible = 0
        for one in self.likely:
            place = cooled_place(one.place, cooling, one.product)
            try:
                lumped = Lumped(json.dumps(one.drive), json.dumps(place))
            except ValueError as error:  # such as one that runs away idle in a hotter room
                impossible += 1
                if 2 * impossible > len(self.likely):
                    raise UsageError(f"{self.place}: {error}") from error
                continue
            for prepared in self._prepared:
                if isinstance(prepared, float):
                    lumped.rest(prepared)
                else:
                    prepared.serve(lumped)
            served = self.asked.serve(lumped, None if self.ends else self.seconds, most_late_s)
            if not len(served["mb_s"]):  # it shut itself down before
                served = self.asked.serve(lumped, 1)
            yield DriveOutcome.of(served, self.asked, is_load=is_load, holds_mb_s=holds_mb_s)


def _cliff(drive: catalog.Drive, asked: DemandSeries) -> Cliff | None:
    """Where a load's rate falls with everything permitted."""
    if not asked.work["programmed_pages"][0]:
        return None
    ends_s = np.cumsum(asked.dt_s)
    t_s = np.arange(1.0, max(ends_s[-1], 2.0))
    values = asked.mb_s[np.minimum(np.searchsorted(ends_s, t_s - 0.5), len(ends_s) - 1)]
    drops = find_drops(RateSeries(t_s, np.ones(len(t_s)), values, "mb_s"))
    if not drops:
        return None
    drop = drops[0]
    moved_mb = 1e3 * asked.gb_by(drop.onset_s)
    spare_mb = (drive.raw_bytes - drive.user_bytes) / 1e6
    is_cache = drive.cache is not None and moved_mb < drive.user_bytes / 1e6 + spare_mb
    return Cliff(
        cause="write-cache" if is_cache else "spare-area",
        onset_s=round(drop.onset_s, 1),
        depth_pct=round(100 * drop.depth, 1),
    )


def slowed_in(outcomes: Sequence[DriveOutcome]) -> float:
    """Return the share of likely drives that heat slows."""
    return float(np.mean([one.onset_s is not None for one in outcomes]))


def _speeds(drive: catalog.Drive, place: dict[str, Any]) -> RateBounds:
    """What bounds a drive's rates in a place."""
    read_mb_s, write_mb_s = drive.controller.read_mb_s.value, drive.controller.write_mb_s.value
    return RateBounds(read_mb_s, write_mb_s, place.get("link_mb_s") or np.inf)


def _of_demand(
    subject: "Twin | catalog.Drive", drive: catalog.Drive, place: dict[str, Any], demand: Demand
) -> DemandSeries:
    speeds = _speeds(drive, place)
    work = work_of(drive, demand.read_mb_s, demand.write_mb_s, demand.read_iops, demand.write_iops)
    # what a drive was seen to do in a second took it no longer
    most = 1.0 if is_own(subject, demand) else np.inf
    return DemandSeries(
        dt_s=np.ones(demand.seconds),
        mb_s=demand.read_mb_s + demand.write_mb_s,
        full_share=np.minimum(speeds.share_of(work), most),
        least_share=np.minimum(speeds.link_share_of(work), most),
        work=work,
    )


def is_own(subject: "Twin | catalog.Drive", demand: Demand) -> bool:
    """Return whether the drive, or one of its model, is what was recorded."""
    return demand.is_recorded and demand.model in (None, subject.model)


def _likely(
    subject: "Twin | catalog.Drive", place: str, seed: int, draws: int
) -> Iterator[LikelyDrive]:
    middle = LikelyDrive.middle(subject, place)
    if draws == 1:
        yield middle
        return
    random = np.random.default_rng(seed)
    half = random.standard_normal((draws // 2, 4))
    half_products = random.standard_normal(draws // 2)
    # each with its opposite, so that their middle is the drive itself
    products = np.concatenate([half_products, -half_products]).tolist()
    if not isinstance(subject, catalog.Drive):
        own = place if place in subject.places else None
        found = subject.specifications(own, draws, seed)
        for (drive, at), product in zip(found, products, strict=True):
            yield LikelyDrive(drive, at or middle.place, product)
    else:
        spreads = (AIR_K, RESISTANCE, *spreads_of(subject))
        at_home = catalog.load_enclosure(place)
        differing = (np.concatenate([half, -half]) * spreads).tolist()
        for differs, product in zip(differing, products, strict=True):
            other = varied(replace(middle, place=_plain(at_home, product)), *differs)
            yield replace(other, product=product)


def spreads_of(drive: catalog.Drive) -> tuple[float, float]:
    """Return by what share power differs among likely drives, and by how many K their limit."""
    rated = filter(None, (drive.rated.read_w, drive.rated.write_w))
    power = min((one.spread_of(*POWER) for one in rated), default=POWER[2 if drive.basis else 0])
    of_begins = LIMIT_K[2:] * 3 if drive.basis else LIMIT_K
    return power, drive.governor.begins.spread_of(*of_begins)


def _plain(enclosure: catalog.Enclosure, product: float = 0.0) -> dict[str, Any]:
    """A place as the core takes it, its heatsink so far from the middle of its kind."""
    spec: dict[str, Any] = json.loads(enclosure.core_json())
    if enclosure.spread is not None:
        for link in spec["links"].values():
            if "air" in link["between"] and "board" not in link["between"]:
                link["k_per_w"] *= np.exp(enclosure.spread.value * product)
    return spec


def varied(
    middle: LikelyDrive, air_k: float, resistance: float, power: float, limit_k: float
) -> LikelyDrive:
    """Return another drive of the model in such a place: K more, and logarithms of factors."""
    drive, place = middle.drive, middle.place
    energy = {
        key: value * np.exp(power) if key.endswith(("_uj", "_w")) else value
        for key, value in drive["energy"].items()
    }
    links = {
        name: {**link, "k_per_w": link["k_per_w"] * np.exp(resistance)}
        if "air" in link["between"]
        else link
        for name, link in place["links"].items()
    }
    return LikelyDrive(
        {**drive, "energy": energy, "governor": shifted(drive["governor"], limit_k)},
        {**place, "air_c": place["air_c"] + air_k, "links": links},
    )


def cooled_place(place: dict[str, Any], cooling: Cooling, product: float = 0.0) -> dict[str, Any]:
    """Return a place with other cooling, as the core takes both; UsageError for no heatsink.

    `product` is that of a :class:`LikelyDrive`; a resistance in K/W is known.
    """
    changed = dict(place)
    if cooling.ambient_c is not None:
        changed["air_c"] = cooling.ambient_c
    changed["air_c"] += cooling.warming_k
    if cooling.k_per_w_x != 1.0:
        changed["links"] = {
            name: {**link, "k_per_w": link["k_per_w"] * cooling.k_per_w_x}
            for name, link in changed["links"].items()
        }
    if cooling.heatsink is not None:
        for kind, added in _put_on(cooling.heatsink, product).items():
            changed[kind] = {**added, **changed.get(kind, {})}
    if cooling.airflow_m_s is not None:
        changed["air_speed_m_s"] = cooling.airflow_m_s
        changed["links"] = {
            key: {"halved_at_m_s": HALVED_AT_M_S, **link} if "air" in link["between"] else link
            for key, link in changed["links"].items()
        }
    return changed


def _put_on(heatsink: str | float, product: float) -> dict[str, dict[str, Any]]:
    """The parts of a place's heatsink, or of one of so many K/W.

    The latter is a ribbed one on the same pads, larger or smaller: its mass goes with its area.
    """
    if isinstance(heatsink, str):
        return _heatsink_of(_plain(catalog.load_enclosure(heatsink), product))
    usual = catalog.load_enclosure(USUAL)
    larger = usual.links["heatsink_air"].k_per_w.value / heatsink
    pads = {chip: usual.links[f"{chip}_pad"].k_per_w.value for chip in ("controller", "nand")}
    return {
        "nodes": {"added": {"j_per_k": usual.nodes["heatsink"].j_per_k.value * larger}},
        "links": {
            # so much it has in the air of the place, whether that moves or not
            "added_air": {"between": ["added", "air"], "k_per_w": heatsink},
            **{
                f"added_{chip}": {"between": [chip, "added"], "k_per_w": k_per_w}
                for chip, k_per_w in pads.items()
            },
        },
    }


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


def core_of(
    drive: dict[str, Any], place: dict[str, Any], steps: Sequence[Before], seed: int = 0
) -> Core:
    """Return the exact engine of a drive at rest, filled long ago if `steps` only read.

    Raises ValueError for a drive that cannot be there.
    """
    is_filled = not any(one.writes for one in steps if isinstance(one, protocol.WorkloadStep))
    # what was written long ago has left the cache
    spec = {key: table for key, table in drive.items() if not (is_filled and key == "cache")}
    core = Core(json.dumps(spec), json.dumps(place), seed)
    if is_filled:
        core.begin(
            json.dumps([{**_FILL, "span_bytes": core.user_bytes, "io_bytes": core.user_bytes}])
        )
        for _ in simulated.until_done(core, _CHUNK_S, _CHUNK_S):
            pass
        core.advance(_RESTED_S, _RESTED_S)
    return core


def prepared(core: Core, step: Before, part: int = 1) -> float:
    """Let a drive go through what comes before a load; return how long that took, in s.

    Of a `part`-th of a drive, how long it takes the drive.
    """
    began_s = core.t_s
    for _ in simulated.driven(core, step, _CHUNK_S, _CHUNK_S, part=part):
        pass
    return max((core.t_s - began_s) * part, 1.0)


class _Unheated:
    """The exact engine in a place where nothing gets warm, with everything permitted."""

    def __init__(
        self,
        drive: catalog.Drive,
        place: dict[str, Any],
        steps: Sequence[Before],
        lasts_s: float | None = None,
    ) -> None:
        still = {"air_c": 20.0, "links": {"air": {"between": ["board", "air"], "k_per_w": 1.0}}}
        host = {key: value for key, value in place.items() if key.startswith(("host", "link_"))}
        self._speeds = _speeds(drive, place)
        spec = json.loads(drive.core_json())
        self._part = simulated.part_for(spec, steps, lasts_s)
        try:
            self._core = core_of(simulated.smaller(spec, self._part), {**still, **host}, steps)
        except ValueError as error:
            raise UsageError(f"{drive.id}: {error}") from error
        self._core.hold(1.0)

    def before(self, step: Before) -> DemandSeries | float:
        """Take a step; return what it asks for, or for how long it asks for nothing."""
        if isinstance(step, protocol.WorkloadStep):
            return self.run(step)
        return prepared(self._core, step, self._part)

    def run(self, step: protocol.WorkloadStep, duration_s: float | None = None) -> DemandSeries:
        """Run a step for so long, or to its end; return its parts."""
        if duration_s is not None:
            duration_s = min(duration_s, _WRITES_S if step.writes else _READS_S)
        chunk_s = 1.0 if duration_s is None else max(1.0, duration_s / 600)
        parts: list[dict[str, Any]] = []
        done, began_s = json.loads(self._core.totals()), self._core.t_s
        try:
            chunks = simulated.driven(
                self._core, step, chunk_s, chunk_s, lasts_s=duration_s, part=self._part
            )
        except ValueError as error:
            raise UsageError(f"{step.name}: {error}") from error
        for samples in chunks:
            after, now_s = json.loads(self._core.totals()), self._core.t_s
            mb_s = sum(
                float(np.nansum(samples[name][-1:])) for name in ("read_bw_mb_s", "write_bw_mb_s")
            )
            dt_s = now_s - began_s
            # a smaller drive's samples are short: some of them have nothing in them
            if (mb_s > 0 or self._part > 1) and dt_s > 0:
                work = {key: (after[key] - done[key]) / dt_s for key in after}
                parts.append({"dt_s": dt_s * self._part, "mb_s": mb_s, **work})
            done, began_s = after, now_s
        if not any(one["mb_s"] for one in parts):
            raise UsageError(f"{step.name}: moves nothing, so there is nothing to predict")
        merged = _merged(parts, _LEAST_IOS * self._part if self._part > 1 else 0)
        return self._asked(step, {key: np.array([one[key] for one in merged]) for key in merged[0]})

    def _asked(self, step: protocol.WorkloadStep, work: dict[str, Any]) -> DemandSeries:
        dt_s, mb_s = work.pop("dt_s"), work.pop("mb_s")
        keeps_up = mb_s >= _KEEPS_UP * _wanted_mb_s(step)
        least_share = np.where(keeps_up, self._speeds.link_share_of(work), 1.0)
        return DemandSeries(dt_s, mb_s, self._speeds.share_of(work), least_share, work)


def _wanted_mb_s(step: protocol.WorkloadStep) -> float:
    """The rate that a load is held to; infinite if it takes all it can get."""
    return sum(load.limit_mb_s for load in step.workloads)


def _merged(parts: Sequence[dict[str, Any]], least_ios: float) -> list[dict[str, Any]]:
    """Neighbours with the same rate as one, and with so many writes that they have a rate."""

    def is_short(one: dict[str, Any]) -> bool:
        return bool(one["dt_s"] * one["write_commands"] < least_ios)

    made = [parts[0]]
    for part in parts[1:]:
        last = made[-1]
        if is_short(last) or abs(part["mb_s"] / last["mb_s"] - 1) <= _ALIKE:
            made[-1] = _joined(last, part)
        else:
            made.append(part)
    if len(made) > 1 and is_short(made[-1]):
        made[-2:] = [_joined(*made[-2:])]
    return made


def _joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    dt_s = one["dt_s"] + other["dt_s"]
    share = other["dt_s"] / dt_s
    return {key: value + share * (other[key] - value) for key, value in one.items()} | {
        "dt_s": dt_s
    }
