"""Racks on this machine: a Dask scheduler, hosts with a worker each, and drives that count.

A drive is an NBD export whose server writes each request down, so what was written to it, and how
often, is known without asking heatsoak. Hosts can have network namespaces of their own.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from command import heatsoak_here
from distributed import Client, Security
from exports import set_rate
from heatsoak.rack.kept import Kept
from janitor import undone_by
from ports import free_port
from waiting import until

CONTRIB = Path(__file__).parents[1] / "contrib" / "rack"
DASK = str(Path(sys.executable).with_name("dask"))
#: A protocol that writes all of a drive once, from its begin.
FILL_ONCE = """
name = "once"
steps = [{ name = "fill", rw = "write", bs = "256k", size = "100%" }]
"""
_WRITE = re.compile(r" Write .*offset=0x([0-9a-f]+) count=0x([0-9a-f]+)")
#: Lost connections are noticed soon, but a busy machine is not taken for a lost one.
_SOON = {
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "60s",
}
#: A host's address, its link, and the words before a command that is to run there.
Where = dict[str, tuple[str, str | None, list[str]]]


@dataclass
class CountingDrive:
    """An export; `log` has a line for each request, all of them when the server has ended.

    Attributes:
        rate: the file for `exports.set_rate`.
    """

    uri: str
    log: Path
    size_bytes: int
    rate: Path

    @property
    def erase_id(self) -> str:
        return f"{self.uri}:{self.size_bytes}"

    def writes(self) -> Counter[int]:
        """Return how often each offset was written."""
        return Counter(
            int(match[1], 16) for match in map(_WRITE.search, self.log.open()) if match is not None
        )

    @property
    def starts(self) -> int:
        """How often it was written from the start."""
        return self.writes()[0]

    @property
    def is_whole(self) -> bool:
        """Whether all of it was written."""
        text = self.log.read_text()
        return sum(int(count, 16) for _, count in _WRITE.findall(text)) >= self.size_bytes


@contextmanager
def counting_drive(directory: Path, mb_s: float, size_mib: int = 32) -> Iterator[CountingDrive]:
    """Serve memory at so many MB/s."""
    directory.mkdir()
    at, pid, log, rate = (directory / name for name in ("socket", "pid", "log", "rate"))
    command = ["nbdkit", "--exit-with-parent", "-f", "-U", str(at), "-P", str(pid)]
    command += ["--filter=log", "--filter=rate", "memory", f"{size_mib}M"]
    set_rate(rate, mb_s)
    command += [f"logfile={log}", f"rate={rate.read_text()}", f"rate-file={rate}"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as server:
        try:
            assert until(pid.exists)
            yield CountingDrive(f"nbd+unix:///?socket={at}", log, size_mib << 20, rate)
        finally:
            server.terminate()  # killed, it might keep lines of its log to itself


class Supervised:
    """A command that is started again when it ends, as systemd would."""

    def __init__(self, command: list[str], output: Path, env: dict[str, str]) -> None:
        self._command, self._output, self._env = command, output, env
        self.begin()

    def begin(self) -> None:
        self._stop = threading.Event()
        self._start()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _start(self) -> None:
        with self._output.open("ab") as file:
            self.process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env={**os.environ, **self._env},
            )

    def _watch(self) -> None:
        while not self._stop.wait(0.2):
            if self.process.poll() is not None:
                self._start()

    def kill(self) -> None:
        """Kill it; it comes back."""
        with suppress(ProcessLookupError):
            self.process.kill()

    def end(self) -> None:
        self._stop.set()
        self._thread.join()
        self.process.kill()
        self.process.wait()


@dataclass
class RackHost:
    """A host: its name, where it keeps tests, its worker, and its link to the network."""

    name: str
    home: Path
    worker: Supervised
    link: str | None = None

    def set_link(self, state: str) -> None:
        """Take its network away (``down``), or give it back (``up``)."""
        assert self.link is not None
        subprocess.run(["ip", "link", "set", self.link, state], check=True)

    def under_way(self) -> list[Kept]:
        """Return what it keeps of the tests whose processes live."""
        found = [Kept(path.parent) for path in self.home.glob("*/*/test.json")]
        return [kept for kept in found if kept.process() is not None]


def kill(test: Kept) -> bool:
    """Kill a test's process; False if it has just ended."""
    number = test.process()
    if number is None:
        return False
    with suppress(ProcessLookupError):
        os.kill(number, signal.SIGKILL)
    return True


@dataclass
class RackOfHosts:
    """A scheduler with hosts."""

    address: str
    scheduler: Supervised
    hosts: list[RackHost]
    cwd: Path
    env: dict[str, str] = field(default_factory=dict)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "heatsoak", "rack", *words, "--scheduler", self.address]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run ``heatsoak rack`` with `words`."""
        return subprocess.run(
            self.command(*words),
            cwd=self.cwd,
            env={**os.environ, **self.env},
            capture_output=True,
            text=True,
            check=False,
            timeout=280,
        )

    def here(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run ``heatsoak rack`` with `words` in this process."""
        return heatsoak_here("rack", *words, "--scheduler", self.address, cwd=self.cwd)

    def list_drives(self, drives: dict[str, list[str | CountingDrive]]) -> str:
        """Write a file that names drives by their hosts; return its name."""
        tables = []
        for host, own in drives.items():
            for number, drive in enumerate(own):
                on = drive.uri if isinstance(drive, CountingDrive) else drive
                erase = f'erase = "{drive.erase_id}"' if isinstance(drive, CountingDrive) else ""
                tables.append(
                    f'[[drive]]\nhost = "{host}"\non = "{on}"\n{erase}\n'
                    f'labels = {{ slot = "{number}" }}\n'
                )
        (self.cwd / "rack.toml").write_text("\n".join(tables))
        return "rack.toml"

    def tests(self, directory: str = "out") -> list[dict[str, Any]]:
        """Return the tests that ``rack.json`` lists."""
        found: list[dict[str, Any]] = json.loads((self.cwd / directory / "rack.json").read_bytes())[
            "tests"
        ]
        return found


@contextmanager
def rack_of_hosts(
    cwd: Path, names: tuple[str, ...], *, apart: bool = False, keys: Path | None = None
) -> Iterator[RackOfHosts]:
    """Start a scheduler and hosts, `apart` in network namespaces of their own; needs root then.

    With `keys`, the directory of :func:`made_keys`, they only talk to who has one of them.
    """
    soon = _SOON if keys is None else {**_SOON, "DASK_CONFIG": str(keys)}
    protocol = "tcp" if keys is None else "tls"
    with ExitStack() as stack:
        own = "127.0.0.1"
        where: Where = {name: (own, None, []) for name in names}
        if apart:
            own, where = stack.enter_context(_namespaces(names))
        port = free_port(own)
        address = f"{protocol}://{own}:{port}"
        scheduler = Supervised(
            [
                DASK,
                "scheduler",
                "--protocol",
                protocol,
                "--host",
                own,
                "--port",
                str(port),
                "--no-dashboard",
            ],
            cwd / "scheduler.txt",
            soon,
        )
        stack.callback(scheduler.end)
        hosts = []
        for name, (ip, link, enter) in where.items():
            home = cwd / f"home-{name}"
            command = [*enter, DASK, "worker", address, "--name", name, "--host", ip]
            command += ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
            env = {**soon, "HEATSOAK_RACK": str(home)}
            worker = Supervised(command, cwd / f"worker-{name}.txt", env)
            hosts.append(RackHost(name, home, worker, link))
            stack.callback(lambda host: [kill(test) for test in host.under_way()], hosts[-1])
            stack.callback(worker.end)
        rack = RackOfHosts(address, scheduler, hosts, cwd, soon)
        assert until(lambda: _workers(address, keys) == len(names))
        yield rack


def made_keys(directory: Path) -> Path:
    """Make a key, its certificate, and what tells Dask to ask for it; return the directory."""
    directory.mkdir()
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=rack -keyout key.pem -out cert.pem"
    subprocess.run(["openssl", *words.split()], cwd=directory, check=True, capture_output=True)
    (directory / "ca.pem").write_bytes((directory / "cert.pem").read_bytes())
    shipped = (CONTRIB / "dask.yaml").read_text()
    (directory / "dask.yaml").write_text(shipped.replace("/etc/heatsoak", str(directory)))
    return directory


def _workers(address: str, keys: Path | None) -> int:
    connect: Callable[..., Any] = Client
    how: dict[str, Any] = {"timeout": 5, "set_as_default": False}
    if keys is not None:
        secure: Callable[..., Any] = Security
        how["security"] = secure(
            tls_ca_file=str(keys / "ca.pem"),
            tls_client_cert=str(keys / "cert.pem"),
            tls_client_key=str(keys / "key.pem"),
            require_encryption=True,
        )
    with suppress(OSError), connect(address, **how) as client:
        return len(client.scheduler_info(n_workers=-1)["workers"])
    return 0


@contextmanager
def _namespaces(names: tuple[str, ...]) -> Iterator[tuple[str, Where]]:
    """A bridge with an address, and for each name a namespace with one; gives both."""
    number = os.getpid() % (1 << 15)
    net = f"10.{100 + number // 250}.{number % 250}"
    bridge = f"hsb{number}"
    with ExitStack() as stack:

        def ip(*words: str) -> None:
            subprocess.run(["ip", *words], check=True)

        def later(*words: str) -> None:
            stack.enter_context(undone_by("ip", *words))

        later("link", "del", bridge)
        ip("link", "add", bridge, "type", "bridge")
        ip("addr", "add", f"{net}.1/24", "dev", bridge)
        ip("link", "set", bridge, "up")
        where: Where = {}
        for place, name in enumerate(names):
            space, outer, inner = (
                f"hs{number}{name}",
                f"hso{number}{place}",
                f"hsi{number}{place}",
            )
            later("netns", "del", space)
            ip("netns", "add", space)
            later("link", "del", outer)
            ip("link", "add", outer, "type", "veth", "peer", "name", inner)
            ip("link", "set", inner, "netns", space)
            ip("link", "set", outer, "master", bridge, "up")
            inside = ["ip", "netns", "exec", space]
            ip("-n", space, "addr", "add", f"{net}.{place + 2}/24", "dev", inner)
            ip("-n", space, "link", "set", inner, "up")
            ip("-n", space, "link", "set", "lo", "up")
            where[name] = (f"{net}.{place + 2}", outer, inside)
        yield f"{net}.1", where
