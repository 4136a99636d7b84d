"""The write guard: decides whether a block device may be overwritten, and claims it if so.

This part of the program must not have bugs, so it is built to err on the safe side only: every
check uses more than one source, whatever cannot be determined counts against writing, and the guard
itself never writes a byte.

A device is claimed if all of this is true:

- it is a block device and a whole disk, not made of other disks, not part of another one, and not
  read-only (`hold`, `users`);
- nothing is known to use it: no partitions, holders (dm, md, bcache), loop devices on it or exports
  of the kernel's own servers, no mounts in any process's view, no swap, and no processes that
  have it open or mapped for writing (`users`);
- all processes of the machine can be seen, which is not so in most containers (`users`);
- it could be opened exclusively and locked, and stays so until the claim is closed: no file
  system, array or volume manager of the kernel can take it meanwhile (`hold`);
- through that descriptor, its number, size and disk sequence number are those that were examined,
  and its serial is read again (`hold`);
- through that descriptor, both ends can be read, and neither `blkid -p` nor `wipefs -n` nor our own
  search for marks finds a file system, RAID member, volume or partition table (`content`);
- nothing else is found on it either, at both ends and once in each 64 MiB, but what heatsoak's own
  last run has left (`look`), or the user has said that this may be lost;
- the user has named it: ``--erase`` with its serial or by-id name, or ``PATH:SIZE_BYTES`` if it has
  neither (`hold`).

An NBD export is guarded by :mod:`heatsoak.target.fio.nbd`, which also uses `look` and `hold`.
Before each step and each purge, whatever the target, :class:`heatsoak.target.fio.target.FioTarget`
compares what is on it with what heatsoak's last step left, and before it writes to a drive or an
export, searches for signatures of what others wrote during that step (`look`).

It cannot see another machine that uses the same disk through a network or a shared enclosure, a
writer without exclusive access that hides from root, or a little data without a signature between
the places that are looked at. Only the need to name the drive protects these.
"""

from heatsoak.target.guard.content import run_on
from heatsoak.target.guard.hold import HeldDrive, check, claim, examine, refusal

__all__ = ["HeldDrive", "check", "claim", "examine", "refusal", "run_on"]
