"""What may lie on a drive: made by the tool that makes it, or where that is missing, its marks.

Marks are at the places that the formats say, and nothing else: a guard that asks for more than the
mark before it believes would overwrite what is damaged.
"""

import shutil
import struct
import subprocess
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
