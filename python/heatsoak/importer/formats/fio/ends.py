"""Jobs beside each other that end one by one: what is left of them is another load."""

from collections.abc import Sequence

import polars as pl

from heatsoak.importer.formats.fio.parts import Part
from heatsoak.importer.log import Remark

#: Jobs that end within so many windows, or this share of the run, end together.
_TOGETHER_WINDOWS, _TOGETHER_SHARE = 2.5, 0.01
#: What all jobs did together is the load where it is at least this share of the run.
_LEAST_SHARE = 0.5


def while_all_ran(
    samples: pl.DataFrame, parts: Sequence[Part], begin_ms: float, name: str
) -> tuple[pl.DataFrame, tuple[Remark, ...]]:
    """Return the samples with a column `step`, null once the first of several jobs had ended.

    As they are where the jobs end together. `begin_ms` of the logs is `t_s` = 0.
    """
    ends_ms: dict[str, float] = {}
    for part in parts:
        ends_ms[part.job] = max(ends_ms.get(part.job, 0.0), part.last_ms)
    first_s, last_s = (
        (end_ms - begin_ms) / 1000 for end_ms in (min(ends_ms.values()), max(ends_ms.values()))
    )
    window_s = max(part.window_ms for part in parts) / 1000
    together_s = max(_TOGETHER_WINDOWS * window_s, _TOGETHER_SHARE * last_s)
    if last_s - first_s <= together_s or first_s < _LEAST_SHARE * last_s:
        return samples, ()
    within = pl.col("t_s") <= first_s + window_s / 2
    said = (
        f"the {len(ends_ms)} jobs of '{name}' ended one by one, from {first_s:.0f} to "
        f"{last_s:.0f} s: what came after the first end is in no step"
    )
    return samples.with_columns(step=pl.when(within).then(pl.lit(name))), (Remark(said),)
