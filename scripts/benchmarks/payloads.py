"""What the events of the benchmarks hold. It imports nothing of ours: the peers' environment uses it too."""

from typing import Any


def payload(number: int) -> dict[str, Any]:
    """A payload of about 475 bytes, as a tool's answer is."""
    return {
        "call_id": f"c{number}",
        "tool": "bash",
        "result": "".join(f"line {n}: all is well\n" for n in range(17)),
        "exit_code": 0,
        "timing": {"seconds": 0.125, "queued": number % 7},
    }
