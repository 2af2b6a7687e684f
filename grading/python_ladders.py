"""Ladders written in Python: found by `module:attribute`, with the exact source they were built from."""

import importlib
import importlib.util
import re
import sys
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

from grading.errors import InvalidLadder
from grading.ladders import Ladder
from grading.suggestions import did_you_mean

_TARGET: Final = re.compile(r"(?P<module>[^\W\d]\w*(\.[^\W\d]\w*)*):(?P<attribute>[^\W\d]\w*)")


@dataclass(frozen=True, slots=True)
class PythonLadder:
    """A ladder, and the source text of the module it was built by (line ends as LF)."""

    ladder: Ladder
    source: str


def load_python_ladder(target: str) -> PythonLadder:
    """The ladder at `module:attribute`: a Ladder, or something that gives one when called.

    The module is run from the very source that is returned, not taken from what this process imported earlier: a file
    that was edited meanwhile cannot pass for what it was. Modules it imports itself are imported as usual.
    Raises InvalidLadder.
    """
    found = _TARGET.fullmatch(target)
    if found is None:
        raise InvalidLadder(f"{target} is not module:attribute")
    spec = _find(found["module"], target)
    source = _source(spec, target)
    module = _run(spec, source, target)
    try:
        value = getattr(module, found["attribute"])
        ladder = value() if callable(value) else value
    except AttributeError as error:
        if hasattr(module, found["attribute"]):
            raise InvalidLadder(f"{type(error).__name__}: {error}", source=target) from error
        near = did_you_mean(found["attribute"], vars(module))
        raise InvalidLadder(f"{found['module']} has no {found['attribute']}{near}", source=target) from error
    except (Exception, SystemExit) as error:
        raise InvalidLadder(f"{type(error).__name__}: {error}", source=target) from error
    if not isinstance(ladder, Ladder):
        raise InvalidLadder(f"it is {type(ladder).__name__}, not a Ladder", source=target)
    return PythonLadder(ladder, source)


def _find(module: str, target: str) -> ModuleSpec:
    importlib.invalidate_caches()
    try:
        spec = importlib.util.find_spec(module)
    except Exception as error:  # finding a submodule runs its packages
        raise InvalidLadder(f"{module} cannot be found: {type(error).__name__}: {error}", source=target) from error
    if spec is None:
        raise InvalidLadder(f"there is no module {module}", source=target)
    return spec


def _source(spec: ModuleSpec, target: str) -> str:
    get_source = getattr(spec.loader, "get_source", None)
    try:
        source = None if get_source is None else get_source(spec.name)
    except Exception as error:  # a file that may not be read, or is no text
        cause = error.__cause__ or error
        reason = getattr(cause, "strerror", None) or cause
        raise InvalidLadder(f"the source of {spec.name} cannot be read: {reason}", source=target) from error
    if not source:
        raise InvalidLadder(f"the module {spec.name} has no source to register", source=target)
    return str(source)


def _run(spec: ModuleSpec, source: str, target: str) -> ModuleType:
    """The module, run from this source. One that was imported before stays what others see under its name."""
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(spec.name)
    sys.modules[spec.name] = module  # while it runs it looks itself up, as dataclasses do
    try:
        exec(compile(source, spec.origin or spec.name, "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as error:
        sys.modules.pop(spec.name)
        raise InvalidLadder(f"{type(error).__name__}: {error}", source=target) from error
    finally:
        if before is not None:
            sys.modules[spec.name] = before
    return module
