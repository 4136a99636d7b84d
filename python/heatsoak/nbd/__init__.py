"""The simulated drive as an NBD export for a real fio: settings, sensors as files, and nbdkit."""

import contextlib
import json
import os
import shutil
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from heatsoak import writing
from heatsoak.catalog import Drive, Enclosure
from heatsoak.errors import ToolError, UsageError
from heatsoak.output import announce
from heatsoak.target.simulated import stated_limits_c
from heatsoak.tools import environment, find_tool
from heatsoak.units import MB
from heatsoak.words import duration_text, size_text

#: A slower drive would be scaled down to a few blocks of flash, or none.
MIN_SPEED_MB_S = 1.0
MAX_TIME_FACTOR = 1000.0


@dataclass(frozen=True)
class Export:
    """A simulated drive in an enclosure, to be served.

    Attributes:
        speed_mb_s: maximum throughput for the host, in MB/s by the host's clock; None for the
            drive's full speed.
        time_factor: seconds on the drive's clock per second of the host's, 1 or more.
    """

    drive: Drive
    enclosure: Enclosure
    speed_mb_s: float | None = None
    time_factor: float = 1.0

    def __post_init__(self) -> None:
        """Raise UsageError for a speed or a factor that cannot be served."""
        if not 1 <= self.time_factor <= MAX_TIME_FACTOR:
            raise UsageError(
                f"--time-factor {self.time_factor:g}: must be 1 (real time) to {MAX_TIME_FACTOR:g}"
            )
        if self.speed_mb_s is None:
            return
        top_mb_s = self.top_mb_s * self.time_factor
        if not MIN_SPEED_MB_S <= self.speed_mb_s <= top_mb_s:
            raise UsageError(
                f"--speed of {size_text(self.speed_mb_s * MB)}/s: {self.drive.id} in "
                f"{self.enclosure.id} can be served at {size_text(MIN_SPEED_MB_S * MB)} to "
                f"{size_text(top_mb_s * MB)} per second"
            )

    @property
    def top_mb_s(self) -> float:
        """The drive's maximum throughput, in MB/s by its own clock."""
        controller, link = self.drive.controller, self.enclosure.link_mb_s
        path_mb_s = max(controller.read_mb_s.value, controller.write_mb_s.value)
        return path_mb_s if link is None else min(path_mb_s, link.value)

    @property
    def speed_share(self) -> float:
        """The share of its full speed that it is slowed down to, by its own clock."""
        if self.speed_mb_s is None:
            return 1.0
        return self.speed_mb_s / (self.top_mb_s * self.time_factor)

    @property
    def sensors(self) -> list[str]:
        """Its sensors in the order of the kernel's numbers; the first is the composite."""
        return sorted(self.drive.sensors)

    def plugin_config(self, inputs: dict[str, Path], truth: Path | None) -> str:
        """Return the plugin's configuration as JSON (`crates/nbd/src/config.rs`).

        `inputs` are the files for the sensors' temperatures, `truth` the one for the true state.
        """
        return json.dumps(
            {
                "drive": json.loads(self.drive.core_json()),
                "enclosure": json.loads(self.enclosure.core_json()),
                "speed_share": self.speed_share,
                "time_factor": self.time_factor,
                "inputs": {name: str(path.absolute()) for name, path in inputs.items()},
                "truth": None if truth is None else str(truth.absolute()),
            }
        )


_ZERO_MILLI_C = -273150
_UNSET_MILLI_C = 65535 * 1000 + _ZERO_MILLI_C
_PCI = "devices/pci0000:00/0000:00:1d.0/0000:02:00.0"
_CONTROLLER, _NAMESPACE = "nvme0", "nvme0n1"


def write_tree(directory: Path, export: Export) -> dict[str, Path]:
    """Write a drive's sysfs tree, and return the path of each sensor's temperature file.

    Those files do not exist yet. Raises UsageError if the directory is not empty, ToolError if it
    cannot be written.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(f"{directory}: already exists: name a new directory with --sensors")
    with writing.reporting_write_errors(directory), writing.made(directory):
        try:
            return _write(directory / "sys", export)
        except OSError:
            shutil.rmtree(directory / "sys", ignore_errors=True)
            raise


def _write(sys: Path, export: Export) -> dict[str, Path]:
    controller = sys / _PCI / "nvme" / _CONTROLLER
    namespace, node = controller / _NAMESPACE, controller / "hwmon0"
    for directory in (namespace, node, sys / "block", sys / "class" / "hwmon"):
        directory.mkdir(parents=True)
    (controller / "device").symlink_to(Path("..", ".."))
    for inside in (namespace, node):
        (inside / "device").symlink_to("..")
    (sys / "block" / _NAMESPACE).symlink_to(Path("..", namespace.relative_to(sys)))
    (sys / "class" / "hwmon" / "hwmon0").symlink_to(Path("..", "..", node.relative_to(sys)))

    _fill(controller, {"model": export.drive.model, "serial": "SIMULATED", "firmware_rev": "1"})
    _fill(node, {"name": "nvme", **_limits(export)})
    inputs = {}
    for number, sensor in enumerate(export.sensors, 1):
        label = "Composite" if number == 1 else f"Sensor {number - 1}"
        _fill(node, {f"temp{number}_label": label})
        inputs[sensor] = node / f"temp{number}_input"
    return inputs


def _limits(export: Export) -> dict[str, str]:
    """The limits that the drive states, as the kernel shows them."""
    limits = {"temp1_min": _ZERO_MILLI_C, "temp1_max": _UNSET_MILLI_C, "temp1_alarm": 0}
    stated_c = stated_limits_c(export.drive)
    for name, limit in (("temp1_max", "warning_c"), ("temp1_crit", "critical_c")):
        if limit in stated_c:
            limits[name] = round(stated_c[limit] + 273.15) * 1000 + _ZERO_MILLI_C
    for number in range(2, len(export.sensors) + 1):
        limits |= {f"temp{number}_min": _ZERO_MILLI_C, f"temp{number}_max": _UNSET_MILLI_C}
    return {name: str(milli) for name, milli in limits.items()}


def _fill(directory: Path, values: dict[str, str]) -> None:
    with writing.Directory(directory) as place:
        for name, value in values.items():
            with place.new(name) as file:
                file.write(f"{value}\n".encode())


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
        # without names: nothing of them is left, however this ends
        os.fdopen(os.memfd_create("drive"), "w", encoding="utf-8") as config,
        os.fdopen(os.memfd_create("pid"), "rb") as pid,
        contextlib.ExitStack() as unless_served,
    ):
        inputs = {} if sensors is None else write_tree(sensors, export)
        unless_served.callback(_remove_tree, sensors)
        config.write(export.plugin_config(inputs, truth))
        config.flush()
        names = [f"/proc/self/fd/{file.fileno()}" for file in (pid, config)]
        words = [nbdkit, "--foreground", "--exit-with-parent", f"--threads={_IN_FLIGHT}"]
        words += [f"--pidfile={names[0]}", f"--unix={socket}", str(plugin), f"drive={names[1]}"]
        with _running(words, socket, [pid.fileno(), config.fileno()]) as server:
            server.wait_until_ready(pid.fileno(), list(inputs.values()))
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

    def wait_until_ready(self, pid: int, files: Sequence[Path]) -> None:
        """Wait until clients can connect: nbdkit has then written `pid`, and the plugin `files`.

        Raises ToolError if nbdkit takes too long or exits.
        """
        deadline = time.monotonic() + _START_S

        def is_up() -> bool:
            return os.fstat(pid).st_size > 0 and all(file.exists() for file in files)

        while not is_up() and self._process.poll() is None:
            if time.monotonic() > deadline:
                raise ToolError(f"nbdkit did not start to serve within {duration_text(_START_S)}")
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
def _running(words: list[str], socket: Path, fds: Sequence[int]) -> Iterator[_Server]:
    process = subprocess.Popen(
        words,
        pass_fds=fds,
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
