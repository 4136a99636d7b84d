"""Plans a copy: what it needs of its two places, and what it would take of them."""

import math
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from heatsoak import words
from heatsoak.bench import plan
from heatsoak.bench.places import plan_of
from heatsoak.catalog import load_enclosure
from heatsoak.errors import RefusedError, UsageError
from heatsoak.protocol import (
    FILL,
    ROLES,
    Copy,
    Pause,
    Precondition,
    Protocol,
    Purge,
    Role,
    SingleStep,
    Step,
    scaled,
)
from heatsoak.protocol.source import MIN_RUNTIME_S
from heatsoak.recording import CopyPart
from heatsoak.sensor import Roots, device_behind
from heatsoak.target import Note, Place
from heatsoak.units import GB, Size

#: Sources that are written first: files of heatsoak's own, and simulated drives.
_FILLED = ("simulated", "directory")
#: Nobody should wait longer than this for a copy that says nothing.
_LONG_REST_S = 60.0


def plan_copy(
    destination: Place,
    find_source: Callable[[], Place],
    load_protocol: Callable[[], Protocol],
    *,
    erase_id: str | None,
    before_reading: Callable[[], None] | None,
    warn: Callable[[str], None],
) -> tuple[Protocol, plan.PlannedRun]:
    """Check that a copy can be made, and return its protocol and run; nothing is touched.

    Whether the destination may be written is the first thing that is checked: a refusal for safety
    comes before any other complaint. In a directory the source is a file of heatsoak's own, which
    is written before it is read; so is a simulated drive.
    """
    roots = Roots()
    destination.refuse_unsafe(
        writes=True, erase_id=erase_id, roots=roots, before_reading=before_reading, warn=warn
    )
    source = find_source()
    _refuse_same(source, destination)
    protocol = load_protocol()
    if not protocol.copies:
        source.refuse_unsafe(writes=protocol.writes, erase_id=erase_id, roots=roots)
        raise UsageError(
            f"--to {destination.text}: {protocol.name} does not copy: leave --to out, or run "
            "a protocol with a step of kind 'copy', such as the bundled 'copy'"
        )
    if source.is_simulated != destination.is_simulated:
        raise UsageError(
            f"--on {source.text} --to {destination.text}: a simulated drive and a real one "
            "have no clock in common: simulate both, or neither"
        )
    wanted = largest_copy(protocol).amount_bytes
    protocol = _fitting(protocol, source, destination, roots)
    copy = largest_copy(protocol)
    if copy.amount_bytes < wanted:
        less, all_of_it = words.size_text(copy.amount_bytes), words.size_text(wanted)
        warn(f"'{copy.name}' copies {less} instead of {all_of_it}: that is what there is room for")
    shared_disk = _shared_disk(source, destination, roots)
    run = plan.PlannedRun(
        "copy",
        _sides(protocol, source, destination, erase_id, shared_disk),
        tuple(turns_of_copy(protocol, fills=source.kind in _FILLED)),
    )
    planned = plan_of(run, roots).steps
    copy_s = max(one.duration_s for one in planned if one.step.needs_two_drives)
    rest_s = sum(one.duration_s for one in planned if not one.step.loads)
    if copy_s < MIN_RUNTIME_S and rest_s > _LONG_REST_S and copy.amount_bytes == wanted:
        short = (
            f"'{copy.name}' copies {words.size_text(wanted)}, which may take no more than "
            f"{words.amount_text(copy_s, 's', 2)} after a rest of {words.duration_text(rest_s)}: "
            f"too short to be judged; --set {copy.name}.size=100GB copies more"
        )
        if source.is_simulated:
            raise UsageError(short)
        warn(short)  # a real drive may be slower than any is taken to be
    return protocol, run


def _sides(
    protocol: Protocol,
    source: Place,
    destination: Place,
    erase_id: str | None,
    shared_disk: str | None,
) -> tuple[plan.DrivePart, plan.DrivePart]:
    """Return what each drive does: the source, then the destination."""
    copy_id, fills = uuid4().hex, source.kind in _FILLED
    notes: tuple[Note, ...] = ()
    if shared_disk is not None:
        text = (
            f"source and destination share a disk ({shared_disk}): it reads and writes at the "
            "same time, so the heat of one side cannot be told from that of the other"
        )
        notes = (Note("warning", text),)

    def side(place: Place, role: Role, partner: Role) -> plan.DrivePart:
        place = place.in_enclosure(place.enclosure) if place.is_simulated else place
        own = of_side(protocol, role, fills=fills)
        surroundings = load_enclosure(place.enclosure).labels if place.enclosure else {}
        return plan.DrivePart(
            place,
            own,
            {**surroundings, **own.conditions},
            writes=fills or role == "destination",
            erase_id=erase_id if role == "destination" else None,
            part_of_copy=CopyPart(
                id=copy_id, role=role, partner=f"../{partner}", shared_disk=shared_disk
            ),
            notes=notes,
        )

    return side(source, *ROLES), side(destination, *reversed(ROLES))


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


def _shared_disk(source: Place, destination: Place, roots: Roots) -> str | None:
    """The disk that both places are on, where they are on one."""
    places = (source, destination)
    if any(place.kind in ("simulated", "nbd") for place in places):
        return None
    paths = [Path(place.text) for place in places]
    names = [device_behind(path, roots) for path in paths]
    if names[0] is not None and names[0] == names[1]:
        return names[0]
    with suppress(OSError):
        if all(place.kind != "block" for place in places) and (
            paths[0].stat().st_dev == paths[1].stat().st_dev
        ):
            return "one file system"
    return None


def _fitting(protocol: Protocol, source: Place, destination: Place, roots: Roots) -> Protocol:
    """Return a protocol that copies no more than both places can hold.

    Where it says at most how much is copied, that shrinks, and rests with it. Raises UsageError
    where it says how much, or next to nothing would be left.
    """
    places = (source, destination)
    room = [place.size_bytes(None, roots) for place in places]
    if source.kind == destination.kind == "directory" and (
        Path(source.text).stat().st_dev == Path(destination.text).stat().st_dev
    ):
        room = [room[0] // 2]
    largest = largest_copy(protocol)
    if min(room) >= largest.amount_bytes:
        return protocol
    # to one digit: --resume finds the same copy although a little of the room has gone meanwhile
    share = max(min(room), 1) / largest.amount_bytes
    digit = 10.0 ** math.floor(math.log10(share))
    fitting = scaled(protocol, math.floor(share / digit) * digit)
    if largest.size_bytes is None and min(room) >= largest_copy(fitting).amount_bytes:
        return fitting
    where = " and ".join(dict.fromkeys(place.text for place in places))
    fits = f"{min(room) // GB}GB" if min(room) >= GB else f"{min(room) // (1 << 20)}MiB"
    raise UsageError(
        f"{where}: there is room to copy {words.size_text(min(room))} (10 % of a file system is "
        f"kept free), and '{largest.name}' copies {words.size_text(largest.amount_bytes)}: --set "
        f"{largest.name}.size={fits} would fit"
    )


def turns_of_copy(protocol: Protocol, *, fills: bool) -> list[plan.Turn]:
    """Return the steps of a protocol that copies, for the source and the destination, in order.

    With `fills` the source is first written as far as it is read later. Whatever else is neither a
    copy nor a pause belongs to the destination: the source of a copy is only read.
    """
    both: list[tuple[Step, tuple[SingleStep | None, SingleStep | None]]] = []
    if fills:
        fill = {"kind": "precondition", "name": FILL, "rw": "write", "bs": 1 << 20, "iodepth": 8}
        size = largest_copy(protocol).amount_bytes
        first = Precondition.model_validate({**fill, "size": size})
        both.append((first, (first, None)))
    for step in protocol.steps:
        match step:
            case Copy():
                both.append((step, step.halves()))
            case Pause():
                both.append((step, (step, step)))
            case Purge() | Precondition():
                both.append((step, (None, step)))
    return [plan.Turn(index, step, parts) for index, (step, parts) in enumerate(both)]


def of_side(protocol: Protocol, role: Role, *, fills: bool) -> Protocol:
    """Return the protocol that one of a copy's drives runs, and that its recording has."""
    number = ROLES.index(role)
    parts = [turn.parts[number] for turn in turns_of_copy(protocol, fills=fills)]
    largest_bytes = largest_copy(protocol).amount_bytes
    return protocol.model_copy(
        update={
            "steps": [step for step in parts if step is not None],
            "conditions": {**protocol.conditions, "role": role},
            "file_size": Size(bytes=-(-largest_bytes // (1 << 20)) * (1 << 20)),
        }
    )


def largest_copy(protocol: Protocol) -> Copy:
    """Return the step that copies the most."""
    return max(protocol.copies, key=lambda step: step.amount_bytes)
