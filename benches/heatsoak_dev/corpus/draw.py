"""Random drives and places around those of the catalog."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from heatsoak.catalog import load_drive, load_enclosure

from heatsoak_dev.corpus.machine import Spec

PAGE = 4096
MIB = 1 << 20
_DRIVES = (
    "samsung-950-pro-512",
    "samsung-950-pro-256",
    "samsung-sm951-ahci-512",
    "samsung-sm951-nvme-256",
    "samsung-850-pro-512",
    "intel-750-1200-u2",
    "pcie4-tlc-1tb",
    "pcie5-tlc-2tb",
)
_PLACES = (
    "open-bench",
    "fan-slow",
    "stick-on-heatsink",
    "board-heatsink",
    "anandtech-bench",
    "laptop",
    "u2-bay",
    "puget-top-1gpu-loaded",
)
#: Watts of sequential reads and writes at full speed, controller at 70 C.
_ENERGIES = (
    "read_command_uj", "write_command_uj", "host_read_uj", "host_write_uj", "read_uj",
    "program_uj", "move_uj",
)  # fmt: skip

#: The simulator accepts no smaller heat capacities.
MIN_J_PER_K = 1e-3


@dataclass
class Setup:
    """A drive in a place, in the simulator's own units and time.

    Attributes:
        heatsink: ``none`` or ``finned``.
        limits_c: the limits that the drive may state, by their names in a recording.
    """

    model: str
    drive: Spec
    place: Spec
    place_id: str
    heatsink: str
    limits_c: dict[str, float] = field(default_factory=dict)

    @property
    def cache_gb(self) -> float | None:
        """What its cache holds."""
        cache = self.drive.get("cache")
        return None if cache is None else float(cache["bytes"]) / 1e9

    def copy(self) -> "Setup":
        """Return another with the same numbers."""
        drive, place = json.loads(json.dumps(self.drive)), json.loads(json.dumps(self.place))
        return replace(self, drive=drive, place=place, limits_c=dict(self.limits_c))

    def set_size(self, user_bytes: float, spare_bytes: float, reserve_bytes: float = 0) -> None:
        """Set its user capacity, and how many bytes may be stale before it collects."""
        block = self.drive["nand"]["block_bytes"]
        user = pages(user_bytes)
        reserve = pages(reserve_bytes)
        # the simulator needs some blocks to collect into, besides those to be used up
        raw = user + reserve + int(np.ceil((spare_bytes + 6 * block) / block)) * block
        self.drive["capacity"] |= {
            "user_bytes": user, "raw_bytes": raw, "reserve_bytes": reserve,
        }  # fmt: skip

    def scale_heat(self, resistance: float, capacity: float) -> None:
        """Multiply every thermal resistance and capacity."""
        tables: list[dict[str, Any]] = [self.drive["thermal"], self.place]
        for table in tables:
            for link in table["links"].values():
                link["k_per_w"] *= resistance
            for node in table.get("nodes", {}).values():
                node["j_per_k"] = max(MIN_J_PER_K, node["j_per_k"] * capacity)


def pages(count: float) -> int:
    """Return bytes in whole pages."""
    return max(PAGE, int(count) // PAGE * PAGE)


def draw_setup(chance: np.random.Generator, *, write_mb_s: float) -> Setup:
    """Return a drive of the catalog, varied within limits, that writes `write_mb_s` sequentially.

    It has no cache yet, and its governor is off.
    """
    drive_id = str(chance.choice(_DRIVES))
    place_id = str(chance.choice(_PLACES))
    catalog_drive, catalog_place = load_drive(drive_id), load_enclosure(place_id)
    drive, place = json.loads(catalog_drive.core_json()), json.loads(catalog_place.core_json())
    place.pop("link_mb_s", None)
    place.pop("host_read_iops", None)
    place.pop("host_write_iops", None)
    place.pop("sensor_air_share", None)
    _set_speed(drive, write_mb_s, chance)
    drive.pop("cache", None)
    drive["nand"]["block_bytes"] = 16 * MIB
    drive["controller"]["buffer_bytes"] = 8 * MIB
    drive["governor"] |= {"on": False, "lag_s": 0.0}
    drive["governor"].pop("shutdown_c", None)
    drive["governor"].pop("restart_c", None)
    # pacing by level slows writes that have nothing to move, which no label here covers
    drive["collection"] |= {"policy": "greedy", "pacing": "victim"}
    drive["collection"]["idle_mb_s"] = float(chance.uniform(0, 30))
    drive["power_states"] = []
    drive["capacity"]["purge_s"] = 0.3
    for node in [*drive["thermal"]["nodes"].values(), *place.get("nodes", {}).values()]:
        node["j_per_k"] *= chance.lognormal(0, 0.2)
    for link in [*drive["thermal"]["links"].values(), *place["links"].values()]:
        link["k_per_w"] *= chance.lognormal(0, 0.15)
    heatsink = "none"
    if "heatsink" in place.get("nodes", {}):
        heatsink = "finned"
    # a varied drive is no longer the one whose model is known
    return Setup(f"{catalog_drive.model}, varied", drive, place, place_id, heatsink)


def few_dies(nand: Spec, mb_s: float) -> None:
    """Give it so few dies that all of them are programmed within a millisecond at `mb_s`.

    On a stretched clock more would write in waves that no real drive shows at 10 Hz.
    """
    nand["unit_bytes"] = 4 * PAGE
    nand["dies"] = int(np.clip(mb_s * 1e3 / nand["unit_bytes"], 4, nand["dies"]))
    nand["channels"] = min(nand["channels"], nand["dies"])
    nand["erase_us"] = min(nand["erase_us"], 500.0)


def _set_speed(drive: Spec, write_mb_s: float, chance: np.random.Generator) -> None:
    """Scale all rates, and energies inversely, so that power does not change."""
    nand, controller = drive["nand"], drive["controller"]
    factor = write_mb_s / controller["write_mb_s"]
    controller["write_mb_s"] = write_mb_s
    controller["read_mb_s"] *= factor * chance.uniform(0.9, 1.2)
    for key in ("read_command_us", "write_command_us", "move_us"):
        controller[key] /= factor * chance.lognormal(0, 0.1)
    # flash keeps up with the controller, with some margin
    few_dies(nand, write_mb_s)
    flash_mb_s = nand["dies"] * nand["unit_bytes"] / nand["program_us"]
    room = write_mb_s * chance.uniform(1.3, 1.8) / flash_mb_s
    nand["program_us"] /= room
    nand["read_us"] /= max(factor, room / 2)
    nand["erase_us"] /= room
    nand["channel_mb_s"] *= max(factor, room)
    watts = chance.lognormal(0, 0.15)
    for key in _ENERGIES:
        drive["energy"][key] *= watts / factor
