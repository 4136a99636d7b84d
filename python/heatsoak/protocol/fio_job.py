"""Native fio job files as protocols.

Sections become workloads; those without ``stonewall`` run beside the one before them, those with
it start a new step. What a section says about the place (``filename``, ``ioengine``, ``direct``...)
is ignored, since heatsoak chooses the target itself. Some options are passed on to fio, if their
values are among those that :mod:`~heatsoak.protocol.workload` allows. All else is an error that
names file, section and option.

Observed with fio 3.33: a bare ``k``, ``kb`` or ``ki`` is 1024 bytes and ``kib`` is 1000 (fio's
``kb_base``); ``;`` and ``#`` start a comment anywhere in a line; only ``[global]`` in lower case
is global, and a later one adds to the former; engines other than the asynchronous ones keep one
I/O in flight, whatever ``iodepth`` says, and the default engine is such a one; ``io_size`` makes
``loops`` void; quotes are part of a value.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from heatsoak import errors
from heatsoak.protocol import workload
from heatsoak.protocol.model import Protocol
from heatsoak.protocol.steps import WorkloadStep
from heatsoak.toml import toml_text
from heatsoak.units import Size, parse_seconds
from heatsoak.words import duration_text, listed


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Options that say where, or what to log, which is heatsoak's own part.
_IGNORED = _names(
    """
    filename directory filename_format unique_filename filesize nrfiles openfiles
    file_service_type fallocate allow_file_create create_serialize create_fsync create_on_open
    overwrite unlink unlink_each_loop fadvise_hint allow_mounted_write
    direct buffered atomic thread group_reporting new_group stats per_job_logs exitall
    exitall_on_error write_bw_log write_lat_log write_iops_log write_hist_log bwavgtime
    iopsavgtime log_avg_msec log_entries log_hist_msec log_hist_coarseness log_max_value log_offset
    log_prio log_unix_epoch log_alternate_epoch log_compression log_store_compressed
    clat_percentiles lat_percentiles slat_percentiles percentile_list significant_figures
    disk_util gtod_reduce gtod_cpu disable_lat disable_clat disable_slat disable_bw_measurement
    disable_bw unified_rw_reporting error_dump unit_base mem iomem lockmem hugepage-size
    hipri fixedbufs registerfiles sqthread_poll sqthread_poll_cpu nonvectored force_async
    userspace_reap uri numa_cpu_nodes numa_mem_policy
    """
)

_ASYNCHRONOUS = frozenset({"libaio", "io_uring", "io_uring_cmd", "posixaio", "nbd", "windowsaio"})
_SYNCHRONOUS = frozenset({"psync", "sync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "sg"})

#: fio's own synonyms of what is understood here.
_SYNONYMS = {
    "readwrite": "rw",
    "blocksize": "bs",
    "io_limit": "io_size",
    "timeout": "runtime",
    "wait_for_previous": "stonewall",
    "blocksize_range": "bsrange",
    "blocksize_unaligned": "bs_unaligned",
    "iodepth_batch_submit": "iodepth_batch",
}

#: Options that become part of a workload, or of the order of steps.
_READ = _names(
    """
    rw bs size io_size offset runtime time_based ramp_time loops numjobs iodepth rate rate_iops
    rwmixread rwmixwrite buffer_compress_percentage stonewall ioengine name description kb_base
    """
)

_SIZE = re.compile(r"^(0x[0-9a-f]+|[0-9]+(?:\.[0-9]+)?)(?:([kmgtp])(i?b|i)?|b)?$")
_POWER = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_W = TypeVar("_W", bound=workload.Workload)
_VARIABLE = re.compile(r"\$\{([^}]*)\}")


@dataclass
class _Section:
    """A job of the file; what is wrong with an option is raised with file and section."""

    path: Path
    name: str
    options: dict[str, str]

    def wrong(self, option: str, what: str) -> errors.UsageError:
        return errors.UsageError(f"{self.path}: [{self.name}] option '{option}' {what}")

    def flag(self, option: str) -> bool:
        value = self.options.get(option, "0")
        if value not in ("0", "1"):
            raise self.wrong(option, f"is '{value}': it must be 1 or 0")
        return value == "1"

    def whole(self, option: str, default: int) -> int:
        value = self.options.get(option, str(default))
        return self._number(option, value, "it must be a whole number", is_whole=True)

    def one(self, option: str) -> str:
        """A limit that holds for reads and writes alike."""
        value = self.options[option]
        if "," in value:
            raise self.wrong(
                option, f"is '{value}': only one limit, for both reads and writes, is supported"
            )
        return value

    def bytes(self, option: str, value: str) -> int:
        right = "a size is a number with an optional suffix, such as 128k"
        return self._number(option, value.strip(), right)

    def _number(self, option: str, text: str, right: str, *, is_whole: bool = False) -> int:
        match = _SIZE.match(text.lower())
        if match is None or (is_whole and "." in text):
            raise self.wrong(option, f"is '{text}': {right}")
        number, power, unit = match.groups()
        value = float(int(number[:40], 16)) if number.startswith("0x") else float(number)
        base = 1000.0 if unit == "ib" else 1024.0
        value *= base ** _POWER.get(power or "", 0)
        if value >= 2**63:
            raise self.wrong(option, f"is '{match.group()}': is too large")
        return round(value)

    def size(self, option: str) -> Size | None:
        value = self.options.get(option)
        if value is None:
            return None
        if value.endswith("%"):
            try:
                return Size.parse(value)
            except ValueError as error:
                raise self.wrong(option, f"is wrong: {error}") from error
        size = Size(bytes=self.bytes(option, value))
        return size if size.is_positive or option == "offset" else None

    def seconds(self, option: str) -> float:
        value = self.options.get(option, "0")
        if re.fullmatch(r"(?:(\d+):)?(?:(\d+):)?(\d+):(\d+)", value) is not None:
            parts = [int(part) for part in value.split(":")]
            units = (1, 60, 3600, 86400)
            pairs = zip(reversed(parts), units, strict=False)
            return float(sum(part * unit for part, unit in pairs))
        try:
            return parse_seconds(value)
        except ValueError as error:
            raise self.wrong(option, f"is wrong: {error}") from error


def parse_job_file(path: Path) -> Protocol:
    """Return the protocol in a fio job file.

    Its notes say what was ignored, or read otherwise than fio would. Raises UsageError, naming
    file, section and option, for anything that is wrong.
    """
    return _Reader(path).read(toml_text(path))


class _Reader:
    """Makes a protocol of a file's sections, and notes what fio would do otherwise."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ignored: dict[str, None] = {}
        self._notes: dict[str, None] = {}
        self._described: dict[str, None] = {}

    def read(self, text: str) -> Protocol:
        sections = self._sections(text)
        if not sections:
            raise errors.UsageError(
                f"{self._path}: holds no job: a job is a section such as [read]"
            )
        groups: list[list[_Section]] = []
        for section, starts_step in [(one, one.flag("stonewall")) for one in sections]:
            if starts_step or not groups:
                groups.append([])
            groups[-1].append(section)
        names: set[str] = set()
        steps = [self._step(group, names) for group in groups]
        if self._ignored:
            self._note(
                "left out, since heatsoak chooses where it loads and what it logs: "
                + listed(sorted(self._ignored))
            )
        stem = re.sub(r"[^A-Za-z0-9._-]+", "-", self._path.stem).strip("-._") or "job"
        return Protocol(
            name=stem[:100],
            title=f"fio job file {self._path.name}",
            description="\n".join([*self._described, f"From the fio job file {self._path.name}."]),
            notes=list(self._notes),
            file_size=_file_size(steps),
            steps=steps,
        )

    def _note(self, text: str) -> None:
        self._notes[text] = None

    # lines to sections

    def _sections(self, text: str) -> list[_Section]:
        shared = _Section(self._path, "global", {})
        found: list[_Section] = []
        current: _Section | None = None
        for number, raw in enumerate(text.splitlines(), start=1):
            line = re.split(r"[;#]", raw, maxsplit=1)[0].strip()
            if not line:
                continue
            where = f"{self._path}, line {number}"
            if line.startswith("["):
                if not line.endswith("]") or not line[1:-1].strip():
                    raise errors.UsageError(f"{where}: '{line}' is not a section")
                name = line[1:-1].strip()
                if name == "global":
                    current = shared
                else:
                    current = _Section(self._path, name, dict(shared.options))
                    found.append(current)
                continue
            if re.match(r"include\s", line):
                raise errors.UsageError(
                    f"{where}: include is not supported: put the included file's lines here"
                )
            if current is None:
                raise errors.UsageError(
                    f"{where}: '{line}' comes before any section: start with [global] or a job's "
                    "name in brackets"
                )
            option, value = _option(line, current)
            current.options[option] = value
        return found

    # sections to steps

    def _step(self, group: list[_Section], names: set[str]) -> WorkloadStep:
        first, *others = group
        name = base = first.options.get("name", first.name)[:190]
        number = 2
        while name in names:
            name = f"{base}-{number}"
            number += 1
        names.add(name)
        beside = tuple(self._build(workload.Workload, other, {}) for other in others)
        return self._build(WorkloadStep, first, {"name": name, "beside": beside})

    def _build(self, kind: type[_W], section: _Section, more: dict[str, Any]) -> _W:
        values = {**self._workload(section), **more}
        try:
            return kind.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            key = str(first["loc"][0]) if first["loc"] else ""
            message = errors.without_prefix(str(first["msg"]))
            option = {"span": "size", "runtime_s": "runtime", "compress_pct": ""}.get(key, key)
            if not option:
                raise errors.UsageError(f"{self._path}: [{section.name}] {message}") from error
            given = section.options.get(option, "")
            what = f"is '{given}': {message[0].lower()}{message[1:]}"
            raise section.wrong(option, what) from error

    def _workload(self, section: _Section) -> dict[str, Any]:
        options = section.options
        self._ignored.update(dict.fromkeys(options.keys() & _IGNORED))
        if "description" in options:
            self._described[options["description"]] = None
        if options.get("kb_base", "1024") != "1024":
            raise section.wrong("kb_base", "is not supported: leave it at 1024")
        if options.get("direct") == "0" or section.flag("buffered"):
            self._note("buffered I/O was asked for; heatsoak bypasses the page cache")
        rw = options.get("rw", "read")
        if rw in ("trim", "randtrim", "trimwrite", "randtrimwrite"):
            raise section.wrong("rw", f"is '{rw}': trim is not measured")
        if ":" in rw:
            raise section.wrong("rw", f"is '{rw}': strides are not supported")
        jobs = section.whole("numjobs", 1)
        values: dict[str, Any] = {
            "rw": rw,
            "numjobs": jobs,
            "iodepth": self._depth(section),
            "span": section.size("size") or Size(percent=100.0),
            "offset": section.size("offset") or Size(bytes=0),
            "fio": {key: options[key] for key in options if key in workload.PASSED_ON - _READ},
        }
        if "bs" in options:
            parts = [part for part in options["bs"].split(",") if part]
            values["bs"] = section.bytes("bs", parts[0] if parts else "")
            if "," in options["bs"]:
                if wrong := workload.wrong_option("bs", options["bs"]):
                    raise section.wrong("bs", wrong)
                values["fio"]["bs"] = options["bs"]
        if "buffer_compress_percentage" in options:
            values["compress_pct"] = section.whole("buffer_compress_percentage", 0)
        if "rate" in options:
            values["rate"] = section.bytes("rate", section.one("rate"))
        if "rate_iops" in options:
            section.one("rate_iops")
            values["rate_iops"] = section.whole("rate_iops", 0)
        if rw in ("rw", "randrw", "readwrite"):
            if "rwmixread" in options:
                values["rwmixread"] = section.whole("rwmixread", 50)
            elif "rwmixwrite" in options:
                values["rwmixread"] = 100 - section.whole("rwmixwrite", 50)
        return {**values, **self._extent(section, values["span"], jobs)}

    def _depth(self, section: _Section) -> int:
        depth = section.whole("iodepth", 1)
        engine = section.options.get("ioengine", "psync")
        if engine not in _ASYNCHRONOUS | _SYNCHRONOUS:
            known = errors.suggestion(engine, _ASYNCHRONOUS | _SYNCHRONOUS)
            raise section.wrong(
                "ioengine", f"is '{engine}', which is not an engine that loads a drive{known}"
            )
        if "ioengine" in section.options:
            self._ignored["ioengine"] = None
        if engine in _ASYNCHRONOUS:
            return depth
        if depth > 1:
            self._note(
                f"[{section.name}]: iodepth={depth} became 1, as it is with fio's {engine}; an "
                "engine such as ioengine=io_uring keeps it"
            )
        return 1

    def _extent(self, section: _Section, span: Size, jobs: int) -> dict[str, Any]:
        """When the workload ends, as fio would have it: by time, by bytes, or by the first."""
        extent: dict[str, Any] = {}
        runtime_s = section.seconds("runtime")
        is_time_based = section.flag("time_based")
        if is_time_based and not runtime_s:
            raise section.wrong("time_based", "needs a runtime")
        if runtime_s:
            ramp_s = section.seconds("ramp_time")
            if ramp_s:
                self._note(
                    f"[{section.name}]: ramp_time is recorded too: the step takes "
                    f"{duration_text(runtime_s + ramp_s)}"
                )
            extent["runtime_s"] = runtime_s + ramp_s
            if is_time_based:
                return extent
        wanted = section.size("io_size")
        times = jobs if wanted else jobs * section.whole("loops", 1)
        amount = wanted or span
        if amount.bytes is not None:
            extent["io_size"] = Size(bytes=amount.bytes * times)
        elif (share := (amount.percent or 0.0) * times) <= 100:
            extent["io_size"] = Size(percent=share)
        elif runtime_s:
            self._note(
                f"[{section.name}]: ends after its runtime, even if it could have transferred "
                f"{amount} of the target {times} times before"
            )
        else:
            raise section.wrong(
                "size",
                f"is {amount}, which {times} jobs or loops make more than the whole target: "
                "give bytes, or a runtime",
            )
        return extent


def _option(line: str, section: _Section) -> tuple[str, str]:
    """The option of a line and its value, with variables of the environment put in."""
    option, equals, value = (part.strip() for part in line.partition("="))
    option = _SYNONYMS.get(option, option)
    if option not in workload.PASSED_ON | _IGNORED | _READ:
        known = workload.PASSED_ON | _IGNORED | _READ | _SYNONYMS.keys()
        raise section.wrong(option, "is not supported" + errors.suggestion(option, known))

    def expand(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if found is None:
            raise section.wrong(option, f"needs the environment variable {match[1]}")
        if not found.isprintable():
            raise section.wrong(option, f"needs {match[1]} without line breaks in the environment")
        return found

    value = _VARIABLE.sub(expand, value) if equals else "1"
    if option in workload.PASSED_ON - _READ and (wrong := workload.wrong_option(option, value)):
        raise section.wrong(option, wrong)
    return option, value


def _file_size(steps: list[WorkloadStep]) -> Size:
    """How large a test file the steps need."""
    ends = []
    for load in (load for step in steps for load in step.workloads):
        if load.span.bytes is None or load.offset.bytes is None:
            return Size(percent=100.0)
        ends.append(load.offset.bytes + load.span.bytes)
    return Size(bytes=max(ends))
