"""The columns of a recording's samples.

Samples are wide and nullable: a row holds what was measured at its time and null elsewhere.
Rates and latencies of a row are means over the `interval_s` that ends at `t_s`.
`bw_mb_s`, `iops` and `lat_us` are of reads and writes together; only logs taken elsewhere have
them, in rows where they do not tell the two apart.
`read_over_10ms` and its like count I/Os that came back in the row's interval and took longer than
that; `busy_pct` is the share of the interval with at least one I/O in flight.
`energy_wh` is what the drive says it has used since it was made, in whole watt-hours.
`cpu_pct` is of all cores, `cpu_core_pct` of the busiest one, `cpu_steal_pct` what a hypervisor gave
to others. `device_*` is all traffic of the device by the kernel's counters, whoever caused it;
`link_mb_s` what its PCIe link carries at most as it is trained now.
"""

from collections.abc import Iterable

import polars as pl

#: Every column a sample can have besides those named after a sensor or a counter.
FIXED: dict[str, type[pl.DataType]] = {
    "t_s": pl.Float64,
    "step": pl.String,
    "interval_s": pl.Float64,
    "read_bw_mb_s": pl.Float64,
    "write_bw_mb_s": pl.Float64,
    "read_iops": pl.Float64,
    "write_iops": pl.Float64,
    "read_lat_us": pl.Float64,
    "write_lat_us": pl.Float64,
    "read_lat_p50_us": pl.Float64,
    "write_lat_p50_us": pl.Float64,
    "read_lat_p99_us": pl.Float64,
    "write_lat_p99_us": pl.Float64,
    "read_lat_p999_us": pl.Float64,
    "write_lat_p999_us": pl.Float64,
    "read_lat_max_us": pl.Float64,
    "write_lat_max_us": pl.Float64,
    "read_over_10ms": pl.Float64,
    "write_over_10ms": pl.Float64,
    "read_over_100ms": pl.Float64,
    "write_over_100ms": pl.Float64,
    "bw_mb_s": pl.Float64,
    "iops": pl.Float64,
    "lat_us": pl.Float64,
    "queue": pl.Float64,
    "busy_pct": pl.Float64,
    "power_w": pl.Float64,
    "power_state": pl.Int64,
    "energy_wh": pl.Float64,
    "cpu_pct": pl.Float64,
    "cpu_core_pct": pl.Float64,
    "cpu_steal_pct": pl.Float64,
    "host_load": pl.Float64,
    "device_read_mb_s": pl.Float64,
    "device_write_mb_s": pl.Float64,
    "link_mb_s": pl.Float64,
}

#: Families of columns, `prefix + name`: temperatures of a sensor, counters of thermal management,
#: what a graphics card does, how fast fans turn, and the simulator's own truth (which no judgement
#: may read).
FAMILIES: dict[str, type[pl.DataType]] = {
    "temp_c.": pl.Float64,
    "throttle_count.": pl.Float64,
    "throttle_time_s.": pl.Float64,
    "gpu_load_pct.": pl.Float64,
    "gpu_power_w.": pl.Float64,
    "fan_rpm.": pl.Float64,
    "sim.": pl.Float64,
}


def dtype_of(column: str) -> type[pl.DataType]:
    """Return the type of `column`; raises KeyError for a name that no recording has."""
    if column in FIXED:
        return FIXED[column]
    for prefix, dtype in FAMILIES.items():
        if column.startswith(prefix) and len(column) > len(prefix):
            return dtype
    raise KeyError(column)


def schema_of(columns: Iterable[str]) -> dict[str, type[pl.DataType]]:
    """Return names and types in the order of a recording: fixed columns first, then the rest."""
    wanted = dict.fromkeys(columns)
    ordered = [name for name in FIXED if name in wanted]
    ordered += [name for name in wanted if name not in FIXED]
    return {name: dtype_of(name) for name in ordered}
