"""Which functions of the package each test reaches, in its own process and in those it starts.

A copy of the package says at the start of each function that it was reached. What tests share is
told apart from what is their own: what a fixture, a cache or `made_once` reaches, all reach who use
it.
"""

import ast
import contextlib
import functools
import importlib
import os
import signal
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from mutating import Package, Source, docstring

REPORTER = "_reached_functions"
_REPORTED = "HEATSOAK_REACHED"
#: What functions report to. Processes that a test starts, or forks of it, write to a file.
REPORTER_SOURCE = f"""
import os
seen = set()
traced = False
def at(number):
    if number not in seen:
        seen.add(number)
        if not traced:
            try:
                file = os.open(os.environ[{_REPORTED!r}], os.O_WRONLY | os.O_APPEND)
                os.write(file, number.to_bytes(4, "little"))
                os.close(file)
            except (KeyError, OSError):
                pass
def forked():
    global seen, traced
    seen, traced = set(), False
os.register_at_fork(after_in_child=forked)
"""


def processor_s() -> float:
    """Return the processor's seconds of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def functions_of(package: Package) -> list[str]:
    """Return the names of all functions of the package."""
    return [f"{module}:{name}" for module in package.paths for name in package[module].functions]


def reporting(source: Source, numbers: dict[str, int]) -> str:
    """Return a source whose functions report that they are reached."""
    lines = source.text.splitlines(keepends=True)
    places = []
    for name, node in ((name, node) for name, of in source.functions.items() for node in of):
        body = [part for part in node.body if part is not docstring(node)]
        if body:
            first = min([body[0].lineno, *(d.lineno for d in _decorators(body[0]))])
            places.append((first, body[0].col_offset, numbers[f"{source.module}:{name}"]))
    for line, column, number in sorted(places, reverse=True):
        call = f'__import__("{REPORTER}").at({number})'.encode()
        before, after = lines[line - 1][:column], lines[line - 1][column:]
        if before.strip():  # the function is one line
            lines[line - 1] = before + call + b"; " + after
        else:
            lines.insert(line - 1, before + call + b"\n")
    return b"".join(lines).decode()


def _decorators(node: ast.stmt) -> list[ast.expr]:
    return getattr(node, "decorator_list", [])


@dataclass
class _Layer:
    """What is reached in a test, or in a part that tests share."""

    reached: set[int] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    s: float = 0.0


class Tracer:
    """A plug-in of pytest that records what tests, and parts that they share, reach."""

    def __init__(self, reporter: ModuleType, children: Path) -> None:
        self._reporter: Any = reporter
        self._children = children
        self._at = 0
        self._layers = [_Layer()]
        self.parts: dict[str, _Layer] = defaultdict(_Layer)
        self.tests: dict[str, _Layer] = {}
        self.passed: dict[str, bool] = {}

    def _take(self) -> None:
        """Add what was reached since the last time to the layer on top."""
        self._layers[-1].reached |= self._reporter.seen
        with self._children.open("rb") as file:
            file.seek(self._at)
            data = file.read()
        whole = len(data) // 4 * 4
        self._at += whole
        numbers = (data[at : at + 4] for at in range(0, whole, 4))
        self._layers[-1].reached |= {int.from_bytes(number, "little") for number in numbers}

    @contextlib.contextmanager
    def _layer(self) -> Iterator[_Layer]:
        self._take()
        self._reporter.seen = set()
        layer = _Layer()
        self._layers.append(layer)
        begun_s = processor_s()
        try:
            yield layer
        finally:
            took_s = processor_s() - begun_s
            self._take()
            self._reporter.seen = set()
            self._layers.pop()
            layer.s += took_s
            self._layers[-1].s -= took_s

    @contextlib.contextmanager
    def part(self, key: str) -> Iterator[None]:
        """Record what is reached within as that of a part, which others may use without it."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        try:
            with self._layer() as layer:
                yield
        finally:
            part = self.parts[key]
            part.reached |= layer.reached
            part.used |= layer.used - {key}
            part.s = max(part.s, layer.s)
            self._layers[-1].used.add(key)

    def shared(self, function: Callable[..., Any], key: Callable[..., str]) -> Callable[..., Any]:
        """Return a function that records what it reaches as that of a part."""

        @functools.wraps(function)
        def recorded(*given: Any, **named: Any) -> Any:
            with self.part(key(*given)):
                return function(*given, **named)

        return recorded

    def pytest_configure(self) -> None:
        """Follow what is made once for all processes, before test modules import it."""
        with contextlib.suppress(ImportError):
            made: Any = importlib.import_module("made_once")
            made.made_once = self.shared(made.made_once, lambda _, name, *__: f"made {name}")

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        with self.part(f"module {collector.path}"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        with self._layer() as layer:
            result = yield
        layer.used.add(f"module {item.path}")
        self.tests[item.nodeid] = layer
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed[report.nodeid] = self.passed.get(report.nodeid, True) and report.passed


def trace(arguments: list[str], children: Path) -> dict[str, Any]:
    """Run tests, and return what they reached."""
    import _pytest.fixtures

    reporter: Any = importlib.import_module(REPORTER)
    children.write_bytes(b"")
    os.environ[_REPORTED] = str(children)
    tracer = Tracer(reporter, children)

    def recorded(cache: Callable[..., Any]) -> Callable[..., Any]:
        def decorator(function: Callable[..., Any]) -> Any:
            cached = cache(function)
            code = getattr(function, "__code__", None)
            if code is None or not code.co_filename.startswith(str(Path.cwd())):
                return cached
            if ".venv" in code.co_filename:
                return cached
            key = f"cache {function.__module__}.{function.__qualname__}"
            outer: Any = tracer.shared(cached, lambda *_: key)
            for name in ("cache_clear", "cache_info", "cache_parameters"):
                setattr(outer, name, getattr(cached, name))
            return outer

        return decorator

    plain = functools.lru_cache

    def lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
        if callable(maxsize):
            return recorded(plain(128))(maxsize)
        return recorded(plain(maxsize, typed))

    functools.lru_cache = lru_cache
    functools.cache = lru_cache(None)

    def fixture(definition: Any, request: Any) -> str:
        return f"fixture {definition.baseid}::{definition.argname}[{request.param_index}]"

    execute = _pytest.fixtures.FixtureDef.execute
    shared = tracer.shared(execute, fixture)

    def executed(definition: Any, request: Any) -> Any:
        return (execute if definition.scope == "function" else shared)(definition, request)

    _pytest.fixtures.FixtureDef.execute = executed  # type: ignore[assignment, method-assign]

    reporter.traced = True
    pytest.main(arguments, plugins=[tracer])

    def told(layers: dict[str, _Layer]) -> dict[str, Any]:
        return {
            name: [round(layer.s, 3), sorted(layer.reached), sorted(layer.used)]
            for name, layer in layers.items()
        }

    tests = {name: layer for name, layer in tracer.tests.items() if tracer.passed.get(name)}
    failed = [name for name in tracer.tests if not tracer.passed.get(name)]
    return {"outcome": "done", "tests": told(tests), "parts": told(tracer.parts), "failed": failed}


class _Chosen:
    """A plug-in of pytest: the tests to run in this order, what each may take, and what failed."""

    def __init__(self, limits_s: dict[str, float], note: Path) -> None:
        self._limits_s = limits_s
        self._note = note
        self.by = ""
        self.said = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        order = {name: at for at, name in enumerate(self._limits_s)}
        chosen = (item for item in items if item.nodeid in order)
        items[:] = sorted(chosen, key=lambda item: order[item.nodeid])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """Have the process end if a test takes more, and say which it was."""
        self._note.write_text(item.nodeid)
        signal.setitimer(signal.ITIMER_PROF, self._limits_s[item.nodeid])

    def _failed(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed and not self.by:
            self.by = report.nodeid
            self.said = (report.longreprtext.strip().splitlines() or [""])[-1][:200]

    pytest_runtest_logreport = pytest_collectreport = _failed


def test(arguments: list[str], limits_s: dict[str, float], note: Path) -> dict[str, Any]:
    """Run chosen tests until one fails; return which, or that none did."""
    chosen = _Chosen(limits_s, note)
    code = pytest.main(["-x", *arguments], plugins=[chosen])
    if chosen.by:
        return {"outcome": "killed", "by": chosen.by, "said": chosen.said}
    # 4: the tests' own modules cannot be imported any more; 5: there are no such tests
    outcome = {0: "survived", 4: "killed", 5: "not reached"}.get(code, "crash")
    return {"outcome": outcome, "by": "", "said": f"pytest's exit code {int(code)}"}


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Do a job in a sandbox."""
    os.environ |= job["env"]
    sys.argv = ["pytest"]
    importlib.invalidate_caches()
    arguments = ["-p", "no:cacheprovider", *job["arguments"]]
    if "children" in job:
        return trace(arguments, Path(job["children"]))
    return test(arguments, job["limits_s"], Path(job["note"]))
