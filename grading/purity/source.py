"""The scan: what the functions of a module could do, read from its source without running it.

It knows names, not values: what is reached through `getattr`, a string, a method of an object or compiled code is out
of its reach, and left to the trials.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from grading.purity.impurities import ENOUGH, FILE_METHODS, MODULES, NAMED, Impurity
from grading.purity.scopes import Function, Scope, absolute, function_scope, module_scope

_KNOWN: Final = {**NAMED, **ENOUGH, **MODULES}
_IN_ORDER: Final = frozenset(
    f"builtins.{name}" for name in ("list", "tuple", "iter", "enumerate", "next", "zip", "map")
)
_CHANGES: Final = frozenset(
    ("add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault")
)
_MAX_WORD: Final = 60
_PROTOCOL: Final = ("__init__", "__post_init__", "__new__", "__call__", "start", "step", "result", "__iter__", "__eq__")


class Place(NamedTuple):
    """Where a function begins: with its first decorator, as in its code object."""

    module: str
    line: int


@dataclass(frozen=True, slots=True)
class Seen:
    """Something impure that stands in the source. `name` is its full name."""

    impurity: Impurity
    name: str
    place: Place


@dataclass(slots=True)
class Body:
    """A function, lambda or class, or a module's own code: what stands in it, and the full names it uses."""

    path: str
    place: Place
    seen: list[Seen] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)
    words: list[str] = field(default_factory=list)
    """Its short strings, in order."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """A module that was read."""

    module: str
    bodies: tuple[Body, ...]
    names: dict[str, str]
    imports: tuple[str, ...]


def scan(module: str, source: str, *, package: str) -> Scanned:
    """Read a module. `package` is the one that its relative imports begin in. Raises SyntaxError."""
    tree = ast.parse(source)
    scope = module_scope(module, tree, package, _KNOWN)
    reader = _Reader(module, package)
    reader.read(tree.body, scope, reader.body(module, 0))
    return Scanned(module, tuple(reader.bodies), scope.names, tuple(_imports(tree, package)))


def _imports(tree: ast.Module, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = absolute(node, package)
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)


class _Reader:
    def __init__(self, module: str, package: str) -> None:
        self.bodies: list[Body] = []
        self._module = module
        self._package = package

    def body(self, path: str, line: int) -> Body:
        made = Body(path, Place(self._module, line))
        self.bodies.append(made)
        return made

    def read(self, nodes: Iterable[ast.AST], scope: Scope, body: Body, owner: str = "") -> None:
        for node in nodes:
            self._node(node, scope, body, owner)

    def _node(self, node: ast.AST, scope: Scope, body: Body, owner: str) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                self._function(node, scope, body, owner)
            case ast.ClassDef():
                self._class(node, scope, body, owner)
            case ast.If() if _never(node.test):
                self.read(node.orelse, scope, body, owner)
            case ast.AnnAssign():
                self.read([one for one in (node.target, node.value) if one is not None], scope, body, owner)
            case ast.Name() | ast.Attribute():
                self._name(node, scope, body, owner)
            case ast.Call():
                self._call(node, scope, body, owner)
            case ast.Set() | ast.SetComp():
                body.uses.add("builtins.set")
                self.read(ast.iter_child_nodes(node), scope, body, owner)
            case ast.Constant(value=str(word)) if len(word) <= _MAX_WORD:
                body.words.append(word)
            case _:
                self._other(node, scope, body)
                self.read(ast.iter_child_nodes(node), scope, body, owner)

    def _function(self, node: Function, scope: Scope, body: Body, owner: str) -> None:
        first = node.lineno
        inside = body.path if body.place.line == 0 or owner == body.path else f"{body.path}.<locals>"
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        if not isinstance(node, ast.Lambda):
            self.read(node.decorator_list, scope, body, owner)
            first = min([first, *(one.lineno for one in node.decorator_list)])
        else:
            body.uses.add(f"{inside}.<lambda>:{node.lineno}")
            name = f"<lambda>:{node.lineno}"
        defaults = [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
        self.read(defaults, scope, body, owner)
        made = self.body(f"{inside}.{name}", first)
        inner = function_scope(node, made.path, scope, owner, self._package, _KNOWN)
        self.read([node.body] if isinstance(node, ast.Lambda) else node.body, inner, made)

    def _class(self, node: ast.ClassDef, scope: Scope, body: Body, owner: str) -> None:
        inside = body.path if body.place.line == 0 or owner == body.path else f"{body.path}.<locals>"
        self.read([*node.decorator_list, *node.bases, *(one.value for one in node.keywords)], scope, body, owner)
        made = self.body(f"{inside}.{node.name}", node.lineno)
        made.uses.update(f"{made.path}.{name}" for name in _PROTOCOL)
        made.uses.update(filter(None, (scope.meaning(base) for base in node.bases)))
        self.read(node.body, scope, made, made.path)

    def _name(self, node: ast.Name | ast.Attribute, scope: Scope, body: Body, owner: str, given: int = 0) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._stored(node, scope, body)
        meaning = scope.meaning(node)
        if meaning:
            body.uses.add(meaning)
            self._judge(meaning, node, body, given)
        elif isinstance(node, ast.Attribute):
            self._node(node.value, scope, body, owner)

    def _judge(self, meaning: str, node: ast.expr, body: Body, given: int) -> None:
        if meaning in ENOUGH:
            enough, impurity = ENOUGH[meaning]
            if given < enough:
                self._see(impurity, meaning, node, body)
            return
        parts = meaning.split(".")
        for end in range(1, len(parts) + 1):
            name = ".".join(parts[:end])
            found = NAMED.get(name) or (MODULES.get(name) if end < len(parts) else None)
            if found is not None:
                self._see(found, name if name in NAMED else meaning, node, body)
                return

    def _call(self, node: ast.Call, scope: Scope, body: Body, owner: str) -> None:
        called = node.func
        if isinstance(called, ast.Name | ast.Attribute):
            self._name(called, scope, body, owner, len(node.args) + len(node.keywords))
        else:
            self._node(called, scope, body, owner)
        meaning = scope.meaning(called)
        if isinstance(called, ast.Attribute) and (not meaning or meaning not in NAMED):
            self._method(called, scope, body)
        joins = isinstance(called, ast.Attribute) and called.attr == "join"
        if (meaning in _IN_ORDER or joins) and any(scope.is_set(one) for one in node.args):
            self._see(Impurity.ORDER, meaning.removeprefix("builtins.") or "join", node, body)
        self.read([*node.args, *(one.value for one in node.keywords)], scope, body, owner)

    def _method(self, called: ast.Attribute, scope: Scope, body: Body) -> None:
        if called.attr in FILE_METHODS:
            self._see(Impurity.FILES, f".{called.attr}", called, body)
        if called.attr == "pop" and scope.is_set(called.value):
            self._see(Impurity.ORDER, "pop", called, body)
        if called.attr in _CHANGES and isinstance(called.value, ast.Name):
            self._change(called.value, scope, body)

    def _stored(self, node: ast.Name | ast.Attribute, scope: Scope, body: Body) -> None:
        if isinstance(node, ast.Name) and scope.outer is not None and node.id not in scope.names:
            self._change(node, scope, body)

    def _change(self, name: ast.Name, scope: Scope, body: Body) -> None:
        home = scope.home(name.id)
        if scope.outer is not None and home is not None and home.outer is None and not home.names[name.id]:
            self._see(Impurity.STATE, name.id, name, body)

    def _other(self, node: ast.AST, scope: Scope, body: Body) -> None:
        match node:
            case ast.For(iter=over) | ast.comprehension(iter=over) if scope.is_set(over):
                self._see(Impurity.ORDER, "for", over, body)
            case ast.Starred(value=over) if scope.is_set(over):
                self._see(Impurity.ORDER, "*", over, body)
            case ast.Subscript(value=ast.Name() as name, ctx=ast.Store() | ast.Del()):
                self._change(name, scope, body)
            case _:
                pass

    def _see(self, impurity: Impurity, name: str, node: ast.expr, body: Body) -> None:
        name = name.removeprefix("builtins.")
        body.seen.append(Seen(impurity, name, Place(self._module, node.lineno)))


def _never(test: ast.expr) -> bool:
    """Whether a condition never holds while a grader is loaded."""
    match test:
        case ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]):
            return True
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING") | ast.Constant(value=False | 0 | None):
            return True
        case _:
            return False
