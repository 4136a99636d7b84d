"""Runs nbdkit with our plugin until it is stopped."""

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

#: The file in the sensors' directory with the drive's true state, ten lines a second.
TRUTH = "truth.jsonl"

_PLUGIN = Path(__file__).with_name("heatsoak_nbd.so")
#: Requests that one client can have in flight; each has a thread, asleep until it is done.
_IN_FLIGHT = 128
#: Maximum length of a socket's path (unix(7)), without the terminating 0.
_LONGEST_SOCKET = 107
_START_S, _END_S, _LOOK_S = 30.0, 15.0, 0.2


def serve_export(
    export: Export, socket: Path, sensors: Path | None, ready: Callable[[], None]
) -> None:
    """Serve `export` on the Unix socket `socket` until interrupted; calls `ready` once it is up.

    Its sensors and `TRUTH` appear below the new directory `sensors`, if given. The socket is
    removed at the end. Raises UsageError if the socket or directory cannot be created, ToolError if
    nbdkit or the plugin is missing or fails.
    """
    _check(socket)
    nbdkit, plugin = find_nbdkit(), find_plugin()
    truth = None if sensors is None else sensors / TRUTH
    with (
        tempfile.TemporaryDirectory(prefix="heatsoak-nbd-") as own,
        contextlib.ExitStack() as unless_served,
    ):
        inputs = {} if sensors is None else write_tree(sensors, export)
        unless_served.callback(_remove_tree, sensors)
        config, pid = Path(own, "drive.json"), Path(own, "pid")
        try:
            config.write_text(export.plugin_config(inputs, truth), "utf-8")
        except OSError as error:
            raise ToolError(f"{config}: cannot be written: {error.strerror}") from error
        words = [nbdkit, "--foreground", "--exit-with-parent", f"--threads={_IN_FLIGHT}"]
        words += [f"--pidfile={pid}", f"--unix={socket}", str(plugin), f"drive={config}"]
        with _running(words, socket) as server:
            server.wait_until_ready([pid, *inputs.values()])
            unless_served.pop_all()
            with contextlib.suppress(KeyboardInterrupt):
                ready()
                server.wait()


def find_nbdkit() -> str:
    """Return the server's program; raises ToolError if it is missing."""
    return find_tool("nbdkit", "nbdkit")


def find_plugin() -> Path:
    """Return our plugin for it; raises ToolError if it is missing."""
    if not _PLUGIN.exists():
        raise ToolError(
            f"{_PLUGIN}: nbdkit's plugin is missing: build it in heatsoak's sources: "
            "cargo build --release -p heatsoak-nbd"
        )
    return _PLUGIN


def _check(socket: Path) -> None:
    if len(bytes(socket.absolute())) > _LONGEST_SOCKET:
        raise UsageError(
            f"{socket}: is too long: a socket's path has at most {_LONGEST_SOCKET} bytes"
        )
    if socket.is_symlink() or socket.exists():
        raise UsageError(
            f"{socket}: already exists: name another with --socket, or remove it if no server "
            "uses it any more"
        )
    if not socket.absolute().parent.is_dir():
        raise UsageError(
            f"{socket.absolute().parent}: there is no such directory to create the socket in"
        )


def _remove_tree(sensors: Path | None) -> None:
    """Remove the files of a drive that was never served."""
    if sensors is not None:
        shutil.rmtree(sensors / "sys", ignore_errors=True)
        (sensors / TRUTH).unlink(missing_ok=True)


class _Server:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._said: list[str] = []
        self._is_ready = False
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            text = line.strip().removeprefix("nbdkit: ").removeprefix("error: ")
            if self._is_ready:
                announce(text)
            else:
                self._said.append(text)

    def wait_until_ready(self, files: Sequence[Path]) -> None:
        """Wait until clients can connect: nbdkit and the plugin have then written `files`.

        Raises ToolError if nbdkit takes too long or exits.
        """
        deadline = time.monotonic() + _START_S
        while not all(file.exists() for file in files) and self._process.poll() is None:
            if time.monotonic() > deadline:
                raise ToolError(f"nbdkit did not start to serve within {_START_S:g} s")
            time.sleep(0.02)
        if self._process.poll() is not None:
            self._listener.join(_END_S)
            raise ToolError(
                f"nbdkit failed to start: {' '.join(self._said) or 'without a message'}"
            )
        self._is_ready = True

    def wait(self) -> None:
        """Wait until it exits; raises ToolError if it fails."""
        # poll, since an unlimited wait is not interrupted: polars' SIGINT handler restarts it
        while (code := self._process.poll()) is None:
            time.sleep(_LOOK_S)
        if code:
            raise ToolError(f"nbdkit ended with exit code {code}")

    def end(self) -> None:
        """Stop it, with everything in flight."""
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
