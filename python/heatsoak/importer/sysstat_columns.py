"""What sysstat's column names mean, in the columns and units of a recording."""

KIB = 1024 / 1e6
SECTOR = 512 / 1e6
_MIB = 1024 * KIB
_GIB = 1024 * _MIB

_UNITS = {"kB": KIB, "MB": _MIB, "GB": _GIB, "Blk": SECTOR, "sec": SECTOR}
_DIRECTIONS = (("r", "read", "read"), ("w", "write", "wrtn"))

#: Header -> column of a recording, and what a value is multiplied by. Kilobytes are KiB in all of
#: sysstat, sectors and blocks are 512 bytes, `await` is in ms. After those come the columns of the
#: BSDs' and Solaris' `iostat -x`.
COLUMNS: dict[str, tuple[str, float]] = {
    **{f"{r}{unit}/s": (f"{name}_bw_mb_s", scale)
       for r, name, _ in _DIRECTIONS for unit, scale in _UNITS.items()},
    **{f"{unit}_{verb}/s": (f"{name}_bw_mb_s", scale)
       for _, name, verb in _DIRECTIONS for unit, scale in _UNITS.items()},
    **{f"{unit}_w+d/s": ("write_bw_mb_s", scale) for unit, scale in _UNITS.items()},
    **{f"{unit}/s": ("bw_mb_s", scale) for unit, scale in _UNITS.items()},
    "rd_sec/s": ("read_bw_mb_s", SECTOR),
    "wr_sec/s": ("write_bw_mb_s", SECTOR),
    "bread/s": ("read_bw_mb_s", SECTOR),
    "bwrtn/s": ("write_bw_mb_s", SECTOR),
    "r/s": ("read_iops", 1.0),
    "w/s": ("write_iops", 1.0),
    "rtps": ("read_iops", 1.0),
    "wtps": ("write_iops", 1.0),
    "tps": ("iops", 1.0),
    "d/s": ("discard_iops", 1.0),
    **{f"d{unit}/s": ("discard_bw_mb_s", scale) for unit, scale in _UNITS.items()},
    "r_await": ("read_lat_us", 1e3),
    "w_await": ("write_lat_us", 1e3),
    "await": ("lat_us", 1e3),
    "avgqu-sz": ("queue", 1.0),
    "avgqu-s": ("queue", 1.0),
    "aqu-sz": ("queue", 1.0),
    "%util": ("busy_pct", 1.0),
    "kr/s": ("read_bw_mb_s", KIB),
    "kw/s": ("write_bw_mb_s", KIB),
    "Mr/s": ("read_bw_mb_s", _MIB),
    "Mw/s": ("write_bw_mb_s", _MIB),
    "ms/r": ("read_lat_us", 1e3),
    "ms/w": ("write_lat_us", 1e3),
    "ms/t": ("lat_us", 1e3),
    "svc_t": ("lat_us", 1e3),
    "asvc_t": ("lat_us", 1e3),
    "qlen": ("queue", 1.0),
    "actv": ("queue", 1.0),
    "%b": ("busy_pct", 1.0),
}  # fmt: skip
