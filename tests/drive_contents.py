"""What may lie on a drive: made by the tool that makes it, or where that is missing, its marks.

Marks are at the places that the formats say, and nothing else: a guard that asks for more than the
mark before it believes would overwrite what is damaged.
"""

import random
import shutil
import sqlite3
import struct
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

from guarded import SBIN, Drive, run

Fill = Callable[[Drive], None]


def put(drive: Drive, offset: int, data: bytes) -> None:
    """Write through the node, as any program would."""
    with drive.node.open("r+b") as device:
        device.seek(offset)
        device.write(data)


def mark(offset: int, data: bytes) -> Fill:
    """Return what writes a mark, counted from the end where `offset` is negative."""

    def fill(drive: Drive) -> None:
        put(drive, offset if offset >= 0 else drive.size_bytes + offset, data)

    return fill


def made(by_hand: Fill, name: str, *options: str) -> Fill:
    """Return what runs ``name OPTIONS NODE``, where that is installed, or else `by_hand`."""

    def fill(drive: Drive) -> None:
        if shutil.which(name, path=SBIN) is None:
            by_hand(drive)
        else:
            run(name, *options, drive.node)

    return fill


def ext4(drive: Drive) -> None:
    run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", drive.node)


def mbr_of_one_partition() -> bytes:
    """A sector with a table of one partition, of 8 MiB from 1 MiB on."""
    entry = bytes((0, 0, 2, 0, 0x83, 0, 0, 0)) + struct.pack("<II", 2048, 16384)
    return bytes(446) + entry.ljust(64, b"\0") + b"\x55\xaa"


def swap(drive: Drive) -> None:
    run("mkswap", drive.node)


def partitioned(label: str, parts: str = ",,") -> Fill:
    """Return what writes a partition table by sfdisk."""

    def fill(drive: Drive) -> None:
        text = f"label: {label}\n{parts}\n"
        run("sfdisk", "--no-reread", "--no-tell-kernel", drive.node, text=text)

    return fill


gpt = partitioned("gpt")


def gpt_of_which_only_the_backup_is_left(drive: Drive) -> None:
    gpt(drive)
    put(drive, 0, bytes(34 * 512))


def gpt_of_which_only_the_protective_mbr_is_left(drive: Drive) -> None:
    gpt(drive)
    put(drive, 512, bytes(33 * 512))
    put(drive, drive.size_bytes - 33 * 512, bytes(33 * 512))


def gpt_whose_sums_are_wrong(drive: Drive) -> None:
    gpt(drive)
    put(drive, 0, bytes(512))
    for header in (512, drive.size_bytes - 512):
        put(drive, header + 16, b"\xff\xff\xff\xff")


def two_that_contradict(drive: Drive) -> None:
    ext4(drive)
    luks(drive)


luks = mark(0, b"LUKS\xba\xbe" + struct.pack(">H", 1))
luks_told_by_its_second_header = mark(0x4000, b"SKUL\xba\xbe" + struct.pack(">H", 2))


def luks2(drive: Drive) -> None:
    if shutil.which("cryptsetup", path=SBIN) is None:
        put(drive, 0, b"LUKS\xba\xbe" + struct.pack(">H", 2))
        return
    options = ("--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000", "--batch-mode")
    run("cryptsetup", "luksFormat", "--type", "luks2", *options, drive.node, text="secret\n")


def raid_1_2(drive: Drive) -> None:
    """Linux RAID, superblock version 1.2: 4 KiB in, its own place in it, and a sum of its words."""
    block = bytearray(256)
    struct.pack_into("<II", block, 0, 0xA92B4EFC, 1)
    struct.pack_into("<Q", block, 144, 8)
    total = sum(struct.unpack("<64I", block))
    struct.pack_into("<I", block, 216, (total & 0xFFFFFFFF) + (total >> 32) & 0xFFFFFFFF)
    put(drive, 4096, bytes(block))


def raid_0_90(drive: Drive) -> None:
    """Linux RAID, superblock version 0.90, in the last whole 64 KiB but one."""
    put(drive, drive.size_bytes // 65536 * 65536 - 65536, struct.pack("<III", 0xA92B4EFC, 0, 90))


def raid_1_0(drive: Drive) -> None:
    """Linux RAID, superblock version 1.0: 8 KiB before the end, at a multiple of 4 KiB."""
    put(drive, (drive.size_bytes // 512 - 16 & ~7) * 512, struct.pack("<II", 0xA92B4EFC, 1))


def lvm(drive: Drive) -> None:
    """A label of an LVM physical volume; its checksum is a CRC-32 seeded by LVM itself."""
    label = bytearray(512)
    label[0:8] = b"LABELONE"
    struct.pack_into("<Q", label, 8, 1)
    struct.pack_into("<I", label, 20, 32)
    label[24:32] = b"LVM2 001"
    label[32:64] = b"a" * 32
    crc = 0xF597A6CF
    for byte in label[20:]:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
    struct.pack_into("<I", label, 16, crc)
    put(drive, 512, bytes(label))


def zfs(drive: Drive) -> None:
    """A ZFS label: uberblocks of 1 KiB in the second half of 256 KiB; libblkid wants four."""
    for number in range(4, 10):
        put(drive, (128 << 10) + 1024 * number, struct.pack("<QQ", 0x00BAB10C, 5000))


def zfs_told_by_its_last_label(drive: Drive) -> None:
    label = (drive.size_bytes & ~(256 * 1024 - 1)) - 256 * 1024
    put(drive, label + (128 << 10) + 1024, struct.pack(">QQ", 0x00BAB10C, 5000))


def bcache(drive: Drive) -> None:
    if shutil.which("make-bcache", path=SBIN) is not None:
        run("make-bcache", "-B", drive.node)
        return
    put(drive, 0x1018, bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81"))


def fat_by_hand(drive: Drive) -> None:
    sector = bytearray(512)
    struct.pack_into(
        "<3s8sHBHBHHB", sector, 0, b"\xeb\x3c\x90", b"mkfs.fat", 512, 4, 1, 2, 512, 0, 248
    )
    struct.pack_into("<H", sector, 22, 128)
    struct.pack_into("<I", sector, 32, drive.size_bytes // 512)
    sector[38] = 0x29
    sector[54:62] = b"FAT16   "
    sector[510:512] = b"\x55\xaa"
    put(drive, 0, bytes(sector))


def image_of(name: str, by_hand: Fill, *options: str) -> Fill:
    """Return what lays down an image that a tool packs of a directory, or its mark."""

    def fill(drive: Drive) -> None:
        tool = shutil.which(name, path=SBIN)
        if tool is None:
            by_hand(drive)
            return
        out = Path(f"{drive.image}.packed")
        source = drive.image.parent / "packed"
        source.mkdir(exist_ok=True)
        (source / "file").write_text("content")
        words = [
            str(out) if word == "OUT" else str(source) if word == "DIR" else word
            for word in options
        ]
        subprocess.run([tool, *words], check=True, capture_output=True, timeout=200)
        put(drive, 0, out.read_bytes())

    return fill


def drbd(drive: Drive) -> None:
    """DRBD's own data in the last 4 KiB, its mark (version 8.4) after 60 bytes."""
    put(drive, (drive.size_bytes & ~4095) - 4096 + 60, struct.pack(">I", 0x8374026B))


#: What lies on the drive, and a word that the refusal has to say.
CONTENTS: dict[str, tuple[Fill, str]] = {
    "ext4": (ext4, "ext4"),
    "xfs": (made(mark(0, b"XFSB"), "mkfs.xfs", "-q", "-f", "--unsupported"), "xfs"),
    "btrfs": (made(mark(0x10040, b"_BHRfS_M"), "mkfs.btrfs", "-q", "-f", "-M"), "btrfs"),
    "f2fs": (made(mark(0x400, b"\x10\x20\xf5\xf2"), "mkfs.f2fs", "-q"), "f2fs"),
    "minix": (made(mark(0x410, b"\x8f\x13"), "mkfs.minix"), "minix"),
    "exfat": (made(mark(3, b"EXFAT   "), "mkfs.exfat"), "exfat"),
    "ntfs": (made(mark(3, b"NTFS    "), "mkfs.ntfs", "-q", "-Q", "-F"), "ntfs"),
    "vfat": (made(fat_by_hand, "mkfs.vfat"), "vfat"),
    "apfs": (mark(32, b"NXSB"), "apfs"),
    "ReFS": (mark(3, b"ReFS\0\0\0\0"), "refs"),
    "BitLocker": (mark(3, b"-FVE-FS-"), "bitlocker"),
    "iso9660": (
        image_of("genisoimage", mark(0x8001, b"CD001"), "-quiet", "-o", "OUT", "DIR"),
        "iso9660",
    ),
    "squashfs": (image_of("mksquashfs", mark(0, b"hsqs"), "DIR", "OUT", "-quiet"), "squashfs"),
    "erofs": (image_of("mkfs.erofs", mark(0x400, b"\xe2\xe1\xf5\xe0"), "OUT", "DIR"), "erofs"),
    "swap": (swap, "swap"),
    "a suspended system": (mark(4096 - 10, b"S1SUSPEND"), "s"),
    "GPT": (gpt, "gpt"),
    "GPT without partitions": (partitioned("gpt", ""), "gpt"),
    "GPT, only its backup": (gpt_of_which_only_the_backup_is_left, "gpt"),
    "GPT, only its protective MBR": (gpt_of_which_only_the_protective_mbr_is_left, "partition"),
    "GPT, its sums wrong": (gpt_whose_sums_are_wrong, "gpt"),
    "MBR": (partitioned("dos"), "dos"),
    "Sun disk label": (partitioned("sun"), "sun"),
    "SGI disk label": (partitioned("sgi"), "sgi"),
    "LUKS1": (luks, "luks"),
    "LUKS2": (luks2, "luks"),
    "LUKS2, only its second header": (luks_told_by_its_second_header, "luks"),
    "LVM PV": (lvm, "lvm2"),
    "mdraid 0.90": (raid_0_90, "raid"),
    "mdraid 1.0": (raid_1_0, "raid"),
    "mdraid 1.1": (mark(0, struct.pack("<II", 0xA92B4EFC, 1)), "raid"),
    "mdraid 1.2": (raid_1_2, "raid"),
    "ZFS": (zfs, "zfs"),
    "ZFS, only its last label": (zfs_told_by_its_last_label, "zfs"),
    "bcache": (bcache, "bcache"),
    "bcachefs": (mark(0x1018, bytes.fromhex("c68573f666ce90a9d96a60cf803df7ef")), "bcache"),
    "DRBD": (drbd, "drbd"),
    "Ceph": (mark(0, b"bluestore block device\n"), "ceph"),
    "Oracle ASM": (mark(32, b"ORCLDISK"), "oracleasm"),
    "VDO": (mark(0, b"dmvdo001"), "vdo"),
    "Stratis": (mark(512 + 4, b"!Stra0tis\x86\xff\x02^\x41rh"), "stratis"),
    "an image of qemu's": (mark(0, b"QFI\xfb"), "image"),
    "an image of VMware's": (mark(0, b"KDMV"), "image"),
    "VHDX": (mark(0, b"vhdxfile"), "image"),
    "VHDX, only its second header": (mark(0x20000, b"head"), "image"),
    "VHD of fixed size": (mark(-512, b"conectix"), "image"),
    "VHD of fixed size, its footer a byte short": (mark(-511, b"conectix"), "image"),
    "VHD that grows": (mark(0, b"conectix"), "image"),
    "VDI": (mark(0x40, struct.pack("<I", 0xBEDA107F)), "image"),
    "VDI, only its text": (mark(0, b"<<< Oracle VM VirtualBox Disk Image >>>\n"), "image"),
    "Windows LDM": (mark(6 * 512, b"PRIVHEAD"), "dynamic disk"),
    "Windows LDM, only its database": (mark(-2046 * 512, b"TOCBLOCK"), "dynamic disk"),
    "Windows LDM, only its last header": (mark(-512, b"PRIVHEAD"), "dynamic disk"),
    "ext4 and LUKS at once": (two_that_contradict, "holds"),
}


def by_chance(share: float = 1.0) -> Fill:
    """Return what fills a drive's first part with random bytes, as a cipher leaves it."""
    return lambda drive: put(drive, 0, random.Random(1).randbytes(int(drive.size_bytes * share)))


def ext4_without_its_first_mib(drive: Drive) -> None:
    ext4(drive)
    put(drive, 0, bytes(1 << 20))


def all_of(data: bytes) -> Fill:
    """Return what writes a pattern over the whole drive."""
    return lambda drive: put(drive, 0, data * (drive.size_bytes // len(data)))


def tar(drive: Drive) -> None:
    with tarfile.open(drive.node, "w|") as archive:
        archive.add(__file__, "notes.py")


def sqlite(drive: Drive) -> None:
    path = drive.image.with_suffix(".sqlite")
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as made:
        made.execute("create table notes (text)")
    made.close()
    put(drive, 0, path.read_bytes())


def numbers(size: int, *values: int) -> bytes:
    return b"".join(value.to_bytes(size, "little") for value in values)


#: Marks that no tool of util-linux knows, and what the refusal calls them.
NAMED = {
    **{
        f"FreeBSD's {kind}": (mark(-512, b"GEOM::" + kind.encode()), "geom")
        for kind in ("ELI", "MIRROR", "LABEL", "RAID3", "STRIPE", "CONCAT", "JOURNAL", "VINUM")
    },
    **{
        f"dm-{kind}": (mark(32, numbers(8, magic)), f"device mapper's {kind}")
        for kind, magic in {
            "thin": 27022010,
            "cache": 0o6142003,
            "era": 2126579579,
            "clone": 0x8AF27F64,
        }.items()
    },
    "dm-zoned": (mark(0, numbers(4, 0x445A4244)), "device mapper's zoned"),
    "dm-writecache": (mark(0, numbers(4, 0x23489321)), "device mapper's writecache"),
    "dm-log-writes": (mark(0, numbers(8, 0x6A736677736872)), "device mapper's log-writes"),
    "dm-integrity": (mark(0, b"integrit"), "integrity"),
    "OpenBSD's softraid": (mark(8192, b"marcCRAM"), "softraid"),
    "OpenBSD's disk label": (mark(512, numbers(4, 0x82564557)), "bsd disk label"),
    "a disk label in the first sector": (mark(64, numbers(4, 0x82564557)), "bsd disk label"),
    "HAMMER2": (mark(0, numbers(8, 0x48414D3205172011)), "hammer2"),
    "DRBD's external metadata": (mark(60, struct.pack(">I", 0x8374026D)), "drbd"),
    "an LVM metadata area alone": (mark(4100, b" LVM2 x[5A%r0N*>"), "lvm2"),
    "a QED image": (mark(0, b"QED\0"), "image"),
    "a Parallels image": (mark(0, b"WithoutFreeSpace"), "image"),
    "a larger Parallels image": (mark(0, b"WithouFreSpacExt"), "image"),
    "NTFS, only its backup": (mark(-509, b"NTFS    "), "ntfs"),
    "exFAT, only its backup": (mark(12 * 512 + 3, b"EXFAT   "), "exfat"),
    "FAT32, only its backup": (mark(6 * 512 + 82, b"FAT32   "), "vfat"),
    "f2fs, only its second superblock": (mark(5120, b"\x10\x20\xf5\xf2"), "f2fs"),
    "HFS+, only its second header": (mark(-1024, b"H+\0\4"), "hfsplus"),
    "HFSX, only its second header": (mark(-1024, b"HX\0\5"), "hfsplus"),
}
#: What begins like this has no mark of a drive's: its first bytes, or what writes more of it.
_BEGINS = {
    "InnoDB": bytes(4) + numbers(4, 0) + b"\xff" * 8 + bytes(8) + b"\0\x08",
    "MS SQL": b"\x01\x0f\0\0\x08\0\0\0",
    "PostgreSQL": numbers(2, 0, 0, 1, 1, 0, 0, 24, 8192, 8192, 0x2004),
    "Oracle's data file": b"\0\xa2\0\0",
    "LMDB": bytes(16) + numbers(4, 0xBEEFC0DE),
    "Berkeley DB": bytes(12) + numbers(4, 0x53162),
    "Redis": b"REDIS0011",
    "gzip": b"\x1f\x8b\x08",
    "bzip2": b"BZh91AY&SY",
    "xz": b"\xfd7zXZ\0",
    "zstd": b"\x28\xb5\x2f\xfd",
    "lz4": b"\x04\x22\x4d\x18",
    "zip": b"PK\3\4",
    "7z": b"7z\xbc\xaf\x27\x1c",
    "RAR": b"Rar!\x1a\7",
    "cpio": b"070701",
    "ar": b"!<arch>\n",
    "dump": bytes(24) + numbers(4, 60012),
    "Git's pack": b"PACK\0\0\0\2",
    "borg": b"BORG_SEG",
    "PDF": b"%PDF-1.7",
    "PNG": b"\x89PNG\r\n",
    "JPEG": b"\xff\xd8\xff\xe0",
    "TIFF": b"II*\0",
    "MP4": b"\0\0\0\x18ftypmp42",
    "Matroska": b"\x1a\x45\xdf\xa3",
    "MPEG": b"\0\0\1\xba",
    "AVI": b"RIFF\0\0\0\0AVI ",
    "Ogg": b"OggS",
    "FLAC": b"fLaC",
    "MP3": b"ID3\4",
    "ELF": b"\x7fELF\2\1\1",
    "a program of Windows'": b"MZ\x90\0",
    "a U-Boot image": b"\x27\x05\x19\x56",
    "Android's boot image": b"ANDROID!",
    "a capture": numbers(4, 0xA1B2C3D4),
    "HDF5": b"\x89HDF\r\n\x1a\n",
    "Parquet": b"PAR1",
    "NumPy": b"\x93NUMPY\1\0",
    "mbox": b"From ann Thu Jan  1 00:00:00 1970\n",
    "JSON": b'{"notes": []}',
    "XML": b"<?xml version='1.0'?>",
    "text": b"what somebody wrote\n" * 1000,
    "UTF-16": "what somebody wrote".encode("utf-16"),
    "a key": b"-----BEGIN PRIVATE KEY-----\n",
    "CSV": b"name;born\nAnn;1970\n",
}
#: What no signature tells, so that only whoever says that it is not empty may overwrite it.
UNNAMED: dict[str, Fill] = {
    **{name: mark(0, data) for name, data in _BEGINS.items()},
    "tar": tar,
    "SQLite": sqlite,
    "random data": by_chance(),
    "random data in a half": by_chance(0.5),
    "ext4 without its first MiB": ext4_without_its_first_mib,
    "btrfs, only its second superblock": mark(64 << 20, numbers(8, 0, 0) + b"tree"),
    "ext4, only a backup superblock": mark(32768 * 4096 + 56, b"\x53\xef"),
    "one byte at the start": mark(0, b"\1"),
    "one byte at the end": mark(-1, b"\1"),
    "one byte in the fourth MiB": mark((4 << 20) - 7, b"\1"),
    "photos in the middle": mark(100 << 20, random.Random(2).randbytes(1 << 20)),
    "a pattern of two bytes": all_of(b"\x55\xaa" * 2048),
    "numbered sectors": all_of(b"".join(bytes([n]) * 4096 for n in range(256))),
    "half FFh and half 5Ah": all_of(b"\xff" * 4096 + b"\x5a" * 4096),
    "text after a hole": mark(2 << 20, b"what somebody wrote"),
}
