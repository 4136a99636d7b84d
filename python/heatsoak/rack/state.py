"""Which drives a rack's run tests, and what is known of it.

Hosts and drives are named by a file, or are all drives of hosts that may be read; what is known is
kept in `rack.json`, in the directory that the recordings go to.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from heatsoak import toml, tools
from heatsoak.analysis import RecordingFindings
from heatsoak.bench.places import PlannedRow
from heatsoak.catalog.specs import Strict
from heatsoak.errors import ToolError, UsageError
from heatsoak.protocol.conditions import Label
from heatsoak.rack import kept
from heatsoak.target.device import DriveRow

#: A host's name goes into a command's words: one that begins with a hyphen would be an option.
_HOST = re.compile(r"[A-Za-z0-9_\[][A-Za-z0-9_.:@%\[\]-]*")


class ListedDrive(Strict):
    """A drive to be tested.

    Attributes:
        host: its host, as ``--by`` reaches it; None where the file lists one host alone.
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
    """A file of a rack: its hosts, and the drives to be tested."""

    hosts: tuple[str, ...] = ()
    drive: tuple[ListedDrive, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> "Listed":
        for index, one in enumerate(self.drive):
            if one.host is None and len(self.hosts) != 1:
                raise ValueError(f"drive {one.on}: name its host")
            for other in self.drive[:index]:
                if (other.host, other.on) == (one.host, one.on):
                    raise ValueError(
                        f"drive {one.on} of {one.host or self.hosts[0]} is listed twice"
                    )
        if not self.every_host:
            raise ValueError("names no host: hosts = [...], or [[drive]] with host = ...")
        for name in self.every_host:
            require_host(name)
        return self

    @property
    def every_host(self) -> list[str]:
        """All hosts that it names, those of `hosts` first."""
        named = (one.host for one in self.drive if one.host is not None)
        return list(dict.fromkeys([*self.hosts, *named]))


def require_host(name: str) -> None:
    """Raise ValueError for what cannot be a host's name in a command."""
    if not _HOST.fullmatch(name):
        raise ValueError(f"{name!r}: is no host's name, such as b1, 10.0.0.11 or admin@b1")


def load_listed(path: Path) -> Listed:
    """Return what a file lists: ours (.toml), or hosts of an inventory of Ansible's.

    Raises UsageError with file and key for what is wrong.
    """
    data = toml.toml_file(path) if path.suffix == ".toml" else {"hosts": _inventory(path)}
    return toml.validated(Listed, data, str(path))


def _inventory(path: Path) -> list[str]:
    """The hosts of an inventory of Ansible's, as Ansible itself reads it."""
    command = [tools.find_tool("ansible-inventory", "ansible-core"), "-i", str(path), "--list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        groups = json.loads(done.stdout)
        known = groups["_meta"]["hostvars"]
        names = dict.fromkeys(name for one in groups.values() for name in one.get("hosts", []))
    except (ValueError, KeyError, AttributeError) as error:
        why = (done.stderr.strip().splitlines() or [str(error)])[-1]
        raise ToolError(f"{path}: ansible-inventory cannot read it: {why}") from error
    return [str(known.get(name, {}).get("ansible_host", name)) for name in names]


def as_toml(drives: dict[str, list[DriveRow]]) -> str:
    """Return a file of all drives that may be written, for people to shorten and to label."""
    import tomlkit
    from tomlkit.items import Table

    document = tomlkit.document()
    document.add(tomlkit.comment("The hosts and drives that heatsoak rack run tests."))
    document.add(tomlkit.comment("A protocol that writes destroys what is on those with `erase`."))
    document.add("hosts", tomlkit.item([*drives]))
    if not any(row.writable for rows in drives.values() for row in rows):
        document.add(tomlkit.comment("None can be written safely: heatsoak rack drives says why."))
        document.add(tomlkit.comment("One that is only read needs [[drive]] with host and on."))
        return tomlkit.dumps(document)
    tables = tomlkit.aot()
    for host, rows in drives.items():
        for row in rows:
            if row.writable:
                table: Table = tomlkit.table()
                table.update({"host": host, "on": row.id, "erase": row.id})
                held = "" if row.erase in (None, row.id) else f": {row.why}"
                table.add(tomlkit.comment(f"{row.model or 'a drive'}, {row.path}{held}"))
                table.add("labels", tomlkit.inline_table())
                tables.append(table)
    document.add("drive", tables)
    return tomlkit.dumps(document)


class HostDrive(DriveRow):
    """A row of ``rack drives``; `host` is a host's name."""

    host: str


#: In the output directory.
NAME = "rack.json"
#: Which tests begin at the same moment: those of a host, whose drives share its air, all, or none.
Together = Literal["host", "rack", "none"]


class Row(kept.Status):
    """A test of the rack, and where it stands as far as is known; `attempt` is the one meant.

    Attributes:
        directory: what was collected, relative to that of `rack.json`; None if nothing was yet.
    """

    name: str
    host: str
    on: str
    erase: str | None = None
    labels: dict[str, Label] = Field(default_factory=dict)
    sensors: str | None = None
    is_collected: bool = False
    directory: str | None = None

    @classmethod
    def of(cls, drive: ListedDrive, host: str) -> "Row":
        """Return the test of a drive that was listed."""
        return cls(**drive.model_dump(exclude={"host"}), name=kept.name_of(drive.on), host=host)

    @property
    def asked(self) -> tuple[object, ...]:
        """What makes it another test where it differs."""
        return self.host, self.on, self.labels, self.sensors

    def take(self, status: kept.Status) -> None:
        """Take over where it stands."""
        for key in kept.Status.model_fields:
            setattr(self, key, getattr(status, key))

    @property
    def text(self) -> str:
        """Which test it is, and why it did not end well."""
        slot = f", slot {self.labels['slot']}" if "slot" in self.labels else ""
        why = (self.why or self.state).removeprefix(f"{self.on}: ")
        return f"{self.host}{slot} ({self.on}): {why}"


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
