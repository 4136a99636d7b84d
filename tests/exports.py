"""NBD exports from memory and files, for tests that load something real."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from waiting import until


@contextmanager
def memory_export(
    directory: Path, rate_mb_s: float | None = None, burst_s: float = 0.02
) -> Iterator[tuple[str, Path]]:
    """Serve 1 GiB of memory; give the URI and the file that says how many bits a second it takes.

    Without `rate_mb_s` it goes as fast as it can, and the file is not read. What it could not take
    in time it takes later, at any speed, up to what goes in `burst_s`.
    """
    rate, at, pid = directory / "rate", directory / "socket", directory / "pid"
    command = ["nbdkit", "--exit-with-parent", "-f", "-U", str(at), "-P", str(pid)]
    if rate_mb_s is None:
        command += ["memory", "1G"]
    else:
        set_rate(rate, rate_mb_s)
        command += ["--filter=rate", "memory", "1G", f"rate={rate.read_text()}"]
        command += [f"rate-file={rate}", f"burstiness={burst_s}"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as server:
        try:
            assert until(pid.exists)
            yield f"nbd+unix:///?socket={at}", rate
        finally:
            server.kill()


@contextmanager
def file_export(image: Path, at: Path) -> Iterator[str]:
    """Serve a file on the socket `at`; give the URI."""
    pid = image.with_suffix(".pid")
    command = ["nbdkit", "--exit-with-parent", "-f", "-U", str(at), "-P", str(pid)]
    command += ["file", str(image)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as server:
        try:
            assert until(pid.exists)
            yield f"nbd+unix:///?socket={at}"
        finally:
            server.kill()


def set_rate(file: Path, mb_s: float) -> None:
    """Have the export of `file` take `mb_s` from now on."""
    file.write_text(f"{round(8e6 * mb_s)}")
