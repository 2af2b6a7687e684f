"""The scan of a source: what names mean, and what a check comes to by them."""

import pytest

from grading.purity.impurities import Impurity
from grading.purity.reach import Reach
from grading.purity.source import Place, Scanned, scan


def read(source: str, module: str = "pkg.graders") -> Scanned:
    return scan(module, source, package=module.rpartition(".")[0])


def seen(source: str) -> list[tuple[str, int]]:
    return [(one.name, one.place.line) for body in read(source).bodies for one in body.seen]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import time\ndef f(e): return time.time()", "time.time"),
        ("import time as t\ndef f(e): return t.time()", "time.time"),
        ("from time import time\ndef f(e): return time()", "time.time"),
        ("from time import time as now\ndef f(e): return now()", "time.time"),
        ("from time import *\ndef f(e): return time()", "time.time"),
        ("def f(e):\n import time; return time.time()", "time.time"),
        ("def f(e):\n from datetime import datetime; return datetime.now()", "datetime.datetime.now"),
        ("import time\nclass C:\n def __call__(self, e): return time.time()", "time.time"),
        ("import random\ndef f(e): return random.Random().random()", "random.Random"),
        ("import time\ndef f(e): return sorted(e, key=time.gmtime)", "time.gmtime"),
        ("import os\ndef f(e): return os.environ['A']", "os.environ"),
        ("def f(e): return open('x')", "open"),
        ("from pathlib import Path\ndef f(e): return Path('x').read_text()", ".read_text"),
        ("import urllib.request\ndef f(e): return urllib.request.urlopen('x')", "urllib.request.urlopen"),
        ("f = lambda e: __import__ or hash(e)", "hash"),
        ("def f(e): return [x for x in {1, 2}]", "for"),
        ("def f(e): return list(set(e) - {1})", "list"),
        ("def f(e):\n s = set(e)\n for x in s: return x", "for"),
        ("def f(e): return ', '.join({x for x in e})", "join"),
        ("def f(e): return set(e).pop()", "pop"),
        ("N = 0\ndef f(e):\n global N\n N += 1", "N"),
        ("D = {}\ndef f(e): D[e] = 1", "D"),
        ("L = []\ndef f(e): L.append(e)", "L"),
        ("def f(e): return eval('1')", "eval"),
    ],
)
def test_what_is_seen(source: str, name: str) -> None:
    assert [one for one, _ in seen(source)] == [name]


@pytest.mark.parametrize(
    "source",
    [
        "def f(time): return time.time()",
        "def f(e):\n open = e\n return open('x')",
        "def f(e):\n for id in e: print(id)",
        "def f(e): return [hash for hash in e]",
        "import random\ndef f(e): return random.Random(7).random()",
        "import time\ndef f(e): return time.gmtime(0), time.strftime('%Y', e)",
        "from datetime import datetime as d\ndef f(e): return d.fromtimestamp(0, tz=e), d.fromisoformat(e)",
        "def f(e): return sorted({1, 2}), len(set(e)), 1 in {1}, max({1})",
        "def f(e): return (yield from e)",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n import os\n os.getenv('A')",
        "import os\nif __name__ == '__main__':\n print(os.environ)",
        "import time\ndef f(e: time.time) -> None: x: time.time = e",
        "L = []\ndef f(e):\n L = []\n L.append(e)",
        "def f(e):\n s = set(e)\n s = sorted(s)\n for x in s: return x",
        "class C:\n def open(self): return 1\n def f(self): return self.open()",
    ],
)
def test_what_is_not_seen(source: str) -> None:
    assert seen(source) == []


def reached(root: int, *sources: str) -> list[str]:
    modules = [read(source, f"pkg.m{at}") for at, source in enumerate(sources)]
    return [f"{one.place.module}:{one.place.line}" for one in Reach(modules).seen_from([Place("pkg.m0", root)])]


@pytest.mark.parametrize(
    ("sources", "places"),
    [
        (["def f(e): return g()\ndef g(): return open('x')"], ["pkg.m0:2"]),
        (["def f(e): return 1\ndef g(): return open('x')"], []),
        (
            ["def f(e): return C().run()\nclass C:\n def __init__(self): open('x')\n def run(self): input()"],
            ["pkg.m0:3"],
        ),
        (["def f(e): return e.events()\nclass C:\n def events(self): return open('x')"], []),
        (["def f(e): return g(e)\nfrom pkg.m1 import g", "def g(e): return open('x')"], ["pkg.m1:1"]),
        (["def f(e): return m.g(e)\nfrom . import m1 as m", "def g(e): return open('x')"], ["pkg.m1:1"]),
        (["def f(e): return h(e)\nfrom .m1 import h", "from .m2 import g as h", "def g(e): open('x')"], ["pkg.m2:1"]),
        (["def f(e): return n()\nfrom .m1 import n", "import time\nn = time.time"], []),
        (["def f(e):\n def g(): return open('x')\n return g()"], ["pkg.m0:2"]),
        (["def f(e): return f(e) or g(e)\ndef g(e): return f(e) or input()"], ["pkg.m0:2"]),
        (["def f(e): return K(e)\nclass B:\n def __call__(self, e): open('x')\nclass K(B): pass"], ["pkg.m0:3"]),
    ],
)
def test_what_a_check_comes_to(sources: list[str], places: list[str]) -> None:
    assert reached(1, *sources) == places


def test_a_method_comes_to_those_of_its_own_class() -> None:
    source = (
        "class C:\n def __call__(self, e):\n  return self.a()\n def a(self):\n  return open('x')\n def b(self): input()"
    )

    assert reached(2, source) == ["pkg.m0:5"]


def test_what_is_found_by_likeness_of_names_or_may_be_harmless_is_a_note() -> None:
    reach = Reach([read("def f(e): return e.read_text(), hash(e), open('x')", "pkg.m0")])

    found = list(reach.findings({"m": [Place("pkg.m0", 1)]}))

    assert [(one.what.partition(" (")[0], one.refused) for one in found] == [
        (Impurity.FILES, False),
        (Impurity.HASH, False),
        (Impurity.FILES, True),
    ]
