"""The schema of a drive's file; `crates/drive/src/spec.rs` documents each number."""

import json
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from heatsoak.toml import LateModel


class Strict(LateModel):
    """Base: unknown keys are errors, numbers are finite, and objects are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Figure(Strict):
    """A number with its provenance, which is exactly one of source, fitted and assumed.

    Attributes:
        value: the number; its unit is in the name of its key.
        source: where it was published.
        fitted: whether it was fitted to published figures, by ``heatsoak calibrate`` or by hand.
        assumed: why it is assumed.
        bounds: the physical limits of a fitted number.
        expect: mean and standard deviation that are expected of a fitted number before the fit;
            default: the middle of the bounds and a quarter of their width.
        spread: by how much an assumed number differs from drive to drive, as a standard deviation:
            in K, of a power in shares.
    """

    value: float = Field(strict=True)
    source: str | None = Field(None, min_length=1)
    fitted: bool = False
    assumed: str | None = Field(None, min_length=1)
    bounds: tuple[float, float] | None = None
    expect: tuple[float, float] | None = None
    spread: float | None = Field(None, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _is_table(cls, data: Any) -> Any:
        if isinstance(data, int | float) and not isinstance(data, bool):
            raise ValueError(
                f"a number needs its provenance: {{ value = {data}, source = '...' }}, "
                "or assumed = '...' instead"
            )
        return data

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = [self.source is not None, self.fitted, self.assumed is not None]
        if sum(given) != 1:
            raise ValueError("a number needs one of source = '...', fitted = true, assumed = '...'")
        if self.bounds is not None:
            low, high = self.bounds
            if not self.fitted:
                raise ValueError("bounds are only for a fitted number")
            if not low < high:
                raise ValueError("bounds must be the lower and then the upper one")
            if not low <= self.value <= high:
                raise ValueError(f"the value is outside its bounds, {low:g} to {high:g}")
        if self.expect is not None:
            if self.bounds is None:
                raise ValueError("expect is only for a fitted number with bounds")
            middle, spread = self.expect
            if not self.bounds[0] <= middle <= self.bounds[1]:
                raise ValueError("the expected value is outside the bounds")
            if spread <= 0:
                raise ValueError("the spread of the expected value must be more than 0")
        return self

    def spread_of(self, fitted: float, source: float, assumed: float) -> float:
        """Return its spread; without one, that of such numbers with its provenance."""
        return self.spread or (fitted if self.fitted else assumed if self.assumed else source)


#: More than any rate, count or volume of a drive, and without loss in all that follows from it.
_MOST = 1e15


def _must_be(said: str, is_right: Callable[[float], bool]) -> AfterValidator:
    def check(figure: Figure) -> Figure:
        for words, is_met in ((said, is_right(figure.value)), (_SANE, figure.value <= _MOST)):
            if not is_met:
                raise ValueError(f"must be {words} (is {figure.value:g})")
        return figure

    return AfterValidator(check)


_SANE = f"{_MOST:g} at most"
Count = Annotated[Figure, _must_be("a whole number, 0 or more", lambda n: n >= 0 and n == int(n))]
Percentage = Annotated[Figure, _must_be("0 to 100", lambda pct: 0 <= pct <= 100)]
Positive = Annotated[Figure, _must_be("more than 0", lambda value: value > 0)]
Volume = Annotated[Figure, _must_be(_SANE, lambda value: value <= _MOST)]


def plain(value: Any) -> Any:
    """Return a table with its figures as plain numbers, leaving out those not given."""
    match value:
        case Figure():
            return value.value
        case Strict():
            given = {name: getattr(value, name) for name in type(value).model_fields}
            return {name: plain(entry) for name, entry in given.items() if entry is not None}
        case dict():
            return {name: plain(entry) for name, entry in value.items()}
        case list() | tuple():
            return [plain(entry) for entry in value]
        case _:
            return value


Name = Annotated[str, Field(min_length=1)]


class Rated(Strict):
    """The manufacturer's ratings; the simulation only uses them to make a drive from its base.

    `read_w` and `write_w` are mean powers of sequential reads and writes at full speed.
    """

    seq_read_mb_s: Positive
    seq_write_mb_s: Positive
    rand_read_iops: Positive
    rand_write_iops: Positive
    endurance_tb: Positive
    read_w: Positive | None = None
    write_w: Positive | None = None


class Capacity(Strict):
    """Its raw and user capacity, and how long a purge takes."""

    user_bytes: Figure
    raw_bytes: Figure
    reserve_bytes: Figure | None = None
    purge_s: Figure


class Nand(Strict):
    """Its flash: dies, timings and channels."""

    dies: Figure
    channels: Figure
    channel_mb_s: Figure
    unit_bytes: Figure
    block_bytes: Figure
    read_us: Figure
    program_us: Figure
    erase_us: Figure


class MapCache(Strict):
    """What of its map a drive without DRAM has at hand."""

    bytes_covered: Figure
    piece_bytes: Figure


class Controller(Strict):
    """Firmware times, data paths and the write buffer."""

    read_mb_s: Figure
    write_mb_s: Figure
    read_command_us: Figure
    write_command_us: Figure
    move_us: Figure
    read_latency_us: Figure
    write_latency_us: Figure
    buffer_bytes: Figure
    map_cache: MapCache | None = None


class Collection(Strict):
    """Garbage collection."""

    policy: Literal["greedy", "cost-benefit"] = "greedy"
    pacing: Literal["none", "victim", "level"]
    level_moves: Figure | None = None
    idle_mb_s: Figure


class Cache(Strict):
    """The pSLC write cache."""

    kind: Literal["static", "dynamic"]
    bytes: Figure
    bits: Figure
    read_us: Figure
    program_us: Figure
    fold_after_s: Figure
    fold_mb_s: Figure
    fold_us: Figure | None = None


class Energy(Strict):
    """Energy of operations and power of states.

    Attributes:
        ungated_active: the share of `active_w` that a load draws whatever a governor permits; all
            if not given, as for drives of which nobody published what they draw throttled.
    """

    idle_w: Figure
    active_w: Figure
    ungated_active: Figure | None = None
    busy_w: Figure
    read_command_uj: Figure
    write_command_uj: Figure
    host_read_uj: Figure
    host_write_uj: Figure
    read_uj: Figure
    program_uj: Figure
    cache_program_uj: Figure | None = None
    erase_uj: Figure
    move_uj: Figure
    leakage_w: Figure
    leakage_doubling_k: Figure
    board_share: Figure


class ThermalNode(Strict):
    """A thermal capacity."""

    j_per_k: Figure


class ThermalLink(Strict):
    """A heat path between two nodes, or a node and the air.

    Attributes:
        k_per_w: its resistance; to the air, in still air that is 50 K cooler.
        halved_at_m_s: the air's speed that halves it.
        radiated: what part of its heat radiates in still air; a bare board's if not given.
    """

    between: tuple[Name, Name]
    k_per_w: Figure
    halved_at_m_s: Figure | None = None
    radiated: Figure | None = None


class Thermal(Strict):
    """The drive's own part of the thermal network."""

    nodes: dict[Name, ThermalNode]
    links: dict[Name, ThermalLink]


class Band(Strict):
    """The permitted speed falls linearly over a temperature band."""

    kind: Literal["band"]
    engage_c: Figure
    band_k: Figure
    floor: Figure


class GovernorLevel(Strict):
    """A level of a table, with a share or an operational state."""

    enter_c: Figure
    leave_c: Figure
    share: Figure | None = None
    state: int | None = Field(None, ge=0, le=31)


class GovernorSteps(Strict):
    """Levels with hysteresis."""

    kind: Literal["steps"]
    levels: tuple[GovernorLevel, ...] = Field(min_length=1)
    dwell_s: Figure


class Delay(Strict):
    """Delays with a proportional and a derivative term."""

    kind: Literal["delay"]
    engage_c: Figure
    release_c: Figure
    target_c: Figure
    gain_per_k: Figure
    damping_s_per_k: Figure
    floor: Figure


class Probe(Strict):
    """One of several temperatures of which the hottest counts."""

    weights: dict[Name, Figure]
    offset_c: Figure | None = None


class Governor(Strict):
    """The firmware's throttling."""

    law: Annotated[Band | GovernorSteps | Delay, Field(discriminator="kind")]
    weights: dict[Name, Figure] = Field(default_factory=dict)
    hottest: tuple[Probe, ...] = ()
    lag_s: Figure | None = None
    shutdown_c: Figure | None = None
    restart_c: Figure | None = None
    counters: bool = False

    @property
    def begins(self) -> Figure:
        """The temperature at which it starts to act."""
        return self.law.levels[0].enter_c if self.law.kind == "steps" else self.law.engage_c


class Limits(Strict):
    """What the drive states in Identify Controller; the simulation does not use it.

    Attributes:
        wctemp_c: its warning temperature.
        cctemp_c: its critical temperature.
        ps0_w: the most that it draws in power state 0; likewise 1 and 2.
    """

    wctemp_c: Figure | None = None
    cctemp_c: Figure | None = None
    ps0_w: Figure | None = None
    ps1_w: Figure | None = None
    ps2_w: Figure | None = None


class SimulatedSensor(Strict):
    """A temperature sensor."""

    weights: dict[Name, Figure] = Field(default_factory=dict)
    hottest: tuple[Probe, ...] = ()
    lag_s: Figure
    offset_c: Figure | None = None
    step_c: Figure


class PowerState(Strict):
    """An idle power state."""

    state: int = Field(ge=0, le=31)
    power_w: Figure
    after_s: Figure
    entry_us: Figure
    exit_us: Figure


class OperationalState(Strict):
    """A power state under load."""

    state: int = Field(ge=0, le=31)
    max_w: Figure


_WHOLE = (
    *("capacity.user_bytes", "capacity.raw_bytes", "capacity.reserve_bytes", "nand.dies"),
    *("nand.channels", "nand.unit_bytes", "nand.block_bytes", "controller.buffer_bytes"),
    *("controller.map_cache.bytes_covered", "controller.map_cache.piece_bytes"),
    *("cache.bytes", "cache.bits"),
)
#: What the simulation does not use.
_ABOUT = ("id", "model", "also", "enclosure", "base", "family", "basis", "rated", "limits")
#: Of bytes: nine petabytes. Larger whole numbers are not exact in every part of the simulation.
_LARGEST = 2**53
#: What a drive does takes no longer: a simulated run would wait for it.
_LONGEST = {"_us": (60e6, "us"), "purge_s": (86_400.0, "s")}


def _numbers(spec: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """What tables hold, by its path of names with dots."""
    for name, value in enumerate(spec) if isinstance(spec, list) else spec.items():
        if isinstance(value, dict | list):
            yield from _numbers(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


class Drive(Strict):
    """A drive.

    Attributes:
        id: the name of its file, or the path of a user's own.
        model: the model, as the drive reports it.
        also: other names that drives of this model report.
        enclosure: the id of its default enclosure.
        base: the drive whose numbers hold where its file gives none.
        family: the id of its controller's family, where no name tells it.
        basis: what all else that it does comes from, if nobody measured it.
        limits: what it states of its temperatures.
    """

    id: str = ""
    model: str = Field(min_length=1)
    also: tuple[Name, ...] = ()
    enclosure: str = Field(min_length=1)
    base: str | None = None
    family: str | None = None
    basis: Literal["class", "data sheet"] | None = None
    rated: Rated
    capacity: Capacity
    nand: Nand
    controller: Controller
    collection: Collection
    cache: Cache | None = None
    energy: Energy
    thermal: Thermal
    governor: Governor
    limits: Limits | None = None
    sensors: dict[Name, SimulatedSensor] = Field(min_length=1)
    power_states: tuple[PowerState, ...] = ()
    operational_states: tuple[OperationalState, ...] = ()

    @model_validator(mode="after")
    def _has_possible_numbers(self) -> Self:
        for path, value in _numbers(plain(self)):
            for ending, (longest, unit) in _LONGEST.items():
                if path.endswith(ending) and value > longest:
                    raise ValueError(
                        f"{path} is {value:g}: it must be {longest:,.0f} {unit} at most"
                    )
            minimum = 0 if path == "capacity.reserve_bytes" else 1
            if path in _WHOLE and (value != int(value) or not minimum <= value <= _LARGEST):
                raise ValueError(
                    f"{path} is {value:g}: it must be a whole number from {minimum} to "
                    f"{_LARGEST:.0e}"
                )
        return self

    @property
    def user_bytes(self) -> int:
        """Bytes that a host can address."""
        return int(self.capacity.user_bytes.value)

    @property
    def raw_bytes(self) -> int:
        """Raw bytes of flash."""
        return int(self.capacity.raw_bytes.value)

    @property
    def endurance_bytes(self) -> float:
        """Rated endurance, in bytes written."""
        return self.rated.endurance_tb.value * 1e12

    @property
    def read_mb_s(self) -> float:
        """Rated sequential read throughput."""
        return self.rated.seq_read_mb_s.value

    @property
    def write_mb_s(self) -> float:
        """Rated sequential write throughput."""
        return self.rated.seq_write_mb_s.value

    @property
    def read_iops(self) -> float:
        """Rated 4 KiB random reads per second."""
        return self.rated.rand_read_iops.value

    @property
    def write_iops(self) -> float:
        """Rated 4 KiB random writes per second, while there is spare area."""
        return self.rated.rand_write_iops.value

    def core_json(self) -> str:
        """Return what :class:`heatsoak._core.Drive` takes."""
        spec = plain(self)
        for name in _ABOUT:
            spec.pop(name, None)
        for path in _WHOLE:
            *tables, key = path.split(".")
            table = reduce(lambda inner, name: inner.get(name, {}), tables, spec)
            if key in table:
                table[key] = int(table[key])
        return json.dumps(spec)
