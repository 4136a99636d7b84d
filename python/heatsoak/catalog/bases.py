"""Drives made from a base: what their file does not give is scaled from a drive of their class."""

from collections.abc import Mapping
from math import floor, log2
from typing import Any

from heatsoak.catalog.families import families, family_of
from heatsoak.errors import UsageError, suggestion

_PAGE_BYTES = 4096
#: Sequential I/O of which a data sheet's powers are the means.
_SEQUENTIAL_BYTES = 131072
#: The controller's temperature under load that those powers are meant at.
_LOADED_C = 70.0
Tables = dict[str, Any]


def over(below: Tables, above: Tables) -> Tables:
    """Merge tables; a number replaces another together with its provenance.

    Weights are given whole, in place of the hottest of several, and so is a law of its own kind.
    """
    merged = {**below, "hottest": ()} if "weights" in above and "hottest" in below else dict(below)
    for key, value in above.items():
        old = below.get(key)
        if isinstance(old, dict) and isinstance(value, dict) and key != "weights":
            is_whole = "value" in value or (key == "law" and "kind" in value)
            merged[key] = value if is_whole else over(old, value)
        else:
            merged[key] = value
    return merged


def drive_over(base: Tables, own: Tables, name: str) -> Tables:
    """Return the tables of a drive from its base's and its own.

    Flash follows the capacity, data paths and command times the ratings, and the link's energies
    the rated powers; with ``cache = "none"``, flash takes writes as fast as rated. Sensor and
    governor follow the controller's family. Everything else is the base's.
    Raises UsageError, beginning with `name`, for ratings that do not go with each other.
    """
    merged = over(base, own)
    if merged.get("cache") == "none":
        del merged["cache"]
    try:
        return _governed(_derived(base, merged, own, name), own, name)
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
    # where one way shows that a drive does with less, the other's link is left more
    for way in 2 * ("read", "write"):
        if own.get("rated", {}).get(f"{way}_w") and f"host_{way}_uj" not in own.get("energy", {}):
            merged["energy"] = {**merged["energy"], **_energies(merged, way, name)}
    return merged


def _governed(drive: Tables, own: Tables, name: str) -> Tables:
    """The tables, with what is known of the family of the drive's controller and not of itself.

    That is what it reports, unless a heat path was fitted to that; and where a band begins.
    """
    named, governor = drive.get("family", ""), dict(drive["governor"])
    if named and named not in families():
        raise UsageError(f"{name}: family: there is no '{named}'{suggestion(named, families())}")
    family = family_of(named, drive["model"], *own.get("also", ()))
    warning_c = drive.get("limits", {}).get("wctemp_c", {}).get("value")
    starts, law = family.starts(warning_c), governor["law"]
    composite = dict(drive["sensors"]["composite"])
    if not any(link["k_per_w"].get("fitted") for link in drive["thermal"]["links"].values()):
        composite |= family.felt()
        # what the class begins at is of what the class reports
        governor |= family.felt() if starts else {}
    if starts and "assumed" in law.get("engage_c", {}):
        governor["law"] = {**law, "engage_c": starts}
    ruled = {"governor": governor, "sensors": {**drive["sensors"], "composite": composite}}
    return {**drive, **over(ruled, {key: own[key] for key in ruled if key in own})}


def _scaled(base: Tables, drive: Tables, own: Tables) -> dict[tuple[str, str], float]:
    """The numbers that follow capacity and ratings, by table and key."""
    rated, nand, capacity = drive["rated"], base["nand"], own.get("capacity", {})
    of = "raw_bytes" if "raw_bytes" in capacity else "user_bytes"
    larger = drive["capacity"][of]["value"] / base["capacity"][of]["value"]
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


def _energies(drive: Tables, way: str, name: str) -> Tables:
    """The energies with which a drive draws its rated power at full sequential speed.

    The link and data path take what controller and flash of the class leave. Where these alone draw
    more, the drive does everything with less: all of it is smaller by as much.
    """
    power_w = drive["rated"][f"{way}_w"]["value"]
    mb_s = drive["controller"][f"{way}_mb_s"]["value"]
    energy: Mapping[str, float] = {
        key: number["value"] for key, number in drive["energy"].items() if "value" in number
    }
    flash = "read_uj" if way == "read" else "program_uj"
    if way == "write" and "cache" in drive and "cache_program_uj" in energy:
        flash = "cache_program_uj"
    commands, pages = (mb_s * 1e6 / size for size in (_SEQUENTIAL_BYTES, _PAGE_BYTES))
    busy = min(commands * drive["controller"][f"{way}_command_us"]["value"] * 1e-6, 1.0)
    times = {"active_w": 1.0, "busy_w": busy}
    times |= {f"{way}_command_uj": commands * 1e-6, flash: pages * 1e-6}
    leakage_w = energy["leakage_w"] * 2 ** ((_LOADED_C - 25) / energy["leakage_doubling_k"])
    left_w = power_w - energy["idle_w"] - leakage_w
    drawn_w = sum(energy[key] * often for key, often in times.items())
    link = f"host_{way}_uj"
    if left_w <= 0:
        rest = f"at rest and warm it draws {power_w - left_w:.2f} W: raise {way}_w, or lower idle_w"
        raise UsageError(f"{name}: rated.{way}_w is {power_w:g} W, but {rest}")
    of = f"makes the rated {power_w:g} W of full speed"
    if left_w >= drawn_w:
        return {link: {"value": (left_w - drawn_w) / pages * 1e6, "assumed": of}}
    times[link] = pages * 1e-6
    less = left_w / (drawn_w + energy[link] * times[link])
    return {key: {"value": energy[key] * less, "assumed": of} for key in times}
