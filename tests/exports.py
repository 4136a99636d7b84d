"""NBD exports from memory and files, for tests that load something real."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from waiting import until


@contextmanager
def served(
    at: Path, pid: Path, *words: str | Path
) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """Serve on the socket `at` what nbdkit's `words` say; give the URI and the server."""
    for left in (at, pid):
        left.unlink(missing_ok=True)
    command = ["nbdkit", "--exit-with-parent", "-f", "-U", at, "-P", pid, *words]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as server:
        try:
            assert until(pid.exists)
            yield f"nbd+unix:///?socket={at}", server
        finally:
            server.kill()


@contextmanager
def memory_export(
    directory: Path, rate_mb_s: float | None = None, burst_s: float = 0.02
) -> Iterator[tuple[str, Path]]:
    """Serve 1 GiB of memory; give the URI and the file that says how many bits a second it takes.

    Without `rate_mb_s` it goes as fast as it can, and the file is not read. What it could not take
    in time it takes later, at any speed, up to what goes in `burst_s`.
    """
    rate, words = directory / "rate", ["memory", "1G"]
    if rate_mb_s is not None:
        set_rate(rate, rate_mb_s)
        words = ["--filter=rate", *words, f"rate={rate.read_text()}"]
        words += [f"rate-file={rate}", f"burstiness={burst_s}"]
    with served(directory / "socket", directory / "pid", *words) as (uri, _):
        yield uri, rate


@contextmanager
def file_export(image: Path, at: Path, *options: str) -> Iterator[str]:
    """Serve a file on the socket `at`; options are nbdkit's. Give the URI."""
    with served(at, image.with_suffix(".pid"), *options, "file", image) as (uri, _):
        yield uri


def set_rate(file: Path, mb_s: float) -> None:
    """Have the export of `file` take `mb_s` from now on."""
    file.write_text(f"{round(8e6 * mb_s)}")
