"""Ladders that ship with the package: to use, and to learn the language from."""

from importlib.resources import files

_SUFFIX = ".yaml"


def names() -> list[str]:
    """The names of the examples, sorted."""
    return sorted(
        entry.name.removesuffix(_SUFFIX) for entry in files(__name__).iterdir() if entry.name.endswith(_SUFFIX)
    )


def text(name: str) -> str:
    """The document of an example. Raises KeyError where there is none of that name."""
    if name not in names():
        raise KeyError(name)
    return files(__name__).joinpath(name + _SUFFIX).read_text(encoding="utf-8")
