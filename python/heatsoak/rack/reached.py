"""Reaches the hosts of a rack by a command that operators have: ssh, srun, docker exec, or sh.

What is asked of a host is ``heatsoak rack host``, which answers with JSON and may be asked again.
"""

import shlex
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import IO, Any, TypeVar

from pydantic import TypeAdapter, ValidationError

import heatsoak
from heatsoak import errors
from heatsoak.rack.host import HostReport

#: A loaded host takes so long to answer; looking at many drives, or planning a test, takes longer.
_ANSWER_S, _LONG_ANSWER_S, _FETCH_S = 60.0, 600.0, 3600.0
_CONNECT_S = 15
#: What ssh and shells end with where there is no such program, or it cannot be run.
_NO_PROGRAM = (126, 127)
_Answer = TypeVar("_Answer")


class NoAnswerError(errors.ToolError):
    """A host has not answered: it may have done what it was asked for."""


@dataclass(frozen=True)
class Reach:
    """How hosts are reached: the words before a command, with ``{host}`` for a host's name."""

    by: str

    def __post_init__(self) -> None:
        """Raise UsageError for what is no command."""
        try:
            words = shlex.split(self.by)
        except ValueError as error:
            raise errors.UsageError(f"--by {self.by}: {error}") from error
        if not words:
            raise errors.UsageError("--by: must be a command, such as 'ssh {host}'")

    def command(self, host: str, words: Sequence[str]) -> list[str]:
        """Return the words, for no shell, that run `words` on a host."""
        template = shlex.split(self.by)
        program, *given = (word.replace("{host}", host) for word in template)
        if Path(program).name == "ssh":
            # it joins words with spaces, for a shell
            own = ["-o", "BatchMode=yes", "-o", f"ConnectTimeout={_CONNECT_S}"]
            own += ["-o", f"ServerAliveInterval={_CONNECT_S}"]  # ends what a dead host left open
            named = (i for i, word in enumerate(template[1:]) if word.endswith("{host}"))
            at = next(named, len(given))
            return [program, *own, *given[:at], "--", *given[at:], shlex.join(words)]
        if given and given[-1] == "-c":
            return [program, *given, shlex.join(words)]
        return [program, *given, *words]

    def ask(
        self, host: str, *words: str, given: str | None = None, wait_s: float = _ANSWER_S
    ) -> HostReport:
        """Return what ``heatsoak rack host`` answers to `words` there; `given` is its input.

        Raises NoAnswerError if no answer comes, ToolError for what a host cannot do, and
        UsageError where it has another version.
        """
        kind = TypeAdapter(HostReport)
        report = self.read(kind, host, "rack", "host", *words, given=given, wait_s=wait_s)
        if report.version != heatsoak.__version__:
            raise errors.UsageError(
                f"has heatsoak {report.version}, and this is {heatsoak.__version__}: install the "
                "same on both"
            )
        return report

    def read(
        self,
        kind: TypeAdapter[_Answer],
        host: str,
        *words: str,
        given: str | None = None,
        wait_s: float = _LONG_ANSWER_S,
    ) -> _Answer:
        """Return what any command of heatsoak's prints on a host as JSON; raises as :meth:`ask`."""
        done = self._done(host, words, wait_s, input=(given or "").encode(), stdout=subprocess.PIPE)
        text = done.stdout.decode(errors="replace").strip()
        if not text:
            raise _why_none(done)
        try:
            return kind.validate_json(text)
        except ValidationError as error:
            raise errors.ToolError(
                f"{host} answers what this version does not know, {text.splitlines()[0][:80]!r}: "
                f"is heatsoak {heatsoak.__version__} there?"
            ) from error

    def _done(
        self, host: str, words: Sequence[str], wait_s: float, **how: Any
    ) -> "subprocess.CompletedProcess[bytes]":
        command = self.command(host, ["heatsoak", *words])
        try:
            return subprocess.run(
                command, stderr=subprocess.PIPE, timeout=wait_s, check=False, **how
            )
        except OSError as error:
            raise errors.UsageError(
                f"--by {self.by}: {command[0]} cannot be run: {error.strerror}"
            ) from error
        except subprocess.TimeoutExpired as error:
            raise NoAnswerError(f"no answer in {wait_s:.0f} s") from error

    def fetch(self, host: str, words: Sequence[str], into: Path) -> None:
        """Unpack what a host packs into a directory; raises NoAnswerError if that breaks off."""
        with TemporaryFile(dir=into) as file:
            done = self._done(host, ["rack", "host", *words], _FETCH_S, input=b"", stdout=file)
            # a tar that ends between two files looks whole
            if done.returncode not in (0, *_ENDS_BADLY):
                raise NoAnswerError(f"the recording broke off: {_why_none(done)}")
            file.seek(0)
            try:
                _unpack(file, into)
            except tarfile.TarError as error:
                raise NoAnswerError(f"the recording broke off: {error}") from error


#: Exit codes of `rack host` where a test failed or was refused.
_ENDS_BADLY = (errors.HeatsoakError.exit_code, errors.RefusedError.exit_code)


def _unpack(file: IO[bytes], into: Path) -> None:
    """Unpack a tar to its end; raises ToolError for what does not belong into a recording."""
    with tarfile.open(fileobj=file, mode="r") as tar:
        # of Pythons that have none, as Debian's 3.11, what is checked here is enough
        tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        for member in tar:
            parts = PurePosixPath(member.name).parts
            is_plain = member.isreg() or member.isdir()
            if not is_plain or member.name.startswith("/") or ".." in parts:
                raise errors.ToolError(f"{member.name}: is no file of a recording")
            tar.extract(member, into, set_attrs=False)


def _why_none(done: "subprocess.CompletedProcess[bytes]") -> errors.HeatsoakError:
    """The error for a command that printed no answer."""
    stderr = done.stderr.decode(errors="replace")
    said = [line for line in stderr.splitlines() if line.strip()]
    own = next((line for line in said if line.startswith("heatsoak: ")), None)
    if own is not None:
        return errors.ToolError(own.removeprefix("heatsoak: "))
    last = said[-1] if said else f"exit code {done.returncode}"
    if done.returncode in _NO_PROGRAM:
        return errors.ToolError(f"has no heatsoak that can be run: {last}")
    return NoAnswerError(f"no answer: {last}")
