"""NBD exports of a real nbdkit, loaded by the real fio."""

import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import polars as pl
import pytest
from heatsoak.errors import HeatsoakError, RefusedError, ToolError, UsageError
from heatsoak.protocol import WorkloadStep
from heatsoak.target import Note
from heatsoak.target.fio import NbdTarget
from heatsoak.target.fio.nbd_client import Export, parse_uri
from hypothesis import given
from hypothesis import strategies as st
from waiting import until

MIB = 1 << 20

needs_nbdkit = pytest.mark.skipif(shutil.which("nbdkit") is None, reason="nbdkit is not installed")

Serve = Callable[..., str]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start an nbdkit with the given words and return the URI of its export."""
    with ExitStack() as stack:

        def start(*words: str | Path) -> str:
            at = tmp_path / f"{len(list(tmp_path.glob('*.pid')))}.sock"
            pid = at.with_suffix(".pid")
            command = ["nbdkit", "--exit-with-parent", "-f", "-U", at, "-P", pid, *words]
            server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
            stack.callback(server.wait)
            stack.callback(server.kill)
            assert until(lambda: pid.exists() or server.poll() is not None, 20)
            return f"nbd+unix:///?socket={at}"

        yield start


def write(**given: object) -> WorkloadStep:
    fields = {"name": "load", "rw": "write", "bs": "128k", "iodepth": 4}
    return WorkloadStep.model_validate(fields | given)


@pytest.mark.slow
@needs_nbdkit
def test_a_rate_that_is_cut_while_fio_runs_is_seen_when_it_happens(
    serve: Serve, tmp_path: Path
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


@pytest.mark.slow
@needs_nbdkit
def test_an_export_that_holds_data_is_written_only_when_it_is_named(serve: Serve) -> None:
    uri = serve("memory", "64M")
    target = NbdTarget(uri)
    target.open(writes=True)
    list(target.run(write(io_size="1m", offset="20m", span="1m")))
    target.close()
    name = f"{uri}:{64 * MIB}"
    with pytest.raises(RefusedError, match="holds data near byte") as caught:
        NbdTarget(uri).open(writes=True)
    assert f"--erase '{name}'" in str(caught.value)
    for wrong in (f"{uri}:1", uri, "", "nvme0n1"):
        with pytest.raises(RefusedError):
            NbdTarget(uri, wrong).open(writes=True)
    NbdTarget(uri, name).open(writes=True)
    NbdTarget(uri).open(writes=False)


@pytest.mark.slow
@needs_nbdkit
@pytest.mark.parametrize("size", ["17T", "9223372036854775807"])
def test_an_export_larger_than_any_file_can_be_named(serve: Serve, size: str) -> None:
    uri = serve("null", size)
    with pytest.raises(RefusedError, match="--erase names 'x', but this export is") as caught:
        NbdTarget(uri, "x").open(writes=True)
    name = str(caught.value).split("'")[-2]
    NbdTarget(uri, name).open(writes=True)


@pytest.mark.slow
@needs_nbdkit
def test_an_export_with_a_file_system_is_refused_even_when_it_is_named(
    serve: Serve, tmp_path: Path
) -> None:
    mkfs = shutil.which("mkfs.ext4", path="/usr/sbin:/sbin")
    if mkfs is None:
        pytest.skip("mkfs.ext4 is not installed")
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(64 * MIB)
    subprocess.run([mkfs, "-q", image], check=True)
    uri = serve("file", image)
    before = image.read_bytes()
    for erase in (None, f"{uri}:{64 * MIB}"):
        with pytest.raises(RefusedError):
            NbdTarget(uri, erase).open(writes=True)
    with pytest.raises(RefusedError, match="it holds ext4"):
        NbdTarget(uri, f"{uri}:{64 * MIB}").open(writes=True)
    assert image.read_bytes() == before


@needs_nbdkit
@pytest.mark.parametrize("place", [0, 3 * MIB, 61 * MIB, 64 * MIB - 1])
def test_one_byte_at_either_end_is_data(serve: Serve, tmp_path: Path, place: int) -> None:
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(64 * MIB)
        file.seek(place)
        file.write(b"\x01")
    with pytest.raises(RefusedError, match="holds data"):
        NbdTarget(serve("file", image)).open(writes=True)


@pytest.mark.slow
@needs_nbdkit
def test_an_export_that_takes_no_writes_is_refused_and_can_be_read(serve: Serve) -> None:
    uri = serve("-r", "memory", "64M")
    with pytest.raises(RefusedError, match="read-only"):
        NbdTarget(uri).open(writes=True)
    target = NbdTarget(uri)
    target.open(writes=False)
    batches = list(target.run(write(rw="randread", io_size="4m")))
    told = [batch.data.get("read_bytes") for batch in batches if isinstance(batch, Note)]
    assert told[-1] == 4 * MIB


@pytest.mark.slow
@needs_nbdkit
def test_a_purge_makes_an_export_empty_again(serve: Serve) -> None:
    uri = serve("memory", "64M")
    target = NbdTarget(uri)
    target.open(writes=True)
    list(target.run(write(io_size="8m")))
    list(target.purge())
    with Export(uri) as export:
        assert not any(export.read(0, 8 * MIB))
    NbdTarget(uri).open(writes=True)


@pytest.mark.slow
@needs_nbdkit
def test_a_purge_that_the_server_cannot_do_is_a_warning(serve: Serve) -> None:
    target = NbdTarget(
        serve(
            "eval",
            "get_size=echo 67108864",
            "pread=dd if=/dev/zero count=$3 iflag=count_bytes",
            "pwrite=cat >/dev/null",
            "can_write=exit 0",
        )
    )
    target.open(writes=True)
    [note] = [batch for batch in target.purge() if isinstance(batch, Note)]
    assert note.level == "warning"
    assert "not purged" in note.text


@pytest.mark.slow
@needs_nbdkit
def test_a_server_that_reports_errors_ends_the_step_with_one(serve: Serve, tmp_path: Path) -> None:
    flag = tmp_path / "broken"
    uri = serve("--filter=error", "memory", "64M", "error-pwrite-rate=100%", f"error-file={flag}")
    target = NbdTarget(uri)
    target.open(writes=True)
    flag.touch()
    with pytest.raises(ToolError, match="step 'load'"):
        list(target.run(write(io_size="8m")))


@pytest.mark.slow
@needs_nbdkit
def test_a_server_that_dies_ends_the_step_and_keeps_what_was_seen(serve: Serve) -> None:
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


@pytest.mark.parametrize(
    "uri", ["nbd+unix:///", "nbd://", "nbds://host", "nbd://host:port", "http://x", "nbd+unix://[/"]
)
def test_a_uri_that_cannot_be_loaded_says_what_could(uri: str) -> None:
    with pytest.raises(UsageError, match="such as nbd\\+unix"):
        parse_uri(uri)


def test_uris_name_socket_or_host_and_export() -> None:
    assert parse_uri("nbd+unix:///a%20b?socket=/run/x").export == "a b"
    assert parse_uri("nbd+unix:///?socket=/run/x").socket == "/run/x"
    there = parse_uri("nbd://host:99/disk")
    assert (there.host, there.port, there.export) == ("host", 99, "disk")


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
            Export(f"nbd+unix:///?socket={at}").close()
        except HeatsoakError as error:
            message = str(error)
        finally:
            thread.join()
    assert "\n" not in message
