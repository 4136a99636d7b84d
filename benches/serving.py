"""What ``serve`` and ``report`` need where recordings are many and viewers too.

``python benches/serving.py [RECORDINGS] [FLOOD_S]``: the list of so many recordings, first and once
all are judged, with the memory of its process; ``report -o x.csv`` of them; how fast a page opens
beside 1,000 requests that are never finished; then the memory while there are as many of those all
the time, 250 browsers follow a recording that is being written, and others ask for its page and for
the list.
"""

import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from heatsoak.recording import Recording, RecordingWriter

RECORDINGS, FLOOD_S = 2_000, 600.0
STREAMS = 250
UNFINISHED = 1_000
TOKEN = "of-this-bench-alone"
STEP_S = 300
PROTOCOL = f"""
schema = 1
name = "small"
[[steps]]
name = "read"
rw = "read"
bs = "128k"
iodepth = 32
span = "16GiB"
runtime = "{STEP_S}s"
"""


def main(recordings: int = RECORDINGS, flood_s: float = FLOOD_S) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        one = recorded(root)
        many = root / "many"
        for number in range(recordings):
            shutil.copytree(one, many / f"group-{number // 100}" / f"{number}")
        if recordings:
            listed(many)
            exported(many, root / "x.csv")
        crowded(one)
        flooded(one, root / "few", flood_s)


def recorded(root: Path) -> Path:
    (root / "small.toml").write_text(PROTOCOL)
    words = ["run", str(root / "small.toml"), "--on", "sim:samsung-950-pro-512", "-o"]
    heatsoak(*words, str(root / "one"))
    return root / "one"


def heatsoak(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "heatsoak", *words], check=True, capture_output=True)


def listed(root: Path) -> None:
    """Print what the list of all recordings below `root` takes."""
    with served(root) as (process, port):
        start_s = time.monotonic()
        contents = ask(port, "/")
        first_s, waiting = time.monotonic() - start_s, contents.count("being judged")
        while "being judged" in ask(port, "/"):
            time.sleep(1)
        judged_s = time.monotonic() - start_s
        start_s = time.monotonic()
        rows = len(re.findall(r'<tr><td><a href="/r/', ask(port, "/")))
        again_s = time.monotonic() - start_s
        print(
            f"list of {rows} recordings: {first_s:.1f} s with {waiting} not yet judged, all judged "
            f"after {judged_s:.0f} s, then {again_s:.1f} s; {resident_mb(process):.0f} MB"
        )


def exported(root: Path, table: Path) -> None:
    start_s = time.monotonic()
    words = [sys.executable, "-m", "heatsoak", "report", str(root), "-o", str(table)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    took_s = time.monotonic() - start_s
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"report ended with {process.returncode}")
    peak_mb = used.ru_maxrss * 1024 / 1e6
    print(
        f"report -o x.csv of them: {took_s:.0f} s ({used.ru_utime + used.ru_stime:.0f} of a core), "
        f"at most {peak_mb:.0f} MB, {table.stat().st_size / 1e6:.1f} MB of text"
    )


def crowded(root: Path) -> None:
    """Print how long a page takes alone, and beside requests that are never finished."""
    with served(root) as (process, port):
        ask(port, "/r/")
        took_s, before_mb = [], resident_mb(process)
        open_ones: list[socket.socket] = []
        for count in (0, UNFINISHED):
            open_ones += [unfinished(port) for _ in range(count)]
            for path in ("/", "/r/"):
                start_s = time.monotonic()
                ask(port, path)
                took_s.append(time.monotonic() - start_s)
        times = "list {:.2f} s and page {:.2f} s alone, {:.2f} s and {:.2f} s".format(*took_s)
        print(
            f"{times} beside {UNFINISHED} unfinished requests; {before_mb:.0f} MB before, "
            f"{resident_mb(process):.0f} MB beside them"
        )
        for connection in open_ones:
            connection.close()


def unfinished(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    return connection


def crowd(port: int, over: threading.Event) -> None:
    """Keep many unfinished requests open until it is over, each anew after a second."""
    while not over.wait(1.0):
        open_ones = []
        with suppress(OSError):
            open_ones += [unfinished(port) for _ in range(UNFINISHED)]
        over.wait(1.0)
        for connection in open_ones:
            connection.close()


def flooded(one: Path, root: Path, flood_s: float) -> None:
    """Print the memory of a server before, in, and after a flood of viewers."""
    whole = Recording.open(one)
    meta = whole.meta.model_copy(update={"status": "running", "started_unix_s": time.time()})
    frame = whole.samples()
    writer = RecordingWriter(root / "live", meta)
    for event in whole.events:
        if event.kind == "step-begin":
            writer.event(event)
    writer.append(frame.head(100))
    with served(root) as (process, port):
        ask(port, "/r/live/")
        here, ends_s = ("127.0.0.1", port), time.monotonic() + flood_s
        over = threading.Event()

        def grow() -> None:
            at = 100
            while not over.wait(0.5):
                writer.append(frame.slice(at % frame.height, 2))
                at += 2

        def view() -> None:
            while time.monotonic() < ends_s:
                came = False
                with suppress(OSError), socket.create_connection(here, timeout=60) as stream:
                    asked = f"/r/live/events?token={TOKEN}"
                    stream.sendall(f"GET {asked} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
                    came = b" 200 " in stream.recv(1 << 16).splitlines()[0]
                    closes_s = min(ends_s, time.monotonic() + 30)
                    while time.monotonic() < closes_s and stream.recv(1 << 16):
                        pass
                followed.append(came)

        def fetch() -> None:
            while time.monotonic() < ends_s:
                ask(port, "/r/live/page.json")
                ask(port, "/")

        followed: list[bool] = []
        before_mb = resident_mb(process)
        threads = [threading.Thread(target=grow, daemon=True)]
        threads += [threading.Thread(target=view, daemon=True) for _ in range(STREAMS)]
        threads += [threading.Thread(target=fetch, daemon=True) for _ in range(4)]
        threads += [threading.Thread(target=crowd, args=(port, over), daemon=True)]
        for thread in threads:
            thread.start()
        seen_mb = []
        for _ in range(6):
            time.sleep(flood_s / 6)
            seen_mb.append(resident_mb(process))
        over.set()
        for thread in threads:
            thread.join()
        time.sleep(15)
        told = ", ".join(f"{one:.0f}" for one in seen_mb)
        print(
            f"{STREAMS} viewers ({sum(followed)} of {len(followed)} streams came), 4 fetching and "
            f"{UNFINISHED} unfinished, for {flood_s:.0f} s: {before_mb:.0f} MB before, "
            f"{told} meanwhile, {resident_mb(process):.0f} MB 15 s after"
        )


@contextmanager
def served(root: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    words = ["serve", str(root), "--port", "0"]
    with subprocess.Popen(
        [sys.executable, "-m", "heatsoak", *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "HEATSOAK_TOKEN": TOKEN},
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())
            assert found is not None
            yield process, int(found.group(1))
        finally:
            process.terminate()


def ask(port: int, path: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def resident_mb(process: subprocess.Popen[str]) -> float:
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024 / 1e6


if __name__ == "__main__":
    main(*(kind(word) for kind, word in zip((int, float), sys.argv[1:], strict=False)))
