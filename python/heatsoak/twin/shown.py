"""What recordings show of a drive beside its heat: its write cache, and what its governor leaves.

It takes the place of what the base has; what no recording shows stays the base's.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from pydantic import Field

from heatsoak.catalog import Drive
from heatsoak.catalog.bases import drive_over, whole_pages
from heatsoak.catalog.specs import Strict, plain
from heatsoak.twin.model import figures
from heatsoak.twin.readings import Array, MeasuredRecording
from heatsoak.words import size_text

#: A larger cache than the base's shows where so much more was written at full speed.
_MORE = 1.02
#: Of a cache that a base does not have: one bit in cells of three, as most drives have it.
_BITS = 3
_FOLDS_AFTER_S = 5.0
#: Governors let go this far below where they act, those that stop and go further; a next level
#: begins so far above.
_HYSTERESIS_K, _STOP_AND_GO_K, _NEXT_K = 3.0, 10.0, 4.0
#: Firmware that holds a temperature does so within these.
_BANDS_K = (2.0, 0.5)
_LEAST_SHARE, _MOST_SHARE = 0.005, 0.95
#: What a governor leaves is a mean over so long: it may stop and go meanwhile.
MEAN_S = 5

Tables = dict[str, Any]


class Shown(Strict):
    """What takes the place of the base's.

    Attributes:
        user_bytes: its size, with which its flash grows; None for the base's.
        cache_gb: what the write cache holds; 0 for a drive without one, None for the base's.
        cache_was_full: whether it was seen to be full; else it holds that much at least.
        cache_doubt: the fall that is taken for the cache's, where the judge leaves its cause open.
        direct_mb_s: what the flash takes past the cache; None for the base's.
        law: the governor's law as a drive's file has it, in plain numbers, from where the base's
            begins; None for the base's.
    """

    user_bytes: int | None = Field(None, gt=0)
    cache_gb: float | None = Field(None, ge=0)
    cache_was_full: bool = False
    cache_doubt: str | None = None
    direct_mb_s: float | None = Field(None, gt=0)
    law: Tables | None = None

    @classmethod
    def of(cls, base: Drive, measured: Sequence[MeasuredRecording]) -> "Shown":
        """Return what recordings show of its size and its write cache."""
        known = next((one.size_bytes for one in measured if one.size_bytes), None)
        gb, full = max((one.cache_gb for one in measured), key=lambda one: one[0])
        # its free flash lasted for all that one load wrote, beside the cache's cells
        lasted_gb = max(one.most_written_gb for one in measured) + (_BITS * gb if full else 0.0)
        size_bytes = known or max(base.user_bytes, whole_pages(1e9 * lasted_gb))
        sized = cls(user_bytes=None if size_bytes == base.user_bytes else size_bytes)
        base = sized.on(base)
        bits = _BITS if base.cache is None else base.cache.bits.value
        found: Tables = {}
        if full is not None:
            doubt = full.told if full.cause == "unknown" else None
            found = {"cache_gb": gb, "cache_was_full": True, "cache_doubt": doubt}
            found["direct_mb_s"] = full.during_mb_s
        elif base.cache is not None and gb * 1e9 > _MORE * base.cache.bytes.value:
            found = {"cache_gb": gb}
        if gb * 1e9 * bits > base.raw_bytes and found:
            # no cells of one bit hold as much: the flash itself is as fast
            fastest_mb_s = max(float(one.write_mb_s.max()) for one in measured)
            found = {"cache_gb": 0.0, "direct_mb_s": fastest_mb_s}
        return sized.model_copy(update=found)

    def on(self, base: Drive) -> Drive:
        """Return the drive that the base is with that."""
        own = base.model_dump(exclude_none=True)
        if self.user_bytes is not None:
            capacity = {"user_bytes": {"value": float(self.user_bytes), "fitted": True}}
            own = drive_over(own, {"base": base.id, "capacity": capacity}, base.id)
        nand = own["nand"]
        unit_bytes = nand["unit_bytes"]["value"]
        all_bytes = nand["dies"]["value"] * unit_bytes
        if self.direct_mb_s is not None:
            nand |= figures({"program_us": all_bytes / self.direct_mb_s})
        if self.cache_gb is not None:
            cache_bytes = max(self.cache_gb * 1e9 // unit_bytes, 1.0) * unit_bytes
            usual = {
                **{"bits": float(_BITS), "read_us": nand["read_us"]["value"] / 2},
                # the controller bounds it, not its cells
                **{"program_us": all_bytes / _BITS / base.write_mb_s / 2},
                **{"fold_after_s": _FOLDS_AFTER_S, "fold_mb_s": 0.5 * (self.direct_mb_s or 0.0)},
            }
            kept = own.get("cache", {"kind": "dynamic", **figures(usual)})
            own["cache"] = {**kept, **figures({"bytes": cache_bytes})}
        if self.law is not None:
            own["governor"]["law"] = figures(self.law)
        return Drive.model_validate({**own, "id": base.id})

    def assumed(self, base: Drive, *, throttled: bool) -> Iterator[str]:
        """Yield what is taken from the base, and what recordings show in part."""
        if self.cache_gb is None:
            if base.cache is not None:
                size = size_text(base.cache.bytes.value)
                yield f"its write cache, {size}, is that of {base.id}: its own did not show"
        elif self.cache_gb > 0 and not self.cache_was_full:
            written = size_text(1e9 * self.cache_gb)
            yield f"its write cache holds no more than the {written} written into it"
        if self.cache_doubt is not None:
            yield f"its write cache was full when {self.cache_doubt}"
        if self.law is None:
            yield f"how far its governor slows it is as in {base.id}" + (
                "" if throttled else ": it never throttled"
            )


def laws(base: Drive, shares: Array) -> Iterator[Tables | None]:
    """Yield laws that may have left these shares of full speed; None, the base's own, first.

    All begin to act where the base's does.
    """
    yield None
    if not len(shares):
        return
    low, middle = (
        float(np.clip(np.quantile(shares, q), _LEAST_SHARE, _MOST_SHARE)) for q in (0.05, 0.5)
    )
    begins_c = base.governor.begins.value
    own = plain(base.governor.law)
    if own["kind"] == "steps":
        above = [level for level in own["levels"][:-1] if level.get("share", 1.0) > low]
        last = {key: value for key, value in own["levels"][-1].items() if key != "state"}
        yield {**own, "levels": [*above, {**last, "share": low}]}
    else:
        yield {**own, "floor": low}
    for band_k in _BANDS_K:
        yield {"kind": "band", "engage_c": begins_c, "band_k": band_k, "floor": low}

    def steps(*levels: float, hysteresis_k: float = _HYSTERESIS_K) -> Tables:
        return {
            "kind": "steps",
            "dwell_s": 1.0,
            "levels": [
                {
                    "enter_c": begins_c + number * _NEXT_K,
                    "leave_c": begins_c + number * _NEXT_K - hysteresis_k,
                    "share": share,
                }
                for number, share in enumerate(levels)
            ],
        }

    yield steps(low)
    yield steps(low, hysteresis_k=_STOP_AND_GO_K)
    if _MOST_SHARE > middle > 1.1 * low:
        yield steps(middle)
        yield steps(middle, low)
