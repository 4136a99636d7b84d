"""Which tests reach a function, by what was traced of them, and which of these to try first."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mutating import Mutant, Package

#: What a test may take of the processor, by what it took when it was traced.
TIMES, ALLOWED_S = 5.0, 5.0
#: The tests that are tried first: so many, each of another function, and as long in all.
FIRST, FIRST_S = 12, 6.0


@dataclass
class Layer:
    """What a test takes, reaches and uses of what tests share; or such a part of tests."""

    s: float = 0.0
    reached: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)


class Reach:
    """Which tests reach a function, and what they take."""

    def __init__(self, traced: Iterable[dict[str, Any]], package: Package) -> None:
        self._package = package
        self._tests: dict[str, Layer] = {}
        self._parts: dict[str, Layer] = defaultdict(Layer)
        for kept in traced:
            names = kept["functions"]
            for name, (s, reached, used) in kept["tests"].items():
                self._tests[name] = Layer(s, {names[at] for at in reached}, set(used))
            for name, (s, reached, used) in kept["parts"].items():
                part = self._parts[name]
                part.s = max(part.s, s)
                part.reached |= {names[at] for at in reached}
                part.used |= set(used)
        self._by_function: dict[str, list[str]] = defaultdict(list)
        for name, test in self._tests.items():
            shared = (self._parts[key].reached for key in self._with_inner(test.used))
            for function in test.reached.union(*shared):
                self._by_function[function].append(name)
        self._mentions: dict[str, set[str]] = defaultdict(set)
        self._constants: dict[tuple[str, str], set[str]] = defaultdict(set)
        for module in package.paths:
            source = package[module]
            for function, nodes in source.functions.items():
                for name in set().union(*map(_mentioned, nodes)):
                    self._mentions[name].add(f"{module}:{function}")
            for statement in source.tree.body:
                stored = _stored(statement)
                for name in _mentioned(statement) - stored:
                    self._constants[module, name] |= stored

    def _with_inner(self, used: set[str]) -> set[str]:
        """Return parts, and the parts that are used in them."""
        found: set[str] = set()
        left = set(used)
        while left:
            found.add(key := left.pop())
            left |= self._parts[key].used - found if key in self._parts else set()
        return found & set(self._parts)

    @cached_property
    def quickest(self) -> list[str]:
        """A few tests that take the least."""
        return sorted(self._tests, key=lambda test: self.cost_s(test, set()))[:5]

    def _readers(self, mutant: Mutant) -> set[str]:
        """Return the functions in which a mutant can have an effect."""
        source = self._package[mutant.module]
        own = f"{mutant.module}:{mutant.function}"
        if mutant.function in source.functions:
            return {own}
        if mutant.function:
            methods = {
                f"{mutant.module}:{n}"
                for n in source.functions
                if n.startswith(f"{mutant.function}.")
            }
            return methods | self._mentions[mutant.function.rpartition(".")[2]]
        names: set[str] = set()
        for statement in source.tree.body:
            if statement.lineno <= mutant.line <= (statement.end_lineno or 0):
                names |= _stored(statement)
        for _ in range(3):
            names |= {new for name in names for new in self._constants[mutant.module, name]}
        return {
            reader
            for name in names
            for reader in self._mentions[name]
            if not name.startswith("_") or reader.startswith(f"{mutant.module}:")
        }

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that reach a mutant, quickest first."""
        readers = self._readers(mutant)
        found = {test for reader in readers for test in self._by_function.get(reader, [])}
        if not found and mutant.function not in self._package[mutant.module].functions:
            of_module = [n for n in self._by_function if n.startswith(f"{mutant.module}:")]
            found = {test for name in of_module for test in self._by_function[name]}
        return sorted(found, key=lambda test: (self.cost_s(test, set()), test))

    def cost_s(self, test: str, paid: set[str]) -> float:
        """Return what a test takes if some parts were made already, and add those it makes."""
        new = self._with_inner(self._tests[test].used) - paid
        paid |= new
        return max(self._tests[test].s, 0.0) + sum(max(self._parts[key].s, 0.0) for key in new)

    def stages(self, mutant: Mutant, most_s: float) -> Iterator[dict[str, float]]:
        """Yield tests to run one after the other, with the time that each may take.

        First come a few of different functions, then all others that can be run in `most_s`.
        """
        first: dict[str, float] = {}
        rest: dict[str, float] = {}
        functions: set[str] = set()
        paid: set[str] = set()
        spent_s = 0.0
        for test in self.tests(mutant):
            now = set(paid)
            s = self.cost_s(test, now)
            if first and spent_s + s > most_s:
                continue
            paid, spent_s = now, spent_s + s
            function = test.partition("[")[0]
            few = len(first) < FIRST and spent_s < FIRST_S and function not in functions
            functions.add(function)
            (first if few or not first else rest)[test] = ALLOWED_S + TIMES * s
        # what the tests of a module share is made anew when others ran in between
        modules = list(dict.fromkeys(test.partition("::")[0] for test in rest))
        together = sorted(rest, key=lambda test: modules.index(test.partition("::")[0]))
        yield from (stage for stage in (first, {test: rest[test] for test in together}) if stage)


def _mentioned(node: ast.AST) -> set[str]:
    nodes = list(ast.walk(node))
    names = {one.id for one in nodes if isinstance(one, ast.Name)}
    return names | {one.attr for one in nodes if isinstance(one, ast.Attribute)}


def _stored(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    nodes = ast.walk(statement)
    return {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
