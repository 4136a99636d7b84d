"""Runs nbdkit with the plugin in it, in the foreground, until it is told to end."""

import contextlib
import shutil
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from heatsoak.errors import ToolError, UsageError
from heatsoak.nbd.export import Export, write_tree
from heatsoak.output import announce
from heatsoak.tools import environment, find_tool

#: Beside the sensors: what the drive itself knows, ten lines a second.
TRUTH = "truth.jsonl"

_PLUGIN = Path(__file__).with_name("heatsoak_nbd.so")
#: Requests of one client that can be in flight: each has a thread, asleep until it is done.
_IN_FLIGHT = 128
#: What a socket's address holds (unix(7)), less its final 0.
_LONGEST_SOCKET = 107
_START_S, _END_S, _LOOK_S = 30.0, 15.0, 0.2


def serve_export(
    export: Export, socket: Path, sensors: Path | None, ready: Callable[[], None]
) -> None:
    """Serve `export` on the unix socket `socket` until interrupted; calls `ready` once it is.

    Its sensors appear below the new directory `sensors`, where there is one, with `TRUTH` beside
    them. The socket is removed at the end. Raises UsageError for a socket or a directory that
    cannot be made, ToolError where nbdkit or the plugin is missing or fails.
    """
    _check(socket)
    nbdkit = find_tool("nbdkit", "nbdkit")
    if not _PLUGIN.exists():
        raise ToolError(
            f"{_PLUGIN}: the plugin for nbdkit is missing: it is built with heatsoak from its "
            "sources, by cargo build --release -p heatsoak-nbd"
        )
    inputs = {} if sensors is None else write_tree(sensors, export)
    truth = None if sensors is None else sensors / TRUTH
    with tempfile.TemporaryDirectory(prefix="heatsoak-nbd-") as own:
        told, pid = Path(own, "drive.json"), Path(own, "pid")
        told.write_text(export.told(inputs, truth), "utf-8")
        words = [nbdkit, "--foreground", "--exit-with-parent", f"--threads={_IN_FLIGHT}"]
        words += [f"--pidfile={pid}", f"--unix={socket}", str(_PLUGIN), f"drive={told}"]
        with _running(words, socket) as server:
            try:
                server.wait_until_there([pid, *inputs.values()])
            except BaseException:
                _forget(sensors)
                raise
            with contextlib.suppress(KeyboardInterrupt):
                ready()
                server.wait()


def _check(socket: Path) -> None:
    if len(bytes(socket.absolute())) > _LONGEST_SOCKET:
        raise UsageError(
            f"{socket}: is too long for a socket, whose path has at most {_LONGEST_SOCKET} bytes"
        )
    if socket.is_symlink() or socket.exists():
        raise UsageError(
            f"{socket}: is there already: name another with --socket, or remove it if nothing "
            "serves it any more"
        )
    if not socket.absolute().parent.is_dir():
        raise UsageError(f"{socket.absolute().parent}: there is no such directory for the socket")


def _forget(sensors: Path | None) -> None:
    """Remove what was written of a drive that was never served."""
    if sensors is not None:
        shutil.rmtree(sensors / "sys", ignore_errors=True)
        (sensors / TRUTH).unlink(missing_ok=True)


class _Server:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._said: list[str] = []
        self._is_there = False
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            text = line.strip().removeprefix("nbdkit: ").removeprefix("error: ")
            if self._is_there:
                announce(text)
            else:
                self._said.append(text)

    def wait_until_there(self, files: Sequence[Path]) -> None:
        """Return once clients can come and sensors read: nbdkit and the plugin write `files` then.

        Raises ToolError where that takes too long, or ends it.
        """
        deadline = time.monotonic() + _START_S
        while not all(file.exists() for file in files) and self._process.poll() is None:
            if time.monotonic() > deadline:
                raise ToolError(f"nbdkit has not begun to serve for {_START_S:g} s")
            time.sleep(0.02)
        if self._process.poll() is not None:
            self._listener.join(_END_S)
            raise ToolError(
                f"nbdkit does not serve it: {' '.join(self._said) or 'it says nothing'}"
            )
        self._is_there = True

    def wait(self) -> None:
        """Return when it has ended by itself; raises ToolError unless it was told to."""
        # waiting without end would not be interrupted: polars' handler of SIGINT restarts it
        while (code := self._process.poll()) is None:
            time.sleep(_LOOK_S)
        if code:
            raise ToolError(f"nbdkit has ended with exit code {code}")

    def end(self) -> None:
        """End it, with all that is in flight."""
        self._process.terminate()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(_END_S)


@contextmanager
def _running(words: list[str], socket: Path) -> Iterator[_Server]:
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment(),
    )
    server = _Server(process)
    try:
        yield server
    finally:
        server.end()
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(socket.lstat().st_mode):
                socket.unlink()
