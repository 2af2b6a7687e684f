"""What a grader may not do, as data: the names that the scan looks for, the refusals stand in for, and the audit hook
hears of."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Impurity(StrEnum):
    """What is done; the value completes "milestone x …"."""

    CLOCK = "reads the clock"
    ZONE = "reads the time zone of the machine"
    CHANCE = "draws chance"
    ENVIRONMENT = "reads the environment"
    MACHINE = "asks about the machine or the process"
    FILES = "reaches for files"
    FOLDER = "looks round in the file system"
    NETWORK = "reaches for the network"
    PROCESS = "starts or steers a process"
    THREAD = "starts a thread"
    INPUT = "reads standard input"
    NATIVE = "calls native code or the interpreter"
    ADDRESS = "uses addresses of objects"
    HASH = "uses hash(), which differs between processes"
    ORDER = "uses the order of a set"
    STATE = "assigns a global"
    TEXT_AS_CODE = "runs text as code, which cannot be scanned"


SUSPICIOUS: Final = frozenset({Impurity.ADDRESS, Impurity.HASH, Impurity.ORDER, Impurity.STATE, Impurity.TEXT_AS_CODE})
"""What may be harmless: only trials can say that it shows in a verdict, and the scan alone never refuses it."""

HARMLESS_WHEN_LOADED: Final = frozenset({Impurity.MACHINE, Impurity.FOLDER})
"""What a module may do while it is loaded: it finds out where it is, say; what it reads there is refused on its own."""

_CLOCKS: Final = (
    *("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time"),
    *("process_time_ns", "thread_time", "thread_time_ns", "clock_gettime", "clock_gettime_ns"),
)
_SHARED_CHANCE: Final = (
    *("betavariate", "binomialvariate", "choice", "choices", "expovariate", "gammavariate", "gauss", "getrandbits"),
    *("getstate", "lognormvariate", "normalvariate", "paretovariate", "randbytes", "randint", "random", "randrange"),
    *("sample", "seed", "setstate", "shuffle", "triangular", "uniform", "vonmisesvariate", "weibullvariate"),
)
_SECRETS: Final = ("choice", "randbelow", "randbits", "token_bytes", "token_hex", "token_urlsafe", "SystemRandom")
_MACHINE: Final = (
    *("os.getpid", "os.getppid", "os.getuid", "os.getgid", "os.getlogin", "os.uname"),
    *("os.cpu_count", "os.getloadavg", "os.get_terminal_size"),
    *("platform.node", "platform.uname", "platform.system", "platform.machine", "platform.platform"),
    *("platform.python_version", "platform.release", "locale.getlocale", "locale.setlocale", "locale.localeconv"),
    *("locale.getpreferredencoding", "locale.getencoding", "locale.strxfrm", "locale.strcoll"),
)
_THREADS: Final = (  # the audit event of these is younger than Python 3.11
    *("_thread.start_new_thread", "_thread.start_new", "_thread.start_joinable_thread"),
    *("threading._start_new_thread", "threading._start_joinable_thread"),
)
_FOLDER: Final = ("os.getcwd", "os.getcwdb", "os.stat", "os.lstat", "os.access", "os.readlink")

REPLACED: Final[Mapping[str, Impurity]] = {
    **{f"time.{name}": Impurity.CLOCK for name in (*_CLOCKS, "sleep")},
    **{f"random.{name}": Impurity.CHANCE for name in _SHARED_CHANCE},
    **{f"secrets.{name}": Impurity.CHANCE for name in _SECRETS},
    **dict.fromkeys(("os.urandom", "os.getrandom", "random.SystemRandom"), Impurity.CHANCE),
    **dict.fromkeys(("uuid.uuid1", "uuid.uuid4", "uuid.uuid6", "uuid.uuid7"), Impurity.CHANCE),
    **dict.fromkeys(("uuid.getnode",), Impurity.MACHINE),
    **dict.fromkeys(("time.localtime", "time.mktime"), Impurity.ZONE),
    **dict.fromkeys(_MACHINE, Impurity.MACHINE),
    **dict.fromkeys(_FOLDER, Impurity.FOLDER),
    **dict.fromkeys(_THREADS, Impurity.THREAD),
}
"""Functions that a refusal stands in for while a grader is loaded and tried. (`os.environ` and what is a method of
datetime are replaced where they are defined: see refusals.)"""

ENOUGH: Final[Mapping[str, tuple[int, Impurity]]] = {
    "time.gmtime": (1, Impurity.CLOCK),
    "time.ctime": (1, Impurity.CLOCK),
    "time.asctime": (1, Impurity.CLOCK),
    "time.strftime": (2, Impurity.CLOCK),
    "random.Random": (1, Impurity.CHANCE),
    "datetime.datetime.now": (99, Impurity.CLOCK),
    "datetime.datetime.utcnow": (99, Impurity.CLOCK),
    "datetime.datetime.today": (99, Impurity.CLOCK),
    "datetime.date.today": (99, Impurity.CLOCK),
    "datetime.datetime.fromtimestamp": (2, Impurity.ZONE),
    "datetime.date.fromtimestamp": (99, Impurity.ZONE),
}
"""Functions that are pure when they are given so many arguments, and otherwise look elsewhere for what is missing."""

NAMED: Final[Mapping[str, Impurity]] = {
    **REPLACED,
    **dict.fromkeys(("os.environ", "os.environb", "os.getenv", "os.getenvb", "os.putenv"), Impurity.ENVIRONMENT),
    **dict.fromkeys(("time.tzname", "time.timezone", "time.altzone", "time.daylight"), Impurity.ZONE),
    **dict.fromkeys(("sys.argv", "sys.flags", "sys.platform"), Impurity.MACHINE),
    **dict.fromkeys(("sys.stdin", "builtins.input"), Impurity.INPUT),
    **dict.fromkeys(("builtins.open", "io.open", "os.open", "os.listdir", "os.scandir", "os.walk"), Impurity.FILES),
    **dict.fromkeys(("os.path.exists", "os.path.isfile", "os.path.isdir", "os.path.getmtime"), Impurity.FOLDER),
    **dict.fromkeys(("os.system", "os.popen", "os.fork", "os.kill"), Impurity.PROCESS),
    **dict.fromkeys(("threading.Thread", "threading.Timer", "_thread.start_new_thread"), Impurity.THREAD),
    **dict.fromkeys(("asyncio.run", "asyncio.new_event_loop"), Impurity.THREAD),
    **dict.fromkeys(("builtins.exec", "builtins.eval", "builtins.compile"), Impurity.TEXT_AS_CODE),
    "concurrent.futures.ThreadPoolExecutor": Impurity.THREAD,
    "concurrent.futures.ProcessPoolExecutor": Impurity.PROCESS,
    "builtins.id": Impurity.ADDRESS,
    "builtins.hash": Impurity.HASH,
}
"""Full names that the scan knows."""

MODULES: Final[Mapping[str, Impurity]] = {
    **dict.fromkeys(("socket", "socketserver", "ssl", "http.client", "http.server", "ftplib"), Impurity.NETWORK),
    **dict.fromkeys(("smtplib", "imaplib", "poplib", "xmlrpc.client", "urllib.request"), Impurity.NETWORK),
    **dict.fromkeys(("requests", "httpx", "httpx2", "aiohttp", "urllib3"), Impurity.NETWORK),
    **dict.fromkeys(("subprocess", "multiprocessing", "pty"), Impurity.PROCESS),
    **dict.fromkeys(("shutil", "glob", "tempfile", "sqlite3", "fileinput", "linecache", "mmap"), Impurity.FILES),
    **dict.fromkeys(("ctypes", "gc", "signal"), Impurity.NATIVE),
}
"""Modules whose every use in a check is one: what is in them."""

FILE_METHODS: Final = frozenset({"read_text", "read_bytes", "write_text", "write_bytes", "iterdir", "rglob"})
"""Methods that only paths have: the scan suspects them on whatever it cannot name."""

AUDITED: Final[Mapping[str, Impurity]] = {
    **dict.fromkeys(("open", "os", "shutil", "glob", "tempfile", "pathlib", "sqlite3", "mmap"), Impurity.FILES),
    **dict.fromkeys(("socket", "urllib", "http", "ftplib", "smtplib", "imaplib", "poplib"), Impurity.NETWORK),
    **dict.fromkeys(("nntplib", "telnetlib", "ssl"), Impurity.NETWORK),
    **dict.fromkeys(("subprocess", "pty", "signal", "fcntl", "syslog"), Impurity.PROCESS),
    **dict.fromkeys(("os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn"), Impurity.PROCESS),
    **dict.fromkeys(("os.spawn", "os.kill", "os.killpg", "os.startfile"), Impurity.PROCESS),
    **dict.fromkeys(("os.putenv", "os.unsetenv"), Impurity.ENVIRONMENT),
    **dict.fromkeys(("_thread.start_new_thread", "_thread.start_joinable_thread"), Impurity.THREAD),
    "ctypes": Impurity.NATIVE,
    "gc": Impurity.NATIVE,
    "builtins.input": Impurity.INPUT,
}
"""Audit events (https://docs.python.org/3/library/audit_events.html), whole or by what stands before the dot."""


def audited(event: str) -> Impurity | None:
    """What an audit event says that is done."""
    return AUDITED.get(event) or AUDITED.get(event.partition(".")[0])
