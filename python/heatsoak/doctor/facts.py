"""The table of what heatsoak can use: what each brings, how it is looked for, how to get it.

Every row asks the function that a run asks, so that the two cannot say different things.
"""

import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict

from heatsoak.doctor.machine import Machine, can_open
from heatsoak.errors import HeatsoakError, ToolError
from heatsoak.system import is_root
from heatsoak.tools import which
from heatsoak.words import listed, size_text

if TYPE_CHECKING:
    from heatsoak.target import Place

#: More names than these are counted.
_NAMED = 4
#: ``unneeded``: missing, and of no use on this machine.
State = Literal["ok", "limited", "missing", "unneeded"]
ReadyFor = Literal["drives", "directories", "simulated"]


class Fact(BaseModel):
    """One thing that heatsoak can use.

    Attributes:
        name: what it is.
        about: what it is part of: ``target``, ``load``, ``rights``, ``sensors``, ``heat``,
            ``purge``, ``simulation`` or ``reports``.
        found: what is here, or why it is not.
        brings: what heatsoak does with it.
        get: the command that brings it; None if it is here, or no command does.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    about: str
    state: State
    found: str
    brings: str
    get: str | None


class Checkup(BaseModel):
    """What can be tested here, and what would bring more.

    Attributes:
        schema_version: goes up when a key of the JSON changes its meaning or goes away.
        ready_for: what can be tested: whole drives, only directories and files on them, or only
            simulated drives; logs can be judged in any case.
        sentence: the same for people.
        get_all: the fewest commands that install everything missing.
    """

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    ready_for: ReadyFor
    sentence: str
    facts: list[Fact]
    get_all: list[str]


@dataclass(frozen=True)
class LookResult:
    """What a row found; `get` is a command that fits better than the row's own."""

    state: State
    found: str
    get: str | None = None


@dataclass(frozen=True)
class FactRow:
    """A row of the table.

    Attributes:
        look: finds it.
        get: the command that brings it where it is missing.
        needs_linux: whether it is only of use for real drives.
    """

    name: str
    about: str
    brings: str
    look: Callable[[Machine], LookResult]
    get: str | None = None
    needs_linux: bool = True


def _system(machine: Machine) -> LookResult:
    name = f"{platform.system()} {platform.release()}"
    if not machine.is_linux:
        return LookResult("missing", f"this is {name}, and they need Linux")
    if machine.container is not None:
        return LookResult(
            "limited",
            f"{name}, in a container ({machine.container}), which has only the devices and rights "
            "that it was given",
        )
    return LookResult("ok", name)


def _fio(_machine: Machine) -> LookResult:
    from heatsoak.target.fio.process import find_fio

    try:
        fio = find_fio()
        engine = fio.engine()
    except ToolError as error:
        return _without(error, "fio")
    if engine == "io_uring":
        return LookResult("ok", f"{fio.version} with io_uring")
    if engine == "libaio":
        return LookResult("limited", f"{fio.version} with libaio: io_uring is not allowed here")
    return LookResult("limited", f"{fio.version} with {engine}: one I/O in flight for each job")


def _util_linux(_machine: Machine) -> LookResult:
    wanted = ("setpriv", "blkid", "wipefs", "fallocate", "chrt", "setsid")
    missing = [name for name in wanted if which(name) is None]
    if missing:
        # fio is not started without the first, and no drive is written without the next two
        state: State = "missing" if set(missing) & set(wanted[:3]) else "limited"
        get = "apt-get install util-linux"
        return LookResult(state, f"not installed: {', '.join(missing)}", get)
    return LookResult("ok", "installed")


def _rights(machine: Machine) -> LookResult:
    names = listed([info.name for info in machine.openable], _NAMED)
    if is_root():
        given = {
            "--pid=host --cap-add=SYS_PTRACE": machine.sees_all_processes,
            "--cap-add=SYS_ADMIN --cap-add=SYS_RAWIO": machine.has_admin_rights,
            " ".join(f"--device {info.path}" for info in machine.spare[:1]): bool(names),
        }
        lacks = [words for words, is_given in given.items() if words and not is_given]
        if not lacks and (names or not machine.drives):
            return LookResult("ok", "root")
        if not machine.sees_all_processes:
            found = "root, but not allowed to see who else uses a drive"
        elif not machine.has_admin_rights:
            found = "root without CAP_SYS_ADMIN and CAP_SYS_RAWIO"
        else:
            found = "root, but not allowed to open any drive"
        get = f"docker run {' '.join(lacks)} IMAGE" if machine.container and lacks else None
        return LookResult("limited", found, get)
    return LookResult(
        "limited",
        f"a user who can open {names}" if names else "a user who can open no whole drive",
        AS_ROOT,
    )


def _drives(machine: Machine) -> LookResult:
    if not (machine.roots.sys / "block").is_dir():
        return LookResult(
            "missing", f"there is no {machine.roots.sys / 'block'}: is it mounted here?"
        )
    if not machine.drives:
        return LookResult("missing", "the kernel shows none")
    found = listed([info.name for info in machine.drives], _NAMED)
    nodeless = [info.name for info in machine.drives if not info.path.exists()]
    if nodeless:
        given = f"docker run --device {machine.spare[0].path} IMAGE" if machine.spare else None
        return LookResult(
            "limited",
            f"{found}, but no device node for {listed(nodeless, _NAMED)}",
            given if machine.container else None,
        )
    return LookResult("ok", found)


def _locks(_machine: Machine) -> LookResult:
    from heatsoak.target.lock import DIRECTORY_VARIABLE, lock_directory

    path = lock_directory()
    nearest = path if path.exists() else path.parent
    if os.access(nearest, os.W_OK):
        return LookResult("ok", str(path))
    return LookResult(
        "missing", f"{path} cannot be written", f"export {DIRECTORY_VARIABLE}=DIRECTORY"
    )


def _health_log(machine: Machine) -> LookResult:
    from heatsoak.sensor import sysfs

    disks = [
        sysfs.directory_of_name(info.name, machine.roots) for info in machine.drives_on("nvme")
    ]
    controllers = [one for disk in disks if disk for one in sysfs.nvme_controllers(disk)]
    if not controllers:
        return LookResult("unneeded", "no NVMe drive is here")
    names = listed([one.name for one in controllers], _NAMED)
    can_read = all(can_open(machine.roots.dev / one.name) for one in controllers)
    if machine.has_admin_rights and can_read:
        return LookResult("ok", names)
    return LookResult("missing", f"{names}: not allowed to read it")


def _hwmon(machine: Machine) -> LookResult:
    if machine.hwmon_names:
        return LookResult("ok", listed(list(dict.fromkeys(machine.hwmon_names)), _NAMED))
    if machine.container is not None:
        return LookResult("missing", "the kernel shows none in here")
    return LookResult(
        "missing", "the kernel has none", "apt-get install lm-sensors && sensors-detect"
    )


def _drivetemp(machine: Machine) -> LookResult:
    if "drivetemp" in machine.hwmon_names:
        return LookResult("ok", "loaded")
    if not machine.drives_on("sata"):
        return LookResult("unneeded", "no SATA drive is here")
    return LookResult("missing", "not loaded")


def _for_drives(program: str, transport: str, kind: str) -> Callable[[Machine], LookResult]:
    """A program that is of use with drives that are attached in one way."""

    def look(machine: Machine) -> LookResult:
        if (path := which(program)) is not None:
            return LookResult("ok", path)
        if machine.drives_on(transport):
            return LookResult("missing", "not installed")
        return LookResult("unneeded", f"no {kind} drive is here")

    return look


def _processor(machine: Machine) -> LookResult:
    from heatsoak.sensor.cpu import CpuSensor

    sensor = CpuSensor.find(machine.roots)
    if sensor is None:
        return LookResult("missing", f"{machine.roots.proc / 'stat'} cannot be read")
    if "temp_c.cpu" in sensor.info.columns:
        return LookResult("ok", "load and temperature")
    if machine.container is not None:
        return LookResult("limited", "load, but no temperature")
    return LookResult("limited", "load, but no temperature", "modprobe -a coretemp k10temp")


def _graphics(machine: Machine) -> LookResult:
    from heatsoak.sensor.gpu import GpuSensor

    sensor = GpuSensor.find()
    if sensor is not None:
        found = listed(list(sensor.info.details["cards"]), _NAMED)
        sensor.close()
        return LookResult("ok", found)
    if not machine.has_nvidia_card:
        return LookResult("unneeded", "no NVIDIA card is here")
    return LookResult("missing", "NVIDIA's driver does not answer")


def _stress_ng(_machine: Machine) -> LookResult:
    from heatsoak.heat import find_stress_ng

    return _found(find_stress_ng, "stress-ng")


def _gpu_burn(machine: Machine) -> LookResult:
    from heatsoak.heat import find_gpu_burn

    seen = _found(find_gpu_burn, "gpu-burn")
    if seen.state == "missing" and not machine.has_nvidia_card:
        return LookResult("unneeded", "no NVIDIA card is here")
    return LookResult(seen.state, "not installed" if seen.state == "missing" else seen.found)


def _nbdkit(_machine: Machine) -> LookResult:
    from heatsoak.nbd import find_nbdkit

    return _found(find_nbdkit, "nbdkit")


def _nbd_plugin(_machine: Machine) -> LookResult:
    from heatsoak.nbd import find_plugin

    seen = _found(find_plugin, "")
    return (
        LookResult("missing", "not built")
        if seen.state == "missing"
        else LookResult("ok", "installed")
    )


def _page(_machine: Machine) -> LookResult:
    from heatsoak.report.page.html import Bundle

    try:
        Bundle.load()
    except ToolError:
        return LookResult("missing", "not built")
    return LookResult("ok", "installed")


def _extra(module: str) -> Callable[[Machine], LookResult]:
    package = module.replace("_", "-")

    def look(_machine: Machine) -> LookResult:
        if find_spec(module) is None:
            return LookResult("missing", "not installed", f"pip install {package}")
        return LookResult("ok", f"{package} {metadata.version(package)}")

    return look


def _found(find: Callable[[], object], package: str) -> LookResult:
    try:
        return LookResult("ok", str(find()))
    except HeatsoakError as error:
        return _without(error, package)


def _without(error: HeatsoakError, package: str) -> LookResult:
    """What an error says of a missing program, without the advice that the row has too."""
    if str(error).startswith(f"{package} is not installed"):
        ignored = str(error).partition(f"apt-get install {package}")[2]
        is_ignored = ignored.startswith(" (")
        return LookResult("missing", f"not installed{ignored}" if is_ignored else "not installed")
    return LookResult("missing", str(error))


AS_ROOT = "sudo heatsoak ..."

#: Which rows a test of a directory needs, and which a test of a whole drive.
FOR_DIRECTORIES = ("system", "fio", "util-linux", "locks")
FOR_DRIVES = ("drives", "rights")

ROWS = (
    FactRow("system", "load", "real drives to test", _system, needs_linux=False),
    FactRow("fio", "load", "loads real drives", _fio, "apt-get install fio"),
    FactRow(
        "util-linux",
        "load",
        "ends fio with heatsoak; tells what a drive holds",
        _util_linux,
    ),
    FactRow("drives", "load", "whole drives to test", _drives),
    FactRow("rights", "rights", "tests of whole drives, health logs, purges, --tmt1", _rights),
    FactRow("locks", "rights", "keeps two runs from one drive", _locks),
    FactRow(
        "NVMe health log",
        "sensors",
        "a drive's temperatures, limits and throttling counters",
        _health_log,
        AS_ROOT,
    ),
    FactRow("hwmon", "sensors", "temperatures of drives and board, fans, power meters", _hwmon),
    FactRow(
        "drivetemp", "sensors", "temperatures of SATA drives", _drivetemp, "modprobe drivetemp"
    ),
    FactRow(
        "nvme-cli",
        "sensors",
        "throttling counters of data-centre drives",
        _for_drives("nvme", "nvme", "NVMe"),
        "apt-get install nvme-cli",
    ),
    FactRow("processor", "sensors", "tells drives that wait for the processor", _processor),
    FactRow(
        "graphics cards",
        "sensors",
        "temperature, load and power of cards beside the drive",
        _graphics,
        "apt-get install nvidia-driver",
    ),
    FactRow(
        "stress-ng",
        "heat",
        "heats the case by the processor",
        _stress_ng,
        "apt-get install stress-ng",
    ),
    FactRow(
        "gpu-burn",
        "heat",
        "heats the case by graphics cards; found in HEATSOAK_TOOLS, or /usr/local/bin",
        _gpu_burn,
        "git clone https://github.com/wilicc/gpu-burn && make -C gpu-burn",
    ),
    FactRow(
        "hdparm",
        "purge",
        "secure erase of SATA drives",
        _for_drives("hdparm", "sata", "SATA"),
        "apt-get install hdparm",
    ),
    FactRow(
        "nbdkit",
        "simulation",
        "lets a real fio load a simulated drive (heatsoak lab nbd)",
        _nbdkit,
        "apt-get install nbdkit",
    ),
    FactRow(
        "nbdkit's plugin",
        "simulation",
        "the simulated drive for nbdkit",
        _nbd_plugin,
        "cargo build --release -p heatsoak-nbd",
    ),
    FactRow("page", "reports", "reports as one HTML page", _page, "make build", needs_linux=False),
    *(
        FactRow(name, "reports", brings, _extra(module), needs_linux=False)
        for name, brings, module in (
            ("ocp", "reports as OCP test results", "ocptv"),
            ("cluster", "sweeps over several machines", "distributed"),
        )
    ),
)


def of_target(text: str) -> list[FactRow]:
    """Return the rows for what ``--on`` names; raises UsageError if it names nothing."""
    from heatsoak.target.place import parse_place

    place = parse_place(text)

    def look(machine: Machine) -> LookResult:
        if place.is_simulated:
            return LookResult("ok", "simulated: it needs nothing of this machine")
        if not machine.is_linux:
            return LookResult("missing", "real drives are tested on Linux only")
        if place.kind == "block":
            return _block(Path(place.text), machine)
        if place.kind == "nbd":
            return _nbd_target()
        if not os.access(place.text, os.W_OK if place.kind == "directory" else os.R_OK):
            return LookResult("missing", "not allowed to open it", AS_ROOT)
        return _in_files(place, machine)

    def carrier(machine: Machine) -> LookResult:
        from heatsoak.target.place import drive_at

        info = drive_at(place, machine.roots)
        if info is None:
            return LookResult("limited", "unknown: no temperatures of it")
        names = [info.model or "of an unknown model", info.name, info.transport]
        return LookResult("ok", ", ".join(names))

    rows = [FactRow("target", "target", f"--on {text}", look, needs_linux=False)]
    if place.kind in ("directory", "file", "block"):
        rows.append(FactRow("its drive", "target", "whose sensors are read", carrier))
    return rows


def _in_files(place: "Place", machine: Machine) -> LookResult:
    try:
        size_bytes = place.size_bytes(None, machine.roots)
    except HeatsoakError as error:
        return LookResult("missing", str(error).removeprefix(f"{place.text}: "))
    is_made = place.kind == "directory"
    if (note := place.memory_note(machine.roots)) is not None:
        fits = f"; a test file of {size_text(size_bytes)} fits" if is_made else ""
        return LookResult("limited", f"{note.text.removeprefix(f'{place.text}: ')}{fits}")
    return LookResult("ok", f"can be {'tested' if is_made else 'read'}")


def _block(path: Path, machine: Machine) -> LookResult:
    from heatsoak.target.device import describe_device
    from heatsoak.target.guard import examine
    from heatsoak.target.guard.hold import word_for
    from heatsoak.target.guard.look import nothing_found

    if not can_open(path):
        return LookResult("missing", "not allowed to open it", None if is_root() else AS_ROOT)
    reasons, data = examine(path, machine.roots)
    if reasons:
        return LookResult("limited", f"can only be read: {'; '.join(reasons)}")
    info = describe_device(path, machine.roots)
    assert info.erase_id is not None
    held = data or nothing_found(info.size_bytes, is_whole=False)
    erase = word_for(info.erase_id, data)
    return LookResult("ok", f"can be tested: {held}; writing needs --erase {erase}")


def _nbd_target() -> LookResult:
    from heatsoak.target.fio.process import find_fio

    try:
        fio = find_fio()
    except ToolError as error:
        return LookResult("missing", str(error))
    if "nbd" in fio.engines:
        return LookResult("ok", f"can be tested: {fio.version} has the nbd engine")
    return LookResult("missing", f"{fio.version} was built without the nbd engine")
