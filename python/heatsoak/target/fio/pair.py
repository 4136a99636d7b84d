"""A copy from one place to another with one fio: a job that reads and one that writes."""

import shlex
import zlib
from collections.abc import Iterator

from heatsoak.errors import ToolError
from heatsoak.protocol import ROLES, Copy, halves_of
from heatsoak.target.base import Drives, Note, NumberedBatch, numbered
from heatsoak.target.fio.command import job, measured
from heatsoak.target.fio.lane import Load
from heatsoak.target.fio.target import FioTarget
from heatsoak.target.fio.watch import FioWatch

#: Jobs of one flow do the same number of I/Os; the one ahead checks again after this time, per MiB
#: of an I/O. Longer waits slow down small I/Os, shorter ones cost processor time.
_LOOKS_US_PER_MIB, _MIN_LOOKS_US = 100, 10
#: Before 3.23 fio's flow option worked differently, and 3.23 only counts 2^32 I/Os.
_OLDEST_FIO = (3, 24)


class FioPair(Drives):
    """Two places that one fio loads together, so that neither job runs ahead of the other.

    The data written is not the data read, but as much and at the same time: it is the load of a
    copy. The source is only opened for reading, by us and by fio.
    """

    def __init__(self, source: FioTarget, destination: FioTarget) -> None:
        """Couple two open places; from here on, both use the source's clock."""
        super().__init__(source, destination)
        self._both = (source, destination)
        destination.clock = source.clock

    def copy(self, step: Copy) -> Iterator[NumberedBatch]:
        """Copy once; raises ToolError if fio or a drive fails."""
        source, destination = self._both
        if source.fio.number < _OLDEST_FIO:
            oldest = ".".join(map(str, _OLDEST_FIO))
            raise ToolError(
                f"{source.fio.version} is too old to copy: fio {oldest} or newer is needed"
            )
        yield from numbered(1, destination.ready(step.name))
        try:
            yield from self._copy(step)
        finally:
            destination.look()

    def _copy(self, step: Copy) -> Iterator[NumberedBatch]:
        source, destination = self._both
        line = self._command_line(step)
        for number in range(2):
            data = {"step": step.name, "command": line}
            yield number, Note("info", f"fio: {shlex.join(line)}", data)
        lanes = [
            target.lane(Load.of(half, target.place()), job=role)
            for target, half, role in zip(self._both, halves_of(step), ROLES, strict=True)
        ]
        kept = [*source.kept_fds(), *destination.kept_fds()]
        yield from FioWatch(*lanes).numbered_batches(line, kept)

    def _command_line(self, step: Copy) -> list[str]:
        source, destination = self._both
        settings = destination.settings
        line = measured(source.fio.path, settings.status_interval_s)
        looks_us = max(round(_LOOKS_US_PER_MIB * step.bs / (1 << 20)), _MIN_LOOKS_US)
        for target, half, role in zip(self._both, halves_of(step), ROLES, strict=True):
            seed = zlib.crc32(f"{settings.seed}/{step.name}/{role}".encode())
            line += job(role, half, target.place(), seed, grouped=False)
            line += ["--flow_id=1", "--flow=1", f"--flow_sleep={looks_us}"]
        return line
