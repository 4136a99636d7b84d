"""Counts the shape of the code: ``python scripts/shape.py [--lower] [CHECKOUT]``.

Each room's size beside its budget, which ``scripts/budgets.toml`` has and `make lint` holds, and
its aim; modules that one other module imports, lines that ask which kind a step is, circles of
imports, tests, names that say nothing, and long sentences. ``--lower`` takes budgets down to
today's sizes and the headroom; a room without numbers gets those.
"""

import argparse
import ast
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

BUDGETS = Path("scripts/budgets.toml")
STEP_KINDS = "Step|Pause|Purge|Replay|Copy|Rounds|Precondition|Observed|Observation"
#: Names of which a reader learns nothing.
EMPTY_NAMES = (
    *("one", "found", "known", "told", "said", "given", "seen", "kept"),
    *("what", "own", "some", "these", "both", "there"),
)
#: Sentences with more words are hard to read.
LONG_SENTENCE = 40
_COMMENTS = {".py": "#", ".toml": "#", ".rs": "//", ".ts": "//", ".mjs": "//"}


def modules_of(checkout: Path) -> dict[str, Path]:
    """Return the package's modules by their dotted names."""
    root = checkout / "python"
    found = {}
    for path in (root / "heatsoak").rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree_of(path: Path) -> ast.Module:
    """Return a module as Python parses it."""
    return ast.parse(path.read_text("utf-8"))


Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def definitions_in(node: ast.AST) -> Iterator[Definition]:
    """Yield all classes and functions, nested ones too."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            yield child
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from definitions_in(child)


def _documentation(path: Path) -> set[int]:
    """The lines of a module's docstrings."""
    lines: set[int] = set()
    tree = tree_of(path)
    for node in (tree, *definitions_in(tree)):
        if ast.get_docstring(node, clean=False) is not None:
            lines.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return lines


def lines_of(path: Path) -> int:
    """Return the lines of a file that are neither blank, comment nor docstring."""
    text = path.read_text("utf-8")
    if path.suffix in (".rs", ".ts", ".mjs"):
        text = re.sub(r"^\s*/\*.*?\*/", "", text, flags=re.MULTILINE | re.DOTALL)
    skipped = _documentation(path) if path.suffix == ".py" else set()
    return sum(
        bool(line.strip()) and not line.lstrip().startswith(_COMMENTS[path.suffix])
        for number, line in enumerate(text.splitlines(), 1)
        if number not in skipped
    )


def limited(room: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a room has a budget of."""
    if "aim_words" in room:
        return ("words",)
    is_package = room["of"][0].startswith("python/")
    return ("lines", "modules") if is_package else ("lines",)


def sizes_of(checkout: Path, budgets: Mapping[str, Any]) -> dict[str, Counter[str]]:
    """Return `lines`, `modules`, `words` and `whole` lines of Python by room."""
    rooms = {place: name for name, room in budgets["rooms"].items() for place in room["of"]}
    sizes: dict[str, Counter[str]] = {name: Counter() for name in budgets["rooms"]}
    roots = {place for place in rooms if not any(place.startswith(f"{p}/") for p in rooms)}
    for path in (path for root in sorted(roots) for path in (checkout / root).rglob("*")):
        place = path.relative_to(checkout).as_posix()
        if any(place == one or place.startswith(f"{one}/") for one in budgets["left_out"]):
            continue
        size = sizes[rooms[max((p for p in rooms if f"{place}/".startswith(f"{p}/")), key=len)]]
        if path.suffix == ".md":
            size["words"] += len(path.read_text("utf-8").split())
        if path.suffix in _COMMENTS:
            size["lines"] += lines_of(path)
        if path.suffix == ".py":
            size["modules"] += 1
            size["whole"] += len(path.read_text("utf-8").splitlines())
    return sizes


def complaints(sizes: Mapping[str, Counter[str]], budgets: Mapping[str, Any]) -> Iterator[str]:
    """Yield which rooms are over their budgets, and which budgets are above what is there."""
    for name, room in budgets["rooms"].items():
        for what in limited(room):
            size, most = sizes[name][what], room[what]
            if size > most:
                yield (
                    f"{name}: {size:,} {what}, {size - most:,} over its budget of {most:,}: take "
                    f"as many out, or raise it in {BUDGETS} with a reason beside it"
                )
            elif most > size * (1 + budgets["slack_pct"] / 100):
                yield (
                    f"{name}: {size:,} {what}, and its budget of {most:,} is more than "
                    f"{budgets['slack_pct']} % above that: python scripts/shape.py --lower"
                )


def lowered(text: str, sizes: Mapping[str, Counter[str]]) -> str:
    """Return a file of budgets with none higher than today's size and the headroom."""
    budgets = tomllib.loads(text)
    share = 1 + budgets["headroom_pct"] / 100
    head, *parts = re.split(r"^(?=\[rooms\.)", text, flags=re.MULTILINE)
    done = []
    for name, part in zip(budgets["rooms"], parts, strict=True):
        room = budgets["rooms"][name]
        for what in limited(room):
            most = int(sizes[name][what] * share)
            most = min(room.get(what, most), most)
            part, count = re.subn(rf"^{what} = .*$", f"{what} = {most}", part, flags=re.MULTILINE)
            part = part if count else f"{part.rstrip()}\n{what} = {most}\n\n"
        done.append(part)
    return f"{head}{''.join(done).rstrip()}\n"


def imports_of(modules: dict[str, Path]) -> dict[str, set[str]]:
    """Return which modules each module imports, within functions too."""
    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        graph[name] = set()
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    graph[name] |= {whole if whole in modules else node.module} & modules.keys()
        graph[name].discard(name)
    return graph


def circles_in(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or through others."""
    reached = {}
    for start in graph:
        seen: set[str] = set()
        left = [start]
        while left:
            for other in graph[left.pop()] - seen:
                seen.add(other)
                left.append(other)
        reached[start] = seen
    groups = {
        tuple(sorted(b for b in graph if b in reached[a] and a in reached[b]))
        for a in graph
        if a in reached[a]
    }
    return [list(group) for group in sorted(groups)]


def _shares_of_names(modules: Mapping[str, Path]) -> Iterator[str]:
    """How often the names that say nothing are assigned."""
    counts = Counter[str]()
    for node in (node for path in modules.values() for node in ast.walk(tree_of(path))):
        if isinstance(node, ast.arg) and node.arg not in ("self", "cls"):
            counts[node.arg] += 1
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            counts[node.id] += 1
    empty = {name: counts[name] for name in EMPTY_NAMES if counts[name]}
    yield f"{sum(empty.values()) / counts.total():.1%} of assigned names say nothing"
    for name, count in sorted(empty.items(), key=lambda item: -item[1]):
        yield f"  {name:8} {count:5}  {count / counts.total():.1%}"


def _long_sentences(docs: Path) -> Iterator[str]:
    """The docs' sentences of too many words, without tables and code: where, and how many."""
    for page in sorted(docs.glob("*.md")):
        text = re.sub(r"^```.*?^```", "\n\n", page.read_text("utf-8"), flags=re.M | re.S)
        text = re.sub(r"^(\||#).*$", "", text, flags=re.M)
        counts = [
            len(sentence.split())
            for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text)
            for sentence in re.split(r"(?<=[.!?:;])\s+", paragraph)
        ]
        long = sorted((count for count in counts if count > LONG_SENTENCE), reverse=True)
        if long:
            yield f"  {page.name}: {', '.join(map(str, long))}"


def _print_sizes(sizes: Mapping[str, Counter[str]], budgets: Mapping[str, Any]) -> None:
    print(f"{'room':14}{'modules':>8}{'most':>6}{'lines':>9}{'most':>9}{'whole':>9}{'aim':>9}")
    total = Counter[str]()
    for name, room in budgets["rooms"].items():
        size = sizes[name]
        if limited(room) == ("words",):
            print(f"{name:14}{size['words']:23,}{room['words']:9,} words{room['aim_words']:12,}")
            continue
        modules = f"{size['modules']:8}{room['modules']:6}" if "modules" in room else " " * 14
        aim = room.get("aim_lines", 0)
        whole = f"{size['whole']:9,}{aim:9,}" if aim else ""
        print(f"{name:14}{modules}{size['lines']:9,}{room['lines']:9,}{whole}")
        if "modules" in room:
            total.update(size | {"aim": aim})
    aims = f"{total['whole']:9,}{total['aim']:9,}"
    print(f"{'the package':14}{total['modules']:8}{total['lines']:15,}{aims:>27}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", nargs="?", type=Path, default=Path())
    parser.add_argument("--lower", action="store_true", help="take budgets down to today's sizes")
    options = parser.parse_args()
    checkout, file = options.checkout, options.checkout / BUDGETS
    text = file.read_text("utf-8")
    sizes = sizes_of(checkout, tomllib.loads(text))
    if options.lower:
        text = lowered(text, sizes)
        file.write_text(text, "utf-8")
    budgets = tomllib.loads(text)
    _print_sizes(sizes, budgets)
    for line in complaints(sizes, budgets):
        print(line)
    modules = modules_of(checkout)
    graph = imports_of(modules)
    importers: dict[str, set[str]] = defaultdict(set)
    for name, imported in graph.items():
        for other in imported:
            importers[other].add(name)
    print(f"{sum(len(importers[name]) == 1 for name in modules)} modules have one importer")
    asks = rf"isinstance\([^)\n]*\w*(?:{STEP_KINDS})\b"
    asking = sum(len(re.findall(asks, path.read_text("utf-8"))) for path in modules.values())
    print(f"{asking} lines ask which kind a step is")
    for group in circles_in(graph):
        print(f"circle: {', '.join(group)}")
    tests = [p.read_text("utf-8") for p in (checkout / "tests").rglob("test_*.py")]
    count = sum(len(re.findall(r"^def test_", text, re.MULTILINE)) for text in tests)
    print(f"{count} test functions in {len(tests)} files")
    print(*_shares_of_names(modules), sep="\n")
    print(f"sentences of more than {LONG_SENTENCE} words in docs:")
    print(*_long_sentences(checkout / "docs"), sep="\n")


if __name__ == "__main__":
    main()
