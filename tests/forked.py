"""``heatsoak`` in processes forked from one that has imported it, in place of seconds of imports.

For tests that start dozens of commands and are about none of them. Each is a process of its own,
with the directory, the environment and the streams of who starts it.
"""

import atexit
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp

from waiting import until

_CLIENT = """import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({at!r})
    told = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(told).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(told)
    code = server.recv(1)
sys.exit(code[0] if code else 137)
"""


@cache
def program() -> Path:
    """Return a program that does what ``heatsoak`` does; it goes with this process."""
    directory = Path(mkdtemp(dir=os.environ["HEATSOAK_TESTS"]))
    at, client = directory / "socket", directory / "heatsoak"
    # where the interpreter's path has a space, it cannot be in a first line
    line = shlex.join([sys.executable, "-ISc", _CLIENT.format(at=str(at))])
    client.write_text(f'#!/bin/sh\nexec {line} "$@"\n')
    client.chmod(0o755)
    server = subprocess.Popen(
        [sys.executable, __file__, str(at)], stdin=subprocess.DEVNULL, start_new_session=True
    )
    atexit.register(server.kill)
    assert until(at.exists)
    return client


def _run(connection: socket.socket) -> int:
    """Run what is asked for, in a process that was forked for it; return its exit code."""
    from heatsoak.cli import main

    length, streams, _, _ = socket.recv_fds(connection, 8, 3)
    with connection.makefile("rb", buffering=0) as file:
        told = b""
        while len(told) < int.from_bytes(length, "big"):
            told += file.read(1 << 16)
    words, directory, env = json.loads(told)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["heatsoak", *words]
    # who is killed takes this with it, as a connection of ssh's would
    threading.Thread(target=lambda: connection.recv(1) or os._exit(1), daemon=True).start()
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _serve(at: Path) -> None:
    for name in ("analyze", "rack", "rack_host", "run"):
        import_module(f"heatsoak.cli.{name}")

    own = socket.socket(socket.AF_UNIX)
    own.bind(str(begun := at.with_name("begun")))
    own.listen(64)
    begun.rename(at)
    while True:
        connection, _ = own.accept()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            own.close()
            code = _run(connection)
            sys.stdout.flush()
            sys.stderr.flush()
            connection.send(bytes([code]))
            os._exit(code)
        connection.close()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
