"""Dask clusters: what all that use one need to know before they connect."""

import logging
import re
import warnings
from typing import Any

from heatsoak.errors import UsageError
from heatsoak.output import announce

#: How long to look for a scheduler.
CONNECT_S = 10
#: What encrypts, and lets in only who has a key.
_SAFE = ("tls://", "wss://")
#: As `dask scheduler` prints it, or without the protocol.
_ADDRESS = re.compile(r"([a-z]+://)?\S+:[0-9]+")


def client_class(address: str) -> Any:
    """Return Dask's client; raises UsageError without Dask, and for what is no address.

    Says it where others on the network could use the cluster. Encryption is Dask's own
    configuration, which it reads from its files and the environment.
    """
    try:
        import distributed
    except ImportError:
        raise UsageError(
            "--scheduler needs Dask, which is not installed: pip install distributed"
        ) from None
    if not _ADDRESS.fullmatch(address):
        raise UsageError(f"--scheduler {address}: is no address such as tcp://host:8786")
    host = address.rpartition("://")[2].rpartition(":")[0].strip("[]")
    if not address.startswith(_SAFE) and host not in ("localhost", "127.0.0.1", "::1"):
        announce(
            f"--scheduler {address}: is not encrypted, and who reaches it over the network can run "
            "programs on its hosts: use tls:// (docs/racks.md)"
        )
    # what it says of lost connections and of others' packages would stand among our own lines
    warnings.simplefilter("ignore", distributed.versions.VersionMismatchWarning)
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return distributed.Client


def no_answer(address: str, error: Exception) -> str:
    """Return what to say where a scheduler does not answer."""
    if isinstance(error, TypeError) and address.startswith(_SAFE):
        return (
            f"--scheduler {address}: needs a key and certificates, which Dask's configuration "
            "names: docs/racks.md"
        )
    return (
        f"--scheduler {address}: does not answer ({type(error).__name__}): give the address that "
        "dask scheduler prints, such as tcp://host:8786"
    )
