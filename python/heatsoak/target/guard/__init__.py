"""The write guard: decides whether a block device may be overwritten, and holds it if so.

This is the part of the program that may not have a bug, so it is built to err on one side only:
every question is asked of more than one witness, whatever cannot be found out counts against
writing, and the guard itself never writes a byte.

A device is given out when all of this holds:

- it is a block device and a whole disk, not made of other disks, not a part of another one, and not
  read-only (`identify`, `structure`);
- nothing is known to use it: no partitions, holders (dm, md, bcache), loop devices upon it or
  exports of the kernel's own servers (`structure`), mounts in any process's view or swap
  (`mounts`), or processes that have it open or mapped for writing (`openers`);
- it could be opened exclusively and locked, and stays so until the claim is closed: no file
  system, array or volume manager of the kernel can take it meanwhile (`hold`);
- through that very descriptor its number, size and place in the kernel's count of disks are
  those that were examined, and its serial is read again (`identify`);
- through that descriptor both ends can be read, and neither `blkid -p` nor `wipefs -n` nor our own
  look for marks sees a file system, RAID member, volume or partition table (`content`, `marks`);
- the user has named it: ``--erase`` with its serial or by-id name, or ``PATH:SIZE_BYTES`` where
  it has neither (`identify`).

An NBD export is guarded by :mod:`heatsoak.target.fio.nbd`, which asks `content` too.

What it cannot see: a machine elsewhere that uses the same disk through a network or a shared
cage, a writer without exclusive hold that hides from root, and data without any signature that
nobody holds at the time. Naming the drive is all that
protects these.
"""

from heatsoak.target.guard.doubt import run_on
from heatsoak.target.guard.hold import Claim, check, claim, why_not

__all__ = ["Claim", "check", "claim", "run_on", "why_not"]
