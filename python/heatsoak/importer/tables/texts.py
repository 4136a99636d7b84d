"""Columns of texts, of which there can be very many."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import overload


class _Texts(Sequence[str]):
    """What columns of texts share: an index gives one, a slice a list."""

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return list(self)[index]
        return self._at(index if index >= 0 else index + len(self))

    @abstractmethod
    def _at(self, index: int) -> str:
        """Return the text at `index`, from 0."""


class Words(_Texts):
    """The texts of a column, kept as bytes, since there can be very many."""

    _BLOCK = 4096

    def __init__(self) -> None:
        self._blocks: list[bytes] = []
        self._last: list[str] = []

    def append(self, word: str) -> None:
        """Add a text."""
        self._last.append(word)
        if len(self._last) == self._BLOCK:
            self._blocks.append("\n".join(self._last).encode("utf-8", "replace"))
            self._last = []

    def replace_last(self, word: str) -> None:
        """Put another text in place of the last one."""
        if not self._last:
            self._last = self._blocks.pop().decode().split("\n")
        self._last[-1] = word
        if len(self._last) == self._BLOCK:
            self.append(self._last.pop())

    def extend(self, words: Sequence[str]) -> None:
        """Add many texts."""
        begin = 0
        while begin < len(words):
            end = begin + self._BLOCK - len(self._last) - 1
            self._last += words[begin:end]
            if end < len(words):
                self.append(words[end])
            begin = end + 1

    def __len__(self) -> int:
        return len(self._blocks) * self._BLOCK + len(self._last)

    def __iter__(self) -> Iterator[str]:
        for block in self._blocks:
            yield from block.decode().split("\n")
        yield from self._last

    def _at(self, index: int) -> str:
        block, place = divmod(index, self._BLOCK)
        if block == len(self._blocks):
            return self._last[place]
        return self._blocks[block].decode().split("\n")[place]


class Joined(_Texts):
    """Two columns of texts as one, a blank between."""

    def __init__(self, first: Sequence[str], second: Sequence[str]) -> None:
        self._first, self._second = first, second

    def __len__(self) -> int:
        return len(self._first)

    def __iter__(self) -> Iterator[str]:
        return (f"{a} {b}" for a, b in zip(self._first, self._second, strict=True))

    def _at(self, index: int) -> str:
        return f"{self._first[index]} {self._second[index]}"
