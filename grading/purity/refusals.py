"""Refusals: what stands in a trial for the clock, chance, the environment, files and the network.

Only for a process that ends with the trial: nothing here is put back. Functions are replaced in their modules before
the grader is loaded, so that `from time import time` binds the refusal too. Types written in C are changed through the
dictionary behind `__dict__`: a subclass in their place would not be what `isinstance`, `match` and compiled libraries
take for a datetime. What opens files, sockets, processes and threads is heard of by an audit hook, however it was
bound.
"""

import builtins
import ctypes
import gc
import importlib
import os
import random
import sys
import time
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import wraps
from types import ModuleType
from typing import Any, Final

from grading.purity.gate import Gate
from grading.purity.impurities import ENOUGH, REPLACED, Impurity, audited

_MODULES: Final = ("_thread", "locale", "os", "platform", "random", "secrets", "threading", "time", "uuid")
_NANOSECONDS: Final = 1_000_000_000


def install(gate: Gate, *, shift_seconds: int | None, turn_addresses: bool) -> None:
    """Put the refusals in place. With `shift_seconds` the clocks are not refused: they are so far off.

    With `turn_addresses`, `id()` in the grader's own code gives other numbers, in the opposite order.
    """
    refused = {name: what for name, what in REPLACED.items() if shift_seconds is None or what is not Impurity.CLOCK}
    for module in map(importlib.import_module, _MODULES):
        _replace_functions(gate, module, refused)
    if shift_seconds is not None:
        _shift_clocks(shift_seconds)
    _replace_times(gate, shift_seconds is None)
    _replace_datetimes(gate, shift_seconds)
    _replace_environment(gate)
    _replace_generators(gate)
    if turn_addresses:
        _turn_addresses(gate)
    sys.addaudithook(_hook(gate))


def _refusing(gate: Gate, impurity: Impurity, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(real)
    def refuse(*args: Any, **options: Any) -> Any:
        gate.meet(impurity, name)
        return real(*args, **options)

    return refuse


def _replace_functions(gate: Gate, module: ModuleType, refused: dict[str, Impurity]) -> None:
    for attribute, real in list(vars(module).items()):
        impurity = refused.get(f"{module.__name__}.{attribute}")
        if impurity is not None and callable(real) and not isinstance(real, type):
            setattr(module, attribute, _refusing(gate, impurity, f"{module.__name__}.{attribute}", real))


def _replace_times(gate: Gate, clocks: bool) -> None:
    """The functions of `time` that look at the clock for what they are not given."""
    for name, (enough, impurity) in ENOUGH.items():
        module, _, attribute = name.partition(".")
        if module == "time" and clocks:
            setattr(time, attribute, _unless_given(gate, enough, impurity, name, getattr(time, attribute)))


def _unless_given(
    gate: Gate, enough: int, impurity: Impurity, name: str, real: Callable[..., Any]
) -> Callable[..., Any]:
    @wraps(real)
    def refuse(*args: Any, **options: Any) -> Any:
        given = [one for one in (*args, *options.values()) if one is not None]
        if len(given) < enough:
            gate.meet(impurity, name)
        return real(*args, **options)

    return refuse


def _shift_clocks(seconds: int) -> None:
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
        setattr(time, name, _shifted(getattr(time, name), seconds))
        setattr(time, f"{name}_ns", _shifted(getattr(time, f"{name}_ns"), seconds * _NANOSECONDS))


def _shifted(real: Callable[[], Any], by: int) -> Callable[[], Any]:
    return wraps(real)(lambda: real() + by)


def _replace_datetimes(gate: Gate, shift_seconds: int | None) -> None:
    for type_, names in ((datetime, ("now", "utcnow", "today", "fromtimestamp")), (date, ("today", "fromtimestamp"))):
        for name in vars(type_).keys() & set(names):
            full = f"datetime.{type_.__name__}.{name}"
            enough, impurity = ENOUGH[full]
            if impurity is Impurity.CLOCK and shift_seconds is not None:
                _set(type_, name, _moved(gate, type_, name, timedelta(seconds=shift_seconds)))
            else:
                _set(type_, name, _class_refusing(gate, type_, name, enough, impurity, full))
    for name in ("timestamp", "astimezone"):
        _set(datetime, name, _zone_refusing(gate, name, getattr(datetime, name)))


def _class_refusing(gate: Gate, type_: type, name: str, enough: int, impurity: Impurity, full: str) -> Any:
    real = vars(type_)[name].__get__  # a descriptor: bound anew for each subclass

    def refuse(cls: type, *args: Any, **options: Any) -> Any:
        given = [one for one in (*args, *options.values()) if one is not None]
        if len(given) < enough:
            gate.meet(impurity, full)
        return real(None, cls)(*args, **options)

    return classmethod(refuse)


def _moved(gate: Gate, type_: type, name: str, by: timedelta) -> Any:
    real = vars(type_)[name].__get__

    def moved(cls: type, *args: Any, **options: Any) -> Any:
        with gate.unwatched():  # date.today calls what is refused elsewhere
            return real(None, cls)(*args, **options) + by

    return classmethod(moved)


def _zone_refusing(gate: Gate, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def refuse(self: datetime, *args: Any, **options: Any) -> Any:
        given = [one for one in (*args, *options.values()) if one is not None]
        if self.tzinfo is None or (name == "astimezone" and not given):
            gate.meet(Impurity.ZONE, f"datetime.{name} without a time zone")
        return real(self, *args, **options)

    return refuse


def _set(type_: type, name: str, value: object) -> None:
    """Set an attribute of a type that does not allow it."""
    (behind,) = gc.get_referents(vars(type_))
    behind[name] = value
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(type_))


def _replace_environment(gate: Gate) -> None:
    kind: Any = type(os.environ)
    for name in ("__getitem__", "__iter__", "__len__", "__setitem__", "__delitem__", "__contains__", "copy"):
        setattr(kind, name, _refusing(gate, Impurity.ENVIRONMENT, "os.environ", getattr(kind, name)))


def _replace_generators(gate: Gate) -> None:
    """A generator that is seeded draws the same everywhere; one that is not, from the system."""
    kind: Any = random.Random
    module: Any = random
    real = kind.seed

    def seed(self: random.Random, a: Any = None, *args: Any, **options: Any) -> None:
        if a is None:
            gate.meet(Impurity.CHANCE, "random.Random without a seed")
        real(self, a, *args, **options)

    kind.seed = seed
    module._urandom = _refusing(gate, Impurity.CHANCE, "os.urandom", os.urandom)


def _turn_addresses(gate: Gate) -> None:
    real = builtins.id
    ones = (1 << 64) - 1

    def turned(value: object, /) -> int:
        return real(value) ^ ones if gate.asked_by_grader() else real(value)

    builtins.id = turned


def _hook(gate: Gate) -> Callable[[str, tuple[Any, ...]], None]:
    def hear(event: str, _: tuple[Any, ...]) -> None:
        impurity = audited(event)
        if impurity is not None:
            gate.meet(impurity, event)

    return hear
