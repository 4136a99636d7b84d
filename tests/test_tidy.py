"""The house holds its size, and names in it say what things are."""

import ast
import gc
import importlib.util
import re
import subprocess
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: What reads badly, as patterns with any space between words, and what to write instead.
BANNED = {
    r"fore(?:tell|told)": "predict is the field's word",
    r"\bis complained of\b": "say who complains, or of what",
    r"\blet expect\b": "say what is expected",
    r"\bfrom the begin\b": "from the start, or the beginning",
    r"\btold more briefly\b": "say that its description is shorter",
}
#: What parts words, at the end of a line of a comment too.
GAP = r"[\s#/*]+"
MOST_LINES_OF_A_FUNCTION = 70
MOST_LINES_UNRELEASED = 60
#: Who takes as many names of a module takes the module: `words.temp_text`, not `temp_text`.
MANY_NAMES = 3


def _shape() -> Any:
    spec = importlib.util.spec_from_file_location("shape", ROOT / "scripts" / "shape.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SHAPE = _shape()


@cache
def nodes_of(path: Path) -> Sequence[ast.AST]:
    """Return all of a module's tree, which several tests look through, walked once."""
    return [*ast.walk(SHAPE.tree_of(path))]


@pytest.fixture(scope="module", autouse=True)
def _no_collecting() -> Iterator[None]:
    """Trees of all sources are kept, and looked through for garbage again and again otherwise."""
    gc.disable()
    yield
    gc.enable()


def _sources(*roots: str) -> Iterator[Path]:
    for root in roots:
        yield from sorted((ROOT / root).rglob("*.py"))


def _git(*words: str) -> str:
    """What git says; the test is skipped in a tree without a history."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no history here: {done.stderr.strip()}")
    return done.stdout


def test_each_room_keeps_within_its_budget_and_no_budget_is_far_above_its_room() -> None:
    budgets = tomllib.loads((ROOT / SHAPE.BUDGETS).read_text("utf-8"))
    said = list(SHAPE.complaints(SHAPE.sizes_of(ROOT, budgets), budgets))
    assert not said, "\n".join(said)


def raised_without_reason(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield which budgets went up from one version to the next without a reason of their own."""
    for name, room in after["rooms"].items():
        then = before["rooms"].get(name, {})
        is_explained = room.get("reason", "") not in ("", then.get("reason"))
        for what in SHAPE.limited(room):
            if room[what] > then.get(what, room[what]) and not is_explained:
                yield (
                    f"{name}: its budget went up from {then[what]:,} to {room[what]:,} {what}: say "
                    "why in `reason`, or take it down"
                )


def test_a_budget_goes_up_only_with_a_reason() -> None:
    commits = _git("log", "--first-parent", "-n", "20", "--format=%h", "--", str(SHAPE.BUDGETS))
    texts = [_git("show", f"{commit}:{SHAPE.BUDGETS}") for commit in commits.split()]
    versions = [tomllib.loads(text) for text in ((ROOT / SHAPE.BUDGETS).read_text("utf-8"), *texts)]
    raised = [
        line
        for after, before in pairwise(versions)
        for line in raised_without_reason(before, after)
    ]
    assert not raised, "\n".join(raised)


def test_a_public_class_has_a_name_of_its_own() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in _sources("python/heatsoak"):
        for node in SHAPE.definitions_in(SHAPE.tree_of(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    shared = {name: there for name, there in places.items() if len(there) > 1}
    assert not shared, f"rename one of each: {shared}"


def _bound(path: Path) -> Iterator[tuple[str, str]]:
    """Names that a module gives to things, and what of heatsoak each is."""
    for node in nodes_of(path):
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store())
                | ast.arg(arg=name)
                | ast.ClassDef(name=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
            ):
                yield name, ""
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                of = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                yield from ((alias.asname or alias.name, of + alias.name) for alias in aliases)


def test_who_takes_many_names_of_a_module_takes_the_module() -> None:
    modules = SHAPE.modules_of(ROOT)
    bound = {name: set(_bound(path)) for name, path in modules.items()}
    many = []
    for name, path in modules.items():
        stated = [ast.unparse(n) for n in SHAPE.tree_of(path).body if isinstance(n, ast.Assign)]
        offered = [text for text in stated if "__all__" in text]
        typed = {
            inner
            for node in nodes_of(path)
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            for inner in ast.walk(node)
        }
        for node in nodes_of(path):
            if not isinstance(node, ast.ImportFrom) or node in typed:
                continue
            names = {alias.name for alias in node.names} - {
                alias.name
                for alias in node.names
                if f"{node.module}.{alias.name}" in modules or f"'{alias.name}'" in str(offered)
            }
            parent, _, last = (node.module or "").rpartition(".")
            others = {of for there in (name, parent) for n, of in bound.get(there, ()) if n == last}
            if len(names) >= MANY_NAMES and node.module in modules and others <= {node.module}:
                many.append(f"{path.relative_to(ROOT)}:{node.lineno}: {', '.join(sorted(names))}")
    assert not many, "take the module, as in `from heatsoak import words`"


#: The door for what is written, and what runs alone, without heatsoak.
DOORS = {"python/heatsoak/writing.py"}
#: Makers of files and copies that follow links, or replace what is there.
MAKERS = {"write_text", "write_bytes", "copy", "copy2", "copyfile", "copytree", "touch", "savetxt"}


def opens_to_write(call: ast.Call) -> bool:
    """Whether a call makes or changes a file by its path."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
    owner = ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""
    if name in MAKERS:
        return name not in ("copy", "copy2") or owner == "shutil"
    words = [*call.args, *(keyword.value for keyword in call.keywords)]
    if any(keyword.arg == "fileobj" for keyword in call.keywords):
        return False  # into what is open
    if name == "open" and owner == "os":
        return "O_CREAT" in ast.unparse(call)
    modes = [word.value for word in words if isinstance(word, ast.Constant)]
    return name == "open" and any(
        isinstance(mode, str) and len(mode) < 5 and set(mode) & set("wxa+") for mode in modes
    )


def test_nothing_is_written_but_through_one_door() -> None:
    found = [
        f"{name}:{node.lineno}: {ast.unparse(node)[:60]}"
        for path in _sources("python/heatsoak")
        if (name := path.relative_to(ROOT).as_posix()) not in DOORS
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and opens_to_write(node)
    ]
    assert not found, "\n".join(["these write without heatsoak.writing:", *found])


@pytest.mark.parametrize(
    ("code", "writes"),
    [
        ("path.open('wb')", True),
        ("open(path, mode='a')", True),
        ("path.write_text('x')", True),
        ("os.open(path, os.O_RDWR | os.O_CREAT)", True),
        ("shutil.copytree(a, b)", True),
        ("path.open('rb')", False),
        ("os.open(path, os.O_RDONLY)", False),
        ("known.copy()", False),
    ],
)
def test_what_writes_is_told_from_what_reads(code: str, writes: bool) -> None:
    call = ast.parse(code, mode="eval").body
    assert isinstance(call, ast.Call)
    assert opens_to_write(call) is writes


def test_no_function_is_longer_than_a_page() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name} has {length} lines"
        for path in _sources("python/heatsoak", "benches", "scripts", "build_backend")
        for node in SHAPE.definitions_in(SHAPE.tree_of(path))
        if not isinstance(node, ast.ClassDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1) > MOST_LINES_OF_A_FUNCTION
    ]
    assert not long, "\n".join(["part these where their ideas part:", *long])


def banned_in(name: str, text: str) -> list[str]:
    """Return where banned words stand in a file or in its name, and what to write instead."""
    found = []
    for words, instead in BANNED.items():
        pattern = re.compile(words.replace(" ", GAP), re.IGNORECASE)
        if match := pattern.search(name.replace("_", " ")):
            found.append(f"{name}: '{match[0]}' in its name: {instead}")
        found += [
            f"{name}:{text.count(chr(10), 0, match.start()) + 1}: '{match[0]}': {instead}"
            for match in pattern.finditer(text)
        ]
    return found


def test_words_that_readers_stumbled_over_stay_out() -> None:
    suffixes = {".css", ".ipynb", ".md", ".mjs", ".py", ".pyi", ".rs", ".toml", ".ts", ".yml"}
    names = _git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    found = [
        line
        for name in names
        if Path(name).suffix in suffixes and name != "tests/test_tidy.py" and (ROOT / name).exists()
        for line in banned_in(name, (ROOT / name).read_text("utf-8"))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("text", ["as was\nForetold", "# what let\n# expect", "from the begin on"])
def test_a_banned_word_is_found_across_lines_and_in_capitals(text: str) -> None:
    assert len(banned_in("docs/page.md", text)) == 1


@pytest.mark.parametrize("text", ["from the beginning", "let expected = 1", "untold"])
def test_words_that_only_look_alike_are_not_banned(text: str) -> None:
    assert not banned_in("docs/page.md", text)


def test_what_is_unreleased_is_short_enough_to_read() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    section = re.split(r"^## ", text, flags=re.MULTILINE)[1]
    assert section.startswith("Unreleased")
    lines = len(section.splitlines())
    assert lines < MOST_LINES_UNRELEASED, "cut a release: its line in Cargo.toml, and its section"


BUDGETS = """\
headroom_pct = 2
slack_pct = 4
left_out = []

[rooms.house]
of = ["python/house"]
aim_lines = 10
"""


def house(tmp_path: Path, lines: int) -> dict[str, Any]:
    """Return the sizes of a checkout of one module with so many lines, and a comment."""
    path = tmp_path / "python" / "house" / "door.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('"""A door."""\n\n# painted\n' + "OPEN = 1\n" * lines)
    SHAPE.tree_of.cache_clear()
    sizes: dict[str, Any] = SHAPE.sizes_of(tmp_path, tomllib.loads(BUDGETS))
    return sizes


def test_a_line_more_than_a_budget_is_said_and_so_is_a_budget_far_above(tmp_path: Path) -> None:
    budgets = tomllib.loads(SHAPE.lowered(BUDGETS, house(tmp_path, 100)))
    assert (budgets["rooms"]["house"]["lines"], budgets["rooms"]["house"]["modules"]) == (102, 1)
    assert not list(SHAPE.complaints(house(tmp_path, 102), budgets))
    (over,) = SHAPE.complaints(house(tmp_path, 103), budgets)
    assert over.startswith("house: 103 lines, 1 over its budget of 102: take as many out")
    (above,) = SHAPE.complaints(house(tmp_path, 98), budgets)
    assert "its budget of 102 is more than 4 % above that: python scripts/shape.py" in above


def test_lowering_raises_nothing_and_a_reason_serves_one_raise(tmp_path: Path) -> None:
    text = SHAPE.lowered(BUDGETS, house(tmp_path, 100))
    assert SHAPE.lowered(text, house(tmp_path, 200)) == text
    more = text.replace("lines = 102", "lines = 110")
    budgets, raised, explained = map(
        tomllib.loads, (text, more, f'{more}reason = "a second door"\n')
    )
    (line,) = raised_without_reason(budgets, raised)
    assert line.startswith("house: its budget went up from 102 to 110 lines: say why")
    assert not list(raised_without_reason(budgets, explained))
    again = explained | {"rooms": {"house": explained["rooms"]["house"] | {"lines": 120}}}
    assert len(list(raised_without_reason(explained, again))) == 1
