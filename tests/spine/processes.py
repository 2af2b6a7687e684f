"""Starting tests.spine.worker in processes."""

import multiprocessing
import os
import subprocess
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.spine import worker

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("GRADESPINE_SOAK_KILLS", "20"))
"""How often each kind of process is killed on each database; scripts/soak raises it."""


def start(job: str, *arguments: object) -> "subprocess.Popen[str]":
    """A process that does a job of tests.spine.worker."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.spine.worker", job, *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: "subprocess.Popen[str]", seconds: float = 60) -> str:
    """What the process printed. Fails when it failed."""
    out, err = process.communicate(timeout=seconds)
    assert process.returncode == 0, err
    return out


FORKS = multiprocessing.get_context("forkserver")


def fork(job: str, *arguments: object) -> BaseProcess:
    """The same without the seconds that a new interpreter takes."""
    FORKS.set_forkserver_preload(["tests.spine.worker"])
    process = FORKS.Process(target=worker.JOBS[job], args=arguments, daemon=True)
    process.start()
    return process
