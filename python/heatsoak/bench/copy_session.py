"""One command's worth of copying: from where to where, and what it takes."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from heatsoak.bench.copy_again import begun_in_both, clear_both, set_aside
from heatsoak.bench.copying import Side, conduct_copy
from heatsoak.bench.directories import require_empty
from heatsoak.bench.live import make_view
from heatsoak.bench.observer import Observer
from heatsoak.bench.places import Preview, Run, preview, sensors_at, speeds_of
from heatsoak.bench.plan import Plan, Speeds, plan
from heatsoak.bench.same_run import require_same_run
from heatsoak.bench.unfinished import wait_for_sanitize
from heatsoak.errors import RefusedError, UsageError
from heatsoak.protocol import ROLES, Protocol, Role, of_side, turns
from heatsoak.recording import Recording
from heatsoak.sensor import Roots, device_behind
from heatsoak.target import Note, Place
from heatsoak.target.couple import couple
from heatsoak.target.lock import drives_held
from heatsoak.units import GB, format_bytes


class CopySession:
    """One copy of one protocol, from a source that is only read to a destination.

    Whether the destination may be written is the first thing that is looked at: a refusal for
    safety comes before any other complaint. In a directory the source is a file of our own, which
    is written before it is read; so is a simulated drive.
    """

    def __init__(
        self,
        destination: Place,
        find_source: Callable[[], Place],
        load_protocol: Callable[[], Protocol],
        *,
        erase_id: str | None = None,
        roots: Roots | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Check that both places can be used as the protocol wants; nothing is touched.

        With `tell`, a destination that sanitizes itself is waited for before it is read. What
        cannot be found or read is complained of once the destination may be written.
        """
        self.roots = roots or Roots()
        self.erase_id = erase_id
        destination.refuse_unsafe(
            writes=True,
            erase_id=erase_id,
            roots=self.roots,
            before_reading=(
                None if tell is None else partial(wait_for_sanitize, destination, tell, roots)
            ),
        )
        source = find_source()
        _refuse_same(source, destination)
        self.protocol = protocol = load_protocol()
        if not protocol.copies:
            source.refuse_unsafe(writes=protocol.writes, erase_id=erase_id, roots=self.roots)
            raise UsageError(
                f"--to {destination.text}: {protocol.name} does not copy: leave --to out, or run "
                "a protocol with a step of kind 'copy', such as the bundled 'copy'"
            )
        if source.is_simulated != destination.is_simulated:
            raise UsageError(
                f"--on {source.text} --to {destination.text}: a simulated drive and a real one "
                "have no time in common: simulate both, or neither"
            )
        self.fills = source.kind in ("simulated", "directory")
        self.places: dict[Role, Place] = {
            "source": _in_place(source),
            "destination": _in_place(destination),
        }
        self.protocols: dict[Role, Protocol] = {
            role: of_side(protocol, role, fills=self.fills) for role in ROLES
        }
        self.shared_disk = self._shared_disk()
        self._check_room()

    @property
    def all_places(self) -> list[Place]:
        """What is loaded."""
        return list(self.places.values())

    def preview(self) -> list[Preview]:
        """Return what the copy would take of the source and of the destination."""
        found = [speeds_of(self.places[role], self.roots) for role in ROLES]
        read_mb_s = min(found[0].read_mb_s, found[1].write_mb_s)

        def slowed(speeds: Speeds) -> Speeds:
            slower = "; ".join(dict.fromkeys(each.source for each in found))
            return replace(
                speeds,
                read_mb_s=min(speeds.read_mb_s, read_mb_s),
                write_mb_s=min(speeds.write_mb_s, read_mb_s),
                source=f"the slower of: {slower}" if "; " in slower else slower,
            )

        return [
            preview(
                Run(self._conditions(role), self.places[role], role),
                self.protocols[role],
                self.roots,
                slowed,
            )
            for role in ROLES
        ]

    def record(self, directory: Path, *, resume: bool = False) -> list[Recording]:
        """Copy once, and return the recordings ``source`` and ``destination`` below `directory`.

        With `resume` a copy that is whole is left as it is, and one that was cut is made again:
        what was recorded of that is kept beside `directory`.
        Raises UsageError where the directory holds something already, or something else than the
        same copy; RefusedError where another run has a drive, and what
        :func:`heatsoak.bench.conduct` raises.
        """
        title = self.protocol.title or self.protocol.name
        purpose = f"recording into {directory.absolute()}"
        with drives_held(self.places.values(), self.roots, purpose):
            begun = {}
            if resume:
                begun = begun_in_both(directory)
            else:
                require_empty(directory, ", or make it again with --resume")
            if len(begun) == len(ROLES) and all(
                recording.meta.status == "finished" for recording in begun.values()
            ):
                return [begun[role] for role in ROLES]
            whole = self._plan()
            with make_view([whole], title) as view:
                return self._record(directory, begun, view.begin_run(whole, ""))

    def _record(
        self, directory: Path, begun: Mapping[Role, Recording], observer: Observer
    ) -> list[Recording]:
        with ExitStack() as stack:
            targets = {
                role: self.places[role].target(
                    self.protocols[role],
                    erase_id=self.erase_id if role == "destination" else None,
                    roots=self.roots,
                    raw_dir=directory / role / "raw",
                )
                for role in ROLES
            }
            for role, recording in begun.items():
                protocol, target = self.protocols[role], targets[role]
                require_same_run(recording, protocol, self._conditions(role), target.identity)
            notes = {}
            for role in reversed(ROLES):  # the guard comes first
                stack.callback(targets[role].close)
                notes[role] = targets[role].open(role == "destination" or self.fills)
            again = set_aside(directory) if begun else []
            clear_both(directory)
            sides: dict[Role, Side] = {}
            for role in ROLES:
                sensors, more = stack.enter_context(
                    sensors_at(self.places[role], directory, self.roots)
                )
                sides[role] = Side(
                    self._conditions(role),
                    directory / role,
                    sensors,
                    [*again, *notes[role], *more, *self._of_one_disk()],
                )
            return conduct_copy(
                self.protocol,
                couple(targets["source"], targets["destination"]),
                sides,
                fills=self.fills,
                observer=observer,
                shared_disk=self.shared_disk,
            )

    def _plan(self) -> Plan:
        """The plan of both drives' turns, for whoever watches."""
        steps = [
            turn.copy or turn.source or turn.destination
            for turn in turns(self.protocol, fills=self.fills)
        ]
        speeds = self.preview()[0].plan.speeds
        protocol = self.protocol.model_copy(update={"steps": steps})
        return plan(protocol, max(s.amount_bytes for s in self.protocol.copies), speeds)

    def _conditions(self, role: Role) -> dict[str, str | int | float | bool]:
        conditions = dict(self.protocols[role].conditions)
        place = self.places[role]
        return {**conditions, "enclosure": place.enclosure} if place.enclosure else conditions

    def _shared_disk(self) -> str | None:
        """The disk that both places are on, where they are on one."""
        paths = [Path(place.text) for place in self.places.values()]
        if any(place.kind in ("simulated", "nbd") for place in self.places.values()):
            return None
        names = [device_behind(path, self.roots) for path in paths]
        if names[0] is not None and names[0] == names[1]:
            return names[0]
        with suppress(OSError):
            if all(place.kind != "block" for place in self.places.values()) and (
                paths[0].stat().st_dev == paths[1].stat().st_dev
            ):
                return "one file system"
        return None

    def _of_one_disk(self) -> list[Note]:
        if self.shared_disk is None:
            return []
        return [
            Note(
                "warning",
                f"source and destination share a disk ({self.shared_disk}): it reads and writes at "
                "the same time, and neither side can be told from the other by its heat",
            )
        ]

    def _check_room(self) -> None:
        """Raise UsageError where either place cannot hold what is copied."""
        largest = max(self.protocol.copies, key=lambda step: step.amount_bytes)
        wanted = largest.amount_bytes
        source, destination = (self.places[role] for role in ROLES)
        if source.kind == destination.kind == "directory":
            paths = [Path(place.text) for place in (source, destination)]
            if paths[0].stat().st_dev == paths[1].stat().st_dev:
                target = destination.target(None, roots=self.roots)
                has = target.identity.size_bytes // 2
                if has < wanted:
                    where = f"{source.text} and {destination.text}, on one file system,"
                    self._too_large(largest.name, wanted, has, where, "directories")
        for role in ROLES:
            place = self.places[role]
            has = place.size_bytes(self.protocols[role], self.roots)
            if has < wanted:
                self._too_large(largest.name, wanted, has, place.text, place.kind)

    def _too_large(self, name: str, wanted: int, has: int, where: str, kind: str) -> None:
        what = {
            "directory": f"has room for a test file of {format_bytes(has)}",
            "directories": f"have room for two test files of {format_bytes(has)} each",
        }.get(kind, f"holds {format_bytes(has)}")
        free = "; 10 % of the file system stay free" if kind.startswith("director") else ""
        fits = f"{has // GB}GB" if has >= GB else f"{has // (1 << 20)}MiB"
        raise UsageError(
            f"{where} {what}, and '{name}' copies {format_bytes(wanted)}{free}: "
            f"--set {name}.size={fits} would fit"
        )


def _refuse_same(source: Place, destination: Place) -> None:
    """A drive cannot be copied onto itself; two files on one disk can."""
    is_same = False
    if source.kind == destination.kind == "nbd":
        from heatsoak.target.fio.nbd_client import parse_uri  # Linux only

        is_same = parse_uri(source.text).key == parse_uri(destination.text).key
    if source.kind == destination.kind == "block":
        is_same = Path(source.text).stat().st_rdev == Path(destination.text).stat().st_rdev
    if is_same:
        raise RefusedError(
            f"{destination.text}: is the source itself, which a copy would overwrite: name "
            "another drive with --to"
        )


def _in_place(place: Place) -> Place:
    return place.in_enclosure(place.enclosure) if place.is_simulated else place
