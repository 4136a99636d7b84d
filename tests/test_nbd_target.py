"""NBD exports of a real nbdkit, loaded by the real fio."""

import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, chdir
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from command import complaint, heatsoak_here
from drive_contents import CONTENTS
from guarded import Drive
from heatsoak.errors import HeatsoakError, NotEmptyError, RefusedError, ToolError, UsageError
from heatsoak.protocol import WorkloadStep
from heatsoak.sensor import Roots
from heatsoak.target import Batch, Note, parse_place
from heatsoak.target.fio import NbdTarget
from heatsoak.target.fio.nbd_client import Server, parse_uri
from heatsoak.target.lock import DIRECTORY_VARIABLE, drives_held
from hypothesis import given
from hypothesis import strategies as st
from needs import needs
from ports import free_port
from rest_long import rest_long
from waiting import until

MIB = 1 << 20
SIZE = 64 * MIB

pytestmark = [needs("nbdkit"), pytest.mark.slow]


class Servers:
    """Starts nbdkits, each on a socket of its own unless told otherwise."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self._directory = directory
        self._stack = stack
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._count = 0

    def __call__(self, *words: str | Path, uri: str = "") -> str:
        """Serve by these words at `uri`; return the URI."""
        self._count += 1
        uri = uri or f"nbd+unix:///?socket={self._directory / f'{self._count}.sock'}"
        pid = self._directory / f"{self._count}.pid"
        there = parse_uri(uri)
        port = ["-i", there.host, "-p", str(there.port)]
        at = port if there.socket is None else ["-U", there.socket]
        command = ["nbdkit", "--exit-with-parent", "-f", *at, "-P", pid, *words]
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        self._stack.callback(server.wait)
        self._stack.callback(server.kill)
        assert until(lambda: pid.exists() or server.poll() is not None)
        assert server.poll() is None
        self._running[uri] = server
        return uri

    def kill(self, uri: str) -> None:
        """End the server at `uri` at once; its socket stays, as after any crash."""
        self._running[uri].kill()
        self._running[uri].wait()

    def free(self, uri: str) -> None:
        """Make room at `uri` for another server, of which the old one knows nothing."""
        there = parse_uri(uri)
        if there.socket is None:
            self.kill(uri)
        else:
            Path(there.socket).unlink()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(tmp_path, stack)


def tcp_uri() -> str:
    return f"nbd://127.0.0.1:{free_port()}"


def image(at: Path, *filled: tuple[int, bytes], size: int = SIZE) -> Path:
    """Make a sparse file that has data in some places."""
    with at.open("wb") as file:
        file.truncate(size)
        for offset, data in filled:
            file.seek(offset)
            file.write(data)
    return at


def ext4(at: Path) -> Path:
    mkfs = shutil.which("mkfs.ext4", path="/usr/sbin:/sbin")
    if mkfs is None:
        pytest.skip("mkfs.ext4 is not installed")
    subprocess.run([mkfs, "-q", image(at)], check=True)
    return at


def write(**given: object) -> WorkloadStep:
    fields = {"name": "load", "rw": "write", "bs": "128k", "iodepth": 4}
    return WorkloadStep.model_validate(fields | given)


def test_a_rate_that_is_cut_while_fio_runs_is_seen_when_it_happens(
    serve: Servers, tmp_path: Path
) -> None:
    rate = tmp_path / "rate"
    rate.write_text("320M")  # bits
    uri = serve("--filter=rate", "memory", "1G", "rate=320M", f"rate-file={rate}", "burstiness=0.1")
    target = NbdTarget(uri)
    assert target.identity.size_bytes == 1 << 30
    target.open(writes=True)
    frames = []
    total = cut_s = 0.0
    for batch in target.run(write(runtime=5)):
        if isinstance(batch, Note):
            total = batch.data.get("write_bytes", total)
        elif isinstance(batch, pl.DataFrame) and batch.height:
            frames.append(batch)
            if len(frames) == 9:
                rate.write_text("80M")
                cut_s = target.clock.now_s()
    target.close()
    samples = pl.concat(frames)
    rate_mb_s = pl.col("write_bw_mb_s") * pl.col("interval_s")
    counted = samples.select(rate_mb_s.sum()).item() * 1e6
    assert counted == pytest.approx(total)
    before = samples.filter(pl.col("t_s").is_between(1.0, cut_s))["write_bw_mb_s"].median()
    after = samples.filter(pl.col("t_s") > cut_s + 1)["write_bw_mb_s"].median()
    assert isinstance(before, float)
    assert isinstance(after, float)
    assert after < before * 0.6


def test_an_export_that_holds_data_is_written_only_when_it_is_named_until_it_is_purged(
    serve: Servers,
) -> None:
    uri = serve("memory", "64M")
    target = NbdTarget(uri)
    target.open(writes=True)
    list(target.run(write(io_size="1m", offset="20m", span="1m")))
    target.close()
    name = f"{uri}:{64 * MIB}"
    with pytest.raises(RefusedError, match=f"has data, .* at byte {20 * MIB};") as caught:
        NbdTarget(uri).open(writes=True)
    assert f"--erase '{name}'" in str(caught.value)
    for wrong in (f"{uri}:1", uri, "", "nvme0n1"):
        with pytest.raises(RefusedError):
            NbdTarget(uri, wrong).open(writes=True)
    NbdTarget(uri).open(writes=False)
    target = NbdTarget(uri, name)
    target.open(writes=True)
    list(target.purge())
    with Server(uri) as server, server.connect() as export:
        assert not any(export.read(20 * MIB, 1 * MIB))
    NbdTarget(uri).open(writes=True)
    # one larger than any file can be named
    for size in ("17T", "9223372036854775807"):
        uri = serve("null", size)
        with pytest.raises(RefusedError, match="--erase names 'x', but this export is") as caught:
            NbdTarget(uri, "x").open(writes=True)
        NbdTarget(uri, str(caught.value).split("'")[-2]).open(writes=True)


def test_an_export_with_a_file_system_is_refused_even_when_it_is_named(
    serve: Servers, tmp_path: Path
) -> None:
    held = ext4(tmp_path / "image")
    uri = serve("file", held)
    before = held.read_bytes()
    for erase in (None, f"{uri}:{SIZE}"):
        with pytest.raises(RefusedError, match="it holds ext4"):
            NbdTarget(uri, erase).open(writes=True)
    assert held.read_bytes() == before


@pytest.mark.parametrize("part", rest_long(range(4), every=4))
def test_what_a_block_device_may_not_hold_an_export_may_not_hold_either(
    serve: Servers, tmp_path: Path, part: int
) -> None:
    (tmp_path / "all").mkdir()
    uri = serve("file", f"dir={tmp_path / 'all'}")
    for number, (name, (fill, word)) in enumerate(list(CONTENTS.items())[part::4]):
        held = image(tmp_path / "all" / str(number))
        fill(Drive(held, held))
        before = held.read_bytes()
        of_it = uri.replace("///", f"///{number}")
        with pytest.raises(RefusedError, match=r"it holds|contradict") as caught:
            NbdTarget(of_it, f"{of_it}:{SIZE}").open(writes=True)
        assert word in str(caught.value).lower(), name
        assert held.read_bytes() == before, name


def test_one_byte_anywhere_is_data(serve: Servers, tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    uri = serve("file", f"dir={tmp_path / 'all'}")
    for place in (0, 3 * MIB, 33 * MIB + 12345, 61 * MIB, SIZE - 1):
        image(tmp_path / "all" / str(place), (place, b"\x01"))
        of_it = uri.replace("///", f"///{place}")
        with pytest.raises(RefusedError, match="has data") as caught:
            NbdTarget(of_it).open(writes=True)
        assert f"add --erase '{of_it}:{SIZE}:NOT-EMPTY'" in str(caught.value)
        with pytest.raises(NotEmptyError, match="it is not empty: "):
            NbdTarget(of_it, f"{of_it}:{SIZE}").open(writes=True)
        NbdTarget(of_it, f"{of_it}:{SIZE}:NOT-EMPTY").open(writes=True)


def test_a_large_export_that_is_empty_is_written_and_one_byte_deep_inside_it_is_found(
    serve: Servers, tmp_path: Path
) -> None:
    size = 1 << 43
    NbdTarget(serve("file", image(tmp_path / "empty", size=size))).open(writes=True)
    deep = image(tmp_path / "deep", (size // 3, b"\x01"), size=size)
    with pytest.raises(RefusedError, match="has data"):
        NbdTarget(serve("file", deep)).open(writes=True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--no-sr", "memory", "64M"], "does not say whether it is empty"),
        (["--filter=noextents", "memory", "64M"], "at byte 0"),
    ],
)
def test_an_export_whose_server_knows_no_holes_has_to_be_named(
    serve: Servers, words: list[str], says: str
) -> None:
    uri = serve(*words)
    with pytest.raises(RefusedError, match=says) as caught:
        NbdTarget(uri).open(writes=True)
    assert f"add --erase '{uri}:{SIZE}'" in str(caught.value)
    NbdTarget(uri, f"{uri}:{SIZE}").open(writes=True)


def test_zeros_that_take_up_space_and_holes_that_hold_data_are_not_plainly_empty(
    serve: Servers, tmp_path: Path
) -> None:
    uri = serve("file", image(tmp_path / "zeros", (10 * MIB, bytes(4096))))
    with pytest.raises(RefusedError, match=f"allocated space, at byte {10 * MIB}"):
        NbdTarget(uri).open(writes=True)
    wrong = tmp_path / "extents"
    wrong.write_text(f"0 {SIZE} 3\n")
    held = image(tmp_path / "image", (1 * MIB, b"\x01"))
    uri = serve("--filter=extentlist", "file", held, f"extentlist={wrong}")
    with pytest.raises(RefusedError, match="where the server reports a hole"):
        NbdTarget(uri).open(writes=True)


def test_a_server_that_takes_one_connection_at_a_time_is_reported(
    serve: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = serve("--filter=noparallel", "memory", "64M", "serialize=connections")
    monkeypatch.setattr("heatsoak.target.fio.nbd_client._TIMEOUT_S", 1.0)
    with pytest.raises(ToolError, match="allows only one connection, but heatsoak keeps one"):
        NbdTarget(uri).open(writes=True)
    NbdTarget(uri).open(writes=False)


def test_an_export_that_takes_no_writes_is_refused_and_can_be_read(serve: Servers) -> None:
    uri = serve("-r", "memory", "64M")
    with pytest.raises(RefusedError, match="read-only"):
        NbdTarget(uri).open(writes=True)
    target = NbdTarget(uri)
    target.open(writes=False)
    batches = list(target.run(write(rw="randread", io_size="4m")))
    told = [batch.data.get("read_bytes") for batch in batches if isinstance(batch, Note)]
    assert told[-1] == 4 * MIB


def test_a_purge_that_the_server_cannot_do_is_a_warning(serve: Servers) -> None:
    uri = serve(
        "eval",
        f"get_size=echo {4 * MIB}",
        "pread=dd if=/dev/zero count=$3 iflag=count_bytes",
        "pwrite=cat >/dev/null",
        "can_write=exit 0",
    )
    target = NbdTarget(uri, f"{uri}:{4 * MIB}")
    target.open(writes=True)
    [note] = [batch for batch in target.purge() if isinstance(batch, Note)]
    assert note.level == "warning"
    assert "not purged" in note.text


def test_a_server_that_reports_errors_ends_the_step_with_one(
    serve: Servers, tmp_path: Path
) -> None:
    flag = tmp_path / "broken"
    uri = serve("--filter=error", "memory", "64M", "error-pwrite-rate=100%", f"error-file={flag}")
    target = NbdTarget(uri)
    target.open(writes=True)
    flag.touch()
    with pytest.raises(ToolError, match="step 'load'"):
        list(target.run(write(io_size="8m")))


def test_a_server_that_dies_ends_the_step_and_keeps_what_was_seen(serve: Servers) -> None:
    uri = serve("--filter=rate", "memory", "64M", "rate=80M")
    at = Path(uri.partition("=")[2])
    target = NbdTarget(uri)
    target.open(writes=True)
    rows = 0
    with pytest.raises(ToolError, match="step 'load'"):  # noqa: PT012 -- killed from within
        for batch in target.run(write(runtime=3600)):
            rows += batch.height if isinstance(batch, pl.DataFrame) else 0
            if rows == 2:
                os.kill(int(at.with_suffix(".pid").read_text()), signal.SIGKILL)
    assert rows >= 2
    with pytest.raises(ToolError, match="cannot be reached"):
        NbdTarget(uri)
    with pytest.raises(UsageError, match="no such socket"):
        NbdTarget(uri.replace(".sock", ".none"))


@dataclass
class Scene:
    """An export of the image `held`, and an `other` image of equal size."""

    serve: Servers
    uri: str
    held: Path
    other: Path

    def another_server(self) -> None:
        self.serve.free(self.uri)
        self.serve("file", self.other, uri=self.uri)

    def server_in_its_place(self) -> None:
        self.serve.kill(self.uri)
        self.another_server()

    def another_image(self) -> None:
        shutil.copy(self.other, f"{self.other}.copy")
        Path(f"{self.other}.copy").replace(self.held)

    def another_content(self) -> None:
        shutil.copyfile(self.other, self.held)

    def another_size(self) -> None:
        os.truncate(self.held, SIZE + MIB)

    def same_image_served_anew(self) -> None:
        self.serve.kill(self.uri)
        self.serve.free(self.uri)
        self.serve("file", self.held, uri=self.uri)

    def contents(self) -> tuple[bytes, bytes]:
        return self.held.read_bytes(), self.other.read_bytes()


def refused_after(change: Callable[[Scene], None], scene: Scene, *, erase: bool) -> None:
    """Make a change in the pause between two steps; nothing may be written or trimmed after it."""
    target = NbdTarget(scene.uri, f"{scene.uri}:{SIZE}" if erase else None)
    target.open(writes=True)
    if erase:  # otherwise the export is as empty as it was claimed
        list(target.run(write(io_size="1m", span="1m", offset="8m")))
    change(scene)
    before = scene.contents()
    with pytest.raises(RefusedError, match="refusing to write to it"):
        list(target.run(write(io_size="8m")))
    with pytest.raises(RefusedError, match="refusing to write to it"):
        list(target.purge())
    assert scene.contents() == before
    target.close()


CHANGES = {
    "another server at its path, the old one alive": Scene.another_server,
    "another server at its path, the old one gone": Scene.server_in_its_place,
    "another image under the same server": Scene.another_image,
    "another content of the same image": Scene.another_content,
    "another size": Scene.another_size,
    "the same image, served anew": Scene.same_image_served_anew,
}


@pytest.mark.parametrize("erase", [False, True])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("transport", rest_long(["unix", "tcp"], every=2))
def test_an_export_that_changed_between_steps_is_not_written(
    serve: Servers, tmp_path: Path, transport: str, change: str, *, erase: bool
) -> None:
    held, other = image(tmp_path / "held"), ext4(tmp_path / "other")
    uri = serve("file", held, uri=tcp_uri() if transport == "tcp" else "")
    refused_after(CHANGES[change], Scene(serve, uri, held, other), erase=erase)


@pytest.mark.parametrize("place", [0, 33 * MIB])
@pytest.mark.parametrize("change", [Scene.another_image, Scene.another_content])
def test_data_without_a_signature_that_came_between_steps_are_not_written(
    serve: Servers, tmp_path: Path, change: Callable[[Scene], None], place: int
) -> None:
    held, other = image(tmp_path / "held"), image(tmp_path / "other", (place, b"photos " * MIB))
    refused_after(change, Scene(serve, serve("file", held), held, other), erase=True)


def test_fio_loads_the_server_that_was_examined_and_never_one_that_took_its_path(
    serve: Servers, tmp_path: Path
) -> None:
    held, another = image(tmp_path / "held"), ext4(tmp_path / "other")
    uri = serve("file", held)
    target = NbdTarget(uri)
    target.open(writes=True)
    batches = target.run(write(io_size="8m"))
    before = another.read_bytes()
    for batch in batches:
        if isinstance(batch, Note) and "command" in batch.data:
            break  # all was examined, and fio begins next
    Scene(serve, uri, held, another).server_in_its_place()
    with pytest.raises(RefusedError, match="another answers now"):
        list(batches)
    assert another.read_bytes() == before


@pytest.mark.parametrize(
    ("transport", "words"),
    [("unix", ["memory", "64M"]), ("tcp", ["--filter=nozero", "memory", "64M"])],
)
def test_an_export_that_nobody_else_changes_takes_every_step(
    serve: Servers, transport: str, words: list[str]
) -> None:
    target = NbdTarget(serve(*words, uri=tcp_uri() if transport == "tcp" else ""))
    target.open(writes=True)
    batches: list[Batch] = []
    for step in (
        write(io_size="16m"),
        write(rw="randrw", bs="4k", runtime=0.3),
        write(io_size="1m", offset="30m", numjobs=3),
    ):
        batches += [*target.run(step), *target.purge(), *target.run(step)]
    left_early = target.run(write(runtime=60))
    while not (isinstance(batch := next(left_early), pl.DataFrame) and batch.height):
        pass
    assert isinstance(left_early, Generator)
    left_early.close()
    batches += target.run(write(io_size="1m"))
    assert not [one.text for one in batches if isinstance(one, Note) and one.level == "warning"]
    target.close()


def test_a_server_that_died_in_a_pause_has_gone(serve: Servers) -> None:
    uri = serve("memory", "64M")
    target = NbdTarget(uri)
    target.open(writes=True)
    serve.kill(uri)
    with pytest.raises(ToolError, match=r"the server is gone$"):
        list(target.run(write(io_size="8m")))


def test_an_export_has_one_lock_however_its_uri_is_written(
    serve: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "locks").mkdir()
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path / "locks"))
    uri, there = serve("memory", "64M"), serve("memory", "64M", uri=tcp_uri())
    at = Path(uri.partition("=")[2])
    (tmp_path / "link").symlink_to(at)
    (tmp_path / "elsewhere").symlink_to(tmp_path)
    port = there.rpartition(":")[2]
    same = {
        uri: [
            f"{tmp_path}/link",
            f"/{tmp_path}//{at.name}",
            f"{tmp_path}/elsewhere/{at.name}",
            at.name,
            f"./{at.name}",
        ],
        there: [f"nbd://localhost:{port}", f"nbd://LOCALHOST:{port}/", f"nbd://[::1]:{port}"],
    }
    with chdir(tmp_path):
        for first, spellings in same.items():
            for spelling in spellings:
                text = spelling if "://" in spelling else f"nbd+unix:///?socket={spelling}"
                with (
                    drives_held([parse_place(first)], Roots(), "first"),
                    pytest.raises(RefusedError, match="another run is using this drive"),
                    drives_held([parse_place(text)], Roots(), "second"),
                ):
                    raise AssertionError(f"{text} was held twice")
        words = ("run", "copy", "--on", uri, "--to", "nbd+unix:///?socket=link", "-o", "r")
        assert "is the source itself" in complaint(heatsoak_here(*words, cwd=tmp_path), 4)
    other_export = uri.replace("///", "///other")
    with (
        drives_held([parse_place(uri)], Roots(), "first"),
        drives_held([parse_place(other_export), parse_place(there)], Roots(), "second"),
    ):
        pass


def test_uris_name_socket_or_host_and_export_and_others_are_told_what_could_be_loaded() -> None:
    assert parse_uri("nbd+unix:///a%20b?socket=/run/x").export == "a b"
    assert parse_uri("nbd+unix:///?socket=/run/x").socket == "/run/x"
    there = parse_uri("nbd://host:99/disk")
    assert (there.host, there.port, there.export) == ("host", 99, "disk")
    for uri in (
        *("nbd+unix:///", "nbd://", "nbds://host", "nbd://host:port", "http://x"),
        *("nbd+unix://[/", "nbd+unix:///a%00b?socket=/run/x", "nbd+unix:///?socket=/run/x%00"),
    ):
        with pytest.raises(UsageError, match=r"such as nbd\+unix"):
            parse_uri(uri)


@given(answer=st.binary(max_size=200), polite=st.booleans())
def test_a_server_that_says_anything_at_all_raises_nothing_but_our_errors(
    tmp_path_factory: pytest.TempPathFactory, answer: bytes, polite: bool
) -> None:
    at = tmp_path_factory.mktemp("any") / "socket"
    message = ""
    greeting = b"NBDMAGICIHAVEOPT\x00\x03" if polite else b""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(at))
        listener.listen(1)

        def serve_once() -> None:
            there, _ = listener.accept()
            with there:
                there.sendall(greeting + answer)
                there.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=serve_once)
        thread.start()
        try:
            with Server(f"nbd+unix:///?socket={at}") as there:
                there.connect().close()
        except HeatsoakError as error:
            message = str(error)
        finally:
            thread.join()
    assert "\n" not in message
