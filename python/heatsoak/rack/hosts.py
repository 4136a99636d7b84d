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
from heatsoak.cluster import CONNECT_S, client_class, no_answer
from heatsoak.errors import HeatsoakError, ToolError, UsageError
from heatsoak.rack import host
from heatsoak.rack.host import Host

#: Reading and hashing a recording of gigabytes may take so long.
_ANSWER_S = 600.0


class NoAnswerError(ToolError):
    """A host, or the scheduler, has not answered: it may have done what it was asked for."""


class Hosts:
    """The hosts of a cluster, by the ids of :func:`heatsoak.rack.host.describe`.

    To be used as an async context. A lost scheduler is connected to again when somebody asks next.
    """

    def __init__(self, address: str) -> None:
        """Take the scheduler's address; raises UsageError for what is none."""
        self._address = address
        self._client_class = client_class(address)
        self._client: Any = None
        self._workers: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._changing = asyncio.Lock()

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
                self._client.scheduler.identity(n_workers=-1), CONNECT_S
            )
        except Exception as error:
            await self._close()
            raise NoAnswerError(no_answer(self._address, error)) from error
        # all at once: each loads heatsoak when it is asked for the first time
        workers = sorted(identity["workers"].items())
        answers = await asyncio.gather(*(self._meet(*one) for one in workers))
        found: dict[str, Host] = {}
        for (address, _), known in zip(workers, answers, strict=True):
            if known is not None:
                found.setdefault(known.id, known)
                self._workers[known.id] = address
                self._names[known.id] = known.name
        return dict(sorted(found.items(), key=lambda one: one[1].name))

    async def _meet(self, address: str, worker: dict[str, Any]) -> Host | None:
        """Return the host of a worker; None if that does not answer."""
        try:
            known: Host = await self._ask(address, host.describe)
        except NoAnswerError:
            return None
        if worker.get("name") not in (None, address):
            known = known.model_copy(update={"name": str(worker["name"])})
        if known.version != heatsoak.__version__:
            raise UsageError(
                f"{known.name}: has heatsoak {known.version}, and this is "
                f"{heatsoak.__version__}: install the same on both"
            )
        return known

    async def call(self, host_id: str, function: Callable[..., Any], *words: Any) -> Any:
        """Return what `function` returns on a host.

        Raises what it raises there, HeatsoakError; NoAnswerError if no answer comes.
        """
        try:
            return await self._ask(self._workers[host_id], function, *words)
        except (KeyError, NoAnswerError) as error:
            self._workers.pop(host_id, None)  # it may come back with another address
            async with self._changing:
                with suppress(NoAnswerError):
                    await self.find()
            name = self._names.get(host_id, host_id)
            raise NoAnswerError(f"host {name}: does not answer: is its worker running?") from error

    async def _ask(self, address: str, function: Callable[..., Any], *words: Any) -> Any:
        try:
            asked = self._client.run(_answer, function, words, workers=[address])
            (answer,) = (await asyncio.wait_for(asked, _ANSWER_S)).values()
        except Exception as error:
            raise NoAnswerError(f"{address}: {type(error).__name__}: {error}") from error
        if isinstance(answer, HeatsoakError):
            raise answer
        return answer

    async def _connect(self) -> None:
        self._client = self._client_class(
            self._address, asynchronous=True, timeout=CONNECT_S, set_as_default=False
        )
        await asyncio.wait_for(self._client, 2 * CONNECT_S)

    async def _close(self) -> None:
        client, self._client = self._client, None
        with suppress(Exception):
            await asyncio.wait_for(client.close(), CONNECT_S)


async def _answer(function: Callable[..., Any], words: tuple[Any, ...]) -> Any:
    """Call `function` on a worker, beside whatever else that does; errors are answers too."""
    try:
        return await asyncio.to_thread(function, *words)
    except HeatsoakError as error:
        return error
    except Exception as error:
        return ToolError(f"{type(error).__name__}: {error}")
