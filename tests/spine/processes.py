"""Starting tests.spine.worker in processes."""

import multiprocessing
import subprocess
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.spine import worker

ROOT = Path(__file__).parents[2]


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


def fork(job: str, *arguments: str) -> BaseProcess:
    """The same without the seconds that a new interpreter takes, for jobs that are killed."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.spine.worker"])
    process = context.Process(target=worker.JOBS[job], args=arguments, daemon=True)
    process.start()
    return process
