"""``heatsoak serve``: what it shows, and what it never does."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import numpy as np
import polars as pl
import pytest
from command import complaint, heatsoak
from heatsoak.protocol import Protocol
from heatsoak.recording import Event, Recording, RecordingMeta, RecordingWriter
from heatsoak.report.page.html import Bundle
from made_recording import make_recording, of_older_version
from waiting import until


def is_built() -> bool:
    try:
        Bundle.load()
    except Exception:
        return False
    return True


pytestmark = pytest.mark.skipif(not is_built(), reason="the page's program was not built: no Node")


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
    meta = RecordingMeta(
        protocol=Protocol.model_validate(
            {
                "name": "x",
                "steps": [{"name": name, "rw": "write", "bs": "128k"} for name in ("load", *later)],
            }
        ),
        conditions={},
        drive={"model": "a drive"},
        columns={name: str(dtype) for name, dtype in frame.schema.items()},
        started_unix_s=time.time(),
    )
    writer = RecordingWriter(path, meta)
    writer.event(Event(t_s=0.0, kind="step-begin", step="load"))
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


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    root = tmp_path / "shown"
    make_recording(root / "a" / "one", samples(), rw="write", conditions={"slot": "top"})
    make_recording(root / "a" / "two", samples(), rw="write", conditions={"slot": "bottom"})
    return root


@pytest.mark.slow
def test_it_lists_recordings_and_shows_one_or_all_below_a_directory(shown: Path) -> None:
    strange = 'größe <script>alert("x")</script> & 100 %'
    make_recording(shown / strange.replace("/", "_"), samples(), rw="write")
    with served(shown) as server:
        status, contents, headers = server.ask("/")
        assert status == 200
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "<script" not in contents
        links = re.findall(r'<a href="([^"]+)"', contents)
        assert {"/r/", "/r/a/", "/r/a/one/", "/r/a/two/"} < set(links)
        assert len(links) == 5
        for link in links:
            status, html, _ = server.ask(link)
            assert status == 200
            assert "heatsoak-page" in html
        _, text, _ = server.ask("/r/a/page.json")
        page = json.loads(text)
        assert [one["label"] for one in page["recordings"]] == ["top", "bottom"]
        assert not page["is_live"]


def answers_of(server: Served) -> dict[str, str]:
    """Return the second column of the list, by the name in the first."""
    _, contents, _ = server.ask("/")
    rows = re.findall(r"<tr><td><a [^>]*>(.*?)</a></td><td>(.*?)</td>", contents)
    return {name: re.sub(r"<[^>]*>", " ", cell).strip() for name, cell in rows}


@pytest.mark.slow
def test_the_list_shows_the_answer_of_each_recording_once_it_is_judged(shown: Path) -> None:
    t_s = np.arange(1, 601) * 0.1
    hot = samples().with_columns(pl.Series("temp_c.composite", 75 + t_s / 60))
    make_recording(shown / "hot", hot, rw="write")
    make_recording(shown / "idle", samples().with_columns(write_bw_mb_s=0.0), rw="write")
    broken = make_recording(shown / "broken", samples(count=6000), rw="write").path
    data = bytearray((broken / "samples.parquet").read_bytes())
    data[100:-2000] = bytes(len(data) - 2100)
    (broken / "samples.parquet").write_bytes(data)
    of_older_version(broken)
    live = running(shown / "live")
    with served(shown) as server:

        def is_judged() -> bool:
            return "being judged" not in answers_of(server).values()

        assert until(is_judged)
        found = answers_of(server)
        assert found["a/one"].startswith("did not throttle")
        assert "held its speed" in found["a/one"]
        assert found["hot"].startswith("cannot tell")
        assert found["idle"].startswith("not loaded")
        assert found["broken"].startswith("cannot be judged: ")
        assert found["live"] == "when it is finished"
        # nothing is judged twice: all answers are there at once
        assert is_judged()
        # but what has changed is
        make_recording(shown / "again", hot, rw="write").path.rename(shown / "new")
        assert until(is_judged)
        assert answers_of(server)["new"].startswith("cannot tell")
    live.finish("finished", 60.0)


@pytest.mark.slow
def test_nothing_outside_the_directory_can_be_read(shown: Path, tmp_path: Path) -> None:
    secret = make_recording(tmp_path / "outside" / "secret", samples(), rw="write")
    (shown / "link").symlink_to(secret.path)
    (shown / "loop").symlink_to(shown)
    half = shown / "half"
    half.mkdir()
    (half / "recording.json").symlink_to(secret.path / "recording.json")
    (half / "samples.parquet").symlink_to(secret.path / "samples.parquet")
    paths = [
        "/r/../outside/secret/",
        "/r/a/../../../outside/secret/",
        "/r/%2e%2e/outside/secret/",
        "/r/..%2foutside%2fsecret/",
        "/r/a/..%5c..%5coutside/",
        "/r//etc/passwd/",
        f"/r/{quote(str(secret.path), safe='')}/",
        f"/r/{secret.path}/page.json",
        "/r/link/",
        "/r/half/page.json",
        "/r/loop/a/one/",
        "/r/a/one/recording.json",
        "/r/a/one/samples.parquet",
        "/r/%00/",
        "/r/a%0d%0aX: y/",
        "/static/../../etc/passwd",
        "//etc/passwd",
    ]
    with served(shown) as server:
        for path in paths:
            status, _, headers = server.ask(path.replace(" ", "%20"))
            if status == 307:  # there is an address that ends with a slash
                status, _, _ = server.ask(urlsplit(headers["location"]).path)
            assert status == 404, path
        contents = server.ask("/")[1]
        assert len(re.findall(r'href="/r/a/(one|two)/"', contents)) == 2
        assert "secret" not in contents


@pytest.mark.slow
def test_only_this_machine_may_ask_and_only_to_read(shown: Path) -> None:
    before = {path: path.read_bytes() for path in shown.rglob("*") if path.is_file()}
    with served(shown) as server:
        for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example", "x"):
            status, text, _ = server.ask("/r/a/one/page.json", host=host)
            assert status == 400, host
            assert "a drive" not in text
        for host in ("localhost", f"localhost:{server.port}", "127.0.0.1"):
            assert server.ask("/", host=host)[0] == 200
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            for path in ("/", "/r/a/one/", "/r/a/one/page.json"):
                assert server.ask(path, method)[0] == 405
    assert {path: path.read_bytes() for path in shown.rglob("*") if path.is_file()} == before


@pytest.mark.slow
def test_what_is_damaged_truncated_or_deleted_is_reported_and_the_rest_works(shown: Path) -> None:
    cut = running(shown / "cut")
    journal = shown / "cut" / "samples.jsonl"
    journal.write_bytes(journal.read_bytes()[:-7])
    os.utime(journal, (0, 0))
    (shown / "broken").mkdir()
    (shown / "broken" / "recording.json").write_text("{")
    damaged = make_recording(shown / "damaged", samples(), rw="write").path / "samples.parquet"
    damaged.write_bytes(damaged.read_bytes()[: damaged.stat().st_size // 2])
    with served(shown) as server:
        assert server.ask("/r/a/one/")[0] == 200
        status, text, _ = server.ask("/r/cut/page.json")
        assert status == 200
        assert not json.loads(text)["is_live"]
        assert server.ask("/r/broken/")[0] == 404
        status, text, _ = server.ask("/r/damaged/")
        assert status == 500
        assert "samples.parquet: is damaged" in text
        for file in (shown / "a" / "one").iterdir():
            if file.is_file():
                file.unlink()
        assert server.ask("/r/a/one/")[0] == 404
        assert server.ask("/r/a/two/")[0] == 200
        assert server.ask("/")[0] == 200
    cut.finish("interrupted", 60.0)


@pytest.mark.slow
def test_what_cannot_be_read_is_listed_with_its_reason_and_everything_else_works(
    shown: Path,
) -> None:
    meta = (shown / "a" / "one" / "recording.json").read_text()
    names = [
        "fifo",
        "huge",
        "directory",
        "dangling",
        "socket",
        "wrong",
        "deep-json",
        "samples-fifo",
    ]
    for name in names:
        (shown / name).mkdir()
    os.mkfifo(shown / "fifo" / "recording.json")
    with (shown / "huge" / "recording.json").open("wb") as file:
        file.truncate(3 << 30)
    (shown / "directory" / "recording.json").mkdir()
    (shown / "dangling" / "recording.json").symlink_to("nowhere")
    (shown / "wrong" / "recording.json").write_text('{"schema_version": [1], "drive": 7}')
    (shown / "deep-json" / "recording.json").write_text("[" * 100_000)
    (shown / "samples-fifo" / "recording.json").write_text(meta)
    os.mkfifo(shown / "samples-fifo" / "samples.parquet")
    no_utf8 = os.fsdecode(b"no-\xff utf8 \x1b[31m")
    make_recording(shown / "plain", samples(), rw="write").path.rename(shown / no_utf8)
    make_recording(shown / "brackets [1]*?", samples(), rw="write")
    with (
        socket.socket(socket.AF_UNIX) as listening,
        served(shown) as server,
    ):
        listening.bind(str(shown / "socket" / "recording.json"))
        for _ in range(2):  # the second time from what is remembered
            status, contents, _ = server.ask("/")
            assert status == 200
            listed = contents.split("Unreadable recordings")[1]
            told = dict(re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td></tr>", listed))
            assert sorted(told) == sorted(names)
            assert all(why and "\n" not in why for why in told.values())
            assert told["fifo"] == "recording.json: is a pipe, not a regular file"
            assert told["samples-fifo"] == "samples.parquet: is a pipe, not a regular file"
            assert "larger than" in told["huge"]
            assert "link" in told["dangling"]
        for name in ("no-\\xff utf8 \\x1b[31m", "brackets [1]*?", "a/one"):
            status, html, _ = server.ask(f"/r/{quote(name)}/")
            assert status == 200, name
            assert "heatsoak-page" in html
        assert "\x1b" not in contents
        status, text, _ = server.ask("/r/page.json")
        assert status == 200, text
        page = json.loads(text)
        assert len(page["recordings"]) == 4
        assert "not a regular file" in server.ask("/r/fifo/")[1]
        rss_kib = int(
            re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{server.process.pid}/status").read_text())[0]
        )
        assert rss_kib < 1 << 20


@pytest.mark.slow
def test_a_recording_whose_samples_are_damaged_within_takes_no_other_with_it(shown: Path) -> None:
    broken = make_recording(shown / "broken", samples(count=6000), rw="write").path
    data = bytearray((broken / "samples.parquet").read_bytes())
    data[100:-2000] = bytes(len(data) - 2100)
    (broken / "samples.parquet").write_bytes(data)
    of_older_version(broken)
    with served(shown) as server:
        assert server.ask("/")[0] == 200
        status, text, _ = server.ask("/r/page.json")
        assert status == 200
        assert len(json.loads(text)["recordings"]) == 2
        assert server.ask("/r/broken/")[0] == 500


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_told_to_whatever_it_is_reading(shown: Path, number: signal.Signals) -> None:
    code = (
        "import threading\n"
        "from heatsoak.cli import main\n"
        "from heatsoak.serve.library import Library\n"
        "Library.contents = lambda self: threading.Event().wait()\n"
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
            time.sleep(1)
            process.send_signal(number)
            try:
                assert process.wait(timeout=30) == 0
            finally:
                process.kill()


@pytest.mark.slow
def test_a_running_recording_is_sent_as_it_grows_and_when_it_ends(shown: Path) -> None:
    writer = running(shown / "now")
    with served(shown) as server:
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
            assert got["write_bw_mb_s"][1] == pytest.approx(
                more["write_bw_mb_s"].to_list(), rel=1e-5
            )
            assert len(got["temp_c.composite"][0]) == 2
            writer.finish("finished", 62.0)
            assert [name for name, _ in told][-1] == "page"
        status, text, _ = server.ask("/r/now/page.json")
        assert status == 200
        assert not json.loads(text)["is_live"]
        assert server.ask("/r/now/events")[0] == 204


@pytest.mark.slow
def test_a_step_that_starts_while_it_is_followed_is_sent_sample_by_sample(shown: Path) -> None:
    writer = running(shown / "now", "next")
    with served(shown) as server, server.listen("/r/now/events") as connection:
        told = events(connection)
        connection.recv(1, socket.MSG_PEEK)
        names: list[str] = []
        for turn in range(20):
            more = samples(start_s=61.0 + turn, count=10)
            writer.append(more.with_columns(step=pl.lit("next")))
            names.append(next(told)[0])
            if names[-1] == "append":
                break
        assert "page" in names
        assert names[-1] == "append"
        page = json.loads(server.ask("/r/now/page.json")[1])
        assert [workload["step"] for workload in page["workloads"]] == ["load", "next"]
        writer.finish("finished", 90.0)
        assert [name for name, _ in told][-1] == "page"


@pytest.mark.slow
def test_a_recording_that_is_deleted_while_it_is_followed_ends_the_events(shown: Path) -> None:
    writer = running(shown / "now")
    with served(shown) as server:
        with server.listen("/r/now/events") as connection:
            told = events(connection)
            connection.recv(1, socket.MSG_PEEK)  # it answers once it follows
            for file in (shown / "now").iterdir():
                if file.is_file():
                    file.unlink()
            assert [name for name, _ in told][-1] == "page"
        assert server.ask("/r/now/")[0] == 404
        assert server.ask("/r/a/one/")[0] == 200
    assert writer.directory == shown / "now"


@pytest.mark.long
@pytest.mark.slow
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


@pytest.mark.slow
def test_a_port_in_use_and_a_path_that_is_not_a_directory_are_one_line_each(
    tmp_path: Path,
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        line = complaint(heatsoak("serve", ".", "--port", port, cwd=tmp_path), 2)
        assert f"--port {port}: cannot listen on it" in line
    line = complaint(heatsoak("serve", "nowhere", cwd=tmp_path), 2)
    assert "nowhere: is not a directory" in line


@pytest.mark.slow
def test_an_empty_directory_says_what_would_fill_it(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        status, text, _ = server.ask("/")
        assert status == 200
        assert "heatsoak run" in text
        assert server.ask("/r/")[0] == 404


@pytest.mark.slow
def test_recordings_are_opened_as_they_are(shown: Path) -> None:
    with served(shown) as server:
        _, text, _ = server.ask("/r/a/one/page.json")
    recording = Recording.open(shown / "a" / "one")
    assert json.loads(text)["recordings"][0]["findings"]["path"] == str(recording.path)
