"""Chooses a purge method, runs it, and checks the result."""

import time
from collections.abc import Generator, Iterator

from heatsoak.errors import HeatsoakError, RefusedError, ToolError, UsageError
from heatsoak.protocol import PurgeMethod
from heatsoak.sensor.nvme_admin import Ioctl
from heatsoak.target.base import Batch, Note
from heatsoak.target.guard import Claim
from heatsoak.target.purge import ata, discard, namespaces, nvme_format, nvme_sanitize, samples
from heatsoak.target.purge.way import NotTakenError, Way

#: The order of ``auto``. A format takes seconds, forgets everything and only affects this
#: namespace; a sanitize is as thorough, but affects the whole drive and can take long; a discard is
#: only a hint to the drive. ATA secure erase can leave a drive locked: never chosen automatically.
_AUTO: tuple[PurgeMethod, ...] = ("format", "sanitize", "discard")


def purge(
    claim: Claim, method: PurgeMethod = "auto", ioctl: Ioctl | None = None
) -> Iterator[Batch]:
    """Purge the claimed drive, and read samples of it before and after.

    The last note says how it was done, with `method`, `duration_s` and the result of the samples in
    its data; it is a warning if the drive was not purged. With ``auto``, if the drive rejects a
    method, the next one is tried. Raises RefusedError if the claim is no longer valid, UsageError
    if the drive does not support `method`, ToolError if it fails.
    """
    _check(claim)
    before = samples.take_samples(claim)
    declined: list[str] = []
    for way in _chosen(claim, method, ioctl):
        start_s = time.monotonic()
        try:
            _check(claim)
            said = yield from way.run(claim)
        except NotTakenError as error:
            if method != "auto":
                raise ToolError(f"{claim.path}: was not purged: {error}") from error
            declined.append(f"{way.method}: {error}")
            continue
        duration_s = time.monotonic() - start_s
        _check(claim)
        yield _result(
            claim,
            way,
            said,
            duration_s,
            samples.compare_samples(before, samples.take_samples(claim)),
        )
        return
    yield Note(
        "warning",
        f"{claim.path}: was not purged: what it held still takes up its spare area "
        f"({'; '.join(declined)})",
    )


def require(claim: Claim, method: PurgeMethod, ioctl: Ioctl | None = None) -> None:
    """Raise UsageError if the claimed drive does not support `method`; changes nothing."""
    _check(claim)
    _chosen(claim, method, ioctl)


def _check(claim: Claim) -> None:
    if claim.fd < 0:
        raise RefusedError(f"{claim.path}: is no longer claimed and cannot be purged")
    claim.recheck()


def _chosen(claim: Claim, method: PurgeMethod, ioctl: Ioctl | None) -> list[Way]:
    """Return the methods to try, in order."""
    ways = _ways(claim, ioctl)
    if method == "auto":
        return [ways[name] for name in _AUTO if ways[name].why_not is None] or [ways["discard"]]
    if (why_not := ways[method].why_not) is not None:
        offered = [name for name, way in ways.items() if way.why_not is None]
        instead = f" (it supports {', '.join(offered)})" if offered else ""
        raise UsageError(f"{claim.path}: cannot be purged by method '{method}': {why_not}{instead}")
    return [ways[method]]


def _ways(claim: Claim, ioctl: Ioctl | None) -> dict[PurgeMethod, Way]:
    return {
        way.method: way for way in (discard.way(claim), *_of_nvme(claim, ioctl), ata.way(claim))
    }


def _of_nvme(claim: Claim, ioctl: Ioctl | None) -> tuple[Way, Way]:
    if claim.info.transport != "nvme":
        why_not = f"it only works on NVMe drives, but this is on {claim.info.transport}"
    else:
        try:
            namespace = namespaces.look(claim.fd, ioctl)
        except (OSError, HeatsoakError) as error:
            why_not = f"the drive's features cannot be read ({error})"
        else:
            return nvme_format.way(namespace, ioctl), nvme_sanitize.way(namespace, ioctl)
    return Way("format", why_not, _never), Way("sanitize", why_not, _never)


def _never(claim: Claim) -> Generator[Batch, None, str]:
    raise NotTakenError(f"{claim.path}: does not support it")


def _result(
    claim: Claim, way: Way, said: str, duration_s: float, found: samples.PurgeEvidence
) -> Note:
    data = {
        "method": way.method,
        "duration_s": round(duration_s, 3),
        "samples": found.pieces,
        "samples_held_data": found.held_data,
        "samples_kept": found.kept,
        "samples_zeros": found.zeros,
    }
    if found.kept:
        text = f"{claim.path}: {said}, but {found.describe()}: it was not purged, or not completely"
        return Note("warning", text, data)
    return Note("info", f"{claim.path}: {said}; {found.describe()}", data)
