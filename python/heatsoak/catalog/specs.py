"""The schema of a drive's file; `heatsoak._core` says what each number does."""

import json
from typing import Self

from pydantic import Field, model_validator

from heatsoak.catalog.figure import Figure, Strict, plain


class Capacity(Strict):
    """Bytes, and what the drive does with those it does not offer."""

    user_bytes: Figure
    raw_bytes: Figure
    purge_s: Figure
    idle_collection_mb_s: Figure


class Service(Strict):
    """Speeds with nothing in the way."""

    seq_read_mb_s: Figure
    seq_write_mb_s: Figure
    rand_read_iops: Figure
    rand_write_iops: Figure
    steady_write_iops: Figure
    read_latency_us: Figure
    write_latency_us: Figure


class Power(Strict):
    """What it draws idle, and with each kind of load at full speed."""

    idle_w: Figure
    seq_read_w: Figure
    seq_write_w: Figure
    rand_read_w: Figure
    rand_write_w: Figure
    steady_write_w: Figure


class Thermal(Strict):
    """The controller above the board."""

    controller_share: Figure
    controller_k_per_w: Figure
    controller_time_constant_s: Figure


class Governor(Strict):
    """The firmware's throttling."""

    limit_c: Figure
    floor: Figure


class Sensor(Strict):
    """The temperature that it reports."""

    controller_share: Figure
    lag_s: Figure


class Drive(Strict):
    """A drive.

    Attributes:
        id: the name of its file, or the path of a user's own.
        model: what its label says.
        enclosure: the id of the place it is in where nobody says otherwise.
        endurance_tb: rated writes, 10^12 bytes.
    """

    id: str = ""
    model: str = Field(min_length=1)
    enclosure: str = Field(min_length=1)
    endurance_tb: Figure
    capacity: Capacity
    service: Service
    power: Power
    thermal: Thermal
    governor: Governor
    sensor: Sensor

    @model_validator(mode="after")
    def _whole_bytes(self) -> Self:
        for key in ("user_bytes", "raw_bytes"):
            value = getattr(self.capacity, key).value
            if value != int(value) or value <= 0:
                raise ValueError(f"capacity.{key} is {value:g}: it has to be a number of bytes")
        return self

    @property
    def user_bytes(self) -> int:
        """Bytes that a host can address."""
        return int(self.capacity.user_bytes.value)

    @property
    def raw_bytes(self) -> int:
        """Bytes of its flash."""
        return int(self.capacity.raw_bytes.value)

    @property
    def endurance_bytes(self) -> float:
        """Bytes that it is rated to take in its life."""
        return self.endurance_tb.value * 1e12

    @property
    def read_mb_s(self) -> float:
        """Sequential reads at full speed."""
        return self.service.seq_read_mb_s.value

    @property
    def write_mb_s(self) -> float:
        """Sequential writes at full speed."""
        return self.service.seq_write_mb_s.value

    @property
    def read_iops(self) -> float:
        """Random reads of 4 KiB at full speed."""
        return self.service.rand_read_iops.value

    @property
    def write_iops(self) -> float:
        """Random writes of 4 KiB at full speed, while there is spare area."""
        return self.service.rand_write_iops.value

    def core_json(self) -> str:
        """Return what :class:`heatsoak._core.Drive` takes."""
        tables = ("capacity", "service", "power", "thermal", "governor", "sensor")
        spec = {table: plain(getattr(self, table)) for table in tables}
        spec["capacity"] |= {"user_bytes": self.user_bytes, "raw_bytes": self.raw_bytes}
        return json.dumps(spec)
