"""``heatsoak serve``: what it shows, and what it never does."""

import http.client
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np
import polars as pl
import pytest
from browsed import Opened
from command import complaint, heatsoak_here, ran
from heatsoak.protocol import Protocol
from heatsoak.recording import Recording, RecordingWriter
from heatsoak.report.page.html import Bundle
from made_recording import held, make_recording, of_older_version
from other_user import as_other_user
from waiting import until


def is_built() -> bool:
    try:
        Bundle.load()
    except Exception:
        return False
    return True


pytest_plugins = ["browsed"]
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
        self.address = address
        found = urlsplit(address)
        assert found.hostname == "127.0.0.1"
        assert found.port is not None
        self.port = found.port
        self.token = found.query.removeprefix("token=")

    def ask(
        self,
        path: str,
        method: str = "GET",
        host: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, str, dict[str, str]]:
        """Ask for a path just as it stands, dots and all; with the token, but for own `headers`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=200)
        try:
            connection.putrequest(method, path, skip_host=True)
            connection.putheader("Host", host or f"127.0.0.1:{self.port}")
            for name, value in (self.bearer() if headers is None else headers).items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            text = answer.read().decode()
            return answer.status, text, {k.lower(): v for k, v in answer.getheaders()}
        finally:
            connection.close()

    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def listen(self, path: str) -> socket.socket:
        """Begin to listen to events."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=200)
        headers = {"Host": f"localhost:{self.port}", "Connection": "close", **self.bearer()}
        lines = (f"GET {path} HTTP/1.1", *(f"{name}: {text}" for name, text in headers.items()))
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        return connection


@contextmanager
def served(
    directory: Path, *more: str, code: str = "", env: Mapping[str, str] | None = None
) -> Iterator[Served]:
    """Serve a directory; `code` is run before."""
    words = [sys.executable, "-c", f"{code}\nfrom heatsoak.cli import main\nmain()"]
    with subprocess.Popen(
        [*words, "serve", str(directory), "--port", "0", *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": "1000", **(env or {})},
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
            line = f"GET /?{address.query} HTTP/1.1\r\nHost: localhost\r\n\r\n"
            connection.sendall(line.encode())
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


def test_a_port_in_use_and_a_path_that_is_not_a_directory_are_one_line_each(tmp_path: Path) -> None:
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


def test_the_address_lets_a_browser_in_and_leaves_it_a_cookie_without_the_token(
    ground: Ground,
) -> None:
    server = ground.server
    page = {"Accept": "text/html,*/*;q=0.8"}
    status, _, headers = server.ask(f"/r/a/one/?token={server.token}", headers=page)
    assert (status, headers["location"]) == (303, "/r/a/one/")
    cookie, *rules = headers["set-cookie"].split("; ")
    assert {"httponly", "samesite=strict"} <= {rule.lower() for rule in rules}
    assert server.token not in cookie
    for path in ("/", "/r/a/one/", "/r/a/one/page.json"):
        assert server.ask(path, headers={**page, "Cookie": cookie})[0] == 200
    # the address may be opened again, and leads nowhere else
    status, _, headers = server.ask(f"//elsewhere/?token={server.token}", headers=page)
    assert (status, headers["location"]) == (303, "/elsewhere/")
    # a script is answered at once
    assert server.ask(f"/?token={server.token}", headers={})[0] == 200
    assert server.ask("/", headers={"Cookie": f"{cookie}x"})[0] == 403
    assert server.ask("/", headers={"Cookie": cookie.replace(str(server.port), "1")})[0] == 403


def test_a_browser_follows_a_running_recording_by_its_cookie_and_another_is_told_what_to_open(
    browser: Any, ground: Ground
) -> None:
    writer = running(ground.root / "followed")
    page = f"http://127.0.0.1:{ground.server.port}/r/followed/"
    with browser.new_context() as context:
        opened = Opened(context.new_page())
        tab, shown = opened.tab, opened.until
        tab.goto(ground.server.address)
        assert tab.url == f"http://127.0.0.1:{ground.server.port}/"
        tab.locator("a", has_text="followed").click()
        shown(lambda: tab.locator(".live").inner_text() == "live")
        shown(lambda: tab.locator("#w1 canvas").count())
        writer.append(samples(start_s=60.0, count=10))

        def is_at_end() -> bool:
            tab.locator("#w1 .chart").focus()
            tab.keyboard.press("End")
            return str(tab.locator("#w1 .chart [aria-live]").inner_text()).startswith("61")

        shown(is_at_end)
        assert tab.evaluate("document.cookie") == ""
    writer.finish("finished", 61.0)
    with browser.new_context() as context:
        tab = context.new_page()
        assert tab.goto(page).status == 403
        assert "open the address that heatsoak serve printed" in tab.inner_text("body")


ASK = """
import http.client, json, sys
port, *paths = sys.argv[1:]
for path in paths:
    for method in ("GET", "HEAD", "POST"):
        for headers in ({}, {"Authorization": "Bearer x"}, {"Cookie": f"heatsoak-{port}=x"}):
            connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=200)
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            print(json.dumps([path, method, answer.status, answer.read().decode()]))
"""


def test_another_user_is_refused_at_every_address_in_one_line(ground: Ground) -> None:
    paths = ["/", "/r/", "/r/page.json", "/r/events", "/nothing", "/favicon.ico", "/static/x.js"]
    paths += [f"/r/a/one/{name}" for name in ("", "page.json", "events", "recording.json")]
    paths += ["/?token=", "/?token=wrong", f"/?token={ground.server.token[:-1]}", "/?token=%ff"]
    line = as_other_user(sys.executable, "-c", ASK, str(ground.server.port), *paths)
    done = subprocess.run(line, capture_output=True, text=True, check=True, cwd="/")
    answers = [json.loads(told) for told in done.stdout.splitlines()]
    assert len(answers) == len(paths) * 9
    for path, method, status, text in answers:
        assert status == 403, (path, method)
        assert text.count("\n") == (method != "HEAD")
        assert method == "HEAD" or "open the address that heatsoak serve printed" in text
    assert ground.server.ask("/", headers={})[2]["connection"] == "close"


def test_a_token_of_ones_own_comes_from_the_environment_or_a_file_and_is_not_shown(
    shown: Path,
) -> None:
    (shown / "secret").write_text("from+a/file-0123456789==\n")
    env = {"HEATSOAK_TOKEN": "from-the-environment"}
    for more, token in (
        ((), "from-the-environment"),
        (("--token-file", str(shown / "secret")), "from+a/file-0123456789=="),
    ):
        with served(shown, *more, env=env) as server:
            assert not server.token
            assert server.ask("/", headers={})[0] == 403
            assert server.ask("/", headers={"Authorization": f"bearer {token}"})[0] == 200
            assert server.ask(f"/?token={token}", headers={})[0] == 200


def test_a_token_that_can_be_guessed_or_is_not_there_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "weak").write_text("secret\n")
    for file, why in (
        ("weak", "16 to 256 letters"),
        ("missing", "No such file"),
        (".", "directory"),
    ):
        line = complaint(heatsoak_here("serve", ".", "--token-file", file, cwd=tmp_path), 2)
        assert f"--token-file {file}: " in line
        assert why in line
        assert "secret" not in line
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEATSOAK_TOKEN", "")
        line = complaint(heatsoak_here("serve", ".", cwd=tmp_path), 2)
    assert "HEATSOAK_TOKEN: a token is" in line


CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"


def test_a_socket_is_of_its_user_alone_and_goes_with_the_server(shown: Path) -> None:
    path = shown / "s"
    with subprocess.Popen(
        [sys.executable, "-m", "heatsoak", "serve", str(shown), "--socket", str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "1000"},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(f"{path} shows the recordings below ")
        assert stat.S_IMODE(path.lstat().st_mode) == 0o600
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            connection.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
            assert b" 200 OK" in connection.recv(100)
        line = complaint(heatsoak_here("serve", ".", "--socket", str(path), cwd=shown), 2)
        assert f"--socket {path}: cannot listen on it: " in line
        if os.geteuid() == 0:
            words = as_other_user(sys.executable, "-c", CONNECT, str(path), sees=[shown])
            done = ran(*words, cwd="/")
            assert "PermissionError" in done.stderr
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=200) == 0
    assert not path.exists()


def unfinished(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=200)
    connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    return connection


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_thousand_unfinished_requests_keep_nobody_out(ground: Ground) -> None:
    with ExitStack() as stack:
        waiting = [stack.enter_context(unfinished(ground.server.port)) for _ in range(1000)]
        assert ground.server.ask("/")[0] == 200
        assert "heatsoak-page" in ground.server.ask("/r/a/one/")[1]
        # most are given up soon, to make room
        assert all(is_closed(connection) for connection in waiting[:500])


def test_a_request_that_is_never_finished_is_given_up_however_it_drips(shown: Path) -> None:
    code = "from heatsoak.serve import access\naccess._HEAD_S = 1.5"
    with served(shown, code=code) as server, unfinished(server.port) as dripping:

        def is_given_up() -> bool:
            try:
                dripping.sendall(b"x")
            except OSError:
                return True
            return False

        assert until(is_given_up)
        # nor may the next request of a connection, or the body of one, take longer
        with socket.create_connection(("127.0.0.1", server.port), timeout=200) as connection:
            lines = [f"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.token}"]
            connection.sendall("\r\n".join([*lines, "Content-Length: 99", "", "x"]).encode())
            while connection.recv(1 << 16):
                pass
