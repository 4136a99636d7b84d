"""What is on a drive, according to blkid, wipefs and our own search for marks.

libblkid knows most formats, and of many it asks more than their mark: ours are those that it does
not know, and the marks of what is damaged.
"""

import os
import subprocess
from collections.abc import Iterator

from heatsoak.errors import ToolError
from heatsoak.target.guard.users import Doubt
from heatsoak.tools import ran, which
from heatsoak.words import duration_text

_IMAGE = "a virtual machine's disk image"
#: The footer of a VHD, in its last 512 bytes, or 511 if made by Virtual PC before 2004:
#: Microsoft's Virtual Hard Disk Image Format Specification.
_VHD = b"conectix"
_LABEL = "a BSD disk label"
_DM = "metadata of the device mapper's {}".format
#: Offset from the start of the drive, mark, and type. The on-disk formats are documented by their
#: projects; Linux' include/uapi/linux/magic.h and raid/md_p.h, and the headers of libblkid's
#: probers have the same numbers.
_AT_START: tuple[tuple[int, bytes, str], ...] = (
    (0, b"XFSB", "xfs"),
    (4096 - 10, b"SWAPSPACE2", "swap"),
    (4096, b"\xfc\x4e\x2b\xa9", "linux_raid_member"),
    (0, b"\xfc\x4e\x2b\xa9", "linux_raid_member"),
    (0x1018, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81", "bcache"),
    (0x1018, b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef", "bcachefs"),
    (3, b"NTFS    ", "ntfs"),
    (3, b"-FVE-FS-", "BitLocker"),
    (54, b"FAT1", "vfat"),
    (82, b"FAT32   ", "vfat"),
    (6 * 512 + 82, b"FAT32   ", "vfat (its backup)"),
    (12 * 512 + 3, b"EXFAT   ", "exfat (its backup)"),
    (4096 + 0x400, b"\x10\x20\xf5\xf2", "f2fs (its second superblock)"),
    (0x8001, b"CD001", "iso9660"),
    (32, b"NXSB", "apfs"),
    (512 + 4, b"!Stra0tis\x86\xff\x02^\x41rh", "stratis"),
    (0x10000, b"ReIsEr", "reiserfs"),
    (0x8000, b"JFS1", "jfs"),
    (4096 + 4, b" LVM2 x[5A%r0N*>", "LVM2_member (its metadata)"),
    (0, b"\x11\x20\x17\x05\x32MAH", "HAMMER2"),
    (0x2000, b"marcCRAM", "a member of OpenBSD's softraid"),
    (512, b"WEV\x82", _LABEL),
    (64, b"WEV\x82", _LABEL),
    (0, b"integrit", _DM("integrity")),  # this and what follows: Linux' drivers/md/dm-*.c
    (0, b"DBZD", _DM("zoned")),
    (0, b"\x21\x93\x48\x23", _DM("writecache")),
    (0, b"rhswfsj\0", _DM("log-writes")),
    (32, (27022010).to_bytes(8, "little"), _DM("thin")),
    (32, (0o6142003).to_bytes(8, "little"), _DM("cache")),
    (32, (2126579579).to_bytes(8, "little"), _DM("era")),
    (32, (0x8AF27F64).to_bytes(8, "little"), _DM("clone")),
    (0, b"QED\0", _IMAGE),  # QEMU's docs/interop/qed_spec.txt
    (0, b"Withou", _IMAGE),  # Parallels, "WithoutFreeSpace" or "WithouFreSpacExt": prl-xml.txt
    (0, b"QFI\xfb", _IMAGE),  # qcow2: QEMU's docs/interop/qcow2.txt
    (0, b"KDMV", _IMAGE),  # VMDK, its magic number little-endian: QEMU's block/vmdk.c
    (0, b"COWD", _IMAGE),  # VMDK of older products: likewise
    (0, b"vhdxfile", _IMAGE),  # VHDX: Microsoft's [MS-VHDX], 2.2.1
    (0x10000, b"head", _IMAGE),  # and its two headers: 2.2.2
    (0x20000, b"head", _IMAGE),
    (0, _VHD, _IMAGE),  # a dynamic one has a copy of its footer at the start
    (0x40, b"\x7f\x10\xda\xbe", _IMAGE),  # VDI, 0xBEDA107F: QEMU's block/vdi.c
    (0, b"<<< ", _IMAGE),  # VDI, "<<< Oracle VM VirtualBox Disk Image >>>"; the name has changed
)
_SECTORS = (512, 4096)
_GPT = b"EFI PART"
_LVM = b"LABELONE"
_RAID = b"\xfc\x4e\x2b\xa9"
_ZFS_LABEL_BYTES = 256 << 10
_ZFS_UBERBLOCKS = 128 << 10
_ZFS = (b"\x0c\xb1\xba\x00\x00\x00\x00\x00", b"\x00\x00\x00\x00\x00\xba\xb1\x0c")
#: Windows' dynamic disks (LDM): one PRIVHEAD in sector 6, and a database of 1 MiB at the end, whose
#: sectors 1, 2, 2045 and 2046 are a TOCBLOCK, and 1856 and 2047 a PRIVHEAD: Linux'
#: block/partitions/ldm.h. With a GPT, the partition table is found. Every sector is searched, so
#: that it is also found on a drive larger than the original one, or with larger sectors.
_LDM = (b"PRIVHEAD", b"TOCBLOCK")
#: DRBD's metadata is in the last 4 KiB block, or the first of a drive of its own, its mark at
#: offset 60, or 28 in version 7.
_DRBD_MARKS = (28, 60)
_DRBD = (b"\x83\x74\x02\x67", b"\x83\x74\x02\x6b", b"\x83\x74\x02\x6c", b"\x83\x74\x02\x6d")


def marks(start: bytes, end: bytes, size_bytes: int) -> list[str]:
    """Return the types of the marks in a drive's first and last bytes, each once.

    `start` and `end` have the same length; on a drive of `size_bytes` they may overlap.
    """
    found = dict.fromkeys((*_at_start(start), *_at_end(end, size_bytes)))
    if _has_ldm(start) or _has_ldm(end):
        found["a Windows dynamic disk (LDM)"] = None
    return list(found)


def _at_start(start: bytes) -> Iterator[str]:
    for offset, mark, kind in _AT_START:
        if start.startswith(mark, offset):
            yield kind
    for sector in _SECTORS:
        if start.startswith(_GPT, sector):
            yield "a gpt partition table"
    for sector in range(0, 4 * 512, 512):  # LVM writes it to any of the first four
        if start.startswith(_LVM, sector):
            yield "LVM2_member"
    if any(start.startswith(mark, offset) for mark in _DRBD for offset in _DRBD_MARKS):
        yield "drbd"
    for label in (0, _ZFS_LABEL_BYTES):
        if _has_uberblock(start, label + _ZFS_UBERBLOCKS):
            yield "zfs_member"


def _at_end(end: bytes, size_bytes: int) -> Iterator[str]:
    starts_at = size_bytes - len(end)

    def is_at(mark: bytes, offset: int) -> bool:
        return offset >= starts_at and end.startswith(mark, offset - starts_at)

    for sector in _SECTORS:
        if is_at(_GPT, size_bytes - sector):
            yield "a gpt partition table"
        if is_at(b"GEOM::", size_bytes - sector):
            yield "a member of FreeBSD's GEOM"
        if is_at(b"NTFS    ", size_bytes - sector + 3):
            yield "ntfs (its backup)"
    if any(is_at(mark, size_bytes - 1024) for mark in (b"H+\0\4", b"HX\0\5")):
        yield "hfsplus (its backup)"
    if any(is_at(_VHD, size_bytes - footer) for footer in (512, 511)):
        yield _IMAGE
    # superblocks 0.90 and 1.0 of Linux RAID: md_p.h
    if is_at(_RAID, (size_bytes & ~0xFFFF) - 0x10000) or is_at(
        _RAID, (size_bytes // 512 - 16 & ~7) * 512
    ):
        yield "linux_raid_member"
    for number in (1, 2):
        label = (size_bytes & ~(_ZFS_LABEL_BYTES - 1)) - number * _ZFS_LABEL_BYTES
        if label >= starts_at and _has_uberblock(end, label - starts_at + _ZFS_UBERBLOCKS):
            yield "zfs_member"
    block = (size_bytes & ~0xFFF) - 4096
    if any(is_at(mark, block + offset) for mark in _DRBD for offset in _DRBD_MARKS):
        yield "drbd"


def _has_uberblock(text: bytes, start: int) -> bool:
    """Whether a ZFS label has an uberblock at one of the places, every KiB."""
    return any(
        text.startswith(mark, start + at) for at in range(0, _ZFS_UBERBLOCKS, 1024) for mark in _ZFS
    )


def _has_ldm(text: bytes) -> bool:
    return any(text.startswith(_LDM, at) for at in range(0, len(text), 512))


_END_BYTES = 1 << 20
_TABLES = {  # so that blkid's and wipefs' names are the same
    "gpt": "a gpt partition table",
    "dos": "a dos partition table",
    "PMBR": "a gpt partition table",
}


def content(fd: int, size_bytes: int) -> list[str]:
    """Return the reasons in the drive's contents, read through `fd`, not to write to it."""
    length = min(_END_BYTES, size_bytes)
    ends = []
    for offset in (0, size_bytes - length):
        try:
            ends.append(os.pread(fd, length, offset))
        except OSError as error:
            return [f"it cannot be read at byte {offset} ({error.strerror})"]
        if len(ends[-1]) != length:
            return [
                f"it cannot be read at byte {offset} ({len(ends[-1])} of {length} bytes were read)"
            ]
    kinds: dict[str, None] = {}
    doubts = []
    for look in (_blkid, _wipefs):
        try:
            kinds |= dict.fromkeys(look(fd))
        except Doubt as doubt:
            doubts.append(str(doubt))
    if not kinds:
        # both tools use libblkid: search ourselves for what it does not know or misses
        kinds |= dict.fromkeys(marks(ends[0], ends[1], size_bytes))
    if kinds:
        return [f"it holds {', '.join(kinds)} (remove it first)", *doubts]
    return doubts


def _blkid(fd: int) -> list[str]:
    """Return what libblkid's low-level probe finds (blkid(8): 0 found, 2 nothing, 8 several).

    Exit code 2 can also mean that it could not open the device: it is only trusted because both
    ends have just been read, and wipefs is run too.
    """
    code, out, err = run_tool(fd, "blkid", "-p", "-o", "export")
    if code == 2 and not out and not err:
        return []
    if code == 0:
        found = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
        table = [f"a {found['PTTYPE']} partition table"] if "PTTYPE" in found else []
        return [*table, *([found["TYPE"]] if "TYPE" in found else [])] or [
            "something blkid recognizes"
        ]
    if code == 8:
        return ["signatures that contradict each other"]
    raise Doubt(f"blkid cannot tell what is on it (exit {code}: {err or 'no message'})")


def _wipefs(fd: int) -> list[str]:
    """Return the types that wipefs lists; with -n it changes nothing."""
    code, out, err = run_tool(fd, "wipefs", "-n")
    if code != 0 or err:
        raise Doubt(f"wipefs cannot tell what is on it (exit {code}: {err or 'no message'})")
    rows = [line.split() for line in out.splitlines()]
    kinds = {row[2] for row in rows[1:] if len(row) > 2}
    if rows and not kinds:
        return ["something wipefs recognizes"]
    return [_TABLES.get(kind, kind) for kind in sorted(kinds)]


TIMEOUT_S = 30.0


def run_tool(fd: int, name: str, *options: str) -> tuple[int, str, str]:
    """Run a tool that reads the device behind `fd`; returns its exit code, output and errors.

    Raises Doubt if it is missing, cannot be run or does not end.
    """
    try:
        if (tool := which(name)) is None:
            raise Doubt(
                f"{name} is missing, so there is no way to tell what is on it (install util-linux)"
            )
        done = run_on(fd, tool, *options, timeout_s=TIMEOUT_S)
    except ToolError as error:
        raise Doubt(str(error)) from None
    except subprocess.TimeoutExpired:
        raise Doubt(f"{name} did not finish within {duration_text(TIMEOUT_S)}") from None
    except OSError as error:
        raise Doubt(f"{name} cannot be run ({error.strerror})") from None
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def run_on(
    fd: int, tool: str, *options: str, timeout_s: float | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run the program `tool` on the device behind `fd`; raises as :func:`heatsoak.tools.ran`."""
    words = [tool, *options, f"/proc/self/fd/{fd}"]
    return ran(words, timeout_s=timeout_s, keep_fds=[fd], apart=True)
