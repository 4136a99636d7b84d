"""The schema of the places that a drive can be in, one by one or as a family."""

import json
from typing import Any, Self

from pydantic import Field, model_validator

from heatsoak.catalog.figure import Figure, Strict, plain


class Enclosure(Strict):
    """A place: the air at the slot, how the board hangs in it, and the host.

    Attributes:
        id: its name, or the path of a user's own file.
        air_c: the air at the slot while the test runs.
        board_k_per_w: board above that air.
        board_time_constant_s: how fast the board follows its power.
        sensor_air_share: how much of the reported temperature is that air.
        link_mb_s: what the link carries, each way.
        host_read_iops: random reads that the host brings about.
        host_write_iops: random writes that the host brings about.
        conditions: what the place stands for, by the names that comparisons group by.
    """

    id: str = ""
    description: str = ""
    air_c: Figure
    board_k_per_w: Figure
    board_time_constant_s: Figure
    sensor_air_share: Figure | None = None
    link_mb_s: Figure | None = None
    host_read_iops: Figure | None = None
    host_write_iops: Figure | None = None
    conditions: dict[str, str | int] = Field(default_factory=dict)

    def core_json(self) -> str:
        """Return what :class:`heatsoak._core.Drive` takes."""
        spec = plain(self)
        for name in ("id", "description", "conditions"):
            spec.pop(name, None)
        return json.dumps(spec)


class Slot(Strict):
    """One slot of a family: an enclosure but for the air, which depends on the chassis.

    `air_coupling` is how much of the chassis' warming arrives here, against the slot that has 1.
    """

    description: str = ""
    air_coupling: Figure
    board_k_per_w: Figure
    board_time_constant_s: Figure
    sensor_air_share: Figure | None = None
    link_mb_s: Figure | None = None
    host_read_iops: Figure | None = None
    host_write_iops: Figure | None = None


class Chassis(Strict):
    """A state of the chassis.

    Attributes:
        warming_k: how far it warms the air above the room's.
        resistance_factor: how much harder heat leaves a board than in still air; below 1 where
            fans blow.
    """

    description: str = ""
    warming_k: Figure
    resistance_factor: Figure | None = None


class Member(Strict):
    """One place of a family: a slot in a state of the chassis."""

    slot: str
    chassis: str
    conditions: dict[str, str | int] = Field(default_factory=dict)


_OF_SLOT_ALONE = ("sensor_air_share", "link_mb_s", "host_read_iops", "host_write_iops")


def _scaled(figure: Figure, factor: float) -> Figure:
    return figure.model_copy(update={"value": figure.value * factor, "bounds": None})


class Family(Strict):
    """Places that share slots and states of a chassis.

    A place's air is the room's plus the slot's coupling times the chassis' warming.
    """

    description: str = ""
    room_c: Figure
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
                        f"places.{name} names the {kind} '{key}', which is none of "
                        f"{', '.join(known)}"
                    )
        return self

    def expand(self) -> dict[str, Enclosure]:
        """Return the places by their ids."""
        return {name: self._place(name, member) for name, member in self.places.items()}

    def _place(self, name: str, member: Member) -> Enclosure:
        slot, chassis = self.slots[member.slot], self.chassis[member.chassis]
        parts = (self.room_c, slot.air_coupling, chassis.warming_k)
        why: dict[str, Any] = (
            {"fitted": True}
            if any(part.fitted for part in parts)
            else {"assumed": "the room, warmed by the chassis as much as the slot takes of it"}
        )
        air_c = self.room_c.value + slot.air_coupling.value * chassis.warming_k.value
        factor = 1.0 if chassis.resistance_factor is None else chassis.resistance_factor.value
        return Enclosure(
            id=name,
            description=", ".join(text for text in (slot.description, chassis.description) if text),
            air_c=Figure(value=air_c, **why),
            conditions=member.conditions,
            # what the board can hold stays the same, so that its time constant follows
            board_k_per_w=_scaled(slot.board_k_per_w, factor),
            board_time_constant_s=_scaled(slot.board_time_constant_s, factor),
            **{key: getattr(slot, key) for key in _OF_SLOT_ALONE},
        )
