"""``heatsoak serve``: what it shows, and what it never does."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

import numpy as np
import polars as pl
import pytest
from command import complaint, heatsoak_here
from heatsoak.protocol import Protocol
from heatsoak.recording import Recording, RecordingWriter
from heatsoak.report.page.html import Bundle
from made_recording import held, make_recording, of_older_version
from waiting import until


def is_built() -> bool:
    try:
        Bundle.load()
    except Exception:
        return False
    return True


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not is_built(), reason="the page's program was not built: no Node"),
]


def samples(start_s: float = 0.0, count: int = 600) -> pl.DataFrame:
    t_s = start_s + np.arange(1, count + 1) * 0.1
    return pl.DataFrame(
        {
            "t_s": t_s,
            "step": ["load"] * count,
            "interval_s": [0.1] * count,
            "write_bw_mb_s": 500 + 5 * np.sin(t_s * 7),
            "temp_c.composite": np.where(np.arange(count) % 10 == 0, 40 + t_s / 10, np.nan),
        }
    ).fill_nan(None)


class Served:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process = process
        found = urlsplit(address)
        assert found.hostname == "127.0.0.1"
        assert found.port is not None
        self.port = found.port

    def ask(
        self, path: str, method: str = "GET", host: str | None = None
    ) -> tuple[int, str, dict[str, str]]:
        """Ask for a path just as it stands, dots and all."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=200)
        try:
            connection.putrequest(method, path, skip_host=True)
            connection.putheader("Host", host or f"127.0.0.1:{self.port}")
            connection.endheaders()
            answer = connection.getresponse()
            text = answer.read().decode()
            return answer.status, text, {k.lower(): v for k, v in answer.getheaders()}
        finally:
            connection.close()

    def listen(self, path: str) -> socket.socket:
        """Begin to listen to events."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=200)
        lines = (f"GET {path} HTTP/1.1", f"Host: localhost:{self.port}", "Connection: close")
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        return connection


@contextmanager
def served(directory: Path) -> Iterator[Served]:
    with subprocess.Popen(
        [sys.executable, "-m", "heatsoak", "serve", str(directory), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": "1000"},
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"http://\S+", line)
            assert found, line
            assert process.stdout.readline() == "press Ctrl-C to stop\n"
            yield Served(process, found.group())
        finally:
            process.send_signal(signal.SIGINT)
            try:
                said, _ = process.communicate(timeout=200)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
    assert said == ""
    assert process.returncode == 0


def running(path: Path, *later: str) -> RecordingWriter:
    """A recording that goes on until it is finished; `later` are steps that are yet to come."""
    frame = samples()
    planned = [{"name": name, "rw": "write", "bs": "128k"} for name in ("load", *later)]
    protocol = Protocol.model_validate({"name": "x", "steps": planned})
    recording = held(frame, status="running", duration_s=None, protocol=protocol)
    writer = RecordingWriter(path, recording.meta)
    writer.event(recording.events[0])
    writer.append(frame)
    return writer


def events(connection: socket.socket) -> Iterator[tuple[str, str]]:
    """Yield events and what they carry, until the server ends them."""
    with connection.makefile("r", encoding="utf-8", newline="") as stream:
        name = ""
        for line in stream:
            if line.startswith("event:"):
                name = line[6:].strip()
            elif line.startswith("data:"):
                yield name, line[5:].strip()


#: Recordings that can be shown; names as they come, and as they are shown.
STRANGE = {'größe <script>alert("x")</script> & 100 %': "größe", "brackets [1]*?": "brackets [1]*?"}
NO_UTF8 = "no-\\xff utf8 \\x1b[31m"
#: What cannot be read.
UNREAD = {
    "fifo": "recording.json: is a pipe, not a regular file",
    "huge": "larger than",
    "directory": "",
    "dangling": "link",
    "half": "link",
    "socket": "",
    "wrong": "",
    "no-json": "",
    "deep-json": "",
    "samples-fifo": "samples.parquet: is a pipe, not a regular file",
}


def damage_within(path: Path) -> None:
    """Zero the inside of the samples of a recording that has no checksums."""
    data = bytearray((path / "samples.parquet").read_bytes())
    data[100:-2000] = bytes(len(data) - 2100)
    (path / "samples.parquet").write_bytes(data)
    of_older_version(path)


def fill(root: Path, outside: Path) -> None:
    """Recordings of all kinds, damage of all kinds, and links to what is `outside`."""

    def make(name: str, frame: pl.DataFrame | None = None, slot: str | None = None) -> Path:
        conditions = None if slot is None else {"slot": slot}
        frame = samples() if frame is None else frame
        return make_recording(root / name, frame, rw="write", conditions=conditions).path

    meta = (make("a/one", slot="top") / "recording.json").read_text()
    make("a/two", slot="bottom")
    for name in STRANGE:
        make(name.replace("/", "_"))
    make("plain").rename(root / os.fsdecode(b"no-\xff utf8 \x1b[31m"))
    make("hot", samples().with_columns(pl.Series("temp_c.composite", 75 + np.arange(600) / 600)))
    make("idle", samples().with_columns(write_bw_mb_s=0.0))
    damage_within(make("broken", samples(count=6000)))
    parquet = make("damaged") / "samples.parquet"
    parquet.write_bytes(parquet.read_bytes()[: parquet.stat().st_size // 2])
    journal = running(root / "cut").directory / "samples.jsonl"
    journal.write_bytes(journal.read_bytes()[:-7])
    os.utime(journal, (0, 0))
    for name in UNREAD:
        (root / name).mkdir()
    os.mkfifo(root / "fifo" / "recording.json")
    with (root / "huge" / "recording.json").open("wb") as file:
        file.truncate(3 << 30)
    (root / "directory" / "recording.json").mkdir()
    (root / "dangling" / "recording.json").symlink_to("nowhere")
    (root / "wrong" / "recording.json").write_text('{"schema_version": [1], "drive": 7}')
    (root / "no-json" / "recording.json").write_text("{")
    (root / "deep-json" / "recording.json").write_text("[" * 100_000)
    (root / "samples-fifo" / "recording.json").write_text(meta)
    os.mkfifo(root / "samples-fifo" / "samples.parquet")
    secret = make_recording(outside / "secret", samples(), rw="write").path
    (root / "link").symlink_to(secret)
    (root / "loop").symlink_to(root)
    for file_name in ("recording.json", "samples.parquet"):
        (root / "half" / file_name).symlink_to(secret / file_name)


@dataclass(frozen=True)
class Ground:
    """A directory with all that there may be, and the server of it."""

    root: Path
    outside: Path
    server: Served


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    root, outside = (tmp_path_factory.mktemp(name) for name in ("shown", "outside"))
    fill(root, outside)
    with socket.socket(socket.AF_UNIX) as listening, chdir(root / "socket"):
        listening.bind("recording.json")
    with served(root) as server:
        yield Ground(root, outside, server)


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    make_recording(tmp_path / "shown" / "a" / "one", samples(), rw="write")
    return tmp_path / "shown"


def test_it_lists_recordings_and_shows_one_or_all_below_a_directory(ground: Ground) -> None:
    status, contents, headers = ground.server.ask("/")
    assert status == 200
    assert headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "<script" not in contents
    assert "\x1b" not in contents
    links = re.findall(r'<a href="([^"]+)"', contents)
    assert {"/r/", "/r/a/", "/r/a/one/", "/r/a/two/", f"/r/{quote(NO_UTF8)}/"} < set(links)
    for link in links:
        status, html, _ = ground.server.ask(link)
        is_damaged = link in ("/r/broken/", "/r/damaged/")
        assert status == (500 if is_damaged else 200), link
        assert is_damaged or "heatsoak-page" in html
    for name in (*STRANGE, NO_UTF8):
        assert f"/r/{quote(name.replace('/', '_'))}/" in links
    page = json.loads(ground.server.ask("/r/a/page.json")[1])
    assert [one["label"] for one in page["recordings"]] == ["top", "bottom"]
    assert not page["is_live"]
    own = json.loads(ground.server.ask("/r/a/one/page.json")[1])
    recording = Recording.open(ground.root / "a" / "one")
    assert own["recordings"][0]["findings"]["path"] == str(recording.path)


def answers_of(server: Served) -> dict[str, str]:
    """Return the second column of the list, by the name in the first."""
    _, contents, _ = server.ask("/")
    rows = re.findall(r"<tr><td><a [^>]*>(.*?)</a></td><td>(.*?)</td>", contents)
    return {name: re.sub(r"<[^>]*>", " ", cell).strip() for name, cell in rows}


def test_the_list_shows_the_answer_of_each_recording_once_it_is_judged(ground: Ground) -> None:
    live = running(ground.root / "live")

    def is_judged() -> bool:
        return "being judged" not in answers_of(ground.server).values()

    assert until(is_judged)
    found = answers_of(ground.server)
    assert found["a/one"].startswith("did not throttle")
    assert "held its speed" in found["a/one"]
    assert found["hot"].startswith("cannot tell")
    assert found["idle"].startswith("not loaded")
    assert found["broken"].startswith("cannot be judged: ")
    assert found["live"] == "when it is finished"
    # nothing is judged twice: all answers are there at once
    assert is_judged()
    # but what has changed is
    live.finish("finished", 60.0)
    assert until(is_judged)
    assert answers_of(ground.server)["live"].startswith("did not throttle")


def test_nothing_outside_the_directory_can_be_read(ground: Ground) -> None:
    secret = ground.outside / "secret"
    paths = [
        *(f"/r/../{ground.outside.name}/secret/", f"/r/a/../../../{ground.outside.name}/secret/"),
        *(f"/r/%2e%2e/{ground.outside.name}/secret/", f"/r/..%2f{ground.outside.name}%2fsecret/"),
        *("/r/a/..%5c..%5coutside/", "/r//etc/passwd/", f"/r/{quote(str(secret), safe='')}/"),
        *(f"/r/{secret}/page.json", "/r/link/", "/r/half/page.json", "/r/loop/a/one/"),
        *("/r/a/one/recording.json", "/r/a/one/samples.parquet", "/r/%00/", "/r/a%0d%0aX: y/"),
        *("/static/../../etc/passwd", "//etc/passwd"),
    ]
    for path in paths:
        status, _, headers = ground.server.ask(path.replace(" ", "%20"))
        if status == 307:  # there is an address that ends with a slash
            status, _, _ = ground.server.ask(urlsplit(headers["location"]).path)
        assert status == 404, path
    contents = ground.server.ask("/")[1]
    assert len(re.findall(r'href="/r/a/(one|two)/"', contents)) == 2
    assert "secret" not in contents


def test_only_this_machine_may_ask_and_only_to_read(ground: Ground) -> None:
    files = [path for path in (ground.root / "a").rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    server = ground.server
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example", "x"):
        status, text, _ = server.ask("/r/a/one/page.json", host=host)
        assert status == 400, host
        assert "a drive" not in text
    for host in ("localhost", f"localhost:{server.port}", "127.0.0.1"):
        assert server.ask("/", host=host)[0] == 200
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        for path in ("/", "/r/a/one/", "/r/a/one/page.json"):
            assert server.ask(path, method)[0] == 405
    assert {path: path.read_bytes() for path in files if path.is_file()} == before


def test_what_is_damaged_truncated_or_deleted_is_reported_and_the_rest_works(
    ground: Ground,
) -> None:
    status, text, _ = ground.server.ask("/r/cut/page.json")
    assert status == 200
    assert not json.loads(text)["is_live"]
    status, text, _ = ground.server.ask("/r/damaged/")
    assert status == 500
    assert "samples.parquet: is damaged" in text
    gone = make_recording(ground.root / "gone", samples(), rw="write").path
    assert ground.server.ask("/r/gone/")[0] == 200
    for file in gone.iterdir():
        file.unlink()
    assert ground.server.ask("/r/gone/")[0] == 404
    # all that can be read is there, though some of it is damaged within
    status, text, _ = ground.server.ask("/r/page.json")
    assert status == 200, text
    paths = {Path(one["findings"]["path"]) for one in json.loads(text)["recordings"]}
    assert {ground.root / name for name in ("a/one", "a/two", "hot", "idle", "cut")} < paths
    assert not {ground.root / name for name in ("broken", "damaged")} & paths
    told = (Path("/proc") / str(ground.server.process.pid) / "status").read_text()
    assert int(re.findall(r"VmHWM:\s+(\d+)", told)[0]) < 1 << 20  # in KiB


def test_what_cannot_be_read_is_listed_with_its_reason(ground: Ground) -> None:
    for _ in range(2):  # the second time from what is remembered
        status, contents, _ = ground.server.ask("/")
        assert status == 200
        listed = contents.split("Unreadable recordings")[1]
        told = dict(re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td></tr>", listed))
        assert told.keys() >= UNREAD.keys()
        assert all(why and "\n" not in why for why in told.values())
        assert all(why in told[name] for name, why in UNREAD.items())
    for name in UNREAD:
        assert ground.server.ask(f"/r/{name}/")[0] in (404, 500), name
    assert "not a regular file" in ground.server.ask("/r/fifo/")[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_told_to_whatever_it_is_reading(shown: Path, number: signal.Signals) -> None:
    code = (
        "import threading\n"
        "from heatsoak.cli import main\n"
        "from heatsoak.serve.library import Library\n"
        "Library.contents = lambda self: print('reading', flush=True) or threading.Event().wait()\n"
        "main()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, "serve", str(shown), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().split()[0])
        assert address.port is not None
        with socket.create_connection(("127.0.0.1", address.port)) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert "reading\n" in iter(process.stdout.readline, "")
            process.send_signal(number)
            try:
                assert process.wait(timeout=30) == 0
            finally:
                process.kill()


def test_a_running_recording_is_sent_as_it_grows_and_when_it_ends(ground: Ground) -> None:
    """Sample by sample, a step that starts meanwhile too."""
    server, writer = ground.server, running(ground.root / "now", "next")
    assert ">running<" in server.ask("/")[1]
    assert json.loads(server.ask("/r/now/page.json")[1])["is_live"]
    with server.listen("/r/now/events") as connection:
        told = events(connection)
        connection.recv(1, socket.MSG_PEEK)  # it answers once it follows
        more = samples(start_s=60.0, count=20)
        writer.append(more)
        got: dict[str, tuple[list[float], list[float]]] = {}
        while not got:
            name, data = next(told)
            if name == "append":
                got = {one["track"]: (one["t"], one["v"]) for one in json.loads(data)}
        assert got["write_bw_mb_s"][0] == pytest.approx(more["t_s"].to_list(), abs=1e-3)
        assert got["write_bw_mb_s"][1] == pytest.approx(more["write_bw_mb_s"].to_list(), rel=1e-5)
        assert len(got["temp_c.composite"][0]) == 2
        names: list[str] = []
        for turn in range(20):
            more = samples(start_s=62.0 + turn, count=10)
            writer.append(more.with_columns(step=pl.lit("next")))
            names.append(next(told)[0])
            if "page" in names and names[-1] == "append":
                break
        assert "page" in names
        assert names[-1] == "append"
        page = json.loads(server.ask("/r/now/page.json")[1])
        assert [workload["step"] for workload in page["workloads"]] == ["load", "next"]
        writer.finish("finished", 90.0)
        assert [name for name, _ in told][-1] == "page"
    assert not json.loads(server.ask("/r/now/page.json")[1])["is_live"]
    assert server.ask("/r/now/events")[0] == 204


def test_a_recording_that_is_deleted_while_it_is_followed_ends_the_events(ground: Ground) -> None:
    deleted = running(ground.root / "deleted").directory
    with ground.server.listen("/r/deleted/events") as connection:
        told = events(connection)
        connection.recv(1, socket.MSG_PEEK)  # it answers once it follows
        for file in deleted.iterdir():
            if file.is_file():
                file.unlink()
        assert [name for name, _ in told][-1] == "page"
    assert ground.server.ask("/r/deleted/")[0] == 404
    assert ground.server.ask("/r/a/one/")[0] == 200


@pytest.mark.long
def test_a_thousand_browsers_get_an_answer_each(shown: Path) -> None:
    writer = running(shown / "now")
    with served(shown) as server, ExitStack() as stack:
        try:
            open_ones = [stack.enter_context(server.listen("/r/now/events")) for _ in range(1000)]
        except OSError as error:
            pytest.skip(f"this machine gives no thousand connections: {error.strerror}")
        answers: list[bytes] = []
        for connection in open_ones:  # each waits a minute at most
            connection.settimeout(60)
            answers.append(connection.recv(4096).split(b"\r\n")[0])
        assert set(answers) <= {b"HTTP/1.1 200 OK", b"HTTP/1.1 503 Service Unavailable"}
        assert answers.count(b"HTTP/1.1 200 OK") >= 500
        writer.append(samples(start_s=60.0, count=10))
        heard = 0
        for connection in open_ones[:20]:
            connection.settimeout(30)
            # a busy machine may first be told to ask for the page again
            heard += any(name == "append" for name, _ in events(connection))
        assert heard == 20
    writer.finish("finished", 61.0)


def test_a_port_in_use_and_a_path_that_is_not_a_directory_are_one_line_each(
    tmp_path: Path,
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        line = complaint(heatsoak_here("serve", ".", "--port", port, cwd=tmp_path), 2)
        assert f"--port {port}: cannot listen on it" in line
    line = complaint(heatsoak_here("serve", "nowhere", cwd=tmp_path), 2)
    assert "nowhere: is not a directory" in line


def test_an_empty_directory_says_what_would_fill_it(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        status, text, _ = server.ask("/")
        assert status == 200
        assert "heatsoak run" in text
        assert server.ask("/r/")[0] == 404
