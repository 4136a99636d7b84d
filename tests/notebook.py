"""Notebooks as people run them: cell after cell, in one namespace.

``python tests/notebook.py FILE`` runs one and stores what its cells print, for who reads it.
"""

import ast
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
#: Fits end a little differently where floating-point sums are taken in another order.
_SHARE, _LEAST = 0.05, 1.0


def cells_of(path: Path) -> list[dict[str, Any]]:
    """Return the cells with code."""
    cells: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def source_of(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def outputs(path: Path) -> Iterator[tuple[str, str | None]]:
    """Run a notebook where it leaves nothing behind; what each cell prints, and its value's text.

    An error of a cell is raised, with the cell's number as its file.
    """
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as directory, chdir(directory):
        for number, cell in enumerate(cells_of(path), 1):
            parsed = ast.parse(source_of(cell))
            last = parsed.body.pop() if isinstance(parsed.body[-1], ast.Expr) else None
            file = f"{path.name}, cell {number}"
            printed = StringIO()
            with redirect_stdout(printed):
                exec(compile(parsed, file, "exec"), names)
                value = None
                if isinstance(last, ast.Expr):
                    value = eval(compile(ast.Expression(last.value), file, "eval"), names)
            yield printed.getvalue(), None if value is None else str(value)


def stored(cell: dict[str, Any]) -> tuple[str, str | None]:
    """Return what a cell printed and its value's text, as the file has them."""
    printed = "".join(
        text for one in cell["outputs"] if one["output_type"] == "stream" for text in one["text"]
    )
    values = [
        "".join(one["data"]["text/plain"])
        for one in cell["outputs"]
        if one["output_type"] == "execute_result"
    ]
    return printed, values[0] if values else None


def is_alike(one: str, other: str) -> bool:
    """Whether two texts say the same, with numbers that differ by a little at most."""
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(abs(float(a) - float(b)) <= max(_SHARE * abs(float(b)), _LEAST) for a, b in pairs)


def _store(path: Path) -> None:
    notebook = json.loads(path.read_text("utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, (printed, value)) in enumerate(
        zip(code, outputs(path.absolute()), strict=True), 1
    ):
        cell["execution_count"] = number
        cell["outputs"] = []
        if printed:
            lines = printed.splitlines(keepends=True)
            cell["outputs"].append({"name": "stdout", "output_type": "stream", "text": lines})
        if value is not None:
            data = {"text/plain": value.splitlines(keepends=True)}
            result = {"data": data, "execution_count": number, "metadata": {}}
            cell["outputs"].append({**result, "output_type": "execute_result"})
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
    path.write_text(f"{text}{os.linesep}", "utf-8")


if __name__ == "__main__":
    for word in sys.argv[1:]:
        _store(Path(word))
