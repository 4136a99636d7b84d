"""Asks the hosts of a rack, through the scheduler of a Dask cluster with a worker on each.

Nothing of a test is a task of Dask's: tasks are run again when a worker or a result is lost. Dask
only carries questions to a worker that is named, and answers back (`Client.run`).
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

import heatsoak
from heatsoak import errors, tools
from heatsoak.rack import host
from heatsoak.rack.host import Host

#: A loaded host takes so long to answer, and to load heatsoak when it is asked for the first time.
_ANSWER_S = 15.0
_MEET_S = 30.0
#: Reading and hashing a recording of gigabytes, or looking at many drives, may take so long.
_LONG_ANSWER_S = 600.0
_TAKE_LONG = (host.files, host.read, host.drives, host.preview)


class NoAnswerError(errors.ToolError):
    """A host, or the scheduler, has not answered: it may have done what it was asked for."""


class Hosts:
    """The hosts of a cluster, by the ids of :func:`heatsoak.rack.host.describe`.

    To be used as an async context. A lost scheduler is connected to again when somebody asks next.

    Attributes:
        silent: the workers that the scheduler knows, and that have not answered, by name.
    """

    def __init__(self, address: str) -> None:
        """Take the scheduler's address; raises UsageError for what is none."""
        self._address = address
        self._client_class = tools.client_class(address)
        self._client: Any = None
        self._workers: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._changing = asyncio.Lock()
        self.silent: list[str] = []

    async def __aenter__(self) -> Self:
        # Dask reports what it cannot reach in a loop's words
        logging.getLogger("tornado").setLevel(logging.CRITICAL)
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    async def find(self) -> dict[str, Host]:
        """Return the hosts that answer, by name; raises NoAnswerError if the scheduler does not.

        A host is called as its worker is, or else as it calls itself.
        """
        try:
            if self._client is None:
                await self._connect()
            identity = await asyncio.wait_for(
                self._client.scheduler.identity(n_workers=-1), tools.CONNECT_S
            )
        except Exception as error:
            await self._close()
            raise NoAnswerError(tools.no_answer(self._address, error)) from error
        # all at once: each loads heatsoak when it is asked for the first time
        workers = sorted(identity["workers"].items())
        answers = await asyncio.gather(*(self._meet(*one) for one in workers))
        found: dict[str, Host] = {}
        self.silent = []
        for (address, worker), known in zip(workers, answers, strict=True):
            if known is None:
                self.silent.append(str(worker.get("name") or address))
            else:
                found.setdefault(known.id, known)
                self._workers[known.id] = address
                self._names[known.id] = known.name
        return dict(sorted(found.items(), key=lambda one: one[1].name))

    async def _meet(self, address: str, worker: dict[str, Any]) -> Host | None:
        """Return the host of a worker; None if that does not answer."""
        try:
            known: Host = await self._ask(address, _MEET_S, host.describe)
        except NoAnswerError:
            return None
        if worker.get("name") not in (None, address):
            known = known.model_copy(update={"name": str(worker["name"])})
        if known.version != heatsoak.__version__:
            raise errors.UsageError(
                f"{known.name}: has heatsoak {known.version}, and this is "
                f"{heatsoak.__version__}: install the same on both"
            )
        return known

    async def call(self, host_id: str, function: Callable[..., Any], *words: Any) -> Any:
        """Return what `function` returns on a host.

        Raises what it raises there, HeatsoakError; NoAnswerError if no answer comes.
        """
        async with self._changing:
            if host_id not in self._workers:  # it may have come back with another address
                with suppress(errors.HeatsoakError):
                    await self.find()
        wait_s = _LONG_ANSWER_S if function in _TAKE_LONG else _ANSWER_S
        try:
            return await self._ask(self._workers[host_id], wait_s, function, *words)
        except (KeyError, NoAnswerError) as error:
            self._workers.pop(host_id, None)
            name = self._names.get(host_id, host_id)
            raise NoAnswerError(f"host {name}: does not answer: is its worker running?") from error

    async def each(self, function: Callable[..., Any]) -> tuple[dict[str, Host], dict[str, Any]]:
        """Return the hosts that answer, and what `function` returns on each, by their ids.

        All are asked at once; whoever does not answer joins :attr:`silent`.
        """
        found = await self.find()
        asked = (self.call(id_, function) for id_ in found)
        answers = await asyncio.gather(*asked, return_exceptions=True)
        given: dict[str, Any] = {}
        for id_, answer in zip(found, answers, strict=True):
            if isinstance(answer, NoAnswerError):
                self.silent.append(found[id_].name)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                given[id_] = answer
        return {id_: one for id_, one in found.items() if id_ in given}, given

    async def _ask(
        self, address: str, wait_s: float, function: Callable[..., Any], *words: Any
    ) -> Any:
        try:
            asked = self._client.run(_answer, function, words, workers=[address])
            (answer,) = (await asyncio.wait_for(asked, wait_s)).values()
        except Exception as error:
            raise NoAnswerError(f"{address}: {type(error).__name__}: {error}") from error
        if isinstance(answer, errors.HeatsoakError):
            raise answer
        return answer

    async def _connect(self) -> None:
        self._client = self._client_class(
            self._address, asynchronous=True, timeout=tools.CONNECT_S, set_as_default=False
        )
        await asyncio.wait_for(self._client, 2 * tools.CONNECT_S)

    async def _close(self) -> None:
        client, self._client = self._client, None
        with suppress(Exception):
            await asyncio.wait_for(client.close(), tools.CONNECT_S)


async def _answer(function: Callable[..., Any], words: tuple[Any, ...]) -> Any:
    """Call `function` on a worker, beside whatever else that does; errors are answers too."""
    try:
        return await asyncio.to_thread(function, *words)
    except errors.HeatsoakError as error:
        return error
    except Exception as error:
        return errors.ToolError(f"{type(error).__name__}: {error}")
