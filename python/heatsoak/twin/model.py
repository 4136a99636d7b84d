"""The model of a twin: a drive of the catalog with its heat replaced, driven by a recording.

Its network has few numbers. Controller and NAND sit on a board, which a place connects to its
air; what else takes up heat, such as an adapter, a case or a heatsink, is a node of its own where
the data ask for one. What a drive reports is some of its controller, some of its flash and some of
its board, late and off by a constant: no node at all, as published measurements found.

The air follows the room where that was measured, and what a graphics card or processor gives to
it where they were: a share of their warmth, late.

Not modelled: writes that caches and collection multiply, and heat that reaches the air otherwise
than through the board.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import exp, log
from typing import Any, Literal

import numpy as np

from heatsoak._core import Lumped
from heatsoak.analysis.series import lagged
from heatsoak.catalog import Drive
from heatsoak.twin import asked
from heatsoak.twin.readings import Array, MeasuredRecording

Values = Mapping[str, float]

#: Of so many drives the text for the engine is kept: those beside one, of which each place asks.
_DRIVES = 64

#: The sensor of a twin: what the fitted one reported.
SENSOR = "composite"
#: The flash's packages beside the controller's: their resistance to the board and heat capacity,
#: as shares of the controller's. Few recordings tell them apart from the board.
_NAND_SHARES = (0.8, 2.0)
#: By how much measured power is off, a parameter of recordings that have it.
METER = "meter_x"
#: How much of the rest of what a sensor feels is the flash; twins of before it have none.
FLASH = "flash_share"
#: How much more writes cost past the cache than into it, of drives with both.
DENSE = "dense_x"
#: How much of what the governor acts on is the controller, and not the flash; twins without it have
#: one that acts on what the drive reports.
GOVERNED = "governed_share"
#: By how much what it reports is off; twins whose governor acts on that have none.
OFFSET = "sensor_offset_k"
#: What is moved.
RATES = ("read_mb_s", "write_mb_s", "read_iops", "write_iops")
#: By how much what the governor acts on is off from the threshold that a host set.
TMT_OFFSET = "tmt_offset_k"
#: How late the air of a place follows what else warms it.
NEIGHBOUR_LAG = "neighbour_lag_s"
#: The part of a board's capacity that stays the drive's; a place brings the rest.
_DRIVES_SHARE = 0.3
_READS = ("read_command_uj", "host_read_uj", "read_uj")
_WRITES = (
    *("write_command_uj", "host_write_uj", "program_uj"),
    *("cache_program_uj", "erase_uj", "move_uj"),
)
_STATIC = ("idle_w", "active_w", "busy_w")


@dataclass(frozen=True)
class Prior:
    """What is expected of a parameter before any data.

    Attributes:
        scale: ``log``, for what is more than 0: `spread` is one of its logarithm; ``logit`` for
            shares likewise; ``linear``.
        median, spread: the middle, and a standard deviation.
        why: where the expectation comes from.
    """

    scale: Literal["log", "linear", "logit"]
    median: float
    spread: float
    unit: str
    why: str

    def value(self, u: float) -> float:
        """Return the parameter that lies `u` spreads from the middle."""
        match self.scale:
            case "log":
                return self.median * exp(self.spread * u)
            case "logit":
                odds = log(self.median / (1 - self.median)) + self.spread * u
                return 1 / (1 + exp(-odds))
            case "linear":
                return self.median + self.spread * u

    def slope(self, u: float) -> float:
        """Return how fast the parameter changes with `u`."""
        match self.scale:
            case "log":
                return self.spread * self.value(u)
            case "logit":
                share = self.value(u)
                return self.spread * share * (1 - share)
            case "linear":
                return self.spread


def shifted(governor: Any, by_k: float) -> Any:
    """Return a governor's tables with all their temperatures moved."""
    match governor:
        case dict():
            return {
                key: value + by_k
                if key.endswith("_c") and isinstance(value, int | float)
                else shifted(value, by_k)
                for key, value in governor.items()
            }
        case list():
            return [shifted(value, by_k) for value in governor]
        case _:
            return governor


def drive_priors(base: Drive, fastest_mb_s: tuple[float, float]) -> dict[str, Prior]:
    """Return what is expected of a drive like `base`, whose fastest reads and writes were seen.

    A drive of a class draws at its full speed what others draw at theirs, so that one that is
    faster needs less for a byte.
    """
    read, write = (
        float(np.clip(rated / seen, 0.2, 5.0)) if seen > 0 else 1.0
        for rated, seen in zip((base.read_mb_s, base.write_mb_s), fastest_mb_s, strict=True)
    )
    return {
        "die_k_per_w": Prior("log", 3.0, 0.5, "K/W", "controllers of a class: 2 to 5 K/W"),
        "die_j_per_k": Prior("log", 1.0, 0.5, "J/K", "a die and package weigh about a gram"),
        "static_x": Prior("log", 1.0, 0.5, "", "power awake, of drives of a class"),
        "read_x": Prior("log", read, 0.5, "", "drives of a class draw alike at full speed"),
        "write_x": Prior("log", write, 0.5, "", "drives of a class draw alike at full speed"),
        "rest_w": Prior("log", 0.3, 1.2, "W", "from a deep state to awake"),
        "limit_c": Prior(
            "linear", base.governor.begins.value, 10.0, "C", "drives start at 65 to 90 C"
        ),
        GOVERNED: Prior("logit", 0.85, 1.0, "", "firmware guards the controller above all"),
        "sensor_share": Prior("logit", 0.5, 1.5, "", "a sensor is felt by anything on the drive"),
        FLASH: Prior("logit", 0.7, 1.5, "", "drives report 10 to 30 K less than their hot spots"),
        "sensor_lag_s": Prior("log", 2.0, 1.0, "s", "from the die to the board's surface"),
        OFFSET: Prior("linear", 0.0, 2.0, "K", "what sensors of a kind differ by"),
    }


def dense_prior(base: Drive) -> Prior:
    """Return what is expected of how much more writes past the cache cost than those into it."""
    cached = base.energy.cache_program_uj
    known = 3.0 if cached is None else base.energy.program_uj.value / cached.value
    return Prior("log", known, 0.7, "", "three bits a cell take three times as long, or more")


#: What is expected between a threshold and what the governor acts on when it acts.
TMT_PRIOR = Prior("linear", 0.0, 5.0, "K", "what counts need not be what is reported")
#: What is expected of a power meter, or of a drive's own, as a factor.
METER_PRIOR = Prior("log", 1.0, 0.04, "", "what meters of power rails agree within")


def neighbour_priors(names: Iterable[str]) -> dict[str, Prior]:
    """Return what is expected of how neighbours warm the air of a place."""
    found = {
        share_name(name): Prior("log", 0.2, 1.0, "", "cards warm the air at a slot by 2 to 20 K")
        for name in names
    }
    return found and {
        **found,
        NEIGHBOUR_LAG: Prior("log", 60.0, 1.0, "s", "a case's air follows in a minute or so"),
    }


def share_name(neighbour: str) -> str:
    """Return the parameter that says how much of a neighbour's warmth the air has."""
    return f"{neighbour}_share"


def room_name(place: str) -> str:
    """Return the name of a place's measured room, at which its air is what `air_c` says."""
    return f"room_c@{place}"


def limit_c_of(values: Values, measured: MeasuredRecording) -> float:
    """Return what the governor acted at in a recording: the drive's own limit, or a host's."""
    if measured.tmt1_c is None:
        return values["limit_c"]
    return min(values["limit_c"], measured.tmt1_c + values[TMT_OFFSET])


def place_priors(ambient_c: float | None, *, has_mount: bool) -> dict[str, Prior]:
    """Return what is expected of a place, whose room may have been measured."""
    air = (
        Prior("linear", 28.0, 6.0, "C", "a room of 20 to 25 C, warmer around a drive")
        if ambient_c is None
        else Prior("linear", ambient_c + 2.0, 2.5, "C", "the measured room, warmer at the slot")
    )
    found = {
        "air_c": air,
        "k_per_w": Prior("log", 8.0, 0.6, "K/W", "bare 9 to 11, with heatsinks 3 and more"),
        "j_per_k": Prior("log", 10.0, 0.8, "J/K", "a module of 7 to 10 g, and what it lies on"),
    }
    if has_mount:
        found |= {
            "mount_k_per_w": Prior("log", 3.0, 0.7, "K/W", "through pads and connectors"),
            "mount_j_per_k": Prior("log", 50.0, 1.0, "J/K", "adapters and heatsinks, 20 to 200 g"),
        }
    return found


def start_prior(above_lowest_k: float) -> Prior:
    """Return what is expected of a drive whose first reading was so far above its lowest."""
    return Prior("linear", 0.0, max(3.0, above_lowest_k), "K", "hardly anybody waits for an hour")


def required_parameters(base: Drive, nodes: "Nodes", places: Iterable[str]) -> set[str]:
    """Return the names of the parameters that every twin has, but for each recording's own."""
    of_place = place_priors(None, has_mount=nodes == 3)
    names = {f"{name}@{place}" for place in places for name in of_place}
    of_drive = (
        drive_priors(base, (0.0, 0.0)).keys()
        - {FLASH, GOVERNED, OFFSET}
        - fixed_parameters(nodes).keys()
    )
    return names | of_drive


def is_optional(name: str, places: Iterable[str]) -> bool:
    """Return whether some twins have a parameter of this name, by what was recorded."""
    own, at, place = name.partition("@")
    if not at:
        return own in (METER, TMT_OFFSET, DENSE, FLASH, GOVERNED, OFFSET)
    return place in places and (own == NEIGHBOUR_LAG or own.endswith("_share"))


#: Which network: the drive in one piece, packages on a board, or those on a mount that warms.
Nodes = Literal[1, 2, 3]


def fixed_parameters(nodes: Nodes) -> dict[str, float]:
    """Return the parameters that a network does not have, with values that take them out."""
    if nodes > 1:
        return {}
    shares = {"sensor_share": 0.5, FLASH: 0.5, GOVERNED: 0.85}
    return {"die_k_per_w": 0.05, "die_j_per_k": 1.0, **shares}


class ThermalModel:
    """Drives of `base`'s kind in places, by the values of parameters.

    A parameter of a place has ``@`` and the place's name behind its own.
    """

    def __init__(self, base: Drive, nodes: Nodes) -> None:
        """Take everything that is not fitted from `base`."""
        self.base = base
        self.nodes = nodes
        self._spec: dict[str, Any] = json.loads(base.core_json())
        self._begins_c = base.governor.begins.value
        self._texts: dict[tuple[float, ...], str] = {}
        self._works: dict[int, tuple[MeasuredRecording, asked.Work]] = {}

    def drive_tables(self, values: Values) -> dict[str, Any]:
        """Return the tables of a catalog drive that differ from the base's, in plain numbers."""
        base = self._spec
        energy = dict(base["energy"])
        for keys, factor in ((_STATIC, "static_x"), (_READS, "read_x"), (_WRITES, "write_x")):
            energy |= {key: energy[key] * values[factor] for key in keys if key in energy}
        if DENSE in values:
            energy["cache_program_uj"] = energy.get("cache_program_uj", energy["program_uj"])
            energy["program_uj"] = energy["cache_program_uj"] * values[DENSE]
        die_k_per_w, die_j_per_k = values["die_k_per_w"], values["die_j_per_k"]
        nand_k_per_w, nand_j_per_k = _NAND_SHARES
        nodes = {
            "controller": {"j_per_k": die_j_per_k},
            "nand": {"j_per_k": nand_j_per_k * die_j_per_k},
            "board": {"j_per_k": _DRIVES_SHARE * self._least_j_per_k(values)},
        }
        links = {
            "die": {"between": ["controller", "board"], "k_per_w": die_k_per_w},
            "nand": {"between": ["nand", "board"], "k_per_w": nand_k_per_w * die_k_per_w},
        }
        share = values["sensor_share"]
        flash = (1.0 - share) * values.get(FLASH, 0.0)
        felt = {"controller": share, "nand": flash, "board": 1.0 - share - flash}
        return {
            "energy": energy,
            "thermal": {"nodes": nodes, "links": links},
            "governor": self._governor(values, felt),
            "sensors": {
                SENSOR: {
                    "weights": felt,
                    "lag_s": values["sensor_lag_s"],
                    "offset_c": values.get(OFFSET, 0.0),
                    "step_c": 1.0,
                }
            },
            "power_states": [self._rest(values["rest_w"])],
        }

    def place_tables(self, values: Values, place: str) -> dict[str, Any]:
        """Return a place's tables, in plain numbers."""
        own = 1.0 - _DRIVES_SHARE * self._least_j_per_k(values) / values[f"j_per_k@{place}"]
        nodes = {"board": {"j_per_k": own * values[f"j_per_k@{place}"]}}
        k_per_w = values[f"k_per_w@{place}"]
        links: dict[str, Any] = {"air": {"between": ["board", "air"], "k_per_w": k_per_w}}
        if self.nodes == 3:
            nodes["mount"] = {"j_per_k": values[f"mount_j_per_k@{place}"]}
            links = {
                "mount": {
                    "between": ["board", "mount"], "k_per_w": values[f"mount_k_per_w@{place}"],
                },
                "air": {"between": ["mount", "air"], "k_per_w": k_per_w},
            }  # fmt: skip
        return {"air_c": values[f"air_c@{place}"], "nodes": nodes, "links": links}

    def drive_spec(self, values: Values) -> dict[str, Any]:
        """Return the whole drive as the core takes it."""
        return {**self._spec, **self.drive_tables(values)}

    def lumped(self, values: Values, place: str, *, governed: bool = False) -> Lumped:
        """Return heat and governor of the drive in a place; ValueError for impossible values."""
        # of its places, a drive knows only the least
        own = {name: value for name, value in values.items() if "@" not in name}
        own["j_per_k@"] = self._least_j_per_k(values)
        key = governed, *own.values()
        if (text := self._texts.get(key)) is None:
            spec = self.drive_spec(own)
            spec["governor"]["on"] = governed and spec["governor"].get("on", True)
            if len(self._texts) == _DRIVES:
                self._texts.clear()
            text = self._texts[key] = json.dumps(spec)
        return Lumped(text, json.dumps(self.place_tables(values, place)))

    def follow(
        self, values: Values, measured: MeasuredRecording, start_k: float = 0.0
    ) -> "TemperatureCourse":
        """Return what the model makes of a recording that began `start_k` warmer than at rest."""
        found = self.follow_beside([{**values, "start_k": start_k}], measured, "start_k")
        one = (of[:, 0] for of in (found.sensor_c, found.hidden_c, found.power_w))
        return TemperatureCourse(found.t_s, *one)

    def follow_beside(
        self, tried: Sequence[Values], measured: MeasuredRecording, start: str
    ) -> "TemperatureCourse":
        """Return what drives that differ a little make of a recording, each a column.

        `start` names how much warmer than at rest each began. All but the first are followed to
        first order in what they differ by; those that cannot be are NaN. Raises ValueError where
        the first cannot be.
        """
        first = tried[0]
        lumped = self._started(first, measured, first[start])
        beside: dict[int, Lumped] = {}
        for index, values in enumerate(tried[1:], 1):
            with suppress(ValueError):  # such as one that runs away at rest
                beside[index] = self._started(values, measured, values[start])
        meter_x = first.get(METER, 1.0)
        air_k = [air_above_k(tried[index], measured) for index in beside]
        followed = lumped.follow(
            np.full(len(measured.t_s), measured.grid_s),
            work=self._work_of(measured),
            power_w=measured.power_w * meter_x,
            air_k=air_above_k(first, measured),
            beside=(
                list(beside.values()),
                [tried[index].get(METER, 1.0) / meter_x for index in beside],
                np.array(air_k).reshape(len(beside), len(measured.t_s)).T.copy(),
            ),
        )
        columns = [0, *beside]
        found = {name: np.full((len(of), len(tried)), np.nan) for name, of in followed.items()}
        for name, of in followed.items():
            found[name][:, columns] = of
        return TemperatureCourse.of(found, measured.t_s)

    def _started(self, values: Values, measured: MeasuredRecording, start_k: float) -> Lumped:
        lumped = self.lumped(values, measured.place)
        lumped.warm(start_k)
        return lumped

    def _work_of(self, measured: MeasuredRecording) -> asked.Work:
        known = self._works.get(id(measured))
        if known is None or known[0] is not measured:
            rates = (getattr(measured, name) for name in RATES)
            work = asked.folding(self.base, asked.work_of(self.base, *rates), measured.grid_s)
            known = self._works[id(measured)] = (measured, work)
        return known[1]

    def _least_j_per_k(self, values: Values) -> float:
        return min(value for name, value in values.items() if name.startswith("j_per_k@"))

    def _governor(self, values: Values, felt: dict[str, float]) -> dict[str, Any]:
        spec: dict[str, Any] = shifted(self._spec["governor"], values["limit_c"] - self._begins_c)
        if GOVERNED in values:
            own: dict[str, Any] = {
                "weights": {"controller": values[GOVERNED], "nand": 1.0 - values[GOVERNED]}
            }
        else:  # what it reports
            own = {"weights": felt, "lag_s": values["sensor_lag_s"]}
        return {**spec, "hottest": [], **own}

    def _rest(self, rest_w: float) -> dict[str, Any]:
        """One state without load: what lies between awake and the deepest passes in seconds."""
        known = self._spec.get("power_states") or [
            {"state": 3, "after_s": 1.0, "entry_us": 2000.0, "exit_us": 3000.0}
        ]
        return {**known[-1], "power_w": rest_w}


def air_above_k(values: Values, measured: MeasuredRecording) -> Array:
    """Return how much warmer than the place's air a recording's was, at its times."""
    place = measured.place
    found = np.zeros(len(measured.t_s))
    room_c = values.get(room_name(place))
    if room_c is not None and measured.room_c is not None:
        found += measured.room_c - room_c
    for name, neighbour_c in measured.neighbours_c.items():
        share = values.get(f"{share_name(name)}@{place}")
        if share is not None:
            above_k = neighbour_c - values[f"air_c@{place}"]
            steps = measured.grid_s / values[f"{NEIGHBOUR_LAG}@{place}"]
            found += share * (above_k[0] + lagged(above_k - above_k[0], steps)[0])
    return found


@dataclass(frozen=True)
class TemperatureCourse:
    """Temperatures that a model gives, at `t_s`: one course, or several as columns.

    Attributes:
        sensor_c: what would be reported, unrounded.
        hidden_c: what the governor acts on.
        power_w: what the work costs by the twin's own energies.
    """

    t_s: Array
    sensor_c: Array
    hidden_c: Array
    power_w: Array

    @classmethod
    def of(cls, followed: dict[str, Array], t_s: Array) -> "TemperatureCourse":
        """Return the course of what the engine gave."""
        return cls(t_s, followed[f"sensor_c.{SENSOR}"], followed["governed_c"], followed["power_w"])

    def at(self, t_s: Array, values: Array) -> Array:
        """Return what one of its series is at other times; columns each on their own."""
        before = np.clip(np.searchsorted(self.t_s, t_s) - 1, 0, len(self.t_s) - 2)
        passed = (t_s - self.t_s[before]) / (self.t_s[before + 1] - self.t_s[before])
        # nothing is known beyond its ends
        passed = np.clip(passed, 0.0, 1.0)
        return np.asarray((values[before].T * (1.0 - passed) + values[before + 1].T * passed).T)


def figures(value: Any) -> Any:
    """Return tables with the provenance of each number, as the catalog asks for."""
    match value:
        case bool() | str() | int():
            return value
        case float():
            return {"value": value, "fitted": True}
        case dict():
            return {key: figures(entry) for key, entry in value.items()}
        case list() | tuple():
            return [figures(entry) for entry in value]
        case _:
            return value
