"""A cluster of Slurm's on this machine: one node, without cgroups, accounts or systemd."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ports import free_port
from waiting import until

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo", "squeue")
_CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={munge}/socket
CredType=cred/munge
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
NodeName={host} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def is_installed() -> bool:
    """Whether all of it is there, and may be started."""
    return os.geteuid() == 0 and all(map(shutil.which, PROGRAMS))


@contextmanager
def slurm(directory: Path) -> Iterator[dict[str, str]]:
    """Run a cluster in a directory; yields the environment for its commands."""
    for place in (directory / "state", directory / "spool"):
        place.mkdir(parents=True)
    host = socket.gethostname().partition(".")[0]
    ports = free_port(), free_port()
    settings = directory / "slurm.conf"
    env = {**os.environ, "SLURM_CONF": str(settings)}
    with ExitStack() as stack:
        # a socket's path must be short
        munge = Path(stack.enter_context(TemporaryDirectory()))
        key, at = munge / "key", munge / "socket"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        settings.write_text(
            _CONFIGURATION.format(host=host, directory=directory, munge=munge, ports=ports)
        )
        files = {name: munge / name for name in ("pid-file", "log-file", "seed-file")}
        daemons = [
            ["munged", "-F", "--force", f"--key-file={key}", f"--socket={at}"]
            + [f"--{name}={path}" for name, path in files.items()],
            ["slurmctld", "-D", "-f", str(settings)],
            ["slurmd", "-D", "-f", str(settings)],
        ]
        for words in daemons:
            output = stack.enter_context((directory / f"{words[0]}.txt").open("wb"))
            daemon = stack.enter_context(
                subprocess.Popen(words, env=env, stdout=output, stderr=output)
            )
            stack.callback(daemon.terminate)
            if words[0] == "munged":
                assert until(at.exists)

        def is_idle() -> bool:
            told = subprocess.run(["sinfo", "-h", "-o", "%t"], env=env, capture_output=True)
            return told.stdout.strip() == b"idle"

        assert until(is_idle), (directory / "slurmctld.txt").read_text()
        yield env
