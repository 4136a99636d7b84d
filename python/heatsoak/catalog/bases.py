"""Drives made from a base: what their file does not give is scaled from a drive of their class."""

from collections.abc import Mapping
from math import floor, log2
from typing import Any

from heatsoak.errors import UsageError

_PAGE_BYTES = 4096
#: Sequential I/O of which a data sheet's powers are the means.
_SEQUENTIAL_BYTES = 131072
#: The controller's temperature under load that those powers are meant at.
_LOADED_C = 70.0
Tables = dict[str, Any]


def over(below: Tables, above: Tables) -> Tables:
    """Merge tables; a number replaces another together with its provenance.

    Weights are given whole, and so is a law of its own kind.
    """
    merged = dict(below)
    for key, value in above.items():
        old = below.get(key)
        is_whole = key == "weights" or (
            key == "law" and isinstance(value, dict) and "kind" in value
        )
        if isinstance(old, dict) and isinstance(value, dict) and not is_whole:
            merged[key] = value if "value" in value else over(old, value)
        else:
            merged[key] = value
    return merged


def drive_over(base: Tables, own: Tables, name: str) -> Tables:
    """Return the tables of a drive from its base's and its own.

    Flash follows the capacity, data paths and command times the ratings, and the link's energies
    the rated powers; with ``cache = "none"``, flash takes writes as fast as rated. Everything else
    is the base's.
    Raises UsageError, beginning with `name`, for ratings that do not go with each other.
    """
    merged = over(base, own)
    if merged.get("cache") == "none":
        del merged["cache"]
    try:
        return _derived(base, merged, own, name)
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        return merged  # the schema says what is wrong with it


def _derived(base: Tables, merged: Tables, own: Tables, name: str) -> Tables:
    """The merged tables, with what follows from the drive's own capacity and ratings."""
    scaled = _scaled(base, merged, own)
    for path, value in scaled.items():
        table, key = path
        if key not in own.get(table, {}):
            of = f"as {own['base']} has it, at this drive's capacity and ratings"
            merged[table] = {**merged[table], key: {"value": value, "assumed": of}}
    for way in ("read", "write"):
        if own.get("rated", {}).get(f"{way}_w") and f"host_{way}_uj" not in own.get("energy", {}):
            merged["energy"] = {**merged["energy"], f"host_{way}_uj": _link_uj(merged, way, name)}
    return merged


def _scaled(base: Tables, drive: Tables, own: Tables) -> dict[tuple[str, str], float]:
    """The numbers that follow capacity and ratings, by table and key."""
    rated, nand, capacity = drive["rated"], base["nand"], own.get("capacity", {})
    larger = (
        capacity["raw_bytes"]["value"] / base["capacity"]["raw_bytes"]["value"]
        if "raw_bytes" in capacity
        else drive["capacity"]["user_bytes"]["value"] / base["capacity"]["user_bytes"]["value"]
    )
    channels = drive["nand"]["channels"]["value"]
    like = {"value": max(round(nand["dies"]["value"] * larger / channels), 1) * channels}
    dies = own.get("nand", {}).get("dies", like)
    fastest_mb_s = max(rated["seq_read_mb_s"]["value"], rated["seq_write_mb_s"]["value"])
    raw_bytes = whole_pages(base["capacity"]["raw_bytes"]["value"] * larger)
    reserve_bytes = whole_pages(
        base["capacity"].get("reserve_bytes", {"value": 0})["value"] * larger
    )
    block_bytes = nand["block_bytes"]["value"]
    most = floor(log2((raw_bytes - reserve_bytes) / block_bytes / 1000))
    scaled: dict[tuple[str, str], float] = {
        ("capacity", "raw_bytes"): raw_bytes,
        **({("capacity", "reserve_bytes"): reserve_bytes} if reserve_bytes else {}),
        ("nand", "dies"): dies["value"],
        # a power of two, as the base's, and a thousand of them at least
        ("nand", "block_bytes"): block_bytes * 2.0 ** min(round(log2(larger)), most),
        ("nand", "read_us"): min(
            drive["nand"]["read_us"]["value"],
            dies["value"] / rated["rand_read_iops"]["value"] * 1e6,
        ),
        ("nand", "channel_mb_s"): max(nand["channel_mb_s"]["value"], fastest_mb_s / channels),
        ("controller", "read_mb_s"): rated["seq_read_mb_s"]["value"],
        ("controller", "write_mb_s"): rated["seq_write_mb_s"]["value"],
        ("controller", "read_command_us"): 1e6 / rated["rand_read_iops"]["value"],
        ("controller", "write_command_us"): 1e6 / rated["rand_write_iops"]["value"],
    }
    if (cache := base.get("cache")) is not None and "cache" not in drive:
        stripe_bytes = dies["value"] * drive["nand"]["unit_bytes"]["value"]
        scaled["nand", "program_us"] = stripe_bytes / rated["seq_write_mb_s"]["value"]
    elif cache is not None:
        more_dies = dies["value"] / nand["dies"]["value"]
        faster = rated["seq_write_mb_s"]["value"] / base["rated"]["seq_write_mb_s"]["value"]
        scaled["cache", "bytes"] = whole_pages(cache["bytes"]["value"] * larger)
        scaled["cache", "program_us"] = cache["program_us"]["value"] * more_dies / faster
    return scaled


def whole_pages(number: float) -> float:
    """Return a number of bytes as the nearest whole number of 4 KiB pages."""
    return round(number / _PAGE_BYTES) * _PAGE_BYTES


def _link_uj(drive: Tables, way: str, name: str) -> Tables:
    """The link's and data path's energy of a page, from the power at full sequential speed."""
    power = drive["rated"][f"{way}_w"]
    mb_s = drive["controller"][f"{way}_mb_s"]["value"]
    command_us = drive["controller"][f"{way}_command_us"]["value"]
    energy: Mapping[str, float] = {
        key: number["value"] for key, number in drive["energy"].items() if "value" in number
    }
    commands = mb_s * 1e6 / _SEQUENTIAL_BYTES
    leakage_w = energy["leakage_w"] * 2 ** ((_LOADED_C - 25) / energy["leakage_doubling_k"])
    rest_w = (
        energy["idle_w"]
        + leakage_w
        + energy["active_w"]
        + energy["busy_w"] * min(commands * command_us * 1e-6, 1.0)
        + energy[f"{way}_command_uj"] * commands * 1e-6
    )
    flash_uj = energy["read_uj" if way == "read" else "program_uj"]
    if way == "write" and "cache" in drive:
        flash_uj = energy.get("cache_program_uj", flash_uj)
    link_uj = (power["value"] - rest_w) / (mb_s * 1e6 / _PAGE_BYTES) * 1e6 - flash_uj
    if link_uj < 0:
        unavoidable_w = rest_w + flash_uj * mb_s / _PAGE_BYTES
        raise UsageError(
            f"{name}: rated.{way}_w is {power['value']:g} W, but controller and flash alone draw "
            f"{unavoidable_w:.2f} W at {mb_s:g} MB/s: raise {way}_w, or lower the powers and "
            "energies in [energy]"
        )
    return {"value": link_uj, "assumed": f"makes the rated {power['value']:g} W of full speed"}
