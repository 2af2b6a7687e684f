"""What `grader add` and `grader check` say of the purity of a grader in Python."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

import typer

from grading.cli.failures import NOT_CHECKED
from grading.cli.session import session

if TYPE_CHECKING:
    from grading.cli.output import Output
    from grading.graders import Grader
    from grading.purity import Proof


def proven(prove: Callable[[], "Proof"], out: "Output") -> "Proof":
    """The proof, its notes told. Ends the command with exit code 3 where the grader could not be tried."""
    from grading.errors import UntriedGrader

    try:
        proof = prove()
    except UntriedGrader as error:
        out.remark(f"gradespine: {error}")
        raise typer.Exit(NOT_CHECKED) from None
    for note in proof.notes:
        out.remark(f"note: {note}")
    return proof


def check_purity(context: typer.Context, grader: "Grader", samples: Sequence[str], out: "Output") -> None:
    """Try a grader, on the log if there is one, and say what was found. Raises ImpureGrader."""
    from grading.cli.text import plural
    from grading.errors import ImpureGrader

    proof = proven(lambda: _proof(context, grader, samples), out)
    out.line(f"tried on {plural(len(proof.samples), 'sample')}: {', '.join(proof.samples)}", hanging=2)
    if proof.modules:
        out.line(f"it also runs {', '.join(proof.modules)}, which its definition does not cover", hanging=2)
    for finding in proof.refused:
        out.line(f"not pure: {finding}", hanging=2)
    if proof.refused:
        raise ImpureGrader(str(grader.ref), f"{plural(len(proof.refused), 'finding')}; `grader add` refuses it")
    out.line("pure, as far as these samples go: every trial said the same, and nothing was refused", hanging=2)


def _proof(context: typer.Context, grader: "Grader", samples: Sequence[str]) -> "Proof":
    """On these streams, or a few of the log; where there is no log, on what ships."""
    from grading.gradebook import subject_of
    from grading.purity import prove
    from spine import SpineError

    with ExitStack() as stack:
        try:
            gradebook = stack.enter_context(session(context).gradebook())
        except SpineError:
            if samples:
                raise
            return prove(subject_of(grader))
        return gradebook.prove(grader, samples)
