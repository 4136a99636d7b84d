"""Racks on this machine: hosts that a small program reaches, and drives that count.

A drive is an NBD export whose server writes each request down, so what was written to it, and how
often, is known without asking heatsoak.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import forked
from command import heatsoak_here
from exports import set_rate
from heatsoak.rack.kept import Kept
from waiting import until

CONTRIB = Path(__file__).parents[1] / "contrib" / "rack"
#: A protocol that writes all of a drive once, from its begin.
FILL_ONCE = """
name = "once"
steps = [{ name = "fill", rw = "write", bs = "256k", size = "100%" }]
"""
#: Any target: simulated, and so not written.
SIMULATED = "sim:samsung-950-pro-512"
_WRITE = re.compile(r" Write .*offset=0x([0-9a-f]+) count=0x([0-9a-f]+)")
#: Reaches a host of this machine, as ssh would another; a file says what ails it.
_BY = """#!/bin/sh
cd '{cwd}'
host=$1
shift 2
echo "$host $3" >> calls
echo $$ > "call-$host"
export HEATSOAK_RACK='{cwd}'/"home-$host"
case "$(cat "ill-$host" 2> /dev/null)" in
away) echo "ssh: connect to host $host port 22: No route to host" >&2; exit 255 ;;
bare) echo "sh: 1: heatsoak: not found" >&2; exit 127 ;;
hangs) exec sleep 1000 ;;
slow) sleep 3 ;;
closed) HEATSOAK_RACK=/proc/nope ;;
old) '{python}' -m heatsoak "$@" | sed 's/"version": "[^"]*"/"version": "0.1"/'; exit ;;
esac
exec {program} "$@"
"""


@dataclass
class CountingDrive:
    """An export; its logs have a line for each request, all of them when the server has ended.

    Attributes:
        logs: of the drive, and of those that it was exchanged for.
        rate: the file for `exports.set_rate`.
        word: what follows its name where its data may be lost.
    """

    uri: str
    logs: list[Path]
    size_bytes: int
    rate: Path
    word: str = ""

    @property
    def erase_id(self) -> str:
        return f"{self.uri}:{self.size_bytes}{self.word}"

    def writes(self) -> Counter[int]:
        """Return how often each offset was written."""
        return Counter(int(offset, 16) for offset, _ in self._requests())

    def _requests(self) -> list[tuple[str, str]]:
        return [found for log in self.logs for found in _WRITE.findall(log.read_text())]

    def exchange(self, other: "CountingDrive") -> None:
        """Have whoever connects from now on find the other drive."""
        ours, its = (Path(one.uri.partition("socket=")[2]) for one in (self, other))
        its.replace(ours)
        self.logs += other.logs

    @property
    def starts(self) -> int:
        """How often it was written from the start."""
        return self.writes()[0]

    @property
    def is_whole(self) -> bool:
        """Whether all of it was written."""
        return sum(int(count, 16) for _, count in self._requests()) >= self.size_bytes


@contextmanager
def counting_drive(
    directory: Path, mb_s: float, size_mib: int = 32, *, holds: str = ""
) -> Iterator[CountingDrive]:
    """Serve memory at so many MB/s, full of what it `holds`."""
    directory.mkdir()
    at, pid, log, rate = (directory / name for name in ("socket", "pid", "log", "rate"))
    # one thread a connection: else one may find it closed by the other, and end the server
    command = ["nbdkit", "--exit-with-parent", "--threads=1", "-f", "-U", str(at), "-P", str(pid)]
    # the server of an empty one says that it is
    full = ["data", f'data=("{holds}")*{(size_mib << 20) // max(len(holds), 1)}']
    command += ["--filter=log", "--filter=rate", *(full if holds else ["memory"])]
    set_rate(rate, mb_s)
    command += [f"size={size_mib}M", f"logfile={log}", f"rate={rate.read_text()}"]
    with subprocess.Popen([*command, f"rate-file={rate}"], stdin=subprocess.DEVNULL) as server:
        try:
            assert until(pid.exists)
            yield CountingDrive(f"nbd+unix:///?socket={at}", [log], size_mib << 20, rate)
        finally:
            server.terminate()  # killed, it might keep lines of its log to itself


@dataclass(frozen=True)
class RackHost:
    """A host: its name, and the directory of the rack."""

    name: str
    cwd: Path

    @property
    def home(self) -> Path:
        """Where it keeps tests."""
        return self.cwd / f"home-{self.name}"

    def falls_ill(self, how: str) -> None:
        """Have it be `away`, `bare` (without heatsoak), `closed`, `old`, `slow`, or hang."""
        (self.cwd / f"ill-{self.name}").write_text(how)

    def recovers(self) -> None:
        (self.cwd / f"ill-{self.name}").unlink(missing_ok=True)

    def kept(self) -> list[Kept]:
        """Return what it keeps of tests."""
        return [Kept(path.parent) for path in self.home.glob("*/*/state.json")]

    def under_way(self) -> list[Kept]:
        """Return those whose processes live."""
        return [kept for kept in self.kept() if kept.process() is not None]

    def loading(self) -> list[Kept]:
        """Return those that have begun, and have not ended."""
        return [kept for kept in self.kept() if kept.status().state == "running"]

    def kill_call(self) -> None:
        """Kill what it was last asked by, as if the connection broke off."""
        with suppress(ProcessLookupError, FileNotFoundError, ValueError):
            os.kill(int((self.cwd / f"call-{self.name}").read_text()), signal.SIGKILL)


def kill(test: Kept) -> bool:
    """Kill a test's process, and the load that it has started; False if it has just ended."""
    assert until(lambda: test.process() != 0)  # 0 while it is being made
    if (number := test.process()) is None:
        return False
    with suppress(ProcessLookupError):
        os.killpg(os.getpgid(number), signal.SIGKILL)
    return True


@dataclass
class RackOfHosts:
    """Hosts that are reached by a program in `cwd`: whatever is named is one."""

    cwd: Path
    env: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def __post_init__(self) -> None:
        by = self.cwd / "by.sh"
        own = f"'{sys.executable}' -m heatsoak"  # which a clock of the test's is put into
        program = forked.program() if self.env is os.environ else own
        by.write_text(_BY.format(cwd=self.cwd, python=sys.executable, program=program))
        by.chmod(0o755)
        (self.cwd / "once.toml").write_text(FILL_ONCE)

    def host(self, name: str) -> RackHost:
        return RackHost(name, self.cwd)

    def command(self, *words: str) -> list[str]:
        by = f"'{self.cwd}/by.sh' {{host}}"
        return [sys.executable, "-m", "heatsoak", "rack", *words, "--by", by]

    def here(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run ``heatsoak rack`` with `words` in this process."""
        return heatsoak_here(*self.command(*words)[3:], cwd=self.cwd)

    def started(self, *words: str) -> subprocess.Popen[str]:
        """Start ``heatsoak rack run`` with `words`."""
        how: dict[str, Any] = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen(
            self.command("run", *words), cwd=self.cwd, env=self.env, text=True, **how
        )

    def list_drives(self, drives: Mapping[str, Sequence[str | CountingDrive]]) -> str:
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
        (self.cwd / "racks.toml").write_text("\n".join(tables))
        return "racks.toml"

    def tests(self, directory: Path) -> list[dict[str, Any]]:
        """Return the tests that ``rack.json`` lists."""
        found: list[dict[str, Any]] = json.loads((directory / "rack.json").read_bytes())["tests"]
        return found

    def calls(self) -> list[str]:
        """Return what hosts were asked, in its order: "b1 status"."""
        path = self.cwd / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def end(self) -> None:
        """End the tests that are left."""
        for path in self.cwd.glob("home-*/*/*/state.json"):
            kill(Kept(path.parent))
