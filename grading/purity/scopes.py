"""Scopes: what a name in a source text means, as far as it can be said without running it."""

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_BUILTINS: Final = frozenset(vars(builtins))
_SETS: Final = ("builtins.set", "builtins.frozenset")


@dataclass(slots=True)
class Scope:
    """The names bound in a module or a function: each by its full dotted name, or "" where that cannot be said.

    `sets` are those that hold nothing but sets. `owner` is the full name of a class whose method this is.
    """

    path: str
    outer: "Scope | None" = None
    owner: str = ""
    receiver: str = ""
    names: dict[str, str] = field(default_factory=dict)
    sets: set[str] = field(default_factory=set)

    @property
    def module(self) -> "Scope":
        return self if self.outer is None else self.outer.module

    def home(self, name: str) -> "Scope | None":
        """The scope that binds a name."""
        if name in self.names:
            return self
        return None if self.outer is None else self.outer.home(name)

    def meaning(self, node: ast.expr) -> str:
        """The full name of what an expression names, "" for anything else."""
        if isinstance(node, ast.Name):
            home = self.home(node.id)
            if home is None:
                return f"builtins.{node.id}" if node.id in _BUILTINS else ""
            return home.owner if home.receiver == node.id else home.names[node.id]
        if isinstance(node, ast.Attribute):
            base = self.meaning(node.value)
            return f"{base}.{node.attr}" if base else ""
        return ""

    def is_set(self, node: ast.expr) -> bool:
        """Whether an expression is a set for certain."""
        if isinstance(node, ast.Name):
            home = self.home(node.id)
            return home is not None and node.id in home.sets
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd | ast.Sub | ast.BitXor):
            return self.is_set(node.left) or self.is_set(node.right)
        if isinstance(node, ast.Call):
            return self.meaning(node.func) in _SETS
        return isinstance(node, ast.Set | ast.SetComp)


def module_scope(module: str, tree: ast.Module, package: str, known: Mapping[str, object]) -> Scope:
    """The scope of a module. `known` are full names worth an alias: `now = time.time` is one."""
    scope = Scope(module)
    _bind(scope, tree.body, package, known)
    return scope


def function_scope(
    node: Function, path: str, outer: Scope, owner: str, package: str, known: Mapping[str, object]
) -> Scope:
    """The scope of a function or lambda that stands in `outer`."""
    scope = Scope(path, outer, owner)
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    named += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    scope.names.update((one.arg, "") for one in named)
    if owner and named:
        scope.receiver = named[0].arg
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    _bind(scope, body, package, known)
    for statement in _own(body):
        if isinstance(statement, ast.Global | ast.Nonlocal):
            for name in statement.names:
                scope.names.pop(name, None)
    return scope


def _bind(scope: Scope, body: list[ast.stmt] | list[ast.expr], package: str, known: Mapping[str, object]) -> None:
    inner = scope.path if scope.outer is None else f"{scope.path}.<locals>"
    assigned: list[ast.Assign | ast.AnnAssign] = []
    for node in _own(body):
        match node:
            case ast.Import():
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    scope.names[alias.asname or top] = alias.name if alias.asname else top
            case ast.ImportFrom():
                _import_from(scope, node, package, known)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                scope.names[node.name] = f"{inner}.{node.name}"
            case ast.Name(ctx=ast.Store() | ast.Del()):
                scope.names.setdefault(node.id, "")
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                scope.names.setdefault(name, "")
            case ast.Assign() | ast.AnnAssign(value=ast.expr()):
                assigned.append(node)
            case _:
                pass
    _alias(scope, assigned, known)


def _import_from(scope: Scope, node: ast.ImportFrom, package: str, known: Mapping[str, object]) -> None:
    source = absolute(node, package)
    for alias in node.names:
        if alias.name == "*":
            found = (name.removeprefix(f"{source}.") for name in known if name.startswith(f"{source}."))
            scope.names.update((name, f"{source}.{name}") for name in found if "." not in name)
        else:
            scope.names[alias.asname or alias.name] = f"{source}.{alias.name}"


def absolute(node: ast.ImportFrom, package: str) -> str:
    """The full name of the module that is imported from."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = ".".join(parts[: len(parts) - node.level + 1])
    return f"{base}.{node.module}" if node.module else base


def _alias(scope: Scope, assigned: list[ast.Assign | ast.AnnAssign], known: Mapping[str, object]) -> None:
    unsure: set[str] = set()
    for node in assigned:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if not isinstance(target, ast.Name) or node.value is None:
                continue
            meaning = scope.meaning(node.value)
            if meaning in known and not scope.names.get(target.id):
                scope.names[target.id] = meaning
            (scope.sets if scope.is_set(node.value) else unsure).add(target.id)
    scope.sets -= unsure


def _own(body: list[ast.stmt] | list[ast.expr]) -> Iterator[ast.AST]:
    """Everything in a body but what stands in functions and classes of its own."""
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting.extend(reversed(list(ast.iter_child_nodes(node))))
