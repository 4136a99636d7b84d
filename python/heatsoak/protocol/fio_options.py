"""The options that fio is given as the user wrote them, and the values that each may have.

fio runs as whoever runs heatsoak, often root, and many of its options open files, run commands or
load libraries: ``buffer_pattern='/etc/shadow'`` writes that file's content to the drive. So an
option that is not in this list is refused, and a value has to match what is written here for it;
no value that does can name a file, a command or a device. Checked against fio 3.33.
"""

import re
from dataclasses import dataclass

from heatsoak.errors import suggestion
from heatsoak.words import said

#: What the options below take that are not plain numbers, as regular expressions.
_NUMBER = r"(?:0x[0-9a-f]+|[0-9]+)"
_DECIMAL = r"[0-9]+(?:\.[0-9]+)?"
_SIZE = rf"(?:0x[0-9a-f]+|{_DECIMAL}(?:[kmgtp](?:i?b|i)?|b)?)"
_TIME = rf"(?:[0-9]+(?::[0-9]+){{1,3}}|{_DECIMAL}(?:d|h|m|s|ms|msec|us|usec)?)"
_PERCENT = r"(?:100|[0-9]{1,2})"
_SPLIT = rf"{_SIZE}(?:/(?:{_DECIMAL})?)?"
_ZONE = rf"(?:{_DECIMAL})?/(?:{_SIZE})?"


@dataclass(frozen=True)
class _Values:
    """What an option may be: a regular expression for the whole value, and that in words."""

    pattern: str
    right: str
    words: tuple[str, ...] = ()


def _one_of(*words: str) -> _Values:
    return _Values("|".join(words), f"one of {', '.join(words)}", words)


def _each_way(pattern: str, right: str) -> _Values:
    """One value, or one each for reads, writes and trims; any may be left out."""
    return _Values(
        rf"(?=[^,]|,+[^,])(?:{pattern})?(?:,(?:{pattern})?){{0,2}}", f"{right}; up to three"
    )


def _series(pattern: str) -> str:
    return rf"{pattern}(?::{pattern})*"


_FLAG = _Values("[01]?", "1 or 0")
_COUNT = _Values(rf"{_NUMBER}[kmg]?", "a whole number")
_SIZES = _each_way(_SIZE, "a size such as 4k")
_DURATION = _Values(_TIME, "a time such as 5ms")
_PERCENTAGE = _Values(_PERCENT, "a percentage, 0 to 100")

_OPTIONS: dict[str, _Values] = {
    **dict.fromkeys(("bs", "ba", "blockalign"), _SIZES),
    "bsrange": _each_way(f"{_SIZE}[-:]{_SIZE}", "a range of sizes such as 4k-64k"),
    "bssplit": _each_way(_series(_SPLIT), "sizes with percentages such as 4k/60:64k/40"),
    **dict.fromkeys(
        (
            *("bs_unaligned", "allrandrepeat", "randrepeat", "norandommap", "serialize_overlap"),
            *("end_fsync", "fsync_on_close", "rate_ignore_thinktime", "invalidate"),
            *("zero_buffers", "refill_buffers", "scramble_buffers"),
        ),
        _FLAG,
    ),
    **dict.fromkeys(
        (
            *("iodepth_batch", "iodepth_batch_submit", "iodepth_batch_complete"),
            *("iodepth_batch_complete_min", "iodepth_batch_complete_max", "iodepth_low"),
            *("number_ios", "randseed", "fsync", "fdatasync", "write_barrier"),
            *("thinktime_blocks", "rate_cycle", "cpumask", "flow", "flow_id", "flow_sleep"),
        ),
        _COUNT,
    ),
    **dict.fromkeys(
        ("thinktime", "thinktime_spin", "thinktime_iotime", "latency_target", "latency_window"),
        _DURATION,
    ),
    "max_latency": _each_way(_TIME, _DURATION.right),
    "startdelay": _Values(f"{_TIME}(?:-{_TIME})?", "a time such as 5s, or a range such as 1s-5s"),
    "percentage_random": _each_way(_PERCENT, _PERCENTAGE.right),
    "dedupe_percentage": _PERCENTAGE,
    "dedupe_working_set_percentage": _PERCENTAGE,
    "latency_percentile": _Values(r"100(?:\.0+)?|[0-9]{1,2}(?:\.[0-9]+)?", "a percentile"),
    "io_submit_mode": _one_of("inline", "offload"),
    "random_generator": _one_of("tausworthe", "lfsr", "tausworthe64"),
    "random_distribution": _Values(
        rf"random|(?:zipf|pareto|normal)(?::{_DECIMAL}){{0,2}}"
        rf"|zoned(?:_abs)?:{_series(_ZONE)}(?:,{_series(_ZONE)}){{0,2}}",
        "random, zipf:1.2, pareto:0.9, normal:5, zoned:60/10:40/90 or zoned_abs:60/2g:40/8g",
    ),
    "rw_sequencer": _one_of("sequential", "identical"),
    "sync": _one_of("none", "sync", "dsync", "0", "1"),
    "thinktime_blocks_type": _one_of("complete", "issue"),
    "rate_process": _one_of("linear", "poisson"),
    "nice": _Values("-20|-?1?[0-9]", "-20 to 19"),
    "prio": _Values("[0-7]", "0 to 7"),
    "prioclass": _Values("[0-3]", "0 to 3"),
    "cpus_allowed": _Values("[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*", "CPUs such as 0-3,6"),
    "cpus_allowed_policy": _one_of("shared", "split"),
    "write_hint": _one_of("none", "short", "medium", "long", "extreme"),
    "buffer_compress_chunk": _Values(_SIZE, "a size such as 4k"),
    # what stands in single quotes is a file, whose content fio writes to the drive
    "buffer_pattern": _Values(
        r"""(?:-?0x[0-9a-f]++|-?[0-9]++|"[ !#-&(-\[\]-~]+")++""",
        'a number such as 0xdeadbeef, or text such as "abcd" in double quotes; no file is read',
    ),
    "dedupe_mode": _one_of("repeat", "working_set"),
    "clocksource": _one_of("gettimeofday", "clock_gettime", "cpu"),
}

#: The options of fio's that are handed on to it.
PASSED_ON = frozenset(_OPTIONS)


def wrong_option(option: str, value: str) -> str | None:
    """Return what is wrong with handing ``option=value`` to fio, and what would be right.

    The words follow the option's name: ``"is 'x': it must be 1 or 0"``; None where all is well. An
    empty value stands for an option without one.
    """
    values = _OPTIONS.get(option)
    if values is None:
        return f"is not passed on to fio{suggestion(option, PASSED_ON)}"
    if re.fullmatch(values.pattern, value, re.IGNORECASE | re.ASCII):
        return None
    return f"is '{said(value)}'{suggestion(value, values.words)}: it must be {values.right}"
