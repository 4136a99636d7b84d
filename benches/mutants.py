"""How strong the tests are: which small changes of the package make one of them fail.

``draw --seed 1 --count 600 > FILE`` draws changes by chance, over all rooms by their lines.
``trace`` records which functions each test reaches, ``run FILE -o RESULT`` tries each change with
the tests that reach it, quickest first, until one fails, and ``compare BEFORE AFTER`` lists what
was noticed before and is not any more. All but drawing needs root: each test runs in a sandbox,
where the checkout's files are copies. README.md says how to compare two versions of the tests.
"""

import argparse
import hashlib
import json
import os
import queue
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import reaching
from mutating import Mutant, Package
from reached import Reach
from sandbox import Sandbox

ROOT = Path(__file__).resolve().parent.parent
#: Where a checkout keeps what its tests reach, a file for each module of tests.
REACHED = Path("target", "reached")
#: What tests may take by the clock if nothing else runs, besides what each may of the processor.
WAITING_S = 60.0
NOTICED = ("killed", "timeout", "crash")
UNNOTICED = ("survived", "not reached", "lost")
Json = dict[str, Any]


@dataclass
class Checkout:
    """A checkout whose tests are run, with its package and what its tests reach."""

    tests: Path

    def __post_init__(self) -> None:
        self.root = self.tests.resolve().parent
        self.package = Package(self.root / "python" / "heatsoak")

    def files(self, given: Iterable[Path]) -> list[Path]:
        """Return the modules of tests in files and directories; of all tests if none are given."""
        found = []
        for path in list(given) or [self.tests]:
            found += (
                sorted(path.resolve().rglob("test_*.py")) if path.is_dir() else [path.resolve()]
            )
        return [path.relative_to(self.root) for path in found]

    def digest(self, path: Path) -> str:
        """Return what changes with a module of tests; empty if there is none."""
        file = self.root / path
        return hashlib.sha256(file.read_bytes()).hexdigest()[:12] if file.exists() else ""

    def traced(self, path: Path, marks: str) -> Path:
        """Return where it is kept what the tests with some marks of a module reach."""
        which = hashlib.sha256(marks.encode()).hexdigest()[:6]
        return self.root / REACHED / f"{path.with_suffix('').as_posix().replace('/', '.')}.{which}"

    def is_traced(self, path: Path, marks: str) -> bool:
        """Return whether that is known of the module as it is."""
        kept = self.traced(path, marks)
        return kept.exists() and json.loads(kept.read_text())["digest"] == self.digest(path)

    def reached(self) -> Iterator[Json]:
        """Yield what was traced, of modules of tests as they are."""
        for kept in sorted((self.root / REACHED).glob("*")):
            read: Json = json.loads(kept.read_text())
            if read["digest"] == self.digest(Path(read["path"])):
                yield read


@contextmanager
def sandboxes(checkout: Checkout, count: int) -> Iterator[list[Sandbox]]:
    """Open sandboxes of a checkout."""
    if os.geteuid() != 0:
        raise SystemExit("mutants.py: needs root, for the sandbox that changed code is run in")
    with tempfile.TemporaryDirectory(prefix="hm-") as directory:
        opened = []
        try:
            for at in range(count):
                opened.append(Sandbox(checkout.root, Path(directory, str(at))))
            yield opened
        finally:
            for one in opened:
                one.close()


def do_all(boxes: list[Sandbox], tasks: list[Any], do: Callable[[Sandbox, Any], None]) -> None:
    """Do tasks in sandboxes, each as soon as one is free; an error in one ends all."""
    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
    errors: list[BaseException] = []
    for task in tasks:
        waiting.put(task)

    def work(box: Sandbox) -> None:
        try:
            while not errors:
                do(box, waiting.get_nowait())
        except queue.Empty:
            pass
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(box,), daemon=True) for box in boxes]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(0.2)  # so that it can be interrupted
    if errors:
        raise errors[0]


class Progress:
    """Says how far it is, and how long it will take."""

    def __init__(self, of: int) -> None:
        self._of, self._done, self._begun_s = of, 0, time.monotonic()

    def say(self, text: str) -> None:
        """Say what was done, as one of all."""
        self._done += 1
        left_s = (time.monotonic() - self._begun_s) / self._done * (self._of - self._done)
        print(f"[{self._done}/{self._of}, {left_s / 60:.0f} min to go] {text}", file=sys.stderr)


def written(path: Path, content: object) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    new.write_text(json.dumps(content))
    new.replace(path)


# tracing


def trace(given: argparse.Namespace) -> None:
    checkout = Checkout(given.tests)
    names = reaching.functions_of(checkout.package)
    numbers = {name: at for at, name in enumerate(names)}
    reporter = next((checkout.root / ".venv" / "lib").glob("python*/site-packages"))
    files = {str(reporter / f"{reaching.REPORTER}.py"): reaching.REPORTER_SOURCE}
    for module, path in checkout.package.paths.items():
        files[str(path.resolve())] = reaching.reporting(checkout.package[module], numbers)
    asked = checkout.files(given.files)
    if given.missing:
        asked = [path for path in asked if not checkout.is_traced(path, given.m)]
    progress, lock = Progress(len(asked)), threading.Lock()

    def of_file(box: Sandbox, path: Path) -> None:
        digest = checkout.digest(path)
        base = box.directory / "t" / "kept" / "b"
        base.parent.mkdir(exist_ok=True)
        job = {
            "files": {},
            "arguments": [f"--basetemp={base}", "-m", given.m, str(path)],
            "children": str(box.directory / "t" / "children"),
            "env": {"PYTEST_XDIST_WORKER": "gw0"},  # made_once keeps what it made for all files
            "limit_s": given.limit * busy(),
        }
        done = box.do(job)
        with lock:
            progress.say(f"{path}: {len(done.get('tests', []))} tests in {done['s']:.0f} s")
            if done["outcome"] != "done":
                print(f"  not traced: {done['outcome']} {done['by']}", file=sys.stderr)
                return
            if done["failed"]:
                print(f"  skipped or failed: {' '.join(done['failed'])}", file=sys.stderr)
        content = {"path": str(path), "digest": digest} | named(done, names)
        written(checkout.traced(path, given.m), content)

    with sandboxes(checkout, given.n) as boxes:
        for box in boxes:
            box.do({"files": files})
        do_all(boxes, asked, of_file)


def named(done: Json, names: list[str]) -> Json:
    """Return what tests and parts reach by numbers in a list of the names that are needed."""
    layers = [*done["tests"].values(), *done["parts"].values()]
    numbers = sorted({number for _, reached, _ in layers for number in reached})
    places = {number: at for at, number in enumerate(numbers)}
    for layer in layers:
        layer[1] = [places[number] for number in layer[1]]
    return {
        "functions": [names[number] for number in numbers],
        "tests": done["tests"],
        "parts": done["parts"],
    }


# drawing, running and comparing


def draw(given: argparse.Namespace) -> None:
    package = Package(ROOT / "python" / "heatsoak")
    for mutant in package.draw(given.count, given.seed, given.room):
        print(json.dumps(asdict(mutant)))


def drawn(path: Path) -> list[Mutant]:
    """Read what `draw` printed."""
    return [Mutant(**json.loads(line)) for line in path.read_text().splitlines()]


def results_in(path: Path) -> dict[str, Json]:
    read: dict[str, Json] = json.loads(path.read_text()) if path.exists() else {}
    return read


def run(given: argparse.Namespace) -> None:
    checkout = Checkout(given.tests)
    reach = Reach(checkout.reached(), checkout.package)
    if not reach.quickest:
        raise SystemExit(f"no test of {checkout.tests} is traced: mutants.py trace")
    results = results_in(given.output)
    asked = [one for one in drawn(given.file) if not given.room or one.room in given.room]
    if given.only_survivors:
        other = results_in(given.only_survivors)
        asked = [one for one in asked if other.get(one.name, {}).get("outcome") in UNNOTICED]
    if given.again:
        results = {name: done for name, done in results.items() if done["outcome"] in NOTICED}
    asked = [one for one in asked if one.name not in results]
    random.Random(0).shuffle(asked)  # what is done when it is interrupted is a fair sample
    progress, lock = Progress(len(asked)), threading.Lock()
    steady: set[str] = set()
    unsteady: set[str] = set()

    def of_mutant(box: Sandbox, wanted: Mutant) -> None:
        with lock:
            here = checkout.package.find(wanted)
            stages = list(reach.stages(here, given.seconds)) if here else []
        done: Json = {"outcome": "not reached" if here else "lost"}
        if here:
            path = checkout.package.paths[here.module]
            text = checkout.package[here.module].mutated(here).decode()
        for stage in stages:
            done = steadily(box, {str(path): text}, stage, unsteady, steady)
            if done["outcome"] in NOTICED:
                break
        done |= {"room": wanted.room, "line": here.line if here else 0}
        done |= {"tests": sum(map(len, stages)), "old": wanted.old, "new": wanted.new}
        with lock:
            results[wanted.name] = done
            written(given.output, results)
            progress.say(f"{done['outcome']}: {wanted.name} {done.get('by', '')}")

    with sandboxes(checkout, given.n) as boxes:
        for box in boxes:
            done = try_mutant(box, {}, dict.fromkeys(reach.quickest, 60.0))
            if done["outcome"] != "survived":
                raise SystemExit(f"tests fail without any change: {done}")
        do_all(boxes, asked, of_mutant)
    print_table(results)


def busy() -> float:
    """Return how many processes share a processor of this machine."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def try_mutant(box: Sandbox, files: dict[str, str], limits_s: dict[str, float]) -> Json:
    """Run tests with a changed file until one fails."""
    functions = dict.fromkeys(test.partition("[")[0] for test in limits_s)
    job = {
        "files": files,
        "arguments": [f"--basetemp={box.directory / 't' / 'b'}", *functions],
        "limits_s": limits_s,
        "env": {},
        "limit_s": (WAITING_S + sum(limits_s.values())) * busy(),
    }
    return box.do(job)


def steadily(
    box: Sandbox,
    files: dict[str, str],
    limits_s: dict[str, float],
    unsteady: set[str],
    steady: set[str],
) -> Json:
    """Try a change without tests that fail without it too, when these alone are run."""
    while True:
        limits_s = {test: s for test, s in limits_s.items() if test not in unsteady}
        done = try_mutant(box, files, limits_s) if limits_s else {"outcome": "not reached"}
        by = done.get("by", "")
        if by not in limits_s or by in steady:
            return done
        as_far = dict(list(limits_s.items())[: list(limits_s).index(by) + 1])
        passes = try_mutant(box, {}, as_far)["outcome"] == "survived"
        (steady if passes else unsteady).add(by)


def print_table(results: dict[str, Json]) -> None:
    """Print how many mutants of each room came out how."""
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    for done in results.values():
        rooms[done["room"]][done["outcome"]] += 1
        rooms["all"][done["outcome"]] += 1
    outcomes = sorted(rooms["all"])
    print(f"{'':12}" + "".join(f"{outcome:>13}" for outcome in outcomes))
    for room in [*sorted(set(rooms) - {"all"}), "all"]:
        print(f"{room:12}" + "".join(f"{rooms[room][outcome]:13}" for outcome in outcomes))


def compare(given: argparse.Namespace) -> int:
    before, after = results_in(given.before), results_in(given.after)
    gone = [
        name
        for name, done in after.items()
        if done["outcome"] in UNNOTICED and before.get(name, {}).get("outcome") in NOTICED
    ]
    unknown = [n for n, d in after.items() if d["outcome"] in UNNOTICED and n not in before]
    print(f"{len(gone)} were noticed before and are not any more")
    print(f"{len(unknown)} that are not noticed were not tried before")
    for name in gone:
        old, new = before[name], after[name]
        print(f"{name} (line {old['line']}) {old['old']!r} -> {old['new']!r}")
        print(f"    {old['outcome']} by {old.get('by', '')}; now {new['outcome']}")
    return 1 if gone else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True)

    def command(name: str, do: Callable[[argparse.Namespace], int | None]) -> Any:
        added = commands.add_parser(name)
        added.set_defaults(do=do)
        return added

    drawing = command("draw", draw)
    drawing.add_argument("--seed", type=int, default=1)
    drawing.add_argument("--count", type=int, default=600)
    tracing = command("trace", trace)
    tracing.add_argument("files", nargs="*", type=Path, help="modules or directories of tests")
    tracing.add_argument("-m", default="not long and not soak", help="marks, as pytest has them")
    tracing.add_argument("--missing", action="store_true", help="leave out what was traced")
    tracing.add_argument("--limit", type=float, default=600, help="of a module of tests, s")
    running = command("run", run)
    running.add_argument("file", type=Path)
    running.add_argument("-o", "--output", type=Path, required=True)
    running.add_argument("--again", action="store_true", help="try again what was not noticed")
    running.add_argument("--only-survivors", type=Path, metavar="RESULT")
    running.add_argument("--seconds", type=float, default=40, help="of tests for each change")
    for one in (tracing, running):
        one.add_argument("--tests", type=Path, default=ROOT / "tests", help="of which checkout")
        one.add_argument("-n", type=int, default=2, help="sandboxes")
    for one in (drawing, running):
        one.add_argument("--room", action="append", default=[])
    comparing = command("compare", compare)
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # sandboxes are closed, then
    return given.do(given) or 0


if __name__ == "__main__":
    sys.exit(main())
