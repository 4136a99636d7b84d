"""Ports for servers of tests."""

import random
import socket
from contextlib import suppress

#: Below the range from which the kernel picks ports for outgoing connections.
_FIRST, _BEHIND = 15_000, 32_000


def free_port(ip: str = "127.0.0.1") -> int:
    """Return a port that nobody listens on."""
    chance = random.SystemRandom()
    while True:
        port = chance.randrange(_FIRST, _BEHIND)
        with socket.socket() as one, suppress(OSError):
            one.bind((ip, port))
            return port
