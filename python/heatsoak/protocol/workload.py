"""What a step asks of the drive, in fio's words, and the kinds of values that a protocol has."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal, Self

from pydantic import (
    AliasChoices,
    AliasGenerator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
    field_validator,
    model_validator,
)

from heatsoak import units
from heatsoak.errors import suggestion
from heatsoak.toml import LateModel, names_of
from heatsoak.words import block_text, percent_text, said

# The options that fio is given as the user wrote them, and the values that each may have. fio runs
# as whoever runs heatsoak, often root, and many of its options open files, run commands or load
# libraries: ``buffer_pattern='/etc/shadow'`` writes that file's content to the drive. So an option
# that is not in this list is refused, and a value has to match what is written here for it; no
# value that does can name a file, a command or a device. Checked against fio 3.33.

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


#: The context in which a protocol is validated that is to be run. Without it one that was recorded
#: is read, whatever fio's options were then; none gets past :mod:`heatsoak.target.fio.command`.
TO_BE_RUN = {"to_be_run": True}

Bytes = Annotated[int, BeforeValidator(units.parse_size)]
Seconds = Annotated[float, BeforeValidator(units.parse_seconds)]
SizeOrShare = Annotated[units.Size, BeforeValidator(units.Size.parse), PlainSerializer(str)]

RW = Literal["read", "write", "randread", "randwrite", "rw", "randrw"]
_Pattern = Annotated[RW, BeforeValidator(lambda v: "rw" if v == "readwrite" else v)]


def _keys_of(field: str) -> str | AliasChoices:
    """A key may leave out the unit that its field ends in: ``runtime`` is `runtime_s`."""
    plain = re.sub(r"_(?:s|bytes)$", "", field)
    return field if plain == field else AliasChoices(plain, field)


class StrictModel(LateModel):
    """Base: unknown keys are errors, and a value never changes once it was read."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        arbitrary_types_allowed=True,
        alias_generator=AliasGenerator(validation_alias=_keys_of),
    )


#: What ``--set`` does not change: what a step is called, when it is taken, what is within it, and
#: what is there for older recordings or beside a size.
_FIXED = (
    *("kind", "name", "only_if_drop_in", "only_after", "asks", "fio", "beside", "at_most_bytes"),
    *("until", "tracks", "steps", "spare"),
)


@cache
def settable(model: type[StrictModel]) -> Mapping[str, str]:
    """Return the keys that ``--set`` may change, and the field that each one is."""
    return {
        key: name
        for name, field in model.model_fields.items()
        if name not in _FIXED
        for at, key in enumerate(names_of(name, field))
        if key != name or at == 0
    }


def with_values(key: str, text: str, values: Mapping[str, object], which: str) -> str:
    """Return the value of `key` with `values` in place of their names in braces.

    Raises ValueError for other names; `which` says what these are.
    """
    try:
        return text.format_map(values)
    except (KeyError, IndexError, ValueError, AttributeError, TypeError) as error:
        raise ValueError(
            f"{key} is '{text}': only {which} may appear in braces, {{{'}, {'.join(values)}}}"
        ) from error


def rw_of(*, reads: bool, writes: bool, is_random: bool = False) -> RW:
    """Return fio's pattern for what reads, writes, or does both."""
    if reads == writes:
        return "randrw" if is_random else "rw"
    if reads:
        return "randread" if is_random else "read"
    return "randwrite" if is_random else "write"


class Load(StrictModel):
    """What was or shall be asked of a drive, in fio's words; None where that is not known.

    Attributes:
        rw: fio's access pattern.
        rwmixread: percentage of reads of a mixed load.
        bs: bytes of one I/O.
        iodepth: I/Os in flight for each job.
        numjobs: jobs that do the same beside each other.
    """

    rw: _Pattern | None = None
    rwmixread: int | None = Field(None, ge=0, le=100)
    bs: Bytes | None = Field(None, ge=1)
    iodepth: int | None = Field(None, ge=1)
    numjobs: int | None = Field(None, ge=1)

    @property
    def is_mixed(self) -> bool:
        """Whether its pattern is to both read and write."""
        return self.rw in ("rw", "randrw")

    @property
    def is_random(self) -> bool:
        """Whether offsets are random."""
        return self.rw is not None and self.rw.startswith("rand")

    @property
    def read_share(self) -> float | None:
        """The share of I/Os that are reads, 0 to 1."""
        if self.rw is None:
            return None
        if self.is_mixed:
            return None if self.rwmixread is None else self.rwmixread / 100
        return float(self.rw.endswith("read"))

    @property
    def workloads(self) -> tuple["Load", ...]:
        """It, and those that run beside it."""
        return (self,)

    @property
    def block_sizes(self) -> tuple[int, ...]:
        """Bytes of one I/O of each workload, as far as known."""
        return tuple(load.bs for load in self.workloads if load.bs is not None)

    def describe(self) -> str:
        """Return what is known of it in a few words: ``"random read, 128k, QD32 x 4 jobs"``."""
        words = []
        if self.rw is not None:
            kind, share = "random" if self.is_random else "sequential", self.read_share
            if share in (0, 1):
                words = [f"{kind} {'read' if share else 'write'}"]
            else:
                words = [f"{kind} mix"]
                words += [f"{percent_text(100 * share)} reads"] if share is not None else []
        words += [block_text(self.bs)] if self.bs else []
        queue = [f"QD{self.iodepth}"] if self.iodepth else []
        jobs = [f"{self.numjobs} jobs"] if (self.numjobs or 1) > 1 else []
        return ", ".join(words + ([" x ".join(queue + jobs)] if queue + jobs else []))


class Workload(Load):
    """A load that shall be asked of a drive: what is not said of it is as in fio.

    Attributes:
        span: the part of the target that offsets are drawn from (fio's ``size``).
        offset: where the span starts.
        io_size: bytes to transfer in all jobs together; without it and without a runtime,
            the span once.
        runtime_s: how long, repeating the span as often as needed.
        rate: bytes per second at most, for each job and each of reads and writes; None is
            unlimited.
        rate_iops: I/Os per second at most, counted in the same way.
        compress_pct: how far the data can be compressed; 0 is incompressible.
        fio: further options for fio alone, of :data:`PASSED_ON`; no other target takes them.
    """

    rw: _Pattern
    bs: Bytes = Field(4096, ge=512)
    iodepth: int = Field(1, ge=1, le=65536)
    numjobs: int = Field(1, ge=1, le=1024)
    span: SizeOrShare = Field(
        units.Size(percent=100.0),
        validation_alias=AliasChoices("span", "size"),
        validate_default=False,
    )
    offset: SizeOrShare = Field(units.Size(bytes=0), validate_default=False)
    io_size: SizeOrShare | None = None
    runtime_s: Seconds | None = Field(None, gt=0)
    rate: Bytes | None = Field(None, gt=0)
    rate_iops: int | None = Field(None, gt=0)
    compress_pct: int = Field(
        0, ge=0, le=100, validation_alias=AliasChoices("buffer_compress_percentage", "compress_pct")
    )
    fio: dict[str, str] = {}

    @field_validator("fio")
    @classmethod
    def _check_fio(cls, options: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        for option, value in options.items() if info.context == TO_BE_RUN else ():
            if wrong := wrong_option(option, value):
                raise ValueError(f"'{option}' {wrong}")
        return options

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.rwmixread is not None and not self.is_mixed:
            raise ValueError(f"rwmixread needs rw=rw or rw=randrw, not rw={self.rw}")
        if not self.span.is_positive:
            raise ValueError("span is 0: give it bytes, such as 16g, or a share, such as 100%")
        if self.span.bytes is not None and self.span.bytes < self.bs:
            raise ValueError(
                f"size={self.span.bytes}: is less than a block of {self.bs} bytes: such as 16g"
            )
        if self.io_size is not None and not self.io_size.is_positive:
            raise ValueError("io_size is 0: give it bytes, such as 16g, or a share, such as 100%")
        return self

    @property
    def read_share(self) -> float:
        """The share of I/Os that are reads, 0 to 1; fio mixes them evenly."""
        share = super().read_share
        return 0.5 if share is None else share

    @property
    def most_bytes_s(self) -> float:
        """Bytes per second that its limits permit each job, read or written; infinite without."""
        return min(self.rate or math.inf, (self.rate_iops or math.inf) * self.bs)

    def at_mb_s(self, mb_s: float) -> Self:
        """Return it held to a rate of reads and writes together, whatever its own is."""
        share = max(self.read_share, 1 - self.read_share)
        rate = max(round(1e6 * mb_s * share / self.numjobs), self.bs)
        return self.model_copy(update={"rate": rate, "rate_iops": None})

    @property
    def limit_mb_s(self) -> float:
        """The rate of reads and writes together that it is held to; infinite without any."""
        share = max(self.read_share, 1 - self.read_share)
        return self.most_bytes_s * self.numjobs / share / 1e6

    def transfer_bytes(self, target_bytes: int, span: int | None = None) -> int | None:
        """Bytes after which it ends, or None where only the runtime ends it.

        `span` is what there is of its span, if that is less.
        """
        if self.io_size is not None:
            return self.io_size.of(target_bytes)
        if self.runtime_s is not None:
            return None
        return self.span.of(target_bytes) if span is None else span
