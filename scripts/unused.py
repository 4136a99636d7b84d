"""Lists functions, classes and imports that nothing uses: ``python scripts/unused.py``.

`make lint` runs it; the exit code is 1 if there are any. Fields and constants are left out: JSON
and the formats' table use those. What the tests alone use is listed: it should go with them.
"""

import sys
from pathlib import Path

from vulture import Vulture

ROOT = Path(__file__).resolve().parent.parent
#: Where names are used.
USERS = ("python", "benches", "build_backend", "docs", "examples", "scripts", "vm")
KINDS = ("class", "function", "import", "method", "property")
#: What a library calls: typer its commands, pydantic its validators.
CALLED = ["@*.command*", "@*callback*", "@*validator*", "@*serializer*", "@override"]
#: What Python calls (PEP 562), and imports that stand in quoted types alone.
USED = {"__getattr__", "__dir__", "HardwareInfo", "TestStep", "TwinMap"}


def main() -> int:
    """Print each, with its place."""
    # commands are found by their names, as in cli/commands.py, and so is what pytest calls
    search = Vulture(ignore_decorators=CALLED, ignore_names=["*_command", "pytest_*"])
    search.scavenge([str(ROOT / name) for name in USERS])
    found = [one for one in search.get_unused_code() if one.typ in KINDS and one.name not in USED]
    for one in found:
        place = Path(one.filename).relative_to(ROOT)
        print(f"{place}:{one.first_lineno}: nothing uses the {one.typ} {one.name}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
