"""A copy from one place to another with one fio: a job that reads and one that writes."""

import shlex
import zlib
from collections.abc import Iterator

from heatsoak.errors import ToolError
from heatsoak.protocol import ROLES, Copy, Precondition, Purge, Role, halves_of
from heatsoak.target.base import Note
from heatsoak.target.fio.command import job, measured
from heatsoak.target.fio.lane import Load
from heatsoak.target.fio.target import FioTarget
from heatsoak.target.fio.watch import Watch
from heatsoak.target.pair import Told

#: Jobs of one flow do the same number of I/Os; the one ahead checks again after this time, per MiB
#: of an I/O. Longer waits slow down small I/Os, shorter ones cost processor time.
_LOOKS_US_PER_MIB, _LEAST_LOOKS_US = 100, 10
#: Before 3.23 fio's flow option worked differently, and 3.23 only counts 2^32 I/Os.
_OLDEST = (3, 24)


class FioPair:
    """Two places that one fio loads together, so that neither job runs ahead of the other.

    The data written is not the data read, but as much and at the same time: it is the load of a
    copy. The source is only opened for reading, by us and by fio.
    """

    def __init__(self, source: FioTarget, destination: FioTarget) -> None:
        """Couple two open places; from here on, both use the source's clock."""
        self._targets = {"source": source, "destination": destination}
        destination.clock = source.clock

    def target(self, role: Role) -> FioTarget:
        """Return one of the two."""
        return self._targets[role]

    def copy(self, step: Copy) -> Iterator[Told]:
        """Copy once; raises ToolError if fio or a drive fails."""
        source, destination = (self.target(role) for role in ROLES)
        if source.fio.number < _OLDEST:
            oldest = ".".join(map(str, _OLDEST))
            raise ToolError(
                f"{source.fio.version} is too old to copy: fio {oldest} or newer is needed"
            )
        for batch in destination.ready(step.name):
            yield "destination", batch
        line = self._command_line(step)
        for role in ROLES:
            data = {"step": step.name, "command": line}
            yield role, Note("info", f"fio: {shlex.join(line)}", data)
        lanes = [
            self.target(role).lane(Load.of(half, self.target(role).place()), job=role)
            for role, half in zip(ROLES, halves_of(step), strict=True)
        ]
        kept = [*source.kept_fds(), *destination.kept_fds()]
        for number, batch in Watch(*lanes).numbered_batches(line, kept):
            yield ROLES[number], batch

    def _command_line(self, step: Copy) -> list[str]:
        settings = self.target("destination").settings
        line = measured(self.target("source").fio.path, settings.status_interval_s)
        looks_us = max(round(_LOOKS_US_PER_MIB * step.bs / (1 << 20)), _LEAST_LOOKS_US)
        for role, half in zip(ROLES, halves_of(step), strict=True):
            seed = zlib.crc32(f"{settings.seed}/{step.name}/{role}".encode())
            line += job(role, half, self.target(role).place(), seed, grouped=False)
            line += ["--flow_id=1", "--flow=1", f"--flow_sleep={looks_us}"]
        return line

    def alone(self, role: Role, step: Precondition | Purge) -> Iterator[Told]:
        """Run a step on one of them."""
        target = self.target(role)
        for batch in target.purge(step.method) if isinstance(step, Purge) else target.run(step):
            yield role, batch

    def idle(self, duration_s: float) -> Iterator[Told]:
        """Let time pass."""
        for batch in self.target("destination").idle(duration_s):
            yield "destination", batch
