"""An NVMe controller in a few lines: it answers admin commands, and purges the file behind it."""

import ctypes
import errno
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from heatsoak.sensor import Roots, nvme_admin
from heatsoak.target.hctm import NvmeController

INVALID_OPCODE, INVALID_FIELD = 0x4001, 0x4002
GET_LOG, IDENTIFY, SET_FEATURES, GET_FEATURES, FORMAT, SANITIZE = 0x02, 0x06, 0x09, 0x0A, 0x80, 0x84
HCTM = 0x10


@dataclass
class Controller:
    """What the drive offers, and what has been done to it.

    Attributes:
        image: what its only namespace holds; a purge fills it with zeros.
        others: further namespaces.
        forgets: whether a purge does anything.
        declines: opcodes that it answers with a status code.
        polls: how many looks at the sanitize log find it running.
        started: set once a format has begun, which then waits for `may_end`.
        done: opcodes that changed something, in order.
    """

    image: Path | None = None
    formats: bool = True
    formats_all: bool = False
    sanitizes: int = 0b010
    others: tuple[int, ...] = ()
    forgets: bool = True
    declines: dict[int, int] = field(default_factory=dict)
    polls: int = 2
    sanitize_status: int = 1
    hctm: tuple[int, int] | None = None
    tmt: tuple[int, int] = (0, 0)
    done: list[int] = field(default_factory=list)
    format_dword: int | None = None
    started: threading.Event = field(default_factory=threading.Event)
    may_end: threading.Event | None = None
    _running: int = 0
    _sanitized: bool = False

    def ioctl(self, _fd: int, request: int, command: bytearray) -> int:
        """Do as the kernel does with NVME_IOCTL_ID and NVME_IOCTL_ADMIN_CMD."""
        if request == 0x4E40:
            return 1
        assert request == 0xC0484E41
        opcode = command[0]
        (nsid,) = struct.unpack_from("<I", command, 4)
        address, length = struct.unpack_from("<Q", command, 24)[0], self._u32(command, 36)
        cdw10, cdw11 = self._u32(command, 40), self._u32(command, 44)
        if opcode in self.declines:
            return self.declines[opcode]
        match opcode:
            case 0x06:
                ctypes.memmove(address, self._identify(cdw10, nsid), length)
            case 0x02:
                if cdw10 & 0xFF != 0x81:
                    return INVALID_FIELD
                ctypes.memmove(address, self._sanitize_log(), length)
            case 0x0A:
                return self._get_feature(command, cdw10)
            case 0x09:
                return self._set_feature(cdw10, cdw11)
            case 0x80:
                self._format(cdw10)
            case 0x84:
                self.begin_sanitize()
            case _:
                return INVALID_OPCODE
        return 0

    @staticmethod
    def _u32(command: bytearray, at: int) -> int:
        return int.from_bytes(command[at : at + 4], "little")

    def _identify(self, structure: int, nsid: int) -> bytes:
        page = bytearray(4096)
        match structure:
            case 0x01:
                struct.pack_into("<H", page, 256, 1 << 3 | self.formats << 1)
                page[524] = self.formats_all
                struct.pack_into("<I", page, 328, self.sanitizes)
                if self.hctm is not None:
                    struct.pack_into("<HHH", page, 322, 1, *self.hctm)
            case 0x00:
                assert nsid == 1
                struct.pack_into("<Q", page, 0, 1 << 16)
                page[26], page[29] = 0x31, 0x09  # format 17 with metadata inline, protection 1
            case 0x10:
                listed = sorted((1, *self.others))
                struct.pack_into(f"<{len(listed)}I", page, 0, *listed)
            case _:
                raise AssertionError(f"CNS {structure:#x} is not asked for")
        return bytes(page)

    def _forget(self, opcode: int) -> None:
        self.done.append(opcode)
        if self.forgets and self.image is not None:
            with self.image.open("r+b") as file:
                size = os.fstat(file.fileno()).st_size
                file.write(bytes(size))
                os.fsync(file.fileno())

    def _format(self, cdw10: int) -> None:
        self.format_dword = cdw10
        self.started.set()
        if self.may_end is not None:
            assert self.may_end.wait(200)
        self._forget(FORMAT)

    def begin_sanitize(self) -> None:
        """Begin one that ends after `polls` looks."""
        self._forget(SANITIZE)
        self._running, self._sanitized = self.polls, True

    def _sanitize_log(self) -> bytes:
        page = bytearray(512)
        if self._running:
            self._running -= 1
            struct.pack_into("<HH", page, 0, 32768, 2)
        else:
            struct.pack_into("<HH", page, 0, 65535, self.sanitize_status * self._sanitized)
        return bytes(page)

    def _get_feature(self, command: bytearray, feature: int) -> int:
        if feature != HCTM:
            return INVALID_FIELD
        struct.pack_into("<I", command, 68, self.tmt[0] << 16 | self.tmt[1])
        return 0

    def _set_feature(self, feature: int, value: int) -> int:
        if feature != HCTM or self.hctm is None:
            return INVALID_FIELD
        self.tmt = (value >> 16, value & 0xFFFF)
        self.done.append(SET_FEATURES)
        return 0


def unreachable(_fd: int, _request: int, _command: bytearray) -> int:
    """Answer as a drive that is gone."""
    raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))


@contextmanager
def answering(ioctl: nvme_admin.Ioctl) -> Iterator[None]:
    """Let a test's drive answer all that is asked of NVMe drives meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nvme_admin, "kernel_ioctl", lambda: ioctl)
        yield


def answered_by(controller: Controller) -> type[NvmeController]:
    """Return what stands for the kernel's controllers where thresholds are set: all are this."""

    class Answered(NvmeController):
        def __init__(self, directory: Path, roots: Roots) -> None:
            super().__init__(directory, roots)
            self._ioctl = controller.ioctl

    return Answered
