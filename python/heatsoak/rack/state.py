"""Which drives a rack's run tests, and what is known of it.

Drives are named by a file, or are all that may be read; what is known is kept in `rack.json`, in
the directory that the recordings go to.
"""

import hashlib
import re
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from heatsoak import toml
from heatsoak.analysis import RecordingFindings
from heatsoak.bench.places import PlannedRow
from heatsoak.catalog.specs import Strict
from heatsoak.errors import UsageError
from heatsoak.protocol.conditions import Label
from heatsoak.rack import kept
from heatsoak.rack.host import Host
from heatsoak.target.device import DriveRow


class NotThereError(UsageError):
    """What is named is not there, and may be once a worker has registered."""


class ListedDrive(Strict):
    """A drive to be tested.

    Attributes:
        host: a host's name; None is whichever has the drive with that serial.
        on: a drive's serial or other id, or a target as for ``run --on``.
        erase: the drive whose data may be destroyed, as for ``run --erase``.
        labels: conditions, such as the slot.
        sensors: where an export's drive has its sensors on its host, as for ``run --sensors``.
    """

    host: str | None = None
    on: str
    erase: str | None = None
    labels: dict[str, Label] = Field(default_factory=dict)
    sensors: str | None = None


class Listed(Strict):
    """A file of drives."""

    drive: tuple[ListedDrive, ...] = Field(min_length=1)


def load_listed(path: Path) -> list[ListedDrive]:
    """Return the drives that a TOML file names; UsageError with file and key for what is wrong."""
    return list(toml.validated(Listed, toml.toml_file(path), str(path)).drive)


def require_hosts(listed: list[ListedDrive], hosts: dict[str, Host]) -> None:
    """Raise NotThereError where a host that is named does not answer."""
    there = sorted(one.name for one in hosts.values())
    missing = sorted({one.host for one in listed if one.host is not None} - {*there})
    if missing:
        those, do = ("host", "does") if len(missing) == 1 else ("hosts", "do")
        others = f"those that do are {', '.join(there)}" if there else "nor does any other"
        raise NotThereError(f"{those} {', '.join(missing)}: {do} not answer; {others}")


def placed(
    listed: list[ListedDrive], hosts: dict[str, Host], drives: dict[str, list[DriveRow]]
) -> list[tuple[Host, ListedDrive]]:
    """Return each listed drive with its host; raises UsageError where that is not clear.

    All hosts that are named have to be there.

    `drives` are the rows of ``heatsoak drives``, by the ids of their hosts.
    """
    names = sorted(one.name for one in hosts.values())
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice}: several hosts are called that: give their workers names")
    found: list[tuple[Host, ListedDrive]] = []
    for drive in listed:
        owners = {id_ for id_, rows in drives.items() if drive.on in _ids(rows)}
        if len(owners) > 1:
            both = ", ".join(sorted(hosts[id_].name for id_ in owners))
            if any(row.serial == drive.on for rows in drives.values() for row in rows):
                raise UsageError(f"{drive.on}: is on several hosts, {both}: leave one of them out")
            if drive.host is None:  # a drive without a serial is called by its path and size
                raise UsageError(f"{drive.on}: is on several hosts, {both}: name its host")
        if drive.host is not None:
            owners = {id_ for id_, one in hosts.items() if one.name == drive.host}
        if not owners:
            raise NotThereError(f"{drive.on}: no host has a drive of that id: name its host")
        (owner,) = owners
        if any(host.id == owner and other.on == drive.on for host, other in found):
            raise UsageError(f"{drive.on}: is listed twice")
        found.append((hosts[owner], drive))
    return found


def _ids(rows: list[DriveRow]) -> set[str]:
    return {name for row in rows for name in (row.id, row.serial) if name}


def name_of(host: Host, drive: ListedDrive) -> str:
    """Return a name for a drive's test, a file name that no other of the rack has."""
    digest = hashlib.sha256(f"{host.id} {drive.on}".encode()).hexdigest()[:6]
    return f"{plain(drive.on)}-{digest}"


def plain(text: str) -> str:
    """Return what can be a file's name of a text."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text)[-60:].strip("-") or "unnamed"


def as_toml(hosts: dict[str, Host], drives: dict[str, list[DriveRow]]) -> str:
    """Return a file of all drives that may be written, for people to shorten and to label."""
    import tomlkit
    from tomlkit.items import Table

    document = tomlkit.document()
    document.add(tomlkit.comment("The drives that heatsoak rack run tests."))
    document.add(tomlkit.comment("A protocol that writes destroys what is on those with `erase`."))
    if not any(row.writable for rows in drives.values() for row in rows):
        document.add(tomlkit.comment("None can be written safely: heatsoak rack drives says why."))
        document.add(tomlkit.comment("One that is only read needs no more than [[drive]] and on."))
        return tomlkit.dumps(document)
    tables = tomlkit.aot()
    for id_, rows in drives.items():
        for row in rows:
            if row.writable:
                table: Table = tomlkit.table()
                table.update({"host": hosts[id_].name, "on": row.id, "erase": row.id})
                held = "" if row.erase in (None, row.id) else f": {row.why}"
                table.add(tomlkit.comment(f"{row.model or 'a drive'}, {row.path}{held}"))
                table.add("labels", tomlkit.inline_table())
                tables.append(table)
    document.add("drive", tables)
    return tomlkit.dumps(document)


#: In the output directory.
NAME = "rack.json"
#: Which tests begin at the same moment: those of a host, whose drives share its air, all, or none.
Together = Literal["host", "rack", "none"]


class Row(BaseModel):
    """A test of the rack.

    Attributes:
        attempt: which start of it is meant.
        directory: what was collected, relative to that of `rack.json`; None if nothing was yet.
    """

    name: str
    host: str
    host_id: str
    on: str
    erase: str | None
    labels: dict[str, Label]
    sensors: str | None = None
    attempt: int = 1
    state: kept.State = "absent"
    why: str | None = None
    progress: float = 0.0
    is_collected: bool = False
    directory: str | None = None

    def take(self, status: kept.Status) -> None:
        """Take over where it stands."""
        self.state, self.why, self.progress = status.state, status.why, status.progress


class Rack(BaseModel):
    """A run of a rack: `rack.json`."""

    schema_version: Literal[1] = 1
    run: str
    protocol: str
    protocol_sha256: str
    together: Together
    tests: list[Row]

    @property
    def late(self) -> int:
        """How many tests still run though their planned time is over."""
        return sum(row.state == "running" and row.progress >= kept.LATE for row in self.tests)

    @property
    def progress(self) -> float | None:
        """The share that is done, 0 to 1; None where a test is late: nobody knows what is left."""
        return None if self.late else sum(row.progress for row in self.tests) / len(self.tests)


class RackFindings(Rack):
    """What ``rack run`` prints as JSON: what became of the tests, and what was recorded."""

    recordings: list[RecordingFindings]


class PlannedTest(BaseModel):
    """What a test would do: a row of ``rack run --dry-run``.

    Attributes:
        runs: of each recording; empty where it cannot be run, for the reason `why`.
        exit_code: that of the reason, 0 without.
    """

    schema_version: Literal[1] = 1
    host: str
    on: str
    runs: list[PlannedRow]
    why: str | None = None
    exit_code: int = 0


def load_rack(directory: Path) -> Rack:
    """Return what is kept of a run; raises UsageError if there is none."""
    try:
        return Rack.model_validate_json((directory / NAME).read_bytes())
    except OSError as error:
        raise UsageError(f"{directory}: holds no run of a rack: {error.strerror}") from error
    except ValidationError as error:
        raise UsageError(f"{directory / NAME}: is damaged: {toml.explain(error, Rack)}") from error
