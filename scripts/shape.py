"""Counts the shape of the code: ``python scripts/shape.py [CHECKOUT]``.

Modules and lines by room, modules that one other module imports, lines that ask which kind a step
is, circles of imports, and tests.
"""

import ast
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

STEP_KINDS = "Step|Pause|Purge|Replay|Copy|Rounds|Precondition|Observed|Observation"


def modules_of(checkout: Path) -> dict[str, Path]:
    """Return the package's modules by their dotted names."""
    root = checkout / "python"
    found = {}
    for path in (root / "heatsoak").rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(modules: dict[str, Path]) -> dict[str, set[str]]:
    """Return which modules each module imports, within functions too."""
    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        graph[name] = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
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


def main() -> None:
    checkout = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    modules = modules_of(checkout)
    graph = imports_of(modules)
    importers: dict[str, set[str]] = defaultdict(set)
    for name, imported in graph.items():
        for other in imported:
            importers[other].add(name)
    counts, lines = Counter[str](), Counter[str]()
    asking = 0
    for name, path in modules.items():
        text = path.read_text("utf-8")
        room = name.split(".")[1] if name.count(".") else "heatsoak"
        counts[room] += 1
        lines[room] += len(text.splitlines())
        asking += len(re.findall(rf"isinstance\([^)\n]*\w*(?:{STEP_KINDS})\b", text))
    for room in sorted(counts):
        print(f"{room:12} {counts[room]:4} modules {lines[room]:6} lines")
    print(f"{'all':12} {len(modules):4} modules {sum(lines.values()):6} lines")
    one = sum(len(importers[name]) == 1 for name in modules)
    print(f"{one} modules have one importer")
    print(f"{asking} lines ask which kind a step is")
    for group in circles_in(graph):
        print(f"circle: {', '.join(group)}")
    tests = [p.read_text("utf-8") for p in (checkout / "tests").rglob("test_*.py")]
    found = sum(len(re.findall(r"^def test_", text, re.MULTILINE)) for text in tests)
    print(f"{found} test functions in {len(tests)} files")


if __name__ == "__main__":
    main()
