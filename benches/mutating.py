"""Small changes of a package's source that its tests should notice, and how to find them again.

A mutant is named by its module, its function, its kind, and its number among those of that kind in
the function, so that it is found after imports were rewritten, or names changed. What only people
and tools read is left as it is: docstrings, annotations, messages, what is there for types.
"""

import ast
import hashlib
import random
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

_OPERATORS: dict[type[ast.AST], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
    ast.Add: ("+", ("-",)),
    ast.Sub: ("-", ("+",)),
    ast.Mult: ("*", ("/",)),
    ast.Div: ("/", ("*",)),
    ast.FloorDiv: ("//", ("/",)),
    ast.Mod: ("%", ("*",)),
    ast.Pow: ("**", ("*",)),
    ast.BitAnd: ("&", ("|",)),
    ast.BitOr: ("|", ("&",)),
    ast.And: ("and", ("or",)),
    ast.Or: ("or", ("and",)),
}
_EXCHANGED = {"min": "max", "max": "min", "any": "all", "all": "any"}
#: A string that says which (a key, a column, a unit); messages have spaces.
_KEY = re.compile(r"[A-Za-z0-9_.%/-]{1,40}")
#: Calls that mean the same with their arguments the other way about.
_SYMMETRICAL = {"min", "max", "isinstance", "issubclass", "zip", "print"}
#: Calls that nobody need notice: they give back early what ends anyway, or speak to developers.
_UNSEEN = {"close", "flush", "freeze", "collect", "debug", "info", "simplefilter"}
_NOT_MEANT = {"help", "description", "title", "maxsize", "stacklevel", "encoding", "errors"}
_OF_TYPES = {"Literal", "Annotated", "TypeVar", "NewType", "cast", "TypeAdapter", "ParamSpec"}
_GENERIC = {"dict", "list", "set", "tuple", "type", "frozenset"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Scope = _Function | ast.ClassDef


@dataclass(frozen=True)
class Mutant:
    """One change of a module's source, `old` into `new`.

    `function` is a qualified name: a class's for what stands in it alone, empty for the module's.
    `nth` counts the `of` mutants of its `kind` in there; `shape` is what is changed, with its
    surroundings, and `body` what tells the function from others, both whatever things are called.
    """

    module: str
    function: str
    kind: str
    nth: int
    of: int
    old: str
    new: str
    shape: str
    body: str
    line: int

    @property
    def name(self) -> str:
        """What tells it from others of its version."""
        return f"{self.module}:{self.function}:{self.kind}:{self.nth}"

    @property
    def room(self) -> str:
        """The part of the package that it is in."""
        return [*self.module.split("."), "__init__"][1]


@dataclass(frozen=True)
class _Edit:
    kind: str
    begin: int
    end: int
    new: str
    shape: str
    line: int


def shape_of(code: str) -> str:
    """Return code without what says where its names come from, and without names of classes."""
    code = re.sub(r"\b[A-Za-z_]\w*\s*\.\s*(?=[A-Za-z_])", "", code)
    code = re.sub(r"\b(?!(?:None|True|False)\b)_?[A-Z]\w*[a-z]\w*\b", "Class", code)
    return re.sub(r"[\s()]+|,(?=\])", "", code).replace("'", '"')


def _named(node: ast.AST) -> str:
    """Return the last part of a name, or of the name of what is called; empty if it has none."""
    if isinstance(node, ast.Call):
        return _named(node.func)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def docstring(node: ast.AST) -> ast.Expr | None:
    """Return the statement that is the docstring of a module, class or function."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
        value = body[0].value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return body[0]
    return None


def _left_alone(node: ast.AST) -> Iterator[ast.AST | None]:
    """Yield the parts of a node that say nothing about what the program does."""
    yield docstring(node)
    if isinstance(node, _Scope):
        yield from node.decorator_list
    match node:
        case ast.FunctionDef(returns=returns) | ast.AsyncFunctionDef(returns=returns):
            yield returns
        case ast.ClassDef(bases=bases):
            yield from bases
        case ast.arg(annotation=annotation):
            yield annotation
        case ast.AnnAssign(annotation=annotation):
            yield annotation
        case ast.If(test=test) if _named(test) == "TYPE_CHECKING":
            yield from (test, *node.body)
        case ast.Assign(targets=[ast.Name(id="__all__" | "__slots__")]):
            yield node.value
        case ast.Assert() | ast.Raise() | ast.JoinedStr():
            yield from ast.iter_child_nodes(node)
        case ast.Subscript(value=value):
            name = _named(value)
            if name in _OF_TYPES | _GENERIC or (name[:1].isupper() and not name.isupper()):
                yield node.slice
        case ast.Call() if _named(node) in _OF_TYPES:
            yield from ast.iter_child_nodes(node)
        case ast.Call(keywords=keywords):
            yield from (word for word in keywords if word.arg in _NOT_MEANT)


class Source:
    """The source of a module, and the mutants of it."""

    def __init__(self, module: str, text: bytes) -> None:
        self.module = module
        self.text = text
        self.tree = ast.parse(text)
        self._begins = [0]
        for line in text.splitlines(keepends=True):
            self._begins.append(self._begins[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return where the bytes of a node begin and end."""
        end_line, end_column = node.end_lineno, node.end_col_offset
        assert end_line is not None
        assert end_column is not None
        begin = self._begins[node.lineno - 1] + node.col_offset
        return begin, self._begins[end_line - 1] + end_column

    @cached_property
    def functions(self) -> dict[str, list[_Function]]:
        """Functions and methods by their qualified names, which some share, as of one property."""
        found: dict[str, list[_Function]] = defaultdict(list)

        def look(node: ast.AST, prefix: str) -> None:
            for child in ast.iter_child_nodes(node):
                name = prefix + child.name if isinstance(child, _Scope) else ""
                if isinstance(child, _Function):
                    found[name].append(child)
                look(child, f"{name}." if name else prefix)

        look(self.tree, "")
        return dict(found)

    @cached_property
    def code_lines(self) -> set[int]:
        """The numbers of the lines that are neither blank, nor comments, nor docstrings."""
        lines = enumerate(self.text.splitlines(), 1)
        found = {at for at, line in lines if line.strip() and not line.strip().startswith(b"#")}
        for node in ast.walk(self.tree):
            if doc := docstring(node):
                found -= set(range(doc.lineno, (doc.end_lineno or doc.lineno) + 1))
        return found

    @cached_property
    def mutants(self) -> dict[Mutant, tuple[int, int]]:
        """The mutants, each with the bytes that it replaces."""
        bodies = {}
        for name, nodes in self.functions.items():
            parts = [part for node in nodes for part in node.body if part is not docstring(node)]
            code = [ast.unparse(part) for part in parts]
            bodies[name] = hashlib.sha256(shape_of("".join(code)).encode()).hexdigest()[:12]
        kinds: dict[tuple[str, str], list[_Edit]] = defaultdict(list)
        for function, edit in self._edits(self.tree, ""):
            kinds[function, edit.kind].append(edit)
        found = {}
        for (function, kind), edits in kinds.items():
            edits.sort(key=lambda edit: (edit.begin, edit.new))
            for nth, edit in enumerate(edits):
                old = self.text[edit.begin : edit.end].decode()
                mutant = Mutant(
                    *(self.module, function, kind, nth, len(edits), old, edit.new),
                    *(edit.shape, bodies.get(function, ""), edit.line),
                )
                found[mutant] = edit.begin, edit.end
        return found

    def mutated(self, mutant: Mutant) -> bytes:
        """Return the source with one of its mutants in it."""
        begin, end = self.mutants[mutant]
        return self.text[:begin] + mutant.new.encode() + self.text[end:]

    def _edits(self, node: ast.AST, function: str) -> Iterator[tuple[str, _Edit]]:
        if isinstance(node, ast.expr | ast.stmt):
            begin, end = self.span(node)
            code = self.text[begin : min(begin + 300, end)].decode(errors="ignore")
            for kind, at, to, new in self._changes(node):
                shape = shape_of(code) + "=>" + shape_of(new[:300])
                yield function, _Edit(kind, at, to, new, shape, node.lineno)
        skipped = {id(part) for part in _left_alone(node) if part is not None}
        for child in ast.iter_child_nodes(node):
            if id(child) not in skipped:
                inner = function
                if isinstance(child, _Scope):
                    inner = f"{function}.{child.name}".lstrip(".")
                yield from self._edits(child, inner)

    def _changes(self, node: ast.expr | ast.stmt) -> Iterator[tuple[str, int, int, str]]:
        """Yield each change of a node itself: its kind, where it begins and ends, and the new."""
        begin, end = self.span(node)
        match node:
            case ast.Compare():
                operands = [node.left, *node.comparators]
                for operator, *sides in zip(node.ops, operands, operands[1:], strict=False):
                    yield from self._operator("compare", operator, *sides)
            case ast.BinOp(left=left, op=operator, right=right):
                of_types = isinstance(operator, ast.BitOr) and _is_type(right)
                if not (_is_text(left) or _is_text(right) or of_types):
                    yield from self._operator("arithmetic", operator, left, right)
            case ast.BoolOp(op=operator, values=values):
                for left, right in pairwise(values):
                    yield from self._operator("boolean", operator, left, right)
            case ast.UnaryOp(op=ast.Not()):
                yield "not", begin, begin + len("not"), ""
            case ast.UnaryOp(op=ast.USub()):
                yield "arithmetic", begin, begin + 1, ""
            case ast.Constant(value=value):
                for new in _other_values(value):
                    yield "constant", begin, end, new
            case ast.Call(func=ast.Name(id=name)) if name in _EXCHANGED:
                yield "call", begin, begin + len(name), _EXCHANGED[name]
            case ast.Call(args=[first, second, *_]) if _named(node) not in _SYMMETRICAL:
                yield from self._swapped(first, second)
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield "return", *self.span(value), "None"
            case ast.Break() | ast.Continue():
                yield "jump", begin, end, "continue" if isinstance(node, ast.Break) else "break"
            case _ if _is_removable(node):
                yield "statement", begin, end, "pass"
        if isinstance(node, ast.If | ast.While | ast.IfExp):
            yield from self._negated(node.test)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            for test in (test for part in node.generators for test in part.ifs):
                yield from self._negated(test)

    def _operator(
        self, kind: str, operator: ast.AST, left: ast.expr, right: ast.expr
    ) -> Iterator[tuple[str, int, int, str]]:
        old, others = _OPERATORS.get(type(operator), ("", ()))
        begin, end = self.span(left)[1], self.span(right)[0]
        between = self.text[begin:end].decode()
        if others and (found := re.search(r"\s+".join(map(re.escape, old.split())), between)):
            for new in others:
                yield kind, begin + found.start(), begin + found.end(), new

    def _swapped(self, first: ast.expr, second: ast.expr) -> Iterator[tuple[str, int, int, str]]:
        (begin, one_end), (two_begin, end) = self.span(first), self.span(second)
        one, two = self.text[begin:one_end].decode(), self.text[two_begin:end].decode()
        if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
            yield "swap", begin, end, two + self.text[one_end:two_begin].decode() + one

    def _negated(self, test: ast.expr) -> Iterator[tuple[str, int, int, str]]:
        if (
            isinstance(test, ast.Name | ast.Attribute | ast.Call)
            and _named(test) != "TYPE_CHECKING"
        ):
            begin = self.span(test)[0]
            yield "condition", begin, begin, "not "


def _is_text(node: ast.expr) -> bool:
    constant = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    return constant or isinstance(node, ast.JoinedStr)


def _is_type(node: ast.expr) -> bool:
    name = _named(node.value if isinstance(node, ast.Subscript) else node)
    nothing = isinstance(node, ast.Constant) and node.value is None
    return nothing or (name[:1].isupper() and not name.isupper())


def _is_removable(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        called = node.value.value if isinstance(node.value, ast.Await) else node.value
        return isinstance(called, ast.Call) and _named(called) not in _UNSEEN
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
    return isinstance(node, ast.AugAssign | ast.Raise | ast.Delete)


def _other_values(value: object) -> Iterator[str]:
    if isinstance(value, bool):
        yield str(not value)
    elif isinstance(value, int):
        yield str(value + 1)
    elif isinstance(value, float):
        yield repr(value * 1.5) if value else "1.0"
    elif isinstance(value, str) and _KEY.fullmatch(value):
        yield f'"{value}_x"'


class Package:
    """The modules of a package in a directory, read when they are asked for."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths = {}
        for path in sorted(root.rglob("*.py")):
            parts = path.relative_to(root.parent).with_suffix("").parts
            self.paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
        self._sources: dict[str, Source] = {}

    def __getitem__(self, module: str) -> Source:
        if module not in self._sources:
            self._sources[module] = Source(module, self.paths[module].read_bytes())
        return self._sources[module]

    def draw(self, count: int, seed: int, rooms: Collection[str] = ()) -> list[Mutant]:
        """Draw mutants by chance, at most one a line, over the rooms by their lines of code."""
        chance = random.Random(seed)
        lines: dict[str, dict[tuple[str, int], list[Mutant]]] = defaultdict(dict)
        sizes: Counter[str] = Counter()
        for module in self.paths:
            room = [*module.split("."), "__init__"][1]
            if rooms and room not in rooms:
                continue
            sizes[room] += len(self[module].code_lines)
            for mutant in self[module].mutants:
                lines[room].setdefault((module, mutant.line), []).append(mutant)
        shares = {room: count * size / sizes.total() for room, size in sizes.items()}
        counts = {room: int(share) for room, share in shares.items()}
        by_rest = sorted(shares, key=lambda room: counts[room] - shares[room])
        for room in by_rest[: count - sum(counts.values())]:
            counts[room] += 1
        drawn = []
        for room, places in sorted(lines.items()):
            for place in chance.sample(sorted(places), min(counts[room], len(places))):
                kinds = sorted({mutant.kind for mutant in places[place]})
                kind = chance.choice(kinds)
                drawn.append(chance.choice([one for one in places[place] if one.kind == kind]))
        return sorted(drawn, key=lambda mutant: (mutant.module, mutant.line))

    def find(self, wanted: Mutant) -> Mutant | None:
        """Return the mutant that is in this version what `wanted` is in another; None if none."""
        last = wanted.function.rpartition(".")[2]
        here = list(self[wanted.module].mutants) if wanted.module in self.paths else []
        same = [one for one in here if one.kind == wanted.kind and one.new == wanted.new]

        def nearest(among: list[Mutant]) -> Mutant | None:
            return min(among, key=lambda one: abs(one.nth - wanted.nth), default=None)

        within = [one for one in same if one.function == wanted.function]
        if found := nearest([one for one in within if one.shape == wanted.shape]):
            return found
        # names within were changed
        if found := nearest([o for o in within if (o.nth, o.of) == (wanted.nth, wanted.of)]):
            return found
        # its class has another name, or it has moved
        for module in [wanted.module, *self.paths] if last else []:
            text = self.paths[module].read_bytes() if module in self.paths else b""
            if f"def {last}(".encode() not in text and not wanted.body:
                continue
            among = [one for one in self[module].mutants if one.kind == wanted.kind] if text else []
            alike = [one for one in among if one.shape == wanted.shape]
            by_name = [one for one in alike if one.function.rpartition(".")[2] == last]
            by_body = [o for o in alike if o.body and (o.body, o.nth) == (wanted.body, wanted.nth)]
            if found := nearest(by_name) or nearest(by_body):
                return found
        return None
