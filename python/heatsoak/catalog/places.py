"""The schema of enclosures that a drive can be in, single ones or families."""

import json
from typing import Any, Self

from pydantic import Field, model_validator

from heatsoak.catalog import specs


class HostLimits(specs.Strict):
    """The limits of an enclosure's host, for any drive in it.

    Attributes:
        link_mb_s: throughput of the link, in each direction.
        host_read_iops: random reads per second that the host can issue.
        host_write_iops: random writes per second that the host can issue.
    """

    link_mb_s: specs.Figure | None = None
    host_read_iops: specs.Figure | None = None
    host_write_iops: specs.Figure | None = None


class Enclosure(HostLimits):
    """An enclosure: the air at the slot, the paths of a drive's heat to it, and the host.

    Attributes:
        id: its name, or the path of a user's own file.
        air_c: air temperature at the slot during the test.
        air_speed_m_s: air speed at the slot.
        nodes: thermal capacities that the enclosure adds, to new nodes or to the drive's.
        links: heat paths, at least one of them to ``air``.
        heat_w: heat that other sources put into a node.
        sensor_air_share: share of the slot's air in a reported temperature.
        keeps_awake: whether its host lets no idle drive enter a power state.
        conditions: the conditions that it represents, which comparisons group by.
        spread: standard deviation, from product to product, of the logarithm of its heatsink's
            resistances to the air; None where that is not known.
    """

    id: str = ""
    description: str = ""
    air_c: specs.Figure
    air_speed_m_s: specs.Figure | None = None
    nodes: dict[specs.Name, specs.ThermalNode] = Field(default_factory=dict)
    links: dict[specs.Name, specs.ThermalLink] = Field(min_length=1)
    heat_w: dict[specs.Name, specs.Figure] = Field(default_factory=dict)
    sensor_air_share: specs.Figure | None = None
    keeps_awake: bool = False
    conditions: dict[str, str | int] = Field(default_factory=dict)
    spread: specs.Figure | None = None

    @property
    def labels(self) -> dict[str, str | int]:
        """The conditions of a recording made here: what it represents, and its own name."""
        return {**self.conditions, "enclosure": self.id}

    def core_json(self) -> str:
        """Return what :class:`heatsoak._core.Drive` takes."""
        spec = specs.plain(self)
        for name in ("id", "description", "conditions", "spread"):
            spec.pop(name, None)
        return json.dumps(spec)


class Slot(HostLimits):
    """One slot of a family: an enclosure without the air, which depends on the chassis.

    Attributes:
        like: another slot, which provides the numbers that this one does not give.
        air_coupling: how much of the chassis' warming reaches it, relative to a slot with 1.
        board_k_per_w: thermal resistance from board to air.
        board_j_per_k: capacity that the slot adds to the board's.
        sheltered: whether it is outside the airflow of the chassis' fans.
        air_speed_m_s: air speed at the slot, for drives that it matters to.
    """

    description: str = ""
    like: str | None = None
    air_coupling: specs.Figure | None = None
    board_k_per_w: specs.Figure | None = None
    board_j_per_k: specs.Figure | None = None
    sheltered: bool = False
    air_speed_m_s: specs.Figure | None = None
    sensor_air_share: specs.Figure | None = None


class Chassis(specs.Strict):
    """A state of the chassis.

    Attributes:
        warming_k: temperature of its air above the room's.
        resistance_factor: thermal resistance of a board relative to still air, below 1 with fans;
            1 for sheltered slots.
    """

    description: str = ""
    warming_k: specs.Figure
    resistance_factor: specs.Figure | None = None


class Member(specs.Strict):
    """One enclosure of a family: a slot in a state of the chassis."""

    slot: str
    chassis: str
    conditions: dict[str, str | int] = Field(default_factory=dict)


def _scaled(figure: specs.Figure, factor: float) -> specs.Figure:
    update = {"value": figure.value * factor, "bounds": None, "expect": None}
    return figure.model_copy(update=update)


class PlaceFamily(specs.Strict):
    """Enclosures that share slots, states of a chassis, and a host.

    An enclosure's air is the room's plus the slot's coupling times the chassis' warming.
    """

    description: str = ""
    room_c: specs.Figure
    host: HostLimits = HostLimits()
    slots: dict[str, Slot] = Field(min_length=1)
    chassis: dict[str, Chassis] = Field(min_length=1)
    places: dict[str, Member] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name, member in self.places.items():
            for kind, key, known in (
                ("slot", member.slot, self.slots),
                ("chassis", member.chassis, self.chassis),
            ):
                if key not in known:
                    raise ValueError(
                        f"places.{name}: there is no {kind} '{key}': known are {', '.join(known)}"
                    )
        for name in self.slots:
            self._check_slot(name)
        return self

    def _check_slot(self, name: str) -> None:
        path = [name]
        while (like := self.slots[path[-1]].like) is not None:
            if like not in self.slots:
                raise ValueError(
                    f"slots.{path[-1]}.like: there is no slot '{like}': known are "
                    f"{', '.join(self.slots)}"
                )
            if like in path:
                raise ValueError(f"slots: like is circular: {' -> '.join([*path, like])}")
            path.append(like)
        for key in ("air_coupling", "board_k_per_w"):
            if self._number(self.slots[name], key) is None:
                raise ValueError(f"slots.{name}.{key} is missing")

    def expand(self) -> dict[str, Enclosure]:
        """Return the enclosures by id."""
        return {name: self._place(name, member) for name, member in self.places.items()}

    def _number(self, slot: Slot, key: str) -> specs.Figure | None:
        """A number of a slot, or of the slot that it is like."""
        found: specs.Figure | None = getattr(slot, key)
        if found is None and slot.like is not None:
            return self._number(self.slots[slot.like], key)
        return found

    def _given(self, name: str, key: str) -> specs.Figure:
        found = self._number(self.slots[name], key)
        assert found is not None  # checked when the family was read
        return found

    def _place(self, name: str, member: Member) -> Enclosure:
        slot, chassis = self.slots[member.slot], self.chassis[member.chassis]
        coupling = self._given(member.slot, "air_coupling")
        resistance = self._given(member.slot, "board_k_per_w")
        capacity = self._number(slot, "board_j_per_k")
        of = "the room, warmed by the chassis as much as the slot takes of it"
        is_fitted = any(part.fitted for part in (self.room_c, coupling, chassis.warming_k))
        why: dict[str, Any] = {"fitted": True} if is_fitted else {"assumed": of}
        air_c = self.room_c.value + coupling.value * chassis.warming_k.value
        moved = None if slot.sheltered else chassis.resistance_factor
        factor = 1.0 if moved is None else moved.value
        air = specs.ThermalLink(between=("board", "air"), k_per_w=_scaled(resistance, factor))
        limits = {
            key: getattr(slot, key) or getattr(self.host, key) for key in HostLimits.model_fields
        }
        return Enclosure(
            id=name,
            description=", ".join(text for text in (slot.description, chassis.description) if text),
            air_c=specs.Figure(value=air_c, **why),
            air_speed_m_s=slot.air_speed_m_s,
            conditions=member.conditions,
            nodes={} if capacity is None else {"board": specs.ThermalNode(j_per_k=capacity)},
            links={"air": air},
            sensor_air_share=slot.sensor_air_share,
            **limits,
        )
