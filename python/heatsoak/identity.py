"""Which drive something is of, and whether two are of the same: the one rule of "the same drive".

A log, a recording, a twin or a host's list each tells something of its drive, and seldom the same.
What both tell decides: a serial or world-wide name before a model, size or limit, and these before
the name of a node, which means something within one machine.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import isclose
from operator import eq
from typing import Any, Literal, NamedTuple

#: ``open``: nothing that both tell decides it.
Sameness = Literal["same", "another", "open"]
_Alike = Callable[[Any, Any], bool]

#: Limits in C that a drive itself states; others a host may have set.
_LIMITS = ("warning_c", "critical_c")
#: Tools turn kelvins into Celsius in two ways, and round.
_is_limit: _Alike = partial(isclose, rel_tol=0.0, abs_tol=1.0)
#: Of one drive, a tool may tell the namespace's size and another the whole drive's.
_is_size: _Alike = partial(isclose, rel_tol=0.02)
#: What makers of bridges and of virtual disks write where a serial belongs.
_UNNUMBERED = {"", "none", "n/a", "na", "unknown", "default string", "0123456789abcdef"}
_LEAST_SERIAL = 6
_NVME = r"nvme(?P<controller>\d{1,4})(?:c\d{1,4})?(?:n(?P<namespace>\d{1,4})(?:p\d{1,3})?)?"
_OTHERS = (
    r"(?P<letters>[shv]d[a-z]{1,3}|xvd[a-z]{1,2})\d{0,3}"
    r"|(?P<numbered>mmcblk\d{1,3})(?:p\d{1,3})?|(?P<bsd>(?:ada|da|nda|nvd|nvme)\d{1,3})(?:[ps]\d\w*)?"
)
#: A drive's own node, or one of its parts, as kernels call it.
NODE = rf"(?:{_NVME}|{_OTHERS})"
_NODE = re.compile(rf"(?:(?P<host>.*\S)[\s:])?(?:/dev/)?{NODE}", re.ASCII)
_WINDOWS = re.compile(
    r"(?i)(?:(?P<host>.*\S)\s)??(?:disk |physicaldrive|\\\\\.\\physicaldrive)?(\d{1,3})(?: [a-z]:)*"
)
#: "hdd" is what people call any hard disk.
_NODE_IN_NAME = re.compile(rf"(?<![a-z0-9])(?!hdd(?![a-z])){NODE}(?![a-z0-9])", re.ASCII)


class Node(NamedTuple):
    """What a machine calls a drive: `host` is empty where nothing tells the machine."""

    host: str
    kind: str
    name: str


def node_of(path: object) -> Node | None:
    """Return the drive that a node is of: ``nvme1`` of ``/dev/nvme1n1p2``; None for other names."""
    text = str(path or "").strip()
    if (match := _NODE.fullmatch(text)) is not None:
        return _node(match, match["host"] or "")
    match = _WINDOWS.fullmatch(text)
    return None if match is None else Node(match["host"] or "", "windows", match[2])


def node_in(text: str) -> Node | None:
    """Return the only drive that a file's name or a heading names; None for none, or several."""
    found = {_node(match, "") for match in _NODE_IN_NAME.finditer(text.lower().replace("_", " "))}
    return found.pop() if len(found) == 1 else None


def _node(match: re.Match[str], host: str) -> Node:
    if match["controller"] is not None:
        return Node(host, "linux", f"nvme{int(match['controller'])}")
    kind = "bsd" if match["bsd"] else "linux"
    return Node(host, kind, match["letters"] or match["numbered"] or match["bsd"])


def serial_of(text: object) -> str | None:
    """Return a serial or world-wide name; None for what is none, as where it is hidden."""
    serial = str(text or "").strip("\0 \t\r\n")
    letters = set(serial) - set(" -_.")
    is_none = serial.lower() in _UNNUMBERED or len(letters) < min(len(serial), 2)
    return None if is_none or not serial.isprintable() else serial


@dataclass(frozen=True)
class DriveIdentity:
    """What is known of which drive something is of.

    Attributes:
        node: the drive's node in its machine.
        name: any other name, which is worth something within one machine too.
        machine: what names and nodes belong to, such as a boot; they are compared where both have
            the same, or none.
        limits_c: by the names that sensors' thresholds have.
        is_simulated: whether there is no such drive but in a catalog, by its model.
    """

    serial: str | None = None
    wwid: str | None = None
    node: Node | None = None
    name: str | None = None
    machine: str | None = None
    model: str | None = None
    size_bytes: int | None = None
    limits_c: Mapping[str, float] = field(default_factory=dict)
    is_simulated: bool = False

    @classmethod
    def of(
        cls,
        drive: Mapping[str, Any],
        limits_c: Mapping[str, float] | None = None,
        machine: str | None = None,
    ) -> "DriveIdentity":
        """Return what a recording's or log's `drive` tells.

        The size of a file on a drive is not the drive's.
        """
        details = drive.get("details") or {}
        path = drive.get("path")
        return cls(
            serial=serial_of(drive.get("serial")),
            wwid=serial_of(details.get("wwid")),
            node=node_of(details.get("device") or path),
            name=str(path) if path else None,
            machine=machine,
            model=str(drive["model"]) if drive.get("model") else None,
            size_bytes=None if drive.get("kind") == "file" else drive.get("size_bytes"),
            limits_c=limits_c or {},
            is_simulated=bool(drive.get("simulated")),
        )

    def with_what(self, other: "DriveIdentity") -> "DriveIdentity":
        """Return it with what another tells of the same drive, where it tells nothing itself."""
        told = {key: getattr(self, key) or getattr(other, key) for key in self.__dataclass_fields__}
        return DriveIdentity(**told | {"limits_c": {**other.limits_c, **self.limits_c}})

    def compared(self, other: "DriveIdentity") -> Sameness:
        """Return whether both are of the same drive."""
        if self.contradicted_by(other) is not None:
            return "another"
        is_simulated = self.is_simulated and self.model == other.model
        return "same" if self._is_named_as(other) or is_simulated else "open"

    def contradicted_by(self, other: "DriveIdentity") -> tuple[str, str] | None:
        """Return what is of two drives, of the one and of the other; None if they may be one."""
        rules: dict[str, _Alike] = {"serial": eq, "wwid": eq, "model": _is_model}
        rules |= {"size_bytes": _is_size}
        rules |= {} if self._is_numbered_as(other) else dict.fromkeys(_LIMITS, _is_limit)
        mine, its = ({**vars(one), **one.limits_c} for one in (self, other))
        for key, are_alike in rules.items():
            here, there = mine.get(key), its.get(key)
            if here is not None and there is not None and not are_alike(here, there):
                return str(here), str(there)
        if self.is_simulated != other.is_simulated or self._is_named_as(other) is False:
            return self.text, other.text
        return None

    def _is_numbered_as(self, other: "DriveIdentity") -> bool:
        numbers = ((self.serial, other.serial), (self.wwid, other.wwid))
        return any(mine is not None and mine == its for mine, its in numbers)

    def _is_named_as(self, other: "DriveIdentity") -> bool | None:
        """Whether numbers, or else names, are of the same drive; None where they do not tell."""
        if self._is_numbered_as(other):
            return True
        for here, there in ((self, other), (other, self)):
            # names by what a drive is have its serial in them
            if len(here.serial or "") >= _LEAST_SERIAL and str(here.serial) in str(there.name):
                return True
        if self.machine != other.machine or None in (self.name, other.name):
            return None
        node, its = self.node, other.node
        if self.name == other.name or node is None or its is None:
            return True if self.name == other.name else None
        if len({node.host, its.host} - {""}) > 1:
            return False
        return node.name == its.name if node.kind == its.kind else None

    def is_taken_for(self, other: "DriveIdentity") -> bool:
        """Return whether both are taken as one drive, where nothing contradicts.

        Also by the model, of two without a serial, and where neither tells anything at all.
        """
        sameness = self.compared(other)
        if sameness != "open" or self.serial or other.serial:
            return sameness == "same"
        if self.model or other.model:
            return None not in (self.model, other.model) and self.size_bytes == other.size_bytes
        return self.name == other.name and self.machine == other.machine

    @property
    def text(self) -> str:
        """What it is called: by its serial, else all that is known."""
        told = [self.model, self.name or self.wwid]
        return self.serial or ", ".join(filter(None, told)) or "unnamed drive"


def _is_model(here: str, there: str) -> bool:
    """Whether two models may be one: some tools leave the maker out, or cut it off."""
    one, other = (re.sub(r"[^a-z0-9]+", "", model.lower()) for model in (here, there))
    return one in other or other in one


def numbered(told: Sequence[DriveIdentity]) -> list[int]:
    """Return a number for each, the same for those that are taken as one drive."""
    drives: list[DriveIdentity] = []
    by_serial = defaultdict[str | None, list[int]](list)
    numbers = []
    for one in told:
        near = [*by_serial[one.serial], *by_serial[None]] if one.serial else range(len(drives))
        number = next((n for n in near if one.is_taken_for(drives[n])), len(drives))
        if number == len(drives):
            by_serial[one.serial].append(number)
            drives.append(one)
        numbers.append(number)
    return numbers
