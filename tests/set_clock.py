"""A wall clock that can be set for some processes alone, and a machine that seems to have slept.

Debian's libfaketime cannot do this: where it leaves the monotonic clock alone, it makes Python's
sleep fail (clock_nanosleep with TIMER_ABSTIME). So this is a library of our own for `LD_PRELOAD`,
which moves what the kernel tells of its clocks by as many seconds as a file says: how far the wall
clock was set, and how long the machine has slept.
"""

import mmap
import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long *moved_s; /* set, slept */

__attribute__((constructor)) static void find(void)
{
    int file = open(getenv("SET_CLOCK"), O_RDONLY);
    void *found = mmap(0, 2 * sizeof(long), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (found != MAP_FAILED) moved_s = found;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (failed || !moved_s)
        return failed;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        now->tv_sec += moved_s[0] + moved_s[1];
    else if (clock == CLOCK_BOOTTIME)
        now->tv_sec += moved_s[1];
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec precise;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (now) *now = precise.tv_sec;
    return precise.tv_sec;
}
"""


class Clock:
    """The clocks of some processes; skips where there is no C compiler."""

    def __init__(self, directory: Path) -> None:
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("needs a C compiler")
        source, library = directory / "set_clock.c", directory / "set_clock.so"
        self._file = directory / "set_s"
        self._file.write_bytes(bytes(16))
        source.write_text(SOURCE)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
        #: What a process needs in its environment to see this clock.
        self.env = {**os.environ, "LD_PRELOAD": str(library), "SET_CLOCK": str(self._file)}

    def move(self, set_s: int = 0, slept_s: int = 0) -> None:
        """Have the wall clock be off by `set_s` from now on, after a sleep of `slept_s`."""
        with self._file.open("r+b") as file, mmap.mmap(file.fileno(), 16) as shared:
            shared[:] = struct.pack("ll", set_s, slept_s)
