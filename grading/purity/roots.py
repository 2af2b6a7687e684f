"""Roots: the functions of a grader that the check of a milestone is made of, found by looking into the check."""

import functools
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any, Final

from grading.purity.source import Place

_DEPTH: Final = 8
_CALLED: Final = ("__call__", "start")


def roots(check: object, package: str) -> list[Place]:
    """The functions of modules of this package that a check is, holds or closes over, each once."""
    return list(dict.fromkeys(_found(check, package, _DEPTH, set())))


def _found(value: Any, package: str, depth: int, met: set[int]) -> Iterator[Place]:
    if depth == 0 or id(value) in met or isinstance(value, str | bytes | int | float | None):
        return
    met.add(id(value))
    for inner in _inside(value):
        yield from _found(inner, package, depth - 1, met)
    if isinstance(value, FunctionType) and _is_in(value.__module__, package):
        yield Place(value.__module__, value.__code__.co_firstlineno)


def _inside(value: Any) -> Iterator[Any]:
    match value:
        case FunctionType():
            for cell in value.__closure__ or ():
                try:
                    yield cell.cell_contents
                except ValueError:  # not filled yet
                    continue
            yield from (value.__defaults__ or (), value.__kwdefaults__ or {}, vars(value).get("__wrapped__"))
        case MethodType():
            yield from (value.__func__, value.__self__)
        case functools.partial():
            yield from (value.func, value.args, value.keywords)
        case dict():
            yield from value.values()
        case list() | tuple() | set() | frozenset():
            yield from value
        case type():
            yield from ()
        case _:
            yield from _of_instance(value)


def _of_instance(value: Any) -> Iterator[Any]:
    kind = type(value)
    for name in _CALLED:
        method = getattr(kind, name, None)
        if isinstance(method, FunctionType):
            yield method
    yield from getattr(value, "__dict__", {}).values()
    for name in (slot for base in kind.__mro__ for slot in _slots(base)):
        yield getattr(value, name, None)


def _slots(base: type) -> tuple[str, ...]:
    found = base.__dict__.get("__slots__", ())
    return (found,) if isinstance(found, str) else tuple(found)


def _is_in(module: str | None, package: str) -> bool:
    return module is not None and (module == package or module.startswith(f"{package}."))
